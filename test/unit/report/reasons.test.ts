/** Why a figure is not exact, in a sentence that fits a hover. */
import assert from 'node:assert/strict';
import { analyse } from '../analysis/check-accesses';

const reasonOf = (elements: number): string => {
  const report = analyse(`
struct Rows { int start[${elements}]; };
__global__ void gather(Rows rows, const float* in, float* out) {
  int sum = 0;
  #pragma unroll
  for (int i = 0; i < ${elements}; i++) sum += rows.start[i];
  out[threadIdx.x] = in[sum + threadIdx.x];
}
// warplens: block=64
`);
  const load = report.kernels[0].launches[0].accesses.find((a) => a.expression.startsWith('in['));
  return load?.reason ?? '';
};

describe('the reason of a figure', () => {
  it('names what was assumed', () => {
    assert.match(reasonOf(2), /rests on assumed rows\.start\.0 = \d+, rows\.start\.1 = \d+/);
  });
  it('names some where they are many, and says how many more there are', () => {
    const reason = reasonOf(40);
    assert.match(reason, /rows\.start\.5 = \d+ and 3[45] more/);
    assert.doesNotMatch(reason, /start\.6/);
  });

  it('says that the program takes its seed from the time', () => {
    const accesses = (seed: string) =>
      analyse(`
__global__ void gather(const int* at, const float* in, float* out, int n) {
  int i = threadIdx.x;
  if (i < n) out[i] = in[at[i]];
}
int main() {
  srand(${seed});
  int h[64];
  for (int& x : h) x = rand() % 64;
  int* at;
  float *in, *out;
  cudaMalloc(&at, sizeof h);
  cudaMalloc(&in, 256);
  cudaMalloc(&out, 256);
  cudaMemcpy(at, h, sizeof h, cudaMemcpyHostToDevice);
  gather<<<1, 64>>>(at, in, out, 64 + rand() % 2);
}
`).kernels[0].launches[0].accesses;
    const reason = (seed: string, expression: string) =>
      accesses(seed).find((a) => a.expression === expression)?.reason ?? '';
    assert.match(reason('time(NULL)', 'in[at[i]]'), /data that main fills in.*drawn with an assumed seed/);
    assert.match(reason('time(NULL)', 'at[i]'), /rests on assumed random seed = 20261/);
    assert.doesNotMatch(reason('7', 'in[at[i]]'), /seed/);
    assert.equal(reason('7', 'at[i]'), '');
  });
});
