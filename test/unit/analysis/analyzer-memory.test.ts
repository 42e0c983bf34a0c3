/** What is kept between edits must never show: an analyzer that saw earlier texts answers as a fresh one does. */
import assert from 'node:assert/strict';
import { createAnalyzer } from '../../../server/src/analysis/analyze';
import { analyse } from './check-accesses';

const source = `
__device__ int twice(int x) { return 2 * x; }
__global__ void first(float* out, int n) {
  __shared__ float tile[32][32];
  tile[threadIdx.y][threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[twice(threadIdx.x)] = tile[threadIdx.x][threadIdx.y];
}
template <int N> __global__ void second(float* out) { out[threadIdx.x * N] = 1; }
int main() {
  float* p;
  cudaMalloc(&p, 4096);
  int n = 64;
  first<<<n / 16, dim3(32, 8)>>>(p, n);
  second<2><<<1, n>>>(p);
}
`;

const options = { computeCapability: '9.0', defines: new Map<string, string>(), assume: new Map<string, number>() };

/** Analyses the texts one after the other with one analyzer; each answer must be that of a fresh one. */
function check(...texts: readonly string[]): void {
  const analyzer = createAnalyzer();
  for (const text of texts) {
    const kept = analyzer.analyze({ path: 'test.cu', text, options, include: () => undefined });
    assert.deepEqual(kept, analyse(text));
  }
}

describe('analyzer memory', () => {
  it('the same text again', () => check(source, source));
  it('lines above move everything down', () => check(source, `\n// new\n${source}`, source));
  it('a declaration above moves the lines that a profiler shows', () => {
    const inlined = `${source}
__device__ float deref(const float* p) { return *p; }
__global__ void third(const float* in, float* out) {
  float v = deref(in + threadIdx.x);
  out[threadIdx.x] = v;
}`;
    check(inlined, `__device__ int other;\n${inlined}`, inlined);
  });
  it('an edit in one kernel leaves the other and the launches', () =>
    check(source, source.replace('= 1;', '= 2 + 3 * n;'), source.replace('[32][32]', '[32][33]')));
  it('an edit in a device function reaches its kernels', () => check(source, source.replace('2 * x', '4 * x')));
  it('an edit in host code reaches the launches', () =>
    check(source, source.replace('n = 64', 'n = 128'), source.replace('second<2>', 'second<4>')));
  it('samples of sizes are made for the launch as it is then, and instances that are alike count each', () => {
    const open = `${source}
template <typename T> __global__ void wide(const T* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = (float)in[i * n];
}
void run(const unsigned* a, const int* b, float* o, int n) {
  wide<<<n / 256, 256>>>(a, o, n);
  wide<<<n / 256, 256>>>(b, o, n);
}`;
    check(open, `// new\n${open}`, open.replace('= 1;', '= 4;'), open.replace('in[i * n]', 'in[i * (n / 4)]'), open);
  });
  it('how a record is packed', () => {
    const packed = (pragma: string) =>
      `${pragma}\nstruct A { char c; };\nstruct B { char c; int n; };\n__global__ void third(B *p) { p[threadIdx.x].n = 1; }\n${source}`;
    check(packed(''), packed('#pragma pack(1)'), packed('#pragma pack(2)'), packed('#pragma pack()'));
  });

  it('a pragma within a kernel', () => {
    const loop = (pragma: string) =>
      `${source}\n__global__ void third(float* p) {\n  float s = 0;\n${pragma}\n  for (int i = 0; i < 8; i++) s += p[8 * threadIdx.x + i];\n  p[threadIdx.x] = s;\n}`;
    check(loop('#pragma unroll'), loop('#pragma unroll 1'), loop('#pragma unroll 2'), loop(''));
  });
  it('another value of a constant that the host sets', () => {
    const set = (value: number) =>
      `__constant__ int pitch;\n${source.replace('threadIdx.x * N', 'threadIdx.x * N * pitch').replace('int n = 64;', `int n = 64; int p = ${value}; cudaMemcpyToSymbol(pitch, &p, 4);`)}`;
    check(set(2), set(4), set(2));
  });
  it('a half-typed kernel and back', () =>
    check(source, source.replace('out[threadIdx.x * N] = 1;', 'for (int i = 0; i <'), source));
  it('an annotation', () =>
    check(source, source.replace('__global__ void first', '// warplens: n=7\n__global__ void first')));
  it('a header that has changed while the text has not', () => {
    const analyzer = createAnalyzer();
    const text = '#include "step.h"\n__global__ void k(float* out) { out[STEP * threadIdx.x] = 1; }';
    const compare = (step: number | undefined) => {
      const header = step === undefined ? undefined : { path: 'step.h', text: `#define STEP ${step}\n` };
      const request = { path: 'test.cu', text, options, include: () => header };
      assert.deepEqual(analyzer.analyze(request), createAnalyzer().analyze(request));
    };
    for (const step of [1, 1, 8, undefined, 2]) compare(step);
  });
  it('other macros for the same text', () => {
    const analyzer = createAnalyzer();
    const text = '__global__ void k(float* out) { out[STEP * threadIdx.x] = 1; }';
    for (const step of ['1', '8', '1']) {
      const defines = new Map([['STEP', step]]);
      const request = { path: 'test.cu', text, options: { ...options, defines }, include: () => undefined };
      assert.deepEqual(analyzer.analyze(request), createAnalyzer().analyze(request));
    }
  });

  describe('an edit in what only a launch hands to a template', () => {
    const edited = (declarations: string, launch: string) => {
      const text = `${declarations}
template <class T> __global__ void made(float* a) { a[T::at(threadIdx.x)] = 1; }
template <class F> __global__ void applied(float* a, F f) { a[f(threadIdx.x)] = 1; }
template <int (*F)(int)> __global__ void called(float* a) { a[F(threadIdx.x)] = 1; }
template <class T> void wrapper(float* a) { made<T><<<1, 32>>>(a); }
int main() {
  float* a;
  cudaMalloc(&a, 4096);
  ${launch}
}
`;
      check(text, text.replace('return i;', 'return 8 * i;'), `\n${text}`, text);
    };
    const rows = 'struct Rows { static __device__ int at(int i) { return i; } };';
    it('a record', () => edited(rows, 'made<Rows><<<1, 32>>>(a);'));
    it('the base of a record, through a wrapper', () => edited(`${rows}\nstruct Own : Rows {};`, 'wrapper<Own>(a);'));
    it('an alias', () => edited(`${rows}\nusing Own = Rows;`, 'made<Own><<<1, 32>>>(a);'));
    it('a functor', () =>
      edited('struct Add { __device__ int operator()(int i) const { return i; } };', 'applied<<<1, 32>>>(a, Add{});'));
    it('a function', () => edited('__device__ int same(int i) { return i; }', 'called<same><<<1, 32>>>(a);'));
    it('a lambda', () => edited('', 'applied<<<1, 32>>>(a, [=] __device__ (int i) { return i; });'));
    it('a lambda with a name', () =>
      edited(
        '',
        'auto f = [] __host__ __device__ (int i) { if (i > 2) { return i; } return i; }; applied<<<1, 32>>>(a, f);',
      ));
  });
});
