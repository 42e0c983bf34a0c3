import assert from 'node:assert/strict';
import { analyzeFile } from '../../../server/src/analysis/analyze';
import type { AnalysisOptions } from '../../../server/src/analysis/request';

/** Findings of these rules as `severity rule: message`; expectations are parts of them, in order. */
function check(source: string, expected: readonly string[], options: Partial<AnalysisOptions> = {}): void {
  const wanted = ['local-array', 'low-occupancy', 'tail-effect', 'register-spill'];
  const { diagnostics } = analyzeFile({
    path: 'test.cu',
    text: source,
    options: { computeCapability: '9.0', defines: new Map(), assume: new Map(), ...options },
    include: () => undefined,
  });
  const found = diagnostics.filter(({ rule }) => wanted.includes(rule));
  const lines = found.map((d) => `${d.severity} ${d.rule}: ${d.message}`);
  assert.equal(lines.length, expected.length, `found\n${lines.join('\n')}`);
  expected.forEach((text, i) => {
    assert.ok(lines[i].includes(text), `expected '${text}' in '${lines[i]}'`);
  });
}

describe('local-array', () => {
  const counts = (index: string, type = 'double', size = 8) => `
__global__ void k(const ${type}* in, ${type}* out, const int* at) {
  ${type} count[${size}];
  for (int i = 0; i < ${size}; i++) count[i] = in[i];
  out[threadIdx.x] = count[${index}];
}
int main() { k<<<8, 32>>>(0, 0, 0); }`;

  it('is an index from memory, a parameter or the thread', () => {
    check(counts('at[threadIdx.x] & 7'), [
      'local-array: count[8] is in local memory, not in registers: count[at[threadIdx.x] & 7] is indexed by a value that the compiler does not know',
    ]);
    check(counts('threadIdx.x & 7'), ['local-array: count[8]']);
  });

  it('is no word that the assembler chooses among few registers', () => {
    check(counts('threadIdx.x & 7', 'int'), []);
    check(counts('threadIdx.x & 7] + count[at[0]', 'float'), []);
    check(counts('threadIdx.x & 7', 'short'), ['local-array: count[8]']);
    check(counts('threadIdx.x & 63', 'int', 64), []);
    check(counts('threadIdx.x & 63] + count[at[0]', 'int', 64), ['information local-array: count[64] is likely']);
    check(counts('threadIdx.x & 63', 'int', 96), ['local-array: count[96] is in']);
  });

  it('is no index that unrolling makes constant', () => check(counts('3'), []));

  it('is no loop of constant length, though it is too long to be unrolled here', () => {
    const tile = `
__global__ void k(const float* in, float* out, int n) {
  float sum[64 * 64];
  for (int pass = 0; pass < n; pass++)
    for (int i = 0; i < 64; i++)
      for (int j = 0; j < 64; j++) sum[i * 64 + j] += in[i] * in[j + 64];
  for (int i = 0; i < 64 * 64; i++) out[i] = sum[i];
}
int main() { k<<<8, 32>>>(0, 0, 3); }`;
    check(tile, []);
  });

  it('is a stack whose height depends on data', () => {
    const stack = `
__global__ void k(const int* in, int* out) {
  int stack[32], top = 0, sum = 0;
  stack[top++] = 1;
  while (top > 0) {
    int at = stack[--top];
    sum += at;
    if (in[at] > 0) { stack[top++] = 2 * at; stack[top++] = 2 * at + 1; }
  }
  out[threadIdx.x] = sum;
}
int main() { k<<<8, 32>>>(0, 0); }`;
    check(stack, ['local-array: stack[32] is likely in local memory']);
  });
});

describe('low-occupancy', () => {
  const tile = (bytes: number, block = 128, grid = '1000') => `
__global__ void k(float* out) {
  __shared__ float tile[${bytes / 4}];
  tile[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = tile[${bytes / 4 - 1} - threadIdx.x];
}
int main() { k<<<${grid}, ${block}>>>(0); }`;

  it('names what holds the blocks out and the nearest step', () => {
    check(tile(48 * 1024), [
      'information low-occupancy: 25 % occupancy at most: 49152 bytes of shared memory a block let a multiprocessor of 9.0 hold 4 blocks, 16 of 64 warps. With 3.5 KB less shared memory, 49,152 →',
    ]);
  });

  it('is none with small arrays, or a grid of one block', () => {
    check(tile(4096), []);
    check(tile(48 * 1024, 128, '1'), []);
  });

  it('never rests on estimated registers, but on given ones', () => {
    check(tile(1024, 128), []);
    check(tile(1024, 128), ['low-occupancy: 13 % occupancy at most: 255 registers a thread'], {
      registersPerThread: 255,
    });
  });
});

describe('tail-effect', () => {
  const copy = (grid: number) => `
__global__ void k(float* out) { out[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
int main() { k<<<${grid}, 256>>>(0); }`;

  it('is a second wave with few blocks', () => {
    check(copy(132 * 8 + 40), [
      'information tail-effect: 1096 blocks are 1.04 waves on a H100 SXM (132 multiprocessors × 8 blocks): behind 1 full wave comes one that is 4 % full. Make the grid 1056 blocks',
    ]);
  });

  it('is none for whole waves, many waves, or a wave that is half full', () => {
    check(copy(132 * 8), []);
    check(copy(132 * 8 * 10 + 4), []);
    check(copy(132 * 8 + 600), []);
  });

  it('counts on the device that was chosen', () =>
    check(copy(132 * 8 + 40), [], { device: 'GH200', computeCapability: '8.0' }));
});

describe('register-spill', () => {
  const source = `__global__ void __launch_bounds__(256) k(float* out) { out[threadIdx.x] = 1; }\nint main() { k<<<8, 256>>>(0); }`;
  const compiled = (spill: number, isStale = false) => [
    {
      mangled: '_Z1kPf',
      registers: 64,
      stackBytes: spill,
      spillStoreBytes: spill,
      spillLoadBytes: spill,
      sharedBytes: 0,
      barriers: 0,
      isStale,
    },
  ];

  it('repeats what the compiler says', () => {
    check(source, [], { compiled: compiled(0) });
    check(
      source,
      [
        'warning register-spill: k spills with 64 registers: 96 bytes a thread are stored in local memory and 96 read back',
      ],
      { compiled: compiled(96) },
    );
    check(source, ['information register-spill: k spills'], { compiled: compiled(8) });
    check(source, ['(as of last save)'], { compiled: compiled(96, true) });
  });
});

describe('the step of low-occupancy', () => {
  it('is one that brings a quarter more warps at least', () => {
    // 17 blocks instead of 16 would be no help: 20 need 10,624 bytes
    const source = `
__global__ void k(float* out) {
  __shared__ float tile[3200];
  tile[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[3199 - threadIdx.x];
}
int main() { k<<<1000, 32>>>(0); }`;
    check(source, [
      '12800 bytes of shared memory a block let a multiprocessor of 9.0 hold 16 blocks, 16 of 64 warps. With 2.1 KB less shared memory, 12,800 → 10,624 bytes: 20 blocks instead of 16.',
    ]);
  });
});
