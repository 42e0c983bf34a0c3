/**
 * Random numbers of the host. Generators are fixed by the standard ([rand.eng], [rand.predef]); distributions give the numbers of
 * libstdc++ (GCC 11 and later, bits/uniform_int_dist.h and bits/random.tcc), rand() those of glibc (stdlib/random_r.c, TYPE_3).
 */
import { hostGenerators } from './host-generators';

export const hostRandom = `
template <class T, class G> T __uniform(G& g, T a, T b) {
  unsigned long range = (unsigned long)(g.max() - g.min());
  unsigned long wanted = (unsigned long)b - (unsigned long)a;
  unsigned long got = 0;
  if (range > wanted) {
    unsigned long count = wanted + 1;
    if (range == 0xfffffffful) {
      unsigned long product = (unsigned long)g() * count;
      unsigned low = (unsigned)product;
      if (low < (unsigned)count) {
        unsigned threshold = (0u - (unsigned)count) % (unsigned)count;
        while (low < threshold) {
          product = (unsigned long)g() * count;
          low = (unsigned)product;
        }
      }
      got = product >> 32;
    } else if (range == 0xfffffffffffffffful) {
      unsigned long x = g();
      unsigned long low = x * count;
      got = __umul64hi(x, count);
      if (low < count) {
        unsigned long threshold = (0ul - count) % count;
        while (low < threshold) {
          x = g();
          low = x * count;
          got = __umul64hi(x, count);
        }
      }
    } else {
      unsigned long scaling = range / count;
      unsigned long past = count * scaling;
      do got = (unsigned long)g() - g.min(); while (got >= past);
      got = got / scaling;
    }
  } else got = (unsigned long)g() - g.min();
  return T(got + (unsigned long)a);
}
template <class T, class G> T __canonical(G& g) {
  T range = T(double(g.max() - g.min()) + 1.0);
  T sum = T(g() - g.min());
  T scale = range;
  if constexpr (sizeof(T) == 8) {
    if (g.max() - g.min() < (1ul << 53)) {
      sum = sum + T(g() - g.min()) * scale;
      scale = scale * range;
    }
  } else {
    if (g.max() - g.min() < (1ul << 24)) {
      sum = sum + T(g() - g.min()) * scale;
      scale = scale * range;
    }
  }
  T x = sum / scale;
  if (x >= T(1)) x = sizeof(T) == 8 ? T(0.99999999999999988897769753748) : T(0.999999940395355224609375f);
  return x;
}
template <class T, size_t B, class G> T generate_canonical(G& g) {
  unsigned long most = g.max() - g.min();
  size_t digits = B < (sizeof(T) == 8 ? 53 : 24) ? B : sizeof(T) == 8 ? 53 : 24;
  size_t bits = most == ~0ul ? 64 : 0;
  for (unsigned long r = bits ? 0 : most + 1; r > 1; r = r / 2) bits = bits + 1;
  size_t times = digits <= bits ? 1 : (digits + bits - 1) / bits;
  T range = T(double(most) + 1.0);
  T sum = T(0);
  T scale = T(1);
  for (size_t i = 0; i < times; ++i) { sum = sum + T(g() - g.min()) * scale; scale = scale * range; }
  T x = sum / scale;
  if (x >= T(1)) x = sizeof(T) == 8 ? T(0.99999999999999988897769753748) : T(0.999999940395355224609375f);
  return x;
}
template <class T = int> struct uniform_int_distribution {
  using result_type = T;
  T a_, b_;
  uniform_int_distribution() : a_(0), b_(T(0x7fffffff)) {}
  explicit uniform_int_distribution(T a) : a_(a), b_(T(0x7fffffff)) {}
  uniform_int_distribution(T a, T b) : a_(a), b_(b) {}
  T a() const { return a_; }
  T b() const { return b_; }
  void reset() {}
  template <class G> T operator()(G& g) { return __uniform<T>(g, a_, b_); }
};
template <class T = double> struct uniform_real_distribution {
  using result_type = T;
  T a_, b_;
  uniform_real_distribution() : a_(0), b_(1) {}
  explicit uniform_real_distribution(T a) : a_(a), b_(1) {}
  uniform_real_distribution(T a, T b) : a_(a), b_(b) {}
  void reset() {}
  template <class G> T operator()(G& g) { return __canonical<T>(g) * (b_ - a_) + a_; }
};
template <class T = double> struct normal_distribution {
  using result_type = T;
  T mean_, deviation_, saved_;
  bool isSaved_;
  normal_distribution() : mean_(0), deviation_(1), saved_(0), isSaved_(false) {}
  explicit normal_distribution(T m) : mean_(m), deviation_(1), saved_(0), isSaved_(false) {}
  normal_distribution(T m, T d) : mean_(m), deviation_(d), saved_(0), isSaved_(false) {}
  void reset() { isSaved_ = false; }
  template <class G> T operator()(G& g) {
    T result = saved_;
    if (isSaved_) isSaved_ = false;
    else {
      T x = 0, y = 0, r = 0;
      do {
        x = T(2) * __canonical<T>(g) - T(1);
        y = T(2) * __canonical<T>(g) - T(1);
        r = x * x + y * y;
      } while (r > T(1) || r == T(0));
      T scale = sqrt(T(-2) * log(r) / r);
      saved_ = x * scale;
      isSaved_ = true;
      result = y * scale;
    }
    return result * deviation_ + mean_;
  }
};
template <class T = double> struct exponential_distribution {
  using result_type = T;
  T lambda_;
  exponential_distribution() : lambda_(1) {}
  explicit exponential_distribution(T l) : lambda_(l) {}
  template <class G> T operator()(G& g) { return -log(T(1) - __canonical<T>(g)) / lambda_; }
};
struct bernoulli_distribution {
  double p_;
  bernoulli_distribution() : p_(0.5) {}
  explicit bernoulli_distribution(double p) : p_(p) {}
  template <class G> bool operator()(G& g) { return __canonical<double>(g) < p_; }
};
template <class T = double> struct lognormal_distribution {
  using result_type = T;
  T m_, s_;
  normal_distribution<T> normal_;
  lognormal_distribution() : m_(0), s_(1) {}
  explicit lognormal_distribution(T m) : m_(m), s_(1) {}
  lognormal_distribution(T m, T s) : m_(m), s_(s) {}
  template <class G> T operator()(G& g) { return exp(s_ * normal_(g) + m_); }
};
template <class T = double> struct weibull_distribution {
  using result_type = T;
  T a_, b_;
  weibull_distribution() : a_(1), b_(1) {}
  weibull_distribution(T a, T b) : a_(a), b_(b) {}
  template <class G> T operator()(G& g) { return b_ * pow(-log(T(1) - __canonical<T>(g)), T(1) / a_); }
};
template <class T = double> struct gamma_distribution {
  using result_type = T;
  T alpha_, beta_;
  normal_distribution<T> normal_;
  gamma_distribution() : alpha_(1), beta_(1) {}
  explicit gamma_distribution(T a) : alpha_(a), beta_(1) {}
  gamma_distribution(T a, T b) : alpha_(a), beta_(b) {}
  template <class G> T operator()(G& g) {
    T shape = alpha_ < T(1) ? alpha_ + T(1) : alpha_;
    T a1 = shape - T(1) / T(3);
    T a2 = T(1) / sqrt(T(9) * a1);
    T u = 0, v = 0, n = 0;
    do {
      do {
        n = normal_(g);
        v = T(1) + a2 * n;
      } while (v <= T(0));
      v = v * v * v;
      u = __canonical<T>(g);
    } while (u > T(1) - T(0.0331) * n * n * n * n && log(u) > T(0.5) * n * n + a1 * (T(1) - v + log(v)));
    if (alpha_ == shape) return a1 * v * beta_;
    do u = __canonical<T>(g); while (u == T(0));
    return pow(u, T(1) / alpha_) * a1 * v * beta_;
  }
};
template <class T = int> struct geometric_distribution {
  using result_type = T;
  double log_;
  geometric_distribution() : log_(log(0.5)) {}
  explicit geometric_distribution(double p) : log_(log(1.0 - p)) {}
  template <class G> T operator()(G& g) { return T(floor(log(1.0 - __canonical<double>(g)) / log_) + 0.49999999999999989); }
};
template <class T = int> struct discrete_distribution {
  using result_type = T;
  vector<double> sums_;
  discrete_distribution() {}
  discrete_distribution(const vector<double>& weights) { __take(weights.data(), weights.size()); }
  template <class... R> discrete_distribution(double a, double b, R... more) { double w[] = {a, b, double(more)...}; __take(w, 2 + sizeof...(R)); }
  template <class U> discrete_distribution(U* a, U* b) { __take(a, b - a); }
  template <class U> void __take(U* w, size_t n) {
    if (n < 2) return;
    double all = 0;
    for (size_t i = 0; i < n; ++i) all = all + w[i];
    double sum = 0;
    for (size_t i = 0; i < n; ++i) {
      sum = i == 0 ? w[i] / all : sum + w[i] / all;
      sums_.push_back(sum);
    }
    sums_[n - 1] = 1.0;
  }
  template <class G> T operator()(G& g) {
    size_t n = sums_.size();
    if (n == 0) return T(0);
    double p = __canonical<double>(g);
    size_t k = 0;
    while (k < n && sums_[k] < p) ++k;
    return T(k);
  }
};
${hostGenerators}
`;

