/** What kernels leave in memory: the launches before the last are executed as a whole. */
import fc from 'fast-check';
import { check } from './check-contents';

/** The last launch rests on what it loads: it is what the kernels before it are executed for. */
const around = (kernels: string, main: string): string => `
template <class T> T* up(const std::vector<T>& v) {
  T* d;
  cudaMalloc(&d, v.size() * sizeof(T));
  cudaMemcpy(d, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice);
  return d;
}
__global__ void look(const int* a, int* out) { out[a[threadIdx.x] & 1023] = 1; }
__global__ void lookAt(const float* f, int* out) { if (f[threadIdx.x] > 0) out[threadIdx.x] = 1; }
${kernels}
int main() {
  std::vector<int> h;
  for (int i = 0; i < 64; i++) h.push_back(i);
  int *in = up(h), *b = up(h), *out;
  cudaMalloc(&out, 4096);
  ${main}
}`;

describe('kernels in the run of the host', () => {
  it('store what they compute', () => {
    check(
      around(
        '__global__ void k(const int* a, int* b) { int i = blockIdx.x * blockDim.x + threadIdx.x; b[i] = 3 * a[i] + blockIdx.x; }',
        `k<<<2, 32>>>(in, b);
  look<<<1, 32>>>(b + 31, out); //= a: 93 97 100`,
      ),
    );
  });

  const halve = `__device__ void halve(int* b, int n) {
  if (n < 2) { b[0] += 100; return; }
  halve(b, n / 2);
  halve(b + n / 2, n - n / 2);
}
__global__ void k(int* b, int n) { halve(b + n * threadIdx.x, n); }`;

  it('may call themselves as deep as that is followed', () => {
    check(around(halve, 'k<<<1, 4>>>(b, 8);\n  look<<<1, 32>>>(b, out); //= a: 100 101 102'));
  });

  it('of which one lane goes deeper than is followed leave nothing that is known', () => {
    check(around(halve, 'k<<<1, 1>>>(b, 2000);\n  look<<<1, 32>>>(b, out); //= a: ?'));
  });

  it('may name functions that nobody defines where nobody comes to them', () => {
    const kernel = '__device__ void rest(int*); __global__ void k(int* b, int n) { b[0] = 7; if (n > 9) rest(b); }';
    check(around(kernel, 'k<<<1, 1>>>(b, 9);\n  look<<<1, 32>>>(b, out); //= a: 7 1 2'));
    check(around(kernel, 'k<<<1, 1>>>(b, 10);\n  look<<<1, 32>>>(b, out); //= a: ?'));
  });

  it('are executed so often only: two thousand launches end the run, however short they are', () => {
    check(
      around(
        '__global__ void grow(int* b, int by) { b[threadIdx.x] += by; }',
        `for (int i = 0; i < 2000; i++) grow<<<1, 64>>>(b, 0);
  look<<<1, 32>>>(b, out); //= a: ?`,
      ),
    );
  });

  it('are found by every launch of a loop as the one before has left them', () => {
    check(
      around(
        '__global__ void grow(int* b, int by) { b[threadIdx.x] += by; }',
        `for (int i = 0; i < 3; i++) grow<<<1, 64>>>(b, i + 1); //= b: 0 1 2; b: 1 2 3; b: 3 4 5
  look<<<1, 32>>>(b, out); //= a: 6 7 8`,
      ),
    );
  });

  const captured = (what: string): string => `cudaStream_t s; cudaGraph_t graph; cudaGraphExec_t exec;
  cudaStreamCreate(&s);
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  ${what}
  cudaStreamEndCapture(s, &graph);
  cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0);`;
  const grow = '__global__ void grow(int* b, int by) { b[threadIdx.x] += by; }';

  it('that are captured are done when their graph is launched, as often as it is', () => {
    check(
      around(
        grow,
        `${captured('grow<<<1, 64, 0, s>>>(b, 2); //= b: 10 11 12; b: 12 13 14; b: 14 15 16')}
  grow<<<1, 64>>>(b, 10); //= b: 0 1 2
  for (int i = 0; i < 3; i++) cudaGraphLaunch(exec, s);
  look<<<1, 32>>>(b, out); //= a: 16 17 18`,
      ),
    );
  });

  it('that are captured beside a fill find nothing filled before their graph is launched', () => {
    check(around(grow, `${captured('cudaMemsetAsync(b, 9, 256, s);')} look<<<1, 32>>>(b, out); //= a: ?`));
  });

  it('that are captured with copies leave unknown what may have been copied', () => {
    check(
      around(
        grow,
        `${captured('cudaMemsetAsync(b, 0, 128, s); grow<<<1, 64, 0, s>>>(b, 2);')}
  cudaGraphLaunch(exec, s);
  look<<<1, 32>>>(b, out); //= a: ?`,
      ),
    );
  });

  it('leave something unknown that the host looks for errors in: the launch behind is come to', () => {
    for (const leave of ['exit(-1)', 'return 1'])
      check(
        around(
          '__global__ void k(int* b) { b[threadIdx.x] = notDeclaredAnywhere(b); }',
          `int back[64];
  k<<<1, 32>>>(b);
  cudaMemcpy(back, b, sizeof back, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 64; i++) if (back[i] < 0) ${leave};
  look<<<1, 32>>>(in, out); //= a: 0 1 2`,
        ),
      );
  });

  it('are come to where an early return is in doubt, though the program ends with a status of its own', () => {
    for (const status of ['argc > 1 ? 0 : 1', '0', 'argc'])
      check(
        around(
          '',
          `int argc = __argc(), dev = pickDevice(argc);
  if (dev == -1) return 1;
  timeval now;
  gettimeofday(&now, 0);
  look<<<1, 32>>>(in, out); //= a: 0 1 2
  exit(${status});`,
        ),
      );
  });

  it('exchange values through shared memory', () => {
    check(
      around(
        `__global__ void scan(const int* a, int* b) {
  __shared__ int s[64];
  s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  for (int d = 1; d < 64; d *= 2) {
    int t = threadIdx.x >= d ? s[threadIdx.x - d] : 0;
    __syncthreads();
    s[threadIdx.x] += t;
    __syncthreads();
  }
  b[threadIdx.x] = s[threadIdx.x];
}`,
        `scan<<<1, 64>>>(in, b);
  look<<<1, 32>>>(b, out); //= a: 0 1 3 6 10 15 21 28`,
      ),
    );
  });

  it('exchange values within warps', () => {
    check(
      around(
        `__global__ void sum(const int* a, int* b) {
  int v = a[threadIdx.x];
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(~0u, v, d);
  if (threadIdx.x % 32 == 0) b[threadIdx.x / 32] = v;
  unsigned odd = __ballot_sync(~0u, a[threadIdx.x] % 2);
  if (threadIdx.x == 0) b[2] = __popc(odd);
}`,
        `sum<<<1, 64>>>(in, b);
  look<<<1, 32>>>(b, out); //= a: 496 1520 16 3`,
      ),
    );
  });

  it('count with atomics', () => {
    check(
      around(
        `__global__ void histogram(const int* a, int* b) { atomicAdd(&b[a[threadIdx.x] % 3], 1); }
__global__ void draw(int* next, int* order) { order[atomicAdd(next, 2)] = threadIdx.x; }`,
        `cudaMemset(b, 0, 256);
  histogram<<<1, 64>>>(in, b);
  look<<<1, 32>>>(b, out); //= a: 22 21 21 0
  draw<<<1, 8>>>(b + 8, b + 16);
  look<<<1, 32>>>(b + 8, out); //= a: 16
  look<<<1, 32>>>(b + 16, out); //= a: 0 0 1 0 2`,
      ),
    );
  });

  it('find what the kernels before them have stored, pass after pass', () => {
    check(
      around(
        '__global__ void step(const int* a, int* b) { int i = threadIdx.x; b[i] = a[i] + a[i > 0 ? i - 1 : 0]; }',
        `int* next = b;
  for (int i = 0; i < 5; i++) { step<<<1, 64>>>(in, next); int* t = in; in = next; next = t; }
  look<<<1, 32>>>(in, out); //= a: 0 1 7 23 49`,
      ),
    );
  });

  it('decide what the host does next', () => {
    check(
      around(
        `__global__ void relax(int* a, int* changed) {
  int i = threadIdx.x;
  if (i > 0 && a[i] > a[i - 1] + 1) { a[i] = a[i - 1] + 1; *changed = 1; }
}`,
        `cudaMemset(b, 64, 256);
  cudaMemset(b, 0, 4);
  int rounds = 0, more = 1;
  while (more) {
    cudaMemset(out, 0, 4);
    relax<<<1, 8>>>(b, out);
    cudaMemcpy(&more, out, 4, cudaMemcpyDeviceToHost);
    rounds++;
  }
  look<<<rounds, 32>>>(b, out); //= a: 0 1 2 3 4 5 6 7 1077953000
  look<<<1, 32>>>(up(std::vector<int>{rounds}), out); //= a: 8`,
      ),
    );
  });

  it('are templates, take functors and structures, and read what the host has put into symbols', () => {
    check(
      around(
        `struct Params { int scale; float2 shift; };
__constant__ Params P;
__constant__ int table[3];
__device__ int total;
struct Twice { int by; __device__ int operator()(int x) const { return by * x; } };
struct View { int* data; int n; };
template <class F, int N> __global__ void apply(View v, F f) {
  if (threadIdx.x < v.n) v.data[threadIdx.x] = f(v.data[threadIdx.x]) + N + P.scale + int(P.shift.y) + table[2];
  if (threadIdx.x == 0) total = v.n;
}
__global__ void read(int* a) { a[0] = total; }`,
        `Params p = {100, {1.0f, 2000.0f}};
  cudaMemcpyToSymbol(P, &p, sizeof p);
  int t[3] = {7, 8, 90000};
  cudaMemcpyToSymbol(table, t, sizeof t);
  apply<Twice, 7><<<1, 32>>>(View{in, 3}, Twice{2});
  look<<<1, 32>>>(in, out); //= a: 92107 92109 92111 3
  read<<<1, 1>>>(in);
  look<<<1, 32>>>(in, out); //= a: 3 92109`,
      ),
    );
  });

  it('shift what is too large to be known in some lanes', () => {
    check(
      around(
        `__global__ void k(const int* a, int* b) {
  unsigned long long v = (unsigned long long)(a[threadIdx.x] + 1) << (40 + threadIdx.x);
  b[threadIdx.x] = (v >> 41) + (v << 1 >> 42) + v / (1ull << 40) + (v * 3 >> 42);
}`,
        `k<<<1, 64>>>(in, b);
  look<<<1, 32>>>(b, out); //= a: 1 11 33 88 220`,
      ),
    );
  });

  it('compute with floating numbers as the device does', () => {
    check(
      around(
        '__global__ void k(const int* a, float* f) { float x = a[threadIdx.x]; f[threadIdx.x] = sqrtf(x) / 3.0f + fmaxf(x, 2.5f); }',
        `float* f;
  cudaMalloc(&f, 256);
  k<<<1, 64>>>(in, f);
  lookAt<<<1, 32>>>(f, out); //= f: 2.5 2.833333 2.971405`,
      ),
    );
  });

  it('leave unknown what they store under a condition, or of a value, that is not known', () => {
    check(
      around(
        `__global__ void k(const int* a, int* b) {
  int i = threadIdx.x;
  if (a[0] > 0) b[i] = 5;
  b[i + 8] = i < 4 ? a[1] : 1;
}`,
        `in[0] = 0;
  cudaMemcpy(in, malloc(256), 256, cudaMemcpyHostToDevice);
  k<<<1, 8>>>(in, b);
  look<<<1, 32>>>(b, out); //= a: ? ? ? ? ? ? ? ? ? ? ? ? 1 1 1 1 16 17`,
      ),
    );
  });

  it('leave unknown the whole block where an address is not known, and only that', () => {
    check(
      around(
        '__global__ void k(const int* a, int* b, int* c) { b[a[0]] = 5; c[threadIdx.x] = 6; }',
        `int* nothing;
  cudaMalloc(&nothing, 256);
  cudaMemcpy(nothing, malloc(256), 256, cudaMemcpyHostToDevice);
  k<<<1, 2>>>(nothing, b, in);
  look<<<1, 32>>>(b, out); //= a: ? ? ?
  look<<<1, 32>>>(in, out); //= a: 6 6 2`,
      ),
    );
  });

  it('leave unknown all that they may write where they cannot be followed', () => {
    const fails = (kernel: string) =>
      check(
        around(
          `__device__ int symbol = 4;
__global__ void read(int* a) { a[1] = symbol; }
${kernel}`,
          `int* nothing;
  cudaMalloc(&nothing, 256);
  cudaMemcpy(nothing, malloc(256), 256, cudaMemcpyHostToDevice);
  k<<<2, 64>>>(nothing, b);
  look<<<1, 32>>>(b, out); //= a: ? ? ? ?
  read<<<1, 1>>>(in);
  look<<<1, 32>>>(in, out); //= a: 0 ? 2`,
        ),
      );
    // a loop that nobody knows how long it is
    fails('__global__ void k(const int* a, int* b) { for (int i = 0; i < a[0]; i++) b[i] = symbol = 1; }');
    // a barrier that only some come to
    fails('__global__ void k(const int* a, int* b) { if (threadIdx.x < 32) __syncthreads(); b[0] = symbol = 1; }');
    // all blocks wait for each other
    fails('__global__ void k(const int* a, int* b) { cooperative_groups::this_grid().sync(); b[0] = symbol = 1; }');
    // it never ends
    fails('__global__ void k(const int* a, int* b) { while (b[threadIdx.x] >= 0) b[0] = symbol = 1; }');
    // what it calls is not known
    fails('__device__ void f(int*); __global__ void k(const int* a, int* b) { symbol = 1; f(b); }');
  });

  it('are executed only where something may rest on what they write: others take nothing of the budget', () => {
    check(
      around(
        `__global__ void grow(int* b, int by) { b[threadIdx.x] += by; }
__global__ void sum(int* from, int* to) { to[threadIdx.x] = from[0] + from[threadIdx.x]; }`,
        `int *other, *sums;
  cudaMalloc(&other, 256);
  cudaMalloc(&sums, 256);
  for (int i = 0; i < 2000; i++) grow<<<1, 64>>>(other, 1);
  sum<<<1, 64>>>(other, other);
  grow<<<1, 64>>>(in, 5);
  cudaMemcpy(sums, in, 256, cudaMemcpyDeviceToDevice);
  sum<<<1, 64>>>(sums, b);
  look<<<1, 32>>>(b, out); //= a: 10 11 12`,
      ),
    );
  });

  it('leave as it was what they are given and never store to, also where they are not executed', () => {
    check(
      around(
        '__global__ void k(int* a, int* b) { for (;;) b[0] += a[0]; }',
        `k<<<1, 32>>>(in, b);
  look<<<1, 32>>>(in, out); //= a: 0 1 2
  look<<<1, 32>>>(b, out); //= a: ?`,
      ),
    );
  });

  it('leave the rest of memory as it was', () => {
    check(
      around(
        '__global__ void k(int* b) { for (;;) b[0]++; }',
        `k<<<1, 32>>>(b);
  look<<<1, 32>>>(b, out); //= a: ?
  look<<<1, 32>>>(in, out); //= a: 0 1 2`,
      ),
    );
  });

  it('prove that a value of the run is wrong where they would do what no program does that works: nothing of it is believed', () => {
    const kernels = `
__global__ void spread(const int* a, int* b) { b[a[threadIdx.x] * 100000] = 1; }
__global__ void split(const int* a, int* b) {
  int parts = 0;
  for (int k = 0; k < 64 / a[threadIdx.x]; k++) parts += k;
  b[threadIdx.x] = parts;
}`;
    check(
      around(
        kernels,
        `look<<<1, 32>>>(in, out); //= not reached
  spread<<<1, 32>>>(in, b); //= not reached
  look<<<1, 32>>>(b, out);`,
      ),
    );
    check(
      around(
        kernels,
        `split<<<1, 32>>>(in, b);
  look<<<1, 32>>>(in, out); //= not reached
  look<<<1, 32>>>(b, out);`,
      ),
    );
    check(
      around(
        kernels,
        `split<<<1, 32>>>(in + 1, b);
  look<<<1, 32>>>(b, out); //= a: 2016 496 210`,
      ),
    );
  });

  it('may know better than the run how large a block is', () => {
    check(
      around(
        '__global__ void last(int* a, int n) { if (threadIdx.x == 0) a[n - 1] = n; }',
        `int* open;
  cudaMalloc(&open, 4 * time(nullptr));
  cudaMemset(b, 0, 256);
  last<<<1, 32>>>(open, 20000);
  look<<<1, 32>>>(b, out); //= a: 0 0 0`,
      ),
    );
  });
});

