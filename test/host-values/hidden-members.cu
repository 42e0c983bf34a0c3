/** Members of a base that a derived class hides: which one is meant is the declared type's to say. */
#include <functional>
#include <memory>
#include <string_view>
#include <string>
#include <tuple>
#include <vector>
struct Base { int x = 1; int kind() const { return 1; } int scaled(int n) { x += n; return x; } virtual int tag() const { return 10; } virtual ~Base() {} };
struct Derived : Base { int x = 2; int kind() const { return 2; } int scaled(int n) { x += 100 * n; return x; } int tag() const override { return 20; } };
struct Further : Derived { int kind() const { return 3; } int tag() const override { return 30; } };
int ofReference(const Base& b) { return b.kind() * 100 + b.tag(); }
int ofPointer(const Base* b) { return b->kind() * 100 + b->tag(); }
int changed(Base& b) { return b.scaled(5) * 10 + b.x; }
template <class T> int ofTemplate(const T& t) { return t.kind(); }
struct Shape { float width = 2; float area() const { return width; } Shape& grown() { width += 1; return *this; } };
struct Box : Shape { float height = 3; float area() const { return width * height; } };
struct Holder { Base& base; int kind() const { return base.kind() * 1000 + base.tag(); } };
int main() {
  Derived d;
  Further f;
  Base& b = d;
  Base* p = &f;
  const Derived& m = f;
  show(b.kind() * 100 + b.tag()); //= 120
  show(p->kind() * 100 + p->tag()); //= 130
  show(m.kind() * 100 + m.tag()); //= 230
  show(ofReference(d) + ofReference(f)); //= 250
  show(ofPointer(&d) + ofPointer(p)); //= 250
  show(changed(d)); //= 66
  show(d.x * 10 + d.Base::x); //= 26
  show(d.scaled(1)); //= 102
  show(ofTemplate(f) * 100 + ofTemplate(m) * 10 + ofTemplate(*p)); //= 321
  Box box;
  Shape& shape = box;
  show(box.area() * 10 + shape.area()); //= 62
  show(box.grown().area()); //= 3
  show(static_cast<Shape&>(box).area() * 100 + static_cast<Box&>(shape).area()); //= 309
  show(Holder{f}.kind()); //= 1030
  std::vector<Base*> all{&d, &f, p};
  int sum = 0;
  for (Base* each : all) sum = sum * 3 + each->kind() + each->tag();
  show(sum); //= 313
  std::vector<std::unique_ptr<Base>> owned;
  owned.push_back(std::make_unique<Further>());
  owned.emplace_back(new Derived);
  for (auto& each : owned) show(each->kind() * 100 + each->tag()); //= 130 120
  auto ask = [](const Base& each) { return each.kind(); };
  show(ask(f) + ask(d)); //= 2
  Base copy = f;
  show(copy.kind() * 100 + copy.tag()); //= 110
  Base* q = true ? &d : p;
  show(q->kind() + q->x); //= 7
  return 0;
}
