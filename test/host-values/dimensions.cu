/** Grids and blocks computed from sizes. */
#include <algorithm>
#include <cmath>
#include <vector>
struct Extent { int x = 1, y = 1, z = 1; size_t volume() const { return size_t(x) * y * z; } };
constexpr int divUp(int a, int b) { return (a + b - 1) / b; }
template <class T> constexpr T roundUp(T a, T b) { return divUp(a, b) * b; }
dim3 gridFor(const Extent& e, dim3 block) { return dim3(divUp(e.x, block.x), divUp(e.y, block.y), divUp(e.z, block.z)); }
int blockFor(int n) { int b = 32; while (b < n && b < 1024) b *= 2; return b; }
unsigned nextPow2(unsigned x) { --x; for (int s = 1; s < 32; s <<= 1) x |= x >> s; return ++x; }
struct Plan { dim3 grid, block; size_t shared; };
Plan planned(Extent e, int radius) {
  Plan p;
  p.block = e.z > 1 ? dim3{8, 8, 4} : dim3{32, 8};
  p.grid = gridFor(e, p.block);
  p.shared = (p.block.x + 2 * radius) * (p.block.y + 2 * radius) * (p.block.z + (e.z > 1 ? 2 * radius : 0)) * sizeof(float);
  return p;
}
int main() {
  dim3 block(16, 16);
  dim3 grid = gridFor({1000, 700}, block);
  show(grid.x * 1000 + grid.y * 10 + grid.z); //= 63441
  Plan p = planned({640, 480, 1}, 2);
  show(p.grid.x * p.grid.y); //= 1200
  show(p.shared); //= 1728
  Plan q = planned({65, 33, 17}, 1);
  show(q.grid.x * 100 + q.grid.y * 10 + q.grid.z); //= 955
  show(q.shared); //= 2400
  show(blockFor(100) + blockFor(5000)); //= 1152
  show(nextPow2(1000) + roundUp(1000, 128)); //= 2048
  std::vector<int> levels;
  for (int n = 1000000; n > 1; n = divUp(n, 512)) levels.push_back(n);
  show(levels.size()); //= 3
  show(levels.back()); //= 4
  show(int(std::ceil(std::sqrt(1000.0))) + std::lround(2.5) * 100); //= 332
  show(std::min<size_t>(Extent{4, 5}.volume(), 65535)); //= 20
  show(int(std::log2(4096)) + (int)std::pow(2, 5) * 100); //= 3212
  Extent sizes[] = {{4, 4, 4}, {2, 3}, {7}};
  size_t most = 0;
  for (const auto& e : sizes) most = std::max(most, e.volume());
  show(most); //= 64
  dim3 copy = block;
  copy.z = 4;
  std::swap(copy.x, copy.z);
  show(copy.x * 10000 + copy.y * 100 + copy.z); //= 41616
  int n = 12345, passes = 0;
  do { n /= 3; passes++; } while (n > 0);
  show(passes); //= 9
  return 0;
}
