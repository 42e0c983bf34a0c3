/** Permutations, sparse formats by templates, bit tricks, static tables. */
#include <algorithm>
#include <array>
#include <bit>
#include <bitset>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
template <class T> struct Traits { static constexpr const char* name = "other"; static constexpr int code = 0; };
template <> struct Traits<float> { static constexpr const char* name = "f32"; static constexpr int code = 1; };
template <> struct Traits<double> { static constexpr const char* name = "f64"; static constexpr int code = 2; };
template <class T> struct Traits<T*> { static constexpr const char* name = "pointer"; static constexpr int code = 10 + Traits<T>::code; };
class Permutation {
  std::vector<int> map_;
 public:
  explicit Permutation(int n) : map_(n) { std::iota(map_.begin(), map_.end(), 0); }
  Permutation(std::initializer_list<int> l) : map_(l) {}
  int size() const { return static_cast<int>(map_.size()); }
  int operator()(int i) const { return map_[i]; }
  int& operator[](int i) { return map_[i]; }
  Permutation operator*(const Permutation& o) const { Permutation r(size()); for (int i = 0; i < size(); ++i) r[i] = map_[o(i)]; return r; }
  Permutation inverse() const { Permutation r(size()); for (int i = 0; i < size(); ++i) r[map_[i]] = i; return r; }
  bool operator==(const Permutation& o) const { return map_ == o.map_; }
  std::vector<std::vector<int>> cycles() const {
    std::vector<std::vector<int>> out;
    std::vector<bool> seen(map_.size());
    for (int i = 0; i < size(); ++i) {
      if (seen[i]) continue;
      out.emplace_back();
      for (int j = i; !seen[j]; j = map_[j]) { seen[j] = true; out.back().push_back(j); }
    }
    return out;
  }
  auto begin() const { return map_.begin(); }
  auto end() const { return map_.end(); }
};
static const std::array<std::uint8_t, 256> kReversed = [] {
  std::array<std::uint8_t, 256> t{};
  for (int i = 0; i < 256; ++i) for (int b = 0; b < 8; ++b) if (i >> b & 1) t[i] |= 0x80 >> b;
  return t;
}();
static std::uint32_t crc32(const void* data, std::size_t n) {
  static std::uint32_t table[256];
  static bool isReady = false;
  if (!isReady) {
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t c = i;
      for (int k = 0; k < 8; ++k) c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
      table[i] = c;
    }
    isReady = true;
  }
  std::uint32_t crc = ~0u;
  const auto* p = static_cast<const unsigned char*>(data);
  while (n--) crc = table[(crc ^ *p++) & 0xff] ^ (crc >> 8);
  return ~crc;
}
template <class It> auto median(It first, It last) -> typename std::iterator_traits<It>::value_type {
  std::vector<typename std::iterator_traits<It>::value_type> v(first, last);
  std::nth_element(v.begin(), v.begin() + v.size() / 2, v.end());
  return v[v.size() / 2];
}
int main() {
  Permutation p{2, 0, 1, 4, 3};
  show((p * p.inverse() == Permutation(5)) * 10 + p.cycles().size()); //= 12
  Permutation q = p * p;
  int code = 0;
  for (int x : q) code = code * 10 + x;
  show(code); //= 12034
  show(p.cycles()[0].size() * 10 + p.cycles()[1].back()); //= 34
  std::mt19937_64 gen(99);
  Permutation r(20);
  std::shuffle(&r[0], &r[0] + r.size(), gen);
  show(r(0) * 100 + r(19)); //= 1514
  show(kReversed[1] + kReversed[0xb1]); //= 269
  const char* text = "123456789";
  show(crc32(text, std::strlen(text))); //= 3421780262
  show(std::popcount(0xf0f0u) * 100 + std::countl_zero(0x00ffu) + std::bit_width(1000u)); //= 834
  show(std::rotl(0x80000001u, 4) + std::bit_ceil(37u)); //= 88
  float f = -1.5f;
  std::uint32_t bits;
  std::memcpy(&bits, &f, sizeof bits);
  show(bits); //= 3217031168
  show(Traits<float>::code + Traits<double*>::code * 100 + Traits<int>::name[0]); //= 1312
  std::uint64_t x = 0x9e3779b97f4a7c15ull;
  x ^= x >> 30; x *= 0xbf58476d1ce4e5b9ull; x ^= x >> 27;
  show(x >> 1); //= 4013854107427255000
  show((x & -x) + __builtin_ctzll(x | 1ull << 40)); //= 3
  std::bitset<70> set;
  for (int i = 0; i < 70; i += 7) set.set(i);
  show(set.count() * 100 + (set << 3)[10]); //= 1001
  int gray = 0;
  for (unsigned i = 0; i < 32; ++i) gray += (i ^ (i >> 1)) * i;
  show(gray); //= 9736
  std::vector<short> s{5, 1, 9, 3, 7};
  show(median(s.begin(), s.end())); //= 5
  show(std::invoke([](auto... a) { return (a + ... + 0); }, 1, 2, 3)); //= 6
  auto [low, high] = std::minmax_element(s.begin(), s.end());
  show(*low * 10 + *high); //= 19
  int count = 0;
  std::string w = "aabc";
  do ++count; while (std::next_permutation(w.begin(), w.end()));
  show(count); //= 12
  std::vector<int> a{1, 2, 3, 4, 5, 6, 7, 8};
  std::rotate(a.rbegin(), a.rbegin() + 3, a.rend());
  show(a[0] * 10 + a[7]); //~ 65
  return 0;
}
