/** What is known of shared and local memory, against a plain map from addresses to bytes. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { Contents, cellOf } from '../../../server/src/execute/memory';
import { addressWindows } from '../../../server/src/program/addresses';
import type { ScalarType } from '../../../server/src/program/program';
import { check } from '../analysis/check-accesses';

const NEVER = 7;
const BYTES = 32;
const base = addressWindows.shared;

type Step =
  | { readonly kind: 'store'; readonly at: number; readonly type: ScalarType; readonly value: number | undefined }
  | { readonly kind: 'forget'; readonly reason: number }
  | { readonly kind: 'clear' };

const types: readonly ScalarType[] = ['u8', 'i16', 'i32', 'f32', 'f64'];

const store = fc
  .record({
    type: fc.constantFrom(...types),
    place: fc.nat(BYTES - 1),
    value: fc.option(fc.nat(100), { nil: undefined }),
  })
  .map(({ type, place, value }): Step => {
    const { bytes } = cellOf(type);
    return { kind: 'store', at: Math.floor(place / bytes) * bytes, type, value };
  });
const step = fc.oneof(
  { weight: 6, arbitrary: store },
  { weight: 1, arbitrary: fc.integer({ min: 20, max: 30 }).map((reason): Step => ({ kind: 'forget', reason })) },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'clear' }) },
);

/** Bytes that were stored, by their place; undefined where the value was not known. */
class Bytes {
  readonly stored = new Map<number, number | undefined>();
  reason = NEVER;

  take(each: Step): void {
    if (each.kind !== 'store') {
      this.stored.clear();
      this.reason = each.kind === 'clear' ? NEVER : each.reason;
      return;
    }
    const { at, type, value } = each;
    const view = new DataView(new ArrayBuffer(8));
    if (type === 'f32') view.setFloat32(0, value ?? 0, true);
    else if (type === 'f64') view.setFloat64(0, value ?? 0, true);
    else view.setInt32(0, value ?? 0, true);
    for (let k = 0; k < cellOf(type).bytes; k++)
      this.stored.set(at + k, value === undefined ? undefined : view.getUint8(k));
  }

  /** The integer that four bytes are, whatever they were stored as. */
  integerAt(first: number): number | undefined {
    const word = new DataView(new ArrayBuffer(4));
    for (let k = 0; k < 4; k++) {
      const byte = this.stored.get(first + k);
      if (byte === undefined) return undefined;
      word.setUint8(k, byte);
    }
    return word.getInt32(0, true);
  }

  isTouched(first: number, bytes: number): boolean {
    for (let k = 0; k < bytes; k++) if (this.stored.has(first + k)) return true;
    return false;
  }
}

describe('contents of memory', () => {
  it('are what was stored since all of it became unknown, in whichever type, and for what is not known there is the reason', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const contents = new Contents(base, BYTES, 1, NEVER);
        const expected = new Bytes();
        for (const each of steps) {
          expected.take(each);
          if (each.kind === 'clear') contents.clear();
          else if (each.kind === 'forget') contents.poison(each.reason);
          else contents.write(base + each.at, 0, cellOf(each.type), each.value, 11);
          for (let at = 0; at < BYTES; at += 4) {
            assert.equal(contents.read(base + at, 0, cellOf('i32')), expected.integerAt(at));
            if (!expected.isTouched(at, 4))
              assert.ok(contents.reason === expected.reason, `${contents.reason} at ${at}`);
          }
          assert.equal(contents.holdsKnown && expected.stored.size === 0, false);
        }
      }),
    );
  });

  it('are found where members of a record are loaded together, and where bytes are copied as words', () => {
    check(`
struct Entry { float score; int at; };
__global__ void k(float *out) {
  __shared__ Entry best[32];
  best[threadIdx.x].score = threadIdx.x;
  best[threadIdx.x].at = 4 * threadIdx.x;
  __syncthreads();
  Entry e = best[31 - threadIdx.x];
  if (e.score > 15.f) out[2 * e.at] = 1;
  //                  ^^^^^^^^^^^^^ global store 16/2 sectors
}
__global__ void bytes(float *out) {
  __shared__ unsigned word[32];
  word[threadIdx.x] = 0x03020100 + threadIdx.x * 0x04040404;
  __syncthreads();
  const unsigned char *table = (const unsigned char *)word;
  if (word[0]) out[8 * table[threadIdx.x]] = 1;
  //           ^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 32/4 sectors
}
int main() { float *p; cudaMalloc(&p, 1 << 16); k<<<1, 32>>>(p); bytes<<<1, 32>>>(p); }
`);
  });

  it('are found where a part of a word was stored over: counters of 16 bits, cleared and read as words', () => {
    check(`
union Digits { unsigned short counter[32][2]; unsigned word[32]; };
// warplens: block=32 grid=1
__global__ void k(float *out) {
  __shared__ Digits digits;
  digits.word[threadIdx.x] = 0;
  unsigned short *mine = &digits.counter[threadIdx.x][threadIdx.x & 1];
  *mine = *mine + 1;
  __syncthreads();
  unsigned both = digits.word[31 - threadIdx.x];
  out[8 * (both & 0xff) + 16 * (both >> 16)] = 1;
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 2/2 sectors exact
}
`);
  });
});
