/**
 * Which loops of an open number of passes NVVM writes out: those whose passes it can count. Lanes make different numbers of passes here: in a loop that stays as it is a warp
 * asks once for every pass that any lane makes, in one that is written out once for the single passes and once for the fours.
 */
import { check } from '../analysis/check-accesses';
import { equals } from './check-index';

/** Lane t makes 32 - t passes, or half as many. */
const ramp = (head: string, expected: string, behind = '') =>
  check(`
__global__ void ramp(const float *in, float *out, int n, unsigned size, int step, unsigned stride, unsigned long long total) {
  __shared__ float line[64];
  line[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  float sum = 0;
  ${head}
    sum += line[i];
    //     ^^^^^^^ shared load ${expected}
  ${behind}
  out[threadIdx.x] = sum;
}
int main() { float *i, *o; ramp<<<1, 32>>>(i, o, 32, 32, 1, 1, 32); }
`);

const STAYS = 'x32';
const WRITTEN_OUT = 'x35';

describe('a loop whose step is a variable', () => {
  it('is written out where the sum is of signed numbers', () =>
    ramp('for (int i = threadIdx.x; i < n; i += step)', WRITTEN_OUT));
  it('stays where the sum is of unsigned numbers', () => ramp('for (int i = threadIdx.x; i < n; i += stride)', STAYS));
  it('is written out where the variable is wider than both', () =>
    ramp('for (long long i = threadIdx.x; i < n; i += stride)', WRITTEN_OUT));
  it('stays where an index itself grows by the size of the grid itself', () =>
    ramp('for (long long i = threadIdx.x; i < n; i += gridDim.x)', STAYS));
});

describe('a loop whose step is constant', () => {
  it('stays where an unsigned variable may step over its bound', () =>
    ramp('for (unsigned i = threadIdx.x; i < size; i += 2)', 'x16'));
  it('stays where an int is compared with a size_t', () => ramp('for (int i = threadIdx.x; i < total; i++)', STAYS));
  it('stays where the bound itself may be the largest number', () => {
    ramp('for (unsigned i = threadIdx.x; i <= size; i++)', 'x33');
    ramp('for (int i = threadIdx.x; i <= n; i += 2)', 'x17');
  });
  it('is written out all the same where a mask keeps the start from being negative', () =>
    ramp('for (int i = threadIdx.x & 31; i <= n; i += 2)', 'x31'));
});

describe('a loop of constant length', () => {
  it('is one where the test looks ahead', () => {
    const four = (test: string) =>
      check(`
__global__ void four(const float *in, float *out) {
  __shared__ float line[128];
  for (int i = 0; i < 4; i++) line[32 * i + threadIdx.x] = in[32 * i + threadIdx.x];
  __syncthreads();
  float sum = 0;
  for (int k = 0; ${test}; k++)
    sum += line[4 * threadIdx.x + k];
    //     ^^^^^^^^^^^^^^^^^^^^^^^^^ shared load 16 bytes
  out[threadIdx.x] = sum;
}
int main() { float *i, *o; four<<<1, 32>>>(i, o); }
`);
    four('k < 4');
    four('k + 1 <= 4');
    four('4 >= k + 1');
  });

  const halving = (head: string, step = '') =>
    check(`
__global__ void pairs(const float *in, float *out) {
  __shared__ float s[128];
  int t = threadIdx.x;
  s[t] = in[t];
  s[t + 64] = in[t + 64];
  __syncthreads();
  float sum = 0;
  ${head} {
    int i = 2 * t - (t & (j - 1));
    sum += s[i] - s[i + j];
    //            ^^^^^^^^ shared load x1
    ${step}
  }
  out[t] = sum;
}
int main() { float *i, *o; pairs<<<1, 32>>>(i, o); }
`);
  it('is written out whatever its end is compared with, so that neighbours are read at once in the last pass', () => {
    halving('for (int j = 2; j > 0; j >>= 1)');
    halving('for (int j = 2; j; j >>= 1)');
    halving('for (int j = 2; j != 0; j = j / 2)');
    halving('int j = 2; while (j > 0)', 'j /= 2;');
    halving('int j = 2; while (j)', 'j >>= 1; sum += 1;');
  });
});

describe('other forms of such loops', () => {
  it('`while` whose body ends with a step is a `for`', () =>
    ramp('int i = threadIdx.x; while (i < n) {', 'x47', 'i++; }'));
  it('`i = i + 1` and `i = 1 + i` step like `i += 1`', () => {
    ramp('for (int i = threadIdx.x; i < n; i = i + 1)', 'x47');
    ramp('int i = threadIdx.x; while (i < n) {', 'x47', 'i = 1 + i; }');
  });
  it('not where a pass may end before the step', () =>
    ramp('int i = threadIdx.x; while (i < n) { if (i > 1000) { i += 3; continue; }', STAYS, 'i++; }'));
  it('a pointer moves by what it points to', () =>
    check(`
__global__ void walk(const float *in, float *out, int n) {
  float sum = 0;
  for (const float *p = in + threadIdx.x; p < in + n * 64; p += 64)
    sum += *p;
    //     ^^ global load x10
  out[threadIdx.x] = sum;
}
int main() { float *i, *o; walk<<<1, 32>>>(i, o, 10); }
`));
});