/**
 * Of the C library, at namespace scope. Programs draw numbers by the million, so that what one takes decides whether the budget of the run
 * does for them: places begin at 1, so that the place of the next number says whether there are any yet.
 */
export const hostRand = `
unsigned __rand_state[32];
unsigned long __rand_at;
unsigned __rand_next(unsigned long at) {
  unsigned x = __rand_state[at] + __rand_state[at > 3 ? at - 3 : at + 28];
  __rand_state[at] = x;
  __rand_at = at == 31 ? 1 : at + 1;
  return x;
}
void __rand_begin(int x) {
  __rand_state[1] = (unsigned)x;
  for (int i = 2; i < 32; ++i) {
    long next = (16807l * x) % 2147483647l;
    x = (int)(next < 0 ? next + 2147483647l : next);
    __rand_state[i] = (unsigned)x;
  }
  __rand_at = 4;
  for (int i = 0; i < 310; ++i) __rand_next(__rand_at);
}
void srand(unsigned given) {
  unsigned seed = (unsigned)__warplens_seed(given);
  __rand_begin(seed == 0 ? 1 : (int)seed);
}
int rand() {
  if (__rand_at == 0) __rand_begin(1);
  return (int)(__rand_next(__rand_at) >> 1);
}
void srandom(unsigned seed) { srand(seed); }
long random() { return rand(); }
int rand_r(unsigned* seed) {
  unsigned next = (unsigned)__warplens_seed(*seed);
  next = next * 1103515245u + 12345u;
  unsigned result = (next / 65536u) % 2048u;
  next = next * 1103515245u + 12345u;
  result = (result << 10) ^ ((next / 65536u) % 1024u);
  next = next * 1103515245u + 12345u;
  result = (result << 10) ^ ((next / 65536u) % 1024u);
  *seed = next;
  return (int)result;
}
unsigned long __drand_state;
void srand48(long seed) { __drand_state = (((unsigned long)__warplens_seed(seed) & 0xfffffffful) << 16) + 0x330eul; }
unsigned long __drand_next() { __drand_state = (__drand_state * 0x5deece66dul + 11ul) & 0xfffffffffffful; return __drand_state; }
double drand48() { return (double)__drand_next() / 281474976710656.0; }
long lrand48() { return (long)(__drand_next() >> 17); }
namespace std { using ::srand; using ::rand; }
`;
