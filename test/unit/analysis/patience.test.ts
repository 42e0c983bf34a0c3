/** The command line executes long loops further than the editor does. */
import assert from 'node:assert/strict';
import { analyzeFile } from '../../../server/src/analysis/analyze';
import { PATIENCE } from '../../../server/src/cli/options';

/** Masks differ from pass to pass: nothing can be skipped. */
const text = `
__global__ void wave(float *out) {
  __shared__ float cells[1024];
  for (int d = 0; d < 2000; ++d) {
    int c = (d * 7) % 1024 - (int)threadIdx.x;
    if (c >= 0 && c < 300) cells[c] += cells[(c * 3) % 1024];
    __syncthreads();
  }
  out[threadIdx.x] = cells[threadIdx.x];
}
int main() { float *p; wave<<<1, 512>>>(p); }
`;

function check(patience: number, isWhole: boolean): void {
  const report = analyzeFile({
    path: 'test.cu',
    text,
    options: { computeCapability: '9.0', defines: new Map(), assume: new Map(), patience },
    include: () => undefined,
  });
  const [launch] = report.kernels[0].launches;
  assert.equal(launch.incomplete, undefined);
  const reasons = launch.accesses.flatMap((access) => access.reason ?? []);
  assert.equal(!reasons.some((reason) => /some passes were executed/.test(reason)), isWhole, reasons.join('\n'));
}

describe('patience', () => {
  it('that ends before all kernels were looked at says which ones were not', () => {
    let asked = 0;
    const report = analyzeFile({
      path: 'test.cu',
      text: `__global__ void first(int *p) { p[0] = 1; } __global__ void second(int *p) { p[0] = 1; } ${text}`,
      options: { computeCapability: '9.0', defines: new Map(), assume: new Map() },
      include: () => undefined,
      cancelled: () => ++asked > 1,
    });
    assert.deepEqual(
      report.kernels.map(({ name }) => name),
      ['first'],
    );
    assert.deepEqual(
      report.notes.map(({ message }) => message),
      ['there was no time left to look at second, wave'],
    );
  });

  it('executes every pass of loops that are sampled for an editor', () => {
    check(1, false);
    check(PATIENCE, true);
  });
});

describe('launches of a host loop', () => {
  const rounds = (bound: string, patience: number) => {
    const source = `
__global__ void fill(float *a, int n) { if (threadIdx.x < n) a[threadIdx.x] = n; }
int main() { float *p; cudaMalloc(&p, 4096); for (int n = 1; n <= ${bound}; n++) fill<<<1, n < 20 ? 32 : 64>>>(p, n); }`;
    const report = analyzeFile({
      path: 'test.cu',
      text: source,
      options: { computeCapability: '9.0', defines: new Map(), assume: new Map(), patience },
      include: () => undefined,
    });
    return report.kernels[0].launches.map(({ block, assumptions }) => `${block[0]}:${assumptions[0]?.value}`);
  };
  it('are first, middle and last for an editor', () => assert.deepEqual(rounds('5', 1), ['32:1', '32:3', '32:5']));
  it('are all where they are few on the command line', () =>
    assert.deepEqual(rounds('5', PATIENCE), ['32:1', '32:2', '32:3', '32:4', '32:5']));
  it('are spread evenly where they are many', () => {
    const many = rounds('100', PATIENCE);
    assert.equal(many.length, 24);
    assert.deepEqual([many[0], many[1], many.at(-1)], ['32:1', '32:5', '64:100']);
  });

  const launchesOf = (source: string) => {
    const report = analyzeFile({
      path: 'test.cu',
      text: source,
      options: { computeCapability: '9.0', defines: new Map(), assume: new Map(), patience: PATIENCE },
      include: () => undefined,
    });
    return report.kernels[0].launches.map(({ grid }) => grid[0]);
  };
  it('are all on the command line though the rounds compute much besides', () =>
    assert.deepEqual(
      launchesOf(`
__global__ void fill(float *a) { a[threadIdx.x] = 1; }
struct Case { int blocks, rows; } cases[] = {{3, 300}, {5, 400}, {9, 500}, {17, 600}, {33, 700}};
void check(const Case &c, float *h) {
  for (int i = 0; i < c.rows / 10; ++i)
    for (int j = 0; j < 40; ++j)
      for (int k = 0; k < 30; ++k) if (h[i] > j * k) h[i] -= k;
}
void test(const Case &c, float *p, float *h) {
  check(c, h); check(c, h); check(c, h); check(c, h);
  check(c, h); check(c, h); check(c, h); check(c, h);
  fill<<<c.blocks, 32>>>(p);
}
int main() {
  float *p, *h = new float[1000];
  cudaMalloc(&p, 4096);
  for (int i = 0; i < 5; ++i) test(cases[i], p, h);
}`),
      [3, 5, 9, 17, 33],
    ));
  it('are all on the command line where only the run of the host gives their sizes', () =>
    assert.deepEqual(
      launchesOf(`
__global__ void fill(float *a) { a[threadIdx.x] = 1; }
int main() {
  std::vector<int> lengths(5);
  unsigned s = 1;
  for (auto& l : lengths) { s = s * 1664525u + 1013904223u; l = 32 + (s >> 16) % 64; }
  std::sort(lengths.begin(), lengths.end());
  float *d;
  cudaMalloc(&d, 4096);
  for (int l : lengths) fill<<<l, 32>>>(d);
}`),
      [40, 54, 80, 83],
    ));
});

