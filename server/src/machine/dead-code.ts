/**
 * Drops what nobody needs: pure instructions and loads whose results reach no store, branch, atomic or lane operation. The
 * compiler does the same, so a load of a struct of which one member is used counts as a load of that member.
 * Volatile loads stay.
 */
import { Definitions } from '../program/definitions';
import { readsInto } from '../program/operands';
import type { Block, Instruction, Program, Register } from '../program/program';

export function dropDeadCode(program: Program): Program {
  const needed = neededRegisters(program);
  const overwritten = new Int32Array(program.registers.length);
  const facts: Facts = { needed, overwritten, reads: [], block: 0, dropsNeeded: false };
  let changes = false;
  const blocks = program.blocks.map((block, index): Block => {
    facts.block = index + 1;
    const instructions = keptOf(program, block.instructions, facts);
    if (instructions === block.instructions) return block;
    changes = true;
    return { instructions, terminator: block.terminator };
  });
  if (!changes) return program;
  // without what nothing needs, the same is needed
  if (!facts.dropsNeeded) known.set(blocks, needed);
  return { ...program, blocks };
}

interface Facts {
  readonly needed: Uint8Array;
  /** By register: the number of the block in which what it holds is not read any more. */
  readonly overwritten: Int32Array;
  /** What the instruction at hand reads. */
  readonly reads: Register[];
  /** From 1 on. */
  block: number;
  /** A move was dropped though something needs the variable. */
  dropsNeeded: boolean;
}

/** What stays of a block, the list itself where all does: no moves either to a variable that it assigns again before anything reads it. */
function keptOf(program: Program, instructions: readonly Instruction[], facts: Facts): readonly Instruction[] {
  const { needed, overwritten, block, reads } = facts;
  // from the end on; made with the first that does not stay as it is
  let kept: Instruction[] | undefined;
  for (let k = instructions.length - 1; k >= 0; k--) {
    const original = instructions[k];
    const i = isNeeded(program, original, needed) ? unusedResult(original, needed) : undefined;
    const isOverwritten = i !== undefined && isMoveToVariable(program, i) && overwritten[i.dst] === block;
    if (i !== original || isOverwritten) kept ??= instructions.slice(k + 1).reverse();
    facts.dropsNeeded ||= isOverwritten;
    if (i === undefined || isOverwritten) continue;
    if (isMoveToVariable(program, i)) overwritten[i.dst] = block;
    const count = readsInto(i, reads);
    for (let r = 0; r < count; r++) overwritten[reads[r]] = 0;
    kept?.push(i);
  }
  return kept ? kept.reverse() : instructions;
}

const isMoveToVariable = ({ registers }: Program, i: Instruction): i is Instruction & { readonly op: 'unary' } =>
  i.op === 'unary' && i.fn === 'mov' && registers[i.dst].role === 'variable';

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
    case 'host':
      return true;
    case 'matrix':
      return i.direction === 'store' || i.dst.some((d) => needed[d]) || i.dst.length === 0;
    case 'load':
      return program.accesses[i.access].isVolatile === true || i.dst.some((d) => needed[d]);
    default:
      return needed[i.dst] !== 0;
  }
}

const known = new WeakMap<Program['blocks'], Uint8Array>();

/** By register: 1 when some store, atomic, branch or other root depends on it. Remembered for the blocks. */
export function neededRegisters(program: Program): Uint8Array {
  const remembered = known.get(program.blocks);
  if (remembered && remembered.length >= program.registers.length) return remembered;
  const needed = computeNeeded(program);
  known.set(program.blocks, needed);
  return needed;
}

function computeNeeded(program: Program): Uint8Array {
  const needed = new Uint8Array(program.registers.length);
  const definitions = new Definitions(program);
  const queue: Register[] = [];
  const reads: Register[] = [];
  const want = (i: Instruction) => {
    const count = readsInto(i, reads);
    for (let k = 0; k < count; k++) {
      const register = reads[k];
      if (needed[register] !== 0) continue;
      needed[register] = 1;
      queue.push(register);
    }
  };
  for (const block of program.blocks) {
    for (const i of block.instructions) {
      definitions.add(i);
      const isRoot =
        i.op === 'store' ||
        i.op === 'atomic' ||
        i.op === 'asyncCopy' ||
        i.op === 'matrix' ||
        i.op === 'work' ||
        i.op === 'host' ||
        (i.op === 'load' && program.accesses[i.access].isVolatile);
      if (isRoot) want(i);
    }
    const { terminator } = block;
    if (terminator.kind === 'branch' && needed[terminator.condition] === 0) {
      needed[terminator.condition] = 1;
      queue.push(terminator.condition);
    }
  }
  for (let register = queue.pop(); register !== undefined; register = queue.pop())
    for (let entry = definitions.last(register); entry >= 0; entry = definitions.before(entry))
      want(definitions.at(entry));
  return needed;
}
