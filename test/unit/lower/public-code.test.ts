/** Constructs that people's repositories use and that the survey found missing; each in the plainest form that shows it. */
import { check } from '../analysis/check-accesses';
import { equals } from './check-index';

describe('variables seen as other types', () => {
  it('eight halves are loaded and stored as one float4', () => {
    check(`
#include <cuda_fp16.h>
#define WIDE(x) (*reinterpret_cast<float4*>(&(x)))
// warplens: block=32 grid=1
__global__ void k(half* in, half* out) {
  half part[8];
  const half* source = in + threadIdx.x * 8;
  float4& whole = *reinterpret_cast<float4*>(&part[0]);
  whole = *reinterpret_cast<const float4*>(source);
//        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global load 16/16 sectors 16 bytes
  *(float4*)(out + threadIdx.x * 8) = whole;
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 16/16 sectors 16 bytes
}`);
  });

  it('bits of a float are an integer', () => {
    check(`
// warplens: block=32 grid=1
__global__ void k(int* out) {
  float one = 1.0f;
  int bits = *(int*)&one;
  out[threadIdx.x * (bits >> 23) / 127 * 2] = 1;
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 8/4 sectors exact
}`);
  });

  it('a pointer runs over the rows of a two-dimensional array', () => {
    check(`
// warplens: block=32 grid=1
__global__ void k(int* out) {
  int cell[2][2] = {{1, 2}, {3, 4}};
  int* flat = &cell[0][0];
  out[threadIdx.x * flat[3]] = 1;
//^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 16/4 sectors exact
}`);
  });
});

describe('parameter packs', () => {
  it('patterns expand in calls, folds go from the side they are written', () => {
    check(`
__device__ int twice(int x) { return 2 * x; }
__device__ int third(int, int, int c) { return c; }
template <class... T> __device__ int sum(T... x) { return (x + ... + 0); }
template <class... T> __device__ int pick(T... x) { return third(twice(x)...); }
template <class... T> __device__ void add(int& to, T... x) { ((to += x), ...); }
// warplens: block=32 grid=1
__global__ void k(int* out) {
  out[threadIdx.x * sum(1, 1, 2)] = 1;
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 16/4 sectors exact
  out[threadIdx.x * pick(5, 7, 1)] = 1;
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 8/4 sectors exact
  int step = 0;
  add(step, 1, 2);
  out[threadIdx.x * step] = 1;
//^^^^^^^^^^^^^^^^^^^^^^^ global store 12/4 sectors exact
}`);
  });
});

describe('inline assembly', () => {
  it('cp.async reads global and writes shared memory through a 32-bit shared address', () => {
    check(`
// warplens: block=32 grid=1
__global__ void k(const float* in) {
  __shared__ float tile[1024];
  unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(&tile[threadIdx.x * 32]));
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(in + threadIdx.x), "n"(4));
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ shared store 32-way
}`);
  });

  it('cp.async that is told how many bytes to read is shown as a store where the assembler needs one predicate', () => {
    check(`
// warplens: block=32 grid=1
__global__ void k(const float4* in, int n) {
  __shared__ float4 tile[64];
  bool some = threadIdx.x < 16;
  const float4* from = some ? in + threadIdx.x * 2 : in;
  unsigned to = __cvta_generic_to_shared(&tile[threadIdx.x / 4 * 5 + threadIdx.x % 4]);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(some ? 16 : 0));
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global load 16/8 sectors 16 bytes
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ shared store 8/4 wavefronts
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(16));
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global load 32/16 sectors 16 bytes
}`);
  });

  it('and stores the zeros before it moves what it reads, for the copies behind the first', () => {
    check(`
// warplens: block=32 grid=1
__global__ void k(const float4* in) {
  __shared__ float4 tile[128];
  unsigned first = __cvta_generic_to_shared(&tile[threadIdx.x]);
  unsigned second = __cvta_generic_to_shared(&tile[64 + threadIdx.x]);
  bool some = threadIdx.x < 16;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(first), "l"(in + threadIdx.x * 2), "r"(some ? 16 : 0));
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ shared store 4/4 wavefronts
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(second), "l"(in + threadIdx.x * 2), "r"(some ? 16 : 0));
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ shared store 20/6 wavefronts
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(second), "l"(in + threadIdx.x), "r"(threadIdx.x < 99 ? 16 : 0));
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ shared store 4/4 wavefronts
}`);
  });

  it('ld and st with an address operand are accesses', () => {
    check(`
// warplens: block=32 grid=1
__global__ void k(const float4* in, float* out) {
  float a, b, c, d;
  asm("ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(in + threadIdx.x * 2));
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global load 32/16 sectors 16 bytes
  out[threadIdx.x] = a + b + c + d;
}`);
  });
});

