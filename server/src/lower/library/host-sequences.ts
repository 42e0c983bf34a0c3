/** Algorithms of the standard library over sequences that are asked about or rewritten, and containers that few programs use. */
export const hostSequences = `
template <class T, class F> bool any_of(T* a, T* b, F&& f) { for (; a != b; ++a) if (f(*a)) return true; return false; }
template <class T, class F> bool all_of(T* a, T* b, F&& f) { for (; a != b; ++a) if (!f(*a)) return false; return true; }
template <class T, class F> bool none_of(T* a, T* b, F&& f) { for (; a != b; ++a) if (f(*a)) return false; return true; }
template <class T, class F> T* find_if(T* a, T* b, F&& f) { while (a != b && !f(*a)) ++a; return a; }
template <class T> bool is_sorted(T* a, T* b) { for (T* p = a; p != b; ++p) if (p != a && *p < p[-1]) return false; return true; }
template <class T> T* adjacent_find(T* a, T* b) { for (T* p = a; p != b; ++p) if (p != a && p[-1] == *p) return p - 1; return b; }
template <class T, class V> void replace(T* a, T* b, const V& x, const V& y) { for (; a != b; ++a) if (*a == x) *a = y; }
template <class T, class F, class V> void replace_if(T* a, T* b, F&& f, const V& y) { for (; a != b; ++a) if (f(*a)) *a = y; }
template <class T, class V> T* remove(T* a, T* b, const V& x) { T* to = a; for (; a != b; ++a) if (!(*a == x)) { if (to != a) *to = move(*a); ++to; } return to; }
template <class T, class F> T* remove_if(T* a, T* b, F&& f) { T* to = a; for (; a != b; ++a) if (!f(*a)) { if (to != a) *to = move(*a); ++to; } return to; }
template <class T, class U, class F> U* copy_if(T* a, T* b, U* to, F&& f) { for (; a != b; ++a) if (f(*a)) { *to = *a; ++to; } return to; }
template <class T> void swap_ranges(T* a, T* b, T* c) { for (; a != b; ++a, ++c) iter_swap(a, c); }
template <class T, class U> U* adjacent_difference(T* a, T* b, U* to) {
  T before = T();
  for (; a != b; ++a, ++to) { T now = *a; *to = now - before; before = now; }
  return to;
}
template <class T, class U, class O> O merge(T* a, T* b, U* c, U* d, O to) {
  while (a != b || c != d) {
    bool second = a == b || (c != d && *c < *a);
    *to = second ? *c : *a;
    if (second) ++c; else ++a;
    ++to;
  }
  return to;
}
template <class T, class U, class O> O set_union(T* a, T* b, U* c, U* d, O to) {
  while (a != b || c != d) {
    bool first = c == d || (a != b && !(*c < *a));
    bool both = a != b && c != d && !(*a < *c) && !(*c < *a);
    if (first) { *to = *a; ++a; if (both) ++c; } else { *to = *c; ++c; }
    ++to;
  }
  return to;
}
template <class T, class U, class O> O set_intersection(T* a, T* b, U* c, U* d, O to) {
  while (a != b && c != d) {
    if (*a < *c) ++a;
    else if (*c < *a) ++c;
    else { *to = *a; ++to; ++a; ++c; }
  }
  return to;
}
template <class T, class U, class O> O set_difference(T* a, T* b, U* c, U* d, O to) {
  while (a != b) {
    if (c != d && *c < *a) ++c;
    else { if (c == d || *a < *c) { *to = *a; ++to; } else ++c; ++a; }
  }
  return to;
}
template <class T, class U> bool includes(T* a, T* b, U* c, U* d) {
  while (c != d) {
    if (a == b || *c < *a) return false;
    if (!(*a < *c)) ++c;
    ++a;
  }
  return true;
}
template <class T> pair<T, T> minmax(const T& a, const T& b) { return b < a ? pair<T, T>{b, a} : pair<T, T>{a, b}; }
template <class T> pair<T*, T*> minmax_element(T* a, T* b) {
  pair<T*, T*> found(a, a);
  for (T* p = a; p != b; ++p) {
    if (*p < *found.first) found.first = p;
    if (!(*p < *found.second)) found.second = p;
  }
  return found;
}
template <class T> void random_shuffle(T* a, T* b) {
  size_t n = b - a;
  for (size_t i = 1; i < n; ++i) { size_t k = rand() % (i + 1); iter_swap(a + i, a + k); }
}
template <class T, class F> T* partition(T* a, T* b, F&& f) {
  while (true) {
    while (a != b && f(*a)) ++a;
    if (a == b) return a;
    --b;
    while (a != b && !f(*b)) --b;
    if (a == b) return a;
    iter_swap(a, b);
    ++a;
  }
}
template <class T> bool next_permutation(T* a, T* b) {
  if (b - a < 2) return false;
  T* i = b - 1;
  while (true) {
    T* next = i;
    --i;
    if (*i < *next) {
      T* j = b - 1;
      while (!(*i < *j)) --j;
      iter_swap(i, j);
      reverse(next, b);
      return true;
    }
    if (i == a) { reverse(a, b); return false; }
  }
}
template <class T> T gcd(T a, T b) { while (b != 0) { T t = a % b; a = b; b = t; } return a < 0 ? -a : a; }
template <class T> T lcm(T a, T b) { return a / gcd(a, b) * b; }

template <class T> struct deque : vector<T> {
  deque() {}
  explicit deque(size_t n) : vector<T>(n) {}
  deque(size_t n, const T& x) : vector<T>(n, x) {}
  template <class U> deque(U* a, U* b) : vector<T>(a, b) {}
  template <class... A> void emplace_front(A&&... a) { push_front(T(a...)); }
  void push_front(const T& x) { this->insert(this->begin(), x); }
  void pop_front() { this->erase(this->begin()); }
};
template <size_t N> struct bitset {
  bool held_[N];
  bitset() { for (size_t i = 0; i < N; ++i) held_[i] = false; }
  bitset(unsigned long x) { for (size_t i = 0; i < N; ++i) held_[i] = i < 64 && ((x >> i) & 1) != 0; }
  bool& operator[](size_t i) { return held_[i]; }
  bool operator[](size_t i) const { return held_[i]; }
  bool test(size_t i) const { return held_[i]; }
  bitset<N>& set(size_t i, bool x = true) { held_[i] = x; return *this; }
  bitset<N>& reset(size_t i) { held_[i] = false; return *this; }
  bitset<N>& reset() { for (size_t i = 0; i < N; ++i) held_[i] = false; return *this; }
  bitset<N>& flip(size_t i) { held_[i] = !held_[i]; return *this; }
  size_t size() const { return N; }
  size_t count() const { size_t n = 0; for (size_t i = 0; i < N; ++i) n += held_[i]; return n; }
  bool any() const { return count() > 0; }
  bool none() const { return count() == 0; }
  bool all() const { return count() == N; }
  unsigned long to_ullong() const { unsigned long x = 0; for (size_t i = 0; i < N && i < 64; ++i) x |= (unsigned long)held_[i] << i; return x; }
  unsigned long to_ulong() const { return to_ullong(); }
  bitset<N>& set() { for (size_t i = 0; i < N; ++i) held_[i] = true; return *this; }
  bitset<N>& flip() { for (size_t i = 0; i < N; ++i) held_[i] = !held_[i]; return *this; }
  bitset<N> operator>>(size_t n) const { bitset<N> b; for (size_t i = n; i < N; ++i) b.held_[i - n] = held_[i]; return b; }
  bitset<N>& operator>>=(size_t n) { *this = *this >> n; return *this; }
  bitset<N>& operator<<=(size_t n) { *this = *this << n; return *this; }
  bitset<N>& operator&=(const bitset<N>& b) { for (size_t i = 0; i < N; ++i) held_[i] = held_[i] && b.held_[i]; return *this; }
  bitset<N>& operator|=(const bitset<N>& b) { for (size_t i = 0; i < N; ++i) held_[i] = held_[i] || b.held_[i]; return *this; }
  bitset<N>& operator^=(const bitset<N>& b) { for (size_t i = 0; i < N; ++i) held_[i] = held_[i] != b.held_[i]; return *this; }
  bitset<N> operator~() const { bitset<N> b; for (size_t i = 0; i < N; ++i) b.held_[i] = !held_[i]; return b; }
  bool operator==(const bitset<N>& b) const { bool same = true; for (size_t i = 0; i < N; ++i) same = same && held_[i] == b.held_[i]; return same; }
  bool operator!=(const bitset<N>& b) const { return !(*this == b); }
  bitset<N> operator<<(size_t n) const { bitset<N> b; for (size_t i = n; i < N; ++i) b.held_[i] = held_[i - n]; return b; }
};
template <size_t N> bitset<N> operator&(const bitset<N>& a, const bitset<N>& b) { bitset<N> c; for (size_t i = 0; i < N; ++i) c.held_[i] = a.held_[i] && b.held_[i]; return c; }
template <size_t N> bitset<N> operator|(const bitset<N>& a, const bitset<N>& b) { bitset<N> c; for (size_t i = 0; i < N; ++i) c.held_[i] = a.held_[i] || b.held_[i]; return c; }
template <size_t N> bitset<N> operator^(const bitset<N>& a, const bitset<N>& b) { bitset<N> c; for (size_t i = 0; i < N; ++i) c.held_[i] = a.held_[i] != b.held_[i]; return c; }

template <class T, class F> size_t erase_if(vector<T>& v, F&& f) { size_t n = v.size(); v.resize(remove_if(v.begin(), v.end(), f) - v.begin()); return n - v.size(); }
template <class T, class V> size_t erase(vector<T>& v, const V& x) { size_t n = v.size(); v.resize(remove(v.begin(), v.end(), x) - v.begin()); return n - v.size(); }
`;
