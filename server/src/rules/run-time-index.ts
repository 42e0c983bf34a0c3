/** Whether the compiler knows the registers that index an array of a thread. */
import { definitionsOf } from '../program/definitions';
import { readsInto, readsOf, writesInto } from '../program/operands';
import type { Instruction, Program, Register } from '../program/program';

/** 'likely': counted up in a loop that stays a loop here; the compiler might unroll it all the same. */
export type Certainty = 'certain' | 'likely';

/** By register: how certain it is that its value is not known when compiling; undefined where it is known. */
export function runTimeCertainty(program: Program): (register: Register) => Certainty | undefined {
  const isOpen = openRegisters(program);
  let isCounted: Uint8Array | undefined;
  return (register) => {
    if (isOpen[register] === 1) return 'certain';
    isCounted ??= countedRegisters(program, isOpen);
    return isCounted[register] === 1 ? 'likely' : undefined;
  };
}

/** 1 where a value follows from a parameter, the thread, memory or another lane. */
function openRegisters(program: Program): Uint8Array {
  const isOpen = new Uint8Array(program.registers.length);
  for (const { register, source } of program.inputs) if (source.kind !== 'object') isOpen[register] = 1;
  return spread(program, isOpen, (i) => i.op === 'load' || i.op === 'atomic' || i.op === 'lane');
}

/** 1 where a value follows from a register that several instructions write, as loops do that are not written out. */
function countedRegisters(program: Program, isOpen: Uint8Array): Uint8Array {
  const isCounted = new Uint8Array(program.registers.length);
  const definitions = definitionsOf(program);
  const loops = new CountedLoops(program);
  program.registers.forEach((_, register) => {
    if (isOpen[register] === 1 || !definitions.areSeveral(register)) return;
    if (!loops.isUnrollable(register, definitions.of(register))) isCounted[register] = 1;
  });
  return spread(program, isCounted, () => false);
}

/** Marks what is computed from marked registers too; what is assigned in a loop may be read before it. */
function spread(program: Program, isMarked: Uint8Array, starts: (i: Instruction) => boolean): Uint8Array {
  const registers: Register[] = [];
  for (let changes = true; changes; ) {
    changes = false;
    for (const { instructions } of program.blocks) {
      for (const i of instructions) {
        let marks = starts(i);
        const reads = marks ? 0 : readsInto(i, registers);
        for (let k = 0; k < reads; k++) marks ||= isMarked[registers[k]] === 1;
        if (!marks) continue;
        const writes = writesInto(i, registers);
        for (let k = 0; k < writes; k++) {
          changes ||= isMarked[registers[k]] === 0;
          isMarked[registers[k]] = 1;
        }
      }
    }
  }
  return isMarked;
}

/** What is compared with a constant, and what is a copy of what. */
class CountedLoops {
  private readonly copies = new Map<Register, Register[]>();
  private readonly isBounded: Uint8Array;

  constructor(private readonly program: Program) {
    this.isBounded = new Uint8Array(program.registers.length);
    for (const { instructions } of program.blocks) {
      for (const i of instructions) {
        if (i.op === 'unary' && i.fn === 'mov' && !this.isConstant(i.a)) this.copied(i.a, i.dst);
        if (i.op !== 'compare') continue;
        if (this.isConstant(i.b)) this.isBounded[i.a] = 1;
        if (this.isConstant(i.a)) this.isBounded[i.b] = 1;
      }
    }
  }

  private copied(from: Register, to: Register): void {
    const copies = this.copies.get(from);
    if (copies) copies.push(to);
    else this.copies.set(from, [to]);
  }

  /**
   * A counter from a constant by constant steps to a constant: the compiler unrolls such a loop where an array depends on it,
   * though it was too long for us.
   */
  isUnrollable(counter: Register, makers: readonly Instruction[]): boolean {
    // a beginning and a step
    if (makers.length !== 2) return false;
    // its value is read into temporaries
    const steps = [counter, ...(this.copies.get(counter) ?? [])];
    for (const i of makers) {
      // the step may be made in a register of its own
      if (i.op === 'unary' && i.fn === 'mov' && !this.isConstant(i.a)) steps.push(i.a);
      else if (!readsOf(i).every((r) => r === counter || this.isConstant(r))) return false;
    }
    return steps.some((register) => this.isBounded[register] === 1);
  }

  private isConstant(register: Register): boolean {
    return this.program.registers[register].role === 'constant';
  }
}
