/** Texts of C that programs read numbers from: what a command line that is written down in the text, or a default, says. */

/** Functions of std that read a number from a text: the name, what it gives, and how it is read. */
const numbers: readonly (readonly [name: string, type: string, read: string])[] = [
  ['stoi', 'int', '(int)strtol(s, &last, base)'],
  ['stol', 'long', 'strtol(s, &last, base)'],
  ['stoll', 'long long', 'strtol(s, &last, base)'],
  ['stoul', 'unsigned long', 'strtoul(s, &last, base)'],
  ['stoull', 'unsigned long long', 'strtoul(s, &last, base)'],
  ['stof', 'float', 'strtof(s, &last)'],
  ['stod', 'double', 'strtod(s, &last)'],
];

const ofText = ([name, type, read]: readonly [string, string, string]): string => `
${type} ${name}(const char* s, size_t* end = 0, int base = 10) {
  char* last;
  ${type} value = ${read};
  if constexpr (__warplens_caught()) if (last == s) throw invalid_argument();
  if (end) *end = last - s;
  return value;
}`;

/** The same of strings. */
export const numbersOfStrings = numbers
  .map(
    ([name, type]) =>
      `${type} ${name}(const string& s, size_t* end = 0, int base = 10) { return ${name}(s.first_, end, base); }`,
  )
  .join('\n');

export const hostText = `
enum { EOF = -1 };
size_t strlen(const char* s) { size_t n = 0; while (s[n] != 0) ++n; return n; }
int strcmp(const char* a, const char* b) {
  while (*a != 0 && *a == *b) { ++a; ++b; }
  return (int)(unsigned char)*a - (int)(unsigned char)*b;
}
int strncmp(const char* a, const char* b, size_t n) {
  if (n == 0) return 0;
  while (n > 1 && *a != 0 && *a == *b) { ++a; ++b; --n; }
  return (int)(unsigned char)*a - (int)(unsigned char)*b;
}
char* __token_at;
bool __is_among(char c, const char* s) { while (*s != 0 && *s != c) ++s; return c != 0 && *s == c; }
char* strtok(char* s, const char* by) {
  char* p = s ? s : __token_at;
  while (__is_among(*p, by)) ++p;
  if (*p == 0) { __token_at = p; return 0; }
  char* word = p;
  while (*p != 0 && !__is_among(*p, by)) ++p;
  if (*p != 0) { *p = 0; ++p; }
  __token_at = p;
  return word;
}
size_t strspn(const char* s, const char* of) { size_t n = 0; while (__is_among(s[n], of)) ++n; return n; }
size_t strcspn(const char* s, const char* by) { size_t n = 0; while (s[n] != 0 && !__is_among(s[n], by)) ++n; return n; }
char* strpbrk(const char* s, const char* by) { s += strcspn(s, by); return *s != 0 ? (char*)s : (char*)0; }
char* strtok_r(char* s, const char* by, char** at) {
  if (s) *at = s;
  *at += strspn(*at, by);
  if (**at == 0) return 0;
  char* word = *at;
  *at += strcspn(*at, by);
  if (**at != 0) { **at = 0; *at += 1; }
  return word;
}
char* strsep(char** at, const char* by) {
  char* word = *at;
  if (!word) return 0;
  char* end = word + strcspn(word, by);
  if (*end != 0) { *end = 0; *at = end + 1; }
  else *at = 0;
  return word;
}
int __digit_of(char c, int base) {
  int d = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'z' ? c - 'a' + 10 : c >= 'A' && c <= 'Z' ? c - 'A' + 10 : 99;
  return d < base ? d : -1;
}
long strtol(const char* s, char** end, int base) {
  const char* p = s;
  while (*p == ' ' || (*p >= 9 && *p <= 13)) ++p;
  bool minus = *p == '-';
  if (*p == '-' || *p == '+') ++p;
  if ((base == 0 || base == 16) && p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) { p += 2; base = 16; }
  if (base == 0) base = *p == '0' ? 8 : 10;
  long value = 0;
  if (__digit_of(*p, base) < 0) { if (end) *end = (char*)s; return 0; }
  while (__digit_of(*p, base) >= 0) { value = value * base + __digit_of(*p, base); ++p; }
  if (end) *end = (char*)p;
  return minus ? -value : value;
}
long long strtoll(const char* s, char** end, int base) { return strtol(s, end, base); }
unsigned long strtoul(const char* s, char** end, int base) { return (unsigned long)strtol(s, end, base); }
unsigned long long strtoull(const char* s, char** end, int base) { return (unsigned long long)strtol(s, end, base); }
long atol(const char* s) {
  while (*s == ' ' || (*s >= 9 && *s <= 13)) ++s;
  bool minus = *s == '-';
  if (*s == '-' || *s == '+') ++s;
  long value = 0;
  for (; *s >= '0' && *s <= '9'; ++s) value = value * 10 + (*s - '0');
  return minus ? -value : value;
}
int atoi(const char* s) { return (int)atol(s); }
long long atoll(const char* s) { return atol(s); }
double strtod(const char* s, char** end) {
  const char* p = s;
  while (*p == ' ' || (*p >= 9 && *p <= 13)) ++p;
  bool minus = *p == '-';
  if (*p == '-' || *p == '+') ++p;
  double digits = 0;
  int scale = 0;
  if (!(*p >= '0' && *p <= '9') && !(p[0] == '.' && p[1] >= '0' && p[1] <= '9')) { if (end) *end = (char*)s; return 0; }
  while (*p >= '0' && *p <= '9') { digits = digits * 10 + (*p - '0'); ++p; }
  if (*p == '.') {
    ++p;
    while (*p >= '0' && *p <= '9') { digits = digits * 10 + (*p - '0'); --scale; ++p; }
  }
  if (*p == 'e' || *p == 'E') {
    ++p;
    bool down = *p == '-';
    if (*p == '-' || *p == '+') ++p;
    int power = 0;
    while (*p >= '0' && *p <= '9') { power = power * 10 + (*p - '0'); ++p; }
    scale += down ? -power : power;
  }
  double factor = 1;
  for (int i = scale < 0 ? -scale : scale; i > 0; --i) factor *= 10;
  if (end) *end = (char*)p;
  double value = scale < 0 ? digits / factor : digits * factor;
  return minus ? -value : value;
}
float strtof(const char* s, char** end) { return (float)strtod(s, end); }
double atof(const char* s) { return strtod(s, 0); }
namespace std {
using ::strlen; using ::strtok; using ::strspn; using ::strcspn; using ::strpbrk; using ::strcmp; using ::strncmp; using ::strtol; using ::strtoll; using ::strtoul; using ::strtoull;
using ::atoi; using ::atol; using ::atoll; using ::strtod; using ::strtof; using ::atof;
${numbers.map(ofText).join('')}}
`;
