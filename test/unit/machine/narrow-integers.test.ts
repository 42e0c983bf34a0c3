/** 64-bit integers of which only the low half is used have the values of 32-bit ones, where the whole would be beyond 2^53. */
import assert from 'node:assert/strict';
import { analyse } from '../analysis/check-accesses';

/** Whether the address of `o[index]` is known, for a 32-bit x and a 64-bit w of the launch. */
const check = (index: string, isKnown: boolean) => () => {
  const report = analyse(`__global__ void k(int *o, unsigned x, unsigned long w) { o[${index}] = 1; }
int main() { int *o; cudaMalloc(&o, 1 << 20); k<<<1, 32>>>(o, 4000000000u, 4000000000ul); }`);
  const [access] = report.kernels[0].launches[0].accesses;
  assert.equal(access.certainty !== 'unknown', isKnown, access.reason ?? 'known');
};

describe('integers of which the low half is used', () => {
  it('a product', check('(unsigned)(1812433253ul * (x ^ (x >> 30)) + threadIdx.x) % 1024', true));
  it('a mask in place of a conversion', check('(unsigned)((w * w + threadIdx.x) & 0xffffffff) % 1024', true));
  it('a shift to the left', check('(unsigned)((w << 30) ^ threadIdx.x) % 1024', true));
  it('and the upper one beside it, in a quotient', check('(unsigned)(w * w / 3 + threadIdx.x) % 1024', true));
  it('and in a shift to the right', check('(unsigned)((w * w) >> 32) % 1024', true));
  it('the value is that of 32 bits', () => {
    const report =
      analyse(`__global__ void k(int *o, unsigned x) { o[(unsigned)(1812433253ul * x) % 8 * threadIdx.x] = 1; }
int main() { int *o; cudaMalloc(&o, 1 << 20); k<<<1, 32>>>(o, 4000000001u); }`);
    // 1812433253 * 4000000001 mod 2^32 mod 8 is 5: the lanes stand 20 bytes apart
    assert.equal(report.kernels[0].launches[0].accesses[0].sectors, Math.ceil((31 * 20 + 4) / 32));
  });
});
