/** Members of class templates that are defined outside of them, and constructors that hand their members out. */
#include <cstddef>
#include <utility>
#include <vector>
template <class T, int N> class Ring {
 public:
  explicit Ring(T first);
  ~Ring();
  void push(T x);
  T sum() const;
  template <class F> T fold(F f, T start) const;
  Ring& operator+=(T x);
  static int made;
 private:
  T data_[N];
  int at_ = 0;
};
template <class E, int Size> int Ring<E, Size>::made = 0;
template <class E, int Size> Ring<E, Size>::Ring(E first) { for (int i = 0; i < Size; i++) data_[i] = first; made++; }
template <class E, int Size> Ring<E, Size>::~Ring() { made--; }
template <class E, int Size> void Ring<E, Size>::push(E x) { data_[at_] = x; at_ = (at_ + 1) % Size; }
template <class E, int Size> E Ring<E, Size>::sum() const { E s = E(0); for (E x : data_) s += x; return s; }
template <class E, int Size> template <class F> E Ring<E, Size>::fold(F f, E start) const { for (int i = 0; i < Size; i++) start = f(start, data_[i]); return start; }
template <class E, int Size> Ring<E, Size>& Ring<E, Size>::operator+=(E x) { for (E& d : data_) d += x; return *this; }
template <class... Ts> struct Count { int total() const; };
template <class... Us> int Count<Us...>::total() const { return int(sizeof...(Us)) * 10; }
template <class T> struct Box { T value; T twice() const; };
template <class U> U Box<U>::twice() const { return value * 2; }
template <> int Box<int>::twice() const { return value * 2 + 1; }
template <class T> struct Box<T*> { T* value; T twice() const; };
template <class U> U Box<U*>::twice() const { return *value * 20; }
namespace grid {
template <class T> class Field { int w_; std::vector<T> v_; public: Field(int w, int h); T& at(int x, int y); int size() const; };
template <class V> Field<V>::Field(int w, int h) : w_(w), v_(w * h, V(1)) { at(0, 0) = V(7); }
template <class V> V& Field<V>::at(int x, int y) { return v_[y * w_ + x]; }
template <class V> int Field<V>::size() const { return int(v_.size()); }
}
struct Buffers {
  int n, *a = nullptr, *b = nullptr, first = 1, second = 2;
  explicit Buffers(int n) : n(n) {
    int** all[] = {&a, &b};
    for (int** p : all) { *p = new int[n]; (*p)[0] = n; }
    for (int* p : {&first, &second}) *p += 10;
    grow(3);
  }
  void grow(int by) { int* p = &n; *p += by; }
  ~Buffers() { delete[] a; delete[] b; }
};
int main() {
  Ring<float, 4> r(2.0f);
  r.push(5); r.push(6);
  show(r.sum()); //= 15
  r += 1.5f;
  show(r.sum()); //= 21
  show(r.fold([](float a, float b) { return a * b; }, 1.0f)); //= 597
  { Ring<int, 3> other(4); show((Ring<int, 3>::made)); } //= 1
  show((Ring<int, 3>::made) + (Ring<float, 4>::made)); //= 1
  show(Count<int, float, char>().total()); //= 30
  int seven = 7;
  show((int)Box<float>{2.5f}.twice()); //= 5
  show(Box<int>{4}.twice()); //= 9
  show(Box<int*>{&seven}.twice()); //= 140
  grid::Field<double> f(6, 5);
  f.at(2, 3) = 9;
  show((int)(f.at(0, 0) + f.at(2, 3) + f.at(1, 1))); //= 17
  show(f.size()); //= 30
  Buffers b(5);
  show(b.a != b.b && b.a != nullptr); //= 1
  show(b.a[0] + b.b[0]); //= 10
  show(b.n); //= 8
  show(b.first * 100 + b.second); //= 1112
}
