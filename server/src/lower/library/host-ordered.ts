/** Containers of the host that keep an order: sorted vectors, and heaps. */
export const hostOrdered = `
template <class T, class V = vector<T>, class F = less<T>> struct priority_queue {
  vector<T> held_;
  F before_;
  bool empty() const { return held_.empty(); }
  size_t size() const { return held_.size(); }
  const T& top() const { return held_[0]; }
  void push(const T& x) {
    held_.push_back(x);
    size_t i = held_.size() - 1;
    while (i > 0 && before_(held_[(i - 1) / 2], held_[i])) {
      size_t up = (i - 1) / 2;
      T t = held_[i]; held_[i] = held_[up]; held_[up] = t;
      i = up;
    }
  }
  template <class... A> void emplace(A&&... a) { push(T(a...)); }
  void pop() {
    size_t n = held_.size() - 1;
    held_[0] = held_[n];
    held_.pop_back();
    size_t i = 0;
    while (2 * i + 1 < n) {
      size_t down = 2 * i + 1;
      if (down + 1 < n && before_(held_[down], held_[down + 1])) down = down + 1;
      if (!before_(held_[i], held_[down])) return;
      T t = held_[i]; held_[i] = held_[down]; held_[down] = t;
      i = down;
    }
  }
};

template <class T> struct set {
  vector<T> held_;
  size_t __at(const T& x) const { return lower_bound(held_.begin(), held_.end(), x) - held_.begin(); }
  bool __has(size_t k, const T& x) const { return k < held_.size() && !(x < held_[k]); }
  void insert(const T& x) {
    size_t k = __at(x);
    if (!__has(k, x)) held_.insert(held_.begin() + k, x);
  }
  size_t count(const T& x) const { return __has(__at(x), x) ? 1 : 0; }
  bool contains(const T& x) const { return __has(__at(x), x); }
  size_t erase(const T& x) {
    size_t k = __at(x);
    if (!__has(k, x)) return 0;
    held_.erase(held_.begin() + k);
    return 1;
  }
  size_t size() const { return held_.size(); }
  bool empty() const { return held_.empty(); }
  void clear() { held_.clear(); }
  const T* begin() const { return held_.begin(); }
  const T* end() const { return held_.end(); }
  const T* find(const T& x) const { size_t k = __at(x); return __has(k, x) ? held_.begin() + k : held_.end(); }
};
template <class K, class V> struct map {
  using value_type = pair<K, V>;
  vector<pair<K, V>> held_;
  size_t __at(const K& key) const {
    size_t low = 0;
    size_t n = held_.size();
    while (n > 0) {
      size_t half = n / 2;
      if (held_[low + half].first < key) { low += half + 1; n -= half + 1; } else n = half;
    }
    return low;
  }
  bool __has(size_t k, const K& key) const { return k < held_.size() && !(key < held_[k].first); }
  V& operator[](const K& key) {
    size_t k = __at(key);
    if (!__has(k, key)) held_.insert(held_.begin() + k, pair<K, V>{key, V()});
    return held_[k].second;
  }
  V& at(const K& key) { return held_[__at(key)].second; }
  const V& at(const K& key) const { return held_[__at(key)].second; }
  size_t count(const K& key) const { return __has(__at(key), key) ? 1 : 0; }
  bool contains(const K& key) const { return __has(__at(key), key); }
  void emplace(const K& key, const V& x) { if (!count(key)) (*this)[key] = x; }
  void insert(const pair<K, V>& x) { if (!count(x.first)) (*this)[x.first] = x.second; }
  size_t size() const { return held_.size(); }
  bool empty() const { return held_.empty(); }
  void clear() { held_.clear(); }
  pair<K, V>* begin() { return held_.begin(); }
  pair<K, V>* end() { return held_.end(); }
  const pair<K, V>* begin() const { return held_.begin(); }
  const pair<K, V>* end() const { return held_.end(); }
  pair<K, V>* find(const K& key) { size_t k = __at(key); return __has(k, key) ? held_.begin() + k : held_.end(); }
};
`;
