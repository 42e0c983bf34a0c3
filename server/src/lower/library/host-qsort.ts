/**
 * Sorting and searching of C. glibc's qsort (2.36) merges: of equal elements the first stays the first, and the left one is what the comparison is
 * given first. Pointers are sorted here, so that each element is moved once.
 */
export const hostQsort = `
template <class F> void qsort(void* base, size_t n, size_t size, F compare) {
  char* first = (char*)base;
  char** at = (char**)__warplens_allocate(n * sizeof(char*));
  for (size_t i = 0; i < n; ++i) at[i] = first + i * size;
  std::__merge_sort(at, n, [&](char* right, char* left) { return compare((const void*)left, (const void*)right) > 0; });
  char* sorted = (char*)__warplens_allocate(n * size);
  for (size_t i = 0; i < n; ++i) memcpy(sorted + i * size, at[i], size);
  memcpy(first, sorted, n * size);
  __warplens_release(sorted);
  __warplens_release(at);
}
template <class F> void* bsearch(const void* key, const void* base, size_t n, size_t size, F compare) {
  const char* first = (const char*)base;
  size_t low = 0, high = n;
  while (low < high) {
    size_t middle = (low + high) / 2;
    int order = compare(key, (const void*)(first + middle * size));
    if (order == 0) return (void*)(first + middle * size);
    if (order < 0) high = middle; else low = middle + 1;
  }
  return (void*)0;
}
namespace std { using ::qsort; using ::bsearch; }
`;