describe('control flow', () => {
  it('goto forwards and backwards', () => {
    check(`
// warplens: block=32 grid=1
__global__ void k(int* out, int n) {
  int i = 0;
again:
  out[threadIdx.x + i * 32] = 1;
//^^^^^^^^^^^^^^^^^^^^^^^^^ global store 4/4 sectors x3
  i++;
  if (i < 3) goto again;
  if (threadIdx.x > 15) goto end;
  out[threadIdx.x * 8] = 2;
//^^^^^^^^^^^^^^^^^^^^ global store 16/2 sectors 16 lanes
end:
  return;
}`);
  });

  it('recursion through templates ends at its specialisation', () => {
    check(`
template <int N> __device__ int steps() { return 1 + steps<N - 1>(); }
template <> __device__ int steps<0>() { return 0; }
// warplens: block=32 grid=1
__global__ void k(int* out) {
  out[threadIdx.x * steps<16>()] = 1;
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 32/4 sectors exact
}`);
  });
});

describe('records', () => {
  it('a helper struct converts to the dynamic shared array', () => {
    check(`
template <class T> struct Scratch {
  __device__ operator T*() { extern __shared__ int raw[]; return (T*)raw; }
};
// warplens: block=32 grid=1 shared=4096
__global__ void k() {
  double* s = Scratch<double>();
  s[threadIdx.x * 2] = 1;
//^^^^^^^^^^^^^^^^^^ shared store 2-way
}`);
  });

  it("the user's make_float4 of other arguments leaves CUDA's own usable", () => {
    check(`
inline __device__ float4 make_float4(float x) { return make_float4(x, x, x, x); }
// warplens: block=32 grid=1
__global__ void k(float4* out) {
  out[(int)(threadIdx.x * make_float4(2.0f).w)] = make_float4(1.0f);
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 32/16 sectors
}`);
  });
});

describe('lambdas of the host', () => {
  it('bring what they captured into the kernel', () => {
    check(`
template <class F> __global__ void each(F f, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) f(i);
}
int main() {
  float* p;
  cudaMalloc(&p, 4096);
  int stride = 2;
  each<<<1, 32>>>([=] __device__(int i) { p[i * stride] = 1.0f; }, 32);
  //                                      ^^^^^^^^^^^^^ global store 8/4 sectors exact
}`);
  });
});

describe('functions whose values no address needs', () => {
  it('intrinsics and texture fetches are no trouble', () => {
    check(`
#include <cuda_fp16.h>
// warplens: block=32 grid=1
__global__ void k(cudaTextureObject_t t, float* out, half* h) {
  float v = tex2D<float>(t, threadIdx.x, 0);
  out[threadIdx.x] = v + __half2float(__hmax(h[threadIdx.x], h[0]));
//^^^^^^^^^^^^^^^^ global store 4/4 sectors exact
}`);
  });
});

describe('parameters that are arrays', () => {
  it('are pointers to rows when a function is chosen', () => {
    check(`
__device__ double middle(double plane[][64], int x, int y) { return plane[x][y]; }
//                                                                  ^^^^^^^^^^^ global load 8/8 sectors
// warplens: block=32 grid=1
__global__ void k(double in[][64], double out[][64]) {
  out[1][threadIdx.x] = middle(in, 1, threadIdx.x);
}`);
  });
});

