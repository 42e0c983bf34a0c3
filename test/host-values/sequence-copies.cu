/** Sequences that are written from others: copies, merges, rotations, samples. */
#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <list>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>
template <class I> long code(I a, I b) { long c = 0; for (; a != b; ++a) c = c * 10 + *a; return c; }
template <class C> long code(const C& c) { return code(c.begin(), c.end()); }
int main() {
  std::vector<int> v{1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<int> w(v);
  std::copy_backward(w.begin(), w.begin() + 5, w.begin() + 7);
  show(code(w)); //= 12123458
  w = v;
  std::move_backward(w.begin(), w.begin() + 3, w.end());
  show(code(w)); //= 12345123
  std::vector<int> o(8);
  auto e = std::remove_copy(v.begin(), v.end(), o.begin(), 3);
  show(code(o.begin(), e)); //= 1245678
  o.clear();
  std::remove_copy_if(v.begin(), v.end(), std::back_inserter(o), [](int x) { return x % 3 == 0; });
  show(code(o)); //= 124578
  o.assign(8, 0);
  std::replace_copy(v.begin(), v.end(), o.begin(), 4, 9);
  show(code(o)); //= 12395678
  std::replace_copy_if(v.begin(), v.end(), o.begin(), [](int x) { return x > 5; }, 0);
  show(code(o)); //= 12345000
  std::reverse_copy(v.begin(), v.end(), o.begin());
  show(code(o)); //= 87654321
  std::rotate_copy(v.begin(), v.begin() + 3, v.end(), o.begin());
  show(code(o)); //= 45678123
  int runs[] = {1, 1, 2, 2, 2, 3, 1};
  o.clear();
  std::unique_copy(std::begin(runs), std::end(runs), std::back_inserter(o));
  show(code(o)); //= 1231
  std::vector<int> even, odd;
  std::partition_copy(v.begin(), v.end(), std::back_inserter(even), std::back_inserter(odd), [](int x) { return x % 2 == 0; });
  show(code(even) * 10000 + code(odd)); //= 24681357
  int sym[] = {2, 4, 9};
  o.clear();
  std::set_symmetric_difference(v.begin(), v.end(), sym, sym + 3, std::back_inserter(o));
  show(code(o)); //= 1356789
  o.clear();
  std::set_union(v.begin(), v.begin() + 2, sym, sym + 3, std::back_inserter(o), std::less<int>());
  show(code(o)); //= 1249
  std::vector<int> halves{1, 4, 7, 8, 2, 3, 5, 6};
  std::inplace_merge(halves.begin(), halves.begin() + 4, halves.end());
  show(code(halves)); //= 12345678
  int top[3];
  std::partial_sort_copy(v.begin(), v.end(), top, top + 3, std::greater<int>());
  show(code(top, top + 3)); //= 876
  std::vector<int> perm{1, 3, 2};
  show(std::prev_permutation(perm.begin(), perm.end())); //= 1
  show(code(perm)); //= 123
  show(std::prev_permutation(perm.begin(), perm.end()) * 1000 + code(perm)); //= 321
  std::next_permutation(perm.begin(), perm.end(), std::greater<int>());
  show(code(perm)); //= 312
  w = v;
  auto it = std::rotate(w.begin(), w.begin() + 2, w.end());
  show(code(w) * 10 + (it - w.begin())); //= 345678126
  std::list<int> l;
  std::copy(v.begin(), v.end(), std::front_inserter(l));
  show(code(l)); //= 87654321
  std::vector<int> x{100};
  std::copy(v.begin(), v.begin() + 3, std::inserter(x, x.begin()));
  show(x[0] * 100 + x[2] * 10 + (long)x.size()); //= 134
  std::set<int> s;
  std::transform(v.begin(), v.end(), std::inserter(s, s.end()), [](int k) { return k * k % 7; });
  show(code(s)); //= 124
  std::vector<std::string> names{"one", "two", "three"};
  std::vector<std::string> taken(std::make_move_iterator(names.begin()), std::make_move_iterator(names.end()));
  show(taken[2].size() * 10 + names[2].size()); //= 50
  std::vector<int> t(8);
  std::transform_exclusive_scan(v.begin(), v.end(), t.begin(), 10, std::plus<int>(), [](int k) { return k * 2; });
  show(t[7]); //= 66
  std::transform_inclusive_scan(v.begin(), v.end(), t.begin(), std::plus<>(), [](int k) { return k * k; });
  show(t[7]); //= 204
  std::inclusive_scan(v.begin(), v.end(), t.begin(), std::multiplies<int>());
  show(t[7]); //= 40320
  std::inclusive_scan(v.begin(), v.end(), t.begin(), [](int a, int b) { return std::max(a, b); }, 5);
  show(code(t)); //= 55555678
  std::exclusive_scan(v.begin(), v.end(), t.begin(), 1, std::multiplies<int>());
  show(t[7]); //= 5040
  std::adjacent_difference(halves.begin(), halves.end(), t.begin(), [](int a, int b) { return a + b; });
  show(t[7] * 100 + t[0]); //= 1501
  std::partial_sum(l.begin(), l.end(), t.begin());
  show(t[7]); //= 36
  std::mt19937 g(5);
  std::vector<int> got;
  std::sample(v.begin(), v.end(), std::back_inserter(got), 4, g);
  show(code(got)); //= 1348
  int three[3];
  std::sample(v.begin(), v.end(), three, 3, g);
  show(code(three, three + 3)); //= 148
  void* room = std::malloc(8 * sizeof(int));
  int* made = static_cast<int*>(room);
  std::uninitialized_copy(v.begin(), v.end(), made);
  std::uninitialized_fill(made + 4, made + 6, 9);
  show(code(made, made + 8)); //= 12349978
  std::deque<int> d;
  for (int i = 0; i < 4; ++i) { d.push_back(i); d.push_front(9 - i); }
  show(code(d)); //= 67890123
  std::sort(d.begin(), d.end());
  show(code(d.rbegin(), d.rend())); //= 98763210
  std::fill_n(std::back_inserter(d), 2, 5);
  show(code(d)); //= 123678955
  std::array<int, 5> arr{5, 3, 1, 4, 2};
  std::nth_element(arr.begin(), arr.begin() + 2, arr.end());
  show(arr[2]); //= 3
  std::merge(v.begin(), v.begin() + 3, sym, sym + 3, o.begin(), std::less<>());
  show(o[3]); //= 3
  float f[7] = {1e8f, 1.f, 1.f, -1e8f, 3.f, 0.5f, 0.25f};
  show(std::reduce(f, f + 7, 0.f) * 100); //= 375
  show(std::transform_reduce(f, f + 7, f, 0.0f) / 1e12f); //= 20000
  show(std::transform_reduce(f, f + 7, 1.f, std::plus<>(), [](float y) { return y + 1.f; })); //= 7
  show(std::accumulate(f, f + 7, 0.f) * 100); //= 375
  show(std::reduce(v.begin(), v.end()) * 10 + std::midpoint(3, 8)); //= 365
  show(std::lerp(2.0, 10.0, 0.25) * 10 + std::midpoint(1.0, 4.0)); //= 42
  const auto& cw = std::as_const(w);
  show(cw[1]); //= 4
  std::iter_swap(w.begin(), w.begin() + 7);
  std::swap_ranges(w.begin(), w.begin() + 2, w.begin() + 4);
  show(code(w)); //= 78562413
  return 0;
}
