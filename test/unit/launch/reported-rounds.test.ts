import assert from 'node:assert/strict';
import fc from 'fast-check';
import { reportedRounds } from '../../../server/src/launch/reported-rounds';

const alike = () => '';

describe('rounds of a host loop that are reported', () => {
  it('are all of few', () => assert.deepEqual(reportedRounds(3, 3, alike), [0, 1, 2]));
  it('are the first, the middle and the last of many', () =>
    assert.deepEqual(reportedRounds(101, 3, alike), [0, 50, 100]));
  it('are one of each shape where there is room', () =>
    assert.deepEqual(
      reportedRounds(100, 5, (round) => (round === 70 ? 'other' : round === 71 ? 'third' : '')),
      [0, 49, 70, 71, 99],
    ));
  it('are spread over the rest', () => assert.deepEqual(reportedRounds(101, 5, alike), [0, 25, 50, 75, 100]));

  it('hold the first and the last, no more than are wanted, in order', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 300 }),
        fc.integer({ min: 3, max: 30 }),
        fc.nat(9),
        (count, most, shapes) => {
          const rounds = reportedRounds(count, most, (round) => `${round % (shapes + 1)}`);
          assert.equal(rounds[0], 0);
          assert.equal(rounds.at(-1), count - 1);
          assert.equal(rounds.length, Math.min(count, most));
          assert.ok(rounds.every((round, at) => at === 0 || round > rounds[at - 1]));
        },
      ),
    );
  });
});
