/** What is executed only where loaded data are as they rarely are gives no warning: a few lanes move no more than they must. */
import assert from 'node:assert/strict';
import { analyse } from '../analysis/check-accesses';

const kernel = (body: string) => `
  struct Body { float x, y, z, w, vx, vy, vz, m; };
  __global__ void k(Body* bodies, const float* state, const int* left, float t) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Body& b = bodies[i];
    ${body}
  }
  int main() { k<<<100, 128>>>(0, 0, 0, 1.0f); }`;

/** Expressions with a finding, in order. */
function check(body: string, expected: string): void {
  const text = kernel(body);
  const lines = text.split('\n');
  const { diagnostics } = analyse(text);
  const found = diagnostics
    .filter((d) => d.rule === 'uncoalesced-global-access')
    .map((d) => lines[d.line - 1].slice(d.column - 1, d.endColumn - 1));
  assert.equal(found.join(', '), expected);
}

describe('conditions on loaded data that are rarely met', () => {
  it('a value below zero', () => check('if (state[i] < 0.0f) b.y = 1;', ''));
  it('the same, written the other way round', () => check('if (0 > left[i]) b.y = 1;', ''));
  it('not more than zero, as an integer', () => check('if (left[i] <= 0) b.y = 1;', ''));
  it('the other side of at least zero', () => check('if (state[i] >= 0) t = 2; else b.y = 1;', ''));
  it('a floating-point number equal to a constant', () => check('if (state[i] == 1.0f) b.y = 1;', ''));
  it('two floating-point numbers that are equal', () => {
    check('if (state[i] == state[i + 1]) b.y = 1;', '');
    check('if (state[i] != t) t = 2; else b.y = 1;', '');
  });
  it('within a condition that says nothing', () => check('if (left[i] > 3) { if (state[i] < 0) b.y = 1; }', ''));

  it('a thread whose number all threads read', () => {
    check('if (threadIdx.x == left[0]) b.y = 1;', '');
    check('if (left[blockIdx.x] != (int)threadIdx.x) t = 2; else b.y = 1;', '');
    check('if (i == left[0] - 3) b.y = 1;', '');
    check('if ((threadIdx.x & 31) == __ffs(__ballot_sync(~0u, left[i] > 3)) - 1) b.y = 1;', '');
  });
  it('a row whose number all threads read, and what threads read for themselves, may be many', () => {
    check('if (threadIdx.x / 32 == left[0]) b.y = 1;', 'b.y');
    check('if (i == left[i]) b.y = 1;', 'b.y');
  });

  it('the usual side of an equality, and what either of two conditions leads to', () => {
    check('if (state[i] != t) b.y = 1; else t = 2;', 'b.y');
    check('if (state[i] < 0 || left[i] > 3) b.y = 1;', 'b.y');
  });
  it('a number is equal to itself', () => check('float x = state[i]; if (x == x) b.y = 1;', 'b.y'));
  it('a comparison with anything else may go either way', () => check('if (state[i] < t) b.y = 1;', 'b.y'));
  it('a flag may be set anywhere', () => check('if (left[i] == 1) b.y = 1;', 'b.y'));
  it('the usual side of it', () => check('if (state[i] > 0.0f) b.y = 1;', 'b.y'));
  it('a loop over what is left', () => check('for (int n = left[i]; n > 0; n--) b.y = n;', 'b.y'));
});

describe('requests of a few lanes under a condition on data of each', () => {
  const rules = (lanes: number, condition: string) =>
    analyse(`
  __global__ void k(const int* data, float* out, int n) {
    int t = threadIdx.x;
    if (${condition}) out[t * 3] = 1;
  }
  int main() { k<<<1, ${lanes}>>>(0, 0, 5); }`)
      .diagnostics.map((d) => d.rule)
      .filter((rule) => rule === 'uncoalesced-global-access');

  it('of half of them one sector a request is left, and less is not to be had', () =>
    assert.deepEqual(rules(5, 'data[t] > n'), []));
  it('all of them move twice what they must', () => assert.equal(rules(5, 't < n').length, 1));
  it('half of a warp moves three times as much, like all of it', () =>
    assert.equal(rules(32, 'data[t] > n').length, 1));
});

describe('pairs of lanes that conflict under a condition on data', () => {
  const severities = (condition: string, stride: number) =>
    severitiesOf(`if (${condition}) x = s[t * ${stride}];`, stride);
  const severitiesOf = (body: string, stride: number) =>
    analyse(`
  __global__ void k(const int* data, float* out) {
    __shared__ float s[32 * ${stride}];
    int t = threadIdx.x;
    for (int i = t; i < 32 * ${stride}; i += 32) s[i] = out[i];
    __syncthreads();
    float x = 0;
    ${body}
    out[t] = x;
  }
  int main() { k<<<1, 32>>>(0, 0); }`)
      .diagnostics.filter((d) => d.rule === 'shared-bank-conflict')
      .map((d) => d.severity);

  it('each lane for itself: the other of a pair may be missing', () =>
    assert.deepEqual(severities('data[t] > 3', 2), ['information']));
  it('in passes of which nobody knows the number as well', () => {
    const body = (condition: string) => `for (int j = data[0]; j < data[1]; j++) if (${condition}) x += s[t * 2] * j;`;
    assert.deepEqual(severitiesOf(body('data[t + j] == 3'), 2), ['information']);
    assert.deepEqual(severitiesOf(body('data[t + j] != 3'), 2), ['warning']);
    assert.deepEqual(severitiesOf(body('data[j] == 3'), 2), ['warning']);
  });
  it('the greater of two values: pairs come often enough', () => {
    assert.deepEqual(severities('data[t] > data[t + 32]', 2), ['warning']);
    assert.deepEqual(severities('(data[t] > data[t + 32]) == (t % 4 < 2)', 2), ['warning']);
  });
  it('nor is the end of the data a choice between two of them', () =>
    assert.deepEqual(severities('(t < (int)blockDim.x) == (data[t] > 3)', 2), ['information']));
  it('all lanes or none: the pairs are whole', () => assert.deepEqual(severities('data[0] > 3', 2), ['warning']));
  it('of more lanes in a bank some pair comes', () => assert.deepEqual(severities('data[t] > 3', 4), ['warning']));
});

