/** Calls on the device that are no arithmetic: overloads with null pointers, the runtime, launches from kernels, groups as arguments. */
import assert from 'node:assert/strict';
import { analyse, check } from '../analysis/check-accesses';

/** Nothing may be skipped; expectations as in check-accesses. */
function understood(source: string): void {
  for (const kernel of check(source).kernels) assert.deepEqual(kernel.skipped, [], kernel.name);
}

describe('calls on the device', () => {
  it('methods of class templates may be defined outside of them, with other names for the parameters', () =>
    understood(`
template <class T, int STRIDE> struct View {
  T* data;
  __device__ explicit View(T* p);
  __device__ T at(int i) const;
  template <class U> __device__ void put(int i, U x);
};
template <class E, int S> __device__ View<E, S>::View(E* p) : data(p) {}
template <class E, int S> __device__ E View<E, S>::at(int i) const {
  E* from = data + i * S;
  return *from;
  //     ^^^^^ global load 8/4 sectors
}
template <class E, int S> template <class U> __device__ void View<E, S>::put(int i, U x) {
  data[i * S] = E(x) + sizeof(U);
//^^^^^^^^^^^ global store 16/8 sectors
}
__global__ void move(float* a, double* b) {
  View<float, 2> from(a);
  View<double, 2> to(b);
  to.put(threadIdx.x, from.at(threadIdx.x));
}
int main() { float* a; double* b; move<<<1, 32>>>(a, b); }
`));

  it('methods of partial specialisations by a number may be defined outside of them', () =>
    understood(`
template <class T, int N> struct Row {
  T* data;
  __device__ T at(int i) const;
};
template <class T> struct Row<T, 4> {
  T* data;
  __device__ T at(int i) const;
};
template <class T, int N> __device__ T Row<T, N>::at(int i) const {
  return data[i * N];
  //     ^^^^^^^^^^^ global load 8/4 sectors
}
template <class U> __device__ U Row<U, 4>::at(int i) const {
  return data[i];
  //     ^^^^^^^ global load 4/4 sectors
}
__global__ void move(float* a, float* b) {
  Row<float, 2> two{a};
  Row<float, 4> four{b};
  b[threadIdx.x] = two.at(threadIdx.x) + four.at(threadIdx.x);
//^^^^^^^^^^^^^^ global store 4/4 sectors
}
int main() { float* a; float* b; move<<<1, 32>>>(a, b); }
`));

  it('default arguments may stand at an earlier declaration whose types have numbers among their arguments', () =>
    check(`
template <class T, int N> struct Row { T* data; };
__device__ float at(Row<const float, 4> row, int i, int stride = 2);
__device__ float at(Row<const float, 4> row, int i, int stride) {
  return row.data[i * stride];
  //     ^^^^^^^^^^^^^^^^^^^^ global load 8/4 sectors
}
__global__ void pick(Row<const float, 4> in, float* out) { out[threadIdx.x] = at(in, threadIdx.x); }
int main() { float *i, *o; pick<<<1, 32>>>(Row<const float, 4>{i}, o); }
`));

  it('default arguments may stand at an earlier declaration', () => {
    understood(`
__device__ float g(const float* a, int i, int s = 2);
template <int S = 3> __device__ float h(const float* a, int i);
struct V { const float* p; __device__ float at(int i, int s = 2) const; };
__device__ float g(const float* a, int i, int s) {
  return a[i * s];
  //     ^^^^^^^^ global load 8/4 sectors
}
template <int S> __device__ float h(const float* a, int i) {
  return a[i * S];
  //     ^^^^^^^^ global load 12/4 sectors
}
__device__ float V::at(int i, int s) const {
  return p[i * s];
  //     ^^^^^^^^ global load 8/4 sectors
}
// warplens: block=32 grid=1
__global__ void k(const float* a, const float* b, const float* c, float* out) {
  out[threadIdx.x] = g(a, threadIdx.x) + h(b, threadIdx.x) + V{c}.at(threadIdx.x);
}`);
  });
  it('a null pointer fits every pointer', () => {
    understood(`
__device__ void put(int* p, const int* mask, int i) { if (mask == nullptr || mask[i]) p[i] = 1; }
// warplens: block=32 grid=1
__global__ void k(int* out) {
  put(out, nullptr, threadIdx.x);
  put(out, NULL, threadIdx.x * 2);
  out[threadIdx.x * 8] = 1;
//^^^^^^^^^^^^^^^^^^^^ global store 32/4 sectors
}`);
  });

  it('the runtime’s functions touch no memory of the kernel', () => {
    understood(`
__global__ void child(int* p) { p[threadIdx.x] = 1; }
// warplens: block=32 grid=1
__global__ void parent(int* out, int* size) {
  cudaStream_t s;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  int n = size[threadIdx.x];
//        ^^^^^^^^^^^^^^^^^ global load 4/4 sectors
  child<<<1, n, 0, s>>>(out);
  if (cudaGetLastError() != cudaSuccess) printf("%s", cudaGetErrorString(cudaPeekAtLastError()));
  cudaStreamDestroy(s);
}`);
  });

  it('groups as arguments, and groups that depend on data', () => {
    understood(`
namespace cg = cooperative_groups;
// warplens: block=64 grid=1
__global__ void k(int* out, int* key) {
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<32>(block);
  auto same = cg::labeled_partition(tile, key[threadIdx.x]);
  if (cg::thread_rank(same) == 0) atomicAdd(&out[0], same.size());
  int sum = cg::inclusive_scan(tile, key[0]);
  out[cg::thread_rank(block) * 2] = same.shfl(sum, 0);
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 8/4 sectors
}`);
  });

  it('a launch in a template that nobody instantiates: the type is assumed', () => {
    const report = check(`
template <typename T> __global__ void k(T* out) {
  out[threadIdx.x] = 1;
//^^^^^^^^^^^^^^^^ global store 4 bytes assumed
}
template <typename T> void run(T* p) { k<T><<<1, 32>>>(p); }`);
    const [launch] = report.kernels[0].launches;
    assert.deepEqual(launch.assumedTemplateArguments, ['T = float']);
    assert.equal(launch.accesses[0].reason, 'rests on assumed T = float');
  });

  it('kernel parameters that are packs', () => {
    understood(`
template <float (*op)(float, float), typename... P>
__global__ void k(float* out, const float* first, P... rest) {
  float r = first[threadIdx.x];
  if constexpr (sizeof...(P) > 0) r = (..., (r = op(r, rest[threadIdx.x])));
//                                                     ^^^^^^^^^^^^^^^^^ global load 4/4 sectors x2
  out[threadIdx.x] = r;
}
__device__ float add(float a, float b) { return a + b; }
int main() {
  float *o, *a, *b, *c;
  cudaMalloc(&o, 128); cudaMalloc(&a, 128); cudaMalloc(&b, 128); cudaMalloc(&c, 128);
  k<add><<<1, 32>>>(o, a, b, c);
}`);
  });

  it('of objects that are made with lambdas and launch themselves, as Kokkos does', () =>
    understood(`
struct Range { long begin, end; };
template <class Policy, class F> struct For;
template <class Driver> __global__ void launch(const Driver driver) { driver(); }
template <class F> struct For<Range, F> {
  F f;
  Range p;
  __device__ void operator()() const {
    for (long i = p.begin + threadIdx.x + (long)blockDim.x * blockIdx.x; i < p.end; i += blockDim.x * gridDim.x) f(i);
  }
  void execute() const { launch<<<(p.end - p.begin + 255) / 256, 256>>>(*this); }
};
template <class Policy, class F> void parallel_for(const Policy& p, const F& f) { For<Policy, F>{f, p}.execute(); }
int main() {
  float* a;
  cudaMalloc(&a, 80000);
  parallel_for(Range{0, 32}, [=] __device__(long i) {
    a[2 * i] = 1;
  //^^^^^^^^ global store 8/4 sectors
  });
}
`));

  it('braces may be given for arrays by reference, and tell their length', () =>
    understood(`
template <int R> struct Range { long lo[R], hi[R]; };
template <int R> __device__ Range<R> range(const long (&lo)[R], const long (&hi)[R]) {
  Range<R> p;
  for (int i = 0; i < R; i++) { p.lo[i] = lo[i]; p.hi[i] = hi[i]; }
  return p;
}
__device__ int dot(const int (&a)[3], const int (&b)[3]) {
  int s = 0;
  for (int i = 0; i < 3; i++) s += a[i] * b[i];
  return s;
}
__global__ void place(float* a) {
  const int at = dot({int(threadIdx.x), 1, 7}, {2, 64, 0}) * range({0, 0}, {5, 2}).hi[1];
  a[at] = 1;
//^^^^^ global store 16/4 sectors
}
int main() { float* a; place<<<1, 32>>>(a); }
`));

  it('inner braces of lists may be left out', () => {
    understood(`
struct Row { int a[2]; int b; };
// warplens: block=32 grid=1
__global__ void k(int* out) {
  Row r = {1, 2, 3};
  int m[2][2] = {0, 1, 2, 4};
  out[threadIdx.x * (r.a[1] + r.b + m[1][0] - 3)] = 1;
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 16/4 sectors
}`);
  });
});

