/** Equal elements end where libstdc++ puts them (bits/stl_algo.h, bits/stl_heap.h): quicksort of what is longer than 16, then by insertion. */
export const sorting = `
template <class T, class F> void __push_heap(T* a, size_t hole, size_t top, T& x, F& before) {
  while (hole > top && before(a[(hole - 1) / 2], x)) {
    a[hole] = move(a[(hole - 1) / 2]);
    hole = (hole - 1) / 2;
  }
  a[hole] = move(x);
}
template <class T, class F> void __sink(T* a, size_t hole, size_t n, T& x, F& before) {
  size_t top = hole;
  size_t child = hole;
  while (2 * child + 2 < n) {
    child = 2 * child + 2;
    if (before(a[child], a[child - 1])) child = child - 1;
    a[hole] = move(a[child]);
    hole = child;
  }
  if (n % 2 == 0 && n > 1 && child == (n - 2) / 2) {
    a[hole] = move(a[2 * child + 1]);
    hole = 2 * child + 1;
  }
  __push_heap(a, hole, top, x, before);
}
template <class T, class F> void __make_heap(T* a, size_t n, F& before) {
  if (n < 2) return;
  for (size_t k = n / 2; k > 0; --k) { T x = move(a[k - 1]); __sink(a, k - 1, n, x, before); }
}
template <class T, class F> void __pop_heap(T* a, size_t n, size_t to, F& before) { T x = move(a[to]); a[to] = move(a[0]); __sink(a, 0, n, x, before); }
template <class T, class F> void __sort_heap(T* a, size_t n, F& before) { for (; n > 1; --n) __pop_heap(a, n - 1, n - 1, before); }
template <class T, class F> void __heap_select(T* a, size_t m, size_t n, F& before) {
  __make_heap(a, m, before);
  for (size_t i = m; i < n; ++i) if (before(a[i], a[0])) __pop_heap(a, m, i, before);
}
template <class T, class F> void __insert(T* a, size_t i, size_t first, F& before) {
  T x = move(a[i]);
  if (before(x, a[first])) { for (; i > first; --i) a[i] = move(a[i - 1]); }
  else for (; before(x, a[i - 1]); --i) a[i] = move(a[i - 1]);
  a[i] = move(x);
}
template <class T, class F> void __insert_all(T* a, size_t low, size_t high, F& before) { for (size_t i = low + 1; i < high; ++i) __insert(a, i, low, before); }
template <class T, class F> size_t __cut(T* a, size_t low, size_t high, F& before) {
  size_t x = low + 1, y = low + (high - low) / 2, z = high - 1;
  size_t middle = before(a[x], a[y]) ? (before(a[y], a[z]) ? y : before(a[x], a[z]) ? z : x)
                                     : (before(a[x], a[z]) ? x : before(a[y], a[z]) ? z : y);
  iter_swap(a + low, a + middle);
  size_t i = low + 1;
  size_t j = high;
  while (true) {
    while (before(a[i], a[low])) ++i;
    --j;
    while (before(a[low], a[j])) --j;
    if (i >= j) return i;
    iter_swap(a + i, a + j);
    ++i;
  }
}
template <class T, class F> void __sort(T* a, size_t n, F before) {
  size_t lows[64], highs[64], rest[64];
  size_t depth = 0;
  for (size_t k = n; k > 1; k = k / 2) depth = depth + 2;
  lows[0] = 0; highs[0] = n; rest[0] = depth;
  size_t open = n > 16 ? 1 : 0;
  while (open > 0) {
    open = open - 1;
    size_t low = lows[open], high = highs[open], left = rest[open];
    while (high - low > 16) {
      if (left == 0) {
        __heap_select(a + low, high - low, high - low, before);
        __sort_heap(a + low, high - low, before);
        high = low;
      } else {
        left = left - 1;
        size_t cut = __cut(a, low, high, before);
        lows[open] = low; highs[open] = cut; rest[open] = left;
        open = open + 1;
        low = cut;
      }
    }
  }
  __insert_all(a, 0, n < 16 ? n : 16, before);
  for (size_t i = 16; i < n; ++i) {
    T x = move(a[i]);
    size_t k = i;
    for (; before(x, a[k - 1]); --k) a[k] = move(a[k - 1]);
    a[k] = move(x);
  }
}
`;