describe('arguments that are null pointers', () => {
  it('fit any pointer', () => {
    check(`
template <typename T> __device__ void fill(T* out, int* mask, int* more) {
  out[threadIdx.x] = 1;
//^^^^^^^^^^^^^^^^ global store 4/4 sectors
}
__global__ void k(float* out) { fill(out, nullptr, NULL); }
int main() { float* f; cudaMalloc(&f, 4096); k<<<1, 32>>>(f); }`);
  });
});

describe('kernels with specialisations', () => {
  it('a launch runs the one for its template arguments', () => {
    check(`
template <typename T> __global__ void k(T* p) { p[threadIdx.x * 8] = 0; }
template <> __global__ void k<float>(float* p) { p[threadIdx.x] = 0; }
//                                               ^^^^^^^^^^^^^^ global store 4/4 sectors
int main() { float* f; cudaMalloc(&f, 4096); k<float><<<1, 32>>>(f); }`);
  });
});

describe('values that are not known', () => {
  it('keep what they are computed with', () => {
    check(`
__device__ float unseen(float x);
// warplens: block=32 grid=1
__global__ void k(float* in, float* out) {
  out[threadIdx.x] = in[threadIdx.x] + unseen(1.0f);
//                   ^^^^^^^^^^^^^^^ global load 4/4 sectors
}`);
  });

  it('a device variable that kernels count with is not what it starts with', () => {
    check(`
__device__ int found = 0;
// warplens: block=32 grid=1
__global__ void k(float* out) {
  for (int i = 0; i < found; i++) out[i * 32 + threadIdx.x] = 1;
//                                ^^^^^^^^^^^^^^^^^^^^^^^^^ global store 4/4 sectors
}`);
  });

  it('a search that may return goes on behind its loop', () => {
    check(`
// warplens: block=32 grid=1
__global__ void k(int* keys, int* counts, int wanted) {
  int count = counts[threadIdx.x];
  for (int i = 0; i < count; i++)
    if (keys[i] == wanted) return;
  counts[threadIdx.x] = 0;
//^^^^^^^^^^^^^^^^^^^ global store 4/4 sectors
}`);
  });
});

describe('bits that memcpy moves between local variables', () => {
  it('need what they were loaded from', () => {
    check(`
#include <cuda_fp16.h>
struct alignas(16) Pack {
  explicit __device__ Pack(int4 bits) { memcpy(&part, &bits, sizeof(bits)); }
  half part[8];
};
// warplens: block=32 grid=1
__global__ void k(const int4* in, float* out) {
  Pack pack{__ldcs(in + threadIdx.x)};
//          ^^^^^^^^^^^^^^^^^^^^^^^^ global load 16/4 sectors 4 bytes
  out[threadIdx.x] = __half2float(pack.part[3]);
}`);
  });
});

describe('templates as people write them', () => {
  it('a default before a parameter that is deduced', () => {
    equals(
      '',
      'pick<2>(threadIdx.x < 99u ? 3 : 1)',
      6,
      'template <int A, unsigned B = A * 2, class T> __device__ constexpr T pick(T x) { return T(A + B); }',
    );
  });
  it('an alias that hides what it names', () => {
    equals(
      'Stats<4> s;',
      's.get()',
      5,
      `template <int N> struct Reducer { __device__ int all() const { return N + 1; } };
       template <int N> struct Stats { using Reducer = Reducer<N>; Reducer r; __device__ int get() { return r.all(); } };`,
    );
  });
  it('an alias that hides what nobody has declared does not mean itself', () => {
    // four of its own name: meant it itself, they would be looked into to the fourth power of the depth
    equals(
      'Stats<4> s;',
      's.get()',
      4,
      `template <class A, class B, class C, class D> struct Pick { using type = A; };
       template <int N> struct Stats {
         using Reducer = typename Pick<Reducer<N>, Reducer<N + 1>, Reducer<N + 2>, Reducer<N + 3>>::type;
         __device__ int get() { Reducer* none = nullptr; return N; }
       };`,
    );
  });
  it('an array element seen as a vector reaches into the elements behind it', () => {
    equals('int part[8] = {1, 2, 3, 4, 5, 6, 7, 8}; int4& whole = (int4&)part[4];', 'whole.x + whole.y - whole.w', 3);
  });
});

