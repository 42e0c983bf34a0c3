/**
 * Distributions of counts, and those made of others, that few programs draw from: with the numbers of libstdc++ (bits/random.tcc, which follows L. Devroye, Non-Uniform
 * Random Variate Generation, 1986, chapter X). Logarithms of factorials are Stirling's series, to some 15 digits.
 */
export const counts = `
namespace std {
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
}
`;