describe('a loop around loops of known length', () => {
  const around = (count: string, expected: string, unroll = '') =>
    ramp(
      `for (int i = threadIdx.x; i < n; i += 1) {
    ${unroll}
    for (int k = 0; k < ${count}; k++) sum = sum * out[k * n] + n;`,
      expected,
      '}',
    );
  it('is written out in fours or twos as far as what becomes of it fits', () => {
    around('2', 'x47');
    around('8', WRITTEN_OUT);
    around('12', 'x33');
    around('40', STAYS);
  });
  it('stays where these stay', () => {
    around('n', STAYS);
    around('2', STAYS, '#pragma unroll 1');
  });
});

describe('a step that changes another variable', () => {
  it('is made once a pass, and not to find out what it is', () => {
    equals('int k = 7, n = 0; for (int j = 0; j < 3; k = j++) n++;', 'k + n', 5);
    equals('int k = 7, n = 0; for (int j = 0; j < (int)blockDim.x / 16; k = j++) n += j;', 'k + n', 2);
  });
});

describe('a loop of known length around one that steps by the size of the block', () => {
  /** Neighbours of the last pass are one access where the passes are written out. */
  const stages = (passes: number, expected: string) =>
    check(`
__global__ void stages(const float *in, float *out) {
  __shared__ float s[4096];
  for (int t = threadIdx.x; t < 4096; t += blockDim.x) s[t] = in[t];
  for (int l = ${passes - 1}; l >= 0; l--) {
    __syncthreads();
    for (int t = threadIdx.x; t < 2048; t += blockDim.x) {
      int j = t & ((1 << l) - 1), i = ((t >> l) << (l + 1)) + j;
      float u = s[i], v = s[i + (1 << l)];
      s[i] = u + v;
//    ^^^^ shared store ${expected}
      s[i + (1 << l)] = (u - v) * l;
    }
  }
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}
int main() { float *i, *o; cudaMalloc(&i, 1 << 20); cudaMalloc(&o, 1 << 20); stages<<<1, 32>>>(i, o); }
`);
  it('is written out as far as that fits, the loop in it being one', () => {
    stages(10, 'x576');
    stages(24, 'x1536');
  });
});

/** Lane t makes 32 - t passes; what ends them is read from memory. */
const rows = (head: string, expected: string, body = 'sum += line[k];', parameters = 'const int *row') =>
  check(`
struct Rows {
  const int *first;
  __device__ int end(int i) const { return first[i + 1]; }
};
struct Best {
  static __device__ float of(float a, float b) { return a > b ? a : b; }
  static __device__ void keep(float *to, int k) { to[k] = k; }
};
__global__ void rows(${parameters}, const float *in, float *out) {
  __shared__ float line[64];
  line[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  float sum = 0;
  int i = threadIdx.x;
  ${head} {
    ${body}
    //${' '.repeat(body.indexOf('line[') - 2)}^^^^^^^ shared load ${expected}
  }
  out[i] = sum;
}
int main() {
  int host[64], *r;
  float *x, *y;
  for (int i = 0; i < 64; i++) host[i] = 32;
  cudaMalloc(&r, 256);
  cudaMemcpy(r, host, 256, cudaMemcpyHostToDevice);
  cudaMalloc(&x, 256);
  cudaMalloc(&y, 256);
  rows<<<1, 32>>>(${parameters === 'Rows rows' ? 'Rows{r}' : 'r'}, x, y);
}
`);

/** By the assembler too, which makes sixteen passes one. */
const WRITTEN_OUT_FURTHER = 'x47';

describe('a loop whose bound is read from memory', () => {
  it('is written out where nothing in it writes', () => {
    rows('for (int k = i; k < row[i + 1]; k++)', WRITTEN_OUT_FURTHER);
    rows('for (int k = i; k < rows.end(i); k++)', WRITTEN_OUT_FURTHER, undefined, 'Rows rows');
  });
  it('stays where it may write what the bound is read from', () =>
    rows('for (int k = i; k < row[i + 1]; k++)', STAYS, 'out[k] = line[k];'));
  it('is written out all the same where the bound is read only', () =>
    rows(
      'for (int k = i; k < row[i + 1]; k++)',
      WRITTEN_OUT_FURTHER,
      'out[k] = line[k];',
      'const int *__restrict__ row',
    ));
  it('is written out where methods only compute, and stays where one may write', () => {
    rows('for (int k = i; k < row[i + 1]; k++)', WRITTEN_OUT_FURTHER, 'sum += Best::of(line[k], sum);');
    rows('for (int k = i; k < row[i + 1]; k++)', STAYS, 'sum += line[k]; Best::keep(out, k);');
  });
  it('is written out where it continues', () =>
    rows('for (int k = i; k < row[i + 1]; k++)', WRITTEN_OUT, 'if (k == 99) continue; sum += line[k];'));
});

