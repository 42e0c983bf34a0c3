/**
 * Containers of the host that keep an order: sorted vectors, and heaps. What has come to a set lately stands in a second, short vector, as many as the
 * root of what is there, so that graphs of a hundred thousand edges can be made of one.
 */
export const hostOrdered = `
template <class T, class V = vector<T>, class F = less<T>> struct priority_queue {
  vector<T> held_;
  F before_;
  priority_queue() {}
  explicit priority_queue(const F& before) : before_(before) {}
  priority_queue(const F& before, const V& held) : held_(held), before_(before) { __make_heap(held_.data(), held_.size(), before_); }
  template <class U> priority_queue(U* a, U* b) : held_(a, b) { __make_heap(held_.data(), held_.size(), before_); }
  bool empty() const { return held_.empty(); }
  size_t size() const { return held_.size(); }
  const T& top() const { return held_[0]; }
  void push(const T& x) {
    held_.push_back(forward<T>(x));
    T y = move(held_.back());
    __push_heap(held_.data(), held_.size() - 1, 0, y, before_);
  }
  template <class... A> void emplace(A&&... a) { push(T(forward<A>(a)...)); }
  void pop() {
    size_t n = held_.size() - 1;
    if (n > 0) __pop_heap(held_.data(), n, n, before_);
    held_.pop_back();
  }
};

template <class F, class V> priority_queue<typename V::value_type, V, F> __guide_priority_queue(F, V);
template <class T, class F = less<T>> struct set {
  using value_type = T;
  using key_type = T;
  using iterator = const T*;
  mutable vector<T> held_;
  mutable vector<T> late_;
  F before_;
  set() {}
  explicit set(const F& before) : before_(before) {}
  template <class I> set(I a, I b) { insert(a, b); }
  size_t __at(const vector<T>& v, const T& x) const {
    size_t low = 0;
    size_t n = v.size();
    while (n > 0) {
      size_t half = n / 2;
      if (before_(v[low + half], x)) { low += half + 1; n -= half + 1; } else n = half;
    }
    return low;
  }
  bool __has(const vector<T>& v, size_t k, const T& x) const { return k < v.size() && !before_(x, v[k]); }
  void __settle() const {
    size_t m = late_.size();
    if (m == 0) return;
    size_t n = held_.size();
    held_.resize(n + m);
    while (m > 0) {
      if (n > 0 && before_(late_[m - 1], held_[n - 1])) { held_[n + m - 1] = move(held_[n - 1]); n = n - 1; }
      else { held_[n + m - 1] = move(late_[m - 1]); m = m - 1; }
    }
    late_.clear();
  }
  pair<const T*, bool> insert(const T& x) {
    size_t n = __at(held_, x);
    if (__has(held_, n, x)) return pair<const T*, bool>{held_.begin() + n, false};
    size_t k = __at(late_, x);
    if (__has(late_, k, x)) return pair<const T*, bool>{late_.begin() + k, false};
    if (late_.size() * late_.size() <= 64 + 2 * held_.size()) return pair<const T*, bool>{late_.insert(late_.begin() + k, forward<T>(x)), true};
    __settle();
    return pair<const T*, bool>{held_.insert(held_.begin() + __at(held_, x), forward<T>(x)), true};
  }
  void insert(const vector<T>& list) { for (size_t i = 0; i < list.size(); ++i) insert(list[i]); }
  template <class... A> pair<const T*, bool> emplace(A&&... a) { return insert(T(forward<A>(a)...)); }
  template <class I> void insert(I a, I b) { for (; a != b; ++a) insert(*a); }
  size_t count(const T& x) const { return contains(x) ? 1 : 0; }
  bool contains(const T& x) const { return __has(held_, __at(held_, x), x) || __has(late_, __at(late_, x), x); }
  size_t erase(const T& x) {
    __settle();
    size_t k = __at(held_, x);
    if (!__has(held_, k, x)) return 0;
    held_.erase(held_.begin() + k);
    return 1;
  }
  size_t size() const { return held_.size() + late_.size(); }
  bool empty() const { return size() == 0; }
  void clear() { held_.clear(); late_.clear(); }
  const T* begin() const { __settle(); return held_.begin(); }
  const T* end() const { __settle(); return held_.end(); }
  reverse_iterator<const T> rbegin() const { __settle(); return reverse_iterator<const T>{held_.end()}; }
  reverse_iterator<const T> rend() const { __settle(); return reverse_iterator<const T>{held_.begin()}; }
  const T* erase(const T* at) { return held_.erase(at); }
  const T* lower_bound(const T& x) const { __settle(); return held_.begin() + __at(held_, x); }
  const T* upper_bound(const T& x) const { __settle(); size_t k = __at(held_, x); return held_.begin() + (__has(held_, k, x) ? k + 1 : k); }
  const T* find(const T& x) const { __settle(); size_t k = __at(held_, x); return __has(held_, k, x) ? held_.begin() + k : held_.end(); }
};
template <class K, class V, class F = less<K>> struct map {
  using value_type = pair<K, V>;
  using key_type = K;
  using mapped_type = V;
  using iterator = pair<K, V>*;
  vector<pair<K, V>> held_;
  F before_;
  map() {}
  explicit map(const F& before) : before_(before) {}
  template <class I> map(I a, I b) { insert(a, b); }
  size_t __at(const K& key) const {
    size_t low = 0;
    size_t n = held_.size();
    while (n > 0) {
      size_t half = n / 2;
      if (before_(held_[low + half].first, key)) { low += half + 1; n -= half + 1; } else n = half;
    }
    return low;
  }
  bool __has(size_t k, const K& key) const { return k < held_.size() && !before_(key, held_[k].first); }
  V& operator[](const K& key) {
    size_t k = __at(key);
    if (!__has(k, key)) held_.insert(held_.begin() + k, pair<K, V>{key, V()});
    return held_[k].second;
  }
  size_t __existing(const K& key) const {
    size_t k = __at(key);
    if constexpr (__warplens_caught()) if (!__has(k, key)) throw out_of_range();
    return k;
  }
  V& at(const K& key) { return held_[__existing(key)].second; }
  const V& at(const K& key) const { return held_[__existing(key)].second; }
  size_t count(const K& key) const { return __has(__at(key), key) ? 1 : 0; }
  bool contains(const K& key) const { return __has(__at(key), key); }
  pair<pair<K, V>*, bool> insert(const pair<K, V>& x) {
    size_t k = __at(x.first);
    if (__has(k, x.first)) return pair<pair<K, V>*, bool>{held_.begin() + k, false};
    return pair<pair<K, V>*, bool>{held_.insert(held_.begin() + k, forward<pair<K, V>>(x)), true};
  }
  void insert(const vector<pair<K, V>>& list) { for (size_t i = 0; i < list.size(); ++i) insert(list[i]); }
  template <class I> void insert(I a, I b) { for (; a != b; ++a) insert(*a); }
  pair<pair<K, V>*, bool> emplace(const K& key, const V& x) { return insert(pair<K, V>{key, forward<V>(x)}); }
  template <class... A> pair<pair<K, V>*, bool> try_emplace(const K& key, A&&... a) { return insert(pair<K, V>{key, V(forward<A>(a)...)}); }
  void insert_or_assign(const K& key, const V& x) { (*this)[key] = forward<V>(x); }
  size_t erase(const K& key) {
    size_t k = __at(key);
    if (!__has(k, key)) return 0;
    held_.erase(held_.begin() + k);
    return 1;
  }
  pair<K, V>* erase(pair<K, V>* at) { return held_.erase(at); }
  size_t size() const { return held_.size(); }
  bool empty() const { return held_.empty(); }
  void clear() { held_.clear(); }
  pair<K, V>* begin() { return held_.begin(); }
  pair<K, V>* end() { return held_.end(); }
  const pair<K, V>* begin() const { return held_.begin(); }
  const pair<K, V>* end() const { return held_.end(); }
  reverse_iterator<pair<K, V>> rbegin() { return reverse_iterator<pair<K, V>>{held_.end()}; }
  reverse_iterator<pair<K, V>> rend() { return reverse_iterator<pair<K, V>>{held_.begin()}; }
  pair<K, V>* find(const K& key) { size_t k = __at(key); return __has(k, key) ? held_.begin() + k : held_.end(); }
  const pair<K, V>* find(const K& key) const { size_t k = __at(key); return __has(k, key) ? held_.begin() + k : held_.end(); }
  pair<K, V>* lower_bound(const K& key) { return held_.begin() + __at(key); }
  pair<K, V>* upper_bound(const K& key) { size_t k = __at(key); return held_.begin() + (__has(k, key) ? k + 1 : k); }
};
template <class K, class V, class F = less<K>> struct multimap {
  using value_type = pair<K, V>;
  using iterator = pair<K, V>*;
  vector<pair<K, V>> held_;
  F before_;
  multimap() {}
  explicit multimap(const F& before) : before_(before) {}
  template <class I> multimap(I a, I b) { for (; a != b; ++a) insert(*a); }
  bool __has(const K& key) const { return count(key) > 0; }
  pair<K, V>* lower_bound(const K& key) { pair<K, V>* p = held_.begin(); while (p != held_.end() && before_(p->first, key)) ++p; return p; }
  pair<K, V>* upper_bound(const K& key) { pair<K, V>* p = held_.end(); while (p != held_.begin() && before_(key, p[-1].first)) --p; return p; }
  pair<K, V>* insert(const pair<K, V>& x) { return held_.insert(upper_bound(x.first), x); }
  void insert(const vector<pair<K, V>>& list) { for (size_t i = 0; i < list.size(); ++i) insert(list[i]); }
  template <class I> void insert(I a, I b) { for (; a != b; ++a) insert(*a); }
  pair<K, V>* emplace(const K& key, const V& x) { return insert(pair<K, V>{key, forward<V>(x)}); }
  pair<K, V>* erase(pair<K, V>* at) { return held_.erase(at); }
  size_t erase(const K& key) { size_t n = count(key); pair<K, V>* p = lower_bound(key); held_.erase(p, p + n); return n; }
  bool contains(const K& key) const { return count(key) > 0; }
  pair<pair<K, V>*, pair<K, V>*> equal_range(const K& key) { return pair<pair<K, V>*, pair<K, V>*>{lower_bound(key), upper_bound(key)}; }
  size_t count(const K& key) const {
    size_t n = 0;
    for (size_t i = 0; i < held_.size(); ++i) if (!before_(held_[i].first, key) && !before_(key, held_[i].first)) n = n + 1;
    return n;
  }
  pair<K, V>* find(const K& key) { pair<K, V>* p = lower_bound(key); return p != held_.end() && !before_(key, p->first) ? p : held_.end(); }
  size_t size() const { return held_.size(); }
  bool empty() const { return held_.empty(); }
  void clear() { held_.clear(); }
  pair<K, V>* begin() { return held_.begin(); }
  pair<K, V>* end() { return held_.end(); }
  const pair<K, V>* begin() const { return held_.begin(); }
  const pair<K, V>* end() const { return held_.end(); }
};
template <class T, class F = less<T>> struct multiset {
  using value_type = T;
  using iterator = const T*;
  vector<T> held_;
  F before_;
  multiset() {}
  explicit multiset(const F& before) : before_(before) {}
  template <class I> multiset(I a, I b) { for (; a != b; ++a) insert(*a); }
  bool __has(const T& x) const { return count(x) > 0; }
  size_t __behind(const T& x) const { size_t n = held_.size(); while (n > 0 && before_(x, held_[n - 1])) --n; return n; }
  const T* insert(const T& x) { return held_.insert(held_.begin() + __behind(x), x); }
  void insert(const vector<T>& list) { for (size_t i = 0; i < list.size(); ++i) insert(list[i]); }
  size_t count(const T& x) const {
    size_t n = 0;
    for (size_t i = 0; i < held_.size(); ++i) if (!before_(held_[i], x) && !before_(x, held_[i])) n = n + 1;
    return n;
  }
  const T* find(const T& x) const { const T* p = held_.begin(); while (p != held_.end() && before_(*p, x)) ++p; return p != held_.end() && !before_(x, *p) ? p : held_.end(); }
  const T* erase(const T* at) { return held_.erase(at); }
  const T* lower_bound(const T& x) const { const T* p = held_.begin(); while (p != held_.end() && before_(*p, x)) ++p; return p; }
  const T* upper_bound(const T& x) const { return held_.begin() + __behind(x); }
  size_t erase(const T& x) { size_t n = count(x); const T* p = lower_bound(x); held_.erase(p, p + n); return n; }
  bool contains(const T& x) const { return count(x) > 0; }
  size_t size() const { return held_.size(); }
  bool empty() const { return held_.empty(); }
  void clear() { held_.clear(); }
  const T* begin() const { return held_.begin(); }
  const T* end() const { return held_.end(); }
};
`;
