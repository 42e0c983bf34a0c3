/** Loads that the line table shows at another place than where they stand. */
import type { Instruction, LoadInstruction, Program, SourcePlace } from '../program/program';

/** The program with these loads shown there; those that another pass has placed already stay. */
export function withChargedLoads(program: Program, charged: ReadonlyMap<LoadInstruction, SourcePlace>): Program {
  const accesses = [...program.accesses];
  const shown = (i: Instruction): Instruction => {
    const place = i.op === 'load' ? charged.get(i) : undefined;
    if (!place || i.op !== 'load' || accesses[i.access].charged) return i;
    return { ...i, access: accesses.push({ ...accesses[i.access], charged: place }) - 1 };
  };
  const isCharged = (i: Instruction) => i.op === 'load' && charged.has(i);
  const blocks = program.blocks.map((block) =>
    block.instructions.some(isCharged) ? { ...block, instructions: block.instructions.map(shown) } : block,
  );
  return accesses.length === program.accesses.length ? program : { ...program, blocks, accesses };
}
