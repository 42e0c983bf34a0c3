import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  changeSome,
  geometryOf,
  isAsTaken,
  isUnknownIn,
  type LaneValue,
  laneOf,
  markLanes,
  newValue,
  overwrite,
  setLinear,
  setUniform,
  setUnknown,
  shareValue,
  snapshotOf,
  swapValues,
  vectorOf,
} from '../../../server/src/execute/value';

const geometry = geometryOf([32, 2, 1], 32);

/** What instructions do to a value. */
const changes: Readonly<Record<string, (value: LaneValue) => void>> = {
  uniform: (value) => setUniform(value, 7),
  linear: (value) => setLinear(value, 3, 4, 100, 0),
  unknown: (value) => setUnknown(value, 5),
  whole: (value) => overwrite(value).fill(9),
  some: (value) => {
    changeSome(value)[3] = 11;
  },
  marked: (value) => {
    markLanes(value, 2)[4] = 1;
  },
  filled: (value) => {
    vectorOf(value);
  },
  exchanged: (value) => {
    const other = newValue('i32', geometry);
    overwrite(other).fill(13);
    swapValues(value, other);
    // the other is a temporary, which is written again
    overwrite(other).fill(17);
  },
};
const steps = fc.array(fc.constantFrom(...Object.values(changes)), { maxLength: 6 });

const contents = (value: LaneValue) =>
  Array.from({ length: geometry.lanes }, (_, lane) => (isUnknownIn(value, lane) ? undefined : laneOf(value, lane)));

describe('snapshots of values', () => {
  it('hold what the value held, whatever becomes of it', () => {
    fc.assert(
      fc.property(steps, steps, (before, after) => {
        const value = newValue('i32', geometry);
        setUniform(value, 1);
        for (const change of before) change(value);
        const held = contents(value);
        const taken = snapshotOf(value);
        for (const change of after) change(value);
        assert.deepEqual(contents(taken), held);
        if (isAsTaken(value, taken)) assert.deepEqual(contents(value), held);
      }),
    );
  });

  it('give it back, and stay what they are when it changes again', () => {
    fc.assert(
      fc.property(steps, steps, steps, (before, between, after) => {
        const value = newValue('i32', geometry);
        setUniform(value, 1);
        for (const change of before) change(value);
        const held = contents(value);
        const taken = snapshotOf(value);
        for (const change of between) change(value);
        shareValue(value, taken);
        assert.deepEqual(contents(value), held);
        for (const change of after) change(value);
        assert.deepEqual(contents(taken), held);
      }),
    );
  });
});
