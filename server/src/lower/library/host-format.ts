/**
 * `snprintf` and `sprintf`: texts that programs make for their kernels to parse. Integers, characters, texts and `%f` come out; of what else a
 * format asks for, and of numbers about halfway between two texts, neither the characters nor how many they are is known.
 */
export const hostFormat = `
struct __text {
  char* to;
  size_t room;
  size_t size;
  void put(char c) {
    if (size + 1 < room) to[size] = c;
    size = size + 1;
  }
  void pad(char c, int count) { for (int i = 0; i < count; ++i) put(c); }
  void lose() { size = size + __warplens_unknown<size_t>(0); }
};
struct __field { bool left; bool zero; bool alternate; char sign; int width; int precision; char kind; };
const char* __plain_text(__text& t, const char* f) {
  while (*f != 0) {
    if (*f == '%') {
      if (f[1] != '%') return f;
      ++f;
    }
    t.put(*f);
    ++f;
  }
  return f;
}
const char* __field_of(__field& s, const char* f) {
  ++f;
  for (; *f == '-' || *f == '0' || *f == '+' || *f == ' ' || *f == '#'; ++f) {
    if (*f == '-') s.left = true;
    if (*f == '0') s.zero = true;
    if (*f == '#') s.alternate = true;
    if (*f == '+' || (*f == ' ' && s.sign == 0)) s.sign = *f;
  }
  for (; *f >= '0' && *f <= '9'; ++f) s.width = s.width * 10 + (*f - '0');
  if (*f == '.') {
    s.precision = 0;
    for (++f; *f >= '0' && *f <= '9'; ++f) s.precision = s.precision * 10 + (*f - '0');
  }
  while (*f == 'l' || *f == 'h' || *f == 'z' || *f == 'j' || *f == 't') ++f;
  s.kind = *f;
  return f + 1;
}
void __put_number(__text& t, const __field& s, unsigned long long x, bool minus) {
  char held[32];
  int n = 0;
  unsigned base = s.kind == 'x' || s.kind == 'X' ? 16 : s.kind == 'o' ? 8 : 10;
  char ten = s.kind == 'X' ? 'A' : 'a';
  for (; x != 0; x = x / base) {
    int d = (int)(x % base);
    held[n] = (char)(d < 10 ? '0' + d : ten + (d - 10));
    ++n;
  }
  int least = s.precision < 0 ? 1 : s.precision;
  int digits = n < least ? least : n;
  char sign = minus ? '-' : s.kind == 'd' || s.kind == 'i' ? s.sign : 0;
  int rest = s.width - digits - (sign != 0 ? 1 : 0);
  bool zeros = s.zero && !s.left && s.precision < 0;
  if (!s.left && !zeros) t.pad(' ', rest);
  if (sign != 0) t.put(sign);
  if (zeros) t.pad('0', rest);
  t.pad('0', digits - n);
  for (int i = n - 1; i >= 0; --i) t.put(held[i]);
  if (s.left) t.pad(' ', rest);
}
void __put_text(__text& t, const __field& s, const char* x) {
  int n = 0;
  while ((s.precision < 0 || n < s.precision) && x[n] != 0) ++n;
  if (!s.left) t.pad(' ', s.width - n);
  for (int i = 0; i < n; ++i) t.put(x[i]);
  if (s.left) t.pad(' ', s.width - n);
}
void __put_integer(__text& t, const __field& s, long long x, unsigned long long bits) {
  if (s.kind == 'd' || s.kind == 'i') __put_number(t, s, x < 0 ? 0ull - (unsigned long long)x : (unsigned long long)x, x < 0);
  else if (s.kind == 'c') {
    char one[2] = {(char)x, 0};
    if (!s.left) t.pad(' ', s.width - 1);
    t.put(one[0]);
    if (s.left) t.pad(' ', s.width - 1);
  } else if (s.alternate || !(s.kind == 'u' || s.kind == 'x' || s.kind == 'X' || s.kind == 'o')) t.lose();
  else __put_number(t, s, bits, false);
}
void __print(__text& t, const __field& s, int x) { __put_integer(t, s, x, (unsigned)x); }
void __print(__text& t, const __field& s, unsigned x) { __put_integer(t, s, (int)x, x); }
void __print(__text& t, const __field& s, char x) { __put_integer(t, s, x, (unsigned)(int)x); }
void __print(__text& t, const __field& s, bool x) { __put_integer(t, s, x, x); }
void __print(__text& t, const __field& s, signed char x) { __put_integer(t, s, x, (unsigned)(int)x); }
void __print(__text& t, const __field& s, unsigned char x) { __put_integer(t, s, x, x); }
void __print(__text& t, const __field& s, short x) { __put_integer(t, s, x, (unsigned)(int)x); }
void __print(__text& t, const __field& s, unsigned short x) { __put_integer(t, s, x, x); }
void __print(__text& t, const __field& s, long x) { __put_integer(t, s, x, (unsigned long long)x); }
void __print(__text& t, const __field& s, unsigned long x) { __put_integer(t, s, (long long)x, x); }
void __print(__text& t, const __field& s, long long x) { __put_integer(t, s, x, (unsigned long long)x); }
void __print(__text& t, const __field& s, unsigned long long x) { __put_integer(t, s, (long long)x, x); }
void __print(__text& t, const __field& s, double x) {
  int places = s.precision < 0 ? 6 : s.precision;
  double wide = x < 0 ? -x : x;
  if (s.kind != 'f' || places > 15 || !(wide < 9e15)) { t.lose(); return; }
  unsigned long long scale = 1;
  for (int i = 0; i < places; ++i) scale = scale * 10;
  unsigned long long whole = (unsigned long long)wide;
  double fraction = wide - (double)whole;
  double scaled = fraction * (double)scale;
  unsigned long long part = (unsigned long long)scaled;
  double half = scaled - (double)part - 0.5;
  double fine = fraction * (double)(2ull << places);
  bool exact = (double)(unsigned long long)fine == fine;
  double close = scaled * 1e-15;
  if (!exact && half < close && half > -close) { t.lose(); return; }
  if (half > 0 || (half == 0 && (part & 1) != 0)) part = part + 1;
  if (part == scale) { part = 0; whole = whole + 1; }
  char held[40];
  int n = 0;
  for (int i = 0; i < places; ++i) { held[n] = (char)('0' + part % 10); part = part / 10; ++n; }
  if (places > 0) { held[n] = '.'; ++n; }
  do { held[n] = (char)('0' + whole % 10); whole = whole / 10; ++n; } while (whole != 0);
  char sign = x < 0 ? '-' : s.sign;
  int rest = s.width - n - (sign != 0 ? 1 : 0);
  bool zeros = s.zero && !s.left;
  if (!s.left && !zeros) t.pad(' ', rest);
  if (sign != 0) t.put(sign);
  if (zeros) t.pad('0', rest);
  for (int i = n - 1; i >= 0; --i) t.put(held[i]);
  if (s.left) t.pad(' ', rest);
}
void __print(__text& t, const __field& s, float x) { __print(t, s, (double)x); }
void __print(__text& t, const __field& s, const char* x) { __put_text(t, s, x); }
void __print(__text& t, const __field& s, char* x) { __put_text(t, s, x); }
template <class T> void __print(__text& t, const __field& s, T* x) { t.lose(); }
void __print_all(__text& t, const char* f) { __plain_text(t, f); }
template <class T, class... R> void __print_all(__text& t, const char* f, T x, R... rest) {
  f = __plain_text(t, f);
  if (*f == 0) return;
  __field s;
  s.left = false; s.zero = false; s.alternate = false; s.sign = 0; s.width = 0; s.precision = -1; s.kind = 0;
  f = __field_of(s, f);
  __print(t, s, x);
  __print_all(t, f, rest...);
}
template <class... A> int snprintf(char* to, size_t room, const char* f, A... a) {
  __text t;
  t.to = to; t.room = room; t.size = 0;
  __print_all(t, f, a...);
  if (room > 0) to[t.size < room ? t.size : room - 1] = 0;
  return (int)t.size;
}
template <class... A> int sprintf(char* to, const char* f, A... a) { return snprintf(to, (size_t)1 << 40, f, a...); }
namespace std { using ::snprintf; using ::sprintf; }
`;
