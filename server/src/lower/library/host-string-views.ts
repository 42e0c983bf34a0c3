/** `std::string_view` of the host: characters that lie in somebody else's memory, without a zero behind them. */
const comparisons = ['==', '!=', '<', '>', '<=', '>='];
const others = ['const string&', 'const char*'];

const compared = (sign: string): string => `
bool operator${sign}(const string_view& a, const string_view& b) { return a.compare(b) ${sign} 0; }
${others
  .map(
    (type) => `bool operator${sign}(const string_view& a, ${type} b) { return a.compare(string_view(b)) ${sign} 0; }
bool operator${sign}(${type} a, const string_view& b) { return string_view(a).compare(b) ${sign} 0; }`,
  )
  .join('\n')}`;

export const views = `
struct string_view {
  using value_type = char;
  using size_type = size_t;
  using iterator = const char*;
  using const_iterator = const char*;
  static const size_t npos = 0xfffffffffffffffful;
  const char* first_;
  size_t size_;
  constexpr string_view() : first_(nullptr), size_(0) {}
  constexpr string_view(const char* s) : first_(s), size_(strlen(s)) {}
  constexpr string_view(const char* s, size_t n) : first_(s), size_(n) {}
  constexpr string_view(const char* a, const char* b) : first_(a), size_(b - a) {}
  string_view(const string& s) : first_(s.first_), size_(s.size_) {}
  size_t size() const { return size_; }
  size_t length() const { return size_; }
  size_t max_size() const { return size_t(1) << 40; }
  bool empty() const { return size_ == 0; }
  const char* data() const { return first_; }
  const char* begin() const { return first_; }
  const char* end() const { return first_ + size_; }
  const char* cbegin() const { return first_; }
  const char* cend() const { return first_ + size_; }
  reverse_iterator<const char> rbegin() const { return reverse_iterator<const char>{first_ + size_}; }
  reverse_iterator<const char> rend() const { return reverse_iterator<const char>{first_}; }
  const char& operator[](size_t i) const { return first_[i]; }
  void __checked(size_t i) const { if constexpr (__warplens_caught()) if (i >= size_) throw out_of_range(); }
  const char& at(size_t i) const { __checked(i); return first_[i]; }
  const char& front() const { return first_[0]; }
  const char& back() const { return first_[size_ - 1]; }
  void remove_prefix(size_t n) { first_ = first_ + n; size_ = size_ - n; }
  void remove_suffix(size_t n) { size_ = size_ - n; }
  void swap(string_view& o) { string_view v = o; o.first_ = first_; o.size_ = size_; first_ = v.first_; size_ = v.size_; }
  size_t copy(char* to, size_t n, size_t from = 0) const {
    if (n > size_ - from) n = size_ - from;
    memcpy(to, first_ + from, n);
    return n;
  }
  string_view substr(size_t k = 0, size_t n = npos) const {
    if constexpr (__warplens_caught()) if (k > size_) throw out_of_range();
    return string_view(first_ + k, n < size_ - k ? n : size_ - k);
  }
  int compare(const string_view& s) const {
    size_t n = size_ < s.size_ ? size_ : s.size_;
    for (size_t i = 0; i < n; ++i)
      if (first_[i] != s.first_[i]) return (unsigned char)first_[i] < (unsigned char)s.first_[i] ? -1 : 1;
    return size_ < s.size_ ? -1 : size_ > s.size_ ? 1 : 0;
  }
  int compare(size_t k, size_t n, const string_view& s) const { return substr(k, n).compare(s); }
  bool __begins(const string_view& s, size_t at) const {
    size_t k = 0;
    while (k < s.size_ && first_[at + k] == s.first_[k]) ++k;
    return k == s.size_;
  }
  bool starts_with(const string_view& s) const { return size_ >= s.size_ && __begins(s, 0); }
  bool starts_with(char c) const { return size_ > 0 && first_[0] == c; }
  bool ends_with(const string_view& s) const { return size_ >= s.size_ && __begins(s, size_ - s.size_); }
  bool ends_with(char c) const { return size_ > 0 && first_[size_ - 1] == c; }
  size_t find(const string_view& s, size_t from = 0) const {
    for (size_t i = from; i + s.size_ <= size_; ++i) if (__begins(s, i)) return i;
    return npos;
  }
  size_t find(char c, size_t from = 0) const {
    for (size_t i = from; i < size_; ++i) if (first_[i] == c) return i;
    return npos;
  }
  size_t rfind(const string_view& s, size_t from = npos) const {
    if (s.size_ > size_) return npos;
    size_t last = size_ - s.size_;
    for (size_t i = (from < last ? from : last) + 1; i > 0; --i) if (__begins(s, i - 1)) return i - 1;
    return npos;
  }
  size_t rfind(char c, size_t from = npos) const {
    for (size_t i = from < size_ ? from + 1 : size_; i > 0; --i) if (first_[i - 1] == c) return i - 1;
    return npos;
  }
  bool contains(const string_view& s) const { return find(s) != npos; }
  bool contains(char c) const { return find(c) != npos; }
  size_t find_first_of(const string_view& s, size_t from = 0) const {
    for (size_t i = from; i < size_; ++i) if (s.find(first_[i]) != npos) return i;
    return npos;
  }
  size_t find_first_of(char c, size_t from = 0) const { return find(c, from); }
  size_t find_first_not_of(const string_view& s, size_t from = 0) const {
    for (size_t i = from; i < size_; ++i) if (s.find(first_[i]) == npos) return i;
    return npos;
  }
  size_t find_first_not_of(char c, size_t from = 0) const {
    for (size_t i = from; i < size_; ++i) if (first_[i] != c) return i;
    return npos;
  }
  size_t find_last_of(const string_view& s, size_t from = npos) const {
    for (size_t i = from < size_ ? from + 1 : size_; i > 0; --i) if (s.find(first_[i - 1]) != npos) return i - 1;
    return npos;
  }
  size_t find_last_of(char c, size_t from = npos) const { return rfind(c, from); }
  size_t find_last_not_of(const string_view& s, size_t from = npos) const {
    for (size_t i = from < size_ ? from + 1 : size_; i > 0; --i) if (s.find(first_[i - 1]) == npos) return i - 1;
    return npos;
  }
  size_t find_last_not_of(char c, size_t from = npos) const {
    for (size_t i = from < size_ ? from + 1 : size_; i > 0; --i) if (first_[i - 1] != c) return i - 1;
    return npos;
  }
};
inline string::string(const string_view& v) : first_(nullptr), size_(0), room_(0) { __begin(v.size_); append(v.first_, v.size_); }
${comparisons.map(compared).join('')}
`;

/** What is written behind a text: `"abc"sv`, `"abc"s`. */
export const textSuffixes = `
std::string_view operator""sv(const char* s, size_t n) { return std::string_view(s, n); }
std::string operator""s(const char* s, size_t n) { return std::string(s, n); }
`;
