/** Spans and views of text: they read and write what they were made of. */
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include <array>
void fill(std::span<int> s) { for (auto& x : s) x = 7; }
int first(std::string_view v) { return v[0]; }
int main() {
  std::vector<int> v{1, 2, 3};
  std::span<int> s(v);
  s[1] = 5;
  show(v[1]); //= 5
  fill(v);
  show(v[0] + v[1]); //= 14
  fill(s);
  show(v[2]); //= 7
  int a[4] = {1, 2, 3, 4};
  std::span<int> t(a);
  t[0] = 9;
  show(a[0] + t.size()); //= 13
  fill(a);
  show(a[3]); //= 7
  std::array<int, 3> r{1, 2, 3};
  fill(r);
  show(r[1]); //= 7
  std::string text = "abc";
  std::string_view w = text;
  text[0] = 'z';
  show(w[0]); //= 122
  show(first(text)); //= 122
  show(w.data() == text.data()); //= 1
  std::span<int> u = s;
  u[0] = 70;
  show(v[0] + s[0]); //= 140
  v[2] = 1;
  show(u[2]); //= 1
  return 0;
}
