/**
 * Containers of the host, as far as they carry data: elements one after the other, iterators that are pointers. A copy made by
 * `__copied` has elements of its own (lower/host/copies.ts); nothing is ever freed.
 */
import { deletingPointers } from './host-deleters';
import { vectors } from './host-vectors';

export const hostContainers = `
template <class I> struct iterator_traits { using value_type = typename I::value_type; using difference_type = ptrdiff_t; using reference = value_type&; using pointer = value_type*; };
template <class T> struct iterator_traits<T*> { using value_type = typename remove_cv<T>::type; using difference_type = ptrdiff_t; using reference = T&; using pointer = T*; };
template <class T> struct reverse_iterator {
  using value_type = T;
  T* at_;
  T& operator*() const { return at_[-1]; }
  T* operator->() const { return at_ - 1; }
  T& operator[](ptrdiff_t i) const { return at_[-1 - i]; }
  reverse_iterator<T>& operator++() { at_ = at_ - 1; return *this; }
  reverse_iterator<T>& operator--() { at_ = at_ + 1; return *this; }
  T* base() const { return at_; }
};
template <class T> reverse_iterator<T> operator+(reverse_iterator<T> a, ptrdiff_t n) { return reverse_iterator<T>{a.at_ - n}; }
template <class T> bool operator==(const reverse_iterator<T>& a, const reverse_iterator<T>& b) { return a.at_ == b.at_; }
template <class T> bool operator!=(const reverse_iterator<T>& a, const reverse_iterator<T>& b) { return a.at_ != b.at_; }
template <class T> ptrdiff_t operator-(const reverse_iterator<T>& a, const reverse_iterator<T>& b) { return b.at_ - a.at_; }

${vectors}
template <class T> using initializer_list = vector<T>;
template <class T> vector<T> __guide_vector(size_t, T);
template <class T> bool operator==(const vector<T>& a, const vector<T>& b) {
  if (a.size() != b.size()) return false;
  bool same = true;
  for (size_t i = 0; i < a.size(); ++i) same = same && a[i] == b[i];
  return same;
}
template <class T> bool operator!=(const vector<T>& a, const vector<T>& b) { return !(a == b); }
template <class T> void swap(T& a, T& b) { T t = move(a); a = move(b); b = move(t); }
template <class T> void swap(vector<T>& a, vector<T>& b) { a.swap(b); }

template <class T> struct queue {
  vector<T> held_;
  size_t head_;
  queue() : head_(0) {}
  ~queue() { held_.__end(head_, held_.size()); }
  void __left() { held_.__left(); head_ = 0; }
  void push(const T& x) { held_.push_back(forward<T>(x)); }
  template <class... A> void emplace(A&&... a) { held_.emplace_back(forward<A>(a)...); }
  void pop() { held_.__end(head_, head_ + 1); head_ = head_ + 1; }
  T& front() { return held_[head_]; }
  T& back() { return held_.back(); }
  bool empty() const { return held_.size() == head_; }
  size_t size() const { return held_.size() - head_; }
};
template <class T> struct stack {
  vector<T> held_;
  void push(const T& x) { held_.push_back(forward<T>(x)); }
  template <class... A> void emplace(A&&... a) { held_.emplace_back(forward<A>(a)...); }
  void pop() { held_.pop_back(); }
  T& top() { return held_.back(); }
  bool empty() const { return held_.empty(); }
  size_t size() const { return held_.size(); }
};

template <class T, class D = void> struct unique_ptr;
${deletingPointers}
template <class T> struct unique_ptr<T, void> {
  using element_type = T;
  T* held_;
  unique_ptr() : held_(nullptr) {}
  unique_ptr(T* p) : held_(p) {}
  template <class U> unique_ptr(unique_ptr<U>&& o) : held_(o.release()) {}
  ~unique_ptr() { reset(); }
  void __left() { held_ = nullptr; }
  T* get() const { return held_; }
  T& operator*() const { return *held_; }
  T* operator->() const { return held_; }
  void reset(T* p = nullptr) {
    T* old = held_;
    held_ = p;
    if constexpr (__warplens_ends(T)) if (old) __warplens_end(*old);
  }
  T* release() { T* p = held_; held_ = nullptr; return p; }
  void swap(unique_ptr<T>& o) { T* p = held_; held_ = o.held_; o.held_ = p; }
  explicit operator bool() const { return held_ != nullptr; }
  bool operator==(const void* p) const { return held_ == p; }
  bool operator!=(const void* p) const { return held_ != p; }
};
template <class T> struct unique_ptr<T[], void> {
  T* held_;
  unique_ptr() : held_(nullptr) {}
  unique_ptr(T* p) : held_(p) {}
  void __left() { held_ = nullptr; }
  T* get() const { return held_; }
  T& operator[](size_t i) const { return held_[i]; }
  void reset(T* p = nullptr) { held_ = p; }
  T* release() { T* p = held_; held_ = nullptr; return p; }
  void swap(unique_ptr& other) { T* p = held_; held_ = other.held_; other.held_ = p; }
  explicit operator bool() const { return held_ != nullptr; }
  bool operator==(const void* p) const { return held_ == p; }
  bool operator!=(const void* p) const { return held_ != p; }
};
template <class T> struct __made_unique { template <class... A> static unique_ptr<T> of(A&&... a) { return unique_ptr<T>(new T(forward<A>(a)...)); } };
template <class T> struct __made_unique<T[]> { static unique_ptr<T[]> of(size_t n) { return unique_ptr<T[]>(new T[n]()); } };
template <class T, class... A> auto make_unique(A&&... a) { return __made_unique<T>::of(forward<A>(a)...); }

struct __holders { long strong; long weak; function<void(void*)> last; };
inline __holders* __first_holder(const void* p) {
  if (!p) return nullptr;
  __holders* h = (__holders*)__warplens_allocate(sizeof(__holders));
  h->strong = 1;
  h->weak = 0;
  if constexpr (__warplens_shares_deleters()) h->last = nullptr;
  return h;
}
template <class T> struct shared_ptr {
  using element_type = T;
  T* held_;
  __holders* holders_;
  shared_ptr() : held_(nullptr), holders_(nullptr) {}
  shared_ptr(T* p) : held_(p), holders_(__first_holder(p)) {}
  template <class D> shared_ptr(T* p, D d) : held_(p), holders_(__first_holder(p)) {
    if constexpr (__warplens_shares_deleters()) if (holders_) holders_->last = [d](void* q) { d((T*)q); };
  }
  template <class U> shared_ptr(const shared_ptr<U>& o) : held_(o.held_), holders_(o.holders_) { if (holders_) holders_->strong += 1; }
  template <class U> shared_ptr(unique_ptr<U>&& o) : held_(o.get()), holders_(__first_holder(o.release())) {}
  shared_ptr<T> __copied() const {
    shared_ptr<T> p;
    p.held_ = held_;
    p.holders_ = holders_;
    if (holders_) holders_->strong += 1;
    return p;
  }
  void __left() { held_ = nullptr; holders_ = nullptr; }
  void __counted() const {}
  ~shared_ptr() { __drop(); }
  void __drop() {
    T* old = held_;
    __holders* holders = holders_;
    held_ = nullptr;
    holders_ = nullptr;
    if (!holders) return;
    holders->strong -= 1;
    if constexpr (__warplens_shares_deleters()) {
      if (holders->strong == 0 && holders->last) { holders->last(old); return; }
    }
    if constexpr (__warplens_ends(T)) if (holders->strong == 0) __warplens_end(*old);
  }
  T* get() const { return held_; }
  T& operator*() const { return *held_; }
  T* operator->() const { return held_; }
  T& operator[](size_t i) const { return held_[i]; }
  void reset() { __drop(); }
  void reset(T* p) { __drop(); held_ = p; holders_ = __first_holder(p); }
  template <class D> void reset(T* p, D d) { shared_ptr<T> made(p, d); swap(made); }
  void swap(shared_ptr<T>& o) {
    T* p = held_; held_ = o.held_; o.held_ = p;
    __holders* h = holders_; holders_ = o.holders_; o.holders_ = h;
  }
  long use_count() const { return holders_ ? holders_->strong : 0; }
  bool unique() const { return use_count() == 1; }
  explicit operator bool() const { return held_ != nullptr; }
  bool operator==(const void* p) const { return held_ == p; }
  bool operator!=(const void* p) const { return held_ != p; }
};
template <class T> bool operator==(const shared_ptr<T>& a, const shared_ptr<T>& b) { return a.held_ == b.held_; }
template <class T> bool operator!=(const shared_ptr<T>& a, const shared_ptr<T>& b) { return a.held_ != b.held_; }
template <class T, class... A> shared_ptr<T> make_shared(A&&... a) { return shared_ptr<T>(new T(forward<A>(a)...)); }
template <class T, class U> shared_ptr<T> static_pointer_cast(const shared_ptr<U>& o) { shared_ptr<T> p; p.held_ = (T*)o.held_; p.holders_ = o.holders_; if (p.holders_) p.holders_->strong += 1; return p; }
template <class T> struct weak_ptr {
  T* held_;
  __holders* holders_;
  weak_ptr() : held_(nullptr), holders_(nullptr) {}
  weak_ptr(const shared_ptr<T>& o) : held_(o.held_), holders_(o.holders_) {}
  long use_count() const { return holders_ ? holders_->strong : 0; }
  bool expired() const { return use_count() == 0; }
  void reset() { held_ = nullptr; holders_ = nullptr; }
  shared_ptr<T> lock() const {
    shared_ptr<T> p;
    if (expired()) return p;
    p.held_ = held_;
    p.holders_ = holders_;
    holders_->strong += 1;
    return p;
  }
};
`;
