/** The C++ of kernels: what each construct does to an address shows in the sectors or wavefronts of an access. */
import { check } from '../analysis/check-accesses';

/** A kernel of one warp whose statement `out[...] = 1` is annotated; `stride` bytes between lanes follow from the sectors. */
const kernel = (before: string, index: string, expected: string, outside = '') => `
${outside}
// warplens: block=32 grid=1
__global__ void k(int* out, int n) {
  ${before}
  out[${index}] = 1;
//${'^'.repeat(`out[${index}]`.length)} ${expected}
}`;

/** Sectors of a store with this many 4-byte words between neighbouring lanes. */
const strided = (words: number) => `global store ${Math.min(32, words * 4)}/4 sectors`;
const index = (before: string, expression: string, words: number, outside = '') => {
  check(kernel(before, expression, strided(words), outside));
};

describe('integers', () => {
  it('wrap at their width and keep their sign', () => {
    index('unsigned char b = 255 + threadIdx.x * 2 + 1;', 'b', 2);
    index('short s = 32767; s += 1; int t = s + 32768 + threadIdx.x * 4;', 't', 4);
    index('unsigned u = threadIdx.x - 1; u += 1;', 'u * 2', 2);
    index('int m = -7 / 2 + 3 + threadIdx.x * 3;', 'm', 3);
    index('int r = -7 % 4 + 3 + threadIdx.x * 8;', 'r', 8);
  });

  it('convert as C++ says', () => {
    index('float f = 2.9f; int i = (int)f * threadIdx.x;', 'i', 2);
    index('long long w = 4; int i = w * threadIdx.x;', 'i', 4);
    index("char c = 'c' - 'a'; int i = c * threadIdx.x;", 'i', 2);
    index('bool b = 3; int i = (b + 1) * threadIdx.x;', 'i', 2);
  });

  it('shift, mask and choose', () => {
    index('', '(threadIdx.x << 2) | 0', 4);
    index('', '(threadIdx.x & 31) * (1 ? 2 : 5)', 2);
    index('int i = threadIdx.x; i <<= 1; i ^= 0; i += i;', 'i', 4);
    index('', 'min(threadIdx.x * 2, 1000u)', 2);
  });
});

describe('control flow', () => {
  it('follows loops, breaks and continues', () => {
    index(
      'int s = 0; for (int i = 0; i < 10; i++) { if (i == 1) continue; if (i == 4) break; s += i; }',
      's / 5 * 3 * threadIdx.x',
      3,
    );
    index('int s = 1; while (s < 4) s *= 2;', 's * threadIdx.x', 4);
    index('int s = 0; do { s++; } while (s < 2);', 's * threadIdx.x', 2);
    index('int s = 0; for (int i = 0; i < n; i++) { s = 4; if (i > 2) break; }', 's * threadIdx.x', 4);
  });

  it('takes the case of a switch, and falls through', () => {
    index(
      'int s = 0; switch (2) { case 1: s = 9; break; case 2: s = 1; case 3: s++; break; default: s = 7; }',
      's * threadIdx.x',
      2,
    );
    index('int s; switch (threadIdx.x / 32) { case 0: s = 4; break; default: s = 1; }', 's * threadIdx.x', 4);
  });

  it('masks lanes', () => {
    check(`
// warplens: block=32 grid=1
__global__ void k(int* out) {
  if (threadIdx.x >= 16) return;
  out[threadIdx.x] = 1;
//^^^^^^^^^^^^^^^^ global store 2/2 sectors 16 lanes exact
}`);
    check(`
// warplens: block=64 grid=1
__global__ void k(int* out) {
  if (threadIdx.x % 2 == 0 && threadIdx.x < 32) out[threadIdx.x] = 1;
//                                              ^^^^^^^^^^^^^^^^ global store x1 16 lanes
  else if (threadIdx.x > 40) out[threadIdx.x + 64] = 2;
//                           ^^^^^^^^^^^^^^^^^^^^^ global store x1 23 lanes
}`);
  });
});

