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
int __scan(const char* s, const char* start, const char* pattern, int done) { __scanned = s; return done; }
template <class T, class... R> int __scan(const char* s, const char* start, const char* pattern, int done, T* to, R*... rest) {
  while (true) {
    while (*pattern != 0 && *pattern != '%') {
      if (isspace(*pattern)) { while (isspace(*s)) ++s; }
      else if (*s != *pattern) { __scanned = s; return *s == 0 && done == 0 ? -1 : done; }
      else ++s;
      ++pattern;
    }
    __scanned = s;
    if (*pattern == 0) return done;
    ++pattern;
    bool is_kept = *pattern != '*';
    if (!is_kept) ++pattern;
    size_t width = 0;
    while (isdigit(*pattern)) { width = width * 10 + (*pattern - '0'); ++pattern; }
    while (*pattern == 'l' || *pattern == 'h' || *pattern == 'z' || *pattern == 'j') ++pattern;
    char kind = *pattern;
    if (kind == 'n') {
      *to = (T)(s - start);
      return __scan(s, start, pattern + 1, done, rest...);
    }
    if (kind != 'c' && kind != '[') while (isspace(*s)) ++s;
    __scanned = s;
    if (*s == 0) return done == 0 ? -1 : done;
    const char* end = s;
    if (kind == '%') {
      if (*s == '%') ++end;
      is_kept = false;
    } else if (kind == 'c') {
      size_t n = width == 0 ? 1 : width;
      for (size_t i = 0; i < n && *end != 0; ++i) { if (is_kept) to[i] = (T)*end; ++end; }
    } else if (kind == 's' || kind == '[') {
      const char* set = pattern + 1;
      const char* set_end = set;
      if (kind == '[') {
        if (*set_end == '^') ++set_end;
        if (*set_end == ']') ++set_end;
        while (*set_end != 0 && *set_end != ']') ++set_end;
        pattern = set_end;
      }
      size_t n = 0;
      while (*end != 0 && (width == 0 || n < width) && (kind == 's' ? !isspace(*end) : __is_in_set(*end, set, set_end))) {
        if (is_kept) to[n] = (T)*end;
        ++n;
        ++end;
      }
      if (is_kept && n > 0) to[n] = (T)0;
    } else {
      char held[64];
      const char* read = s;
      if (width > 0 && width < 63) {
        size_t n = 0;
        while (n < width && s[n] != 0) { held[n] = s[n]; ++n; }
        held[n] = 0;
        read = held;
      }
      char* last = (char*)read;
      if (kind == 'f' || kind == 'g' || kind == 'e' || kind == 'a') {
        double value = strtod(read, &last);
        if (is_kept && last != read) *to = (T)value;
      } else {
        long value = strtol(read, &last, kind == 'x' || kind == 'X' || kind == 'p' ? 16 : kind == 'i' ? 0 : kind == 'o' ? 8 : 10);
        if (is_kept && last != read) *to = (T)value;
      }
      end = s + (last - read);
    }
    if (end == s) return done;
    ++pattern;
    s = end;
    if (is_kept) return __scan(s, start, pattern, done + 1, rest...);
  }
}
template <class... R> int sscanf(const char* s, const char* pattern, R*... to) { return __scan(s, s, pattern, 0, to...); }
`;
