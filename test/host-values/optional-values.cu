/** std::optional and std::variant. */
#include <optional>
#include <string>
#include <variant>
#include <vector>
struct Shape { int w, h; std::optional<int> depth; int volume() const { return w * h * depth.value_or(1); } };
std::optional<int> parse(const std::string& s) {
  if (s.empty()) return std::nullopt;
  int n = 0;
  for (char c : s) { if (c < '0' || c > '9') return {}; n = n * 10 + (c - '0'); }
  return n;
}
using Value = std::variant<int, float, std::string, std::vector<int>>;
template <class... F> struct Overloaded : F... { using F::operator()...; };
template <class... F> Overloaded(F...) -> Overloaded<F...>;
int weight(const Value& v) {
  return std::visit(Overloaded{[](int i) { return i; }, [](float f) { return int(f * 10); }, [](const std::string& s) { return (int)s.size(); }, [](const std::vector<int>& l) { int n = 0; for (int x : l) n += x; return n; }}, v);
}
struct Circle { int r; };
struct Box { int a, b; };
int area(std::variant<Circle, Box> s) {
  if (auto* c = std::get_if<Circle>(&s)) return 3 * c->r * c->r;
  return std::get<Box>(s).a * std::get<Box>(s).b;
}
int main() {
  show(parse("123").value()); //= 123
  show(parse("12x").has_value()); //= 0
  show(parse("").value_or(7)); //= 7
  Shape a{3, 4, {}}, b{3, 4, 5};
  show(a.volume() * 100 + b.volume()); //= 1260
  a.depth = 2;
  show(a.volume()); //= 24
  b.depth.reset();
  show(b.volume()); //= 12
  if (auto n = parse("88"); n && *n > 80) show(*n + 1); //= 89
  std::vector<Value> values{3, 2.5f, std::string("four"), std::vector<int>{1, 2, 3}};
  int total = 0;
  for (const auto& v : values) total = total * 10 + weight(v) % 10;
  show(total); //= 3546
  show(values[3].index()); //= 3
  show(std::holds_alternative<float>(values[1])); //= 1
  values[0] = std::string("longer");
  show(weight(values[0])); //= 6
  show(area(Circle{2}) + area(Box{5, 6}) * 100); //= 3012
  std::optional<std::vector<int>> list;
  list.emplace(4, 9);
  show(list->size() * list->at(2)); //= 36
  std::optional<int> x = 5, y;
  std::swap(x, y);
  show(x.has_value() * 10 + *y); //= 5
  show(x == std::nullopt); //= 1
  show(y > 4); //= 1
  return 0;
}
