/** Objects seen as one of their bases: virtual methods of second bases, mixins that look at the class made of them, pointers that move. */
#include <vector>
struct Base { int n = 1; int kind() const { return 1; } virtual int tag() const { return 10; } int both() const { return tag() + this->tag() * 10 + kind() * 100 + this->kind() * 1000; } };
struct Derived : Base { int m = 2; int kind() const { return 2; } int tag() const override { return 20; } };
struct Left { int l = 7; }; 
template <class D> struct Mixin { int w = 3; int twice() { return static_cast<D*>(this)->once() * 2; } int ref() { return static_cast<D&>(*this).once() + w; } const D& self() const { return static_cast<const D&>(*this); } };
struct Both : Left, Mixin<Both> { int k = 5; int once() const { return k + l; } };
int g(const Base& b) { return b.tag(); }
int h(Both& b) { return b.twice(); }
struct Named { int id = 4; virtual int name() const { return 1; } virtual ~Named() {} };
struct Dog : Base, Named { int legs = 6; int name() const override { return 2 * legs; } int tag() const override { return 40 + legs; } };
int nameOf(const Named& n) { return n.name(); }
struct Node { int v = 0; Node* self() { return this; } };
struct Leaf : Left, Node { int u = 9; };
int main() {
  Named* named = new Dog;
  show(named->name() * 10 + named->id); //= 124
  Base* asBase = dynamic_cast<Base*>(named);
  show(asBase ? asBase->tag() : -1); //= 46
  show(static_cast<Dog*>(named)->legs); //= 6
  Dog dog;
  Named& alias = dog;
  show(alias.name() * 100 + nameOf(dog)); //= 1212
  Leaf leaf;
  leaf.v = 3;
  Node* node = &leaf;
  show(node->v * 100 + leaf.self()->v * 10 + static_cast<Leaf*>(node)->u); //= 339
  Node* none = static_cast<Leaf*>(nullptr);
  show(none == nullptr); //= 1
  std::vector<Named*> some{&dog, named};
  for (Named* each : some) show(each->name() + each->id); //= 16 16

  Derived d;
  show(g(d)); //= 20
  show(d.both()); //= 1320
  Both b;
  show(b.twice() * 100 + b.ref()); //= 2415
  Mixin<Both>& mixin = b;
  show(mixin.twice() + mixin.self().once() * 100); //= 1224
  Mixin<Both>* p = &b;
  show(p->twice() + static_cast<Both*>(p)->l); //= 31
  show(h(b)); //= 24
  const Base& r = d;
  show(r.tag() + r.kind()); //= 21
  return 0;
}
