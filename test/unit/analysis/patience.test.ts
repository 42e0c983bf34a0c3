/** The command line executes long loops further than the editor does. */
import assert from 'node:assert/strict';
import { analyzeFile } from '../../../server/src/analysis/analyze';

/** Masks differ from pass to pass: nothing can be skipped. */
const text = `
__global__ void wave(float *out) {
  __shared__ float cells[1024];
  for (int d = 0; d < 6000; ++d) {
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
  assert.equal(launch.incomplete === undefined, isWhole, launch.incomplete);
}

describe('patience', () => {
  it('carries through loops that an editor does not wait for', () => {
    check(1, false);
    check(8, true);
  });
});
