/**
 * `std::stringstream` and its halves: texts that programs put together and take apart. Texts, characters, integers and fixed numbers come out
 * as g++ writes them; behind anything else neither the characters nor how many they are is known.
 */
export const hostStreams = `
namespace std {
enum __manipulator { endl, ends, flush, dec, hex, fixed, defaultfloat, left, right, boolalpha, noboolalpha, skipws, ws };
struct __width { int n; };
struct __fill { char c; };
struct __precision { int n; };
__width setw(int n) { return __width{n}; }
__fill setfill(char c) { return __fill{c}; }
__precision setprecision(int n) { return __precision{n}; }
typedef long streamsize;
typedef long streamoff;
typedef long streampos;
// every stream has these names too (std::ifstream::in)
struct ios_base {
  static constexpr int in = 1;
  static constexpr int out = 2;
  static constexpr int binary = 4;
  static constexpr int ate = 8;
  static constexpr int app = 16;
  static constexpr int trunc = 32;
  static constexpr int beg = 0;
  static constexpr int cur = 1;
  static constexpr int end = 2;
  typedef int openmode;
  typedef int seekdir;
};
using ios = ios_base;
struct stringstream : ios_base {
  string held_;
  size_t at_ = 0;
  size_t taken_ = 0;
  int width_ = 0;
  int precision_ = 6;
  char fill_ = ' ';
  bool failed_ = false;
  bool ended_ = false;
  bool left_ = false;
  bool hex_ = false;
  bool fixed_ = false;
  bool words_ = false;
  stringstream() {}
  stringstream(const string& s) : held_(s.__copied()) {}
  stringstream(const char* s) : held_(s) {}
  string str() const { return held_.__copied(); }
  void str(const string& s) { held_ = s.__copied(); at_ = 0; ended_ = false; }
  operator bool() const { return !failed_; }
  bool operator!() const { return failed_; }
  bool good() const { return !failed_ && !ended_; }
  bool fail() const { return failed_; }
  bool bad() const { return false; }
  bool eof() const { return ended_; }
  void clear() { failed_ = false; ended_ = false; }
  void precision(int n) { precision_ = n; }
  void width(int n) { width_ = n; }
  stringstream& put(char c) { held_.push_back(c); return *this; }
  stringstream& write(const char* s, size_t n) { held_.append(s, n); return *this; }
  int peek() { if (failed_ || ended_) { failed_ = true; return -1; } if (at_ < held_.size_) return (unsigned char)held_[at_]; ended_ = true; return -1; }
  int get() { int c = peek(); if (c < 0) failed_ = true; else at_ = at_ + 1; return c; }
  stringstream& get(char& c) { int x = get(); if (x >= 0) c = (char)x; return *this; }
  stringstream& ignore(size_t n = 1) { at_ = at_ + n < held_.size_ ? at_ + n : held_.size_; return *this; }
  // up to the end of a line mostly, and as much as there may be: the largest number of characters is one that is not known here
  stringstream& ignore(size_t, int until) {
    bool goes_on = true;
    while (goes_on) {
      if (at_ >= held_.size_) { ended_ = true; goes_on = false; }
      else { goes_on = held_[at_] != (char)until; at_ = at_ + 1; }
    }
    return *this;
  }
  stringstream& unget() { ended_ = false; if (at_ > 0) at_ = at_ - 1; else failed_ = true; return *this; }
  stringstream& putback(char) { return unget(); }
  stringstream& getline(char* to, size_t most, char end = '\\n') {
    size_t n = 0;
    bool goes_on = !failed_;
    if (at_ >= held_.size_) { failed_ = true; ended_ = true; goes_on = false; }
    while (goes_on) {
      if (at_ >= held_.size_) { ended_ = true; goes_on = false; }
      else if (held_[at_] == end) { at_ = at_ + 1; goes_on = false; }
      else if (n + 1 >= most) { failed_ = true; goes_on = false; }
      else { to[n] = held_[at_]; n = n + 1; at_ = at_ + 1; }
    }
    to[n] = 0;
    return *this;
  }
  long tellg() { return failed_ ? -1l : (long)at_; }
  stringstream& seekg(long at) { ended_ = false; at_ = (size_t)at; return *this; }
  stringstream& seekg(long by, int from) {
    ended_ = false;
    at_ = (size_t)(from == 0 ? by : from == 1 ? (long)at_ + by : (long)held_.size_ + by);
    return *this;
  }
  stringstream& read(char* to, size_t n) {
    size_t left = held_.size_ - at_;
    taken_ = n < left ? n : left;
    if (taken_ < n) { failed_ = true; ended_ = true; }
    memcpy(to, held_.first_ + at_, taken_);
    at_ = at_ + taken_;
    return *this;
  }
  size_t gcount() const { return taken_; }
  struct __buffer { stringstream* of_; };
  __buffer rdbuf() { return __buffer{this}; }
  void __lose() { held_.size_ = held_.size_ + __warplens_unknown<size_t>(0); }
  void __show(const char* s, size_t n) {
    int rest = width_ - (int)n;
    width_ = 0;
    if (!left_) for (int i = 0; i < rest; ++i) held_.push_back(fill_);
    held_.append(s, n);
    if (left_) for (int i = 0; i < rest; ++i) held_.push_back(fill_);
  }
  void __number(unsigned long x, bool minus) {
    char shown[24];
    int n = 24;
    unsigned long base = hex_ ? 16 : 10;
    do {
      int d = (int)(x % base);
      shown[--n] = (char)(d < 10 ? '0' + d : 'a' + (d - 10));
      x = x / base;
    } while (x != 0);
    if (minus) shown[--n] = '-';
    __show(shown + n, (size_t)(24 - n));
  }
  void __signed(long x, unsigned long bits) { if (hex_) __number(bits, false); else __number(x < 0 ? 0ul - (unsigned long)x : (unsigned long)x, x < 0); }
  // as many digits as the precision says, without the zeros at their end
  void __general(double x, double wide, unsigned long whole) {
    int places = precision_ == 0 ? 1 : precision_;
    for (unsigned long k = whole; k > 0; k = k / 10) places = places - 1;
    if (whole == 0) for (double k = wide; k < 0.1; k = k * 10) places = places + 1;
    if (places < 0) { __lose(); return; }
    double scale = 1;
    for (int i = 0; i < places; ++i) scale = scale * 10;
    double scaled = wide * scale;
    unsigned long digits = (unsigned long)(scaled + 0.5);
    double away = scaled + 0.5 - (double)digits;
    if (away < 1e-6 || away > 1 - 1e-6) { __lose(); return; }
    whole = digits / (unsigned long)scale;
    unsigned long part = digits % (unsigned long)scale;
    if (whole >= 1000000) { __lose(); return; }
    string s = __digits(whole, x < 0);
    if (part > 0) s.push_back('.');
    for (unsigned long k = (unsigned long)scale / 10; k > 0 && part > 0; k = k / 10) { s.push_back((char)('0' + part / k)); part = part % k; }
    __show(s.first_, s.size_);
  }
  void __real(double x) {
    double wide = x < 0 ? -x : x;
    unsigned long whole = (unsigned long)wide;
    if (wide < 1e6 && !fixed_ && wide == (double)whole && !(wide == 0 && x < 0)) { __number(whole, x < 0); return; }
    if (!fixed_ && wide >= 1e-4 && wide < 1e6 && precision_ <= 9) { __general(x, wide, whole); return; }
    if (!fixed_ || !(wide < 1e9) || precision_ > 9) { __lose(); return; }
    double scale = 1;
    for (int i = 0; i < precision_; ++i) scale = scale * 10;
    double scaled = (wide - (double)whole) * scale;
    unsigned long part = (unsigned long)(scaled + 0.5);
    // which way a number halfway between two texts goes is not followed
    double away = scaled + 0.5 - (double)part;
    if (away < 1e-6 || away > 1 - 1e-6) { if (scaled != (double)(unsigned long)scaled) { __lose(); return; } }
    if (part >= (unsigned long)scale) { part = 0; whole = whole + 1; }
    string s = __digits(whole, x < 0);
    if (precision_ > 0) s.push_back('.');
    for (unsigned long k = (unsigned long)scale / 10; k > 0; k = k / 10) s.push_back((char)('0' + part / k % 10));
    __show(s.first_, s.size_);
  }
  bool __word() {
    while (at_ < held_.size_ && (held_[at_] == ' ' || (held_[at_] >= 9 && held_[at_] <= 13))) at_ = at_ + 1;
    if (at_ >= held_.size_) { failed_ = true; ended_ = true; }
    return !failed_;
  }
  void __taken(char* end) {
    size_t to = end - held_.first_;
    if (to == at_) failed_ = true;
    at_ = to;
    if (at_ >= held_.size_) ended_ = true;
  }
};
using ostringstream = stringstream;
using istringstream = stringstream;
using istream = stringstream;
stringstream& operator<<(stringstream& s, const string& x) { s.__show(x.first_, x.size_); return s; }
stringstream& operator<<(stringstream& s, const char* x) { s.__show(x, strlen(x)); return s; }
stringstream& operator<<(stringstream& s, char x) { s.__show(&x, 1); return s; }
stringstream& operator<<(stringstream& s, unsigned char x) { return s << (char)x; }
stringstream& operator<<(stringstream& s, signed char x) { return s << (char)x; }
stringstream& operator<<(stringstream& s, bool x) { if (s.words_) return s << (x ? "true" : "false"); s.__number(x, false); return s; }
stringstream& operator<<(stringstream& s, short x) { s.__signed(x, (unsigned short)x); return s; }
stringstream& operator<<(stringstream& s, int x) { s.__signed(x, (unsigned)x); return s; }
stringstream& operator<<(stringstream& s, long x) { s.__signed(x, (unsigned long)x); return s; }
stringstream& operator<<(stringstream& s, long long x) { return s << (long)x; }
stringstream& operator<<(stringstream& s, unsigned short x) { s.__number(x, false); return s; }
stringstream& operator<<(stringstream& s, unsigned x) { s.__number(x, false); return s; }
stringstream& operator<<(stringstream& s, unsigned long x) { s.__number(x, false); return s; }
stringstream& operator<<(stringstream& s, unsigned long long x) { s.__number(x, false); return s; }
stringstream& operator<<(stringstream& s, double x) { s.__real(x); return s; }
stringstream& operator<<(stringstream& s, float x) { s.__real(x); return s; }
stringstream& operator<<(stringstream& s, __width x) { s.width_ = x.n; return s; }
stringstream& operator<<(stringstream& s, __fill x) { s.fill_ = x.c; return s; }
stringstream& operator<<(stringstream& s, __precision x) { s.precision_ = x.n; return s; }
stringstream& operator<<(stringstream& s, __manipulator x) {
  if (x == endl) s.held_.push_back('\\n');
  if (x == ends) s.held_.push_back(0);
  if (x == dec || x == hex) s.hex_ = x == hex;
  if (x == fixed || x == defaultfloat) s.fixed_ = x == fixed;
  if (x == left || x == right) s.left_ = x == left;
  if (x == boolalpha || x == noboolalpha) s.words_ = x == boolalpha;
  return s;
}
stringstream& operator<<(stringstream& s, stringstream::__buffer from) {
  s.held_.append(from.of_->held_.first_ + from.of_->at_, from.of_->held_.size_ - from.of_->at_);
  from.of_->at_ = from.of_->held_.size_;
  return s;
}
template <class T> stringstream& operator<<(stringstream& s, const T&) { s.__lose(); return s; }
stringstream& operator>>(stringstream& s, string& x) {
  if (!s.__word()) return s;
  x.clear();
  while (s.at_ < s.held_.size_ && s.held_[s.at_] != ' ' && !(s.held_[s.at_] >= 9 && s.held_[s.at_] <= 13)) { x.push_back(s.held_[s.at_]); s.at_ = s.at_ + 1; }
  if (s.at_ >= s.held_.size_) s.ended_ = true;
  return s;
}
stringstream& operator>>(stringstream& s, __manipulator x) {
  if (x == ws) while (s.at_ < s.held_.size_ && isspace(s.held_[s.at_])) s.at_ = s.at_ + 1;
  return s;
}
stringstream& operator>>(stringstream& s, char& x) { if (s.__word()) { x = s.held_[s.at_]; s.at_ = s.at_ + 1; } return s; }
long __integer(stringstream& s) { char* end = nullptr; long x = strtol(s.held_.first_ + s.at_, &end, 10); s.__taken(end); return x; }
double __real(stringstream& s) { char* end = nullptr; double x = strtod(s.held_.first_ + s.at_, &end); s.__taken(end); return x; }
stringstream& operator>>(stringstream& s, int& x) { if (s.__word()) x = (int)__integer(s); return s; }
stringstream& operator>>(stringstream& s, long& x) { if (s.__word()) x = __integer(s); return s; }
stringstream& operator>>(stringstream& s, long long& x) { if (s.__word()) x = __integer(s); return s; }
stringstream& operator>>(stringstream& s, unsigned& x) { if (s.__word()) x = (unsigned)__integer(s); return s; }
stringstream& operator>>(stringstream& s, unsigned long& x) { if (s.__word()) x = (unsigned long)__integer(s); return s; }
stringstream& operator>>(stringstream& s, unsigned long long& x) { if (s.__word()) x = (unsigned long long)__integer(s); return s; }
stringstream& operator>>(stringstream& s, double& x) { if (s.__word()) x = __real(s); return s; }
stringstream& operator>>(stringstream& s, float& x) { if (s.__word()) x = (float)__real(s); return s; }
stringstream& getline(stringstream& s, string& x, char end = '\\n') {
  if (s.failed_ || s.at_ >= s.held_.size_) { s.failed_ = true; s.ended_ = true; return s; }
  x.clear();
  while (s.at_ < s.held_.size_ && s.held_[s.at_] != end) { x.push_back(s.held_[s.at_]); s.at_ = s.at_ + 1; }
  if (s.at_ >= s.held_.size_) s.ended_ = true;
  else s.at_ = s.at_ + 1;
  return s;
}
}
`;