describe('the same computation', () => {
  const leaf = fc.oneof(
    fc.constantFrom('x', 'y', '1', '3', '7u', '-2', '31'),
    fc.integer({ min: -1000, max: 1000 }).map(String),
  );
  const { expression } = fc.letrec<{ expression: string }>((tie) => ({
    expression: fc.oneof(
      { maxDepth: 4 },
      leaf,
      fc
        .tuple(tie('expression'), fc.constantFrom('+', '-', '*', '&', '|', '^'), tie('expression'))
        .map((p) => `(${p.join(' ')})`),
      fc
        .tuple(tie('expression'), fc.constantFrom('<<', '>>'), fc.integer({ min: 0, max: 31 }))
        .map((p) => `(${p.join(' ')})`),
      fc
        .tuple(tie('expression'), fc.constantFrom('/', '%'), fc.integer({ min: 1, max: 99 }))
        .map((p) => `(${p.join(' ')})`),
      fc
        .tuple(tie('expression'), tie('expression'), tie('expression'))
        .map(([a, b, c]) => `(${a} < ${b} ? ${b} : ${c})`),
      tie('expression').map((a) => `int(float(${a}) * 0.375f)`),
      tie('expression').map((a) => `(int)(unsigned char)(${a})`),
    ),
  }));

  it('gives the same in a kernel and on the host', () => {
    const several = fc.array(expression, { minLength: 12, maxLength: 12 });
    fc.assert(
      fc.property(several, (expressions) => {
        const cases = expressions.map((e, i) => `case ${i}: return ${e};`).join(' ');
        check(
          around(
            `__host__ __device__ int f(int i, int x, int y) { switch (i) { ${cases} } return 0; }
__global__ void k(const int* a, int* b) { int i = threadIdx.x; b[i] = f(i % 12, a[i], a[63 - i]); }
__global__ void compare(const int* a, int* b) { b[threadIdx.x] = a[threadIdx.x] == b[threadIdx.x]; }`,
            `k<<<1, 64>>>(in, b);
  std::vector<int> same;
  for (int i = 0; i < 64; i++) same.push_back(f(i % 12, h[i], h[63 - i]));
  compare<<<1, 64>>>(up(same), b);
  look<<<1, 32>>>(b, out); //= a:${' 1'.repeat(64)}`,
          ),
        );
      }),
      { numRuns: 8 },
    );
  });
});
