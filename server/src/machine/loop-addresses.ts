/**
 * Addresses that a loop does not change: NVVM has computed them in front of it by the time it looks at the arms of branches in it, so
 * that a store of each arm to such a place becomes one behind them, `else tile[ty][tx] = 0` too. It bears no line of its own then: in a
 * loop that is not written out the profiler shows it at the loop's head (PTX of nine kernels, lines of eight with tiles in a loop, nvcc 13.0;
 * H200: matmul_textbook.cu:53, hw4_matrix_stats.cu:86). Where the loop is written out it bears mostly the line of what it stores.
 */
import type { ControlFlow, Loop } from '../program/control-flow';
import { readsInto, writesInto } from '../program/operands';
import type { Instruction, Program, Register } from '../program/program';
import { isPure } from './pure';

export class LoopAddresses {
  /** Instructions that write a register, and their blocks. */
  private readonly writers = new Map<Register, { readonly by: Instruction; readonly block: number }[]>();

  constructor(
    program: Program,
    private readonly flow: ControlFlow,
  ) {
    const found: Register[] = [];
    program.blocks.forEach(({ instructions }, block) => {
      for (const by of instructions) {
        const count = writesInto(by, found);
        for (let k = 0; k < count; k++) {
          const list = this.writers.get(found[k]);
          if (list) list.push({ by, block });
          else this.writers.set(found[k], [{ by, block }]);
        }
      }
    });
  }

  /** The innermost loop around a block, if it changes none of the registers. */
  loopKeeping(block: number, registers: readonly Register[]): Loop | undefined {
    const loop = this.innermost(block);
    return loop && registers.every((r) => this.isKept(loop, r, 0)) ? loop : undefined;
  }

  /** The innermost loop around a block. */
  innermost(block: number): Loop | undefined {
    return this.flow.loops[this.flow.loopOf[block]];
  }

  private isKept(loop: Loop, register: Register, depth: number): boolean {
    const inside = (this.writers.get(register) ?? []).filter(({ block }) => loop.contains[block]);
    if (inside.length === 0) return true;
    const [{ by }] = inside;
    if (inside.length > 1 || depth > DEEPEST || !isPure(by)) return false;
    const reads: Register[] = [];
    const count = readsInto(by, reads);
    return reads.slice(0, count).every((r) => this.isKept(loop, r, depth + 1));
  }
}

const DEEPEST = 16;
