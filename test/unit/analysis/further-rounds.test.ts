/** A launch that the program comes to again finds other data, and counts other things. */
import assert from 'node:assert/strict';
import { analyzeFile } from '../../../server/src/analysis/analyze';
import { PATIENCE } from '../../../server/src/cli/options';
import { originText } from '../../../server/src/report/wording';

const reportOf = (source: string, patience: number) =>
  analyzeFile({
    path: 'test.cu',
    text: source,
    options: { computeCapability: '9.0', defines: new Map(), assume: new Map(), patience },
    include: () => undefined,
  });

/** Grid, times that it stands for and sectors stored, of each launch that is reported. */
function check(source: string, expected: readonly string[], patience = PATIENCE): void {
  const report = reportOf(source, patience);
  const shown = report.kernels.flatMap(({ launches }) =>
    launches.map(({ grid, rounds, accesses, templateArguments }) => {
      const stores = accesses.filter((a) => a.space === 'global' && a.operation === 'store');
      const sectors = stores.reduce((sum, a) => sum + a.sectors, 0);
      return `${templateArguments.join()}${grid[0]}: ${rounds?.join(' ')}: ${sectors}`;
    }),
  );
  assert.deepEqual(shown, expected);
}

const scatter = `
template <class T> __global__ void scatter(const int *at, T *out) { out[at[threadIdx.x]] = 1; }`;

