/** Functions of <cmath> and offsets of members in the run of main (values of g++ with glibc). */
import { check } from './check-contents';

const kernel = '__global__ void k(double a, double b, double c) {}';

describe('numbers of the host', () => {
  it('are rounded, scaled and taken apart', () => {
    check(`${kernel}
int main() {
  int e, q;
  k<<<1, 32>>>(std::remainder(-7.5, 2.0), std::fdim(5.0, 3.0), std::ldexp(0.75, 4)); //= a: 0.5, b: 2, c: 12
  k<<<1, 32>>>(std::ilogb(1000.0), std::logb(0.1f), scalbn(1.5, 10)); //= a: 9, b: -4, c: 1536
  k<<<1, 32>>>(std::frexp(48.0, &e), e, std::remquo(10.0, 3.0, &q)); //= a: 0.75, b: 6, c: 1
  k<<<1, 32>>>((std::nextafter(1.0, 2.0) - 1) * 1e16, nextafterf(0.0f, -1.0f) < 0, std::div(17, 5).rem); //= a: 2.220446, b: 1, c: 2
}`);
  });

  it('are told from infinite ones and from none', () => {
    check(`${kernel}
int main() {
  k<<<1, 32>>>(std::isfinite(1.0) + 2 * std::isfinite(INFINITY), std::signbit(-0.0), std::fmax(NAN, 1.0)); //= a: 1, b: 1, c: 1
  k<<<1, 32>>>(std::isnormal(1e-310), std::fpclassify(0.0f) == FP_ZERO, std::fmin(2.0f, NAN)); //= a: 0, b: 1, c: 2
}`);
  });

  it('have logarithms near one, gamma functions and areas', () => {
    check(`${kernel}
int main() {
  k<<<1, 32>>>(std::expm1(1e-5) * 1e5, std::log1p(1e-5) * 1e5, std::lgamma(5.5)); //= a: 1.000005, b: 0.999995, c: 3.957814
  k<<<1, 32>>>(std::tgamma(6), std::erfc(2.5) * 1e4, std::hypot(1.0, 2.0, 2.0)); //= a: 120, b: 4.06952, c: 3
  k<<<1, 32>>>(std::asinh(1.5f), std::acosh(1.5), std::atanh(0.5)); //= a: 1.194763, b: 0.9624237, c: 0.5493061
}`);
  });

  it('say where members lie', () => {
    check(`${kernel}
struct Header { char tag; int count; double scale; struct { short kind; float v[4]; } in; };
int main() {
  k<<<1, 32>>>(offsetof(Header, count), offsetof(Header, scale), offsetof(Header, in.v[2])); //= a: 4, b: 8, c: 28
}`);
  });
});
