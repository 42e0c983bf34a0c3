/** Functions that return a reference or pointer in several places: which object it is is decided at run time. */
import { check } from '../analysis/check-accesses';
import { check as contents } from '../host/check-contents';

describe('several returns of a reference', () => {
  it('each lead to their own element', () => {
    check(`
struct Matrix {
  float* p; int n; bool isTransposed;
  __device__ float& operator()(int i, int j) { if (isTransposed) return p[j * n + i]; return p[i * n + j]; }
};
__global__ void k(float* p, bool isTransposed) {
  Matrix m{p, 64, isTransposed};
  m(threadIdx.x, blockIdx.x) = 1;
//^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 32/4 sectors
}
int main() { float* p; cudaMalloc(&p, 1 << 20); k<<<1, 32>>>(p, false); }`);
    check(`
__device__ int& end(int* p, int n) { if (threadIdx.x < 16) return p[threadIdx.x]; else return p[threadIdx.x * n]; }
__global__ void k(int* p, int n) {
  end(p, n) = 1;
//^^^^^^^^^ global store 18/4 sectors
}
int main() { int* p; cudaMalloc(&p, 1 << 20); k<<<1, 32>>>(p, 8); }`);
  });

  it('to variables in registers leave them unknown', () => {
    check(`
__device__ int& pick(bool c, int& a, int& b) { if (c) return a; return b; }
__global__ void k(int* p) {
  int x = 1, y = 2;
  pick(threadIdx.x > 4, x, y) = 7;
  p[x * 32 + threadIdx.x * y] = 1;
//^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store unknown
}
int main() { int* p; cudaMalloc(&p, 1 << 20); k<<<1, 32>>>(p); }`);
  });

  it('are not known where they are pointers to registers, or functions', () => {
    check(`
__device__ int* pick(bool c, int& a, int& b) { if (c) return &a; return &b; }
__global__ void k(int* p) {
  int x = 1, y = 2;
  p[*pick(threadIdx.x > 4, x, y) * 32] = 1;
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store unknown
}
int main() { int* p; cudaMalloc(&p, 1 << 20); k<<<1, 32>>>(p); }`);
    check(`
__device__ int twice(int i) { return i * 2; }
__device__ int half(int i) { return i / 2; }
typedef int (*Map)(int);
__device__ Map chosen(bool c) { if (c) return twice; return half; }
__global__ void k(int* p) {
  p[chosen(threadIdx.x > 4)(threadIdx.x)] = 1;
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store unknown
}
int main() { int* p; cudaMalloc(&p, 1 << 20); k<<<1, 32>>>(p); }`);
  });

  it('beside a return that is not known are known on the other ways only', () => {
    contents(`
__global__ void k(int a, int b) {}
template <class... T> int below(int n, T... t) { if (n <= 0) return 5; return below(n - 1, t...); }
int main(int argc, char** argv) {
  k<<<1, 1>>>(below(atoi("0")), below(atoi("100"))); //= a: 5, b: ?
}`);
  });

  it('change what they refer to on the host', () => {
    contents(`
__global__ void k(int a, int b, int c, int d, int e) {}
int& pick(bool c, int& a, int& b) { if (c) return a; return b; }
struct Pair {
  int a = 1, b = 2;
  int& get(int i) { if (i == 0) return a; else return b; }
  int* find(int n) { if (n == a) return &a; if (n == b) return &b; return nullptr; }
};
int main() {
  int n = atoi("1"), x = 1, y = 2;
  pick(n == 0, x, y) = 5;
  Pair s;
  s.get(n) = 9;
  s.get(n - 1) += 3;
  if (int* found = s.find(9)) *found += 1;
  k<<<1, 1>>>(x, y, s.a, s.b, s.find(77) == nullptr); //= a: 1, b: 5, c: 4, d: 10, e: 1
}`);
  });
});

describe('several returns of a constant reference', () => {
  it('give the value of what they refer to', () => {
    contents(`
__global__ void k(int a, int b, int c, int d) {}
const int& within(const int& v, const int& low, const int& high) {
  if (v < low) return low;
  if (high < v) return high;
  return v;
}
struct Grid {
  std::vector<int> d;
  int border = -7;
  Grid(int n) : d(n, 3) {}
  const int& at(int i) const { if (i < 0 || i >= d.size()) return border; return d[i]; }
};
int main() {
  int n = atoi("1");
  Grid g(4);
  k<<<1, 1>>>(within(n, 2, 5), within(n, 0, 5), g.at(n), g.at(-n)); //= a: 2, b: 1, c: 3, d: -7
}`);
  });
});

describe('several returns of a reference to parameters of a caller', () => {
  it('lead to the caller’s own on the host', () => {
    contents(`
__global__ void k(int a) {}
int& pick(bool c, int& a, int& b) { if (c) return a; return b; }
int sum(bool c, int a, int b) { pick(c, a, b) = 5; return a * 100 + b; }
int main() {
  k<<<1, 1>>>(sum(atoi("0") == 1, 1, 2)); //= a: 105
}`);
  });
});

describe('a choice between two objects', () => {
  it('is a reference to one of them', () => {
    contents(`
__global__ void k(int a, int b, int c, int d) {}
int main() {
  bool isFirst = atoi("0") == 1;
  std::vector<int> u(3, 1), v(3, 2);
  auto& chosen = isFirst ? u : v;
  chosen.push_back(7);
  int x = 1, y = 2;
  int& r = isFirst ? x : y;
  r += 40;
  int* p = isFirst ? &x : &y;
  *p += 1;
  (isFirst ? y : x) = 8;
  int& deep = isFirst ? x : y < 0 ? x : y;
  deep += 100;
  k<<<1, 1>>>(u.size(), v.size(), x, y); //= a: 3, b: 4, c: 8, d: 143
}`);
  });
});

describe('members with initialisers', () => {
  it('of objects whose address is taken', () => {
    contents(`
__global__ void k(int a, int b) {}
struct Limits { int low = 3, high = 4; };
int main() {
  int n = atoi("1");
  Limits l;
  int* ends[2] = {&l.low, &l.high};
  *ends[n] += 1;
  k<<<1, 1>>>(l.low, l.high); //= a: 3, b: 5
}`);
  });
});
