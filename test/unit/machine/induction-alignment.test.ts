/** Elements that the copies of a loop read one behind the other: merged as far as their register is aligned. */
import { check } from '../analysis/check-accesses';

const kernel = (index: string, expected: string, { pragma = '', declared = '__shared__ float s[4096];' } = {}) => {
  const carets = '^'.repeat(index.length);
  return check(`
__global__ void rows(const float *in, float *out, int n) {
  ${declared}
  int t = threadIdx.x;
  for (int k = t; k < 4096; k += blockDim.x) s[k] = in[k];
  __syncthreads();
  float sum = 0;
  ${pragma}
  for (int c = 0; c < n; c++)
    sum += ${index};
    //     ${carets} shared load ${expected}
  out[t] = sum;
}
int main() { float *i, *o; rows<<<1, 32>>>(i, o, 64); }
`);
};

describe('elements of a row in a loop written out in fours', () => {
  it('are read by twos: the register points at the third of them', () => kernel('s[t * 64 + c]', '8 bytes x32'));

  it('are read by fours where the array is fixed', () => kernel('s[c]', '16 bytes x16'));

  it('are read by fours where the array promises its alignment', () =>
    kernel('s[t * 64 + c]', '16 bytes x16', { declared: '__shared__ __align__(16) float s[4096];' }));

  it('are read by fours in eights, where a pragma asks for them', () =>
    kernel('s[t * 64 + c]', '16 bytes x16', { pragma: '#pragma unroll 8' }));

  it('are read one by one in twos', () => kernel('s[t * 64 + c]', '4 bytes x64', { pragma: '#pragma unroll 2' }));
});

describe('a pragma on a loop of unknown length', () => {
  it('makes as many copies as it says: neighbours of a fixed array merge', () =>
    kernel('s[c]', '8 bytes x32', { pragma: '#pragma unroll 2' }));

  it('makes four where it says all', () => kernel('s[c]', '16 bytes x16', { pragma: '#pragma unroll' }));

  it('makes one where it says one', () => kernel('s[c]', '4 bytes x64', { pragma: '#pragma unroll 1' }));
});

describe('bytes of shared memory', () => {
  const bytes = (body: string, expected: string) =>
    check(
      `
__global__ void lookUp(const unsigned char *in, const unsigned char *table, int *out) {
  extern __shared__ unsigned char all[];
  unsigned char *s = all + 16 * threadIdx.x;
  for (int k = 0; k < 16; k++) s[k] = in[k];
  __syncthreads();
  int sum = 0;
  for (int k = 0; k < 16; k++)
    sum += ${body};
EXPECTED
  out[threadIdx.x] = sum;
}
int main() { unsigned char *i; int *o; lookUp<<<1, 32, 512>>>(i, i, o); }
`.replace('EXPECTED', `    //${' '.repeat(5 + body.indexOf('s[k]'))}^^^^ shared load ${expected}`),
    );

  it('are read together', () => bytes('table[s[k]]', '16 bytes'));
  it('are read one by one where inline assembly stands between them, as of __ldg', () =>
    bytes('__ldg(table + s[k])', '1 bytes'));
});

/** A record of two floats in shared memory, read in a loop; `expected` for each of the two loads. */
const records = (loop: string, carets: string, { declared = '__shared__ C s[1024];', more = '' } = {}) =>
  check(`
struct C { float re, im; };
__global__ void squares(const C *in, float *out, int n) {
  ${declared}
  int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  float sum = 0;
  #pragma unroll 1
  ${loop} {
    C c = s[i];
    //    ${carets}
    sum += c.re * c.im;
    ${more}
  }
  out[t] = sum;
}
int main() { C *i; float *o; squares<<<1, 32>>>(i, o, 32); }
`);

describe('records in a loop whose counter moves by a constant', () => {
  it('are read member by member: the register points at the last member', () => {
    records('for (int i = t; i < n; i += 32)', '^^^^ shared load 4 bytes 2/1 wavefronts x2');
    records('for (unsigned i = threadIdx.x; i < n; i += 32)', '^^^^ shared load 4 bytes x2');
    records('for (int i = n + t; i >= 32; i -= 32)', '^^^^ shared load 4 bytes x2');
  });

  it('two of them are read as records again: the register points at the second', () =>
    records('for (int i = t; i < n; i += 32)', '^^^^ shared load 8 bytes x1', {
      more: 'sum += s[i + 1].re * s[i + 1].im;',
    }));

  it('are read at once where the address is computed anew in every pass', () => {
    records('for (int i = t; i < n; i += blockDim.x)', '^^^^ shared load 8 bytes x1');
    records('for (int k = t, i = k ^ 1; k < n; k += 32, i = k ^ 1)', '^^^^ shared load 8 bytes x1');
  });

  it('are read at once where the counter runs through a fixed array', () =>
    records('for (int i = 0; i < n; i++)', '^^^^ shared load 8 bytes x32'));

  it('are read at once where the array promises its alignment, or is dynamic', () => {
    const loop = 'for (int i = t; i < n; i += 32)';
    records(loop, '^^^^ shared load 8 bytes x1', { declared: '__shared__ __align__(8) C s[1024];' });
    records(loop, '^^^^ shared load 8 bytes x1', { declared: 'extern __shared__ C s[];' });
  });

  it('what is left over of a loop written out in fours is such a loop', () =>
    check(`
struct C { float re, im; };
__global__ void fill(const float *in, float *out) {
  __shared__ C s[512];
  int t = threadIdx.x;
  for (int i = t; i < 512; i += 256)
    s[i] = {in[i], 0};
  //^^^^ shared store 4 bytes 2/1 wavefronts x32
  __syncthreads();
  out[t] = s[511 - t].re;
}
int main() { float *i, *o; fill<<<1, 256>>>(i, o); }
`));
});

describe('records of 16 bytes that loops copy into shared memory', () => {
  const copying = (a: string, b: string) => (rows: string) =>
    check(`
struct Point { float x, y, z, w; };
__global__ void stage(const Point *in, float *out, int n) {
  __shared__ Point a[640], b[640];
  int t = threadIdx.x;
  float sum = 0;
  ${rows
    .replace(
      'COPY_A',
      `#pragma unroll 1\n  for (int i = t; i < n; i += 32)\n      a[i] = in[i];\n    ${a}\n  __syncthreads();`,
    )
    .replace(
      'COPY_B',
      `#pragma unroll 1\n  for (int i = t; i < n; i += 32)\n      b[i] = in[i];\n    ${b}\n  __syncthreads();`,
    )}
  out[t] = sum + a[n - 1].x + b[n - 1].y;
}
int main() { Point *i; float *o; stage<<<1, 32>>>(i, o, 32); }
`);
  const HALVES = '//^^^^ shared store 8 bytes';
  const WHOLE = '//^^^^ shared store 16 bytes';
  const around = (body: string) => `for (int k = 0; k < n; k++) { ${body} sum += a[k].z; __syncthreads(); }`;

  it('alone, or one behind the other: in halves', () => copying(HALVES, HALVES)('COPY_A COPY_B'));
  it('in front of loops within each other: as a whole', () => copying(WHOLE, HALVES)(`COPY_A ${around('COPY_B')}`));
  it('behind them: in halves, and so is what is copied in them', () =>
    copying(HALVES, HALVES)(`${around('COPY_A')} COPY_B`));
  it('of two within a loop the first: in halves', () => copying(HALVES, WHOLE)(around('COPY_A COPY_B')));
});
