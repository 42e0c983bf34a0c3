import assert from 'node:assert/strict';
import { dataLoads, decidingLoads } from '../../../server/src/program/data-loads';
import { programFrom } from './program-text';

/** A flag and a number are loaded; one side of what the flag selects is `side`. */
const selecting = (side: string) =>
  programFrom(`
    in p u64 parameter
    in q u64 parameter
    flag = load.i32 global [p]
    c = ne.i32 flag 0
    x = load.i32 global [q]
    y = load.i32 global [q + 4]
    z = add.i32 x y
    v = select.i32 c x ${side}
    store.i32 global [q] v`);

describe('loads that decide something', () => {
  it('are none where what is loaded is stored alone', () => assert.deepEqual(dataLoads(selecting('z')), []));
  it('are those that select between a load and none: the passes move it to its side', () =>
    assert.deepEqual(decidingLoads(selecting('z')), [0]));
  it('are not those that select between numbers', () => assert.deepEqual(decidingLoads(selecting('x')), []));
});