describe('functions as values', () => {
  const copy = `
typedef void (*Copy)(const char*, char*);
template <int N> __device__ void copy(const char* a, char* b) {
  *(float*)b = *(const float*)(a + N * threadIdx.x);
//             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global load 8/4 sectors
}`;

  it('a template argument may be an instance of a function template, also inside of another', () => {
    understood(`${copy}
template <Copy f> __global__ void k(const char* a, char* b) { f(a, b + 4 * threadIdx.x); }
int main() { char *a, *b; cudaMalloc(&a, 999); cudaMalloc(&b, 999); k<copy<8>><<<1, 32>>>(a, b); }`);
    understood(`${copy}
template <Copy f, int N> __device__ void behind(const char* a, char* b) { f(a + N, b); }
template <Copy f> __global__ void k(const char* a, char* b) { f(a, b + 4 * threadIdx.x); }
int main() { char *a, *b; cudaMalloc(&a, 999); cudaMalloc(&b, 999); k<behind<copy<8>, 4>><<<1, 32>>>(a, b); }`);
  });

  it('a constant may be the function that a switch chooses', () => {
    understood(`
enum Kind { one, two };
typedef int (*Index)(int);
__device__ int index1(int i) { return i; }
__device__ int index2(int i) { return 2 * i; }
constexpr __device__ Index get(Kind kind) {
  switch (kind) { case one: return index1; case two: return index2; default: return nullptr; }
}
template <Kind kind> __global__ void k(int* out) {
  constexpr Index index = get(kind);
  out[index(threadIdx.x)] = 1;
//^^^^^^^^^^^^^^^^^^^^^^^ global store 8/4 sectors
}
void run(int* out) { k<two><<<1, 32>>>(out); }`);
  });

  it('one that changes is not followed', () => {
    const report = analyse(`
typedef int (*Index)(int);
__device__ int index1(int i) { return i; }
__device__ int index2(int i) { return 2 * i; }
__global__ void k(int* out, int n) { Index f = index1; if (n > 2) f = index2; out[f(threadIdx.x)] = 1; }
void run(int* out, int n) { k<<<1, 32>>>(out, n); }`);
    assert.equal(report.kernels[0].skipped.length, 1);
    assert.equal(report.kernels[0].launches[0].accesses[0].certainty, 'unknown');
  });

  it('a function that calls itself with a constant ends', () => {
    understood(`
constexpr __device__ int warps(int kind, int n) {
  if (kind == 0) switch (n) { case 1: return 4; default: return 2; }
  return warps(0, n) * 2;
}
__global__ void k(int* out) {
  constexpr int w = warps(1, 1);
  out[threadIdx.x * w] = 1;
//^^^^^^^^^^^^^^^^^^^^ global store 32/4 sectors
}
void run(int* out) { k<<<1, 32>>>(out); }`);
  });
});