/** A host program that fills an array with numbers and launches a kernel on it. */
const mainThat = (launch: string) => `int main() {
  int h[2048], *xs, *out;
  unsigned s = 7;
  for (int i = 0; i < 2048; i++) { s = s * 1664525u + 1013904223u; h[i] = s >> 20; }
  cudaMalloc(&xs, sizeof h);
  cudaMalloc(&out, sizeof h);
  cudaMemcpy(xs, h, sizeof h, cudaMemcpyHostToDevice);
  ${launch}
}`;

describe('loops that would take too long', () => {
  /** Requests of the loads of a line, and how the incomplete launch is told. */
  const check = (source: string, line: number, expected: number, tolerance = 0.02) => {
    const report = analyzeFile({
      path: 'test.cu',
      text: source,
      options: { computeCapability: '9.0', defines: new Map(), assume: new Map(), patience: 1 },
      include: () => undefined,
    });
    const [launch] = report.kernels[0].launches;
    const requests = launch.accesses.filter((a) => a.line === line).reduce((sum, a) => sum + a.requests, 0);
    assert.ok(Math.abs(requests / expected - 1) < tolerance, `${requests} instead of ${expected}`);
    assert.match(launch.incomplete ?? '', /passes of loops that were not executed are counted like those that were/);
  };

  it('count the passes that are left like those that were executed', () =>
    check(
      `
__global__ void walk(const int *xs, int *out, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    int sum = 0;
    for (int j = 0; j < n; j++) {
      sum += xs[j];
      if (sum % 5 == 0) out[i] = j;
    }
  }
}
${mainThat('walk<<<3, 512>>>(xs, out, 2048);')}`,
      6,
      // every warp of a block makes four rounds, and reads all in each
      3 * 16 * 4 * 2048,
    ));

  it('are counted in several blocks, which may have more or fewer passes', () =>
    check(
      `
__global__ void walk(const int *xs, int *out, int n) {
  int sum = 0;
  for (int j = 0; j < n + 64 * blockIdx.x; j++) {
    sum += xs[j % 2048];
    if (sum % 5 == 0) out[threadIdx.x] = j;
  }
}
${mainThat('walk<<<400, 32>>>(xs, out, 4096);')}`,
      5,
      400 * (4096 + 32 * 399),
      0.12,
    ));
});
