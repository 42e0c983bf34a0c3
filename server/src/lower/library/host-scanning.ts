/** Values in texts by a pattern (`sscanf`): widths, sets of characters, what is passed over (`%*d`) and where it stands (`%n`). */
export const scanning = `
bool __is_in_set(char c, const char* set, const char* end) {
  bool is_other = *set == '^';
  if (is_other) ++set;
  bool found = false;
  for (const char* p = set; p < end; ++p) {
    if (p > set && p[0] == '-' && p + 1 < end) { found = found || (c >= p[-1] && c <= p[1]); ++p; }
    else found = found || *p == c;
  }
  return found != is_other;
}
// where the scan that ended last has come to
const char* __scanned;
// what a text or a letter is read to: up to a space, as long as letters are in a set, or so many
const char* __scan_text(const char* s, const char*& pattern, size_t width, char kind, char* to) {
  const char* set = pattern + 1;
  const char* set_end = set;
  if (kind == '[') {
    if (*set_end == '^') ++set_end;
    if (*set_end == ']') ++set_end;
    while (*set_end != 0 && *set_end != ']') ++set_end;
    pattern = set_end;
  }
  if (kind == 'c' && width == 0) width = 1;
  size_t n = 0;
  while (s[n] != 0 && (width == 0 || n < width) && (kind == 'c' || (kind == 's' ? !isspace(s[n]) : __is_in_set(s[n], set, set_end)))) {
    if (to != nullptr) to[n] = s[n];
    ++n;
  }
  if (to != nullptr && n > 0 && kind != 'c') to[n] = 0;
  return s + n;
}
template <class T> const char* __scan_number(const char* s, size_t width, char kind, T* to) {
  char held[64];
  const char* read = s;
  if (width > 0 && width < 63) {
    size_t n = 0;
    while (n < width && s[n] != 0) { held[n] = s[n]; ++n; }
    held[n] = 0;
    read = held;
  }
  char* last = (char*)read;
  if constexpr (std::is_floating_point<T>::value) {
    double value = strtod(read, &last);
    if (last != read) *to = (T)value;
  } else {
    long value = strtol(read, &last, kind == 'x' || kind == 'X' || kind == 'p' ? 16 : kind == 'i' ? 0 : kind == 'o' ? 8 : 10);
    if (last != read) *to = (T)value;
  }
  return s + (last - read);
}
// One value: whether the scan goes on behind it. What it is read as its type says.
template <class T> bool __scan_one(const char*& s, const char* start, const char*& pattern, int& done, T* to) {
  while (true) {
    while (*pattern != 0 && *pattern != '%') {
      if (isspace(*pattern)) { while (isspace(*s)) ++s; }
      else if (*s != *pattern) { __scanned = s; if (*s == 0 && done == 0) done = -1; return false; }
      else ++s;
      ++pattern;
    }
    __scanned = s;
    if (*pattern == 0) return false;
    ++pattern;
    bool is_kept = *pattern != '*';
    if (!is_kept) ++pattern;
    size_t width = 0;
    while (isdigit(*pattern)) { width = width * 10 + (*pattern - '0'); ++pattern; }
    while (*pattern == 'l' || *pattern == 'h' || *pattern == 'z' || *pattern == 'j') ++pattern;
    char kind = *pattern;
    if constexpr (!std::is_floating_point<T>::value && sizeof(T) > 1) {
      if (kind == 'n') {
        *to = (T)(s - start);
        ++pattern;
        return true;
      }
    }
    if (kind != 'c' && kind != '[') while (isspace(*s)) ++s;
    __scanned = s;
    if (*s == 0) { if (done == 0) done = -1; return false; }
    const char* end = s;
    bool is_text = kind == 's' || kind == '[' || kind == 'c';
    if (kind == '%') {
      if (*s == '%') ++end;
      is_kept = false;
    } else if (!is_kept) {
      if (is_text) end = __scan_text(s, pattern, width, kind, nullptr);
      else {
        if (*end == '-' || *end == '+') ++end;
        while (isalnum(*end) || *end == '.') ++end;
      }
    } else if constexpr (sizeof(T) == 1) {
      if (is_text) end = __scan_text(s, pattern, width, kind, (char*)to);
      else end = __scan_number(s, width, kind, to);
    } else end = __scan_number(s, width, kind, to);
    if (end == s) return false;
    ++pattern;
    s = end;
    if (is_kept) { ++done; return true; }
  }
}
int __scan(const char* s, const char* start, const char* pattern, int done) { __scanned = s; return done; }
template <class T, class... R> int __scan(const char* s, const char* start, const char* pattern, int done, T* to, R*... rest) {
  if (!__scan_one(s, start, pattern, done, to)) return done;
  return __scan(s, start, pattern, done, rest...);
}
template <class... R> int sscanf(const char* s, const char* pattern, R*... to) { return __scan(s, s, pattern, 0, to...); }
`;