describe('a library that is too large to know', () => {
  it('is named', () => {
    const [kernel] = analyse(`
#include <cute/tensor.hpp>
using namespace cute;
// warplens: block=32 grid=1
__global__ void k(float* p) { Tensor t = make_tensor(make_gmem_ptr(p), 32); p[threadIdx.x] = 1; }`).kernels;
    assert.ok(kernel.skipped.every((s) => s.reason.startsWith('CUTLASS is not in the folder')));
    assert.equal(kernel.launches[0].accesses[0].sectors, 4);
  });
});

describe('a store to a member of a type that is not declared', () => {
  it('is skipped with the reason', () => {
    const [kernel] = analyse('struct V { Missing at; };\n__global__ void k(V* v) { v[threadIdx.x].at.x = 1; }').kernels;
    assert.deepEqual(
      kernel.skipped.map((s) => s.reason),
      ['type Missing is not declared in the files that could be read'],
    );
  });
});

describe('a kernel that is too large when its loops are written out', () => {
  const large = (inner: string) => `
// warplens: block=128 grid=1
__global__ void k(const float* in, float* out, int n) {
  __shared__ float tile[128];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  float sum[4] = {0, 0, 0, 0};
  #pragma unroll
  for (int i = 0; i < 250; i++) {
    #pragma unroll
    for (int j = 0; j < 80; j++) {
      sum[(i + j) % 4] += tile[(threadIdx.x * 2 + i * 128 + j * 4) % 128] * in[i] + expf(in[j]) / (1.0f + j);
      ${inner}
    }
  }
  out[threadIdx.x] = sum[0] + sum[3];
}`;

  it('elements of its local arrays may be seen as other types', () => {
    const [kernel] = analyse(large('half* h = (half*)&sum[(i * j) % 4]; h[1] = h[0]; h[3] = (half)tile[j];')).kernels;
    assert.deepEqual(kernel.skipped, []);
  });

  it('is simulated with its loops', () => {
    const [kernel] = analyse(large('')).kernels;
    assert.deepEqual(kernel.skipped, []);
    const shared = kernel.launches[0].accesses.find((a) => a.space === 'shared' && a.operation === 'load');
    assert.equal(shared && shared.wavefronts / shared.idealWavefronts, 2);
    assert.ok(kernel.launches[0].accesses.every((a) => a.space !== 'local'));
  });
});
