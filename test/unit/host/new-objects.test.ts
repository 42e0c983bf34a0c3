/** Objects that `new` makes, one and many (values of g++). */
import { check } from './check-contents';

describe('arrays that new makes', () => {
  it('are made object by object', () => {
    check(`
__global__ void k(int n, int m) {}
struct Own { int x = 5; int y; Own() : y(7) {} };
struct Held { std::set<int> all; int z = 3; };
int main(int argc, char** argv) {
  Own* own = new Own[9 + argc];
  k<<<1, 32>>>(own[3].x, own[9].y); //= n: 5, m: 7
  Own local[100];
  k<<<1, 32>>>(local[3].x, local[99].y); //= n: 5, m: 7
  auto unique = std::make_unique<Own[]>(7);
  k<<<1, 32>>>(unique[3].x, unique[6].y); //= n: 5, m: 7
  Held* held = new Held[4];
  held[2].all.insert(4);
  k<<<1, 32>>>(held[2].all.size(), held[3].z); //= n: 1, m: 3
  auto* counts = new std::unordered_map<int, int>[3];
  counts[1][4] = 3;
  k<<<1, 32>>>(counts[1].size(), counts[1][4]); //= n: 1, m: 3
  auto* texts = new std::string[3];
  texts[1] += "abc";
  k<<<1, 32>>>(texts[1].size(), texts[0].size()); //= n: 3, m: 0
}`);
  });

  it('of numbers hold what is given, zeros behind it, or nothing that is known', () => {
    check(`
__global__ void k(int n, int m) {}
struct Pair { int a, b; };
int main() {
  int* given = new int[4]{1, 2, 3};
  k<<<1, 32>>>(given[1], given[3]); //= n: 2, m: 0
  int* zero = new int[3]();
  k<<<1, 32>>>(zero[1], zero[2]); //= n: 0, m: 0
  int* open = new int[3];
  k<<<1, 32>>>(open[1], zero[2]); //= n: ?, m: 0
  Pair* pairs = new Pair[2]{{1, 2}, {3, 4}};
  k<<<1, 32>>>(pairs[1].a, pairs[0].b); //= n: 3, m: 2
  Pair* left = new Pair[2];
  Pair* one = new Pair;
  Pair* none = new Pair();
  k<<<1, 32>>>(left[1].a, one->b); //= n: ?, m: ?
  k<<<1, 32>>>(none->a, none->b); //= n: 0, m: 0
}`);
  });
});
