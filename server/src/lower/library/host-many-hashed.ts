/**
 * Hashed containers of the host that keep equal keys: a new one stands in front of those that it equals, which stay together and in their order when
 * buckets grow. Up to twenty elements with keys that are slow to hash (texts) are looked through in their order instead, and it stands
 * behind the first of them. Source: hashtable.h of GCC 12.
 */
export const manyHashed = `
namespace std {
template <class H> struct __is_slow { static constexpr bool value = false; };
template <> struct __is_slow<hash<string>> { static constexpr bool value = true; };
template <> struct __is_slow<hash<string_view>> { static constexpr bool value = true; };
template <class T, class K, class P, class H> struct __many_hashed : __hashed<T, K, P> {
  H hash_;
  size_t __bucket(int node) const { return this->codes_[node] % this->before_.size(); }
  bool __same(int node, const K& key, size_t code) const { return this->codes_[node] == code && P::of(this->held_[node]) == key; }
  void __after(int before, int node) {
    if (before == -1) { this->next_[node] = this->first_; this->first_ = node; }
    else { this->next_[node] = this->next_[before]; this->next_[before] = node; }
  }
  void __grow_together(size_t wanted) {
    size_t buckets = __next_buckets(wanted);
    this->before_.clear();
    this->before_.resize(buckets, -2);
    this->resize_at_ = buckets;
    int node = this->first_, last = -1;
    bool isOpen = false;
    this->first_ = -1;
    while (node >= 0) {
      int next = this->next_[node];
      if (last >= 0 && __bucket(last) == __bucket(node)) {
        __after(last, node);
        isOpen = true;
      } else {
        if (isOpen) __mark_behind(last);
        isOpen = false;
        this->__link(node);
      }
      last = node;
      node = next;
    }
    if (isOpen) __mark_behind(last);
  }
  void __mark_behind(int node) {
    int next = this->next_[node];
    if (next >= 0 && __bucket(next) != __bucket(node)) this->before_[__bucket(next)] = node;
  }
  /** The node in front of the first that equals it, -1 for the beginning, -2 for none. */
  int __in_front_of(const K& key, size_t code) const {
    size_t b = code % this->before_.size();
    int before = this->before_[b];
    if (before == -2) return -2;
    for (int at = before == -1 ? this->first_ : this->next_[before]; at >= 0 && __bucket(at) == b; at = this->next_[at]) {
      if (__same(at, key, code)) return before;
      before = at;
    }
    return -2;
  }
  int __hint(const K& key, size_t code) const {
    if (!__is_slow<H>::value || this->count_ > 20) return -1;
    for (int at = this->first_; at >= 0; at = this->next_[at]) if (P::of(this->held_[at]) == key) return at;
    return -1;
  }
  int __add_equal(const T& x) {
    size_t code = hash_(P::of(x));
    int hint = __hint(P::of(x), code);
    size_t n = this->before_.size();
    if (this->count_ + 1 > this->resize_at_) {
      size_t least = this->count_ + 1;
      if (this->resize_at_ == 0 && least < 11) least = 11;
      if (least >= n) __grow_together(least + 1 > 2 * n ? least + 1 : 2 * n);
      else this->resize_at_ = n;
    }
    int node = (int)this->held_.size();
    this->held_.push_back(x);
    this->codes_.push_back(code);
    this->next_.push_back(-1);
    int before = hint >= 0 ? hint : __in_front_of(P::of(x), code);
    if (before == -2) this->__link(node);
    else {
      __after(before, node);
      if (hint >= 0) __mark_behind(node);
    }
    this->count_ = this->count_ + 1;
    return node;
  }
  int __first_of(const K& key) const { return this->__found(key, hash_(key)); }
  int __behind_equal(int node) const {
    if (node < 0) return -1;
    const K& key = P::of(this->held_[node]);
    size_t code = this->codes_[node];
    while (node >= 0 && __same(node, key, code)) node = this->next_[node];
    return node;
  }
  size_t count(const K& key) const {
    size_t n = 0;
    int first = __first_of(key);
    if (first < 0) return 0;
    int end = __behind_equal(first);
    for (int at = first; at != end; at = this->next_[at]) n = n + 1;
    return n;
  }
  bool contains(const K& key) const { return __first_of(key) >= 0; }
  bool __has(const K& key) const { return contains(key); }
  size_t erase(const K& key) {
    size_t n = count(key);
    for (size_t i = 0; i < n; ++i) this->__remove(__first_of(key));
    return n;
  }
  __hashed_place<T> erase(__hashed_place<T> at) { return this->__erase_at(at); }
  __hashed_place<T> erase(__hashed_place<T> a, __hashed_place<T> b) { while (a != b) a = this->__erase_at(a); return b; }
  __hashed_place<T> find(const K& key) const { return this->__place(__first_of(key)); }
  pair<__hashed_place<T>, __hashed_place<T>> equal_range(const K& key) const {
    int first = __first_of(key);
    return pair<__hashed_place<T>, __hashed_place<T>>{this->__place(first), this->__place(__behind_equal(first))};
  }
};
template <class K, class V, class H = hash<K>, class E = void> struct unordered_multimap : __many_hashed<pair<K, V>, K, __key_of_pair, H> {
  using value_type = pair<K, V>;
  using key_type = K;
  using mapped_type = V;
  using iterator = __hashed_place<pair<K, V>>;
  using const_iterator = __hashed_place<pair<K, V>>;
  unordered_multimap() {}
  template <class I> unordered_multimap(I a, I b) { for (; a != b; ++a) insert(*a); }
  iterator insert(const pair<K, V>& x) { return this->__place(this->__add_equal(x)); }
  void insert(const vector<pair<K, V>>& list) { for (size_t i = 0; i < list.size(); ++i) insert(list[i]); }
  template <class I> void insert(I a, I b) { for (; a != b; ++a) insert(*a); }
  iterator emplace(const K& key, const V& x) { return insert(pair<K, V>{key, x}); }
};
template <class K, class H = hash<K>, class E = void> struct unordered_multiset : __many_hashed<K, K, __key_itself, H> {
  using value_type = K;
  using key_type = K;
  using iterator = __hashed_place<K>;
  using const_iterator = __hashed_place<K>;
  unordered_multiset() {}
  template <class I> unordered_multiset(I a, I b) { for (; a != b; ++a) insert(*a); }
  iterator insert(const K& x) { return this->__place(this->__add_equal(x)); }
  void insert(const vector<K>& list) { for (size_t i = 0; i < list.size(); ++i) insert(list[i]); }
  template <class I> void insert(I a, I b) { for (; a != b; ++a) insert(*a); }
  template <class... A> iterator emplace(A&&... a) { return insert(K(a...)); }
};
}
`;
