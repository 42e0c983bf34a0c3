/** Containers of the host that keep an order: trees whose elements stay where they are (host-trees.ts), and heaps. */
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
template <class T, class K, class P, class F> struct __ordered {
  __tree<T> tree_;
  F before_;
  __ordered() {}
  explicit __ordered(const F& before) : before_(before) {}
  /** The first that is not before the key, and the parent of one in front of it. */
  __tree_spot __seek(const K& key) const {
    __tree_node<T>* nodes = tree_.head_->nodes_;
    __tree_spot s{0, 0};
    int at = nodes->child_[0];
    while (at != 0) {
      __tree_node<T>* node = nodes + at;
      s.parent_ = at;
      if (before_(P::of(*node->held_), key)) at = node->child_[1];
      else { s.at_ = at; at = node->child_[0]; }
    }
    return s;
  }
  /** The same for the first that the key is before. */
  __tree_spot __seek_behind(const K& key) const {
    __tree_node<T>* nodes = tree_.head_->nodes_;
    __tree_spot s{0, 0};
    int at = nodes->child_[0];
    while (at != 0) {
      __tree_node<T>* node = nodes + at;
      s.parent_ = at;
      if (before_(key, P::of(*node->held_))) { s.at_ = at; at = node->child_[0]; }
      else at = node->child_[1];
    }
    return s;
  }
  bool __is(int at, const K& key) const { return at != 0 && !before_(key, P::of(*tree_.head_->nodes_[at].held_)); }
  int __found(const K& key) const { int at = __seek(key).at_; return __is(at, key) ? at : 0; }
  __tree_place<T> __place(int at) const { return __tree_place<T>{tree_.head_, at}; }
  /** Where an equal one is, or is now. */
  pair<__tree_place<T>, bool> __single(const T& x) {
    __tree_spot s = __seek(P::of(x));
    if (__is(s.at_, P::of(x))) return pair<__tree_place<T>, bool>{__place(s.at_), false};
    return pair<__tree_place<T>, bool>{__place(tree_.__add(s.at_, s.parent_, forward<T>(x))), true};
  }
  __tree_place<T> __another(const T& x) { __tree_spot s = __seek_behind(P::of(x)); return __place(tree_.__add(s.at_, s.parent_, forward<T>(x))); }
  size_t size() const { return tree_.head_->size_; }
  bool empty() const { return tree_.head_->size_ == 0; }
  void clear() { tree_.__end_all(); tree_.__empty(); }
  __tree_place<T> begin() const { return __place(tree_.head_->nodes_[0].next_); }
  __tree_place<T> end() const { return __place(0); }
  __tree_place<T> cbegin() const { return begin(); }
  __tree_place<T> cend() const { return end(); }
  __tree_back<T> rbegin() const { return __tree_back<T>{tree_.head_, 0}; }
  __tree_back<T> rend() const { return __tree_back<T>{tree_.head_, tree_.head_->nodes_[0].next_}; }
  __tree_back<T> crbegin() const { return rbegin(); }
  __tree_back<T> crend() const { return rend(); }
  __tree_place<T> find(const K& key) const { return __place(__found(key)); }
  bool contains(const K& key) const { return __found(key) != 0; }
  size_t count(const K& key) const {
    size_t n = 0;
    for (int at = __seek(key).at_; __is(at, key); at = tree_.head_->nodes_[at].next_) n = n + 1;
    return n;
  }
  __tree_place<T> lower_bound(const K& key) const { return __place(__seek(key).at_); }
  __tree_place<T> upper_bound(const K& key) const { return __place(__seek_behind(key).at_); }
  pair<__tree_place<T>, __tree_place<T>> equal_range(const K& key) const { return pair<__tree_place<T>, __tree_place<T>>{lower_bound(key), upper_bound(key)}; }
  size_t erase(const K& key) {
    size_t n = 0;
    for (int at = __seek(key).at_; __is(at, key); n = n + 1) {
      int next = tree_.head_->nodes_[at].next_;
      tree_.__remove(at);
      at = next;
    }
    return n;
  }
  __tree_place<T> erase(__tree_place<T> at) {
    int next = tree_.head_->nodes_[at.at_].next_;
    tree_.__remove(at.at_);
    return __place(next);
  }
  __tree_place<T> erase(__tree_place<T> a, __tree_place<T> b) { while (a != b) a = erase(a); return b; }
  void swap(__ordered& other) {
    __tree_head<T>* head = tree_.head_; tree_.head_ = other.tree_.head_; other.tree_.head_ = head;
    F before = before_; before_ = other.before_; other.before_ = before;
  }
  F key_comp() const { return before_; }
};
template <class T, class F = less<T>> struct set : __ordered<T, T, __key_itself, F> {
  using value_type = T;
  using key_type = T;
  using iterator = __tree_place<T>;
  using const_iterator = __tree_place<T>;
  using reverse_iterator = __tree_back<T>;
  using const_reverse_iterator = __tree_back<T>;
  set() {}
  explicit set(const F& before) : __ordered<T, T, __key_itself, F>(before) {}
  template <class I> set(I a, I b) { insert(a, b); }
  template <class I> set(I a, I b, const F& before) : __ordered<T, T, __key_itself, F>(before) { insert(a, b); }
  bool __has(const T& key) const { return this->contains(key); }
  pair<iterator, bool> insert(const T& x) { return this->__single(forward<T>(x)); }
  iterator insert(iterator hint, const T& x) { return this->__single(forward<T>(x)).first; }
  void insert(const vector<T>& list) { for (size_t i = 0; i < list.size(); ++i) insert(list[i]); }
  template <class I> void insert(I a, I b) { for (; a != b; ++a) insert(*a); }
  template <class... A> pair<iterator, bool> emplace(A&&... a) { return insert(T(forward<A>(a)...)); }
};
template <class T, class F = less<T>> struct multiset : __ordered<T, T, __key_itself, F> {
  using value_type = T;
  using key_type = T;
  using iterator = __tree_place<T>;
  using const_iterator = __tree_place<T>;
  using reverse_iterator = __tree_back<T>;
  using const_reverse_iterator = __tree_back<T>;
  multiset() {}
  explicit multiset(const F& before) : __ordered<T, T, __key_itself, F>(before) {}
  template <class I> multiset(I a, I b) { insert(a, b); }
  template <class I> multiset(I a, I b, const F& before) : __ordered<T, T, __key_itself, F>(before) { insert(a, b); }
  bool __has(const T& key) const { return this->contains(key); }
  iterator insert(const T& x) { return this->__another(forward<T>(x)); }
  iterator insert(iterator hint, const T& x) { return this->__another(forward<T>(x)); }
  void insert(const vector<T>& list) { for (size_t i = 0; i < list.size(); ++i) insert(list[i]); }
  template <class I> void insert(I a, I b) { for (; a != b; ++a) insert(*a); }
  template <class... A> iterator emplace(A&&... a) { return insert(T(forward<A>(a)...)); }
};
template <class K, class V, class F = less<K>> struct map : __ordered<pair<K, V>, K, __key_of_pair, F> {
  using mapped_type = V;
  using value_type = pair<K, V>;
  using key_type = K;
  using iterator = __tree_place<pair<K, V>>;
  using const_iterator = __tree_place<pair<K, V>>;
  using reverse_iterator = __tree_back<pair<K, V>>;
  using const_reverse_iterator = __tree_back<pair<K, V>>;
  map() {}
  explicit map(const F& before) : __ordered<pair<K, V>, K, __key_of_pair, F>(before) {}
  template <class I> map(I a, I b) { insert(a, b); }
  template <class I> map(I a, I b, const F& before) : __ordered<pair<K, V>, K, __key_of_pair, F>(before) { insert(a, b); }
  bool __has(const K& key) const { return this->contains(key); }
  pair<iterator, bool> insert(const pair<K, V>& x) { return this->__single(forward<pair<K, V>>(x)); }
  iterator insert(iterator hint, const pair<K, V>& x) { return this->__single(forward<pair<K, V>>(x)).first; }
  void insert(const vector<pair<K, V>>& list) { for (size_t i = 0; i < list.size(); ++i) insert(list[i]); }
  template <class I> void insert(I a, I b) { for (; a != b; ++a) insert(*a); }
  V& operator[](const K& key) {
    __tree_spot s = this->__seek(key);
    if (!this->__is(s.at_, key)) s.at_ = this->tree_.__add(s.at_, s.parent_, pair<K, V>{key, V()});
    return this->tree_.head_->nodes_[s.at_].held_->second;
  }
  int __existing(const K& key) const {
    int at = this->__found(key);
    if constexpr (__warplens_caught()) if (at == 0) throw out_of_range();
    return at;
  }
  V& at(const K& key) { return this->tree_.head_->nodes_[__existing(key)].held_->second; }
  const V& at(const K& key) const { return this->tree_.head_->nodes_[__existing(key)].held_->second; }
  pair<iterator, bool> emplace(const K& key, const V& x) { return insert(pair<K, V>{key, forward<V>(x)}); }
  pair<iterator, bool> emplace(const pair<K, V>& x) { return insert(forward<pair<K, V>>(x)); }
  iterator emplace_hint(iterator hint, const K& key, const V& x) { return emplace(key, forward<V>(x)).first; }
  template <class... A> pair<iterator, bool> try_emplace(const K& key, A&&... a) {
    __tree_spot s = this->__seek(key);
    if (this->__is(s.at_, key)) return pair<iterator, bool>{this->__place(s.at_), false};
    return pair<iterator, bool>{this->__place(this->tree_.__add(s.at_, s.parent_, pair<K, V>{key, V(forward<A>(a)...)})), true};
  }
  pair<iterator, bool> insert_or_assign(const K& key, const V& x) {
    __tree_spot s = this->__seek(key);
    bool isNew = !this->__is(s.at_, key);
    if (isNew) s.at_ = this->tree_.__add(s.at_, s.parent_, pair<K, V>{key, forward<V>(x)});
    else this->tree_.head_->nodes_[s.at_].held_->second = forward<V>(x);
    return pair<iterator, bool>{this->__place(s.at_), isNew};
  }
};
template <class K, class V, class F = less<K>> struct multimap : __ordered<pair<K, V>, K, __key_of_pair, F> {
  using mapped_type = V;
  using value_type = pair<K, V>;
  using key_type = K;
  using iterator = __tree_place<pair<K, V>>;
  using const_iterator = __tree_place<pair<K, V>>;
  using reverse_iterator = __tree_back<pair<K, V>>;
  using const_reverse_iterator = __tree_back<pair<K, V>>;
  multimap() {}
  explicit multimap(const F& before) : __ordered<pair<K, V>, K, __key_of_pair, F>(before) {}
  template <class I> multimap(I a, I b) { insert(a, b); }
  template <class I> multimap(I a, I b, const F& before) : __ordered<pair<K, V>, K, __key_of_pair, F>(before) { insert(a, b); }
  bool __has(const K& key) const { return this->contains(key); }
  iterator insert(const pair<K, V>& x) { return this->__another(forward<pair<K, V>>(x)); }
  iterator insert(iterator hint, const pair<K, V>& x) { return this->__another(forward<pair<K, V>>(x)); }
  void insert(const vector<pair<K, V>>& list) { for (size_t i = 0; i < list.size(); ++i) insert(list[i]); }
  template <class I> void insert(I a, I b) { for (; a != b; ++a) insert(*a); }
  iterator emplace(const K& key, const V& x) { return insert(pair<K, V>{key, forward<V>(x)}); }
};
template <class A> bool __same_elements(const A& a, const A& b) {
  if (a.size() != b.size()) return false;
  auto q = b.begin();
  for (auto p = a.begin(); p != a.end(); ++p) { if (!(*p == *q)) return false; ++q; }
  return true;
}
template <class T, class F> bool operator==(const set<T, F>& a, const set<T, F>& b) { return __same_elements(a, b); }
template <class T, class F> bool operator!=(const set<T, F>& a, const set<T, F>& b) { return !__same_elements(a, b); }
template <class T, class F> bool operator==(const multiset<T, F>& a, const multiset<T, F>& b) { return __same_elements(a, b); }
template <class T, class F> bool operator!=(const multiset<T, F>& a, const multiset<T, F>& b) { return !__same_elements(a, b); }
template <class K, class V, class F> bool operator==(const map<K, V, F>& a, const map<K, V, F>& b) { return __same_elements(a, b); }
template <class K, class V, class F> bool operator!=(const map<K, V, F>& a, const map<K, V, F>& b) { return !__same_elements(a, b); }
template <class K, class V, class F> bool operator==(const multimap<K, V, F>& a, const multimap<K, V, F>& b) { return __same_elements(a, b); }
template <class K, class V, class F> bool operator!=(const multimap<K, V, F>& a, const multimap<K, V, F>& b) { return !__same_elements(a, b); }
`;
