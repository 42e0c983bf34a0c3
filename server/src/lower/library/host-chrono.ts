/** Durations and clocks of std::chrono: what a clock says is not known. */
const units: readonly (readonly [name: string, of: string, suffix: string])[] = [
  ['nanoseconds', 'nano', 'ns'],
  ['microseconds', 'micro', 'us'],
  ['milliseconds', 'milli', 'ms'],
  ['seconds', 'ratio<1>', 's'],
  ['minutes', 'ratio<60>', 'min'],
  ['hours', 'ratio<3600>', 'h'],
];

const between = (sign: string): string => `
template <class R, class P, class S, class Q> auto operator${sign}(const duration<R, P>& a, const duration<S, Q>& b) {
  using D = typename __common<R, P, S, Q>::type;
  return D(duration_cast<D>(a).count() ${sign} duration_cast<D>(b).count());
}`;

const compared = (sign: string): string => `
template <class R, class P, class S, class Q> bool operator${sign}(const duration<R, P>& a, const duration<S, Q>& b) {
  using D = typename __common<R, P, S, Q>::type;
  return duration_cast<D>(a).count() ${sign} duration_cast<D>(b).count();
}
template <class C, class D> bool operator${sign}(const time_point<C, D>& a, const time_point<C, D>& b) { return a.time_since_epoch() ${sign} b.time_since_epoch(); }`;

const clock = (name: string): string => `
struct ${name} {
  using duration = nanoseconds;
  using rep = long;
  using time_point = chrono::time_point<${name}, nanoseconds>;
  static constexpr bool is_steady = true;
  static time_point now() { return time_point(nanoseconds(__warplens_unknown<long>(0))); }
  static long to_time_t(const time_point& t) { return t.time_since_epoch().count() / 1000000000; }
};`;

export const chrono = `
namespace std {
template <long N, long D = 1> struct ratio { static constexpr long num = N; static constexpr long den = D; };
using nano = ratio<1, 1000000000>; using micro = ratio<1, 1000000>; using milli = ratio<1, 1000>; using centi = ratio<1, 100>;
using kilo = ratio<1000>; using mega = ratio<1000000>; using giga = ratio<1000000000>;
namespace chrono {
template <class R, class P = ratio<1>> struct duration;
template <class D, class R, class P> constexpr D duration_cast(const duration<R, P>& d);
template <class R, class P> struct duration {
  using rep = R;
  using period = P;
  R count_;
  constexpr duration() : count_() {}
  constexpr explicit duration(const R& n) : count_(n) {}
  template <class S, class Q> constexpr duration(const duration<S, Q>& d) : count_(duration_cast<duration<R, P>>(d).count_) {}
  constexpr R count() const { return count_; }
  static constexpr duration zero() { return duration(R(0)); }
  duration operator-() const { return duration(-count_); }
  duration operator+() const { return *this; }
  duration& operator++() { count_ = count_ + 1; return *this; }
  duration& operator+=(const duration& d) { count_ = count_ + d.count_; return *this; }
  duration& operator-=(const duration& d) { count_ = count_ - d.count_; return *this; }
  duration& operator*=(const R& n) { count_ = count_ * n; return *this; }
  duration& operator/=(const R& n) { count_ = count_ / n; return *this; }
};
constexpr long __gcd(long a, long b) { return b == 0 ? a : __gcd(b, a % b); }
template <class R, class P, class S, class Q> struct __common {
  static constexpr long num = __gcd(P::num, Q::num);
  static constexpr long den = P::den / __gcd(P::den, Q::den) * Q::den;
  using type = duration<decltype(R() + S()), ratio<num, den>>;
};
template <class D, class R, class P> constexpr D duration_cast(const duration<R, P>& d) {
  using T = typename D::rep;
  using W = decltype(T() + R() + long());
  constexpr long up = P::num * D::period::den;
  constexpr long down = P::den * D::period::num;
  constexpr long both = __gcd(up, down);
  W n = d.count();
  if constexpr (down / both == 1) return D((T)(n * (up / both)));
  else if constexpr (up / both == 1) return D((T)(n / (down / both)));
  else return D((T)(n * (up / both) / (down / both)));
}
${units.map(([name, of]) => `using ${name} = duration<long, ${of}>;`).join('\n')}
using days = duration<long, ratio<86400>>;
template <class C, class D = nanoseconds> struct time_point {
  using clock = C;
  using duration = D;
  D since_;
  time_point() : since_() {}
  explicit time_point(const D& d) : since_(d) {}
  D time_since_epoch() const { return since_; }
  time_point& operator+=(const D& d) { since_ += d; return *this; }
  time_point& operator-=(const D& d) { since_ -= d; return *this; }
};
${['+', '-'].map(between).join('')}
${['==', '!=', '<', '>', '<=', '>='].map(compared).join('')}
template <class R, class P> duration<R, P> operator*(const duration<R, P>& d, R n) { return duration<R, P>(d.count() * n); }
template <class R, class P> duration<R, P> operator*(R n, const duration<R, P>& d) { return duration<R, P>(d.count() * n); }
template <class R, class P> duration<R, P> operator/(const duration<R, P>& d, R n) { return duration<R, P>(d.count() / n); }
template <class R, class P> duration<R, P> operator%(const duration<R, P>& d, R n) { return duration<R, P>(d.count() % n); }
template <class R, class P, class S, class Q> auto operator/(const duration<R, P>& a, const duration<S, Q>& b) {
  using D = typename __common<R, P, S, Q>::type;
  return duration_cast<D>(a).count() / duration_cast<D>(b).count();
}
template <class C, class D> D operator-(const time_point<C, D>& a, const time_point<C, D>& b) { return a.since_ - b.since_; }
template <class C, class D, class R, class P> time_point<C, D> operator+(const time_point<C, D>& a, const duration<R, P>& d) { return time_point<C, D>(a.since_ + duration_cast<D>(d)); }
template <class C, class D, class R, class P> time_point<C, D> operator-(const time_point<C, D>& a, const duration<R, P>& d) { return time_point<C, D>(a.since_ - duration_cast<D>(d)); }
template <class E, class C, class D> time_point<C, E> time_point_cast(const time_point<C, D>& t) { return time_point<C, E>(duration_cast<E>(t.since_)); }
${['system_clock', 'steady_clock'].map(clock).join('')}
using high_resolution_clock = system_clock;
}
namespace chrono_literals {}
namespace literals { namespace chrono_literals {} }
}
${units
  .map(
    ([name, , suffix]) =>
      `std::chrono::${name} operator""${suffix}(unsigned long long n) { return std::chrono::${name}((long)n); }`,
  )
  .join('\n')}
`;
