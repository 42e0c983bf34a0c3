/** Algorithms of the standard library over sequences that are asked about or rewritten, and containers that few programs use. */
export const hostSequences = `
template <class I, class F> bool any_of(I a, I b, F&& f) { for (; a != b; ++a) if (f(*a)) return true; return false; }
template <class I, class F> bool all_of(I a, I b, F&& f) { for (; a != b; ++a) if (!f(*a)) return false; return true; }
template <class I, class F> bool none_of(I a, I b, F&& f) { for (; a != b; ++a) if (f(*a)) return false; return true; }
template <class I, class F> I find_if(I a, I b, F&& f) { while (a != b && !f(*a)) ++a; return a; }
template <class I, class F> I adjacent_find(I a, I b, F same) {
  if (a == b) return b;
  I last = a;
  for (++a; a != b; ++a) { if (same(*last, *a)) return last; last = a; }
  return b;
}
template <class I> I adjacent_find(I a, I b) { return adjacent_find(a, b, equal_to<>()); }
template <class I, class F> bool is_sorted(I a, I b, F before) {
  if (a == b) return true;
  I last = a;
  for (++a; a != b; ++a) { if (before(*a, *last)) return false; last = a; }
  return true;
}
template <class I> bool is_sorted(I a, I b) { return is_sorted(a, b, less<>()); }
template <class I, class V> void replace(I a, I b, const V& x, const V& y) { for (; a != b; ++a) if (*a == x) *a = y; }
template <class I, class F, class V> void replace_if(I a, I b, F&& f, const V& y) { for (; a != b; ++a) if (f(*a)) *a = y; }
template <class I, class V> I remove(I a, I b, const V& x) { I to = a; for (; a != b; ++a) if (!(*a == x)) { if (to != a) *to = move(*a); ++to; } return to; }
template <class I, class F> I remove_if(I a, I b, F&& f) { I to = a; for (; a != b; ++a) if (!f(*a)) { if (to != a) *to = move(*a); ++to; } return to; }
template <class I, class U, class F> U copy_if(I a, I b, U to, F&& f) { for (; a != b; ++a) if (f(*a)) { *to = *a; ++to; } return to; }
template <class I, class J> J swap_ranges(I a, I b, J c) { for (; a != b; ++a, ++c) iter_swap(a, c); return c; }
template <class I, class O, class F> O adjacent_difference(I a, I b, O to, F join) {
  if (a == b) return to;
  auto before = *a;
  *to = before;
  for (++a, ++to; a != b; ++a, ++to) { auto now = *a; *to = join(now, before); before = now; }
  return to;
}
template <class I, class O> O adjacent_difference(I a, I b, O to) { return adjacent_difference(a, b, to, minus<>()); }
template <class I, class J, class O, class F> O merge(I a, I b, J c, J d, O to, F before) {
  while (a != b || c != d) {
    bool second = a == b || (c != d && before(*c, *a));
    if (second) { *to = *c; ++c; } else { *to = *a; ++a; }
    ++to;
  }
  return to;
}
template <class I, class J, class O, class F> O set_union(I a, I b, J c, J d, O to, F before) {
  while (a != b || c != d) {
    bool first = c == d || (a != b && !before(*c, *a));
    bool both = a != b && c != d && !before(*a, *c) && !before(*c, *a);
    if (first) { *to = *a; ++a; if (both) ++c; } else { *to = *c; ++c; }
    ++to;
  }
  return to;
}
template <class I, class J, class O, class F> O set_intersection(I a, I b, J c, J d, O to, F before) {
  while (a != b && c != d) {
    if (before(*a, *c)) ++a;
    else if (before(*c, *a)) ++c;
    else { *to = *a; ++to; ++a; ++c; }
  }
  return to;
}
template <class I, class J, class O, class F> O set_difference(I a, I b, J c, J d, O to, F before) {
  while (a != b) {
    if (c != d && before(*c, *a)) ++c;
    else { if (c == d || before(*a, *c)) { *to = *a; ++to; } else ++c; ++a; }
  }
  return to;
}
template <class I, class J, class F> bool includes(I a, I b, J c, J d, F before) {
  while (c != d) {
    if (a == b || before(*c, *a)) return false;
    if (!before(*a, *c)) ++c;
    ++a;
  }
  return true;
}
template <class I, class J, class O> O merge(I a, I b, J c, J d, O to) { return merge(a, b, c, d, to, less<>()); }
template <class I, class J, class O> O set_union(I a, I b, J c, J d, O to) { return set_union(a, b, c, d, to, less<>()); }
template <class I, class J, class O> O set_intersection(I a, I b, J c, J d, O to) { return set_intersection(a, b, c, d, to, less<>()); }
template <class I, class J, class O> O set_difference(I a, I b, J c, J d, O to) { return set_difference(a, b, c, d, to, less<>()); }
template <class I, class J> bool includes(I a, I b, J c, J d) { return includes(a, b, c, d, less<>()); }
template <class T> pair<T, T> minmax(const T& a, const T& b) { return b < a ? pair<T, T>{b, a} : pair<T, T>{a, b}; }
template <class I, class F> pair<I, I> minmax_element(I a, I b, F before) {
  pair<I, I> found(a, a);
  for (I p = a; p != b; ++p) {
    if (before(*p, *found.first)) found.first = p;
    if (!before(*p, *found.second)) found.second = p;
  }
  return found;
}
template <class I> pair<I, I> minmax_element(I a, I b) { return minmax_element(a, b, less<>()); }
template <class T> void random_shuffle(T* a, T* b) {
  size_t n = b - a;
  for (size_t i = 1; i < n; ++i) { size_t k = rand() % (i + 1); iter_swap(a + i, a + k); }
}
template <class I, class F> I partition(I a, I b, F&& f) {
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
template <class T, class F> bool next_permutation(T* a, T* b, F before) {
  if (b - a < 2) return false;
  T* i = b - 1;
  while (true) {
    T* next = i;
    --i;
    if (before(*i, *next)) {
      T* j = b - 1;
      while (!before(*i, *j)) --j;
      iter_swap(i, j);
      reverse(next, b);
      return true;
    }
    if (i == a) { reverse(a, b); return false; }
  }
}
template <class T> bool next_permutation(T* a, T* b) { return next_permutation(a, b, less<>()); }
template <class T> T gcd(T a, T b) { while (b != 0) { T t = a % b; a = b; b = t; } return a < 0 ? -a : a; }
template <class T> T lcm(T a, T b) { return a / gcd(a, b) * b; }

template <class T> struct deque : vector<T> {
  deque() {}
  explicit deque(size_t n) : vector<T>(n) {}
  deque(size_t n, const T& x) : vector<T>(n, x) {}
  template <class U> deque(U* a, U* b) : vector<T>(a, b) {}
  template <class... A> void emplace_front(A&&... a) { push_front(T(a...)); }
  void push_front(const T& x) { this->insert(this->begin(), forward<T>(x)); }
  void pop_front() { this->erase(this->begin()); }
};
template <size_t N> struct bitset {
  bool held_[N];
  bitset() { for (size_t i = 0; i < N; ++i) held_[i] = false; }
  bitset(unsigned long x) { for (size_t i = 0; i < N; ++i) held_[i] = i < 64 && ((x >> i) & 1) != 0; }
  template <class S, class = enable_if_t<__is_class(S)>> explicit bitset(const S& s) { for (size_t i = 0; i < N; ++i) held_[i] = i < s.size() && s[(s.size() < N ? s.size() : N) - 1 - i] == '1'; }
  template <class C> explicit bitset(C* s) { size_t n = strlen(s); for (size_t i = 0; i < N; ++i) held_[i] = i < n && s[(n < N ? n : N) - 1 - i] == '1'; }
  string to_string() const { string s(N, '0'); for (size_t i = 0; i < N; ++i) if (held_[i]) s[N - 1 - i] = '1'; return s; }
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
