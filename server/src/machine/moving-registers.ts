/**
 * Addresses that move with the counter of a loop that is written out. NVVM keeps such an address in a register and adds the step once a pass, so
 * nothing of it is computed where the source has it (PTX of eight small loops, nvcc 13.0).
 */
import type { ControlFlow, Loop } from '../program/control-flow';
import { writesOf } from '../program/operands';
import type { Instruction, Program, Register } from '../program/program';

interface Definitions {
  /** Block of the last assignment; -1 where there is none. */
  readonly block: Int32Array;
  readonly by: readonly (Instruction | undefined)[];
}

/** By register: 1 for temporaries that change by equal steps in a loop with copies. */
export function movingRegisters(program: Program, flow: ControlFlow): Uint8Array {
  return movingIn(
    program,
    flow.loops.filter(({ header }) => isWrittenOut(program, header)),
  );
}

/** By register: 1 for temporaries that change by equal steps in some loop. */
export function movingIn(program: Program, loops: readonly Loop[]): Uint8Array {
  const moving = new Uint8Array(program.registers.length);
  if (loops.length === 0) return moving;
  const definitions = definitionsOf(program);
  for (const loop of loops) markIn(program, loop, definitions, moving);
  return moving;
}

function isWrittenOut({ blocks, branches }: Program, header: number): boolean {
  const { terminator } = blocks[header];
  return terminator.kind === 'branch' && branches[terminator.branch].copies !== undefined;
}

function definitionsOf({ blocks, registers }: Program): Definitions {
  const block = new Int32Array(registers.length).fill(-1);
  const by: (Instruction | undefined)[] = registers.map(() => undefined);
  blocks.forEach(({ instructions }, index) => {
    for (const i of instructions)
      for (const r of writesOf(i)) {
        block[r] = index;
        by[r] = i;
      }
  });
  return { block, by };
}

function markIn(program: Program, loop: Loop, definitions: Definitions, moving: Uint8Array): void {
  const { blocks, registers } = program;
  const isInvariant = (r: Register): boolean => definitions.block[r] < 0 || loop.contains[definitions.block[r]] === 0;
  /** What a register is a copy of. */
  const sourceOf = (r: Register): Register => {
    const i = registers[r].role === 'temporary' ? definitions.by[r] : undefined;
    return i?.op === 'unary' && i.fn === 'mov' ? i.a : r;
  };
  const counters = new Map<Register, boolean>();
  for (const index of loop.blocks)
    for (const i of blocks[index].instructions) {
      if (i.op !== 'unary' || i.fn !== 'mov' || registers[i.dst].role !== 'variable') continue;
      const step = definitions.by[i.a];
      const isStep = step?.op === 'binary' && step.fn === 'add' && sourceOf(step.a) === i.dst && isInvariant(step.b);
      counters.set(i.dst, isStep && counters.get(i.dst) !== false);
    }
  const isMoving = (r: Register): boolean => moving[r] === 1 || counters.get(sourceOf(r)) === true;
  const isEven = (r: Register): boolean => isMoving(r) || isInvariant(r);
  const moves = (i: Instruction): boolean => {
    if (i.op === 'convert') return isMoving(i.a);
    if (i.op !== 'binary') return false;
    if (i.fn === 'mul' || i.fn === 'shl') return isMoving(i.a) && isInvariant(i.b);
    return (i.fn === 'add' || i.fn === 'sub') && isEven(i.a) && isEven(i.b) && (isMoving(i.a) || isMoving(i.b));
  };
  for (const index of loop.blocks)
    for (const i of blocks[index].instructions)
      if ((i.op === 'convert' || i.op === 'binary') && registers[i.dst].role === 'temporary' && moves(i))
        moving[i.dst] = 1;
}
