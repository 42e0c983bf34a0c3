/** What is known of global memory while a block is executed, against a plain map from addresses to values. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { GlobalContents } from '../../../server/src/execute/global-data';
import { cellOf } from '../../../server/src/execute/memory';
import type { Program, ScalarType } from '../../../server/src/program/program';

/** The block ends a page, so that what is stored lies on both sides of one's end. */
const FIRST = 2 ** 40 + 4096 - 32;
const BYTES = 64;
const types: readonly ScalarType[] = ['u8', 'i16', 'i32', 'f32', 'f64'];

interface Access {
  readonly at: number;
  readonly type: ScalarType;
}
interface Store extends Access {
  readonly value: number;
}

const place = (mayBeOdd: boolean) =>
  fc.record({ type: fc.constantFrom(...types), at: fc.nat(BYTES - 8) }).map(({ type, at }): Access => {
    const { bytes } = cellOf(type);
    return { type, at: mayBeOdd ? at : Math.floor(at / bytes) * bytes };
  });
const store = (mayBeOdd: boolean) =>
  fc.tuple(place(mayBeOdd), fc.nat(100)).map(([access, value]): Store => ({ ...access, value }));

/** What the host has put there: byte n is n. */
function hostData(): GlobalContents {
  const bytes = Uint8Array.from({ length: BYTES }, (_, i) => i);
  const segment = {
    first: FIRST,
    end: FIRST + BYTES,
    view: new DataView(bytes.buffer),
    shadows: undefined,
    isResult: false,
    isZero: false,
    loops: [],
  };
  return new GlobalContents({ accesses: [] } as unknown as Program, [segment], false);
}

/** The value at a place; undefined where a part of what was stored is there. */
function expected(stores: readonly Store[], { at, type }: Access): number | undefined | 'host' {
  const { bytes, tag } = cellOf(type);
  const end = (other: Access) => other.at + cellOf(other.type).bytes;
  const over = stores.filter((s) => s.at < at + bytes && end(s) > at);
  const last = over.at(-1);
  if (!last) return 'host';
  return last.at === at && cellOf(last.type).tag === tag ? last.value : undefined;
}

describe('contents of global memory', () => {
  for (const mayBeOdd of [false, true]) {
    it(`are what the block has stored, else what the host has put there${mayBeOdd ? ', at any address' : ''}`, () => {
      fc.assert(
        fc.property(fc.array(store(mayBeOdd), { maxLength: 12 }), place(mayBeOdd), (stores, access) => {
          const contents = hostData();
          for (const { at, type, value } of stores) contents.write(FIRST + at, cellOf(type), value, 0);
          const found = contents.read(FIRST + access.at, cellOf(access.type), 0);
          const whole = expected(stores, access);
          if (whole === 'host') assert.equal(found, hostData().read(FIRST + access.at, cellOf(access.type), 0));
          else assert.equal(found, whole);
        }),
        { numRuns: 3000 },
      );
    });
  }

  it('are the same for many lanes at a time', () => {
    const types = ['i32', 'f32', 'f64'] as const;
    const places = fc.array(fc.integer({ min: -8, max: BYTES + 8 }), { minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(fc.array(store(true), { maxLength: 2 }), places, fc.constantFrom(...types), (stores, at, type) => {
        const contents = hostData();
        for (const { at, type, value } of stores) contents.write(FIRST + at, cellOf(type), value, 0);
        const cell = cellOf(type);
        contents.read(FIRST, cell, 0);
        const addresses = Float64Array.from(at, (place) => FIRST + place);
        const found = new Float64Array(at.length);
        const lanes = new Uint8Array(at.length).fill(1);
        for (let lane = 0; lane < at.length; lane++) {
          const next = contents.readLanes(found, addresses, 0, cell, 0, lanes, lane, at.length);
          for (; lane < next; lane++) assert.equal(found[lane], hostData().read(addresses[lane], cell, 0));
        }
      }),
    );
  });

  it('are what the host has put there again when another block begins', () => {
    const contents = hostData();
    contents.write(FIRST, cellOf('i32'), 99, 0);
    contents.clear();
    assert.equal(contents.read(FIRST, cellOf('u8'), 0), 0);
    assert.equal(contents.read(FIRST + 1, cellOf('u8'), 0), 1);
  });
});
