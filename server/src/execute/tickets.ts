/**
 * Numbers that blocks draw from a counter in global memory: `if (threadIdx.x == 0) ticket = atomicAdd(&counter, 1)`.
 * Blocks that look for the last of them, or for their next piece of work, do so, and what they do with the number decides
 * addresses and branches. Every number is drawn once, in an order that the hardware chooses; here it is the order of the
 * blocks, from 0, block after block for every draw. Figures that follow from it are assumed, never exact.
 */

import { dependencies } from '../program/dependence';
import type { AtomicInstruction, Program } from '../program/program';

export class Tickets {
  /** By address of the counter: how often the present block drew from it, at whichever place of the kernel. */
  private readonly drawn = new Map<number, number>();
  private block = 0;

  /** @param blocks of the grid */
  constructor(
    private readonly program: Program,
    private readonly blocks: number,
  ) {}

  /** Another block begins. @param linear its index, x fastest */
  begin(linear: number): void {
    this.drawn.clear();
    this.block = linear;
  }

  /** Whether an atomic draws numbers when one lane of a block executes it. @param value its operand, if known */
  isDraw(instruction: AtomicInstruction, value: number | undefined): boolean {
    if (value === undefined || !ticketAccesses(this.program).has(instruction.access)) return false;
    return instruction.fn === 'add' ? value === 1 : instruction.fn === 'inc' && value >>> 0 >= this.blocks - 1;
  }

  draw(counter: number): number {
    const before = this.drawn.get(counter) ?? 0;
    this.drawn.set(counter, before + 1);
    return before * this.blocks + this.block;
  }
}

const known = new WeakMap<Program, ReadonlySet<number>>();

/** Access sites of atomics that add to one counter for all blocks and whose old value is used. */
export function ticketAccesses(program: Program): ReadonlySet<number> {
  const remembered = known.get(program);
  if (remembered) return remembered;
  const found = new Set<number>();
  for (const { instructions } of program.blocks) {
    for (const instruction of instructions) {
      if (instruction.op !== 'atomic' || instruction.dst === undefined) continue;
      if (instruction.fn !== 'add' && instruction.fn !== 'inc') continue;
      const { address, addressLoads } = dependencies(program);
      const varies = [...address[instruction.access]].some((input) => perBlock.has(program.inputs[input].source.kind));
      if (!varies && addressLoads[instruction.access].size === 0) found.add(instruction.access);
    }
  }
  known.set(program, found);
  return found;
}

const perBlock: ReadonlySet<string> = new Set(['threadIdx', 'blockIdx', 'laneId', 'warpId']);