describe('a loop that calls methods', () => {
  const calls = (statement: string, expected: string) =>
    check(`
struct Column {
  const int *data; int size;
  __device__ bool valid(int i) const { return data[i >> 5] >> (i & 31) & 1; }
  __device__ int at(int i) const { if (i < 0) return 0; return data[i]; }
  __device__ int four(int i) const { int s = 0; for (int k = 0; k < 4; k++) s += data[i * k]; return s; }
  __device__ int find(int x) const { int i = 0; while (i < size && data[i] < x) i++; return i; }
};
struct Table { Column keys, values; };
__device__ int found(const Column &c, int x) { int i = 0; while (i < c.size && c.data[i] < x) i++; return i; }
__global__ void ramp(Column c, Table t, const Table *many, float *out, int n) {
  __shared__ float line[64];
  line[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  float sum = 0;
  for (int i = threadIdx.x; i < n; i++) {
    ${statement}
    sum += line[i];
    //     ^^^^^^^ shared load ${expected}
  }
  out[threadIdx.x] = sum;
}
int main() { float *o; cudaMalloc(&o, 4096); Column c{(int *)o, 9}; ramp<<<1, 32>>>(c, Table{c, c}, (Table *)o, o, 32); }
`);
  it('is written out like one that calls functions', () => {
    calls('if (c.valid(i)) sum += c.at(i);', WRITTEN_OUT);
    calls('sum += t.values.at(i);', WRITTEN_OUT);
    calls('sum += many->keys.at(i) + many[1].values.at(i);', WRITTEN_OUT);
    calls('sum += c.four(i);', WRITTEN_OUT);
  });
  it('stays where one of them has a loop that stays, as a function may', () => {
    calls('sum += c.find(i);', STAYS);
    calls('sum += found(c, i);', STAYS);
  });
  it('stays where one may change how often it runs', () => {
    const grown = (method: string, expected: string) =>
      check(`
struct Stack { int size; __device__ void push(int i) { if (i == 99) size++; } __device__ int top(int i) const { return size + i; } };
__global__ void ramp(float *out, int n) {
  __shared__ float line[64];
  line[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  Stack s{n};
  float sum = 0;
  for (int i = threadIdx.x; i < s.size; i++) {
    s.${method};
    sum += line[i];
    //     ^^^^^^^ shared load ${expected}
  }
  out[threadIdx.x] = sum;
}
int main() { float *o; cudaMalloc(&o, 4096); ramp<<<1, 32>>>(o, 32); }
`);
    grown('push(i)', STAYS);
    grown('top(i)', 'x47');
  });
});

describe('passes that are left of a loop that is written out', () => {
  /** In front of the others lanes come together at the end, so that the fours of neighbours meet; behind them each keeps its distance. */
  const left = (before: string, pass: string, expected: string) =>
    check(`
__global__ void ramp(const float *in, float *out, int n) {
  ${before}
  for (int i = threadIdx.x; i < n; i++) {
    float v = in[i * 8];
    //        ^^^^^^^^^ global load x47 ${expected} sectors
    ${pass}
  }
  out[threadIdx.x] = s + k;
}
int main() { float *i, *o; cudaMalloc(&i, 4096); cudaMalloc(&o, 4096); ramp<<<1, 32>>>(i, o, 32); }
`);
  const [FIRST, LAST] = ['3.4894/1.9149', '7.9574/2'];
  it('are made first where nothing that begins as an integer goes on from pass to pass', () => {
    left('float s = 0; const int k = 3;', 's += v;', FIRST);
    left('float s = 0; int k = in[3];', 's += v; k++;', FIRST);
    left('float s = 0; int k = 0;', 'k = i * 3; s += v * k;', FIRST);
  });
  it('are made last where a sum, a count, a flag or a place does', () => {
    left('int s = 0; const int k = 3;', 's += v;', LAST);
    left('float s = 0; int k = 0;', 'if (v > 0) { s += v; k++; }', LAST);
    left('float s = 0; bool k = false;', 'if (v > s) k = true;', LAST);
    left('float s = 0; int k = -1;', 'if (v > s) { s = v; k = i; }', LAST);
  });
});