describe('a pointer to one variable', () => {
  it('reads that one at an index that is open', () => {
    equals('int one = 4, at = n; const int* p = &one;', 'p[at] + *(p + at)', 8);
    equals('char one = 4; const char* p = &one + n; char v = 0; memcpy(&v, &p[n], 1);', 'v', 4);
  });
});

describe('memset', () => {
  it('clears local variables', () => {
    equals('int part[4] = {7, 7, 7, 7}; memset(part, 0, sizeof(int) * 2);', 'part[0] + part[1] + part[2] - 5', 2);
    equals('struct { int a[2]; short b; } v; memset(&v, 0, sizeof(v));', 'v.a[1] + v.b + 4', 4);
  });
  it('stores bytes to memory', () => {
    check(`
// warplens: block=32 grid=1
__global__ void k(char* out) {
  memset(out + threadIdx.x * 4, 0, 4);
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 4/1 sectors x4 1 bytes
}`);
  });
});

describe('memcpy of memory', () => {
  it('copies bytes, whatever its pointers point to', () => {
    check(`
struct Node { unsigned char hash[20]; };
// warplens: block=32 grid=1
__global__ void k(int* out, const int* in, Node* nodes, const Node* others) {
  memcpy(out + threadIdx.x, in + threadIdx.x, 4);
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global load 4/1 sectors x4 1 bytes
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 4/1 sectors x4 1 bytes
  memcpy(nodes[threadIdx.x].hash, others[threadIdx.x].hash, 20);
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 20/1 sectors x20 1 bytes
}`);
    check(`
// warplens: block=32 grid=1 n=3
__global__ void k(char* out, const char* in, int n) {
  memcpy(out + threadIdx.x, in + threadIdx.x, n);
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global load x3 1 bytes
}`);
  });
  it('stores the bytes of local variables, and loads those that are read', () => {
    check(`
struct Pair { float first; double second; };
// warplens: block=32 grid=1
__global__ void k(double* out, const char* in) {
  Pair pair;
  memcpy(&pair, in + threadIdx.x * 16, sizeof pair);
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global load 16/1 sectors x8 1 bytes
  pair.second += 1;
  memcpy(out + threadIdx.x, &pair.second, sizeof(double));
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 8/1 sectors x8 1 bytes
}`);
  });
});

describe('textures and surfaces', () => {
  const unknown = (call: string, operation: string) =>
    check(`
texture<float4, 2> old;
__global__ void k(cudaTextureObject_t t, cudaSurfaceObject_t s, float* out) {
  float v = 0;
  ${call};
//${'^'.repeat(call.length)} texture ${operation} x32 unknown
  out[threadIdx.x] = v;
}
int main() { float* f; cudaMalloc(&f, 4096); k<<<32, 32>>>(0, 0, f); }`);
  it('are accesses without a figure', () => {
    unknown('surf2Dwrite(v, s, threadIdx.x * 4, 0)', 'store');
    unknown('surf2Dread(&v, s, threadIdx.x * 4, 0)', 'load');
  });
  it('give values that are data', () => {
    check(`
texture<float4, 2> old;
// warplens: block=32 grid=1
__global__ void k(cudaTextureObject_t t, int* out, float* to) {
  out[tex1Dfetch<int>(t, threadIdx.x)] = 1;
//    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ texture load unknown
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store unknown
  to[threadIdx.x] = tex2D(old, 0.5f, threadIdx.x).y;
//                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ texture load unknown
}`);
  });
});

