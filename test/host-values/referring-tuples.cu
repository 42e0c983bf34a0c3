/** Tuples and pairs of references, and views whose data are another's. */
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>
std::tuple<int, int> divided(int a, int b) { return {a / b, a % b}; }
int main() {
  int a = 1, b = 2, c = 3;
  std::get<0>(std::make_tuple(std::ref(a), b)) = 10;
  show(a); //= 10
  std::get<1>(std::tie(a, b)) = 20;
  show(b); //= 20
  std::get<0>(std::forward_as_tuple(c, a)) += 5;
  show(c); //= 8
  std::tie(a, b) = divided(17, 5);
  show(a * 10 + b); //= 32
  auto refs = std::make_tuple(std::ref(a), std::cref(b), c);
  std::get<0>(refs) = 7;
  std::get<2>(refs) = 99;
  show(a * 1000 + c * 10 + std::get<1>(refs)); //= 7082
  auto [x, y, z] = refs;
  x += 1;
  z += 1;
  show(a * 1000 + z + y); //= 8102
  std::pair<int&, int> half(a, b);
  half.first = 40;
  half.second = 50;
  show(a + b); //= 42
  auto made = std::make_pair(std::ref(b), 5);
  made.first = 60;
  show(b + made.second); //= 65
  std::tie(std::ignore, c) = divided(29, 7);
  show(c); //= 1
  std::swap(a, b);
  show(a * 100 + b); //= 6040
  std::reference_wrapper<int> r = a;
  r.get() = 3;
  r = b;
  r.get() += 2;
  show(a * 1000 + b); //= 3042
  std::vector<std::reference_wrapper<int>> all{a, b, c};
  for (int& each : all) each *= 2;
  show(a * 10000 + b * 10 + c); //= 60842
  std::string s = "kernel launch";
  std::string_view view = s;
  show(view.data() == s.data()); //= 1
  show(view.substr(3).data() - s.data()); //= 3
  show(view.data() == std::string(s).data()); //= 0
  std::vector<float> v(8, 1.f);
  std::span<float> part(v.data() + 2, 4);
  part[1] = 9;
  show(v[3] * 10 + part.size()); //= 94
  show((part.data() - v.data()) * 10 + (part.subspan(1).data() == &v[3])); //= 21
  show(&part.front() == &v[2]); //= 1
  show(part.last(2).data() == v.data() + 4); //= 1
  return 0;
}
