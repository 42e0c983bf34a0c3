/** Containers of the user's: small vectors, flat maps, rings with iterators, optional pools, typed ids. */
#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <new>
#include <utility>
#include <vector>
template <class T, size_t N> class SmallVector {
  T own_[N]{};
  T* data_ = own_;
  size_t size_ = 0, room_ = N;
 public:
  SmallVector() = default;
  SmallVector(std::initializer_list<T> l) { for (const T& x : l) push_back(x); }
  SmallVector(const SmallVector& o) { for (size_t i = 0; i < o.size_; i++) push_back(o.data_[i]); }
  ~SmallVector() { if (data_ != own_) delete[] data_; }
  void push_back(const T& x) { if (size_ == room_) { room_ *= 2; T* p = new T[room_]; std::copy(data_, data_ + size_, p); if (data_ != own_) delete[] data_; data_ = p; } data_[size_++] = x; }
  bool isSmall() const { return data_ == own_; }
  T& operator[](size_t i) { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  size_t size() const { return size_; }
};
template <class K, class V> class FlatMap {
  std::vector<std::pair<K, V>> v_;
  auto at(const K& k) { return std::lower_bound(v_.begin(), v_.end(), k, [](const auto& p, const K& x) { return p.first < x; }); }
 public:
  V& operator[](const K& k) { auto it = at(k); if (it == v_.end() || it->first != k) it = v_.insert(it, {k, V{}}); return it->second; }
  size_t size() const { return v_.size(); }
  auto begin() const { return v_.begin(); }
  auto end() const { return v_.end(); }
};
template <class Tag> struct Id { int v; explicit constexpr Id(int x) : v(x) {} friend bool operator==(Id a, Id b) { return a.v == b.v; } Id next() const { return Id(v + 1); } };
struct NodeTag {}; using NodeId = Id<NodeTag>;
template <class T> class SlotMap {
  struct Slot { T value; int version = 0; bool used = false; };
  std::vector<Slot> slots_;
  std::vector<int> free_;
 public:
  struct Key { int index, version; };
  Key add(T x) { int i; if (free_.empty()) { i = slots_.size(); slots_.emplace_back(); } else { i = free_.back(); free_.pop_back(); } slots_[i].value = std::move(x); slots_[i].used = true; return {i, slots_[i].version}; }
  bool remove(Key k) { if (!get(k)) return false; auto& s = slots_[k.index]; s.used = false; ++s.version; free_.push_back(k.index); return true; }
  T* get(Key k) { auto& s = slots_[k.index]; return s.used && s.version == k.version ? &s.value : nullptr; }
  size_t room() const { return slots_.size(); }
};
int main() {
  SmallVector<int, 4> v{1, 2, 3};
  v.push_back(4);
  v.push_back(5);
  show(v.size()); //= 5
  SmallVector<int, 4> w = v;
  w[0] = 100;
  show(v[0] + w[0] + w[4]); //= 106
  int sum = 0;
  for (int x : v) sum += x;
  show(sum); //= 15
  FlatMap<int, int> m;
  for (int k : {5, 1, 9, 5, 1, 5}) m[k]++;
  show(m.size()); //= 3
  int code = 0;
  for (const auto& [k, n] : m) code = code * 100 + k * 10 + n;
  show(code); //= 125391
  NodeId a(4), b = a.next();
  show((a == b) * 10 + b.v); //= 5
  SlotMap<std::vector<int>> s;
  auto x = s.add({1, 2, 3}), y = s.add({4});
  show(s.get(x)->size() * 10 + s.get(y)->front()); //= 34
  show(s.remove(x)); //= 1
  auto z = s.add({7, 8});
  show(s.get(x) == nullptr); //= 1
  show(z.index * 100 + z.version * 10 + s.room()); //= 12
  show(s.remove(x)); //= 0
  return 0;
}
