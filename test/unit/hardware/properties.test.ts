/** The memory models against independent, naive definitions, on random warps of several capabilities. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { type Capability, capabilities, keplerEightByteMode } from '../../../server/src/hardware/capabilities';
import { explainGlobal, explainShared } from '../../../server/src/hardware/explain';
import {
  type AccessBytes,
  type AccessShape,
  emptyCounts,
  memoryModel,
  type WarpCounts,
} from '../../../server/src/hardware/memory-model';
import { transactions } from '../../../server/src/hardware/transactions';
import { type Addresses, countAccess, lanesOf, rowOf, warp } from './counting';

const widths = fc.constantFrom<AccessBytes>(1, 2, 4, 8, 16);

/** Warps as kernels make them: strides, tiles, divisions, a few words, anything; some with inactive lanes. */
function warps(largest: number): fc.Arbitrary<{ bytes: AccessBytes; list: Addresses }> {
  const index = fc.oneof(
    fc.tuple(fc.integer({ min: 0, max: 64 }), fc.integer({ min: 0, max: 40 })).map(
      ([s, o]) =>
        (k: number) =>
          k * s + o,
    ),
    fc.tuple(fc.integer({ min: 1, max: 40 }), fc.constantFrom(2, 4, 8, 16)).map(([p, w]) => (k: number) => {
      return (k % w) * p + Math.floor(k / w);
    }),
    fc.integer({ min: 1, max: 32 }).map((d) => (k: number) => Math.floor(k / d)),
    fc.array(fc.nat(60), { minLength: 32, maxLength: 32 }).map((values) => (k: number) => values[k]),
    fc.array(fc.nat(3000), { minLength: 32, maxLength: 32 }).map((values) => (k: number) => values[k]),
    fc.integer({ min: 1, max: 20 }).map((s) => (k: number) => (31 - k) * s),
  );
  const active = fc.oneof(
    fc.constant(() => true),
    fc.integer({ min: 1, max: 32 }).map((n) => (k: number) => k < n),
    fc.array(fc.boolean(), { minLength: 32, maxLength: 32 }).map((values) => (k: number) => values[k]),
  );
  return fc
    .tuple(widths, index, active, fc.nat(largest))
    .map(([bytes, at, on, base]) => ({ bytes, list: warp((k) => (on(k) ? (base * 16 + at(k)) * bytes : null)) }));
}

const lanesIn = (list: Addresses, from: number, count: number) =>
  list.slice(from, from + count).filter((address): address is number => address !== null);
const distinct = (values: readonly number[]) => new Set(values).size;

/** Sum over phases of the most distinct words in one of 32 banks of 4 bytes, word by word. */
function phaseSum(list: Addresses, bytes: number, lanes: number): number {
  let sum = 0;
  for (let from = 0; from < 32; from += lanes) {
    const banks = Array.from({ length: 32 }, () => new Set<number>());
    for (const address of lanesIn(list, from, lanes)) {
      for (let byte = 0; byte < bytes; byte++) {
        const word = Math.floor((address + byte) / 4);
        banks[word % 32].add(word);
      }
    }
    sum += Math.max(...banks.map(({ size }) => size));
  }
  return sum;
}

const phaseLanes: Readonly<Record<AccessBytes, number>> = { 1: 32, 2: 32, 4: 32, 8: 16, 16: 8 };

/** Two phases that are free of conflicts together are one; otherwise each is served alone. */
function mergedSum(list: Addresses, bytes: number, lanes: number): number {
  let sum = 0;
  for (let from = 0; from < 32; from += 2 * lanes) {
    const pair = list.map((address, lane) => (lane >= from && lane < from + 2 * lanes ? address : null));
    const together = phaseSum(pair, bytes, 2 * lanes);
    sum += together <= 1 ? together : phaseSum(pair, bytes, lanes);
  }
  return sum;
}

const paired = (list: Addresses, mask: number) =>
  list.every((address, lane) => address === null || list[lane ^ mask] === null || list[lane ^ mask] === address);

function check(cc: string | Capability, shape: AccessShape, list: Addresses, naive: Partial<WarpCounts>): void {
  const counts = countAccess(cc, shape, list);
  for (const [name, value] of Object.entries(naive)) assert.equal(counts[name as keyof WarpCounts], value, name);
}

