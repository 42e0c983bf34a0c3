import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { capabilities } from '../../../server/src/hardware/capabilities';
import { device } from '../../../server/src/hardware/devices';
import {
  type Occupancy,
  type OccupancyRequest,
  occupancy,
  registerBound,
} from '../../../server/src/hardware/occupancy';
import { occupancyCurves } from '../../../server/src/hardware/occupancy-curves';
import { describeStep, occupancySteps } from '../../../server/src/hardware/occupancy-steps';
import { rowOf } from './counting';

function launch(cc: string, threadsPerBlock: number, registersPerThread = 0, sharedBytesPerBlock = 0): Occupancy {
  return occupancy(rowOf(cc), { threadsPerBlock, registersPerThread, sharedBytesPerBlock });
}

/** Blocks an SM, resident warps, and what limits them. */
function check(result: Occupancy, blocks: number, warps: number, limitedBy?: readonly string[]): void {
  assert.deepEqual([result.blocksPerSm, result.warpsPerSm], [blocks, warps]);
  if (limitedBy !== undefined) assert.deepEqual(result.limitedBy, limitedBy);
}

describe('seed facts: occupancy', () => {
  const gtx = device('8800 GTX')?.cc ?? '';

  it('O1: 8800 GTX, 256 threads of 10 registers: 3 blocks, 768 threads, all of them', () => {
    const result = launch(gtx, 256, 10);
    check(result, 3, 24);
    assert.equal(result.warpsPerSm * 32, 768);
    assert.equal(result.theoretical, 1);
  });

  it('O2: with 11 registers 2 blocks, as three would take 8,448 of 8,192 registers', () => {
    const result = launch(gtx, 256, 11);
    check(result, 2, 16, ['registers']);
    assert.equal(3 * result.allocatedRegistersPerBlock, 8448);
  });

  it('O3: 4×4 tiles: 8 blocks of one half empty warp', () => {
    const result = launch(gtx, 16, 10);
    check(result, 8, 8, ['blocks']);
    assert.equal(result.idleLanesOfLastWarp, 16);
  });

  it('O4: 8×8 tiles: 2 warps a block, 12 blocks wanted, 8 allowed: 512 threads, 67 %', () => {
    const result = launch(gtx, 64, 10);
    check(result, 8, 16, ['blocks']);
    assert.equal(result.limits.warps, 12);
    assert.equal(Math.round(result.theoretical * 100), 67);
  });

  it('O5: 12×12 tiles: 4.5 warps, 5 allocated, the last half empty', () => {
    const { warpsPerBlock, idleLanesOfLastWarp } = launch(gtx, 144, 10);
    assert.deepEqual([warpsPerBlock, idleLanesOfLastWarp], [5, 16]);
  });

  it('O6: 16×16 tiles: 3 blocks of 8 warps', () => check(launch(gtx, 256, 10), 3, 24));
  it('O7: 1.2, 512 threads of 16 registers: 2 blocks, 32 warps', () => check(launch('1.2', 512, 16), 2, 32));
  it('O8: with 17 registers 1 block, 16 warps', () => check(launch('1.2', 512, 17), 1, 16, ['registers']));

  it('O12: the registers that __launch_bounds__ leaves', () => {
    assert.equal(registerBound(rowOf('1.2'), 512, 2), 16);
    assert.equal(registerBound(rowOf('9.0'), 1024, 1), 64);
    assert.equal(registerBound(rowOf('9.0'), 1024, 2), 32);
    assert.equal(registerBound(rowOf('9.0'), 256, 8), 32);
    assert.equal(registerBound(rowOf('9.0'), 128), 255);
    assert.equal(registerBound(rowOf('3.0'), 128), 63);
    assert.equal(registerBound(rowOf('9.0'), 1024, 3), 0, 'three such blocks never fit');
  });

  it('92 registers, 224 threads, 64 K registers: 2 blocks, where plain division gives 3', () => {
    for (const cc of ['5.0', '7.0', '8.0', '9.0', '12.0']) check(launch(cc, 224, 92), 2, 14, ['registers']);
    assert.equal(Math.floor(65536 / (224 * 92)), 3);
  });
});

