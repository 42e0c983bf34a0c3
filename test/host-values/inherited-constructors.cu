/** Constructors that classes have from their bases. */
struct A { int s; int t = 4; A(int x) : s(2 * x) {} A(int x, int y) : s(x - y), t(y) {} };
struct B : A { using A::A; };
template <class T> struct C { T s; C(T x) : s(x + 1) {} };
struct D : C<int> { using C::C; int more = 6; };
template <class T> struct E : T { using T::T; int own = 3; };
struct F : B { using B::B; };
int main() {
  {
    B b(3);
    show(b.s * 10 + b.t); //= 64
  }
  {
    B b{7, 2};
    show(b.s * 10 + b.t); //= 52
  }
  {
    D d(3);
    show(d.s * 10 + d.more); //= 46
  }
  {
    E<A> e(3);
    show(e.s * 10 + e.own); //= 63
  }
  {
    F f(3, 9);
    show(f.s * 10 + f.t); //= -51
  }
  {
    F* f = new F(3, 9);
    show(f->s * 10 + f->t); //= -51
  }
  {
    B b = 4;
    show(b.s); //= 8
  }
  {
    auto b = B(4);
    show(b.s); //= 8
  }
  return 0;
}