describe('shared memory models against naive definitions', () => {
  for (const cc of ['5.0', '6.1', '7.5', '8.6', '9.0', '12.0']) {
    it(`${cc}: loads and stores`, () => {
      fc.assert(
        fc.property(warps(64), ({ bytes, list }) => {
          const merges = rowOf(cc).shared.mergesPairedLoads && bytes >= 8 && (paired(list, 1) || paired(list, 2));
          const lanes = phaseLanes[bytes];
          check(cc, { space: 'shared', operation: 'store', bytes }, list, { wavefronts: phaseSum(list, bytes, lanes) });
          const loads = merges ? mergedSum(list, bytes, lanes) : phaseSum(list, bytes, lanes);
          check(cc, { space: 'shared', operation: 'load', bytes }, list, { wavefronts: loads });
        }),
      );
    });
  }

  it('2.0: as later, and one wavefront more for each quarter-warp of 16-byte accesses', () => {
    fc.assert(
      fc.property(warps(64), ({ bytes, list }) => {
        const quarters = [0, 8, 16, 24].filter((from) => lanesIn(list, from, 8).length > 0).length;
        const wavefronts = phaseSum(list, bytes, phaseLanes[bytes]) + (bytes === 16 ? quarters : 0);
        check('2.0', { space: 'shared', operation: 'load', bytes }, list, { wavefronts });
      }),
    );
  });

  it('3.5: in 4-byte mode words 32 apart of one 64-word segment are free, in 8-byte mode 8-byte words', () => {
    const worst = (keys: readonly (readonly [bank: number, row: number])[]) => {
      const banks = new Map<number, Set<number>>();
      for (const [bank, row] of keys) banks.set(bank, (banks.get(bank) ?? new Set()).add(row));
      return Math.max(0, ...[...banks.values()].map(({ size }) => size));
    };
    fc.assert(
      fc.property(warps(64), ({ bytes, list }) => {
        const words = lanesIn(list, 0, 32).flatMap((address) =>
          Array.from({ length: Math.ceil(bytes / 4) }, (_, index) => Math.floor(address / 4) + index),
        );
        const shape: AccessShape = { space: 'shared', operation: 'load', bytes };
        check('3.5', shape, list, { wavefronts: worst(words.map((word) => [word % 32, Math.floor(word / 64)])) });
        const eight = worst(words.map((word) => [Math.floor(word / 2) % 32, Math.floor(word / 2)]));
        check(keplerEightByteMode(rowOf('3.5')), shape, list, { wavefronts: eight });
      }),
    );
  });

  it('1.x: no more steps than lanes on a bank, no fewer than distinct words on a bank; each step clears every bank', () => {
    fc.assert(
      fc.property(warps(8), ({ list }) => {
        const words = list.map((address) => (address === null ? null : Math.floor(address / 4) * 4));
        const { wavefronts } = countAccess('1.1', { space: 'shared', operation: 'load', bytes: 4 }, words);
        let least = 0;
        let most = 0;
        for (const from of [0, 16]) {
          const byBank = Array.from({ length: 16 }, (_, bank) =>
            lanesIn(words, from, 16).filter((address) => (address / 4) % 16 === bank),
          );
          least += Math.max(...byBank.map(distinct));
          most += Math.max(...byBank.map(({ length }) => length));
        }
        assert.ok(least <= wavefronts && wavefronts <= most, `${least} ${wavefronts} ${most}`);
      }),
    );
  });

  it('integer atomics: lanes on one bank; increments by a constant: words on one bank', () => {
    fc.assert(
      fc.property(warps(64), ({ list }) => {
        const words = list.map((address) => (address === null ? null : Math.floor(address / 4) * 4));
        const lanesOnBank = Array.from({ length: 32 }, () => 0);
        for (const address of lanesIn(words, 0, 32)) lanesOnBank[(address / 4) % 32]++;
        const atomic: AccessShape = { space: 'shared', operation: 'atomic', bytes: 4, atomic: 'integer' };
        const most = Math.max(...lanesOnBank);
        check('9.0', atomic, words, { wavefronts: most });
        check('9.0', { ...atomic, resultUsed: true }, words, { wavefronts: most });
        check('9.0', { ...atomic, atomic: 'add-constant' }, words, { wavefronts: phaseSum(words, 4, 32) });
      }),
    );
  });

  it('every capability: least and ideal never exceed wavefronts, the explanation names the worst bank', () => {
    const rows = fc.constantFrom(...capabilities.filter(({ major }) => major >= 2));
    fc.assert(
      fc.property(rows, warps(64), (row, { bytes, list }) => {
        const shape: AccessShape = { space: 'shared', operation: 'load', bytes };
        const { wavefronts, leastWavefronts, idealWavefronts } = countAccess(row, shape, list);
        assert.ok(idealWavefronts <= leastWavefronts && leastWavefronts <= wavefronts);
        const { addresses, active } = lanesOf(list);
        const { worst, requests } = explainShared(row, shape, addresses, active, 0, 32);
        if (worst === undefined) return assert.equal(wavefronts, 0);
        const extra = row.shared.extraWavefronts[bytes];
        assert.ok(worst.words.length + extra <= requests * 64 && wavefronts <= requests * (worst.words.length + extra));
        for (const lane of worst.lanes) assert.notEqual(list[lane], null);
      }),
    );
  });
});

