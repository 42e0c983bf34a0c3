/** `std::list` of the host: nodes in a ring around one that holds nothing, so that places stay where they are. */
export const hostLists = `
template <class T> struct __list_node { __list_node<T>* next_; __list_node<T>* prev_; T value_; };
template <class T> struct __list_place {
  using value_type = T;
  __list_node<T>* node_;
  T& operator*() const { return node_->value_; }
  T* operator->() const { return &node_->value_; }
  __list_place<T>& operator++() { node_ = node_->next_; return *this; }
  __list_place<T>& operator--() { node_ = node_->prev_; return *this; }
};
template <class T> bool operator==(const __list_place<T>& a, const __list_place<T>& b) { return a.node_ == b.node_; }
template <class T> bool operator!=(const __list_place<T>& a, const __list_place<T>& b) { return a.node_ != b.node_; }
template <class T> struct __list_back {
  using value_type = T;
  __list_node<T>* node_;
  T& operator*() const { return node_->prev_->value_; }
  T* operator->() const { return &node_->prev_->value_; }
  __list_back<T>& operator++() { node_ = node_->prev_; return *this; }
  __list_back<T>& operator--() { node_ = node_->next_; return *this; }
  __list_place<T> base() const { return __list_place<T>{node_}; }
};
template <class T> bool operator==(const __list_back<T>& a, const __list_back<T>& b) { return a.node_ == b.node_; }
template <class T> bool operator!=(const __list_back<T>& a, const __list_back<T>& b) { return a.node_ != b.node_; }
template <class T> struct list {
  using value_type = T;
  using iterator = __list_place<T>;
  using const_iterator = __list_place<T>;
  __list_node<T>* ring_;
  size_t size_;
  list() { __begin(); }
  explicit list(size_t n) { __begin(); for (size_t i = 0; i < n; ++i) push_back(T()); }
  list(size_t n, const T& x) { __begin(); for (size_t i = 0; i < n; ++i) push_back(x); }
  template <class I> list(I a, I b) { __begin(); for (; a != b; ++a) push_back(*a); }
  ~list() { clear(); }
  void __begin() {
    ring_ = (__list_node<T>*)__warplens_allocate(sizeof(__list_node<T>));
    ring_->next_ = ring_;
    ring_->prev_ = ring_;
    size_ = 0;
  }
  list<T> __copied() const {
    list<T> other;
    for (__list_node<T>* n = ring_->next_; n != ring_; n = n->next_) other.push_back(n->value_);
    return other;
  }
  void __left() { __begin(); }
  __list_node<T>* __made(__list_node<T>* before, const T& x) {
    __list_node<T>* n = (__list_node<T>*)__warplens_allocate(sizeof(__list_node<T>));
    __warplens_place(n->value_, forward<T>(x));
    __link(before, n);
    return n;
  }
  void __link(__list_node<T>* before, __list_node<T>* n) {
    n->next_ = before;
    n->prev_ = before->prev_;
    before->prev_->next_ = n;
    before->prev_ = n;
    size_ = size_ + 1;
  }
  void __unlink(__list_node<T>* n) {
    n->prev_->next_ = n->next_;
    n->next_->prev_ = n->prev_;
    size_ = size_ - 1;
  }
  void __drop(__list_node<T>* n) { __unlink(n); __warplens_end(n->value_); }
  __list_place<T> begin() const { return __list_place<T>{ring_->next_}; }
  __list_place<T> end() const { return __list_place<T>{ring_}; }
  __list_place<T> cbegin() const { return begin(); }
  __list_place<T> cend() const { return end(); }
  T& front() { return ring_->next_->value_; }
  T& back() { return ring_->prev_->value_; }
  const T& front() const { return ring_->next_->value_; }
  const T& back() const { return ring_->prev_->value_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  void push_back(const T& x) { __made(ring_, forward<T>(x)); }
  void push_front(const T& x) { __made(ring_->next_, forward<T>(x)); }
  template <class... A> T& emplace_back(A&&... a) { return __made(ring_, T(forward<A>(a)...))->value_; }
  template <class... A> T& emplace_front(A&&... a) { return __made(ring_->next_, T(forward<A>(a)...))->value_; }
  void pop_back() { __drop(ring_->prev_); }
  void pop_front() { __drop(ring_->next_); }
  void clear() { while (ring_->next_ != ring_) __drop(ring_->next_); }
  __list_place<T> insert(__list_place<T> at, const T& x) { return __list_place<T>{__made(at.node_, forward<T>(x))}; }
  template <class... A> __list_place<T> emplace(__list_place<T> at, A&&... a) { return __list_place<T>{__made(at.node_, T(forward<A>(a)...))}; }
  template <class I> void insert(__list_place<T> at, I a, I b) { for (; a != b; ++a) __made(at.node_, *a); }
  __list_place<T> erase(__list_place<T> at) {
    __list_node<T>* next = at.node_->next_;
    __drop(at.node_);
    return __list_place<T>{next};
  }
  __list_place<T> erase(__list_place<T> a, __list_place<T> b) { while (a != b) a = erase(a); return b; }
  void splice(__list_place<T> at, list<T>& other) { while (other.ring_->next_ != other.ring_) splice(at, other, other.begin()); }
  void splice(__list_place<T> at, list<T>& other, __list_place<T> it) {
    if (at == it || at.node_ == it.node_->next_) return;
    other.__unlink(it.node_);
    __link(at.node_, it.node_);
  }
  void remove(const T& x) { for (__list_place<T> p = begin(); p != end();) if (*p == x) p = erase(p); else ++p; }
  template <class F> void remove_if(F&& f) { for (__list_place<T> p = begin(); p != end();) if (f(*p)) p = erase(p); else ++p; }
  void unique() { for (__list_place<T> p = begin(); p != end(); ++p) while (p.node_->next_ != ring_ && p.node_->next_->value_ == *p) __drop(p.node_->next_); }
  void reverse() {
    __list_node<T>* n = ring_;
    do { __list_node<T>* next = n->next_; n->next_ = n->prev_; n->prev_ = next; n = next; } while (n != ring_);
  }
  template <class F> void sort(F before) {
    size_t n = size_;
    __list_node<T>** nodes = (__list_node<T>**)__warplens_allocate((n + 1) * sizeof(__list_node<T>*));
    size_t k = 0;
    for (__list_node<T>* p = ring_->next_; p != ring_; p = p->next_) { nodes[k] = p; k = k + 1; }
    __merge_sort(nodes, n, [&](__list_node<T>* a, __list_node<T>* b) { return before(a->value_, b->value_); });
    ring_->next_ = ring_;
    ring_->prev_ = ring_;
    size_ = 0;
    for (size_t i = 0; i < n; ++i) __link(ring_, nodes[i]);
  }
  void sort() { sort(less<>()); }
  template <class F> void unique(F same) { for (__list_place<T> p = begin(); p != end(); ++p) while (p.node_->next_ != ring_ && same(*p, p.node_->next_->value_)) __drop(p.node_->next_); }
  template <class F> void merge(list<T>& other, F before) {
    __list_place<T> at = begin();
    while (other.ring_->next_ != other.ring_) {
      while (at != end() && !before(other.front(), *at)) ++at;
      splice(at, other, other.begin());
    }
  }
  void merge(list<T>& other) { merge(other, less<>()); }
  void splice(__list_place<T> at, list<T>& other, __list_place<T> a, __list_place<T> b) { while (a != b) { __list_place<T> it = a; ++a; splice(at, other, it); } }
  void resize(size_t n, const T& x = T()) { while (size_ > n) pop_back(); while (size_ < n) push_back(x); }
  template <class I> void assign(I a, I b) { clear(); for (; a != b; ++a) push_back(*a); }
  __list_back<T> rbegin() const { return __list_back<T>{ring_}; }
  __list_back<T> rend() const { return __list_back<T>{ring_->next_}; }
  __list_back<T> crbegin() const { return rbegin(); }
  __list_back<T> crend() const { return rend(); }
  void swap(list<T>& other) {
    __list_node<T>* p = ring_; ring_ = other.ring_; other.ring_ = p;
    size_t n = size_; size_ = other.size_; other.size_ = n;
  }
};
template <class T> bool operator==(const list<T>& a, const list<T>& b) {
  if (a.size() != b.size()) return false;
  __list_node<T>* m = b.ring_->next_;
  for (__list_node<T>* n = a.ring_->next_; n != a.ring_; n = n->next_) { if (!(n->value_ == m->value_)) return false; m = m->next_; }
  return true;
}
template <class T> bool operator!=(const list<T>& a, const list<T>& b) { return !(a == b); }
template <class T> __list_place<T> next(__list_place<T> p, ptrdiff_t n = 1) { for (; n > 0; --n) ++p; for (; n < 0; ++n) --p; return p; }
template <class T> __list_place<T> prev(__list_place<T> p, ptrdiff_t n = 1) { return next(p, -n); }
template <class T> void advance(__list_place<T>& p, ptrdiff_t n) { p = next(p, n); }
template <class T> ptrdiff_t distance(__list_place<T> a, __list_place<T> b) { ptrdiff_t n = 0; for (; a != b; ++a) n = n + 1; return n; }
`;
