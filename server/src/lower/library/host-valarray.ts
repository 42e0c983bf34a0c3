/** Arrays that are computed with as a whole. */
const signs = ['+', '-', '*', '/', '%', '&', '|', '^', '<<', '>>'];
const functions = [
  'abs',
  'exp',
  'log',
  'log10',
  'sqrt',
  'sin',
  'cos',
  'tan',
  'asin',
  'acos',
  'atan',
  'sinh',
  'cosh',
  'tanh',
];

const between = (sign: string, result: string): string => `
template <class T> valarray<${result}> operator${sign}(const valarray<T>& a, const valarray<T>& b) { valarray<${result}> c(a.size()); for (size_t i = 0; i < a.size(); ++i) c[i] = a[i] ${sign} b[i]; return c; }
template <class T> valarray<${result}> operator${sign}(const valarray<T>& a, const typename valarray<T>::value_type& b) { valarray<${result}> c(a.size()); for (size_t i = 0; i < a.size(); ++i) c[i] = a[i] ${sign} b; return c; }
template <class T> valarray<${result}> operator${sign}(const typename valarray<T>::value_type& a, const valarray<T>& b) { valarray<${result}> c(b.size()); for (size_t i = 0; i < b.size(); ++i) c[i] = a ${sign} b[i]; return c; }`;

const assigned = (sign: string): string => `
  valarray<T>& operator${sign}=(const valarray<T>& b) { for (size_t i = 0; i < size_; ++i) first_[i] = first_[i] ${sign} b.first_[i]; return *this; }
  valarray<T>& operator${sign}=(const T& b) { for (size_t i = 0; i < size_; ++i) first_[i] = first_[i] ${sign} b; return *this; }`;

export const valarrays = `
namespace std {
struct slice {
  size_t start_, size_, stride_;
  slice() : start_(0), size_(0), stride_(0) {}
  slice(size_t a, size_t n, size_t s) : start_(a), size_(n), stride_(s) {}
  size_t start() const { return start_; }
  size_t size() const { return size_; }
  size_t stride() const { return stride_; }
};
template <class T> struct valarray;
template <class T> struct slice_array {
  T* from_;
  size_t size_, stride_;
  void operator=(const T& x) const { for (size_t i = 0; i < size_; ++i) from_[i * stride_] = x; }
  void operator=(const valarray<T>& v) const { for (size_t i = 0; i < size_; ++i) from_[i * stride_] = v[i]; }
  void operator+=(const valarray<T>& v) const { for (size_t i = 0; i < size_; ++i) from_[i * stride_] = from_[i * stride_] + v[i]; }
  void operator-=(const valarray<T>& v) const { for (size_t i = 0; i < size_; ++i) from_[i * stride_] = from_[i * stride_] - v[i]; }
  void operator*=(const valarray<T>& v) const { for (size_t i = 0; i < size_; ++i) from_[i * stride_] = from_[i * stride_] * v[i]; }
};
template <class T> struct valarray {
  using value_type = T;
  T* first_;
  size_t size_;
  valarray() : first_(nullptr), size_(0) {}
  explicit valarray(size_t n) : first_(nullptr), size_(0) { __take(n); }
  valarray(const T& x, size_t n) : first_(nullptr), size_(0) { __take(n); for (size_t i = 0; i < n; ++i) first_[i] = x; }
  valarray(const T* p, size_t n) : first_(nullptr), size_(0) { __take(n); for (size_t i = 0; i < n; ++i) first_[i] = p[i]; }
  valarray(const vector<T>& list) : first_(nullptr), size_(0) { __take(list.size()); for (size_t i = 0; i < size_; ++i) first_[i] = list[i]; }
  valarray(const slice_array<T>& s) : first_(nullptr), size_(0) { __take(s.size_); for (size_t i = 0; i < size_; ++i) first_[i] = s.from_[i * s.stride_]; }
  void __take(size_t n) { first_ = (T*)__warplens_allocate_zero((n + 1) * sizeof(T)); size_ = n; }
  valarray<T> __copied() const { return valarray<T>((const T*)first_, size_); }
  void __left() { first_ = nullptr; size_ = 0; }
  T& operator[](size_t i) { return first_[i]; }
  const T& operator[](size_t i) const { return first_[i]; }
  slice_array<T> operator[](slice s) const { return slice_array<T>{first_ + s.start_, s.size_, s.stride_}; }
  valarray<T> operator[](const valarray<bool>& mask) const {
    valarray<T> v;
    v.__take(size_);
    size_t n = 0;
    for (size_t i = 0; i < size_; ++i) if (mask.first_[i]) { v.first_[n] = first_[i]; n = n + 1; }
    v.size_ = n;
    return v;
  }
  valarray<T>& operator=(const T& x) { for (size_t i = 0; i < size_; ++i) first_[i] = x; return *this; }
  size_t size() const { return size_; }
  T* begin() const { return first_; }
  T* end() const { return first_ + size_; }
  void resize(size_t n, const T& x = T()) { __take(n); for (size_t i = 0; i < n; ++i) first_[i] = x; }
  void swap(valarray<T>& v) { T* p = first_; first_ = v.first_; v.first_ = p; size_t n = size_; size_ = v.size_; v.size_ = n; }
  T sum() const { T s = first_[0]; for (size_t i = 1; i < size_; ++i) s = s + first_[i]; return s; }
  T min() const { T s = first_[0]; for (size_t i = 1; i < size_; ++i) if (first_[i] < s) s = first_[i]; return s; }
  T max() const { T s = first_[0]; for (size_t i = 1; i < size_; ++i) if (s < first_[i]) s = first_[i]; return s; }
  valarray<T> shift(int n) const { valarray<T> v(size_); for (size_t i = 0; i < size_; ++i) { long k = (long)i + n; if (k >= 0 && k < (long)size_) v.first_[i] = first_[k]; } return v; }
  valarray<T> cshift(int n) const { valarray<T> v(size_); for (size_t i = 0; i < size_; ++i) { long k = ((long)i + n) % (long)size_; v.first_[i] = first_[k < 0 ? k + (long)size_ : k]; } return v; }
  template <class F> valarray<T> apply(F f) const { valarray<T> v(size_); for (size_t i = 0; i < size_; ++i) v.first_[i] = f(first_[i]); return v; }
  valarray<T> operator-() const { valarray<T> v(size_); for (size_t i = 0; i < size_; ++i) v.first_[i] = -first_[i]; return v; }
  ${['+', '-', '*', '/', '%', '&', '|', '^'].map(assigned).join('')}
};
template <class T> T* begin(valarray<T>& v) { return v.first_; }
template <class T> T* end(valarray<T>& v) { return v.first_ + v.size_; }
${signs.map((sign) => between(sign, 'T')).join('')}
${['==', '!=', '<', '>', '<=', '>='].map((sign) => between(sign, 'bool')).join('')}
${functions.map((name) => `template <class T> valarray<T> ${name}(const valarray<T>& a) { valarray<T> v(a.size()); for (size_t i = 0; i < a.size(); ++i) v[i] = ${name}(a[i]); return v; }`).join('\n')}
template <class T> valarray<T> pow(const valarray<T>& a, const typename valarray<T>::value_type& b) { valarray<T> v(a.size()); for (size_t i = 0; i < a.size(); ++i) v[i] = pow(a[i], b); return v; }
}
`;
