/** Constructions, copies, moves and ends of objects, counted. */
#include <memory>
#include <utility>
#include <vector>
static int made = 0, copied = 0, moved = 0, ended = 0;
struct Counted {
  int v;
  Counted(int x = 0) : v(x) { made++; }
  Counted(const Counted& o) : v(o.v) { copied++; }
  Counted(Counted&& o) noexcept : v(o.v) { o.v = -1; moved++; }
  Counted& operator=(const Counted& o) { v = o.v; copied++; return *this; }
  Counted& operator=(Counted&& o) noexcept { v = o.v; o.v = -1; moved++; return *this; }
  ~Counted() { ended++; }
};
int byValue(Counted c) { return c.v; }
int byReference(const Counted& c) { return c.v; }
int main() {
  {
    Counted a(3);
    Counted b = a;
    Counted c = std::move(a);
    show(a.v); //= -1
    show(b.v + c.v); //= 6
    show(byValue(b) + byReference(b)); //= 6
    show(copied * 10 + moved); //= 21
    byValue(std::move(c));
    show(moved); //= 2
  }
  show(ended); //= 5
  {
    std::vector<Counted> v(3);
    show(made); //= 4
  }
  show(ended); //= 8
  {
    std::unique_ptr<Counted> p = std::make_unique<Counted>(4);
    auto q = std::make_shared<Counted>(5);
    auto r = q;
    p.reset();
    show(ended); //= 9
    q.reset();
    show(ended); //= 9
  }
  show(ended); //= 10
  Counted(8);
  show(ended); //= 11
  return 0;
}
