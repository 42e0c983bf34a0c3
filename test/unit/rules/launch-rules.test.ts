import assert from 'node:assert/strict';
import { analyzeFile } from '../../../server/src/analysis/analyze';
import { analyse } from '../analysis/check-accesses';

/** Findings as `severity rule: message` of a file, in order; expectations are parts of them. */
function check(source: string, expected: readonly string[], cc = '9.0'): void {
  const found = analyse(source, { cc }).diagnostics.map((d) => `${d.severity} ${d.rule}: ${d.message}`);
  assert.equal(found.length, expected.length, `found\n${found.join('\n')}`);
  expected.forEach((text, i) => {
    assert.ok(found[i].includes(text), `expected '${text}' in '${found[i]}'`);
  });
}

const kernel = '__global__ void k(float* o) { o[threadIdx.x] = 1; }\n';

describe('launch rules', () => {
  it('a block of more threads than the hardware has is an error', () => {
    check(`${kernel}int main() { k<<<1, 2048>>>(0); }`, [
      'error launch-exceeds-limits: This launch of k (grid 1, block 2048) fails on capability 9.0: a block of 2048 threads, 1024 are allowed.',
    ]);
    check(`${kernel}int main() { k<<<1, 1024>>>(0); }`, []);
    check(`${kernel}int main() { k<<<1, 1024>>>(0); }`, ['a block of 1024 threads, 512 are allowed'], '1.3');
  });

  it('a grid of no blocks is an error where the program comes to it', () => {
    const rounded = 'int main() { int n = 100; k<<<ceil(n / 256), 256>>>(0); }';
    check(`${kernel}${rounded}`, ['(grid 0, block 256) fails on capability 9.0: a grid of 0 blocks in x, at least 1']);
    check(
      `${kernel}int main() { int n = 100; if (n > 255) k<<<n / 256, 256>>>(0); k<<<(n + 255) / 256, 256>>>(0); }`,
      [],
    );
    // nobody knows what a constructor of another file makes of it
    const elsewhere = 'struct Rows { int first, count; Rows(const char* path); };';
    check(`${elsewhere}${kernel}int main() { Rows rows("x"); k<<<rows.count, 32>>>(0); }`, []);
  });

  it('more threads than __launch_bounds__ allow is an error', () => {
    const bounded = kernel.replace('void k', 'void __launch_bounds__(N) k');
    check(`#define N 128\n${bounded}int main() { k<<<1, 256>>>(0); }`, [
      'a block of 256 threads, __launch_bounds__ says 128 at most',
    ]);
    check(`#define N 128\n${bounded}int main() { k<<<1, 128>>>(0); }`, []);
  });

  it('a grid may have 65,535 blocks in y, and in x where the generation is old', () => {
    check(`${kernel}int main() { k<<<dim3(1, 70000), 32>>>(0); }`, ['a grid of 70000 blocks in y, 65535 are allowed']);
    check(`${kernel}int main() { k<<<70000, 32>>>(0); }`, []);
    check(`${kernel}int main() { k<<<70000, 32>>>(0); }`, ['a grid of 70000 blocks in x, 65535 are allowed'], '2.0');
  });

  it('the first generation has flat grids, and no block is deeper than 64 threads', () => {
    check(`${kernel}int main() { k<<<dim3(2, 2, 2), 256>>>(0); }`, ['a grid of 2 blocks in z, 1 is allowed'], '1.3');
    check(`${kernel}int main() { k<<<dim3(2, 2, 2), 256>>>(0); }`, [], '2.0');
    check(`${kernel}int main() { k<<<8, dim3(1, 1, 128)>>>(0); }`, ['a block of 128 threads in z, 64 are allowed']);
  });

  describe('dynamic shared memory beyond the plain limit', () => {
    const dynamic = `
__global__ void k(float* o) { extern __shared__ float s[]; s[threadIdx.x] = o[threadIdx.x]; __syncthreads(); o[threadIdx.x] = s[63 - threadIdx.x]; }
void prepare(void (*)(float*));
int main() { OPT k<<<100, 64, 65536>>>(0); }`;
    const told =
      'error launch-exceeds-limits: This launch of k (grid 100, block 64) fails on capability 9.0: 65536 bytes of shared memory a block, 49152 are allowed until cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536) is called.';
    const limits = (source: string, cc = '9.0') =>
      analyse(source, { cc })
        .diagnostics.filter(({ rule }) => rule === 'launch-exceeds-limits')
        .map((d) => `${d.severity} ${d.rule}: ${d.message}`);

    it('fails where nothing asks for it', () => assert.deepEqual(limits(dynamic.replace('OPT', '')), [told]));
    it('is silent where the attribute is set, or a function that may set it is given the kernel', () => {
      const set = 'cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);';
      assert.deepEqual(limits(dynamic.replace('OPT', set)), []);
      assert.deepEqual(limits(dynamic.replace('OPT', 'prepare(k);')), []);
      assert.deepEqual(limits(dynamic.replace('OPT', '').replace('65536', 'unknown_size()')), []);
    });
    it('is too much in any case where there is no such attribute', () => {
      assert.match(
        limits(dynamic.replace('OPT', ''), '5.0')[0],
        /bytes of shared memory a block, 49152 are allowed\.$/,
      );
    });
  });

  it('registers fail a launch when the compiler says how many, not when they are estimated', () => {
    const launch = `${kernel}int main() { k<<<64, 1024>>>(0); }`;
    const found = (registersPerThread: number | undefined) =>
      analyzeFile({
        path: 'test.cu',
        text: launch,
        options: { computeCapability: '9.0', defines: new Map(), assume: new Map(), registersPerThread },
        include: () => undefined,
      }).diagnostics.map(({ severity, message }) => `${severity} ${message}`);
    assert.deepEqual(found(65), [
      'error This launch of k (grid 64, block 1024) fails on capability 9.0: its threads need 73728 registers, a block may have 65536.',
    ]);
    assert.deepEqual(found(64), []);
    assert.deepEqual(found(undefined), []);
  });

  it('static shared memory has the plain limit, whatever may be opted in to', () => {
    const big =
      '__global__ void k(float* o) { __shared__ float s[20000]; s[threadIdx.x] = o[threadIdx.x]; __syncthreads(); o[threadIdx.x] = s[99 - threadIdx.x]; }\n';
    check(`${big}int main() { k<<<1, 64>>>(0); }`, [
      '80000 bytes of static shared memory, 49152 are allowed; more has to be dynamic',
    ]);
  });

  it('O5: a block of 144 leaves half of its last warp idle', () => {
    check(
      `${kernel}int main() { k<<<10, 144>>>(0); }`,
      [
        'information block-not-multiple-of-warp: A block of 144 threads takes 5 warps; 16 lanes of the last one stay idle (10 % of all). Use a multiple of 32, 160 here.',
      ],
      '1.0',
    );
    check(`${kernel}int main() { k<<<10, 16>>>(0); }`, [
      'warning block-not-multiple-of-warp: A block of 16 threads takes 1 warp; 16 lanes of the last one stay idle (50 % of all).',
    ]);
    check(`${kernel}int main() { k<<<1, 1>>>(0); }`, []);
    // an instance for blocks that nobody is known to launch
    const instances = 'case 64: k<<<9, b>>>(0); break; case 16: h<<<9, b>>>(0); break; case 2048: m<<<9, b>>>(0);';
    const kernels = kernel + kernel.replace(' k(', ' h(') + kernel.replace(' k(', ' m(');
    const dispatch = `${kernels}void run(int t) { dim3 b(t); switch (t) { ${instances} } }`;
    check(`${dispatch} int main() { run(64); }`, []);
    check(`${dispatch} int main() { run(16); }`, [
      'warning block-not-multiple-of-warp: A block of 16 threads takes 1 warp',
    ]);
  });
});