describe('partial ordering', () => {
  it('takes the most special of the specialisations that fit', () => {
    const outside = `template <class A, class B> struct S { static constexpr int v = 1; };
      template <class A> struct S<A, A> { static constexpr int v = 2; };
      template <class A> struct S<A*, A*> { static constexpr int v = 3; };
      template <class A, class B> struct S<A*, B> { static constexpr int v = 4; };`;
    equals('', 'S<int, float>::v', 1, outside);
    equals('', 'S<int, int>::v', 2, outside);
    equals('', 'S<int*, int*>::v', 3, outside);
    equals('', 'S<int*, float>::v', 4, outside);
  });
  it('and of function templates that fit equally well', () => {
    const outside = `template <class T> __device__ constexpr int rank(T) { return 1; }
      template <class T> __device__ constexpr int rank(T*) { return 2; }
      template <class T> __device__ constexpr int rank(const T*) { return 3; }`;
    equals('', 'rank(3)', 1, outside);
    equals('', 'rank(out)', 2, outside);
    equals('const int* read = out;', 'rank(read)', 3, outside);
  });
});

describe('constexpr functions', () => {
  it('run loops whose ends only their values tell', () => {
    const outside = `__host__ __device__ constexpr int above(int n) { int p = 1; while (p < n) p *= 2; return p; }
      __host__ __device__ constexpr int root(int n) { int r = 0; for (int i = 0; i * i <= n; ++i) r = i; return r; }
      template <int N> struct Tile { static constexpr int width = above(N) + 1; };`;
    equals('', 'above(5)', 8, outside);
    equals('constexpr int side = root(40);', 'side', 6, outside);
    equals('__shared__ float tile[2][Tile<3>::width];', 'sizeof(tile[0]) / sizeof(float)', 5, outside);
  });
});

describe('packs in braced lists', () => {
  it('fill arrays', () => {
    const outside = `template <int... E> __device__ int pick(int i) { constexpr int all[sizeof...(E)] = {E...}; return all[i]; }
      template <class... J> __device__ int count(J... j) { int all[] = {9, int(j) + 1 ...}; return sizeof(all) / sizeof(int) + all[2]; }
      template <class... J> struct Sizes { int v[sizeof...(J)]; __device__ Sizes(J... j) : v{int(j)...} {} };`;
    equals('', 'pick<3, 7>(1)', 7, outside);
    equals('', 'count(1, 2l)', 6, outside);
    equals('Sizes<int, long> sizes(1, 5l);', 'sizes.v[1]', 5, outside);
  });
});

