/** Pairs and tuples of references in the run of main (values of g++). */
import { check } from './check-contents';

describe('pairs of references', () => {
  it('lead to the objects that they are made of', () => {
    check(`
__global__ void k(int a, int b) {}
template <class A, class B> struct Zip {
  A& a;
  B& b;
  struct It {
    typename A::iterator i;
    typename B::iterator j;
    auto operator*() { return std::pair<typename A::reference, typename B::reference>(*i, *j); }
    It& operator++() { ++i; ++j; return *this; }
    bool operator!=(const It& o) const { return i != o.i; }
  };
  It begin() { return {a.begin(), b.begin()}; }
  It end() { return {a.end(), b.end()}; }
};
int main() {
  std::vector<int> a{1, 2, 3};
  std::vector<float> b{0.5f, 1.5f, 2.5f};
  for (auto [x, y] : Zip<std::vector<int>, std::vector<float>>{a, b}) { x += 10; y *= 2; }
  k<<<1, 32>>>(a[1], (int)b[2]); //= a: 12, b: 5
  std::pair<int&, float&> p(a[0], b[0]);
  p.first = 99;
  k<<<1, 32>>>(a[0], (int)p.second); //= a: 99, b: 1
}`);
  });
});
