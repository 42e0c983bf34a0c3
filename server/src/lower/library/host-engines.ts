/** Engines of random numbers that few programs use ([rand.eng], [rand.adapt], [rand.predef]) and distributions over intervals (bits/random.tcc of GCC). */
export const engines = `
namespace std {
template <class U, U A, U C, U M> struct linear_congruential_engine {
  using result_type = U;
  static constexpr U multiplier = A;
  static constexpr U increment = C;
  static constexpr U modulus = M;
  U x_;
  linear_congruential_engine() { seed(1); }
  explicit linear_congruential_engine(U s) { seed(s); }
  void seed(U s = 1) {
    x_ = M == 0 ? s : s % M;
    if (x_ == 0 && (M == 0 ? C : C % M) == 0) x_ = 1;
  }
  static constexpr U min() { return C == 0 ? 1 : 0; }
  static constexpr U max() { return M - 1; }
  U operator()() {
    if constexpr (M == 0) x_ = A * x_ + C;
    else if constexpr (sizeof(U) == 4) x_ = U(((unsigned long)A * x_ + C) % M);
    else x_ = (A * x_ + C) % M;
    return x_;
  }
  void discard(unsigned long n) { for (unsigned long i = 0; i < n; ++i) (*this)(); }
};
template <class U, size_t W, size_t S, size_t R> struct subtract_with_carry_engine {
  using result_type = U;
  U x_[R];
  U carry_;
  size_t at_;
  subtract_with_carry_engine() { seed(19780503u); }
  explicit subtract_with_carry_engine(U s) { seed(s); }
  void seed(U s = 19780503u) {
    unsigned long state = (s == 0 ? 19780503ul : (unsigned long)s) % 2147483563ul;
    if (state == 0) state = 1;
    for (size_t i = 0; i < R; ++i) {
      unsigned long sum = 0;
      for (size_t k = 0; k < (W + 31) / 32; ++k) {
        state = state * 40014ul % 2147483563ul;
        sum = sum + (state << (32 * k));
      }
      x_[i] = U(sum & max());
    }
    carry_ = x_[R - 1] == 0 ? 1 : 0;
    at_ = 0;
  }
  static constexpr U min() { return 0; }
  static constexpr U max() { return W == 8 * sizeof(U) ? ~U(0) : U((U(1) << (W % (8 * sizeof(U)))) - 1); }
  U operator()() {
    size_t far = at_ >= S ? at_ - S : at_ + R - S;
    U taken = x_[at_] + carry_;
    U made = U((x_[far] - taken) & max());
    carry_ = x_[far] >= taken ? 0 : 1;
    x_[at_] = made;
    at_ = at_ + 1 >= R ? 0 : at_ + 1;
    return made;
  }
  void discard(unsigned long n) { for (unsigned long i = 0; i < n; ++i) (*this)(); }
};
template <class E, size_t P, size_t R> struct discard_block_engine {
  using result_type = typename E::result_type;
  E base_;
  size_t used_;
  discard_block_engine() : used_(0) {}
  explicit discard_block_engine(unsigned long s) : base_(s), used_(0) {}
  void seed(unsigned long s) { base_.seed(s); used_ = 0; }
  static constexpr result_type min() { return E::min(); }
  static constexpr result_type max() { return E::max(); }
  result_type operator()() {
    if (used_ >= R) {
      for (size_t i = R; i < P; ++i) base_();
      used_ = 0;
    }
    used_ = used_ + 1;
    return base_();
  }
  void discard(unsigned long n) { for (unsigned long i = 0; i < n; ++i) (*this)(); }
};
template <class E, size_t K> struct shuffle_order_engine {
  using result_type = typename E::result_type;
  E base_;
  unsigned long table_[K];
  unsigned long last_;
  shuffle_order_engine() { __fill_table(); }
  explicit shuffle_order_engine(unsigned long s) : base_(s) { __fill_table(); }
  void seed(unsigned long s) { base_.seed(s); __fill_table(); }
  void __fill_table() {
    for (size_t i = 0; i < K; ++i) table_[i] = base_();
    last_ = base_();
  }
  static constexpr result_type min() { return E::min(); }
  static constexpr result_type max() { return E::max(); }
  result_type operator()() {
    unsigned long range = (unsigned long)(max() - min()) + 1;
    unsigned long from = last_ - min();
    size_t k = range == 0 ? __umul64hi(from, K) : from < (1ul << 32) ? K * from / range : size_t(K * (double(from) / double(range)));
    last_ = table_[k];
    table_[k] = base_();
    return last_;
  }
  void discard(unsigned long n) { for (unsigned long i = 0; i < n; ++i) (*this)(); }
};
using ranlux24_base = subtract_with_carry_engine<unsigned long, 24, 10, 24>;
using ranlux48_base = subtract_with_carry_engine<unsigned long, 48, 5, 12>;
using ranlux24 = discard_block_engine<ranlux24_base, 223, 23>;
using ranlux48 = discard_block_engine<ranlux48_base, 389, 11>;
using knuth_b = shuffle_order_engine<minstd_rand0, 256>;
template <class T = double> struct piecewise_constant_distribution {
  using result_type = T;
  vector<T> edges_;
  vector<double> sums_;
  vector<double> heights_;
  piecewise_constant_distribution() {}
  template <class I, class J> piecewise_constant_distribution(I a, I b, J weights) {
    for (; a != b; ++a) edges_.push_back(*a);
    size_t n = edges_.size();
    if (n < 2) return;
    double all = 0;
    for (size_t i = 0; i + 1 < n; ++i) { double w = *weights; heights_.push_back(w); all = all + w; ++weights; }
    double sum = 0;
    for (size_t i = 0; i + 1 < n; ++i) {
      heights_[i] = heights_[i] / all;
      sum = i == 0 ? heights_[i] : sum + heights_[i];
      sums_.push_back(sum);
      heights_[i] = heights_[i] / (edges_[i + 1] - edges_[i]);
    }
    sums_[n - 2] = 1.0;
  }
  template <class G> T operator()(G& g) {
    double p = __canonical<double>(g);
    if (sums_.size() == 0) return T(p);
    size_t k = 0;
    while (k < sums_.size() && sums_[k] < p) ++k;
    double below = k > 0 ? sums_[k - 1] : 0.0;
    return T(edges_[k] + (p - below) / heights_[k]);
  }
};
template <class T = double> struct piecewise_linear_distribution {
  using result_type = T;
  vector<T> edges_;
  vector<double> sums_;
  vector<double> heights_;
  vector<double> slopes_;
  piecewise_linear_distribution() {}
  template <class I, class J> piecewise_linear_distribution(I a, I b, J weights) {
    for (; a != b; ++a) { edges_.push_back(*a); heights_.push_back(*weights); ++weights; }
    size_t n = edges_.size();
    if (n < 2) return;
    double all = 0;
    for (size_t i = 0; i + 1 < n; ++i) {
      double wide = edges_[i + 1] - edges_[i];
      all = all + 0.5 * (heights_[i + 1] + heights_[i]) * wide;
      sums_.push_back(all);
      slopes_.push_back((heights_[i + 1] - heights_[i]) / wide);
    }
    for (size_t i = 0; i < n; ++i) heights_[i] = heights_[i] / all;
    for (size_t i = 0; i + 1 < n; ++i) { sums_[i] = sums_[i] / all; slopes_[i] = slopes_[i] / all; }
    sums_[n - 2] = 1.0;
  }
  template <class G> T operator()(G& g) {
    double p = __canonical<double>(g);
    if (sums_.size() == 0) return T(p);
    size_t k = 0;
    while (k < sums_.size() && sums_[k] < p) ++k;
    double c = p - (k > 0 ? sums_[k - 1] : 0.0);
    double a = 0.5 * slopes_[k];
    double b = heights_[k];
    double x = edges_[k];
    if (fabs(a) < 1e-300) return T(c / b + x);
    double d = b * b + 4.0 * a * c;
    return T(0.5 * (sqrt(d) - b) / a + x);
  }
};
}
`;