describe('times that a program comes to a launch', () => {
  const passes = `${scatter}
int main() {
  int h[32], *at;
  float *out;
  cudaMalloc(&at, 128);
  cudaMalloc(&out, 1 << 20);
  for (int pass = 0; pass < 6; pass++) {
    int stride = pass < 4 ? 1 << pass : 1;
    for (int i = 0; i < 32; i++) h[i] = i * stride;
    cudaMemcpy(at, h, 128, cudaMemcpyHostToDevice);
    scatter<<<1, 32>>>(at, out);
  }
}`;

  it('are told apart by what they count', () => {
    check(passes, ['float1: 0 4 5: 4', 'float1: 1: 8', 'float1: 2: 16', 'float1: 3: 32']);
  });

  it('are told apart by what the host has put into constant memory', () => {
    check(
      `
__constant__ int pass;
__global__ void scatter(const int *at, float *out) {
  if (pass > 0) out[at[threadIdx.x] * pass] = 1;
  else out[at[threadIdx.x] * 8] = 1;
}
int main() {
  int h[32], *at;
  float *out;
  for (int i = 0; i < 32; i++) h[i] = i;
  cudaMalloc(&at, 128);
  cudaMalloc(&out, 1 << 20);
  cudaMemcpy(at, h, 128, cudaMemcpyHostToDevice);
  for (int p = 0; p < 3; p++) {
    cudaMemcpyToSymbol(pass, &p, sizeof(int));
    scatter<<<1, 32>>>(at, out);
  }
}`,
      ['1: 0: 32', '1: 1: 4', '1: 2: 8'],
    );
  });

  it('are warned of where no other time comes, and every one of them is bad', () => {
    const warnings = (stride: string) =>
      reportOf(
        `
__global__ void scatter(const int *at, const int *count, float *out) {
  if (count[0] > 0) out[at[threadIdx.x]] = 1;
}
int main() {
  int h[32], count = 0, *at, *n;
  float *out;
  cudaMalloc(&at, 128);
  cudaMalloc(&n, 4);
  cudaMalloc(&out, 1 << 20);
  for (int pass = 0; pass < 4; pass++) {
    for (int i = 0; i < 32; i++) h[i] = i * (${stride});
    cudaMemcpy(at, h, 128, cudaMemcpyHostToDevice);
    cudaMemcpy(n, &count, 4, cudaMemcpyHostToDevice);
    scatter<<<1, 32>>>(at, n, out);
    count++;
  }
}`,
        PATIENCE,
      ).diagnostics.flatMap(({ line, severity }) => (severity === 'warning' ? [line] : []));
    assert.deepEqual(warnings('4'), [3]);
    assert.deepEqual(warnings('1 + pass'), [3]);
    assert.deepEqual(warnings('pass == 3 ? 1 : 4'), []);
    // the first time comes there, and it is in order
    assert.deepEqual(warnings('1'), []);
  });

  it('are warned of where all of them together are bad, whatever the first is', () => {
    const warnings = (stride: string) =>
      reportOf(passes.replace('pass < 4 ? 1 << pass : 1', stride), PATIENCE).diagnostics.flatMap(
        ({ line, severity, related }) => (severity === 'warning' ? [line, related.at(-1)?.message] : []),
      );
    assert.deepEqual(warnings('pass < 4 ? 1 << pass : 1'), [
      2,
      'scatter<float> launched here with grid 1, block 32, time 4',
    ]);
    assert.deepEqual(warnings('pass == 0 ? 1 : 4'), [
      2,
      'scatter<float> launched here with grid 1, block 32, times 2, 3, 4, 5 and 6',
    ]);
    // one time in six is twice as bad
    assert.deepEqual(warnings('pass == 3 ? 2 : 1'), []);
  });

  it('that are too many are told with the nearest that was executed', () => {
    const many = passes.replace('pass < 6', 'pass < 30').replace('pass < 4 ? 1 << pass : 1', '1 + pass % 27');
    const [{ launches }] = reportOf(many, PATIENCE).kernels;
    const rounds = launches.map(({ rounds: times = [] }) => times);
    assert.deepEqual(
      rounds.flat().sort((a, b) => a - b),
      Array.from({ length: 30 }, (_, i) => i),
    );
    // the same data as the first, second and third time
    for (const again of [27, 28, 29])
      assert.ok(rounds.some((times) => times.includes(again - 27) && times.includes(again)));
    // of the others none that is far away
    assert.ok(rounds[0].every((time) => time < 2 || time >= 27));
  });

  it('with other numbers are told with none where there is no room for them', () => {
    const network = `
__global__ void exchange(float *data, int stride) {
  int at = threadIdx.x, other = at ^ stride;
  if (other > at && data[at] > data[other]) data[at] = data[other];
}
int main() {
  float h[64], *data;
  for (int i = 0; i < 64; i++) h[i] = 64 - i;
  cudaMalloc(&data, 256);
  cudaMemcpy(data, h, 256, cudaMemcpyHostToDevice);
  for (int round = 0; round < 40; round++) exchange<<<1, 64>>>(data, round + 1);
}`;
    const told = reportOf(network, PATIENCE).kernels.flatMap(({ launches }) =>
      launches.map(({ rounds, assumptions }) => ({
        rounds,
        stride: assumptions.find((a) => a.name === 'stride')?.value,
      })),
    );
    const wrong = told.filter(({ rounds = [], stride }) => rounds.some((round) => stride !== round + 1));
    assert.deepEqual(wrong, []);
  });
  it('are named', () => {
    const [{ launches }] = reportOf(passes, PATIENCE).kernels;
    assert.deepEqual(launches.map(originText), [
      'launched in line 12, times 1, 5 and 6',
      'launched in line 12, time 2',
      'launched in line 12, time 3',
      'launched in line 12, time 4',
    ]);
  });

  it('are those with as much dynamic shared memory', () => {
    check(passes.replace('scatter<<<1, 32>>>', 'scatter<<<1, 32, pass % 3 == 2 ? 64 : 128>>>'), [
      'float1: 0 3: 4',
      'float1: 0: 16',
      'float1: 1: 8',
      'float1: 2: 32',
      'float1: 1: 4',
    ]);
  });

  it('may be at other places', () => {
    const places = `${scatter}
int main() {
  int h[32], *at;
  float *out;
  cudaMalloc(&at, 128);
  cudaMalloc(&out, 1 << 20);
  for (int i = 0; i < 32; i++) h[i] = i;
  cudaMemcpy(at, h, 128, cudaMemcpyHostToDevice);
  scatter<<<1, 32>>>(at, out);
  scatter<<<1, 32>>>(at, out);
  for (int i = 0; i < 32; i++) h[i] = i * 8;
  cudaMemcpy(at, h, 128, cudaMemcpyHostToDevice);
  scatter<<<1, 32>>>(at, out);
}`;
    check(places, ['float1: 0 1: 4', 'float1: 2: 32']);
    const [{ launches }] = reportOf(places, PATIENCE).kernels;
    assert.deepEqual(
      launches.map(({ line }) => line),
      [10, 14],
    );
  });

  it('are the first for an editor', () => {
    check(passes, ['float1: undefined: 4'], 1);
  });

  it('are those of the instance of a template', () => {
    check(
      `${scatter}
template <class T> void run(int stride) {
  int h[32], *at;
  T *out;
  cudaMalloc(&at, 128);
  cudaMalloc(&out, 1 << 20);
  for (int i = 0; i < 32; i++) h[i] = i * stride;
  cudaMemcpy(at, h, 128, cudaMemcpyHostToDevice);
  scatter<T><<<1, 32>>>(at, out);
}
int main() { run<float>(1); run<double>(8); run<float>(2); }`,
      ['float1: 0: 4', 'double1: 0: 32', 'float1: 1: 8'],
    );
  });

  it('are not those of another number, where the program comes to one instance alone', () => {
    check(
      `
template <int N> __global__ void even(const int *at, float *out) { out[at[threadIdx.x] * N] = 1; }
template <int N> __global__ void odd(const int *at, float *out) { out[at[threadIdx.x] * N + 1] = 1; }
template <int N> void run(bool isEven, const int *at, float *out) {
  if (isEven) even<N><<<1, 32>>>(at, out);
  else odd<N><<<1, 32>>>(at, out);
}
int main() {
  std::map<int, int> sizes;
  for (int i = 0; i < 32; i++) sizes[i % 6] = i;
  int h[32], *at;
  float *out;
  cudaMalloc(&at, 128);
  cudaMalloc(&out, 1 << 20);
  for (int i = 0; i < 32; i++) h[i] = i;
  cudaMemcpy(at, h, 128, cudaMemcpyHostToDevice);
  run<1>(sizes.size() % 2 == 0, at, out);
  run<8>(sizes.size() % 2 == 1, at, out);
}`,
      ['11: 0: 4', '81: undefined: 0', '11: undefined: 0', '81: 0: 32'],
    );
  });

  it('may have a size that only the data before them tell', () => {
    check(
      `
__global__ void grow(const int *from, int *count) { if (threadIdx.x < from[0]) atomicAdd(count, 3); }
__global__ void use(const int *size, float *out) { out[(blockIdx.x * 32 + threadIdx.x) * size[0]] = 1; }
int main() {
  int n = 1, *size, *next;
  float *out;
  cudaMalloc(&size, 4);
  cudaMalloc(&next, 4);
  cudaMalloc(&out, 1 << 20);
  while (n < 20) {
    cudaMemcpy(size, &n, 4, cudaMemcpyHostToDevice);
    use<<<n, 32>>>(size, out);
    cudaMemset(next, 0, 4);
    grow<<<1, 32>>>(size, next);
    cudaMemcpy(&n, next, 4, cudaMemcpyDeviceToHost);
  }
}`,
      ['1: 0 1 2: 0', '1: 0: 4', '3: 0: 36', '9: 0: 288'],
    );
  });

  it('are not followed where the order of the blocks decides what they find', () => {
    check(
      `
__global__ void relax(const int *from, const int *to, int *least) {
  int e = blockIdx.x * 32 + threadIdx.x;
  int next = least[from[e]] + 1;
  if (next < least[to[e]]) atomicMin(&least[to[e]], next);
}
int main() {
  int f[128], t[128], d[129], *from, *to, *least;
  for (int i = 0; i < 128; i++) { f[i] = i; t[i] = i + 1; }
  for (int i = 0; i < 129; i++) d[i] = i ? 1000 : 0;
  cudaMalloc(&from, 512);
  cudaMalloc(&to, 512);
  cudaMalloc(&least, 516);
  cudaMemcpy(from, f, 512, cudaMemcpyHostToDevice);
  cudaMemcpy(to, t, 512, cudaMemcpyHostToDevice);
  cudaMemcpy(least, d, 516, cudaMemcpyHostToDevice);
  for (int pass = 0; pass < 5; pass++) relax<<<4, 32>>>(from, to, least);
}`,
      ['4: 0 1 2 3 4: 0'],
    );
  });

  it('rounds that begin at other bytes of a line are told apart', () => {
    check(
      `
__global__ void part(const int *at, float *out) { if (at[threadIdx.x] > 0) out[threadIdx.x] = 1; }
int main() {
  int h[1024];
  for (int i = 0; i < 1024; i++) h[i] = i % 2;
  int *at; float *out;
  cudaMalloc(&at, 4096);
  cudaMalloc(&out, 4096);
  cudaMemcpy(at, h, 4096, cudaMemcpyHostToDevice);
  for (int i = 0; i < 3; i++) part<<<1, 32>>>(at, out + 100 * i + i);
}`,
      ['1: 0: 4', '1: 1: 5', '1: 2: 5'],
    );
  });

  it('are told where only the run knows the numbers, and no data count', () => {
    check(
      `
#include <map>
__global__ void fill(float *out, int n) { if (threadIdx.x < n) out[threadIdx.x] = 1; }
struct Layer { int width; void run(float *out) { fill<<<1, 32>>>(out, width); } };
int main() {
  std::map<int, Layer> layers;
  for (int i = 1; i <= 3; i++) layers[i] = Layer{8 * i};
  float *out;
  cudaMalloc(&out, 4096);
  for (int pass = 0; pass < 2; pass++)
    for (auto &[name, layer] : layers) layer.run(out);
}`,
      ['1: 0 3: 1', '1: 1 4: 2', '1: 2 5: 3'],
    );
  });

  it('of which less is known are told with one of which more is', () => {
    check(
      `${scatter}
int main() {
  int h[32], *at;
  float *out;
  cudaMalloc(&at, 128);
  cudaMalloc(&out, 1 << 20);
  for (int i = 0; i < 32; i++) h[i] = i * 2;
  for (int pass = 0; pass < 3; pass++) {
    cudaMemcpy(at, h, 128, cudaMemcpyHostToDevice);
    scatter<<<1, 32>>>(at, out);
    not_in_this_file(h);
  }
}`,
      ['float1: 0 1 2: 8'],
    );
  });
});
