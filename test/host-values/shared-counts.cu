/** Counts of shared and weak pointers. */
#include <memory>
#include <vector>
struct Node { int id; std::vector<std::shared_ptr<Node>> children; std::weak_ptr<Node> parent; };
struct Tensor { std::shared_ptr<float> data; int n; };
Tensor view(const Tensor& t, int from) { return Tensor{t.data, t.n - from}; }
int main() {
  auto a = std::make_shared<int>(3);
  show(a.use_count()); //= 1
  auto b = a;
  show(a.use_count()); //= 2
  {
    std::vector<std::shared_ptr<int>> v(3, a);
    show(a.use_count()); //= 5
  }
  show(a.use_count()); //= 2
  b.reset();
  show(a.use_count()); //= 1
  std::weak_ptr<int> w = a;
  show(w.expired()); //= 0
  if (auto locked = w.lock()) show(*locked * 10 + a.use_count()); //= 32
  a = nullptr;
  show(w.expired()); //= 1
  show(w.lock() == nullptr); //= 1
  auto root = std::make_shared<Node>(Node{1, {}, {}});
  for (int i = 2; i < 5; i++) {
    auto child = std::make_shared<Node>(Node{i, {}, {}});
    child->parent = root;
    root->children.push_back(child);
  }
  show(root.use_count()); //= 1
  show(root->children[1].use_count()); //= 1
  show(root->children[2]->parent.lock()->id); //= 1
  Tensor t{std::shared_ptr<float>(new float[8], [](float* p) { delete[] p; }), 8};
  Tensor u = view(t, 3);
  show(t.data.use_count() * 10 + u.n); //= 25
  auto moved = std::move(u);
  show(t.data.use_count()); //= 2
  show(u.data == nullptr); //= 1
  return 0;
}
