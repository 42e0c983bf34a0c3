/** std::reference_wrapper, and classes that keep what they are made of by reference. */
#include <functional>
#include <vector>
template <class T> struct Wrap { T* held; Wrap(T& x) : held(&x) {} T& get() const { return *held; } };
int main() {
  int a = 1, b = 2;
  Wrap<int> w = a;
  w.get() = 3;
  show(a); //= 3
  std::reference_wrapper<int> r = a;
  r.get() = 4;
  show(a); //= 4
  r = b;
  r.get() += 2;
  show(b); //= 4
  std::reference_wrapper<int> q(a);
  q.get() = 9;
  show(a); //= 9
  auto p = std::ref(a);
  p.get() = 10;
  show(a); //= 10
  std::vector<std::reference_wrapper<int>> all{a, b};
  for (int& each : all) each *= 2;
  show(a + b); //= 28
  std::vector<std::reference_wrapper<int>> more;
  more.push_back(a);
  more.push_back(std::ref(b));
  more[0].get() = 50;
  more[1].get()++;
  show(a + b); //= 59
  for (auto& each : more) each.get() += 1;
  show(a + b); //= 61
  return 0;
}
