/** Functions that take numbers apart: of floats as the toolkit has them (PTX of nvcc 13.0), of doubles without their bits, which are too many for a number. */
export const floatParts = `
__device__ inline float frexpf(float x, int* exponent) {
  bool tiny = fabsf(x) < 1.17549435e-38f;
  float y = tiny ? x * 16777216.0f : x;
  int bits = __float_as_int(y);
  int power = (bits >> 23) & 255;
  if (x == 0 || power == 255) { *exponent = 0; return y + y; }
  *exponent = power + (tiny ? -150 : -126);
  return __int_as_float((bits & 0x807fffff) | 0x3f000000);
}
__device__ inline double frexp(double x, int* exponent) {
  double a = fabs(x);
  if (!(a > 0 && a < 1e309)) { *exponent = 0; return x + x; }
  int power = (int)floor(log2(a));
  double m = a * exp2((double)-power);
  if (m >= 2) { m = m * 0.5; ++power; }
  if (m < 1) { m = m * 2; --power; }
  *exponent = power + 1;
  return copysign(m * 0.5, x);
}
__device__ inline float frexp(float x, int* exponent) { return frexpf(x, exponent); }
__device__ inline float modff(float x, float* whole) { float w = truncf(x); *whole = w; return x - w; }
__device__ inline double modf(double x, double* whole) { double w = trunc(x); *whole = w; return x - w; }
__device__ inline float modf(float x, float* whole) { return modff(x, whole); }
namespace std { using ::frexp; using ::frexpf; using ::modf; using ::modff; }
`;
