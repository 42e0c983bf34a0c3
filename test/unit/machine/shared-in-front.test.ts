/** Which line a load from shared memory bears that leaves a loop over the threads of a block. Line tables of nvcc 13.0 for sm_90 say the same of every kernel here. */
import { checkLines } from './check-lines';

const load = 'shared load 1 x 4 bytes';

/** A loop over the threads of a block behind a barrier, with a number of shared memory that stays. */
const k = (before: string, head: string, body: string): string => `k(const float *in, float *out, int n) {
  __shared__ float s[256];
  s[threadIdx.x] = in[threadIdx.x];
  ${before}
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) //= ${head}
    ${body}
}`;

describe('a number of shared memory that every pass reads', () => {
  it('is shown at what the pointer is fetched for that is not fetched yet', () => {
    checkLines(k('', 'none', `out[i] = in[i] - s[0]; //= ${load}, global load 1 x 4 bytes, global store 1 x 4 bytes`));
    checkLines(
      k('', 'none', `out[i] = expf(out[i] - s[i % 1]); //= ${load}, global load 1 x 4 bytes, global store 1 x 4 bytes`),
    );
    checkLines(k('', 'none', `atomicAdd(&out[i], s[0]); //= ${load}, global atomic 1 x 4 bytes`));
  });

  it('is shown where the index of the block stands that is multiplied in front of the loop', () =>
    checkLines(
      k(
        `int row = blockIdx.x; //= ${load}`,
        'none',
        'out[row * n + i] = in[row * n + i] - s[0]; //= global load 1 x 4 bytes, global store 1 x 4 bytes',
      ),
    ));

  it('is shown where the index of the block is multiplied, if the loop alone reads it', () =>
    checkLines(
      k(
        'for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = in[blockIdx.x * n + i];',
        'none',
        `out[blockIdx.x * n + i] = in[blockIdx.x * n + i] - s[0]; //= ${load}, global load 1 x 4 bytes, global store 1 x 4 bytes`,
      ),
    ));

  it('is shown at the head where something is computed of it in front of the loop, or the step is', () => {
    checkLines(k('float v = in[threadIdx.x + 32];', load, 'out[i] = v - s[0]; //= global store 1 x 4 bytes'));
    checkLines(
      `k(const float *in, float *out, int n) {
  __shared__ float s[256];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int i = blockIdx.x * 32 + threadIdx.x; i < n; i += gridDim.x * 32) //= ${load}
    out[i] = in[i] - s[0]; //= global load 1 x 4 bytes, global store 1 x 4 bytes
}`,
    );
  });
});
