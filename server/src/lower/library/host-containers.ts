/**
 * Containers of the host, as far as they carry data: elements one after the other, iterators that are pointers. A copy made by
 * `__copied` has elements of its own (lower/host/copies.ts); nothing is ever freed.
 */
export const hostContainers = `
template <class T> struct reverse_iterator {
  T* at_;
  T& operator*() const { return at_[-1]; }
  T* operator->() const { return at_ - 1; }
  T& operator[](ptrdiff_t i) const { return at_[-1 - i]; }
  reverse_iterator<T>& operator++() { at_ = at_ - 1; return *this; }
  T* base() const { return at_; }
};
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
  vector<T> __copied() const {
    vector<T> v;
    v.first_ = (T*)__warplens_allocate(size_ * sizeof(T));
    v.size_ = size_;
    v.room_ = size_;
    if constexpr (__warplens_is_plain(T)) memcpy(v.first_, first_, size_ * sizeof(T));
    else for (size_t i = 0; i < size_; ++i) v.first_[i] = first_[i];
    return v;
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
  T& at(size_t i) { return first_[i]; }
  const T& at(size_t i) const { return first_[i]; }
  T& front() { return first_[0]; }
  T& back() { return first_[size_ - 1]; }
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
  size_t size() const { return size_; }
  size_t capacity() const { return room_; }
  size_t max_size() const { return size_t(1) << 40; }
  bool empty() const { return size_ == 0; }
  void reserve(size_t n) { __room(n); }
  void shrink_to_fit() {}
  void clear() { size_ = 0; }
  void resize(size_t n) {
    __room(n);
    if (n > size_) {
      if constexpr (__warplens_is_plain(T) && !__is_class(T)) memset(first_ + size_, 0, (n - size_) * sizeof(T));
      else for (size_t i = size_; i < n; ++i) first_[i] = T();
    }
    size_ = n;
  }
  void resize(size_t n, const T& x) {
    __room(n);
    for (size_t i = size_; i < n; ++i) first_[i] = x;
    size_ = n;
  }
  void assign(size_t n, const T& x) {
    size_ = 0;
    resize(n, x);
  }
  template <class U> void assign(U* a, U* b) {
    size_t n = b - a;
    size_ = 0;
    __room(n);
    for (size_t i = 0; i < n; ++i) first_[i] = a[i];
    size_ = n;
  }
  void push_back(const T& x) {
    __room(size_ + 1);
    first_[size_] = x;
    size_ = size_ + 1;
  }
  template <class... A> void emplace_back(A&&... a) { push_back(T(a...)); }
  void pop_back() { size_ = size_ - 1; }
  T* insert(const T* at, const T& x) {
    size_t k = at - first_;
    __room(size_ + 1);
    if constexpr (__warplens_is_plain(T)) memmove(first_ + k + 1, first_ + k, (size_ - k) * sizeof(T));
    else for (size_t i = size_; i > k; --i) first_[i] = first_[i - 1];
    first_[k] = x;
    size_ = size_ + 1;
    return first_ + k;
  }
  T* insert(const T* at, size_t n, const T& x) {
    T value = x;
    size_t k = at - first_;
    __room(size_ + n);
    for (size_t i = size_; i > k; --i) first_[i - 1 + n] = first_[i - 1];
    for (size_t i = 0; i < n; ++i) first_[k + i] = value;
    size_ = size_ + n;
    return first_ + k;
  }
  template <class U> T* insert(const T* at, U* a, U* b) {
    size_t k = at - first_;
    size_t n = b - a;
    __room(size_ + n);
    for (size_t i = size_; i > k; --i) first_[i - 1 + n] = first_[i - 1];
    for (size_t i = 0; i < n; ++i) first_[k + i] = a[i];
    size_ = size_ + n;
    return first_ + k;
  }
  T* erase(const T* at) {
    size_t k = at - first_;
    for (size_t i = k; i + 1 < size_; ++i) first_[i] = first_[i + 1];
    size_ = size_ - 1;
    return first_ + k;
  }
  T* erase(const T* a, const T* b) {
    size_t k = a - first_;
    size_t n = b - a;
    for (size_t i = k; i + n < size_; ++i) first_[i] = first_[i + n];
    size_ = size_ - n;
    return first_ + k;
  }
  void swap(vector<T>& other) {
    T* p = first_; first_ = other.first_; other.first_ = p;
    size_t n = size_; size_ = other.size_; other.size_ = n;
    n = room_; room_ = other.room_; other.room_ = n;
  }
};
template <class T> vector<T> __guide_vector(size_t, T);
template <class T> bool operator==(const vector<T>& a, const vector<T>& b) {
  if (a.size() != b.size()) return false;
  bool same = true;
  for (size_t i = 0; i < a.size(); ++i) same = same && a[i] == b[i];
  return same;
}
template <class T> bool operator!=(const vector<T>& a, const vector<T>& b) { return !(a == b); }
template <class T> void swap(vector<T>& a, vector<T>& b) { a.swap(b); }

template <class T> struct queue {
  vector<T> held_;
  size_t head_;
  queue() : head_(0) {}
  void push(const T& x) { held_.push_back(x); }
  template <class... A> void emplace(A&&... a) { held_.push_back(T(a...)); }
  void pop() { head_ = head_ + 1; }
  T& front() { return held_[head_]; }
  T& back() { return held_.back(); }
  bool empty() const { return held_.size() == head_; }
  size_t size() const { return held_.size() - head_; }
};
template <class T> struct stack {
  vector<T> held_;
  void push(const T& x) { held_.push_back(x); }
  template <class... A> void emplace(A&&... a) { held_.push_back(T(a...)); }
  void pop() { held_.pop_back(); }
  T& top() { return held_.back(); }
  bool empty() const { return held_.empty(); }
  size_t size() const { return held_.size(); }
};

template <class T> struct unique_ptr {
  T* held_;
  unique_ptr() : held_(nullptr) {}
  unique_ptr(T* p) : held_(p) {}
  T* get() const { return held_; }
  T& operator*() const { return *held_; }
  T* operator->() const { return held_; }
  void reset(T* p = nullptr) { held_ = p; }
  T* release() { T* p = held_; held_ = nullptr; return p; }
  explicit operator bool() const { return held_ != nullptr; }
  bool operator==(const void* p) const { return held_ == p; }
  bool operator!=(const void* p) const { return held_ != p; }
};
template <class T> struct unique_ptr<T[]> {
  T* held_;
  unique_ptr() : held_(nullptr) {}
  unique_ptr(T* p) : held_(p) {}
  T* get() const { return held_; }
  T& operator[](size_t i) const { return held_[i]; }
  void reset(T* p = nullptr) { held_ = p; }
  T* release() { T* p = held_; held_ = nullptr; return p; }
  explicit operator bool() const { return held_ != nullptr; }
  bool operator==(const void* p) const { return held_ == p; }
  bool operator!=(const void* p) const { return held_ != p; }
};
template <class T> struct __made_unique { template <class... A> static unique_ptr<T> of(A&&... a) { return unique_ptr<T>(new T(a...)); } };
template <class T> struct __made_unique<T[]> { static unique_ptr<T[]> of(size_t n) { return unique_ptr<T[]>((T*)__warplens_allocate_zero(n * sizeof(T))); } };
template <class T, class... A> auto make_unique(A&&... a) { return __made_unique<T>::of(a...); }
template <class T> struct shared_ptr {
  T* held_;
  shared_ptr() : held_(nullptr) {}
  shared_ptr(T* p) : held_(p) {}
  template <class D> shared_ptr(T* p, D d) : held_(p) {}
  T* get() const { return held_; }
  T& operator*() const { return *held_; }
  T* operator->() const { return held_; }
  T& operator[](size_t i) const { return held_[i]; }
  void reset(T* p = nullptr) { held_ = p; }
  explicit operator bool() const { return held_ != nullptr; }
  bool operator==(const void* p) const { return held_ == p; }
  bool operator!=(const void* p) const { return held_ != p; }
};
template <class T, class... A> shared_ptr<T> make_shared(A&&... a) { return shared_ptr<T>(new T(a...)); }
`;
