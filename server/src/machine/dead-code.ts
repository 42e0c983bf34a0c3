/**
 * Drops what nobody needs: pure instructions and loads whose results reach no store, branch, atomic or lane operation. The
 * compiler does the same, so a load of a struct of which one member is used counts as a load of that member.
 * Volatile loads stay.
 */
import { readsOf, writesOf } from '../program/operands';
import type { Block, Instruction, Program, Register } from '../program/program';

export function dropDeadCode(program: Program): Program {
  const needed = neededRegisters(program);
  const blocks = program.blocks.map(
    (block): Block => ({
      ...block,
      instructions: withoutOverwritten(
        program,
        block.instructions.filter((i) => isNeeded(program, i, needed)).map((i) => unusedResult(i, needed)),
      ),
    }),
  );
  return { ...program, blocks };
}

/** Drops moves to a variable that the same block assigns again before anything reads it. */
function withoutOverwritten(program: Program, instructions: Instruction[]): Instruction[] {
  const overwritten = new Set<Register>();
  const kept: Instruction[] = [];
  for (let k = instructions.length - 1; k >= 0; k--) {
    const i = instructions[k];
    if (i.op === 'unary' && i.fn === 'mov' && program.registers[i.dst].role === 'variable') {
      if (overwritten.has(i.dst)) continue;
      overwritten.add(i.dst);
    }
    for (const r of readsOf(i)) overwritten.delete(r);
    kept.push(i);
  }
  return kept.reverse();
}

/** An atomic whose result nobody reads is a reduction. */
function unusedResult(instruction: Instruction, needed: Uint8Array): Instruction {
  if (instruction.op !== 'atomic' || instruction.dst === undefined || needed[instruction.dst]) return instruction;
  return { ...instruction, dst: undefined };
}

function isNeeded(program: Program, i: Instruction, needed: Uint8Array): boolean {
  switch (i.op) {
    case 'store':
    case 'atomic':
    case 'asyncCopy':
    case 'barrier':
    case 'work':
      return true;
    case 'matrix':
      return i.direction === 'store' || i.dst.some((d) => needed[d]) || i.dst.length === 0;
    case 'load':
      return program.accesses[i.access].isVolatile === true || i.dst.some((d) => needed[d]);
    default:
      return needed[i.dst] !== 0;
  }
}

/** By register: 1 when some store, atomic, branch or other root depends on it. */
export function neededRegisters(program: Program): Uint8Array {
  const needed = new Uint8Array(program.registers.length);
  const definitions: Instruction[][] = program.registers.map(() => []);
  const queue: Register[] = [];
  const want = (register: Register | undefined) => {
    if (register === undefined || needed[register]) return;
    needed[register] = 1;
    queue.push(register);
  };
  for (const block of program.blocks) {
    for (const i of block.instructions) {
      for (const dst of writesOf(i)) definitions[dst].push(i);
      const isRoot =
        i.op === 'store' ||
        i.op === 'atomic' ||
        i.op === 'asyncCopy' ||
        i.op === 'matrix' ||
        i.op === 'work' ||
        (i.op === 'load' && program.accesses[i.access].isVolatile);
      if (isRoot) for (const r of readsOf(i)) want(r);
    }
    if (block.terminator.kind === 'branch') want(block.terminator.condition);
  }
  while (queue.length > 0) {
    const register = queue.pop() as Register;
    for (const i of definitions[register]) for (const r of readsOf(i)) want(r);
  }
  return needed;
}
