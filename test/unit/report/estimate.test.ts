/** The time estimate through the whole way, and against durations recorded on an H200. */
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { analyzeFile } from '../../../server/src/analysis/analyze';
import type { LaunchReport } from '../../../server/src/report/report';

function launchesOf(text: string, device?: string, computeCapability = '9.0'): readonly LaunchReport[] {
  const options = { computeCapability, device, defines: new Map<string, string>(), assume: new Map<string, number>() };
  const report = analyzeFile({ path: 'test.cu', text, options, include: () => undefined });
  return report.kernels.flatMap(({ launches }) => launches);
}

const copy = (host: string) => `
__global__ void copy(float* out, const float* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}
${host}`;
const known = copy('int main() { copy<<<4096, 256>>>(0, 0, 1 << 20); }');

describe('time estimate', () => {
  it('is there for the measured device, and for its capability where no device is chosen', () => {
    for (const device of ['H200', undefined]) {
      const [{ estimate }] = launchesOf(known, device);
      assert.equal(estimate?.device, 'H200');
      assert.ok(estimate.microseconds > 2 && estimate.microseconds < 10, `${estimate.microseconds}`);
    }
  });

  it('is null for other devices and capabilities', () => {
    assert.equal(launchesOf(known, 'H100')[0].estimate, null);
    assert.equal(launchesOf(known, undefined, '8.0')[0].estimate, null);
  });

  it('is null where a size is assumed, an address is loaded or the launch is not found', () => {
    assert.equal(launchesOf(copy('void f(int n) { copy<<<4096, 256>>>(0, 0, n); }'))[0].estimate, null);
    assert.equal(launchesOf(copy(''))[0].estimate, null);
    const gather = known.replace('in[i]', 'in[(int)in[i]]');
    assert.equal(launchesOf(gather)[0].estimate, null);
  });

  describe('of atomics', () => {
    const estimateOf = (body: string, type = 'float') =>
      launchesOf(`
__global__ void add(${type}* out, ${type} x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  ${body}
}
int main() { ${type}* out; cudaMalloc(&out, sizeof(${type}) << 20); add<<<256, 256>>>(out, 1); }`)[0].estimate;

    it('on one address is that of one lane after the other', () => {
      for (const type of ['float', 'double']) {
        const estimate = estimateOf('atomicAdd(out, x);', type);
        // 65,536 lanes of 1.76 ns
        assert.ok(estimate && estimate.microseconds > 110 && estimate.microseconds < 125, `${estimate?.microseconds}`);
        assert.equal(estimate.boundBy, 'atomics');
      }
    });
    it('in shared memory is that of one round after the other', () => {
      const of = (index: string) =>
        estimateOf(`__shared__ float s[256]; s[threadIdx.x] = 0; __syncthreads();
  for (int k = 0; k < 20; k++) atomicAdd(&s[${index}], x + k);
  __syncthreads(); out[i] = s[threadIdx.x];`)?.cycles ?? 0;
      // 31 rounds more, 20 times
      const more = of('threadIdx.x / 32') - of('threadIdx.x');
      assert.ok(more > 100_000 && more < 150_000, `${more}`);
    });
    it('that one lane does for its warp is that of a request', () => {
      const estimate = estimateOf('atomicAdd(out, 1);', 'int');
      assert.ok(estimate && estimate.microseconds < 8, `${estimate?.microseconds}`);
    });
    it('on one address of each block, and on different ones, is short', () => {
      for (const index of ['i', 'blockIdx.x * 32 + (threadIdx.x & 31)'])
        assert.ok((estimateOf(`atomicAdd(out + ${index}, x);`)?.microseconds ?? 99) < 5, index);
    });
    it('grows with the blocks that meet', () => {
      const of = (index: string) => estimateOf(`atomicAdd(out + ${index}, x);`)?.microseconds ?? 0;
      assert.ok(of('(blockIdx.x & 1) * 64') > 4 * of('(blockIdx.x & 15) * 64'));
    });
  });

  it('is null where a warp prints', () => {
    const printing = known.replace('out[i] = in[i]', 'out[i] = in[i], printf("%d", i)');
    assert.equal(launchesOf(printing)[0].estimate, null);
  });

  for (const program of ['saxpy', 'stencil1d', 'reduce_variants']) {
    it(`is within a factor of three of what was measured: ${program}`, () => {
      const root = path.resolve(__dirname, '..', '..', 'hardware');
      const recorded = JSON.parse(fs.readFileSync(path.join(root, 'recorded', `${program}.json`), 'utf8')) as {
        launches: { function: string; grid: number[]; block: number[]; durationNs: number }[];
      };
      const text = fs.readFileSync(path.join(root, 'programs', `${program}.cu`), 'utf8');
      const options = {
        computeCapability: '9.0',
        defines: new Map<string, string>(),
        assume: new Map<string, number>(),
      };
      const include = (name: string) => {
        const file = path.join(root, 'programs', name);
        return fs.existsSync(file) ? { path: file, text: fs.readFileSync(file, 'utf8') } : undefined;
      };
      const { kernels } = analyzeFile({ path: path.join(root, 'programs', `${program}.cu`), text, options, include });
      let compared = 0;
      for (const { function: name, grid, block, durationNs } of recorded.launches) {
        const launch = kernels
          .filter((kernel) => kernel.name === name)
          .flatMap(({ launches }) => launches)
          .find((each) => `${each.grid} ${each.block}` === `${grid} ${block}`);
        if (!launch?.estimate) continue;
        compared++;
        const ratio = launch.estimate.microseconds / (durationNs / 1000);
        assert.ok(
          ratio > 1 / 3 && ratio < 3,
          `${name}: ${launch.estimate.microseconds} µs, measured ${durationNs / 1000}`,
        );
      }
      assert.ok(compared > 0);
    });
  }
});
