/** What comes after the last launch is no part of the program that is run. */
import assert from 'node:assert/strict';
import { parseUnit } from '../../../server/src/analysis/parsed-unit';
import { endAfterLastLaunch } from '../../../server/src/host/last-launch';
import { defaultBudget } from '../../../server/src/lower/context';
import { lowerHost } from '../../../server/src/lower/host/lower-host';
import { createHostContext } from '../../../server/src/lower/lower-kernel';
import { LexCache } from '../../../server/src/preprocess/lex-cache';

/** Loops of main, before and after. */
function check(body: string, expected: readonly [before: number, after: number]): void {
  const text = `__global__ void k(int n) {}\nint main(int argc, char** argv) {${body}}`;
  const options = { computeCapability: '9.0', defines: new Map(), assume: new Map() };
  const { tree, source } = parseUnit({ path: 'a.cu', text, options, include: () => undefined }, new LexCache());
  const main = tree.declarations.find((d) => d.kind === 'function' && d.name.parts[0].name === 'main');
  assert.ok(main?.kind === 'function');
  const program = lowerHost(createHostContext(tree, source.tokens), main, defaultBudget)?.program;
  assert.ok(program);
  const loops = (p: typeof program) => reachableLoops(p.blocks.map((b) => b.terminator));
  assert.deepEqual([loops(program), loops(endAfterLastLaunch(program))], expected);
}

type Terminators = readonly { kind: string; target?: number; ifTrue?: number; ifFalse?: number }[];

/** Jumps back, in the order of a walk from the first block. */
function reachableLoops(blocks: Terminators): number {
  const state = new Map<number, 'open' | 'done'>();
  let back = 0;
  const walk = (block: number): void => {
    state.set(block, 'open');
    const { target, ifTrue, ifFalse } = blocks[block];
    for (const next of [target, ifTrue, ifFalse]) {
      if (next === undefined) continue;
      if (state.get(next) === 'open') back++;
      else if (!state.has(next)) walk(next);
    }
    state.set(block, 'done');
  };
  walk(0);
  return back;
}

const loop = 'for (int i = 0; i < argc; i++) sum += i * sum;';

describe('the program of the host ends with its last launch', () => {
  it('what comes before is kept, a reference afterwards is not', () =>
    check(`int sum = 1; ${loop} k<<<1, 32>>>(sum); ${loop} return sum;`, [2, 1]));
  it('a loop that launches is kept whole', () =>
    check(`int sum = 1; for (int r = 0; r < argc; r++) { k<<<1, 32>>>(sum); ${loop} } return sum;`, [2, 2]));
  it('a launch on one side keeps what comes before it', () =>
    check(`int sum = 1; ${loop} if (sum > 2) k<<<1, 32>>>(sum); else { ${loop} } return sum;`, [2, 1]));
});
