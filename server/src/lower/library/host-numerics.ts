/** Functions of <cmath> that the machine has no operation for: exact where they are, else as near as doubles come (a digit of the last place or two). */

/** Of one number: what is made of a double; floats are rounded from that. */
const ofNumber: Readonly<Record<string, string>> = {
  expm1: `
  if (!(x > -0.4 && x < 0.4)) return exp(x) - 1;
  double sum = 0;
  for (int n = 20; n > 1; --n) sum = (sum + 1) * x / n;
  return x + x * sum;`,
  log1p: `
  double y = 1 + x;
  if (y == 1) return x;
  return y > 1e300 ? log(y) : log(y) * x / (y - 1);`,
  asinh: `
  double a = fabs(x);
  double y = a > 1e8 ? log(a) + 0.693147180559945309417 : log1p(a + a * a / (1 + sqrt(1 + a * a)));
  return copysign(y, x);`,
  acosh: `
  double t = x - 1;
  return x > 1e8 ? log(x) + 0.693147180559945309417 : log1p(t + sqrt(2 * t + t * t));`,
  atanh: 'return 0.5 * log1p(2 * x / (1 - x));',
  // a continued fraction where little is left
  erfc: `
  if (x < 2) return 1 - erf(x);
  if (x > 28) return 0;
  double under = x;
  for (int n = 120; n > 0; --n) under = x + 0.5 * n / under;
  return exp(-x * x) / (under * 1.77245385090551602730);`,
  tgamma: `
  if (x == floor(x) && x > 0 && x < 172) {
    double product = 1;
    for (double k = 2; k < x; k = k + 1) product *= k;
    return product;
  }
  if (x < 0.5) return 3.14159265358979323846 / (sin(3.14159265358979323846 * x) * tgamma(1 - x));
  double t = x + 6.5;
  return 2.50662827463100050242 * pow(t, x - 0.5) * exp(-t) * __lanczos(x - 1);`,
  lgamma: `
  if (x > 0 && x < 100) return log(tgamma(x));
  if (x < 0.5) return log(3.14159265358979323846 / fabs(sin(3.14159265358979323846 * x))) - lgamma(1 - x);
  double t = x + 6.5;
  return 0.918938533204672741780 + (x - 0.5) * log(t) - t + log(__lanczos(x - 1));`,
  logb: `
  if (x == 0) return -1 / fabs(x);
  if (x - x != 0) return x * x;
  return __exponent_of(x);`,
};

const ofTwoNumbers: Readonly<Record<string, string>> = {
  fdim: 'return x > y ? x - y : x <= y ? 0 : x + y;',
  remainder: `
  double b = fabs(y);
  double a = b < 8e307 ? fabs(fmod(x, b + b)) : fabs(x);
  if (a + a > b) { a -= b; if (a + a >= b) a -= b; }
  return copysign(1.0, x) < 0 ? -a : a;`,
  // C gives the other number where one is none
  fmax: 'return x != x ? y : y > x ? y : x;',
  fmin: 'return x != x ? y : y < x ? y : x;',
};

const forms = (name: string, parameters: string, passed: string): string => `
template <class T> auto ${name}(${parameters}) { if constexpr (__warplens_std::is_same<T, float>::value) return (float)__${name}(${passed}); else return __${name}(${passed}); }`;

const one = ([name, text]: readonly [string, string]): string => `
double __${name}(double x) {${text.replaceAll(/\b(log1p|tgamma|lgamma)\(/g, '__$1(')} }${forms(name, 'T x', 'x')}
float ${name}f(float x) { return (float)__${name}(x); }`;

const two = ([name, text]: readonly [string, string]): string => `
double __${name}(double x, double y) {${text} }
template <class T, class U> auto ${name}(T x, U y) {
  if constexpr (__warplens_std::is_same<T, float>::value && __warplens_std::is_same<U, float>::value) return (float)__${name}(x, y);
  else return __${name}(x, y);
}
float ${name}f(float x, float y) { return (float)__${name}(x, y); }`;

/** Functions that take a power of two apart from a number, or put one to it. */
const ofExponents = `
int __exponent_of(double x) {
  unsigned long bits;
  memcpy(&bits, &x, 8);
  int e = (int)((bits >> 52) & 2047);
  if (e > 0) return e - 1023;
  x = x * 18014398509481984.0;
  memcpy(&bits, &x, 8);
  return (int)((bits >> 52) & 2047) - 1077;
}
double __power_of_two(int n) {
  unsigned long bits = (unsigned long)(n + 1023) << 52;
  double x;
  memcpy(&x, &bits, 8);
  return x;
}
double __scaled(double x, long n) {
  if (n > 1023) {
    x = x * __power_of_two(1023);
    n = n - 1023;
    if (n > 1023) { x = x * __power_of_two(1023); n = n - 1023 > 1023 ? 1023 : n - 1023; }
  } else if (n < -1022) {
    x = x * __power_of_two(-969);
    n = n + 969;
    if (n < -1022) { x = x * __power_of_two(-969); n = n + 969 < -1022 ? -1022 : n + 969; }
  }
  return x * __power_of_two((int)n);
}
template <class T> int ilogb(T x) {
  double wide = x;
  if (wide == 0) return (int)0x80000000;
  if (wide - wide != 0) return wide == wide ? 0x7fffffff : (int)0x80000000;
  return __exponent_of(wide);
}
int ilogbf(float x) { return ilogb(x); }
${['ldexp', 'scalbn', 'scalbln']
  .map(
    (name) => `
