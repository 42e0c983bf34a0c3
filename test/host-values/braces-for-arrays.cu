/** Braces for arrays by reference, whose lengths they tell. */
template <int R> struct Range { long lo[R], hi[R]; int tile[R]; };
template <int R> Range<R> md_range(const long (&lo)[R], const long (&hi)[R], const int (&t)[R]) { Range<R> p; for (int i = 0; i < R; i++) { p.lo[i] = lo[i]; p.hi[i] = hi[i]; p.tile[i] = t[i]; } return p; }
int sum(const int (&t)[3]) { return t[0] + t[1] * 10 + t[2] * 100; }

template <class P, class F> struct For { F f; P p; int n() const { return p.hi[0] * 100 + p.tile[1]; } };
template <class P, class F> int parallel(const P& p, const F& f) { return For<P, F>{f, p}.n(); }
int main() {
  long nx = 70, ny = 39;
  Range<3> r = md_range<3>({0, 0, 1}, {nx, ny, 5}, {32, 4, 2});
  show(r.hi[1] * 10 + r.tile[0] + r.lo[2]); //= 423
  auto q = md_range({0, 1}, {nx, ny}, {16, 8});
  show(q.hi[0] + q.tile[1]); //= 78
  show(sum({1, 2, 3})); //= 321
  show(parallel(md_range({0, 1}, {nx, ny}, {16, 8}), [](int i) { return i; })); //= 7008
}
