/** Facts of the founding documents, asked of the whole way: source in, figures out. */
import assert from 'node:assert/strict';
import { analyse, check } from './check-accesses';

const column = (dimensions: string, block = '32') => `
// warplens: block=${block} grid=1
__global__ void k(float* out) {
  __shared__ float tile${dimensions};
  tile[threadIdx.y][threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x][threadIdx.y];`;

describe('seed facts: shared memory', () => {
  it('B5: a column of [32][32] floats is 32-way, of [32][33] free', () => {
    check(`${column('[32][32]', '(32,32)')}
  //                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ shared load 32-way exact
}`);
    check(`${column('[32][33]', '(32,32)')}
  //                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ shared load 1-way exact
}`);
  });

  it('B6: a column of a 16-wide tile is 16-way on 1.x, padded free', () => {
    check(
      `${column('[16][16]', '(16,16)')}
  //                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ shared load 16-way
}`,
      { cc: '1.3' },
    );
    check(
      `${column('[16][17]', '(16,16)')}
  //                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ shared load 1-way
}`,
      { cc: '1.3' },
    );
  });

  const strided = (stride: number, ways: number) => `
// warplens: block=256 grid=1
__global__ void k(float* out) {
  __shared__ float s[256 * ${stride}];
  s[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x * ${stride}];
  //                 ${'^'.repeat(`s[threadIdx.x * ${stride}]`.length)} shared load ${ways}-way
}`;
  const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));

  it('B2: s[tid * c] conflicts gcd(c, 32) ways from 2.0, gcd(c, 16) on 1.x', () => {
    for (const c of [1, 2, 3, 4, 5, 6, 7, 8, 12, 16]) {
      check(strided(c, gcd(c, 32)));
      check(strided(c, gcd(c, 16)), { cc: '1.1' });
    }
    check(strided(32, 32));
  });

  it('B3: s[tid + offset] never conflicts', () => {
    for (const offset of [1, 7, 16, 31]) {
      check(`
// warplens: block=64 grid=1
__global__ void k(float* out) {
  __shared__ float s[128];
  s[threadIdx.x] = 0;
  out[threadIdx.x] = s[threadIdx.x + ${offset}];
  //                 ${'^'.repeat(`s[threadIdx.x + ${offset}]`.length)} shared load 1-way
}`);
    }
  });

  it('B7: lanes on one word, or on bytes of one word, do not conflict', () => {
    check(`
// warplens: block=64 grid=1
__global__ void k(char* out) {
  __shared__ char s[64];
  s[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x / 4] + s[threadIdx.x];
  //                 ^^^^^^^^^^^^^^^^^^ shared load 1-way
  //                                      ^^^^^^^^^^^^^^ shared load 1-way 1 bytes
}`);
  });

  it('B10, B11: on 1.x a struct of 3 floats is free, one of 2 floats 2-way', () => {
    const source = (members: string, last: string, ways: number) => `
struct S { float ${members}; };
// warplens: block=64 grid=1
__global__ void k(float* out) {
  __shared__ S s[64];
  s[threadIdx.x].x = 1;
  __syncthreads();
  out[threadIdx.x] = s[63 - threadIdx.x].${last};
  //                 ^^^^^^^^^^^^^^^^^^^^^ shared load ${ways}-way
}`;
    check(source('x, y, z', 'z', 1), { cc: '1.3' });
    check(source('x, y', 'y', 2), { cc: '1.3' });
  });
});

describe('seed facts: global memory', () => {
  it('C6, C8: 32 consecutive words are 4 sectors aligned, 5 shifted', () => {
    check(`
// warplens: block=32 grid=1
__global__ void k(float* out, const float* in) {
  out[threadIdx.x] = in[threadIdx.x + 1];
  //                 ^^^^^^^^^^^^^^^^^^^ global load 5/4 sectors
}`);
  });

  it('C2, C5: on 1.0 a shifted copy takes 16 transactions a half-warp', () => {
    const report = analyse(
      `
// warplens: block=32 grid=1
__global__ void k(float* out, const float* in) { out[threadIdx.x] = in[threadIdx.x + 1]; }`,
      { cc: '1.0' },
    );
    const load = report.kernels[0].launches[0].accesses.find((a) => a.operation === 'load');
    assert.equal(load?.transactions, 32);
  });

  it('C13: a struct of 5 floats is read member by member', () => {
    check(`
struct P { float a, b, c, d, e; };
// warplens: block=32 grid=1
__global__ void k(float* out, const P* in) {
  P p = in[threadIdx.x];
  //    ^^^^^^^^^^^^^^^ global load 20/4 sectors x5 4 bytes
  out[threadIdx.x] = p.a + p.b + p.c + p.d + p.e;
}`);
  });

  it('C13: with __align__(16) its first four members are one access', () => {
    check(`
struct __align__(16) P { float a, b, c, d, e; };
// warplens: block=32 grid=1
__global__ void k(float* out, const P* in) {
  P p = in[threadIdx.x];
  //    ^^^^^^^^^^^^^^^ global load x2 16 bytes
  out[threadIdx.x] = p.a + p.b + p.c + p.d + p.e;
}`);
  });

  it('dead members are not read', () => {
    check(`
struct P { float a, b, c; };
// warplens: block=32 grid=1
__global__ void k(float* out, const P* in) {
  P p = in[threadIdx.x];
  //    ^^^^^^^^^^^^^^^ global load 12/4 sectors x1
  out[threadIdx.x] = p.b;
}`);
  });
});
