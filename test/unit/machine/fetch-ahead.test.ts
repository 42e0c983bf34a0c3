/** Shared loads behind an early exit join the aligned 16 bytes before it. */
import { check } from '../analysis/check-accesses';
import { checkLines } from './check-lines';

const rows = (between: string) => `
__global__ void rows(float *out, int n) {
  __shared__ float line[160];
  for (int k = threadIdx.x; k < 160; k += 32) line[k] = k;
  __syncthreads();
#pragma unroll
  for (int p = 0; p < 4; ++p) {
    int at = threadIdx.x * 4 + p;
    if (at >= n) break;
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 5; ++i) {
      sum += line[at + i];
EXPECTED
    }
    out[at] = sum;
    ${between}
  }
}
int main() { float *o; rows<<<1, 32>>>(o, 128); }
`;

describe('loads behind an early exit', () => {
  it('fill the 16 bytes that the loads before it began', () => {
    check(
      rows('').replace(
        'EXPECTED',
        '      //     ^^^^^^^^^^^^ shared load 16 bytes x2 8/8 wavefronts'.replace('8/8', '4/4'),
      ),
    );
  });

  it('stay where something is stored to shared memory between them', () => {
    check(rows('line[at] = 0;').replace('EXPECTED', '      //     ^^^^^^^^^^^^ shared load 2.5-way x5'));
  });
});

describe('the second word of a record behind a branch', () => {
  const second = (shown: string, arm: string, between = '') =>
    checkLines(
      `k(int *g, int n) {
  __shared__ Entry s[512];
  int i = 2 * threadIdx.x - (threadIdx.x & (n - 1));
  __syncthreads();
  if (s[i].key < n) { //= shared load 1 x ${shown}
    ${between}
    ${arm}
  }
}`,
      'struct Entry { int key, value; };',
    );

  it('is loaded with the first, however many branches stand between them', () => {
    second(
      '8 bytes',
      'g[i] = s[i].value; //= global store 1 x 4 bytes',
      '#pragma unroll\n for (int k = 1; k < 20; k++) if (n > 9 * k) atomicAdd(g + n * k, n); //= global atomic 1 x 4 bytes\n',
    );
  });

  it('is loaded with the first, whatever stands between them', () => {
    second('8 bytes', 'g[i] = s[i].value; //= global store 1 x 4 bytes');
    second('8 bytes', 'g[i] = s[i].value; //= global store 1 x 4 bytes', 'g[i + 1] = __shfl_xor_sync(~0u, i, 1);');
    second('8 bytes', 'if (g[i] > 4) s[i + 9].key = s[i].value; //= global load 1 x 4 bytes, shared store 1 x 4 bytes');
  });

  it('is not behind a store to shared memory or a fence', () => {
    second('4 bytes', 'g[i] = s[i].value; //= shared load 1 x 4 bytes, global store 1 x 4 bytes', 's[i + 1].key = 3;');
    second('4 bytes', 'g[i] = s[i].value; //= shared load 1 x 4 bytes, global store 1 x 4 bytes', '__syncwarp();');
  });
});

describe('loads in front of a branch and behind where its sides meet', () => {
  const pairs = (between: string, behind = 's[2 * i + 1]') => `
__global__ void k(const float* g, float* o, int n, int m) {
  __shared__ float s[256];
  int i = threadIdx.x;
  s[i] = g[i];
  __syncthreads();
  float left = s[2 * i];
//             ^^^^^^^^ shared load EXPECTED
  float right = left;
  ${between}
  o[i] = left + right + ${behind};
}
int main() { float *g, *o; cudaMalloc(&g, 1 << 20); cudaMalloc(&o, 1 << 20); k<<<1, 64>>>(g, o, 20, 40); }`;
  const one = (source: string) => check(source.replace('EXPECTED', '8 bytes x2 2/2 wavefronts'));
  const two = (source: string) => check(source.replace('EXPECTED', '2-way x2'));

  it('are one where the sides only compute, load and store to global memory', () => {
    one(pairs('if (i < n) right = s[2 * i + 2];'));
    one(
      pairs('if (i < n) { o[i + m] = left; o[i + 2 * m] = left; o[i + 3 * m] = left + 1; o[i + 4 * m] = left + 2; }'),
    );
    one(pairs('if (i < n) right = g[i] * left; else if (i < m) right = g[i + m] + left; else right = o[i + m];'));
    one(pairs('if (i < n) { atomicAdd(o + 5, left); o[i + m] = left; }'));
  });

  it('are two around a loop, a division, what orders memory and other words', () => {
    two(pairs('if (i < n) for (int j = 0; j < m; j++) right = right * left + g[j];'));
    two(pairs('if (i < n) right = g[i] / left;'));
    two(pairs('if (i < n) { o[i + m] = left; o[i + 2 * m] = left; o[i + 3 * m] = left; } __syncwarp();'));
    two(pairs('if (i < n) s[i + 128] = left;'));
    two(pairs('if (i < n) { o[i + m] = left; o[i + 2 * m] = left; o[i + 3 * m] = left; }', 's[2 * i + 3]'));
  });

  // machine code: the loop asks in front of it and at its end, and the first load behind its question is one of its own
  it('stay where a loop asks whether it ends between them', () => {
    check(`
struct Task { int id, op; };
__global__ void tasks(Task *queue, int *next, float *data, int n) {
  extern __shared__ int held[];
  int& drawn = held[0];
  Task *task = (Task*)&held[1];
  if (threadIdx.x == 0) drawn = *next, *task = queue[0];
  __syncthreads();
  while (drawn < n) {
    //   ^^^^^ shared load 4 bytes
    float *at = task->id + data;
    //          ^^^^^^^^ shared load 4 bytes
    if (task->op == 1) at[threadIdx.x] += 1;
    //  ^^^^^^^^ shared load 4 bytes
    __syncthreads();
    if (threadIdx.x == 0) drawn += *next;
    __syncthreads();
  }
}
int main() { Task *q; int *n; float *d; tasks<<<1, 32, 64>>>(q, n, d, 100); }
`);
  });
});
