/** Thrust's function objects that the standard library has not, and its random numbers (thrust/random/detail: other formulas than the standard's). */
export const functions = `
template <class T = void> struct maximum { template <class A, class B> auto operator()(const A& a, const B& b) const { return a < b ? b : a; } };
template <class T = void> struct minimum { template <class A, class B> auto operator()(const A& a, const B& b) const { return b < a ? b : a; } };
template <class T = void> struct square { template <class A> auto operator()(const A& a) const { return a * a; } };
template <class T = void> struct identity { template <class A> A operator()(const A& a) const { return a; } };
template <class T = void, class U = void> struct project1st { template <class A, class B> A operator()(const A& a, const B& b) const { return a; } };
template <class T = void, class U = void> struct project2nd { template <class A, class B> B operator()(const A& a, const B& b) const { return b; } };
template <class A, class R> struct unary_function { typedef A argument_type; typedef R result_type; };
template <class A, class B, class R> struct binary_function { typedef A first_argument_type; typedef B second_argument_type; typedef R result_type; };

template <class T, T A, T C, T M> struct linear_congruential_engine {
  typedef T result_type;
  static const T min = C == 0 ? 1 : 0;
  static const T max = M - 1;
  static const T default_seed = 1;
  T x_;
  linear_congruential_engine(T s = 1) { seed(s); }
  void seed(T s = 1) { x_ = s % M == 0 && C % M == 0 ? 1 : s % M; }
  T operator()() { x_ = T((unsigned long long)x_ * A % M + C) % M; return x_; }
  void discard(unsigned long long n) {
    unsigned long long factor = A, result = 1;
    for (; n > 0; n >>= 1) { if (n & 1) result = result * factor % M; factor = factor * factor % M; }
    x_ = T(result * x_ % M);
  }
};
typedef linear_congruential_engine<unsigned, 16807, 0, 2147483647> minstd_rand0;
typedef linear_congruential_engine<unsigned, 48271, 0, 2147483647> minstd_rand;
typedef minstd_rand default_random_engine;
template <class T = double> struct uniform_real_distribution {
  typedef T result_type;
  T a_, b_;
  uniform_real_distribution(T a = 0, T b = 1) : a_(a), b_(b) {}
  template <class G> T operator()(G& g) {
    T x = T(g() - G::min);
    x /= T(1) + T(G::max - G::min);
    return x * (b_ - a_) + a_;
  }
};
template <class T = int> struct uniform_int_distribution {
  typedef T result_type;
  T a_, b_;
  uniform_int_distribution(T a = 0, T b = 2147483647) : a_(a), b_(b) {}
  template <class G> T operator()(G& g) { uniform_real_distribution<double> d(double(a_), double(b_) + 1.0); return T(d(g)); }
};
namespace random { using namespace thrust; }
`;