/** A row of the table that scripts/occupancy-oracle made with the toolkit's header. */
function readHeaderTable(): { cc: string; request: OccupancyRequest; expected: (number | null)[]; line: string }[] {
  const text = readFileSync(join(import.meta.dirname, 'fixtures', 'occupancy-header.csv'), 'utf8');
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#') && !line.startsWith('cc,'));
  return lines.map((line) => {
    const [cc, threads, registers, shared, barriers, carveout, caching, ...limits] = line.split(',');
    const optional = (field: string) => (field === '' ? undefined : Number(field));
    const request: OccupancyRequest = {
      threadsPerBlock: Number(threads),
      registersPerThread: Number(registers),
      sharedBytesPerBlock: Number(shared),
      barriers: optional(barriers),
      carveoutBytes: optional(carveout),
      partitionedGlobalCaching: caching === 'on' || caching === 'strict' ? caching : 'off',
    };
    return { cc, request, expected: limits.map((field) => optional(field) ?? null), line };
  });
}

describe('occupancy against the CUDA 13.0 header', () => {
  const table = readHeaderTable();
  for (const cc of new Set(table.map((row) => row.cc))) {
    it(`${cc}`, () => {
      const rows = table.filter((row) => row.cc === cc);
      assert.ok(rows.length > 50);
      for (const { request, expected, line } of rows) {
        const { blocksPerSm, limits } = occupancy(rowOf(cc), request);
        const { warps, registers, shared, barriers = null } = limits;
        assert.deepEqual([blocksPerSm, warps, registers, shared, barriers], expected, line);
      }
    });
  }
});

describe('occupancy', () => {
  it('takes from each resource what is left after rounding', () => {
    check(launch('9.0', 256, 40, 4096), 6, 48, ['registers']);
    check(launch('9.0', 256, 32, 0), 8, 64, ['warps', 'registers']);
    check(launch('8.6', 128, 16, 20000), 4, 16, ['shared']);
    check(launch('7.5', 1024, 32, 0), 1, 32, ['warps']);
    check(launch('2.0', 192, 20, 0), 8, 48, ['warps', 'blocks', 'registers']);
    check(launch('1.3', 64, 8, 2049), 6, 12, ['shared']);
  });

  it('says null where the kernel does not use a resource', () => {
    const { limits } = launch('7.0', 256, 0, 0);
    assert.deepEqual(limits, { warps: 8, blocks: 32, registers: null, shared: null });
    assert.equal(launch('8.0', 256, 0, 0).limits.shared, 164, 'the driver takes 1 KB a block');
  });

  it('gives the reasons of a launch that fails', () => {
    assert.deepEqual(launch('9.0', 1056, 32).launchFailures, [
      { resource: 'threads-per-block', wanted: 1056, allowed: 1024 },
    ]);
    assert.deepEqual(launch('9.0', 1024, 72).launchFailures, [
      { resource: 'registers-per-block', wanted: 73728, allowed: 65536 },
    ]);
    assert.deepEqual(launch('9.0', 32, 32, 228 * 1024).launchFailures, [
      { resource: 'shared-per-block', wanted: 229 * 1024, allowed: 228 * 1024 },
    ]);
    assert.equal(launch('1.0', 768).launchFailures[0].allowed, 512);
    check(launch('9.0', 1056, 32), 0, 0, ['warps']);
  });

  it('names the opt-in above 48 KB', () => {
    assert.equal(launch('9.0', 256, 32, 48 * 1024).needsSharedOptIn, false);
    assert.equal(launch('9.0', 256, 32, 48 * 1024 + 4).needsSharedOptIn, true);
    assert.equal(launch('6.0', 256, 32, 48 * 1024 + 4).needsSharedOptIn, false, 'there is none: the launch fails');
  });

  it('a smaller carve-out holds fewer blocks, and grows for a block that needs more', () => {
    const withCarveout = (carveoutBytes: number, shared: number) =>
      occupancy(rowOf('9.0'), {
        threadsPerBlock: 64,
        registersPerThread: 16,
        sharedBytesPerBlock: shared,
        carveoutBytes,
      }).limits.shared;
    assert.equal(withCarveout(100 * 1024, 9 * 1024), 10);
    assert.equal(withCarveout(90 * 1024, 9 * 1024), 10, 'rounds up to the next size');
    assert.equal(withCarveout(8 * 1024, 9 * 1024), 1);
  });
});

