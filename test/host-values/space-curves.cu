/** Morton and Hilbert codes, a tree of points, nearest neighbours. */
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <vector>
constexpr std::uint32_t spread(std::uint32_t x) {
  x &= 0x3ff;
  x = (x | (x << 16)) & 0x030000ff;
  x = (x | (x << 8)) & 0x0300f00f;
  x = (x | (x << 4)) & 0x030c30c3;
  return (x | (x << 2)) & 0x09249249;
}
constexpr std::uint32_t morton3(std::uint32_t x, std::uint32_t y, std::uint32_t z) { return spread(x) | spread(y) << 1 | spread(z) << 2; }
static_assert(morton3(1, 1, 1) == 7, "");
static std::uint64_t morton2(std::uint32_t x, std::uint32_t y) {
  std::uint64_t code = 0;
  for (unsigned i = 0; i < 32; ++i) code |= (std::uint64_t(x >> i & 1) << 2 * i) | (std::uint64_t(y >> i & 1) << (2 * i + 1));
  return code;
}
static int hilbert(int n, int x, int y) {
  int d = 0;
  for (int s = n / 2; s > 0; s /= 2) {
    const int rx = (x & s) > 0, ry = (y & s) > 0;
    d += s * s * ((3 * rx) ^ ry);
    if (ry == 0) {
      if (rx == 1) { x = n - 1 - x; y = n - 1 - y; }
      std::swap(x, y);
    }
  }
  return d;
}
template <std::size_t D> struct KdTree {
  using Point = std::array<float, D>;
  struct Node { Point at; int left = -1, right = -1; };
  std::vector<Node> nodes;
  int root = -1;
  explicit KdTree(std::vector<Point> points) { root = build(points.data(), points.size(), 0); }
  int build(Point* p, std::size_t n, std::size_t axis) {
    if (n == 0) return -1;
    std::size_t mid = n / 2;
    std::nth_element(p, p + mid, p + n, [axis](const Point& a, const Point& b) { return a[axis] < b[axis]; });
    const int self = static_cast<int>(nodes.size());
    nodes.push_back({p[mid]});
    const int l = build(p, mid, (axis + 1) % D);
    const int r = build(p + mid + 1, n - mid - 1, (axis + 1) % D);
    nodes[self].left = l;
    nodes[self].right = r;
    return self;
  }
  void nearest(int at, const Point& q, std::size_t axis, float& best, int& found) const {
    if (at < 0) return;
    float d = 0;
    for (std::size_t k = 0; k < D; ++k) d += (nodes[at].at[k] - q[k]) * (nodes[at].at[k] - q[k]);
    if (d < best) { best = d; found = at; }
    const float diff = q[axis] - nodes[at].at[axis];
    nearest(diff < 0 ? nodes[at].left : nodes[at].right, q, (axis + 1) % D, best, found);
    if (diff * diff < best) nearest(diff < 0 ? nodes[at].right : nodes[at].left, q, (axis + 1) % D, best, found);
  }
};
int main() {
  show(morton3(5, 9, 1)); //= 1095
  show(morton3(1023, 0, 511)); //= 230087533
  show(morton2(0xffff, 0x1234) % 1000000007ull); //= 465737070
  show(hilbert(16, 5, 10) * 1000 + hilbert(16, 15, 0)); //= 119255
  std::vector<int> cells(64);
  std::iota(cells.begin(), cells.end(), 0);
  std::sort(cells.begin(), cells.end(), [](int a, int b) { return hilbert(8, a % 8, a / 8) < hilbert(8, b % 8, b / 8); });
  show(cells[10] * 100 + cells[63]); //= 2707
  bool isSteady = true;
  for (int i = 1; i < 64; ++i) isSteady &= std::abs(cells[i] % 8 - cells[i - 1] % 8) + std::abs(cells[i] / 8 - cells[i - 1] / 8) == 1;
  show(isSteady); //= 1
  std::mt19937 gen(7);
  std::uniform_real_distribution<float> uniform(-1.f, 1.f);
  std::vector<std::array<float, 3>> points(40);
  for (auto& p : points) for (float& c : p) c = uniform(gen);
  KdTree<3> tree(points);
  show(tree.nodes.size() * 10 + tree.root); //= 400
  show(tree.nodes[0].at[0] * 1e6f); //= 94470
  show(tree.nodes[0].left * 100 + tree.nodes[0].right); //= 121
  float best = std::numeric_limits<float>::max();
  int found = -1;
  tree.nearest(tree.root, {0.1f, 0.2f, -0.3f}, 0, best, found);
  show(best * 1e6f); //= 69209
  float brute = 1e30f;
  for (const auto& p : points) brute = std::min(brute, (p[0] - 0.1f) * (p[0] - 0.1f) + (p[1] - 0.2f) * (p[1] - 0.2f) + (p[2] + 0.3f) * (p[2] + 0.3f));
  show(brute == best); //= 1
  std::vector<std::pair<std::uint32_t, int>> keys;
  for (int i = 0; i < 40; ++i) {
    auto quantised = [&](float c) { return std::uint32_t((c + 1) * 0.5f * 1023); };
    keys.push_back({morton3(quantised(points[i][0]), quantised(points[i][1]), quantised(points[i][2])), i});
  }
  std::sort(keys.begin(), keys.end());
  show(keys[0].second * 100 + keys[39].second); //= 1931
  show(keys[20].first); //= 467774618
  auto split = std::partition_point(keys.begin(), keys.end(), [](auto& k) { return k.first < (1u << 29); });
  show(split - keys.begin()); //= 25
  return 0;
}