describe('memory', () => {
  it('arrays of several dimensions, rows and pointers to rows', () => {
    check(`
// warplens: block=(8,4) grid=1
__global__ void k(float* out) {
  __shared__ float t[4][8][3];
  float (*row)[3] = t[threadIdx.y];
  row[threadIdx.x][2] = 1;
//^^^^^^^^^^^^^^^^^^^ shared store 1-way
  out[0] = t[3][threadIdx.x][0];
//         ^^^^^^^^^^^^^^^^^^^^ shared load
}`);
  });

  it('pointer arithmetic and aliases', () => {
    index('int* p = out + 7; p += threadIdx.x; int* q = &p[threadIdx.x]; q++; out = q;', '0', 2);
    index('int* a = out; int*& r = a; r += 3 * threadIdx.x;', 'a - out + 0', 3);
  });

  it('structs with their layout', () => {
    check(`
struct Inner { char c; double d; };
struct S { short a; Inner in[2]; float f; };
// warplens: block=32 grid=1
__global__ void k(S* s) {
  s[threadIdx.x].in[1].d = 1;
//^^^^^^^^^^^^^^^^^^^^^^ global store 32/8 sectors 8 bytes
}`);
    index('', 'threadIdx.x * sizeof(S) / 8', 2, 'struct S { char c; alignas(8) float f; short s; };');
  });

  it('vector types and casts to them', () => {
    check(`
// warplens: block=32 grid=1
__global__ void k(float* out, const float4* v) {
  float4 a = v[threadIdx.x];
  //         ^^^^^^^^^^^^^^ global load 16/16 sectors 16 bytes
  reinterpret_cast<float2*>(out)[threadIdx.x] = make_float2(a.x + a.z, a.y + a.w);
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 8/8 sectors 8 bytes
}`);
  });

  it('local arrays stay in registers while their indices are constant', () => {
    check(`
// warplens: block=32 grid=1
__global__ void k(float* out) {
  float a[4];
  for (int i = 0; i < 4; i++) a[i] = out[i * 32 + threadIdx.x];
  //                          ^^^^ no access
  out[threadIdx.x] = a[0] + a[1] + a[2] + a[3];
}`);
  });

  it('and live in local memory where one is not', () => {
    check(`
// warplens: block=32 grid=1
__global__ void k(float* out, const int* which) {
  float a[4] = {1, 2, 3, 4};
  out[threadIdx.x] = a[which[threadIdx.x] & 3];
  //                 ^^^^^^^^^^^^^^^^^^^^^^^^^ local load
}`);
  });

  it('constant tables are known', () => {
    index('', 'table[1] * threadIdx.x', 4, '__constant__ int table[3] = {1, 4, 9};');
  });

  it('dynamic shared memory carved into arrays', () => {
    check(`
__global__ void k(float* out) {
  extern __shared__ float s[];
  double* d = (double*)&s[32];
  d[threadIdx.x] = 1;
//^^^^^^^^^^^^^^ shared store 2/2 wavefronts 8 bytes
  out[threadIdx.x] = d[31 - threadIdx.x];
}
int main() { k<<<1, 32, 4096>>>(0); }`);
  });
});

