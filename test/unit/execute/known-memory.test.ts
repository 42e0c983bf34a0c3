import assert from 'node:assert/strict';
import fc from 'fast-check';
import { ByteMemory } from '../../../server/src/execute/byte-memory';
import { loadLoops } from '../../../server/src/execute/known-loads';
import { storeLoops } from '../../../server/src/execute/known-stores';
import { isWide } from '../../../server/src/execute/value';
import { addressWindows } from '../../../server/src/program/addresses';
import { bytesOf, type ScalarType } from '../../../server/src/program/program';

const SHADOW = 1024;
const BASE = 2 ** 50;
const BLOCK = { start: 64, end: 128 };
const LANES = 8;

/** A block in which every byte has a value, and those of `open` are not known. */
function memory(bytes: Uint8Array, open: readonly number[]): ByteMemory {
  const made = new ByteMemory({
    buffer: new ArrayBuffer(2 * SHADOW),
    shadow: SHADOW,
    base: BASE,
    free: BLOCK.end,
    isComplete: true,
    blockAt: () => BLOCK,
    isSpare: () => false,
    aboutToChange: () => {},
    aboutToUse: () => {},
  });
  bytes.forEach((value, i) => {
    made.write('u8', BLOCK.start + i, value);
  });
  for (const at of open) made.mark(BLOCK.start + at, 1, false);
  return made;
}

function pieceOf(of: ByteMemory) {
  const piece = { low: 0, high: 0, shift: 0, stride: 0 };
  of.pieceAround(BASE + BLOCK.start, BLOCK, piece);
  return piece;
}

const size = BLOCK.end - BLOCK.start;
const offset = fc.integer({ min: -8, max: 8 });
const contents = fc.uint8Array({ minLength: size, maxLength: size });
/** Around the block, some outside of it; mostly aligned. */
const addresses = fc.array(
  fc.oneof(
    fc.integer({ min: -2, max: 2 + size / 8 }).map((i) => 8 * i),
    fc.integer({ min: -10, max: size + 10 }),
  ),
  {
    minLength: LANES,
    maxLength: LANES,
  },
);
const active = fc.uint8Array({ min: 0, max: 1, minLength: LANES, maxLength: LANES });
const lanesOf = (type: ScalarType) => (isWide(type) ? new Float64Array(LANES) : new Int32Array(LANES));

/** Whether a lane's place is one that loops take, by the definition. */
function isSimple(place: number, bytes: number): boolean {
  return place >= BLOCK.start && place + bytes <= BLOCK.end && place % bytes === 0;
}

describe('loops over lanes', () => {
  for (const [type, loop] of Object.entries(loadLoops) as [ScalarType, (typeof loadLoops)['f32'] & object][]) {
    it(`load ${type} as memory is read`, () => {
      const open = fc.array(fc.nat({ max: size - 1 }), { maxLength: 2 });
      fc.assert(
        fc.property(contents, open, addresses, offset, active, (bytes, unknown, relative, shift, mask) => {
          const from = memory(bytes, unknown);
          const at = Float64Array.from(relative, (address) => BASE + BLOCK.start + address);
          const out = lanesOf(type);
          const end = loop(out, from, pieceOf(from), at, shift, mask, 0, LANES);
          const expected = lanesOf(type);
          let lane = 0;
          for (; lane < LANES; lane++) {
            if (mask[lane] === 0) continue;
            const place = BLOCK.start + relative[lane] + shift;
            if (!isSimple(place, bytesOf[type]) || !from.isKnown(place, bytesOf[type])) break;
            expected[lane] = from.read(type, place) ?? Number.NaN;
          }
          assert.equal(end, lane);
          assert.deepEqual(out, expected);
        }),
      );
    });
  }

  for (const [type, loop] of Object.entries(storeLoops) as [ScalarType, (typeof storeLoops)['f32'] & object][]) {
    it(`store ${type} as memory is written`, () => {
      const values = fc.array(fc.integer({ min: -200, max: 300 }), { minLength: LANES, maxLength: LANES });
      fc.assert(
        fc.property(contents, addresses, offset, active, values, (bytes, relative, shift, mask, stored) => {
          const [to, expected] = [memory(bytes, [3, 17]), memory(bytes, [3, 17])];
          const at = Float64Array.from(relative, (address) => BASE + BLOCK.start + address);
          const from = lanesOf(type);
          from.set(stored);
          const end = loop(from, to, pieceOf(to), at, shift, mask, 0, LANES);
          let lane = 0;
          for (; lane < LANES; lane++) {
            if (mask[lane] === 0) continue;
            const place = BLOCK.start + relative[lane] + shift;
            if (!isSimple(place, bytesOf[type])) break;
            expected.write(type, place, from[lane]);
          }
          assert.equal(end, lane);
          assert.deepEqual(to.u8, expected.u8);
        }),
      );
    });
  }

  it('have memory of their own at one address in local memory', () => {
    const own = memory(new Uint8Array(size), []);
    own.open(0, 0, 16, LANES);
    const piece = { low: 0, high: 0, shift: 0, stride: 0 };
    own.pieceAround(addressWindows.local, undefined, piece);
    const at = new Float64Array(LANES).fill(addressWindows.local);
    const [mask, values, loaded] = [
      new Uint8Array(LANES).fill(1),
      Int32Array.of(7, 6, 5, 4, 3, 2, 1, 0),
      lanesOf('i32'),
    ];
    assert.equal(storeLoops.i32?.(values, own, piece, at, 8, mask, 0, LANES), LANES);
    assert.equal(loadLoops.i32?.(loaded, own, piece, at, 8, mask, 0, LANES), LANES);
    assert.deepEqual(loaded, values);
    assert.equal(own.read('i32', own.place(addressWindows.local + 8, 2)), 5);
  });
});
