import assert from 'node:assert/strict';
import { HostBlocks } from '../../../server/src/host/host-blocks';
import { HostMemory } from '../../../server/src/host/host-memory';

const [OF_HOST, OF_DEVICE] = [0, 2];

/** Bytes between blocks of these sizes, one behind the other. */
function check(sizes: readonly number[], kind: number, expected: readonly number[]): void {
  const blocks = new HostBlocks(new HostMemory(), 2 ** 20, [], 1e9);
  const addresses = sizes.map((bytes) => blocks.allocate(bytes, kind, 0));
  assert.deepEqual(
    addresses.slice(1).map((at, i) => at - addresses[i]),
    expected,
  );
}

describe('blocks of a run', () => {
  it('of the host lie close together, so that a program may have a million of them', () =>
    check([24, 8, 40, 40, 8, 100, 8], OF_HOST, [32, 32, 64, 64, 64, 128]));
  it('lie within as few segments as they can', () => check([8, 130, 300, 8], OF_HOST, [256, 256, 320]));
  it('of the device begin where those of cudaMalloc do', () => check([8, 40, 300, 8], OF_DEVICE, [256, 256, 512]));
});