describe('global memory models against naive definitions', () => {
  const far = 2 ** 40;

  for (const cc of ['5.2', '6.0', '8.0', '9.0', '10.0']) {
    it(`${cc}: sectors are the distinct addresses / 32; the ideal is the packed bytes, or fewer`, () => {
      fc.assert(
        fc.property(warps(far), fc.constantFrom('load', 'store'), ({ bytes, list }, operation) => {
          const lanes = lanesIn(list, 0, 32);
          const sectors = distinct(lanes.map((address) => Math.floor(address / 32)));
          const idealSectors = Math.min(sectors, Math.ceil((lanes.length * bytes) / 32));
          check(cc, { space: 'global', operation, bytes }, list, { sectors, idealSectors, transactions: sectors });
        }),
      );
    });
  }

  it('2.0: distinct lines of the warp, of half-warps for 8 and quarter-warps for 16 bytes', () => {
    fc.assert(
      fc.property(warps(far), fc.constantFrom('l1', 'l2'), ({ bytes, list }, caching) => {
        const size = caching === 'l1' ? 128 : 32;
        let lines = 0;
        for (let from = 0; from < 32; from += phaseLanes[bytes]) {
          lines += distinct(lanesIn(list, from, phaseLanes[bytes]).map((address) => Math.floor(address / size)));
        }
        const shape: AccessShape = { space: 'global', operation: 'load', bytes, caching };
        check('2.0', shape, list, { transactions: lines, sectors: (lines * size) / 32 });
      }),
    );
  });

  it('1.2: every active lane is inside a transaction, no two of a half-warp overlap, each is an aligned segment', () => {
    fc.assert(
      fc.property(warps(1000), ({ bytes, list }) => {
        const shape: AccessShape = { space: 'global', operation: 'load', bytes };
        const { addresses, active } = lanesOf(list);
        const all = transactions(rowOf('1.2'), shape, addresses, active, 0, 32);
        for (const transaction of all) {
          assert.ok([32, 64, 128].includes(transaction.bytes) && transaction.address % transaction.bytes === 0);
          assert.ok(transaction.lanes.length > 0);
        }
        const served = all.flatMap(({ lanes }) => lanes).sort((left, right) => left - right);
        assert.deepEqual(
          served,
          [...list.keys()].filter((lane) => list[lane] !== null),
        );
        assert.equal(countAccess('1.2', shape, list).transactions, all.length);
      }),
    );
  });

  it('atomics: a sector is sent as often as lanes meet on one of its words', () => {
    fc.assert(
      fc.property(warps(far), ({ list }) => {
        const words = list.map((address) => (address === null ? null : Math.floor(address / 4) * 4));
        const most = new Map<number, number>();
        for (const address of lanesIn(words, 0, 32)) {
          const meeting = lanesIn(words, 0, 32).filter((other) => other === address).length;
          const sector = Math.floor(address / 32);
          most.set(sector, Math.max(most.get(sector) ?? 0, meeting));
        }
        const sectors = [...most.values()].reduce((sum, value) => sum + value, 0);
        check('9.0', { space: 'global', operation: 'atomic', bytes: 4 }, words, { sectors });
      }),
    );
  });

  it('every capability: the list of transactions agrees with the counters, in all spaces', () => {
    const spaces = fc.constantFrom('global', 'local', 'texture', 'constant');
    fc.assert(
      fc.property(fc.constantFrom(...capabilities), spaces, warps(1000), (row, space, { bytes, list }) => {
        const shape: AccessShape = { space, operation: 'load', bytes };
        const { addresses, active } = lanesOf(list);
        const counts = countAccess(row, shape, list);
        const { transactions: all, bytesMoved, efficiency } = explainGlobal(row, shape, addresses, active, 0, 32);
        assert.equal(space === 'constant' ? counts.wavefronts : counts.transactions, all.length);
        if (space !== 'constant') assert.equal(counts.sectors * 32, bytesMoved);
        assert.ok(counts.idealSectors <= counts.sectors || space === 'local');
        assert.ok(efficiency <= 1 || space === 'constant');
      }),
      { numRuns: 400 },
    );
  });
});

describe('memory model: what it is handed', () => {
  it('counts from `first` on, and anew each time', () => {
    const model = memoryModel(rowOf('9.0'));
    const out = emptyCounts();
    const addresses = new Float64Array(96);
    const active = new Uint8Array(96);
    for (let lane = 0; lane < 32; lane++) {
      addresses[64 + lane] = 128 * lane;
      active[64 + lane] = 1;
    }
    const shape: AccessShape = { space: 'shared', operation: 'load', bytes: 4 };
    model.count(shape, addresses, active, 64, 32, out);
    assert.deepEqual([out.wavefronts, out.lanes], [32, 32]);
    model.count(shape, addresses, active, 0, 32, out);
    assert.deepEqual(out, emptyCounts());
  });

  it('fewer lanes than a warp count as if the others were inactive', () => {
    fc.assert(
      fc.property(warps(100), fc.integer({ min: 1, max: 31 }), ({ bytes, list }, lanes) => {
        for (const space of ['shared', 'global', 'constant', 'local'] as const) {
          const shape: AccessShape = { space, operation: 'load', bytes };
          const masked = list.map((address, lane) => (lane < lanes ? address : null));
          assert.deepEqual(countAccess('9.0', shape, list.slice(0, lanes)), countAccess('9.0', shape, masked));
        }
      }),
    );
  });
});
