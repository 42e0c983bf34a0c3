import { writesInto } from './operands';
import type { Instruction, Program, Register } from './program';

/** The instructions that assign each register, as chains in two lists: most registers have one, and there are many. */
export class Definitions {
  private readonly head: Int32Array;
  private next: Int32Array;
  private readonly found: Instruction[];
  private count = 0;
  private readonly writes: Register[] = [];

  constructor(program: Program) {
    this.head = new Int32Array(program.registers.length).fill(-1);
    // an instruction assigns one register mostly
    const room = program.blocks.reduce((sum, { instructions }) => sum + instructions.length, 0);
    this.next = new Int32Array(room);
    this.found = new Array(room);
  }

  /** Notes what an instruction assigns. */
  add(instruction: Instruction): void {
    const writing = writesInto(instruction, this.writes);
    for (let k = 0; k < writing; k++) {
      const register = this.writes[k];
      const entry = this.count++;
      if (entry >= this.next.length) this.grow();
      this.next[entry] = this.head[register];
      this.head[register] = entry;
      this.found[entry] = instruction;
    }
  }

  private grow(): void {
    const { next } = this;
    this.next = new Int32Array(2 * next.length + 16);
    this.next.set(next);
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

  /** Whether several instructions assign a register. */
  areSeveral(register: Register): boolean {
    const last = this.head[register];
    return last >= 0 && this.next[last] >= 0;
  }

  at(entry: number): Instruction {
    return this.found[entry];
  }
}

const known = new WeakMap<Program, Definitions>();

/** Of a whole program, made when they are first asked for and remembered as long as the program is. Nothing is to be added to them. */
export function definitionsOf(program: Program): Omit<Definitions, 'add'> {
  let definitions = known.get(program);
  if (definitions) return definitions;
  definitions = new Definitions(program);
  for (const { instructions } of program.blocks) for (const i of instructions) definitions.add(i);
  known.set(program, definitions);
  return definitions;
}
