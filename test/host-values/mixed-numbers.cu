/** Conversions, promotions, overflow, rounding, comparisons of signs, enumerations, constants. */
#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>
enum Flags : uint8_t { None = 0, Read = 1 << 0, Write = 1 << 1, All = Read | Write };
constexpr Flags operator|(Flags a, Flags b) { return Flags(int(a) | int(b)); }
template <class T> constexpr T ceilDiv(T a, T b) { return a / b + (a % b != 0); }
constexpr size_t operator"" _k(unsigned long long n) { return n << 10; }
static_assert(ceilDiv(10, 3) == 4);
int main() {
  int a = -7;
  unsigned b = 3;
  show(a / 2 * 100 + a % 3); //= -301
  show(a + b > 100u); //= 1
  show((a >> 1) * 10 + (int)(b << 30)); //= -1073741864
  short s = 32767;
  s++;
  show(s); //= -32768
  unsigned char c = 300 & 0xff;
  c -= 50;
  show(c); //= 250
  char t = 'a' + 2;
  show(t * 2 + sizeof('a' + t)); //= 202
  show((int)3.99f * 100 + (int)-2.5); //= 298
  show(std::lround(2.5) * 1000 + std::lrint(2.5) * 10 + (long)std::floor(-1.5)); //= 3018
  show((1ull << 40) / 1000 % 100000); //= 11627
  float f = 16777216.0f;
  show(f + 1 == f); //= 1
  double third = 1.0 / 3;
  show((third * 3 == 1.0) * 10 + ((float)third * 3 == 1.0f)); //= 11
  show(std::numeric_limits<int>::max() / 2 + (int)std::numeric_limits<uint8_t>::max()); //= 1073742078
  show((Read | Write) == All); //= 1
  show(4_k + sizeof(Flags)); //= 4097
  int64_t big = INT_MAX;
  big = big * 4 + 3;
  show(big % 1000007); //= 874468
  show((int)(big >> 3)); //= 1073741823
  uint32_t h = 0;
  for (char x : {'w', 'a', 'r', 'p'}) h = h * 31 + x;
  show(h); //= 3641992
  show(std::abs(-5) + std::max<long>(3, 4L) * 10); //= 45
  show(std::gcd(84, 36) * 100 + std::lcm(4, 6)); //= 1212
  show(bool(0.1f) + !5 + (5 && 2) * 10); //= 11
  int i = 5;
  i += i++ * 2;
  int j = (i > 3) ? 1 : 2.5;
  show(j); //= 1
  int x = 10, *p = &x;
  *p++;
  (*(&x))++;
  show(x); //= 11
  show(std::clamp(15, 0, 10) + std::midpoint(10, 21) * 100); //~ 1510
  show(std::fmod(10.5, 3) * 100 + std::hypot(3, 4)); //= 155
  std::vector<double> v{1e16, 1, -1e16};
  show(std::accumulate(v.begin(), v.end(), 0.0)); //= 0
  show(std::isnan(std::sqrt(-1.0)) * 10 + std::signbit(-0.0)); //~ 11
  return 0;
}
