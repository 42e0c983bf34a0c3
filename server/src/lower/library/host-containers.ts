/**
 * Containers of the host, as far as they carry data: elements one after the other, iterators that are pointers. A copy made by
 * `__copied` has elements of its own (lower/host/copies.ts); nothing is ever freed.
 */
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

template <class T> struct vector {
  using value_type = T;
  using size_type = size_t;
  using reference = T&;
  using const_reference = const T&;
  using pointer = T*;
  using iterator = T*;
  using const_iterator = const T*;
  T* first_;
  size_t size_;
  size_t room_;
  vector() : first_(nullptr), size_(0), room_(0) {}
  explicit vector(size_t n) : first_(nullptr), size_(0), room_(0) { resize(n); }
  vector(size_t n, const T& x) : first_(nullptr), size_(0), room_(0) { resize(n, x); }
  template <class U> vector(U* a, U* b) : first_(nullptr), size_(0), room_(0) { assign(a, b); }
  template <class I, class = enable_if_t<__is_class(I)>> vector(I a, I b) : first_(nullptr), size_(0), room_(0) { for (; a != b; ++a) emplace_back(*a); }
  vector<T> __copied() const {
    vector<T> v;
    v.first_ = (T*)__warplens_allocate(size_ * sizeof(T));
    v.size_ = size_;
    v.room_ = size_;
    if constexpr (__warplens_is_plain(T)) memcpy(v.first_, first_, size_ * sizeof(T));
    else for (size_t i = 0; i < size_; ++i) __warplens_place(v.first_[i], first_[i]);
    return v;
  }
  void __left() { first_ = nullptr; size_ = 0; room_ = 0; }
  ~vector() { __end(0, size_); }
  void __end(size_t a, size_t b) {
    if constexpr (__warplens_ends(T)) for (size_t i = a; i < b; ++i) __warplens_end(first_[i]);
  }
  void __room(size_t n) {
    if (!__warplens_certainly(n > room_)) return;
    size_t wanted = 2 * room_ < n ? n : 2 * room_;
    T* p = (T*)__warplens_allocate(wanted * sizeof(T));
    memcpy(p, first_, size_ * sizeof(T));
    first_ = p;
    room_ = wanted;
  }
  T& operator[](size_t i) { return first_[i]; }
  const T& operator[](size_t i) const { return first_[i]; }
  void __checked(size_t i) const { if constexpr (__warplens_caught()) if (i >= size_) throw out_of_range(); }
  T& at(size_t i) { __checked(i); return first_[i]; }
  const T& at(size_t i) const { __checked(i); return first_[i]; }
  T& front() { return first_[0]; }
  T& back() { return first_[size_ - 1]; }
  const T& front() const { return first_[0]; }
  const T& back() const { return first_[size_ - 1]; }
  T* data() { return first_; }
  const T* data() const { return first_; }
  T* begin() { return first_; }
  T* end() { return first_ + size_; }
  const T* begin() const { return first_; }
  const T* end() const { return first_ + size_; }
  const T* cbegin() const { return first_; }
  const T* cend() const { return first_ + size_; }
  reverse_iterator<T> rbegin() const { return reverse_iterator<T>{first_ + size_}; }
  reverse_iterator<T> rend() const { return reverse_iterator<T>{first_}; }
  reverse_iterator<T> crbegin() const { return rbegin(); }
  reverse_iterator<T> crend() const { return rend(); }
  size_t size() const { return size_; }
  size_t capacity() const { return room_; }
  size_t max_size() const { return size_t(1) << 40; }
  bool empty() const { return size_ == 0; }
  void reserve(size_t n) { __room(n); }
  void shrink_to_fit() {}
  void clear() { __end(0, size_); size_ = 0; }
  void resize(size_t n) {
    __room(n);
    __end(n, size_);
    if (n > size_) {
      if constexpr (__warplens_is_plain(T) && !__is_class(T)) memset(first_ + size_, 0, (n - size_) * sizeof(T));
      else for (size_t i = size_; i < n; ++i) __warplens_place(first_[i], T());
    }
    size_ = n;
  }
  void resize(size_t n, const T& x) {
    __room(n);
    __end(n, size_);
    for (size_t i = size_; i < n; ++i) __warplens_place(first_[i], x);
    size_ = n;
  }
  void assign(size_t n, const T& x) {
    clear();
    resize(n, x);
  }
  void assign(const vector<T>& list) { assign(list.begin(), list.end()); }
  template <class U> void assign(U* a, U* b) {
    size_t n = b - a;
    clear();
    __room(n);
    for (size_t i = 0; i < n; ++i) __warplens_place(first_[i], a[i]);
    size_ = n;
  }
  template <class I, class = enable_if_t<__is_class(I)>> void assign(I a, I b) {
    vector<T> made(a, b);
    swap(made);
  }
  void push_back(const T& x) {
    __room(size_ + 1);
    __warplens_place(first_[size_], forward<T>(x));
    size_ = size_ + 1;
  }
  template <class... A> T& emplace_back(A&&... a) {
    __room(size_ + 1);
    __warplens_place(first_[size_], T(forward<A>(a)...));
    size_ = size_ + 1;
    return first_[size_ - 1];
  }
  void pop_back() { __end(size_ - 1, size_); size_ = size_ - 1; }
  void __shift(size_t k, size_t n) {
    __room(size_ + n);
    memmove(first_ + k + n, first_ + k, (size_ - k) * sizeof(T));
    size_ = size_ + n;
  }
  T* insert(const T* at, const T& x) {
    size_t k = at - first_;
    T value = forward<T>(x);
    __shift(k, 1);
    __warplens_place(first_[k], move(value));
    return first_ + k;
  }
  template <class... A> T* emplace(const T* at, A&&... a) { return insert(at, T(forward<A>(a)...)); }
  T* insert(const T* at, size_t n, const T& x) {
    T value = x;
    size_t k = at - first_;
    __shift(k, n);
    for (size_t i = 0; i < n; ++i) __warplens_place(first_[k + i], value);
    return first_ + k;
  }
  template <class U> T* insert(const T* at, U* a, U* b) {
    size_t k = at - first_;
    size_t n = b - a;
    __shift(k, n);
    for (size_t i = 0; i < n; ++i) __warplens_place(first_[k + i], a[i]);
    return first_ + k;
  }
  template <class I, class = enable_if_t<__is_class(I)>> T* insert(const T* at, I a, I b) {
    vector<T> made(a, b);
    size_t k = at - first_;
    __shift(k, made.size());
    for (size_t i = 0; i < made.size(); ++i) __warplens_place(first_[k + i], move(made.first_[i]));
    return first_ + k;
  }
  T* insert(const T* at, const vector<T>& list) { return insert(at, list.begin(), list.end()); }
  T* erase(const T* at) { return erase(at, at + 1); }
  T* erase(const T* a, const T* b) {
    size_t k = a - first_;
    size_t n = b - a;
    __end(k, k + n);
    memmove(first_ + k, first_ + k + n, (size_ - k - n) * sizeof(T));
    size_ = size_ - n;
    return first_ + k;
  }
  void swap(vector<T>& other) {
    T* p = first_; first_ = other.first_; other.first_ = p;
    size_t n = size_; size_ = other.size_; other.size_ = n;
    n = room_; room_ = other.room_; other.room_ = n;
  }
};
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

