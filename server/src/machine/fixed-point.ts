/** What follows for registers from each other, in rounds over a program until nothing changes. */
import type { Instruction, Program } from '../program/program';

/**
 * @param update what an instruction gives; whether that is new
 * @param follows instructions whose result rests on their operands: the others are looked at once
 * @returns whether it had settled after so many rounds
 */
export function settle(
  { blocks }: Program,
  update: (i: Instruction) => boolean,
  follows: (i: Instruction) => boolean,
  mostRounds: number,
): boolean {
  const open: Instruction[] = [];
  let changed = false;
  for (const { instructions } of blocks) {
    for (const i of instructions) {
      if (update(i)) changed = true;
      if (follows(i)) open.push(i);
    }
  }
  for (let rounds = 1; changed && rounds < mostRounds; rounds++) {
    changed = false;
    for (const i of open) if (update(i)) changed = true;
  }
  return !changed;
}
