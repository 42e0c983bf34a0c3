/** Tries, segment trees, Fenwick trees, heaps of the user's. */
#include <algorithm>
#include <array>
#include <climits>
#include <memory>
#include <string>
#include <vector>
struct Trie {
  std::array<std::unique_ptr<Trie>, 26> next;
  bool ends = false;
  void insert(const std::string& s) { Trie* t = this; for (char c : s) { auto& n = t->next[c - 'a']; if (!n) n = std::make_unique<Trie>(); t = n.get(); } t->ends = true; }
  int count() const { int n = ends; for (auto& t : next) if (t) n += t->count(); return n; }
  int nodes() const { int n = 1; for (const auto& t : next) if (t) n += t->nodes(); return n; }
};
class Fenwick { std::vector<long> t_; public: explicit Fenwick(int n) : t_(n + 1) {} void add(int i, long x) { for (++i; i < (int)t_.size(); i += i & -i) t_[i] += x; } long sum(int i) const { long s = 0; for (; i > 0; i -= i & -i) s += t_[i]; return s; } };
template <class T, class F> class Segments {
  int n_; std::vector<T> t_; T none_; F f_;
 public:
  Segments(const std::vector<T>& v, T none, F f) : n_(v.size()), t_(2 * v.size(), none), none_(none), f_(f) { std::copy(v.begin(), v.end(), t_.begin() + n_); for (int i = n_ - 1; i > 0; i--) t_[i] = f_(t_[2 * i], t_[2 * i + 1]); }
  void set(int i, T x) { for (t_[i += n_] = x; i > 1; i /= 2) t_[i / 2] = f_(t_[i], t_[i ^ 1]); }
  T query(int l, int r) const { T a = none_; for (l += n_, r += n_; l < r; l /= 2, r /= 2) { if (l & 1) a = f_(a, t_[l++]); if (r & 1) a = f_(a, t_[--r]); } return a; }
};
template <class T> class Heap {
  std::vector<T> v_;
 public:
  void push(T x) { v_.push_back(x); size_t i = v_.size() - 1; while (i && v_[i] < v_[(i - 1) / 2]) { std::swap(v_[i], v_[(i - 1) / 2]); i = (i - 1) / 2; } }
  T pop() { T top = v_.front(); v_.front() = v_.back(); v_.pop_back(); size_t i = 0; for (;;) { size_t l = 2 * i + 1, m = i; if (l < v_.size() && v_[l] < v_[m]) m = l; if (l + 1 < v_.size() && v_[l + 1] < v_[m]) m = l + 1; if (m == i) break; std::swap(v_[i], v_[m]); i = m; } return top; }
  bool empty() const { return v_.empty(); }
};
int main() {
  Trie t;
  for (const char* w : {"warp", "warps", "ward", "block", "warp"}) t.insert(w);
  show(t.count()); //= 4
  show(t.nodes()); //= 12
  Fenwick f(16);
  for (int i = 0; i < 16; i++) f.add(i, i * i % 7);
  show(f.sum(10)); //= 19
  f.add(3, 100);
  show(f.sum(16) - f.sum(3)); //= 124
  std::vector<int> v{5, 2, 8, 1, 9, 3, 7};
  Segments s(v, INT_MAX, [](int a, int b) { return std::min(a, b); });
  show(s.query(0, 3) * 10 + s.query(4, 7)); //= 23
  s.set(5, 0);
  show(s.query(2, 6)); //= 0
  Heap<int> h;
  for (int x : v) h.push(x);
  int order = 0;
  while (!h.empty()) order = order * 10 + h.pop();
  show(order); //= 1235789
  return 0;
}
