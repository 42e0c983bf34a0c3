import assert from 'node:assert/strict';
import { capabilities, capability } from '../../../server/src/hardware/capabilities';
import { device, devices, typicalDevice } from '../../../server/src/hardware/devices';
import { rowOf } from './counting';

describe('capability table', () => {
  it('has a row for every capability, ascending', () => {
    const expected =
      '1.0 1.1 1.2 1.3 2.0 2.1 3.0 3.2 3.5 3.7 5.0 5.2 5.3 6.0 6.1 6.2 7.0 7.2 7.5 8.0 8.6 8.7 8.8 8.9 9.0 10.0 10.3 11.0 12.0 12.1';
    assert.equal(capabilities.map(({ cc }) => cc).join(' '), expected);
  });

  it('finds a row by the spellings of compilers and people', () => {
    for (const name of ['9.0', '90', 'sm_90', 'compute_90', 'sm_90a', ' SM_90 '])
      assert.equal(capability(name)?.cc, '9.0');
    for (const name of ['12.0', 'sm_120', '120', 'sm_120f']) assert.equal(capability(name)?.cc, '12.0');
    assert.equal(capability('10.1')?.cc, '11.0', 'renamed');
    for (const name of ['', '4.0', '9', 'nine', 'sm_', '99.9']) assert.equal(capability(name), undefined);
  });

  it('is consistent: threads are warps, partitions divide registers, sizes are steps of the granularity', () => {
    for (const { cc, warpSize, limits, shared } of capabilities) {
      assert.equal(limits.threadsPerSm, limits.warpsPerSm * warpSize, cc);
      assert.equal(limits.registersPerSm % (limits.partitions * limits.registerGranularity), 0, cc);
      assert.equal(limits.sharedPerBlockOptIn % limits.sharedGranularity, 0, cc);
      assert.ok(limits.sharedPerBlockOptIn + limits.reservedSharedPerBlock <= limits.sharedPerSm, cc);
      assert.ok(limits.registersPerBlock <= limits.registersPerSm, cc);
      assert.equal(limits.carveouts.at(-1) ?? limits.sharedPerSm, limits.sharedPerSm, cc);
      assert.deepEqual(
        [...limits.carveouts].sort((left, right) => left - right),
        limits.carveouts,
        cc,
      );
      assert.ok(Number.isInteger(Math.log2(shared.banks * shared.bankBytes)), cc);
    }
  });

  it('notes where sources disagree', () => {
    const text = (cc: string) =>
      rowOf(cc)
        .notes.map((note) => `${note.text} (${note.source})`)
        .join(' ');
    assert.match(text('5.2'), /65,536 registers a block; .*32,768/);
    assert.match(text('8.0'), /256 registers a thread.*255/);
    assert.match(text('11.0'), /10\.1/);
    assert.match(text('6.0'), /not known/);
  });
});

describe('devices', () => {
  const found: readonly [string, string][] = [
    ['H200', 'H200'],
    ['NVIDIA H200', 'H200'],
    ['rtx4090', 'GeForce RTX 4090'],
    ['4090', 'GeForce RTX 4090'],
    ['NVIDIA GeForce RTX 3060 Ti', 'GeForce RTX 3060 Ti'],
    ['Tesla V100-SXM2-32GB', 'Tesla V100'],
    ['NVIDIA A100-SXM4-40GB', 'A100 40GB'],
    ['NVIDIA A100 80GB PCIe', 'A100 80GB'],
    ['A100', 'A100 80GB'],
    ['NVIDIA H100 80GB HBM3', 'H100 SXM'],
    ['NVIDIA H100 PCIe', 'H100 PCIe'],
    ['gtx 280', 'GeForce GTX 280'],
    ['DGX Spark', 'GB10'],
    ['b200', 'B200'],
  ];
  for (const [name, expected] of found) it(`${name} is ${expected}`, () => assert.equal(device(name)?.name, expected));

  it('does not guess', () => {
    for (const name of ['', 'GPU', 'RTX', 'GeForce RTX 4090 Laptop GPU', 'RX 7900'])
      assert.equal(device(name), undefined);
  });

  it('are found by their own names, and have known capabilities', () => {
    for (const each of devices) {
      assert.equal(device(each.name), each);
      assert.equal(capability(each.cc)?.cc, each.cc);
    }
  });

  it('stand for every capability but 8.8, of which no card is known', () => {
    const without = capabilities.filter(({ cc }) => typicalDevice(cc) === undefined).map(({ cc }) => cc);
    assert.deepEqual(without, ['8.8']);
  });

  it('have the figures of the seed documents', () => {
    const figures = (name: string) => {
      const each = device(name);
      return [each?.cc, each?.sms, each?.clockGHz, each?.bandwidth, Math.round(each?.peakFp32 ?? 0)];
    };
    assert.deepEqual(figures('GeForce 8800 GTX'), ['1.0', 16, 1.35, 86.4, 346]);
    assert.deepEqual(figures('GTX 280'), ['1.3', 30, 1.296, 141.7, 622]);
    assert.deepEqual(figures('Tesla C2050'), ['2.0', 14, 1.15, 144, 1030]);
    assert.deepEqual(figures('H200'), ['9.0', 132, 1.98, 4800, 66908]);
  });
});
