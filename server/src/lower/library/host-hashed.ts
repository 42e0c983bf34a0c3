/**
 * Hashes and containers of the host that are ordered by them, with the order of libstdc++: elements are one list, in which those of a bucket stand
 * together, a new one first among its own, and first of all where its bucket is empty; buckets grow by primes. Source: hashtable.h,
 * hashtable_policy.h and hash_bytes.cc of GCC. Elements never move (references to them hold), and
 * what was erased keeps its place in memory.
 */
export const hostHashed = `
inline size_t __shift_mix(size_t v) { return v ^ (v >> 47); }
inline size_t __hash_bytes(const char* p, size_t n) {
  const size_t mul = (size_t(0xc6a4a793u) << 32) + size_t(0x5bd1e995u);
  size_t hash = size_t(0xc70f6907u) ^ (n * mul);
  size_t whole = n & ~size_t(7);
  for (size_t i = 0; i < whole; i += 8) {
    size_t data = 0;
    for (int k = 7; k >= 0; --k) data = (data << 8) | (unsigned char)p[i + k];
    hash = (hash ^ (__shift_mix(data * mul) * mul)) * mul;
  }
  if (n & 7) {
    size_t data = 0;
    for (size_t k = n; k > whole; --k) data = (data << 8) | (unsigned char)p[k - 1];
    hash = (hash ^ data) * mul;
  }
  return __shift_mix(__shift_mix(hash) * mul);
}
inline size_t __hash_word(size_t data, size_t n) {
  const size_t mul = (size_t(0xc6a4a793u) << 32) + size_t(0x5bd1e995u);
  size_t hash = size_t(0xc70f6907u) ^ (n * mul);
  hash = n == 8 ? (hash ^ (__shift_mix(data * mul) * mul)) * mul : (hash ^ data) * mul;
  return __shift_mix(__shift_mix(hash) * mul);
}
template <class T> struct hash { size_t operator()(const T& x) const { return (size_t)x; } };
template <> struct hash<string> { size_t operator()(const string& x) const { return __hash_bytes(x.data(), x.size()); } };
template <> struct hash<string_view> { size_t operator()(const string_view& x) const { return __hash_bytes(x.data(), x.size()); } };
template <> struct hash<float> { size_t operator()(float x) const { return x != 0 ? __hash_word(__float_as_uint(x), 4) : 0; } };
template <> struct hash<double> { size_t operator()(double x) const { return x != 0 ? __hash_word((size_t)__double_as_longlong(x), 8) : 0; } };
inline size_t __next_buckets(size_t n) {
  const unsigned first[14] = {2, 2, 2, 3, 5, 5, 7, 7, 11, 11, 11, 11, 13, 13};
  if (n < 14) return first[n];
  const unsigned primes[] = {17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 103, 109, 113, 127, 137, 139, 149, 157,
    167, 179, 193, 199, 211, 227, 241, 257, 277, 293, 313, 337, 359, 383, 409, 439, 467, 503, 541, 577, 619, 661, 709, 761, 823, 887, 953, 1031,
    1109, 1193, 1289, 1381, 1493, 1613, 1741, 1879, 2029, 2179, 2357, 2549, 2753, 2971, 3209, 3469, 3739, 4027, 4349, 4703, 5087, 5503, 5953,
    6427, 6949, 7517, 8123, 8783, 9497, 10273, 11113, 12011, 12983, 14033, 15173, 16411, 17749, 19183, 20753, 22447, 24281, 26267, 28411, 30727,
    33223, 35933, 38873, 42043, 45481, 49201, 53201, 57557, 62233, 67307, 72817, 78779, 85229, 92203, 99733, 107897, 116731, 126271, 136607,
    147793, 159871, 172933, 187091, 202409, 218971, 236897, 256279, 277261, 299951, 324503, 351061, 379787, 410857, 444487, 480881, 520241,
    562841, 608903, 658753, 712697, 771049, 834181, 902483, 976369};
  size_t k = 0;
  while (k + 1 < sizeof(primes) / sizeof(primes[0]) && primes[k] < n) ++k;
  return primes[k];
}
template <class T> struct __kept {
  T** places_;
  size_t used_;
  size_t room_;
  __kept() : places_(nullptr), used_(0), room_(0) {}
  __kept<T> __copied() const {
    __kept<T> other;
    other.__grow(used_);
    for (size_t i = 0; i < used_; ++i) __warplens_place(*other.places_[i], *places_[i]);
    other.used_ = used_;
    return other;
  }
  void __left() { places_ = nullptr; used_ = 0; room_ = 0; }
  void __grow(size_t room) {
    T** places = (T**)__warplens_allocate(room * sizeof(T*));
    T* made = (T*)__warplens_allocate((room - room_) * sizeof(T));
    if (room_ > 0) memcpy(places, places_, room_ * sizeof(T*));
    for (size_t i = room_; i < room; ++i) { places[i] = made; made = made + 1; }
    places_ = places;
    room_ = room;
  }
  void push_back(const T& x) {
    if (__warplens_certainly(used_ == room_)) __grow(room_ < 8 ? 8 : 2 * room_);
    __warplens_place(*places_[used_], forward<T>(x));
    used_ = used_ + 1;
  }
  T& operator[](size_t i) const { return *places_[i]; }
  size_t size() const { return used_; }
  void clear() { used_ = 0; }
};
template <class T> struct __hashed_place {
  using value_type = T;
  T** held_;
  const int* next_;
  int at_;
  T& operator*() const { return *held_[at_]; }
  T* operator->() const { return held_[at_]; }
  __hashed_place<T>& operator++() { at_ = next_[at_]; return *this; }
};
template <class T> bool operator==(const __hashed_place<T>& a, const __hashed_place<T>& b) { return a.at_ == b.at_; }
template <class T> bool operator!=(const __hashed_place<T>& a, const __hashed_place<T>& b) { return a.at_ != b.at_; }
template <class T> __hashed_place<T> next(__hashed_place<T> p, ptrdiff_t n = 1) { for (; n > 0; --n) ++p; return p; }
template <class T> void advance(__hashed_place<T>& p, ptrdiff_t n) { for (; n > 0; --n) ++p; }
template <class T> ptrdiff_t distance(__hashed_place<T> a, __hashed_place<T> b) { ptrdiff_t n = 0; for (; a != b; ++a) n = n + 1; return n; }
template <class T, class K, class P> struct __hashed {
  __kept<T> held_;
  vector<size_t> codes_;
  vector<int> next_;
  vector<int> before_;
  int first_;
  size_t count_;
  size_t resize_at_;
  __hashed() : first_(-1), count_(0), resize_at_(0) { before_.resize(1, -2); }
  void __left() { held_.__left(); codes_.__left(); next_.__left(); before_.__left(); before_.resize(1, -2); first_ = -1; count_ = 0; resize_at_ = 0; }
  ~__hashed() { __end_all(); }
  void __end_all() { if constexpr (__warplens_ends(T)) for (int at = first_; at >= 0; at = next_[at]) __warplens_end(held_[at]); }
  void __link(int node) {
    size_t b = codes_[node] % before_.size();
    int before = before_[b];
    if (before == -2) {
      next_[node] = first_;
      first_ = node;
      if (next_[node] >= 0) before_[codes_[next_[node]] % before_.size()] = node;
      before_[b] = -1;
    } else if (before == -1) {
      next_[node] = first_;
      first_ = node;
    } else {
      next_[node] = next_[before];
      next_[before] = node;
    }
  }
  void __grow(size_t wanted) {
    size_t buckets = __next_buckets(wanted);
    before_.clear();
    before_.resize(buckets, -2);
    resize_at_ = buckets;
    int node = first_;
    first_ = -1;
    while (node >= 0) {
      int next = next_[node];
      __link(node);
      node = next;
    }
  }
  int __found(const K& key, size_t code) const {
    size_t n = before_.size();
    int before = before_[code % n];
    if (before == -2) return -1;
    for (int at = before == -1 ? first_ : next_[before]; at >= 0 && codes_[at] % n == code % n; at = next_[at])
      if (P::of(held_[at]) == key) return at;
    return -1;
  }
  int __add(const T& x, size_t code) {
    size_t n = before_.size();
    if (count_ + 1 > resize_at_) {
      size_t least = count_ + 1;
      if (resize_at_ == 0 && least < 11) least = 11;
      if (least >= n) __grow(least + 1 > 2 * n ? least + 1 : 2 * n);
      else resize_at_ = n;
    }
    int node = (int)held_.size();
    held_.push_back(forward<T>(x));
    codes_.push_back(code);
    next_.push_back(-1);
    __link(node);
    count_ = count_ + 1;
    return node;
  }
  void __remove(int node) {
    size_t n = before_.size();
    size_t b = codes_[node] % n;
    int before = before_[b];
    int at = before == -1 ? first_ : next_[before];
    while (at != node) { before = at; at = next_[at]; }
    int next = next_[node];
    bool starts = before == before_[b];
    size_t other = next >= 0 ? codes_[next] % n : n;
    if (other != b) {
      if (other < n) before_[other] = before;
      if (starts) before_[b] = -2;
    }
    if (before == -1) first_ = next; else next_[before] = next;
    count_ = count_ - 1;
    if constexpr (__warplens_ends(T)) __warplens_end(held_[node]);
  }
  __hashed_place<T> __erase_at(__hashed_place<T> at) {
    int next = next_[at.at_];
    __remove(at.at_);
    return __place(next);
  }
  __hashed_place<T> __place(int node) const { return __hashed_place<T>{held_.places_, next_.data(), node}; }
  size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  size_t bucket_count() const { return before_.size(); }
  void rehash(size_t n) {
    size_t least = n > count_ + 1 ? n : count_ + 1;
    if (__next_buckets(least) != before_.size()) __grow(least);
  }
  void reserve(size_t n) { rehash(n); }
  void clear() {
    size_t n = before_.size();
    __end_all();
    held_.clear(); codes_.clear(); next_.clear();
    before_.clear();
    before_.resize(n, -2);
    first_ = -1;
    count_ = 0;
  }
  __hashed_place<T> begin() const { return __place(first_); }
  __hashed_place<T> end() const { return __place(-1); }
  __hashed_place<T> cbegin() const { return begin(); }
  __hashed_place<T> cend() const { return end(); }
};
template <class K, class V, class H = hash<K>, class E = void> struct unordered_map : __hashed<pair<K, V>, K, __key_of_pair> {
  using value_type = pair<K, V>;
  using key_type = K;
  using mapped_type = V;
  using iterator = __hashed_place<pair<K, V>>;
  using const_iterator = __hashed_place<pair<K, V>>;
  H hash_;
  unordered_map() {}
  template <class I> unordered_map(I a, I b) { insert(a, b); }
  int __find(const K& key) const { return this->__found(key, hash_(key)); }
  V& operator[](const K& key) {
    size_t code = hash_(key);
    int at = this->__found(key, code);
    if (at < 0) at = this->__add(pair<K, V>{key, V()}, code);
    return this->held_[at].second;
  }
  int __existing(const K& key) const {
    int k = __find(key);
    if constexpr (__warplens_caught()) if (k < 0) throw out_of_range();
    return k;
  }
  V& at(const K& key) { return this->held_[__existing(key)].second; }
  const V& at(const K& key) const { return this->held_[__existing(key)].second; }
  bool __has(const K& key) const { return __find(key) >= 0; }
  size_t count(const K& key) const { return __find(key) >= 0 ? 1 : 0; }
  bool contains(const K& key) const { return __find(key) >= 0; }
  pair<iterator, bool> insert(const pair<K, V>& x) {
    size_t code = hash_(x.first);
    int at = this->__found(x.first, code);
    if (at >= 0) return pair<iterator, bool>{this->__place(at), false};
    int made = this->__add(forward<pair<K, V>>(x), code);
    return pair<iterator, bool>{this->__place(made), true};
  }
  void insert(const vector<pair<K, V>>& list) { for (size_t i = 0; i < list.size(); ++i) insert(list[i]); }
  template <class I> void insert(I a, I b) { for (; a != b; ++a) insert(*a); }
  pair<iterator, bool> emplace(const K& key, const V& x) { return insert(pair<K, V>{key, forward<V>(x)}); }
  pair<iterator, bool> emplace(const pair<K, V>& x) { return insert(forward<pair<K, V>>(x)); }
  template <class... A> pair<iterator, bool> try_emplace(const K& key, A&&... a) {
    size_t code = hash_(key);
    int at = this->__found(key, code);
    bool isNew = at < 0;
    if (isNew) at = this->__add(pair<K, V>{key, V(forward<A>(a)...)}, code);
    return pair<iterator, bool>{this->__place(at), isNew};
  }
  void insert_or_assign(const K& key, const V& x) { (*this)[key] = forward<V>(x); }
  size_t erase(const K& key) {
    int at = __find(key);
    if (at < 0) return 0;
    this->__remove(at);
    return 1;
  }
  iterator erase(iterator at) { return this->__erase_at(at); }
  iterator erase(iterator a, iterator b) { while (a != b) a = this->__erase_at(a); return b; }
  iterator find(const K& key) const { return this->__place(__find(key)); }
};
template <class K, class H = hash<K>, class E = void> struct unordered_set : __hashed<K, K, __key_itself> {
  using value_type = K;
  using key_type = K;
  using iterator = __hashed_place<K>;
  using const_iterator = __hashed_place<K>;
  H hash_;
  unordered_set() {}
  template <class I> unordered_set(I a, I b) { insert(a, b); }
  int __find(const K& key) const { return this->__found(key, hash_(key)); }
  bool __has(const K& key) const { return __find(key) >= 0; }
  size_t count(const K& key) const { return __find(key) >= 0 ? 1 : 0; }
  bool contains(const K& key) const { return __find(key) >= 0; }
  pair<iterator, bool> insert(const K& key) {
    size_t code = hash_(key);
    int at = this->__found(key, code);
    if (at >= 0) return pair<iterator, bool>{this->__place(at), false};
    int made = this->__add(key, code);
    return pair<iterator, bool>{this->__place(made), true};
  }
  void insert(const vector<K>& list) { for (size_t i = 0; i < list.size(); ++i) insert(list[i]); }
  template <class I> void insert(I a, I b) { for (; a != b; ++a) insert(*a); }
  template <class... A> pair<iterator, bool> emplace(A&&... a) { return insert(K(a...)); }
  size_t erase(const K& key) {
    int at = __find(key);
    if (at < 0) return 0;
    this->__remove(at);
    return 1;
  }
  iterator erase(iterator at) { return this->__erase_at(at); }
  iterator erase(iterator a, iterator b) { while (a != b) a = this->__erase_at(a); return b; }
  iterator find(const K& key) const { return this->__place(__find(key)); }
};
`;