describe('functions and templates', () => {
  it('are inlined, with references and default arguments', () => {
    index(
      'int i = 0; scale(i, threadIdx.x);',
      'i',
      2,
      '__device__ void scale(int& i, int x, int by = 2) { i = x * by; }',
    );
    index('', 'twice(twice(threadIdx.x))', 4, '__device__ int twice(int x) { return 2 * x; }');
    index('', 'pick(threadIdx.x)', 3, '__device__ int pick(int x) { if (x < 0) return 0; return x * 3; }');
  });

  it('instantiate with types and numbers', () => {
    index('', 'times<3>(threadIdx.x)', 3, 'template <int N, typename T> __device__ T times(T x) { return x * N; }');
    index(
      '',
      'Size<double>::value * threadIdx.x',
      2,
      'template <typename T> struct Size { static constexpr int value = sizeof(T) / 4; };',
    );
    index(
      '',
      'Pick<true>::by * threadIdx.x',
      4,
      'template <bool B> struct Pick { enum { by = 1 }; }; template <> struct Pick<true> { enum { by = 4 }; };',
    );
  });

  it('choose overloads', () => {
    index(
      '',
      'f(threadIdx.x) * threadIdx.x',
      2,
      '__device__ int f(float) { return 1; } __device__ int f(unsigned) { return 2; }',
    );
  });

  it('call methods and operators', () => {
    const view = `struct View { int* p; int pitch;
  __device__ int& operator()(int r, int c) { return p[r * pitch + c]; }
  __device__ int at(int i) const { return i * pitch; } };`;
    index('View v = {out, 4}; v(0, 1) = 2; int i = v.at(threadIdx.x);', 'i', 4, view);
    check(`
${view}
// warplens: block=32 grid=1
__global__ void k(int* out) {
  View v = {out, 8};
  v(threadIdx.x, 0) = 1;
  out[threadIdx.x] = 2;
//^^^^^^^^^^^^^^^^ global store 4/4 sectors
}`);
  });

  it('lambdas see what they capture', () => {
    index('int by = 2; auto f = [&](int x) { return x * by; };', 'f(threadIdx.x)', 2);
  });

  it('kernel templates are instantiated by their launches', () => {
    check(
      `
template <typename T, int N> __global__ void k(T* out) {
  __shared__ T s[N][N];
  s[threadIdx.y][threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x][threadIdx.y];
  //                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^ shared load 16-way
}
int main() { float* p; cudaMalloc(&p, 64); k<float, 16><<<1, dim3(16, 16)>>>(p); }`.replace('16-way', '8-way'),
    );
  });
});

describe('intrinsics', () => {
  it('shuffles and votes have values', () => {
    index('int v = __shfl_sync(0xffffffff, threadIdx.x, 0);', 'v + 2 * threadIdx.x', 2);
    index('int v = __shfl_xor_sync(0xffffffff, threadIdx.x, 1);', 'v * 4', 4);
    index('unsigned b = __ballot_sync(0xffffffff, threadIdx.x < 3);', '__popc(b) * threadIdx.x', 3);
  });

  it('a result of an atomic that nobody reads, whatever its address is computed by', () => {
    check(`
__device__ int coarse(int v) {
  int bin = 0;
  for (int at = v; at > 7; at /= 2) bin++;
  return bin;
}
__global__ void k(const int* in) {
  __shared__ unsigned bins[4];
  atomicAdd(&bins[coarse(threadIdx.x)], 1u);
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ shared atomic 1/1 wavefronts
}
// warplens: kernel=k block=32`);
  });

  it('read-only loads and atomics', () => {
    check(`
// warplens: block=32 grid=1
__global__ void k(int* out, const int* in) {
  int v = __ldg(&in[threadIdx.x * 2]);
  //      ^^^^^^^^^^^^^^^^^^^^^^^^^^^ global load 8/4 sectors
  __shared__ int bins[32];
  bins[threadIdx.x] = 0;
  atomicAdd(&bins[0], v);
//^^^^^^^^^^^^^^^^^^^^^^ shared atomic 32 lanes
  out[threadIdx.x] = bins[threadIdx.x];
}`);
  });
});

describe('types in a declaration of variables', () => {
  it('have a name for what follows', () => {
    index('struct Entry { int at; float key; } e[2] = {{1, 0}, {3, 0}}; Entry f = e[1];', 'f.at * threadIdx.x', 3);
    index('enum Side { left = 2, right = 4 } side = left; Side other = right;', 'other * threadIdx.x', 4);
  });
});

describe('enumerators that rest on each other', () => {
  it('are evaluated once each', () => {
    const chain = Array.from({ length: 30 }, (_, i) => `enum { e${i + 1} = e${i} + e${i} - e${i} };`).join(' ');
    index(`enum { zero, e0 = 4 }; ${chain}`, 'e30 * threadIdx.x', 4);
  });
});
