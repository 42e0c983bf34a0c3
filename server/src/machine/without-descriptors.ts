/** Where ptxas fetches the descriptor of global memory anew before a load (charge-calls.ts). */
import type { ControlFlow } from '../program/control-flow';
import type { Instruction, Program } from '../program/program';

/** By block: 1 where descriptors are not in uniform registers: in loops behind a call that stays one, and behind these. */
export function withoutDescriptors({ blocks }: Program, { successors, loopOf, loops }: ControlFlow): Uint8Array {
  const calling = blocks.flatMap(({ instructions }, block) => (instructions.some(isCall) ? [block] : []));
  const behind = reachableFrom(calling, successors);
  const inLoops = blocks.flatMap((_, block) => {
    const loop = loops[loopOf[block]];
    return behind[block] === 1 && loop && !calling.some((call) => loop.contains[call] === 1) ? [block] : [];
  });
  const found = reachableFrom(inLoops, successors);
  for (const block of inLoops) found[block] = 1;
  return found;
}

function reachableFrom(starts: readonly number[], successors: ControlFlow['successors']): Uint8Array {
  const found = new Uint8Array(successors.length);
  const open = [...starts];
  for (let block = open.pop(); block !== undefined; block = open.pop())
    for (const next of successors[block]) {
      if (found[next] === 1) continue;
      found[next] = 1;
      open.push(next);
    }
  return found;
}

const isCall = (i: Instruction): boolean => i.op === 'work' && i.fence === 'call';
