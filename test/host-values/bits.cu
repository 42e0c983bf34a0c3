/** Bits: Morton codes, reversals, bit sets, packed fields, hashes. */
#include <bit>
#include <bitset>
#include <cstdint>
#include <cstring>
#include <vector>
static uint32_t spread(uint32_t x) { x &= 0x3ff; x = (x | x << 16) & 0x30000ff; x = (x | x << 8) & 0x300f00f; x = (x | x << 4) & 0x30c30c3; x = (x | x << 2) & 0x9249249; return x; }
constexpr uint32_t reversed(uint32_t x, int bits) { uint32_t r = 0; for (int i = 0; i < bits; i++, x >>= 1) r = r << 1 | (x & 1); return r; }
uint32_t fnv(const void* p, size_t n) { auto b = static_cast<const uint8_t*>(p); uint32_t h = 2166136261u; for (size_t i = 0; i < n; i++) h = (h ^ b[i]) * 16777619u; return h; }
uint64_t splitmix(uint64_t& s) { uint64_t z = (s += 0x9e3779b97f4a7c15ull); z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull; z = (z ^ z >> 27) * 0x94d049bb133111ebull; return z ^ z >> 31; }
struct Packed { unsigned kind : 3; unsigned count : 12; int delta : 9; };
union Word { float f; uint32_t u; };
int main() {
  show(spread(5) | spread(3) << 1 | spread(6) << 2); //= 371
  show(reversed(0b1101, 8)); //= 176
  const char* text = "warp";
  show(fnv(text, std::strlen(text))); //= 2398780079
  uint64_t s = 1;
  splitmix(s);
  show(splitmix(s) >> 16); //= 209918902756750
  Packed p{5, 3000, -17};
  p.count += 200;
  p.delta -= 300;
  show(p.kind * 10000 + p.count); //= 53200
  show(p.delta); //= 195
  Word w;
  w.f = 1.5f;
  show(w.u); //= 1069547520
  uint32_t bits;
  float f = -2.0f;
  std::memcpy(&bits, &f, 4);
  show(bits >> 24); //= 192
  show(std::popcount(0xf0f0u) * 100 + std::countl_zero(1u) + std::countr_zero(8u)); //= 834
  show(std::bit_ceil(100u) + std::bit_width(1000u) + std::has_single_bit(64u)); //= 139
  std::bitset<40> set;
  set.set(3).set(39).flip(7);
  show(set.count() * 100 + set.test(7)); //= 301
  show((set >> 3).to_ullong()); //= 68719476753
  show(std::rotl(0x80000001u, 4)); //= 24
  show(__builtin_clz(1000) + __builtin_ctz(96) * 100); //= 522
  uint8_t narrow = 250;
  narrow += 10;
  int8_t sign = static_cast<int8_t>(200);
  show(narrow * 1000 + sign); //= 3944
  unsigned int big = -1;
  show(big / 3 > 1000u); //= 1
  show((-7) / 2 * 10 + (-7) % 3); //= -31
  show(1 << 30 >> 3 & ~0xff); //= 134217728
  std::vector<bool> flags(100);
  for (int i = 0; i < 100; i += 7) flags[i] = true;
  int n = 0;
  for (bool b : flags) n += b;
  show(n); //= 15
  return 0;
}
