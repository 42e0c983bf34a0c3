/** Pointers to members: of data and of functions, in tables, handed to algorithms. */
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <ranges>
#include <string>
#include <vector>
struct Particle {
  float x, y, z;
  int cell;
  float speed() const { return x * x + y * y; }
  void move(float d) { x += d; }
  void stay(float) {}
  int scaled(int k) const { return cell * k; }
};
struct Named { std::string name; int weight; };
struct Base { int id = 4; int twice() const { return id * 2; } virtual int kind() const { return 1; } };
struct Derived : Base { int extra = 7; int kind() const override { return 2; } };
template <class T, class M> M total(const std::vector<T>& all, M T::*member) {
  M sum{};
  for (const T& each : all) sum += each.*member;
  return sum;
}
class Machine {
  using Step = void (Machine::*)(int);
  int sum_ = 0;
  void add(int k) { sum_ += k; }
  void mul(int k) { sum_ *= k; }
  void neg(int) { sum_ = -sum_; }
 public:
  int run(const std::vector<std::pair<int, int>>& code) {
    static const Step steps[] = {&Machine::add, &Machine::mul, &Machine::neg};
    for (auto [op, arg] : code) (this->*steps[op])(arg);
    return sum_;
  }
};
struct Field { const char* name; float Particle::*at; };
int main() {
  std::vector<Particle> ps{{3, 1, 2, 9}, {1, 5, 4, 2}, {2, 2, 8, 5}};
  float Particle::*axis = &Particle::y;
  show(ps[1].*axis); //= 5
  axis = &Particle::z;
  Particle* p = &ps[2];
  show(p->*axis); //= 8
  p->*axis = 6;
  show(ps[2].z); //= 6
  float Particle::*axes[] = {&Particle::x, &Particle::y, &Particle::z};
  float sum = 0;
  for (int k = 0; k < 3; ++k) for (auto& q : ps) sum = sum * 2 + q.*axes[k];
  show(sum); //= 1174
  show(total(ps, &Particle::cell)); //= 16
  std::ranges::sort(ps, {}, &Particle::cell);
  show(ps[0].cell * 100 + ps[1].cell * 10 + ps[2].cell); //= 259
  std::ranges::sort(ps, std::greater{}, &Particle::y);
  show(ps[0].y * 100 + ps[1].y * 10 + ps[2].y); //= 521
  show(std::ranges::max_element(ps, {}, &Particle::x)->cell); //= 9
  show(std::invoke(&Particle::cell, ps[0]) * 10 + std::invoke(&Particle::scaled, ps[0], 3)); //= 26
  std::vector<int> cells(3);
  std::transform(ps.begin(), ps.end(), cells.begin(), std::mem_fn(&Particle::cell));
  show(cells[0] * 100 + cells[1] * 10 + cells[2]); //= 259
  void (Particle::*act)(float) = &Particle::move;
  (ps[0].*act)(10);
  show(ps[0].x); //= 11
  act = &Particle::stay;
  (p->*act)(10);
  show(p->x); //= 3
  show(Machine().run({{0, 5}, {1, 7}, {2, 0}, {0, 3}})); //= -32
  Field fields[] = {{"x", &Particle::x}, {"z", &Particle::z}};
  float both = 0;
  for (const Field& f : fields) both = both * 10 + ps[1].*f.at;
  show(both); //= 26
  std::vector<Named> ns{{"pear", 3}, {"fig", 8}, {"apple", 5}};
  std::ranges::sort(ns, {}, &Named::name);
  show(ns[0].weight * 100 + ns[1].weight * 10 + ns[2].weight); //= 583
  auto found = std::ranges::find(ns, 8, &Named::weight);
  show(found->name.size()); //= 3
  Derived d;
  int Base::*id = &Base::id;
  d.*id = 6;
  int (Base::*kind)() const = &Base::kind;
  show(d.id * 100 + (d.*kind)() * 10 + (d.*(&Base::twice))()); //= 632
  std::map<std::string, int (Particle::*)(int) const> table{{"scaled", &Particle::scaled}};
  show((ps[1].*table["scaled"])(11)); //= 55
  int Particle::*none = nullptr;
  show((none == nullptr) * 2 + (axis != nullptr)); //= 3
  std::function<int(const Particle&, int)> call = &Particle::scaled;
  show(call(ps[2], 5)); //= 45
  show(std::ranges::count_if(ps, [](int c) { return c > 3; }, &Particle::cell)); //= 2
  auto best = *std::max_element(ps.begin(), ps.end(), [m = &Particle::z](const Particle& a, const Particle& b) { return a.*m < b.*m; });
  show(best.z); //= 6
  return 0;
}
