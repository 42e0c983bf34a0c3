/** What is known of shared and local memory, against a plain map from addresses to bytes. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { Contents, cellOf } from '../../../server/src/execute/memory';
import { addressWindows } from '../../../server/src/program/addresses';
import type { ScalarType } from '../../../server/src/program/program';

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

/** Every value that is whole, by its first byte. */
class Whole {
  values = new Map<number, { type: ScalarType; value: number | undefined }>();
  reason = NEVER;

  take(each: Step): void {
    if (each.kind !== 'store') {
      this.values.clear();
      this.reason = each.kind === 'clear' ? NEVER : each.reason;
      return;
    }
    const { bytes } = cellOf(each.type);
    for (const [at, { type }] of this.values)
      if (at < each.at + bytes && each.at < at + cellOf(type).bytes) this.values.delete(at);
    this.values.set(each.at, each);
  }
}

describe('contents of memory', () => {
  it('are what was stored since all of it became unknown, and for what is not known there is the reason', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const contents = new Contents(base, BYTES, 1, NEVER);
        const expected = new Whole();
        for (const each of steps) {
          expected.take(each);
          if (each.kind === 'clear') contents.clear();
          else if (each.kind === 'forget') contents.poison(each.reason);
          else contents.write(base + each.at, 0, cellOf(each.type), each.value, 11);
          for (let at = 0; at < BYTES; at += 4) {
            const held = expected.values.get(at);
            const known = held?.type === 'i32' ? held.value : undefined;
            assert.equal(contents.read(base + at, 0, cellOf('i32')), known);
            if (!held) assert.ok(contents.reason === expected.reason, `${contents.reason} at ${at}`);
          }
          assert.equal(contents.holdsKnown && expected.values.size === 0, false);
        }
      }),
    );
  });
});
