/** Integers from characters and to them, as <charconv> has them. Of fixed and shortest decimals only reading is known. */
export const characters = `
namespace std {
enum class errc { invalid_argument = 22, result_out_of_range = 34, value_too_large = 75 };
enum class chars_format { scientific = 1, fixed = 2, hex = 4, general = 3 };
struct from_chars_result { const char* ptr; errc ec; };
struct to_chars_result { char* ptr; errc ec; };
inline int __digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
  return 99;
}
template <class T> from_chars_result __from_digits(const char* a, const char* b, T& x, int base) {
  const char* p = a;
  bool minus = T(-1) < T(0) && p != b && *p == '-';
  if (minus) ++p;
  const char* first = p;
  unsigned long most = T(-1) < T(0) ? (1ul << (8 * sizeof(T) - 1)) - (minus ? 0 : 1) : ~0ul >> (64 - 8 * sizeof(T));
  unsigned long sum = 0;
  bool isTooLarge = false;
  for (; p != b && __digit_of(*p) < base; ++p) {
    unsigned long digit = (unsigned long)__digit_of(*p);
    if (isTooLarge || sum > (most - digit) / base) isTooLarge = true;
    else sum = sum * base + digit;
  }
  if (p == first) return from_chars_result{a, errc::invalid_argument};
  if (isTooLarge) return from_chars_result{p, errc::result_out_of_range};
  x = minus ? T(0ul - sum) : T(sum);
  return from_chars_result{p, errc()};
}
template <class T> from_chars_result from_chars(const char* a, const char* b, T& x, int base = 10) {
  if constexpr (is_floating_point<T>::value) {
    // what stands behind the text is no part of it
    string own(a, b);
    char* end = nullptr;
    double read = strtod(own.data(), &end);
    size_t n = end - own.data();
    if (n == 0 || *a == '+' || *a == ' ') return from_chars_result{a, errc::invalid_argument};
    x = T(read);
    return from_chars_result{a + n, errc()};
  } else return __from_digits(a, b, x, base);
}
template <class T> to_chars_result to_chars(char* a, char* b, T x, int base = 10) {
  if constexpr (is_floating_point<T>::value) return to_chars_result{a + __warplens_unknown<size_t>(0), errc()};
  else {
    char shown[65];
    int n = 0;
    bool minus = x < T(0);
    unsigned long rest = minus ? 0ul - (unsigned long)x : (unsigned long)x;
    do {
      int digit = (int)(rest % base);
      shown[n] = (char)(digit < 10 ? '0' + digit : 'a' + (digit - 10));
      n = n + 1;
      rest = rest / base;
    } while (rest != 0);
    if (minus) { shown[n] = '-'; n = n + 1; }
    if (b - a < n) return to_chars_result{b, errc::value_too_large};
    for (int i = 0; i < n; ++i) a[i] = shown[n - 1 - i];
    return to_chars_result{a + n, errc()};
  }
}
}
`;
