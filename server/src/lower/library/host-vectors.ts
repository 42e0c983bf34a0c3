/** `std::vector` of the host; its memory is never given back, unless by an allocator of the user's. */

interface Form {
  readonly own: string;
  /** What it has beside its elements. */
  readonly members: string;
  /** Memory for so many elements; not by a function of its own, so that it stays told apart from other memory. */
  readonly allocated: (of: string, count: string) => string;
  /** Of the elements it has. */
  readonly giveBack: string;
}

const vector = ({ own, members, allocated, giveBack }: Form): string => `
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
  ${members}
  vector() : first_(nullptr), size_(0), room_(0) {}
  explicit vector(size_t n) : first_(nullptr), size_(0), room_(0) { resize(n); }
  vector(size_t n, const T& x) : first_(nullptr), size_(0), room_(0) { resize(n, x); }
  template <class U> vector(U* a, U* b) : first_(nullptr), size_(0), room_(0) { assign(a, b); }
  template <class I, class = enable_if_t<__is_class(I)>> vector(I a, I b) : first_(nullptr), size_(0), room_(0) { for (; a != b; ++a) emplace_back(*a); }
  ${own} __copied() const {
    ${own} v;
    v.first_ = ${allocated('v.', 'size_')};
    v.size_ = size_;
    v.room_ = size_;
    if constexpr (__warplens_is_plain(T)) memcpy(v.first_, first_, size_ * sizeof(T));
    else for (size_t i = 0; i < size_; ++i) __warplens_place(v.first_[i], first_[i]);
    return v;
  }
  void __left() { first_ = nullptr; size_ = 0; room_ = 0; }
  ~vector() {
    __end(0, size_);
    ${giveBack}
  }
  void __end(size_t a, size_t b) {
    if constexpr (__warplens_ends(T)) for (size_t i = a; i < b; ++i) __warplens_end(first_[i]);
  }
  void __grow(size_t n) {
    T* p = ${allocated('', 'n')};
    memcpy(p, first_, size_ * sizeof(T));
    ${giveBack}
    first_ = p;
    room_ = n;
  }
  void __room(size_t n) { if (__warplens_certainly(n > room_)) __grow(2 * size_ < n ? n : 2 * size_); }
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
  void reserve(size_t n) { if (__warplens_certainly(n > room_)) __grow(n); }
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
    ${own} made(a, b);
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
    ${own} made(a, b);
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
  void swap(${own}& other) {
    T* p = first_; first_ = other.first_; other.first_ = p;
    size_t n = size_; size_ = other.size_; other.size_ = n;
    n = room_; room_ = other.room_; other.room_ = n;
  }
};`;

const plain = vector({
  own: 'vector<T>',
  members: '',
  allocated: (_, count) => `(T*)__warplens_allocate(${count} * sizeof(T))`,
  giveBack: '',
});

const allocating = vector({
  own: 'vector<T, A>',
  members: `A allocator_;
  using allocator_type = A;
  explicit vector(const A& a) : first_(nullptr), size_(0), room_(0), allocator_(a) {}
  A get_allocator() const { return allocator_; }
  void __deletes() const {}`,
  allocated: (of, count) => `${count} > 0 ? ${of}allocator_.allocate(${count}) : nullptr`,
  giveBack: 'if (first_) allocator_.deallocate(first_, room_);',
});

export const vectors = `
template <class T> struct allocator {
  using value_type = T;
  T* allocate(size_t n) { return (T*)__warplens_allocate(n * sizeof(T)); }
  void deallocate(T*, size_t) {}
};
template <class T, class A = void> struct vector;
template <class T> struct vector<T, void> {${plain}
template <class T, class A> struct vector {${allocating}
template <class T, class A> void swap(vector<T, A>& a, vector<T, A>& b) { a.swap(b); }
template <class T, class A> bool operator==(const vector<T, A>& a, const vector<T, A>& b) {
  bool same = a.size() == b.size();
  for (size_t i = 0; same && i < a.size(); ++i) same = a[i] == b[i];
  return same;
}
`;