template <class T> struct unique_ptr {
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
template <class T> struct unique_ptr<T[]> {
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
template <class T> struct __made_unique<T[]> { static unique_ptr<T[]> of(size_t n) { return unique_ptr<T[]>((T*)__warplens_allocate_zero(n * sizeof(T))); } };
template <class T, class... A> auto make_unique(A&&... a) { return __made_unique<T>::of(forward<A>(a)...); }

struct __holders { long strong; long weak; };
inline __holders* __first_holder(const void* p) {
  if (!p) return nullptr;
  __holders* h = (__holders*)__warplens_allocate(sizeof(__holders));
  h->strong = 1;
  h->weak = 0;
  return h;
}
template <class T> struct shared_ptr {
  using element_type = T;
  T* held_;
  __holders* holders_;
  shared_ptr() : held_(nullptr), holders_(nullptr) {}
  shared_ptr(T* p) : held_(p), holders_(__first_holder(p)) {}
  template <class D> shared_ptr(T* p, D d) : held_(p), holders_(__first_holder(p)) {}
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
    if constexpr (__warplens_ends(T)) if (holders->strong == 0) __warplens_end(*old);
  }
  T* get() const { return held_; }
  T& operator*() const { return *held_; }
  T* operator->() const { return held_; }
  T& operator[](size_t i) const { return held_[i]; }
  void reset() { __drop(); }
  void reset(T* p) { __drop(); held_ = p; holders_ = __first_holder(p); }
  template <class D> void reset(T* p, D d) { reset(p); }
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
