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
// of x >= 1, by Stirling's series (DLMF 5.11.1)
inline double __logGamma(double x) {
  double below = 1;
  while (x < 16) { below = below * x; x = x + 1; }
  double r = 1 / (x * x);
  double tail = (1.0 / 12 - r * (1.0 / 360 - r * (1.0 / 1260 - r * (1.0 / 1680 - r / 1188)))) / x;
  return (x - 0.5) * log(x) - x + 0.91893853320467274178 + tail - log(below);
}
template <class G> double __waited(G& g) { return -log(1.0 - __canonical<double>(g)); }
template <class T = int> struct poisson_distribution {
  using result_type = T;
  double mean_, limit_, whole_, logWhole_, root_, reach_, rightScale_, perReach_, right_, tail_;
  normal_distribution<double> normal_;
  poisson_distribution() : mean_(1), limit_(exp(-1.0)) {}
  explicit poisson_distribution(double m) : mean_(m), limit_(exp(-m)) { if (m >= 12) __prepare(); }
  void __prepare() {
    const double quarter = 0.78539816339744830962;
    whole_ = floor(mean_);
    limit_ = log(mean_);
    logWhole_ = __logGamma(whole_ + 1);
    root_ = sqrt(whole_);
    double wide = sqrt(2 * whole_ * log(32 * whole_ / quarter));
    reach_ = round(wide < whole_ ? (wide > 6.0 ? wide : 6.0) : (whole_ > 6.0 ? whole_ : 6.0));
    double around = 2 * whole_ + reach_;
    rightScale_ = sqrt(around / 2);
    perReach_ = 1 / around;
    right_ = sqrt(quarter * around) * exp(perReach_);
    tail_ = 2 * around * exp(-reach_ * perReach_ * (1 + reach_ / 2)) / reach_;
  }
  template <class G> T operator()(G& g) {
    if (mean_ >= 12.0) return __rejecting(g);
    T x = 0;
    double product = 1;
    do {
      product *= __canonical<double>(g);
      x = x + 1;
    } while (product > limit_);
    return x - 1;
  }
  template <class G> T __rejecting(G& g) {
    const double left = root_ * 1.2533141373155002512;
    const double c2 = right_ + left;
    const double c3 = c2 + 1, c4 = c3 + 1, c5 = c4 + 1.0129030479320018584;
    const double all = tail_ + c5;
    double x = 0;
    for (;;) {
      double u = all * __canonical<double>(g);
      double e = __waited(g);
      double w = 0;
      if (u <= left) {
        double n = normal_(g);
        x = floor(-fabs(n) * root_ - 1);
        w = -n * n / 2;
        if (x < -whole_) continue;
      } else if (u <= c2) {
        double n = normal_(g);
        double y = 1 + fabs(n) * rightScale_;
        x = ceil(y);
        w = y * (2 - y) * perReach_;
        if (x > reach_) continue;
      } else if (u <= c3) x = -1;
      else if (u <= c4) x = 0;
      else if (u <= c5) {
        x = 1;
        w = 0.012820512820512820513;
      } else {
        double v = __waited(g);
        double y = reach_ + v * (2 * (2 * whole_ + reach_)) / reach_;
        x = ceil(y);
        w = -reach_ * perReach_ * (1 + y / 2);
      }
      if (!(w - e - x * limit_ > logWhole_ - __logGamma(x + whole_ + 1))) return T(x + whole_ + 0.4999999999999999);
    }
  }
};
template <class T = int> struct binomial_distribution {
  using result_type = T;
  T t_;
  double p_, less_, q_, np_, d1_, d2_, s1_, s2_, c_, a1_, a123_, s_, log_, odds_;
  bool isEasy_;
  normal_distribution<double> normal_;
  binomial_distribution() : t_(1), p_(0.5) { __prepare(); }
  explicit binomial_distribution(T t, double p = 0.5) : t_(t), p_(p) { __prepare(); }
  void __prepare() {
    less_ = p_ <= 0.5 ? p_ : 1.0 - p_;
    isEasy_ = t_ * less_ < 8;
    if (isEasy_) {
      q_ = -log(1 - less_);
      return;
    }
    const double quarter = 0.78539816339744830962, half = 1.2533141373155002512;
    np_ = floor(t_ * less_);
    double pa = np_ / t_, rest = 1 - pa;
    double d1 = sqrt(np_ * rest * log(32 * np_ / (81 * quarter * rest)));
    double d2 = sqrt(np_ * rest * log(32 * t_ * rest / (quarter * pa)));
    d1_ = round(d1 > 1.0 ? d1 : 1.0);
    d2_ = round(d2 > 1.0 ? d2 : 1.0);
    s1_ = sqrt(np_ * rest) * (1 + d1_ / (4 * np_));
    s2_ = sqrt(np_ * rest) * (1 + d2_ / (4 * t_ * rest));
    c_ = 2 * d1_ / np_;
    a1_ = exp(c_) * s1_ * half;
    double ss1 = s1_ * s1_, ss2 = s2_ * s2_;
    a123_ = a1_ + s2_ * half + exp(d1_ / (t_ * rest)) * 2 * ss1 / d1_ * exp(-d1_ * d1_ / (2 * ss1));
    s_ = a123_ + 2 * ss2 / d2_ * exp(-d2_ * d2_ / (2 * ss2));
    log_ = __logGamma(np_ + 1) + __logGamma(t_ - np_ + 1);
    odds_ = log(pa / rest);
    q_ = -log(1 - (less_ - pa) / rest);
  }
  template <class G> T __waiting(G& g, T t) {
    T x = 0;
    double sum = 0;
    do {
      if (t == x) return x;
      sum += __waited(g) / (t - x);
      x = x + 1;
    } while (sum <= q_);
    return x - 1;
  }
  template <class G> T operator()(G& g) {
    T found = isEasy_ ? __waiting(g, t_) : __rejecting(g);
    return less_ != p_ ? t_ - found : found;
  }
  template <class G> T __rejecting(G& g) {
    const double half = 1.2533141373155002512;
    double a12 = a1_ + s2_ * half, ss1 = s1_ * s1_, ss2 = s2_ * s2_, x = 0, v = 0;
    bool isRejected = true;
    while (isRejected) {
      double u = s_ * __canonical<double>(g);
      isRejected = false;
      if (u <= a12) {
        bool isRight = u <= a1_;
        double n = normal_(g);
        double y = (isRight ? s1_ : s2_) * fabs(n);
        isRejected = y >= (isRight ? d1_ : d2_);
        if (!isRejected) {
          double e = __waited(g);
          x = floor(isRight ? y : -y);
          v = -e - n * n / 2 + (isRight ? c_ : 0.0);
        }
      } else {
        double e1 = __waited(g);
        double e2 = __waited(g);
        if (u <= a123_) {
          double y = d1_ + 2 * ss1 * e1 / d1_;
          x = floor(y);
          v = -e2 + d1_ * (1 / (t_ - np_) - y / (2 * ss1));
        } else {
          double y = d2_ + 2 * ss2 * e1 / d2_;
          x = floor(-y);
          v = -e2 - d2_ * y / (2 * ss2);
        }
      }
      if (!isRejected) isRejected = x < -np_ || x > t_ - np_;
      if (!isRejected) isRejected = v > log_ - (__logGamma(np_ + x + 1) + __logGamma(t_ - (np_ + x) + 1)) + x * odds_;
    }
    T most = T(x + np_ + 0.4999999999999999);
    return most + __waiting(g, t_ - most);
  }
};
template <class T = double> struct cauchy_distribution {
  using result_type = T;
  T a_, b_;
  cauchy_distribution() : a_(0), b_(1) {}
  cauchy_distribution(T a, T b) : a_(a), b_(b) {}
  template <class G> T operator()(G& g) {
    T u = 0;
    do u = __canonical<T>(g); while (u == T(0.5));
    return a_ + b_ * tan(T(3.1415926535897932385) * u);
  }
};
template <class T = double> struct extreme_value_distribution {
  using result_type = T;
  T a_, b_;
  extreme_value_distribution() : a_(0), b_(1) {}
  extreme_value_distribution(T a, T b) : a_(a), b_(b) {}
  template <class G> T operator()(G& g) { return a_ - b_ * log(-log(T(1) - __canonical<T>(g))); }
};
template <class T = double> struct chi_squared_distribution {
  using result_type = T;
  gamma_distribution<T> gamma_;
  chi_squared_distribution() : gamma_(T(0.5)) {}
  explicit chi_squared_distribution(T n) : gamma_(n / 2) {}
  template <class G> T operator()(G& g) { return 2 * gamma_(g); }
};
template <class T = double> struct student_t_distribution {
  using result_type = T;
  T n_;
  normal_distribution<T> normal_;
  gamma_distribution<T> gamma_;
  student_t_distribution() : n_(1), gamma_(T(0.5), T(2)) {}
  explicit student_t_distribution(T n) : n_(n), gamma_(n / 2, T(2)) {}
  template <class G> T operator()(G& g) {
    T x = normal_(g);
    return x * sqrt(n_ / gamma_(g));
  }
};
template <class T = int> struct negative_binomial_distribution {
  using result_type = T;
  gamma_distribution<double> gamma_;
  explicit negative_binomial_distribution(T k = 1, double p = 0.5) : gamma_(double(k), (1.0 - p) / p) {}
  template <class G> T operator()(G& g) {
    poisson_distribution<T> poisson(gamma_(g));
    return poisson(g);
  }
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

/** Of the C library, at namespace scope. */
export const hostRand = `
int __rand_state[31];
int __rand_at;
bool __rand_ready;
int __rand_next() {
  int back = __rand_at >= 3 ? __rand_at - 3 : __rand_at + 28;
  unsigned x = (unsigned)__rand_state[__rand_at] + (unsigned)__rand_state[back];
  __rand_state[__rand_at] = (int)x;
  __rand_at = __rand_at == 30 ? 0 : __rand_at + 1;
  return (int)(x >> 1);
}
void srand(unsigned seed) {
  int x = seed == 0 ? 1 : (int)seed;
  __rand_state[0] = x;
  for (int i = 1; i < 31; ++i) {
    long next = (16807l * x) % 2147483647l;
    x = (int)(next < 0 ? next + 2147483647l : next);
    __rand_state[i] = x;
  }
  __rand_at = 3;
  __rand_ready = true;
  for (int i = 0; i < 310; ++i) __rand_next();
}
int rand() {
  if (!__rand_ready) srand(1);
  return __rand_next();
}
void srandom(unsigned seed) { srand(seed); }
long random() { return rand(); }
int rand_r(unsigned* seed) {
  unsigned next = *seed;
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
void srand48(long seed) { __drand_state = (((unsigned long)seed & 0xfffffffful) << 16) + 0x330eul; }
unsigned long __drand_next() { __drand_state = (__drand_state * 0x5deece66dul + 11ul) & 0xfffffffffffful; return __drand_state; }
double drand48() { return (double)__drand_next() / 281474976710656.0; }
long lrand48() { return (long)(__drand_next() >> 17); }
namespace std { using ::srand; using ::rand; }
`;
