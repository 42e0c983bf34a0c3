import { check } from '../analysis/check-accesses';

/** Each expectation is what nvcc 13.0 made of the same kernel: how many of the four sectors of a warp are read. */
const reads = (load: 'a[i]' | 'q[i]', use: string, sectors: number) => () =>
  check(`
__global__ void k(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ z, float *q, int n) {
  int i = threadIdx.x;
  float x = ${load};
  //        ^^^^ global load ${sectors}/${sectors} sectors
  ${use}
}
int main() { float *a, *b, *z, *q; k<<<1, 32>>>(a, b, z, q, 7); }
`);

describe('a load that one side of a branch needs', () => {
  it('is made there', reads('a[i]', 'if (i < 7) z[i] = x;', 1));
  it('behind a return', reads('a[i]', 'if (i >= n) return; z[i] = x * 2;', 1));
  it(
    'with what is computed of it',
    reads('a[i]', 'float y = sqrtf(x) + 1; if (i < 7) z[i] = y; else z[i + 40] = 2;', 1),
  );
  it('on a side of a side', reads('a[i]', 'if (i < 17) { z[i] = 1; if (i < 7) z[i + 40] = x; }', 1));
  it('past a store to other bytes', reads('q[i]', 'q[i + 64] = 3; if (i < 7) z[i] = x;', 1));
});

describe('a load stays in front of a branch', () => {
  it('that both sides need', reads('a[i]', 'if (i < 7) z[i] = x; else z[i + 40] = x;', 4));
  it('behind which it is needed', reads('a[i]', 'if (i < 7) z[i] = x; z[i + 40] = x;', 4));
  it(
    'that does not follow right behind it',
    reads('a[i]', 'if (i < 7) z[i] = 2; z[i + 40] = 7; if (i < 9) z[i + 90] = x;', 4),
  );
  it('with a barrier between them', reads('a[i]', '__syncthreads(); if (i < 7) z[i] = x;', 4));
  it('with a store between them that may go there', reads('q[i]', 'q[n] = 3; if (i < 7) z[i] = x;', 4));
  it('where a product of it is summed up', reads('a[i]', 'float y = x * 3 + b[i]; if (i < 7) z[i] = y;', 4));
  it(
    'where a loop on the side needs it',
    reads('a[i]', 'if (i < 7) for (int k = 0; k < n; k++) z[i + k * 32] = x + k;', 4),
  );
});