describe('arrays in kernel parameters', () => {
  const source = (parameter: string, expected: string) => `
struct Job { float* to; int n; int step; };
struct Jobs { Job job[3]; float scale[4]; };
__global__ void k(${parameter}, const float* a) {
  Job one = jobs.job[blockIdx.x];
  //        ^^^^^^^^^^^^^^^^^^^^ ${expected}
  if (threadIdx.x < one.n) one.to[threadIdx.x * one.step] = a[threadIdx.x] * jobs.scale[threadIdx.x % 4];
  //                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store x6 9.3333/4 sectors exact
}
int main() {
  Jobs jobs;
  for (int i = 0; i < 3; i++) { cudaMalloc(&jobs.job[i].to, 4096); jobs.job[i].n = 32 * (i + 1); jobs.job[i].step = i + 1; }
  float* a;
  cudaMalloc(&a, 4096);
  cudaMemcpy(a, malloc(4096), 4096, cudaMemcpyHostToDevice);
  k<<<3, 128>>>(jobs, a);
}`;
  it('are copied to local memory where the index is not constant, with the values of the launch', () => {
    check(source('Jobs jobs', 'local load exact'));
  });
  it('stay in constant memory where they are __grid_constant__', () => {
    check(source('const __grid_constant__ Jobs jobs', 'no access'));
  });

  const table = (type: string, before: string, expected: string) => `
struct Table { int first[8]; int rows[${type}]; float* to[2]; };
__device__ int rowOf(const Table& t, int i) { return t.rows[i]; }
//                                                   ^^^^^^^^^ ${expected}
__global__ void k(Table t) {
  ${before}
  int row = rowOf(t, blockIdx.x);
  t.to[1][threadIdx.x * row] = 1;
//^^^^^^^^^^^^^^^^^^^^^^^^^^ global store x3 8/4 sectors exact
}
int main() {
  Table t;
  for (int i = 0; i < 2; i++) cudaMalloc(&t.to[i], 4096);
  for (int i = 0; i < ${type}; i++) { t.rows[i] = i + 1; t.first[i % 8] = 0; }
  k<<<3, 32>>>(t);
}`;
  it('stay in constant memory beyond 128 bytes, as long as the kernel writes no member', () => {
    check(table('22', '', 'no access'));
    check(table('70', '', 'no access'));
  });
  it('are copied up to 128 bytes, and where a member is written', () => {
    check(table('20', '', 'local load exact'));
    check(table('22', 't.first[0] = threadIdx.x;', 'local load exact'));
    check(table('22', 't.first[threadIdx.x % 8]++;', 'local load exact'));
  });
});

describe('tables of constants', () => {
  const most = 'constexpr int most[3] = {2, 4, 8};';
  it('of the host give their numbers where the index is constant', () => {
    equals('', 'most[1]', 4, most);
    equals('', 'sizeof(Row<2>) / 4', 4, `${most} template <int n> struct Row { int of[most[n - 1]]; };`);
  });
  it('say how many elements a parameter has, which may be hundreds', () => {
    check(`
constexpr int lists[2] = {4, 8}, blocks[2] = {320, 400};
template <int n> struct Chunks {
  float* data[n][lists[n - 1]];
  unsigned char list[blocks[n - 1]];
  int chunk[blocks[n - 1]];
};
template <class T> __global__ void k(T t) {
  float* data = t.data[1][t.list[blockIdx.x]] + t.chunk[blockIdx.x] * 1024;
  data[threadIdx.x * 2] = 1;
//^^^^^^^^^^^^^^^^^^^^^ global store x400 8/4 sectors exact
}
int main() {
  Chunks<2> t;
  for (int i = 0; i < 8; i++) cudaMalloc(&t.data[1][i], 1 << 20);
  for (int i = 0; i < blocks[1]; i++) { t.list[i] = i / 50; t.chunk[i] = i % 50; }
  k<<<blocks[1], 32>>>(t);
}`);
  });
});

describe('votes', () => {
  it('__match_all_sync', () => {
    equals('int same; unsigned all = __match_all_sync(~0u, 7, &same);', '(all == ~0u) + same', 2);
    equals('int same; unsigned all = __match_all_sync(~0u, threadIdx.x / 8, &same);', 'all + same + 3', 3);
  });
});

describe('pointers to const of arrays', () => {
  const rows = `
__device__ int second(const double x[8][3], const int (*y)[4]) { return (int)sizeof(x[0]) + (int)sizeof(y[0]); }
__device__ int first(int (*y)[4]) { return 1; }
__device__ int first(const int (*y)[4]) { return 2; }`;
  it('take rows that may be written', () => {
    equals('double x[8][3]; int y[2][4]; x[0][0] = 0; y[0][0] = 0;', 'second(x, y)', 40, rows);
    equals('double x[8][3]; int y[2][4]; int (*z)[4] = y; x[0][0] = 0;', 'second(x, z)', 40, rows);
  });
  it('are the worse choice where the rows are not const', () => {
    equals('int y[2][4]; y[0][0] = 0;', 'first(y)', 1, rows);
    equals('const int y[2][4] = {};', 'first(y)', 2, rows);
  });
});