template <class T> auto ${name}(T x, long n) { if constexpr (__warplens_std::is_same<T, float>::value) return (float)__scaled(x, n); else return __scaled(x, n); }
float ${name}f(float x, long n) { return (float)__scaled(x, n); }`,
  )
  .join('')}
`;

/** Neighbours, kinds and signs: read off the bits. */
const ofBits = `
float nextafterf(float x, float y) {
  if (x != x || y != y) return x + y;
  if (x == y) return y;
  int bits;
  if (x == 0) bits = y > 0 ? 1 : (int)0x80000001;
  else {
    memcpy(&bits, &x, 4);
    bits = (x < y) == (x > 0) ? bits + 1 : bits - 1;
  }
  memcpy(&x, &bits, 4);
  return x;
}
double nextafter(double x, double y) {
  if (x != x || y != y) return x + y;
  if (x == y) return y;
  unsigned long bits;
  if (x == 0) bits = y > 0 ? 1ul : 0x8000000000000001ul;
  else {
    memcpy(&bits, &x, 8);
    bits = (x < y) == (x > 0) ? bits + 1 : bits - 1;
  }
  memcpy(&x, &bits, 8);
  return x;
}
float nextafter(float x, float y) { return nextafterf(x, y); }
const int FP_NAN = 0;
const int FP_INFINITE = 1;
const int FP_ZERO = 2;
const int FP_SUBNORMAL = 3;
const int FP_NORMAL = 4;
template <class T> int fpclassify(T x) {
  if (x != x) return FP_NAN;
  if (x - x != 0) return FP_INFINITE;
  if (x == 0) return FP_ZERO;
  double least = __warplens_std::is_same<T, float>::value ? 1.1754943508222875e-38 : 2.2250738585072014e-308;
  return fabs((double)x) < least ? FP_SUBNORMAL : FP_NORMAL;
}
template <class T> bool isfinite(T x) { return x - x == 0; }
template <class T> bool isnormal(T x) { return fpclassify(x) == FP_NORMAL; }
template <class T, class U> bool isunordered(T x, U y) { return x != x || y != y; }
template <class T> bool signbit(T x) { return copysign(1.0, (double)x) < 0; }
`;

const ofIntegers = `
struct div_t { int quot; int rem; };
struct ldiv_t { long quot; long rem; };
div_t div(int a, int b) { return div_t{a / b, a % b}; }
ldiv_t div(long a, long b) { return ldiv_t{a / b, a % b}; }
ldiv_t ldiv(long a, long b) { return ldiv_t{a / b, a % b}; }
ldiv_t lldiv(long a, long b) { return ldiv_t{a / b, a % b}; }
template <class T, class U> double remquo(T x, U y, int* quotient) {
  double r = __remainder(x, y);
  double whole = rint((x - r) / y);
  int low = (int)fmod(fabs(whole), 8.0);
  *quotient = whole < 0 ? -low : low;
  return r;
}
`;

/** Those of `long double`, which is a double here. */
const longOfOne =
  'sqrt cbrt fabs floor ceil round trunc rint exp exp2 log log2 log10 sin cos tan asin acos atan tanh'.split(' ');
const longOfTwo = 'pow fmod atan2 hypot fmax fmin'.split(' ');
const longForms = [
  ...longOfOne.map((name) => `double ${name}l(double x) { return ${name}(x); }`),
  ...longOfTwo.map((name) => `double ${name}l(double x, double y) { return ${name}(x, y); }`),
];

const names = [
  ...[...longOfOne, ...longOfTwo].map((name) => `${name}l`),
  ...Object.keys(ofNumber).flatMap((name) => [name, `${name}f`]),
  ...Object.keys(ofTwoNumbers).flatMap((name) => [name, `${name}f`]),
  ...['ldexp', 'scalbn', 'scalbln', 'ilogb', 'nextafter'].flatMap((name) => [name, `${name}f`]),
  ...['fpclassify', 'isfinite', 'isnormal', 'isunordered', 'signbit', 'div', 'ldiv', 'lldiv', 'remquo'],
];

/** Words that ask for them. */
export const wantedNumerics = [
  ...names,
  'hypot',
  'FP_NAN',
  'FP_INFINITE',
  'FP_ZERO',
  'FP_SUBNORMAL',
  'FP_NORMAL',
  'div_t',
].join(' ');

export const numerics = `
double __lanczos(double x) {
  return 0.99999999999980993 + 676.5203681218851 / (x + 1) - 1259.1392167224028 / (x + 2) + 771.32342877765313 / (x + 3) -
    176.61502916214059 / (x + 4) + 12.507343278686905 / (x + 5) - 0.13857109526572012 / (x + 6) +
    9.9843695780195716e-6 / (x + 7) + 1.5056327351493116e-7 / (x + 8);
}
${ofExponents}
${Object.entries(ofNumber).map(one).join('')}
${Object.entries(ofTwoNumbers).map(two).join('')}
${longForms.join('\n')}
${ofBits}
${ofIntegers}
namespace std {
${names.map((name) => `using ::${name};`).join(' ')}
using ::div_t; using ::ldiv_t;
template <class T, class U> auto hypot(T x, U y) { return ::hypot(x, y); }
template <class T> T hypot(T x, T y, T z) {
  T a = fabs(x), b = fabs(y), c = fabs(z);
  T most = a < b ? b < c ? c : b : a < c ? c : a;
  if (most == 0) return 0;
  return most * sqrt((x / most) * (x / most) + (y / most) * (y / most) + (z / most) * (z / most));
}
}
`;
