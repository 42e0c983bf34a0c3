import { writesInto } from './operands';
import type { Instruction, Program, Register } from './program';

/** The instructions that assign each register, as chains in two arrays: most registers have one, and there are many. */
export class Definitions {
  private readonly head: Int32Array;
  private readonly next: number[] = [];
  private readonly found: Instruction[] = [];
  private readonly writes: Register[] = [];

  constructor(program: Program) {
    this.head = new Int32Array(program.registers.length).fill(-1);
  }

  /** Notes what an instruction assigns. */
  add(instruction: Instruction): void {
    const count = writesInto(instruction, this.writes);
    for (let k = 0; k < count; k++) {
      const register = this.writes[k];
      this.next.push(this.head[register]);
      this.head[register] = this.found.push(instruction) - 1;
    }
  }

  /** The last entry of a register, -1 for none; `before` leads on from there. */
  last(register: Register): number {
    return this.head[register];
  }

  before(entry: number): number {
    return this.next[entry];
  }

  /** All that assign a register, the last first. */
  of(register: Register): Instruction[] {
    const all: Instruction[] = [];
    for (let entry = this.last(register); entry >= 0; entry = this.before(entry)) all.push(this.at(entry));
    return all;
  }

  at(entry: number): Instruction {
    return this.found[entry];
  }
}
