/** `std::string` of the host: characters one after the other with a zero behind them; nothing is ever freed. */
import { views } from './host-string-views';
import { numbersOfStrings } from './host-text';

export const hostStrings = `
struct string_view;
struct string {
  using value_type = char;
  using size_type = size_t;
  using iterator = char*;
  using const_iterator = const char*;
  static const size_t npos = 0xfffffffffffffffful;
  char* first_;
  size_t size_;
  size_t room_;
  string() : first_((char*)__warplens_allocate_zero(16)), size_(0), room_(15) {}
  string(const char* s) : first_(nullptr), size_(0), room_(0) { __begin(strlen(s)); append(s, strlen(s)); }
  string(const char* s, size_t n) : first_(nullptr), size_(0), room_(0) { __begin(n); append(s, n); }
  string(size_t n, char c) : first_(nullptr), size_(0), room_(0) { __begin(n); resize(n, c); }
  string(const string_view& v);
  string(const char* a, const char* b) : first_(nullptr), size_(0), room_(0) { __begin(b - a); append(a, b - a); }
  template <class I> string(I a, I b) : first_(nullptr), size_(0), room_(0) {
    // a length and a character
    if constexpr (is_integral<I>::value) { __begin(a); resize(a, (char)b); }
    else { __begin(0); for (; a != b; ++a) push_back(*a); }
  }
  string __copied() const {
    string s;
    s.append(first_, size_);
    return s;
  }
  void __left() { first_ = (char*)__warplens_allocate_zero(16); size_ = 0; room_ = 15; }
  void __begin(size_t n) {
    first_ = (char*)__warplens_allocate(n + 1);
    first_[0] = 0;
    room_ = n;
  }
  void __room(size_t n) {
    if (!__warplens_certainly(n > room_)) return;
    size_t wanted = 2 * room_ < n ? n : 2 * room_;
    char* p = (char*)__warplens_allocate(wanted + 1);
    memcpy(p, first_, size_ + 1);
    first_ = p;
    room_ = wanted;
  }
  size_t size() const { return size_; }
  size_t length() const { return size_; }
  size_t capacity() const { return room_; }
  bool empty() const { return size_ == 0; }
  const char* c_str() const { return first_; }
  char* data() { return first_; }
  const char* data() const { return first_; }
  char* begin() { return first_; }
  char* end() { return first_ + size_; }
  const char* begin() const { return first_; }
  const char* end() const { return first_ + size_; }
  char& operator[](size_t i) { return first_[i]; }
  const char& operator[](size_t i) const { return first_[i]; }
  void __checked(size_t i) const { if constexpr (__warplens_caught()) if (i >= size_) throw out_of_range(); }
  char& at(size_t i) { __checked(i); return first_[i]; }
  const char& at(size_t i) const { __checked(i); return first_[i]; }
  char& front() { return first_[0]; }
  char& back() { return first_[size_ - 1]; }
  void reserve(size_t n) { __room(n); }
  void clear() { size_ = 0; first_[0] = 0; }
  void resize(size_t n, char c = 0) {
    __room(n);
    if (n > size_) memset(first_ + size_, c, n - size_);
    size_ = n;
    first_[n] = 0;
  }
  string& append(const char* s, size_t n) {
    __room(size_ + n);
    memcpy(first_ + size_, s, n);
    size_ = size_ + n;
    first_[size_] = 0;
    return *this;
  }
  string& append(const string& s) { return append(s.first_, s.size_); }
  string& append(const char* s) { return append(s, strlen(s)); }
  string& append(size_t n, char c) { resize(size_ + n, c); return *this; }
  void push_back(char c) { __room(size_ + 1); first_[size_] = c; size_ = size_ + 1; first_[size_] = 0; }
  void pop_back() { size_ = size_ - 1; first_[size_] = 0; }
  string& operator+=(const string& s) { return append(s.first_, s.size_); }
  string& operator+=(const char* s) { return append(s, strlen(s)); }
  string& operator+=(char c) { push_back(c); return *this; }
  string& operator=(char c) { size_ = 0; return append(1, c); }
  string& operator=(const char* s) { string own(s); size_ = 0; return append(own.first_, own.size_); }
  string& assign(const string& s) { clear(); return append(s); }
  string& assign(const char* s) { clear(); return append(s); }
  string& assign(const char* s, size_t n) { clear(); return append(s, n); }
  string& assign(size_t n, char c) { clear(); return append(n, c); }
  void swap(string& s) {
    char* p = first_; size_t n = size_; size_t room = room_;
    first_ = s.first_; size_ = s.size_; room_ = s.room_;
    s.first_ = p; s.size_ = n; s.room_ = room;
  }
  size_t copy(char* to, size_t n, size_t from = 0) const {
    if (n > size_ - from) n = size_ - from;
    memcpy(to, first_ + from, n);
    return n;
  }
  string& __put_at(size_t k, size_t gone, const char* s, size_t n) {
    if (gone > size_ - k) gone = size_ - k;
    string end(first_ + k + gone, size_ - k - gone);
    string own(s, n);
    size_ = k;
    append(own.first_, n);
    return append(end.first_, end.size_);
  }
  string& replace(size_t k, size_t n, const string& s) { return __put_at(k, n, s.first_, s.size_); }
  string& replace(size_t k, size_t n, const char* s) { return __put_at(k, n, s, strlen(s)); }
  string& insert(size_t k, const string& s) { return __put_at(k, 0, s.first_, s.size_); }
  string& insert(size_t k, const char* s) { return __put_at(k, 0, s, strlen(s)); }
  string& insert(size_t k, size_t n, char c) { string s(n, c); return __put_at(k, 0, s.first_, n); }
  char* insert(const char* at, char c) { size_t k = at - first_; __put_at(k, 0, &c, 1); return first_ + k; }
  string& erase(size_t k = 0, size_t n = npos) { return __put_at(k, n, first_, 0); }
  char* erase(const char* at) { size_t k = at - first_; __put_at(k, 1, first_, 0); return first_ + k; }
  char* erase(const char* a, const char* b) { size_t k = a - first_; __put_at(k, b - a, first_, 0); return first_ + k; }
  bool starts_with(const string& s) const { return size_ >= s.size_ && strncmp(first_, s.first_, s.size_) == 0; }
  bool starts_with(char c) const { return size_ > 0 && first_[0] == c; }
  bool ends_with(const string& s) const { return size_ >= s.size_ && strcmp(first_ + size_ - s.size_, s.first_) == 0; }
  bool ends_with(char c) const { return size_ > 0 && first_[size_ - 1] == c; }
  size_t rfind(const string& s, size_t from = npos) const {
    if (s.size_ > size_) return npos;
    size_t last = size_ - s.size_;
    for (size_t i = (from < last ? from : last) + 1; i > 0; --i) if (strncmp(first_ + i - 1, s.first_, s.size_) == 0) return i - 1;
    return npos;
  }
  size_t rfind(char c, size_t from = npos) const {
    for (size_t i = from < size_ ? from + 1 : size_; i > 0; --i) if (first_[i - 1] == c) return i - 1;
    return npos;
  }
  bool __has(char c) const { return find(c) != npos; }
  size_t find_first_of(const string& s, size_t from = 0) const {
    for (size_t i = from; i < size_; ++i) if (s.__has(first_[i])) return i;
    return npos;
  }
  size_t find_first_not_of(const string& s, size_t from = 0) const {
    for (size_t i = from; i < size_; ++i) if (!s.__has(first_[i])) return i;
    return npos;
  }
  size_t find_last_of(const string& s) const {
    for (size_t i = size_; i > 0; --i) if (s.__has(first_[i - 1])) return i - 1;
    return npos;
  }
  size_t find_last_not_of(const string& s) const {
    for (size_t i = size_; i > 0; --i) if (!s.__has(first_[i - 1])) return i - 1;
    return npos;
  }
  string substr(size_t k = 0, size_t n = npos) const { return string(first_ + k, n < size_ - k ? n : size_ - k); }
  int compare(const string& s) const {
    size_t n = size_ < s.size_ ? size_ : s.size_;
    for (size_t i = 0; i < n; ++i)
      if (first_[i] != s.first_[i]) return (unsigned char)first_[i] < (unsigned char)s.first_[i] ? -1 : 1;
    return size_ < s.size_ ? -1 : size_ > s.size_ ? 1 : 0;
  }
  int compare(size_t k, size_t n, const string& s) const { return substr(k, n).compare(s); }
  int compare(size_t k, size_t n, const string& s, size_t i, size_t m) const { return substr(k, n).compare(s.substr(i, m)); }
  bool contains(const string& s) const { return find(s) != npos; }
  bool contains(char c) const { return find(c) != npos; }
  const char& front() const { return first_[0]; }
  const char& back() const { return first_[size_ - 1]; }
  const char* cbegin() const { return first_; }
  const char* cend() const { return first_ + size_; }
  reverse_iterator<char> rbegin() const { return reverse_iterator<char>{first_ + size_}; }
  reverse_iterator<char> rend() const { return reverse_iterator<char>{first_}; }
  string& assign(const string& s) { string own = s; size_ = 0; return append(own.first_, own.size_); }
  string& assign(size_t n, char c) { size_ = 0; return append(n, c); }
  size_t find(const string& s, size_t from = 0) const {
    for (size_t i = from; i + s.size_ <= size_; ++i) {
      size_t k = 0;
      while (k < s.size_ && first_[i + k] == s.first_[k]) ++k;
      if (k == s.size_) return i;
    }
    return npos;
  }
  size_t find(char c, size_t from = 0) const {
    for (size_t i = from; i < size_; ++i) if (first_[i] == c) return i;
    return npos;
  }
};
${views}
string operator+(const string& a, const string& b) { string s = a.__copied(); s.append(b.first_, b.size_); return s; }
string operator+(const string& a, const char* b) { string s = a.__copied(); s.append(b, strlen(b)); return s; }
string operator+(const string& a, char b) { string s = a.__copied(); s.push_back(b); return s; }
string operator+(const char* a, const string& b) { string s(a); s.append(b.first_, b.size_); return s; }
string operator+(char a, const string& b) { string s(1, a); s.append(b.first_, b.size_); return s; }
bool operator==(const string& a, const string& b) { return a.compare(b) == 0; }
bool operator==(const string& a, const char* b) { return strcmp(a.first_, b) == 0; }
bool operator!=(const string& a, const string& b) { return a.compare(b) != 0; }
bool operator!=(const string& a, const char* b) { return strcmp(a.first_, b) != 0; }
bool operator<(const string& a, const string& b) { return a.compare(b) < 0; }
bool operator>(const string& a, const string& b) { return a.compare(b) > 0; }
bool operator<=(const string& a, const string& b) { return a.compare(b) <= 0; }
bool operator>=(const string& a, const string& b) { return a.compare(b) >= 0; }
string __digits(unsigned long x, bool minus) {
  char held[24];
  int n = 24;
  do { held[--n] = (char)('0' + x % 10); x = x / 10; } while (x != 0);
  if (minus) held[--n] = '-';
  return string(held + n, (size_t)(24 - n));
}
string to_string(unsigned long x) { return __digits(x, false); }
string to_string(unsigned long long x) { return __digits(x, false); }
string to_string(unsigned x) { return __digits(x, false); }
string to_string(long x) { return __digits(x < 0 ? 0ul - (unsigned long)x : (unsigned long)x, x < 0); }
string to_string(long long x) { return to_string((long)x); }
string to_string(int x) { return to_string((long)x); }
string to_string(double x) {
  double wide = x < 0 ? -x : x;
  unsigned long whole = (unsigned long)wide;
  unsigned long part = (unsigned long)((wide - whole) * 1e6 + 0.5);
  if (part == 1000000) { part = 0; whole = whole + 1; }
  string s = __digits(whole, x < 0);
  s.push_back('.');
  for (unsigned long k = 100000; k > 0; k = k / 10) s.push_back((char)('0' + part / k % 10));
  return s;
}
string to_string(float x) { return to_string((double)x); }
${numbersOfStrings}
`;