describe('data that are known in part', () => {
  const program = (condition: string, stride: number) => `
  __global__ void k(const int* where, const unsigned* high, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    ${condition} out[where[i]] = 1;
  }
  int main() {
    const int n = 4096;
    std::vector<int> h(n);
    for (int i = 0; i < n; i++) h[i] = i * ${stride};
    int *where, *out;
    unsigned* high;
    cudaMalloc(&where, n * sizeof(int));
    cudaMalloc(&high, n * sizeof(int));
    cudaMemcpy(high, malloc(n * sizeof(int)), n * sizeof(int), cudaMemcpyHostToDevice);
    cudaMalloc(&out, 8 * n * sizeof(int));
    cudaMemcpy(where, h.data(), n * sizeof(int), cudaMemcpyHostToDevice);
    k<<<n / 256, 256>>>(where, high, out);
  }`;
  const severities = (condition: string, stride = 8) =>
    analyse(program(condition, stride))
      .diagnostics.filter((d) => d.rule === 'uncoalesced-global-access')
      .map((d) => d.severity);

  it('warn where they tell of all lanes where they come', () =>
    assert.deepEqual(severities('if (where[i] >= 64)'), ['warning']));
  it('do not where it is not known which lanes come there', () =>
    assert.deepEqual(severities('if (high[i] >= 64)', 2), ['information']));
  it('unless a few of them are bad enough', () => assert.deepEqual(severities('if (high[i] >= 64)'), ['warning']));
});

describe('blocks that data lead to different places', () => {
  // 25 sectors where 16 would do, in as many passes as the data say
  const program = (passes: string) => `
__global__ void k(const int* passes, float4* out) {
  int lane = threadIdx.x % 32, at = lane < 14 ? lane : 2 * lane - 14;
  for (int j = 0; j < passes[blockIdx.x]; j++) out[(blockIdx.x * 16 + j) * 64 + at] = make_float4(1, 2, 3, 4);
}
int main() {
  std::vector<int> h(4096);
  for (int i = 0; i < 4096; i++) h[i] = ${passes};
  int* passes;
  float4* out;
  cudaMalloc(&passes, 4096 * 4);
  cudaMalloc(&out, 4096 * 16384);
  cudaMemcpy(passes, h.data(), 4096 * 4, cudaMemcpyHostToDevice);
  k<<<4096, 64>>>(passes, out);
}`;
  const severities = (text: string) =>
    analyse(text)
      .diagnostics.filter((d) => d.rule === 'uncoalesced-global-access')
      .map((d) => d.severity);

  it('are warned of just above the threshold where none differs', () =>
    assert.deepEqual(severities(program('8')), ['warning']));
  it('are not where some were executed for the others', () =>
    assert.deepEqual(severities(program('(i * 7 + i / 5) % 13 + 1')), ['information']));
});

describe('a loop that lanes leave by their own data', () => {
  const severities = (guard: string): string => {
    const { diagnostics } = analyse(`
  __global__ void k(const unsigned char* in, unsigned short* run, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int pos = i % 4096, len = 0;
    ${guard} {
      while (pos + len < 4096 && in[i + len] == 0) ++len;
    }
    run[i] = len;
  }
  int main() { unsigned char* d; cudaMalloc(&d, 1 << 20); unsigned short* r; cudaMalloc(&r, 1 << 20); k<<<512, 256>>>(d, r, 0); }`);
    return diagnostics
      .filter((d) => d.rule === 'misaligned-global-access')
      .map((d) => d.severity)
      .join();
  };
  it('gives no warning of shifted rows: few lanes move no more than they must', () => {
    assert.ok(!severities('if (in[i] == 0 && (pos == 0 || in[i - 1] != 0))').includes('warning'));
  });
});

describe('figures in the order of the blocks', () => {
  /** Of the requests that find their place in a list taken, which are another few in another order of blocks. */
  const severityOf = (condition: string): string | undefined =>
    analyse(
      `#include <vector>
      __global__ void take(int* next, const int* wish, float* out) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        int at = atomicAdd(&next[wish[i]], 1);
        if (${condition}) out[i * 8 % 4096] = 1;
      }
      int main() {
        std::vector<int> wish(4096);
        for (int i = 0; i < 4096; i++) wish[i] = i % 8;
        int *w, *n; float* o;
        cudaMalloc(&w, 4096 * 4); cudaMalloc(&n, 8 * 4); cudaMalloc(&o, 4096 * 4);
        cudaMemset(n, 0, 8 * 4);
        cudaMemcpy(w, wish.data(), 4096 * 4, cudaMemcpyHostToDevice);
        take<<<16, 256>>>(n, w, o);
      }`,
    ).diagnostics.find((d) => d.rule === 'uncoalesced-global-access')?.severity;

  it('are no warning where they are of a request alone', () => assert.equal(severityOf('at == 300'), 'information'));
  it('are one where many requests come there', () => assert.equal(severityOf('at >= 100'), 'warning'));
});
