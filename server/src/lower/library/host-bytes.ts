/** Texts and bytes of C that programs put together, search and compare; numbers in them by a pattern. */
import { scanning } from './host-scanning';

export const hostBytes = `
char* strcpy(char* to, const char* from) { size_t n = 0; while (from[n] != 0) { to[n] = from[n]; ++n; } to[n] = 0; return to; }
char* strncpy(char* to, const char* from, size_t most) {
  size_t n = 0;
  while (n < most && from[n] != 0) { to[n] = from[n]; ++n; }
  while (n < most) { to[n] = 0; ++n; }
  return to;
}
char* strcat(char* to, const char* from) { strcpy(to + strlen(to), from); return to; }
char* strncat(char* to, const char* from, size_t most) {
  char* at = to + strlen(to);
  size_t n = 0;
  while (n < most && from[n] != 0) { at[n] = from[n]; ++n; }
  at[n] = 0;
  return to;
}
char* strdup(const char* s) { return strcpy((char*)__warplens_allocate(strlen(s) + 1), s); }
char* strchr(const char* s, int c) {
  while (*s != 0 && *s != (char)c) ++s;
  return *s == (char)c ? (char*)s : (char*)0;
}
char* strrchr(const char* s, int c) {
  const char* found = 0;
  for (; *s != 0; ++s) if (*s == (char)c) found = s;
  return (char*)found;
}
char* strstr(const char* s, const char* part) {
  size_t n = strlen(part);
  for (; *s != 0; ++s) if (strncmp(s, part, n) == 0) return (char*)s;
  return n == 0 ? (char*)s : (char*)0;
}
int isdigit(int c) { return c >= '0' && c <= '9'; }
int isupper(int c) { return c >= 'A' && c <= 'Z'; }
int islower(int c) { return c >= 'a' && c <= 'z'; }
int isalpha(int c) { return isupper(c) || islower(c); }
int isalnum(int c) { return isalpha(c) || isdigit(c); }
int isspace(int c) { return c == ' ' || (c >= 9 && c <= 13); }
int toupper(int c) { return islower(c) ? c - 32 : c; }
int tolower(int c) { return isupper(c) ? c + 32 : c; }
int strcasecmp(const char* a, const char* b) {
  while (*a != 0 && tolower(*a) == tolower(*b)) { ++a; ++b; }
  return tolower(*a) - tolower(*b);
}
int strncasecmp(const char* a, const char* b, size_t n) {
  if (n == 0) return 0;
  while (n > 1 && *a != 0 && tolower(*a) == tolower(*b)) { ++a; ++b; --n; }
  return tolower(*a) - tolower(*b);
}
int memcmp(const void* a, const void* b, size_t n) {
  const unsigned char* p = (const unsigned char*)a;
  const unsigned char* q = (const unsigned char*)b;
  size_t k = 0;
  while (k < n && p[k] == q[k]) ++k;
  return k == n ? 0 : (int)p[k] - (int)q[k];
}
${scanning}
namespace std {
using ::strcpy; using ::strncpy; using ::strcat; using ::strncat; using ::strchr; using ::strrchr; using ::strstr; using ::memcmp; using ::sscanf;
using ::isdigit; using ::isupper; using ::islower; using ::isalpha; using ::isalnum; using ::isspace; using ::toupper; using ::tolower;
}
`;
