/** Loops from a number that is not known, but not negative, to a constant. */
import assert from 'node:assert/strict';
import { analyse } from '../analysis/check-accesses';

/** Compares requests and lanes of the store of a loop, of one warp, with those of nvcc's machine code. */
const check = (loop: string, expected: string) => () => {
  const { kernels } = analyse(`__global__ void clear(float *s, int n) {
  const int lane = threadIdx.x & 31;
  ${loop} s[i] = 0;
}
int main() { float *s; clear<<<1, 32>>>(s, 7); }`);
  const [{ requests, activeLanes }] = kernels[0].launches[0].accesses;
  assert.equal(`${requests} requests, ${activeLanes} lanes`, expected);
};

describe('loops from an open start', () => {
  it(
    'are written out by a pragma: lanes stay together',
    check('#pragma unroll\nfor (int i = lane; i < 256; i += 8)', '32 requests, 976 lanes'),
  );
  it('up to 64 passes', check('#pragma unroll\nfor (int i = lane; i < 640; i += 10)', '64 requests, 2012 lanes'));
  it(
    'beyond that the rest is made in front of four passes at once',
    check('#pragma unroll\nfor (int i = lane; i < 650; i += 10)', '67 requests, 2044 lanes'),
  );
  it(
    'stay loops without one where they have no more than 20',
    check('for (int i = lane; i < 200; i += 10)', '20 requests, 604 lanes'),
  );
  it(
    'and are written in fours where they have more',
    check('for (int i = lane; i < 210; i += 10)', '23 requests, 636 lanes'),
  );
  it(
    'that may be negative are written in fours',
    check('for (int i = lane + n - 7; i < 200; i += 10)', '23 requests, 604 lanes'),
  );
  it(
    'of unsigned variables are written out too',
    check('#pragma unroll\nfor (unsigned i = lane + n - 7; i < 200; i += 10)', '20 requests, 604 lanes'),
  );
  it('that double stay loops with a pragma too, and what they number is in memory', () => {
    const { kernels } = analyse(`__global__ void clear(float *s) {
  float v[8];
  int k = 0;
#pragma unroll
  for (int i = (threadIdx.x & 31) + 1; i < 64; i *= 2) v[k++] = s[i];
  s[0] = v[0] + v[1];
}
int main() { float *s; clear<<<1, 32>>>(s); }`);
    const stores = kernels[0].launches[0].accesses.filter((a) => a.operation === 'store');
    assert.deepEqual(stores.map(({ space }) => space).sort(), ['global', 'local']);
  });
});
