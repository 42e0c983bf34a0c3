import assert from 'node:assert/strict';
import fc from 'fast-check';
import { estimateTime, type TimingCounters, timedDevices } from '../../../server/src/hardware/timing';

const counters = (change: Partial<TimingCounters> = {}): TimingCounters => ({
  blocks: 1000,
  blocksPerSm: 8,
  instructions: 1e5,
  sharedWavefronts: 0,
  constantPasses: 0,
  sectors: 1e5,
  storeSectors: 5e4,
  updatesOfOneLine: 0,
  swapRounds: 0,
  dramBytes: 1.6e6,
  chains: [{ overlap: 'serial', instructions: 100, arithmetic: 200, globalDepth: 1, sharedDepth: 0 }],
  ...change,
});
const cycles = (change: Partial<TimingCounters> = {}): number => {
  const found = estimateTime(counters(change), 'H200');
  assert.ok(found);
  return found.cycles;
};

describe('time of a launch', () => {
  it('is known for measured devices only', () => {
    assert.deepEqual(timedDevices, ['H200']);
    assert.equal(estimateTime(counters(), 'GeForce RTX 4090'), undefined);
  });

  it('is none for a launch that does not fit, and beyond what was measured', () => {
    assert.equal(estimateTime(counters({ blocksPerSm: 0 }), 'H200'), undefined);
    assert.equal(estimateTime(counters({ dramBytes: 1e13 }), 'H200'), undefined);
  });

  it('a copy of 400 MB takes the bytes over the bandwidth', () => {
    const found = estimateTime(
      counters({ blocks: 4e5, dramBytes: 4e8, sectors: 2.5e7, storeSectors: 1.25e7, instructions: 4e6 }),
      'H200',
    );
    assert.ok(found && found.microseconds > 83 && found.microseconds < 300, `${found?.microseconds}`);
  });

  it('names what takes longest', () => {
    const boundBy = (change: Partial<TimingCounters>) => estimateTime(counters(change), 'H200')?.boundBy;
    assert.equal(boundBy({}), 'launch');
    assert.equal(boundBy({ sharedWavefronts: 1e7 }), 'shared');
    assert.equal(boundBy({ instructions: 1e8 }), 'instructions');
    assert.equal(boundBy({ constantPasses: 1e7 }), 'constant');
    assert.equal(boundBy({ updatesOfOneLine: 1e5 }), 'atomics');
    const far = { overlap: 'serial', instructions: 9, arithmetic: 9, globalDepth: 99, sharedDepth: 0 } as const;
    assert.equal(boundBy({ chains: [far] }), 'latency');
    assert.equal(boundBy({ swapRounds: 200 }), 'latency');
  });

  it('no counter makes a launch faster', () => {
    const keys = ['instructions', 'sharedWavefronts', 'constantPasses', 'storeSectors', 'updatesOfOneLine'] as const;
    fc.assert(
      fc.property(
        fc.constantFrom(...keys),
        fc.integer({ min: 0, max: 2e5 }),
        fc.integer({ min: 0, max: 2e5 }),
        (key, a, b) => {
          const [less, more] = [Math.min(a, b), Math.max(a, b)];
          assert.ok(cycles({ [key]: less }) <= cycles({ [key]: more }));
        },
      ),
    );
  });
});
