/** Sequences made by objects with state: primes, Collatz, Gray codes, combinations, random walks by own generators. */
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <vector>
struct XorShift { uint32_t s; explicit XorShift(uint32_t x) : s(x) {} uint32_t operator()() { s ^= s << 13; s ^= s >> 17; s ^= s << 5; return s; } int below(int n) { return (*this)() % n; } };
class Pcg { uint64_t state_ = 0x853c49e6748fea9bULL; public: uint32_t next() { uint64_t old = state_; state_ = old * 6364136223846793005ULL + 1442695040888963407ULL; uint32_t x = ((old >> 18u) ^ old) >> 27u; uint32_t r = old >> 59u; return (x >> r) | (x << ((-r) & 31)); } };
std::vector<int> sieve(int n) { std::vector<bool> composite(n + 1); std::vector<int> p; for (int i = 2; i <= n; i++) { if (composite[i]) continue; p.push_back(i); for (long j = (long)i * i; j <= n; j += i) composite[j] = true; } return p; }
int collatz(long n) { int k = 0; while (n != 1) { n = n % 2 ? 3 * n + 1 : n / 2; k++; } return k; }
template <class F> void combinations(int n, int k, F f) { std::vector<int> c(k); std::iota(c.begin(), c.end(), 0); while (true) { f(c); int i = k - 1; while (i >= 0 && c[i] == n - k + i) i--; if (i < 0) return; c[i]++; for (int j = i + 1; j < k; j++) c[j] = c[j - 1] + 1; } }
auto counter(int from) { return [n = from]() mutable { return n++; }; }
std::function<int()> fibonacci() { int a = 0, b = 1; return [=]() mutable { int r = a; a = b; b = r + b; return r; }; }
int main() {
  auto p = sieve(200);
  show(p.size() * 1000 + p.back()); //= 46199
  show(collatz(27)); //= 111
  int best = 0, at = 0;
  for (int i = 1; i < 300; i++) if (int c = collatz(i); c > best) { best = c; at = i; }
  show(at * 1000 + best); //= 231127
  int gray = 0;
  for (int i = 0; i < 16; i++) gray = gray * 3 + ((i ^ i >> 1) & 1);
  show(gray); //= 6457008
  int count = 0, sum = 0;
  combinations(6, 3, [&](const std::vector<int>& c) { count++; sum += c[0] * c[2]; });
  show(count * 1000 + sum); //= 20069
  XorShift r(2463534242u);
  r();
  show(r()); //= 2497366906
  std::array<int, 6> faces{};
  for (int i = 0; i < 60; i++) faces[r.below(6)]++;
  show(faces[0] * 100 + faces[5]); //= 811
  Pcg g;
  g.next();
  show(g.next()); //= 1055580183
  int x = 0, y = 0;
  std::set<std::pair<int, int>> seen{{0, 0}};
  for (int i = 0; i < 50; i++) { int d = g.next() >> 30; x += (d == 0) - (d == 1); y += (d == 2) - (d == 3); seen.emplace(x, y); }
  show(seen.size()); //= 24
  show(x * 100 + y); //= -99
  auto c = counter(5), d = c;
  c();
  show(c() * 10 + d()); //= 65
  auto f = fibonacci();
  int last = 0;
  for (int i = 0; i < 10; i++) last = f();
  show(last); //= 34
  uint32_t lfsr = 0xACE1u;
  unsigned period = 0;
  do { unsigned bit = (lfsr ^ (lfsr >> 2) ^ (lfsr >> 3) ^ (lfsr >> 5)) & 1u; lfsr = (lfsr >> 1) | (bit << 15); ++period; } while (period < 1000);
  show(lfsr); //= 31929
  return 0;
}
