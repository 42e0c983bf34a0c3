import assert from 'node:assert/strict';
import { execute } from '../../../server/src/execute/execute';
import type { Execution } from '../../../server/src/execute/execution';
import { launchOf, plainModel, sound } from './run';

/** Executed with every pass, and with the passes of loops sampled after 200 warp instructions. */
function both(text: string, n: number, warpInstructions = 4_000_000): { whole: Execution; sampled: Execution } {
  const program = sound(text);
  const launch = launchOf(program, { values: { n } });
  const budget = { warpInstructions, blocks: 1 };
  return {
    whole: execute(program, launch, plainModel, { ...budget, warpInstructions: 4_000_000, everyPass: true }),
    sampled: execute(program, launch, plainModel, { ...budget, sampleLoopsAfter: 200 }),
  };
}

/** Requests and sectors of each access, to a thousandth of what every pass gives. */
function checkClose(text: string, n: number, share: number): void {
  const { whole, sampled } = both(text, n);
  assert.equal(whole.incomplete, undefined);
  assert.equal(sampled.incomplete, undefined);
  assert.equal(sampled.sampledLoops, true);
  assert.ok(sampled.simulatedWarpInstructions < share * whole.simulatedWarpInstructions);
  assert.equal(sampled.accesses.length, whole.accesses.length);
  sampled.accesses.forEach((counts, i) => {
    for (const field of ['requests', 'activeLanes', 'sectors'] as const) {
      const [found, expected] = [counts[field], whole.accesses[i][field]];
      assert.ok(Math.abs(found - expected) <= 0.001 * expected, `access ${i}: ${field} ${found}, not ${expected}`);
    }
  });
}

/** A loop in a loop that makes as many passes as the outer one has made; behind them a store at 4 × i. */
const triangle = (step = 'i = add.i32 i 1', change = '') => `
  in tid i32 threadIdx.x
  in n i32 parameter
  in p u64 parameter
    var i i32
    var j i32
    var k i32
    i = mov.i32 0
    k = mov.i32 1
  outer:
    c = lt.i32 i n
    if c body end
  body:
    j = mov.i32 0
  inner:
    d = lt.i32 j i
    if d work next
  work:
    r = mul.i32 j 32
    x = add.i32 r tid
    xw = convert.u64.i32 x
    xo = mul.u64 xw 4
    xa = add.u64 p xo
    store.f32 global [xa] 0
    j = add.i32 j 1
    jump inner
  next:
    ${change}
    ${step}
    jump outer
  end:
    m = mul.i32 k 1
    e = mul.i32 i m
    t = mul.i32 tid e
    tw = convert.u64.i32 t
    to = mul.u64 tw 4
    ta = add.u64 p to
    store.f32 global [ta] 0
    exit`;

describe('loops of which passes are sampled', () => {
  it('count what changes evenly from pass to pass', () => {
    checkClose(triangle(), 600, 0.1);
  });

  it('leave their variables as every pass would', () => {
    const { whole, sampled } = both(triangle('i = add.i32 i 3'), 1001);
    assert.deepEqual(sampled.accesses[1].witness?.addresses, whole.accesses[1].witness?.addresses);
  });

  it('are executed whole where a variable moves by unequal steps', () => {
    const { whole, sampled } = both(triangle('i = add.i32 i 1', 'k = mul.i32 k 3'), 60);
    assert.equal(sampled.sampledLoops, false);
    assert.deepEqual(sampled.accesses[0].requests, whole.accesses[0].requests);
  });

  it('are left where they take too long, so that what comes behind them is known', () => {
    const { sampled } = both(triangle('i = add.i32 i 1', 'k = mul.i32 k 3'), 100_000, 20_000);
    assert.match(sampled.incomplete ?? '', /too long/);
    const [, behind] = sampled.accesses;
    assert.equal(behind.requests, 1);
    assert.match(behind.unknownReason ?? '', /passes of a long loop/);
  });
});
