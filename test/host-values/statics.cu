/** Static variables, singletons, globals in order, constant tables. */
#include <array>
#include <map>
#include <string>
#include <vector>
static int nextId() { static int id = 100; return ++id; }
struct Registry {
  std::map<std::string, int> ids;
  static Registry& instance() { static Registry r; return r; }
  int id(const std::string& n) { auto [it, isNew] = ids.try_emplace(n, (int)ids.size()); return it->second; }
};
struct Registrar { Registrar(const char* n) { Registry::instance().id(n); } };
static Registrar first("first"), second("second");
template <class T> struct TypeId { static int value() { static const int id = nextId(); return id; } };
class Stats { static inline int count_ = 0; int own_; public: Stats() : own_(++count_) {} int own() const { return own_; } static int count() { return count_; } };
int base = 5;
int derived = base * 2 + 1;
const std::vector<int> primes = [] { std::vector<int> p; for (int i = 2; p.size() < 10; i++) { bool ok = true; for (int q : p) if (i % q == 0) ok = false; if (ok) p.push_back(i); } return p; }();
constexpr std::array<const char*, 3> names{"add", "copy", "scale"};
namespace config { inline int width = 64; namespace detail { int shift = 3; } int scaled() { return width << detail::shift; } }
enum class Mode : unsigned char { Fast = 1, Exact = 4, Both = Fast | Exact };
enum Color { Red, Green = 5, Blue };
static constexpr struct { int m, n, k; } tiles[] = {{64, 64, 8}, {128, 64, 16}, {128, 128, 32}};
int accumulate(int x) { static int sum = 0; static bool started = false; if (!started) { started = true; sum = 1000; } return sum += x; }
thread_local int perThread = 9;
extern int later;
int useLater() { return later + 1; }
int later = 41;
int main() {
  nextId();
  show(nextId()); //= 102
  show(Registry::instance().id("second") * 10 + Registry::instance().id("third")); //= 12
  int a = TypeId<int>::value(), b = TypeId<float>::value();
  show(TypeId<int>::value() - a + (b - a) * 10); //= 10
  Stats s[3];
  show(s[2].own() * 10 + Stats::count()); //= 33
  show(derived); //= 11
  show(primes[9]); //= 29
  show(names[2][1]); //~ 99
  config::width = 32;
  show(config::scaled()); //= 256
  show(static_cast<int>(Mode::Both) * 10 + Blue); //~ 56
  int flops = 0;
  for (auto& t : tiles) flops += t.m * t.n / t.k;
  show(flops); //= 1536
  accumulate(5);
  show(accumulate(7)); //= 1012
  show(perThread + useLater()); //= 51
  return 0;
}