describe('next steps of an occupancy', () => {
  const steps = (cc: string, request: OccupancyRequest) =>
    occupancySteps(rowOf(cc), request).map((step) => describeStep(step));

  it('names the registers that would let another block in, those that are free, and where a block is lost', () => {
    const found = steps('9.0', { threadsPerBlock: 256, registersPerThread: 42, sharedBytesPerBlock: 0 });
    assert.deepEqual(found.slice(0, 3), [
      '2 registers fewer, 42 → 40: 6 blocks instead of 5',
      '6 registers more, 42 → 48: still 5 blocks',
      '7 registers more, 42 → 49: 4 blocks instead of 5',
    ]);
  });

  it('does so for shared memory, and offers block sizes', () => {
    const found = steps('8.6', { threadsPerBlock: 256, registersPerThread: 38, sharedBytesPerBlock: 20000 });
    assert.ok(found.includes('544 bytes less shared memory, 20,000 → 19,456 bytes: 5 blocks instead of 4'));
    assert.ok(found.includes('a block of 384 threads instead of 256: 100 % occupancy instead of 67 %'));
  });

  it('says at which count an estimated register count would pass a step, not how far away it is', () => {
    const request = { threadsPerBlock: 256, registersPerThread: 42, sharedBytesPerBlock: 0 };
    const found = occupancySteps(rowOf('9.0'), request).map((step) => describeStep(step, true));
    assert.deepEqual(found.slice(0, 3), [
      'at most 40 registers a thread: 6 blocks instead of 5',
      'at most 48 registers a thread: still 5 blocks',
      '49 registers a thread or more: 4 blocks instead of 5',
    ]);
  });

  it('each is true, and none nearer would do', () => {
    for (const { cc } of capabilities) {
      const row = rowOf(cc);
      const request = { threadsPerBlock: 160, registersPerThread: 37, sharedBytesPerBlock: 5000 };
      const keys = {
        registers: 'registersPerThread',
        shared: 'sharedBytesPerBlock',
        threads: 'threadsPerBlock',
      } as const;
      for (const { resource, effect, from, to, before, after } of occupancySteps(row, request)) {
        const warpsAt = (value: number) => occupancy(row, { ...request, [keys[resource]]: value }).warpsPerSm;
        assert.equal(after.warpsPerSm, warpsAt(to), cc);
        assert.equal(before.warpsPerSm, warpsAt(from), cc);
        if (effect === 'gain') assert.ok(warpsAt(to) > warpsAt(from), cc);
        if (effect === 'loss') assert.ok(warpsAt(to) < warpsAt(from), cc);
        if (effect === 'free') assert.ok(warpsAt(to) >= warpsAt(from), cc);
        if (effect === 'gain' && resource !== 'threads') assert.ok(warpsAt(to + 1) <= warpsAt(from), cc);
      }
    }
  });
});

describe('occupancy curves', () => {
  it('hold the present launch, fall with registers and shared memory, and never exceed the most', () => {
    for (const row of capabilities) {
      const request = { threadsPerBlock: 128, registersPerThread: 32, sharedBytesPerBlock: 4096 };
      const [threads, registers, shared] = occupancyCurves(row, request);
      assert.equal(threads.warpsPerSm[threads.values.indexOf(128)], occupancy(row, request).warpsPerSm);
      for (const { warpsPerSm, mostWarps, values } of [registers, shared]) {
        assert.equal(values.length, warpsPerSm.length);
        assert.ok(
          warpsPerSm.every((warps, index) => warps <= mostWarps && (index === 0 || warps <= warpsPerSm[index - 1])),
        );
        assert.ok(warpsPerSm[0] > 0);
      }
    }
  });
});
