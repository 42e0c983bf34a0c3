import assert from 'node:assert/strict';
import fc from 'fast-check';
import { occupancyAnswer, occupancyLine } from '../../../server/src/cli/occupancy';

function ask(question: unknown): Record<string, unknown> {
  return JSON.parse(occupancyLine(JSON.stringify(question)));
}

const launch = { cc: '9.0', threads: 256, registers: 40, shared: 4096 };

describe('occupancy: one line', () => {
  it('answers the occupancy object of the contract', () => {
    const {
      registersPerThread,
      registersOrigin,
      staticSharedBytes,
      blocksPerSm,
      warpsPerSm,
      theoretical,
      limits,
      limitedBy,
    } = ask(launch);
    assert.deepEqual([registersPerThread, registersOrigin, staticSharedBytes], [40, 'option', 4096]);
    assert.deepEqual([blocksPerSm, warpsPerSm, theoretical], [6, 48, 0.75]);
    assert.deepEqual(limits, { warps: 8, blocks: 32, registers: 6, shared: 45 });
    assert.deepEqual(limitedBy, ['registers']);
  });

  it('takes barriers and a carve-out', () => {
    assert.equal((ask({ ...launch, barriers: 16 }).limits as { barriers: number }).barriers, 4);
    assert.equal(ask({ ...launch, carveout: 16384 }).blocksPerSm, 3);
  });

  it('says what is wrong', () => {
    const error = (question: unknown) => String(ask(question).error);
    assert.match(error({ ...launch, cc: '4.2' }), /"cc" is "4.2"; known capabilities/);
    assert.match(error({ ...launch, threads: undefined }), /"threads" is missing; give a whole number from 1 up/);
    assert.match(error({ ...launch, threads: 0 }), /"threads" is 0/);
    assert.match(error({ ...launch, registers: 1.5 }), /"registers" is 1.5/);
    assert.match(error({ ...launch, shared: '4096' }), /"shared" is "4096"/);
    assert.match(error([]), /not a JSON object/);
    assert.match(occupancyLine('nonsense'), /not JSON/);
  });

  it('a launch that fails is an answer, with its reasons', () => {
    const { blocksPerSm, launchFailures } = ask({ ...launch, registers: 300 });
    assert.equal(blocksPerSm, 0);
    assert.deepEqual(launchFailures, [
      { resource: 'registers-per-thread', wanted: 300, allowed: 256 },
      { resource: 'registers-per-block', wanted: 77824, allowed: 65536 },
    ]);
  });

  it('never throws', () => {
    const values = fc.oneof(fc.nat(2000), fc.jsonValue());
    const line = fc.oneof(
      fc.string(),
      fc
        .record({ cc: fc.constantFrom('1.0', '9.0', 7), threads: values, registers: values, shared: values })
        .map((value) => JSON.stringify(value)),
    );
    fc.assert(
      fc.property(line, (text) => {
        const parsed = JSON.parse(occupancyLine(text));
        assert.ok(typeof parsed.error === 'string' || typeof parsed.blocksPerSm === 'number');
      }),
    );
  });
});

describe('occupancy: with options', () => {
  it('adds the next steps in words', () => {
    const answer = occupancyAnswer({ ...launch, registers: 42 });
    assert.ok('steps' in answer);
    assert.ok(answer.steps.includes('2 registers fewer, 42 → 40: 6 blocks instead of 5'));
  });

  it('answers an error for an unknown capability', () => {
    assert.ok('error' in occupancyAnswer({ ...launch, cc: 'sm_1' }));
  });
});
