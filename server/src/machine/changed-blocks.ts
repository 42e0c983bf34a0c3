/** A program with some of its blocks changed; the program itself where none is, so that the pass is not run on it again. */
import type { Instruction, Program } from '../program/program';

/** @param change gives the list itself where it leaves a block as it is */
export function withChangedBlocks(
  program: Program,
  change: (instructions: readonly Instruction[]) => readonly Instruction[],
): Program {
  let changes = false;
  const blocks = program.blocks.map((block) => {
    const instructions = change(block.instructions);
    if (instructions === block.instructions) return block;
    changes = true;
    return { ...block, instructions };
  });
  return changes ? { ...program, blocks } : program;
}
