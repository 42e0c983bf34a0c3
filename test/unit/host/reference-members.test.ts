/** Members that are references, of objects that lie in memory. */
import { check } from './check-contents';

const kernel = '__global__ void k(const int* a, int n, int m) {}';

describe('members that are references', () => {
  it('lead to what they were bound to, and take the room of a pointer', () => {
    check(`
${kernel}
struct Problem { int x = 1, y = 2, z = 3, w = 4; };
class Solver {
 public:
  explicit Solver(const Problem& p) : p_(p) { cudaMalloc(&m_, 4096); }
  void launch() {
    int n = p_.z, m = p_.w;
    void* args[] = {&m_, &n, &m};
    cudaLaunchKernel(k, dim3(1), dim3(32), args, 0, 0); //= a: 0 0, n: 3, m: 4; a: 0 0, n: 7, m: 4
  }
 private:
  const Problem& p_;
  int* m_;
};
int main() {
  Problem p;
  Solver s(p);
  s.launch();
  p.z = 7;
  s.launch();
}`);
  });

  it('are written through', () => {
    check(`
${kernel}
struct Counter { int& count; int own[2]; void add() { count += 5; own[1]++; } };
int main() {
  int total = 1;
  Counter c{total, {0, 0}};
  c.add();
  c.add();
  int* d;
  cudaMalloc(&d, sizeof c.own);
  cudaMemcpy(d, c.own, sizeof c.own, cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d, total, c.count); //= a: 0 2, n: 11, m: 11
}`);
  });

  it('go with copies of the object', () => {
    check(`
${kernel}
struct View { std::vector<int>& rows; int from[1]; int first() const { return rows[from[0]]; } };
int main() {
  std::vector<int> rows = {4, 5, 6};
  View a{rows, {1}};
  View b = a;
  b.from[0] = 2;
  rows[2] = 9;
  int* d;
  cudaMalloc(&d, 4);
  k<<<1, 32>>>(d, a.first(), b.first()); //= n: 5, m: 9
}`);
  });
});
