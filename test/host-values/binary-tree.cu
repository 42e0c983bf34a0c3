/** A search tree of owned nodes, flattened for a kernel. */
#include <algorithm>
#include <functional>
#include <memory>
#include <queue>
#include <stack>
#include <vector>
struct Node {
  int key;
  std::unique_ptr<Node> left, right;
  explicit Node(int k) : key(k) {}
};
class Tree {
  std::unique_ptr<Node> root_;
  size_t size_ = 0;
  static int depth(const Node* n) { return n ? 1 + std::max(depth(n->left.get()), depth(n->right.get())) : 0; }
 public:
  bool insert(int key) {
    std::unique_ptr<Node>* at = &root_;
    while (*at) {
      if ((*at)->key == key) return false;
      at = key < (*at)->key ? &(*at)->left : &(*at)->right;
    }
    *at = std::make_unique<Node>(key);
    ++size_;
    return true;
  }
  int depth() const { return depth(root_.get()); }
  size_t size() const { return size_; }
  void inOrder(const std::function<void(int)>& f) const {
    std::stack<const Node*> open;
    const Node* n = root_.get();
    while (n || !open.empty()) {
      while (n) { open.push(n); n = n->left.get(); }
      n = open.top(); open.pop();
      f(n->key);
      n = n->right.get();
    }
  }
  std::vector<int> levels() const {
    std::vector<int> out;
    std::queue<const Node*> q;
    if (root_) q.push(root_.get());
    while (!q.empty()) {
      const Node* n = q.front(); q.pop();
      out.push_back(n->key);
      if (n->left) q.push(n->left.get());
      if (n->right) q.push(n->right.get());
    }
    return out;
  }
};
int main() {
  Tree t;
  int twice = 0;
  for (int i = 0, x = 17; i < 30; i++, x = (x * 29 + 11) % 64) twice += !t.insert(x);
  show(t.size()); //= 30
  show(twice); //= 0
  show(t.depth()); //= 9
  std::vector<int> sorted;
  t.inOrder([&](int k) { sorted.push_back(k); });
  show(sorted.front() * 100 + sorted.back()); //= 61
  show(std::is_sorted(sorted.begin(), sorted.end())); //= 1
  auto levels = t.levels();
  show(levels[1] * 100 + levels[2]); //= 256
  long hash = 7;
  for (int k : levels) hash = (hash * 33 + k) % 65521;
  show(hash); //= 30953
  show(std::lower_bound(sorted.begin(), sorted.end(), 30) - sorted.begin()); //= 18
  return 0;
}
