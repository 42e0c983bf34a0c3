/** Points in space: a kd-tree by medians in an array, nearest neighbours, an octree with an arena of cells, Morton codes. */
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>
#include <queue>
#include <random>
#include <utility>
#include <vector>
struct Particle { float p[3]; float mass; };
static uint32_t spread(uint32_t x) { x = (x | x << 16) & 0x030000ff; x = (x | x << 8) & 0x0300f00f; x = (x | x << 4) & 0x030c30c3; return (x | x << 2) & 0x09249249; }
static uint32_t morton(const Particle& q) { uint32_t code = 0; for (int k = 0; k < 3; ++k) code |= spread(std::clamp(int(q.p[k] * 1024), 0, 1023)) << (2 - k); return code; }
class KdTree {
  struct Node { int point; int axis; int left, right; };
  const std::vector<Particle>& points_;
  std::vector<Node> nodes_;
  mutable int looked_ = 0;
  int build(int* first, int* last, int depth) {
    if (first == last) return -1;
    const int axis = depth % 3;
    int* mid = first + (last - first) / 2;
    std::nth_element(first, mid, last, [&](int a, int b) { return points_[a].p[axis] < points_[b].p[axis]; });
    const int me = (int)nodes_.size();
    nodes_.push_back({*mid, axis, -1, -1});
    const int l = build(first, mid, depth + 1), r = build(mid + 1, last, depth + 1);
    nodes_[me].left = l;
    nodes_[me].right = r;
    return me;
  }
  void search(int at, const float* q, std::pair<float, int>& best) const {
    if (at < 0) return;
    ++looked_;
    const Node& n = nodes_[at];
    const auto& p = points_[n.point].p;
    float d2 = 0;
    for (int k = 0; k < 3; ++k) d2 += (p[k] - q[k]) * (p[k] - q[k]);
    if (d2 < best.first) best = {d2, n.point};
    const float off = q[n.axis] - p[n.axis];
    search(off < 0 ? n.left : n.right, q, best);
    if (off * off < best.first) search(off < 0 ? n.right : n.left, q, best);
  }
 public:
  explicit KdTree(const std::vector<Particle>& points) : points_(points) {
    std::vector<int> ids(points.size());
    for (int i = 0; auto& id : ids) id = i++;
    nodes_.reserve(ids.size());
    build(ids.data(), ids.data() + ids.size(), 0);
  }
  int nearest(float x, float y, float z) const { const float q[] = {x, y, z}; std::pair best{std::numeric_limits<float>::max(), -1}; search(0, q, best); return best.second; }
  int looked() const { return std::exchange(looked_, 0); }
  int root() const { return nodes_[0].point; }
};
struct Cell { float low[3], size; Cell* child[8]; int count; float mass; };
class Arena {
  char* base_; size_t used_ = 0, room_;
 public:
  explicit Arena(size_t room) : base_(static_cast<char*>(std::malloc(room))), room_(room) {}
  ~Arena() { std::free(base_); }
  Arena(const Arena&) = delete;
  template <class T, class... A> T* make(A&&... a) { used_ = (used_ + alignof(T) - 1) / alignof(T) * alignof(T); void* at = base_ + used_; used_ += sizeof(T); return used_ <= room_ ? new (at) T{std::forward<A>(a)...} : nullptr; }
  size_t used() const { return used_; }
};
static void insert(Arena& arena, Cell& c, const Particle& q, int depth) {
  c.count++;
  c.mass += q.mass;
  if (depth == 0) return;
  int o = 0;
  for (int k = 0; k < 3; ++k) o |= (q.p[k] >= c.low[k] + c.size / 2) << k;
  if (!c.child[o]) {
    Cell* made = arena.make<Cell>();
    *made = Cell{{c.low[0] + (o & 1 ? c.size / 2 : 0), c.low[1] + (o & 2 ? c.size / 2 : 0), c.low[2] + (o & 4 ? c.size / 2 : 0)}, c.size / 2, {}, 0, 0};
    c.child[o] = made;
  }
  insert(arena, *c.child[o], q, depth - 1);
}
template <class F> void visit(const Cell* c, F&& f) { if (!c) return; f(*c); for (const Cell* child : c->child) visit(child, f); }
int main() {
  std::mt19937 gen(7);
  std::uniform_real_distribution<float> unit(0.f, 1.f);
  std::vector<Particle> points(200);
  for (auto& [p, mass] : points) { for (float& c : p) c = unit(gen); mass = 1 + unit(gen); }
  KdTree tree(points);
  show(tree.root()); //~ 13
  show(tree.nearest(0.5f, 0.5f, 0.5f)); //~ 25
  show(tree.looked()); //~ 37
  int sum = 0;
  for (int i = 0; i < 20; ++i) sum = sum * 7 % 10007 + tree.nearest(i / 20.f, 0.3f, 1 - i / 20.f);
  show(sum); //~ 1884
  show(tree.looked()); //~ 356
  Arena arena(1 << 16);
  Cell* root = arena.make<Cell>();
  *root = {{0, 0, 0}, 1, {}, 0, 0};
  for (const auto& q : points) insert(arena, *root, q, 3);
  show(root->count); //= 200
  show(root->mass * 100); //= 30208
  int cells = 0, lone = 0, most = 0;
  visit(root, [&](const Cell& c) { ++cells; lone += c.count == 1; if (c.size < 0.2f) most = std::max(most, c.count); });
  show(cells); //= 235
  show(lone * 100 + most); //= 13903
  show(arena.used() / sizeof(Cell)); //= 235
  std::sort(points.begin(), points.end(), [](const Particle& a, const Particle& b) { return morton(a) < morton(b); });
  show(morton(points[0])); //= 19546714
  show(morton(points[199])); //= 1058015898
  int longest = 0;
  for (size_t i = 1; i < points.size(); ++i) longest = std::max(longest, std::countl_zero(morton(points[i]) ^ morton(points[i - 1])));
  show(longest); //= 14
  auto farther = [](const std::pair<float, int>& a, const std::pair<float, int>& b) { return a.first < b.first; };
  std::priority_queue<std::pair<float, int>, std::vector<std::pair<float, int>>, decltype(farther)> best(farther);
  for (int i = 0; i < (int)points.size(); ++i) { best.emplace(std::hypot(points[i].p[0], points[i].p[1]), i); if (best.size() > 4) best.pop(); }
  while (!best.empty()) { show(best.top().second); best.pop(); } //= 29 0 27 26
  return 0;
}
