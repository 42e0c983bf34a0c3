/** Durations, and operators beside classes that have others of that name (values of g++). */
import { check } from './check-contents';

const kernel = '__global__ void k(int a, int b, int c) {}';

describe('durations of the host', () => {
  it('are converted, compared and put together', () => {
    check(`${kernel}
int main() {
  using namespace std::chrono_literals;
  const auto d = 1500ms;
  std::chrono::duration<double> seconds = 250ms;
  k<<<1, 32>>>((int)std::chrono::duration_cast<std::chrono::seconds>(d).count(), 2s > d, (int)(seconds.count() * 100)); //= a: 1, b: 1, c: 25
  std::chrono::microseconds us = 2ms;
  us += 5us;
  k<<<1, 32>>>((int)us.count(), (int)(1h + 30min).count(), (int)(90min / 1h)); //= a: 2005, b: 90, c: 1
  const auto start = std::chrono::steady_clock::now();
  const auto passed = std::chrono::steady_clock::now() - start;
  k<<<1, 32>>>((int)passed.count(), (int)std::chrono::milliseconds(3).count(), 0); //= a: ?, b: 3
}`);
  });
});

describe('operators beside a class', () => {
  it('are found where the class has one of that name with another number of operands', () => {
    check(`${kernel}
namespace geometry {
struct Vec { int x, y; Vec operator-() const { return {-x, -y}; } };
Vec operator-(const Vec& a, const Vec& b) { return {a.x - b.x, a.y - b.y}; }
}
int main() {
  geometry::Vec a{5, 7}, b{1, 2};
  k<<<1, 32>>>((a - b).x, (a - b).y, (-a).x); //= a: 4, b: 5, c: -5
}`);
  });
});

describe('choices and bits of the host', () => {
  it('throw what is not there', () => {
    check(`${kernel}
int main() {
  std::variant<int, float> a = 3, b = 2.5f;
  int thrown = 0;
  try { std::get<float>(a); } catch (const std::bad_variant_access&) { thrown += 1; }
  try { std::optional<int> none; none.value(); } catch (const std::bad_optional_access&) { thrown += 2; }
  const int product = std::visit([](auto x, auto y) { return int(x * y * 10); }, a, b);
  k<<<1, 32>>>(thrown, product, std::get<int>(a)); //= a: 3, b: 75, c: 3
}`);
  });

  it('are read from texts', () => {
    check(`${kernel}
int main() {
  std::bitset<8> bits("10110"), none(0);
  std::bitset<16> wide(std::string("0110"));
  k<<<1, 32>>>((int)bits.to_ulong(), (int)wide.to_ulong(), (int)bits.to_string().find('1') + (int)none.count()); //= a: 22, b: 6, c: 3
}`);
  });
});
