/** Generators of random numbers that most programs use, which are fixed by the standard ([rand.eng], [rand.predef], [rand.util.seedseq]). */
export const hostGenerators = `
/** Spreads what it is given over as many words as an engine wants ([rand.util.seedseq]). */
struct seed_seq {
  using result_type = unsigned;
  vector<unsigned> given_;
  seed_seq() {}
  template <class... A> seed_seq(unsigned a, A... more) { unsigned all[] = {a, (unsigned)more...}; given_.assign(all, all + 1 + sizeof...(A)); }
  seed_seq(const vector<unsigned>& list) : given_(list) {}
  template <class I> seed_seq(I* a, I* b) { for (; a != b; ++a) given_.push_back((unsigned)__warplens_seed(*a)); }
  size_t size() const { return given_.size(); }
  static unsigned __mixed(unsigned x) { return x ^ (x >> 27); }
  template <class T> void generate(T* a, T* b) const {
    size_t n = b - a, s = given_.size();
    if (n == 0) return;
    for (size_t i = 0; i < n; ++i) a[i] = T(0x8b8b8b8bu);
    size_t t = n >= 623 ? 11 : n >= 68 ? 7 : n >= 39 ? 5 : n >= 7 ? 3 : (n - 1) / 2;
    size_t p = (n - t) / 2, q = p + t;
    size_t m = s + 1 > n ? s + 1 : n;
    for (size_t k = 0; k < m; ++k) {
      unsigned r = 1664525u * __mixed((unsigned)a[k % n] ^ (unsigned)a[(k + p) % n] ^ (unsigned)a[(k + n - 1) % n]);
      a[(k + p) % n] = T((unsigned)a[(k + p) % n] + r);
      r = r + (unsigned)(k == 0 ? s : k <= s ? k % n + given_[k - 1] : k % n);
      a[(k + q) % n] = T((unsigned)a[(k + q) % n] + r);
      a[k % n] = T(r);
    }
    for (size_t k = m; k < m + n; ++k) {
      unsigned r = 1566083941u * __mixed((unsigned)a[k % n] + (unsigned)a[(k + p) % n] + (unsigned)a[(k + n - 1) % n]);
      a[(k + p) % n] = T((unsigned)a[(k + p) % n] ^ r);
      r = r - (unsigned)(k % n);
      a[(k + q) % n] = T((unsigned)a[(k + q) % n] ^ r);
      a[k % n] = T(r);
    }
  }
};
struct mt19937 {
  using result_type = unsigned long;
  unsigned x_[624];
  int at_;
  mt19937() { seed(5489u); }
  explicit mt19937(unsigned s) { seed(s); }
  explicit mt19937(seed_seq& q) { seed(q); }
  void seed(seed_seq& q) {
    q.generate(x_, x_ + 624);
    bool isZero = (x_[0] & 0x80000000u) == 0;
    for (int i = 1; i < 624; ++i) isZero = isZero && x_[i] == 0;
    if (isZero) x_[0] = 0x80000000u;
    at_ = 624;
  }
  void seed(unsigned s) {
    x_[0] = (unsigned)__warplens_seed(s);
    for (int i = 1; i < 624; ++i) x_[i] = 1812433253u * (x_[i - 1] ^ (x_[i - 1] >> 30)) + i;
    at_ = 624;
  }
  static constexpr unsigned long min() { return 0; }
  static constexpr unsigned long max() { return 0xfffffffful; }
  unsigned long operator()() {
    if (at_ >= 624) {
      for (int k = 0; k < 624; ++k) {
        int after = k + 1 < 624 ? k + 1 : 0;
        int far = k + 397 < 624 ? k + 397 : k - 227;
        unsigned y = (x_[k] & 0x80000000u) | (x_[after] & 0x7fffffffu);
        x_[k] = x_[far] ^ (y >> 1) ^ ((y & 1u) ? 0x9908b0dfu : 0u);
      }
      at_ = 0;
    }
    unsigned z = x_[at_];
    at_ = at_ + 1;
    z ^= z >> 11;
    z ^= (z << 7) & 0x9d2c5680u;
    z ^= (z << 15) & 0xefc60000u;
    z ^= z >> 18;
    return z;
  }
  void discard(unsigned long n) { for (unsigned long i = 0; i < n; ++i) (*this)(); }
};
struct mt19937_64 {
  using result_type = unsigned long;
  unsigned long x_[312];
  int at_;
  mt19937_64() { seed(5489ul); }
  explicit mt19937_64(unsigned long s) { seed(s); }
  explicit mt19937_64(seed_seq& q) { seed(q); }
  void seed(seed_seq& q) {
    unsigned words[624];
    q.generate(words, words + 624);
    for (int i = 0; i < 312; ++i) x_[i] = (unsigned long)words[2 * i] + ((unsigned long)words[2 * i + 1] << 32);
    bool isZero = (x_[0] & 0xffffffff80000000ul) == 0;
    for (int i = 1; i < 312; ++i) isZero = isZero && x_[i] == 0;
    if (isZero) x_[0] = 1ul << 63;
    at_ = 312;
  }
  void seed(unsigned long s) {
    x_[0] = (unsigned long)__warplens_seed((long)s);
    for (int i = 1; i < 312; ++i) x_[i] = 6364136223846793005ul * (x_[i - 1] ^ (x_[i - 1] >> 62)) + i;
    at_ = 312;
  }
  static constexpr unsigned long min() { return 0; }
  static constexpr unsigned long max() { return 0xfffffffffffffffful; }
  unsigned long operator()() {
    if (at_ >= 312) {
      for (int k = 0; k < 312; ++k) {
        int after = k + 1 < 312 ? k + 1 : 0;
        int far = k + 156 < 312 ? k + 156 : k - 156;
        unsigned long y = (x_[k] & 0xffffffff80000000ul) | (x_[after] & 0x7ffffffful);
        x_[k] = x_[far] ^ (y >> 1) ^ ((y & 1ul) ? 0xb5026f5aa96619e9ul : 0ul);
      }
      at_ = 0;
    }
    unsigned long z = x_[at_];
    at_ = at_ + 1;
    z ^= (z >> 29) & 0x5555555555555555ul;
    z ^= (z << 17) & 0x71d67fffeda60000ul;
    z ^= (z << 37) & 0xfff7eee000000000ul;
    z ^= z >> 43;
    return z;
  }
  void discard(unsigned long n) { for (unsigned long i = 0; i < n; ++i) (*this)(); }
};
template <unsigned long A> struct __minstd {
  using result_type = unsigned long;
  unsigned long x_;
  __minstd() : x_(1) {}
  explicit __minstd(unsigned long s) { seed(s); }
  explicit __minstd(seed_seq& q) {
    unsigned words[4];
    q.generate(words, words + 4);
    seed(words[3]);
  }
  void discard(unsigned long n) { for (unsigned long i = 0; i < n; ++i) (*this)(); }
  void seed(unsigned long given) {
    unsigned long s = (unsigned long)__warplens_seed((long)given);
    x_ = s % 2147483647ul == 0 ? 1 : s % 2147483647ul;
  }
  static constexpr unsigned long min() { return 1; }
  static constexpr unsigned long max() { return 2147483646ul; }
  unsigned long operator()() { x_ = x_ * A % 2147483647ul; return x_; }
};
inline bool operator==(const mt19937& a, const mt19937& b) { bool same = a.at_ == b.at_; for (int i = 0; i < 624; ++i) same = same && a.x_[i] == b.x_[i]; return same; }
inline bool operator!=(const mt19937& a, const mt19937& b) { return !(a == b); }
using minstd_rand0 = __minstd<16807ul>;
using minstd_rand = __minstd<48271ul>;
using default_random_engine = minstd_rand0;
struct random_device {
  using result_type = unsigned;
  static unsigned& __drawn() {
    static unsigned drawn = 0;
    return drawn;
  }
  // each program has its own numbers: ours are as good, and what rests on them says so
  unsigned operator()() { return (unsigned)__warplens_seed(__warplens_unknown<long>(0)) + 2654435761u * __drawn()++; }
  static constexpr unsigned min() { return 0; }
  static constexpr unsigned max() { return 0xffffffffu; }
};
`;
