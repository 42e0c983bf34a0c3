/** What host code asks the device, as an H100 answers. */
import assert from 'node:assert/strict';
import { deviceProperties } from '../../../server/src/hardware/device-properties';
import { launchesOf, show, withKernel } from './support';

function check(body: string, shape: string, asked: Readonly<Record<string, number>> = {}): void {
  const text = withKernel(`int main(int argc, char** argv) { ${body} }`);
  const [launch] = launchesOf(text, {}, undefined, deviceProperties('9.0'));
  assert.equal(show(launch), shape);
  assert.deepEqual(Object.fromEntries(launch.asked), asked);
}

const properties = 'cudaDeviceProp prop; cudaGetDeviceProperties(&prop, 0);';

describe('what the device is asked', () => {
  it('members of its properties', () =>
    check(
      `${properties} k<<<4 * prop.multiProcessorCount, prop.maxThreadsPerBlock>>>();`,
      'k <<<(528,1,1),(1024,1,1),0>>>()',
      {
        multiProcessorCount: 132,
      },
    ));
  it('through a pointer, and elements of an array', () =>
    check(
      `${properties} cudaDeviceProp* p = &prop; k<<<p->multiProcessorCount, p->maxThreadsDim[2]>>>();`,
      'k <<<(132,1,1),(64,1,1),0>>>()',
      { multiProcessorCount: 132 },
    ));
  it('attributes', () =>
    check(
      'int sms, most; cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0); cudaDeviceGetAttribute(&most, cudaDevAttrMaxBlockDimZ, 0); k<<<sms, most>>>();',
      'k <<<(132,1,1),(64,1,1),0>>>()',
      { cudaDevAttrMultiProcessorCount: 132 },
    ));
  it('what does not decide a launch is not what it rests on', () => {
    check(
      `${properties} int n = 1000, blocks = (n + 255) / 256; if (blocks > 32 * prop.multiProcessorCount) blocks = 1; k<<<blocks, 256>>>();`,
      'k <<<(4,1,1),(256,1,1),0>>>()',
    );
    check(`${properties} printf("%d", prop.multiProcessorCount); k<<<1, 32>>>();`, 'k <<<(1,1,1),(32,1,1),0>>>()');
  });
  it('its memory, of which other devices have more or less', () => {
    check(
      `${properties} size_t n = prop.totalGlobalMem / 4; if (n > 64000) n = 64000; k<<<n / 256, 256>>>();`,
      'k <<<(250,1,1),(256,1,1),0>>>()',
    );
    check(`${properties} k<<<prop.totalGlobalMem >> 30, 256>>>();`, 'k <<<(80,1,1),(256,1,1),0>>>()', {
      totalGlobalMem: 80 * 2 ** 30,
    });
  });
  it('what follows from the capability is certain', () =>
    check(
      `${properties} k<<<prop.major, prop.warpSize, prop.sharedMemPerBlock>>>();`,
      'k <<<(9,1,1),(32,1,1),49152>>>()',
    ));
  it('occupancy, as if registers did not limit it', () => {
    check(
      'int n; cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, k, 512, 40000); k<<<n, 512, 40000>>>();',
      'k <<<(4,1,1),(512,1,1),40000>>>()',
      { cudaOccupancyMaxActiveBlocksPerMultiprocessor: 4 },
    );
    check(
      'int grid, block; cudaOccupancyMaxPotentialBlockSize(&grid, &block, k, 0, 0); k<<<(100000 + block - 1) / block, block>>>();',
      'k <<<(98,1,1),(1024,1,1),0>>>()',
      { 'cudaOccupancyMaxPotentialBlockSize (blocks)': 264, 'cudaOccupancyMaxPotentialBlockSize (threads)': 1024 },
    );
  });
  it('the block whose shared memory is a function of it (asked of an H200)', () => {
    const blockFor = (bytes: string, grid: number, block: number) => {
      const call = `cudaOccupancyMaxPotentialBlockSizeVariableSMem(&g, &b, k, ${bytes});`;
      const text = withKernel(`int main() { int g, b; ${call} k<<<g, b>>>(); }`);
      const [launch] = launchesOf(text, {}, undefined, deviceProperties('9.0'));
      assert.equal(show(launch), `k <<<(${grid},1,1),(${block},1,1),0>>>()`);
      assert.equal(launch.asked.get('cudaOccupancyMaxPotentialBlockSize (blocks)'), grid);
    };
    blockFor('[](int threads) { return threads * 96; }', 528, 512);
    blockFor('[](int threads) { return threads * 128; }', 660, 352);
    blockFor('[](int threads) { return threads * 256; }', 1188, 96);
    blockFor('[](int threads) { return threads * 40 + 4000; }', 264, 1024);
    blockFor('[](int) { return 24736; }', 264, 1024);
  });
  it('the shared memory that blocks leave each other (asked of an H200)', () => {
    for (const [blocks, bytes] of [
      [4, 49152],
      [5, 46592],
      [6, 38912],
      [7, 33280],
      [8, 29184],
    ])
      check(
        `size_t n; cudaOccupancyAvailableDynamicSMemPerBlock(&n, k, ${blocks}, 256); k<<<1, 32, n>>>();`,
        `k <<<(1,1,1),(32,1,1),${bytes}>>>()`,
      );
  });
  it('members of another type of the same name stay what they are', () =>
    check('struct P { int major; } p; p.major = 3; k<<<p.major, 32>>>();', 'k <<<(3,1,1),(32,1,1),0>>>()'));
});
