import type { AtomicInstruction, Instruction, Register } from './program';

const none: readonly Register[] = [];

/** Registers an instruction reads, in operand order. */
export function readsOf(instruction: Instruction): readonly Register[] {
  switch (instruction.op) {
    case 'unary':
    case 'convert':
      return [instruction.a];
    case 'binary':
    case 'compare':
      return [instruction.a, instruction.b];
    case 'select':
      return [instruction.p, instruction.a, instruction.b];
    case 'fma':
      return [instruction.a, instruction.b, instruction.c];
    case 'load':
    case 'matrix':
      return [instruction.address];
    case 'store':
      return [instruction.address, ...instruction.values];
    case 'atomic':
      return [instruction.address, ...valuesOfAtomic(instruction)];
    case 'asyncCopy':
      return instruction.read === undefined
        ? [instruction.source, instruction.destination]
        : [instruction.source, instruction.destination, instruction.read];
    case 'lane':
      return [instruction.a, instruction.b, instruction.width].filter((r): r is Register => r !== undefined);
    case 'work':
      return instruction.reads ?? none;
    case 'host':
      return instruction.args;
    case 'barrier':
    case 'unknown':
      return none;
  }
}

/**
 * The same without allocating: writes the registers into the list and tells how many; what the list holds behind them stays.
 * For passes that look at every instruction.
 */
export function readsInto(instruction: Instruction, into: Register[]): number {
  switch (instruction.op) {
    case 'unary':
    case 'convert':
      into[0] = instruction.a;
      return 1;
    case 'binary':
    case 'compare':
      into[0] = instruction.a;
      into[1] = instruction.b;
      return 2;
    case 'select':
      into[0] = instruction.p;
      into[1] = instruction.a;
      into[2] = instruction.b;
      return 3;
    case 'fma':
      into[0] = instruction.a;
      into[1] = instruction.b;
      into[2] = instruction.c;
      return 3;
    case 'load':
    case 'matrix':
      into[0] = instruction.address;
      return 1;
    case 'store': {
      const { values } = instruction;
      into[0] = instruction.address;
      for (let k = 0; k < values.length; k++) into[k + 1] = values[k];
      return values.length + 1;
    }
    case 'barrier':
    case 'unknown':
      return 0;
    default: {
      const reads = readsOf(instruction);
      for (let k = 0; k < reads.length; k++) into[k] = reads[k];
      return reads.length;
    }
  }
}

/** Registers an instruction assigns, without allocating: as readsInto. */
export function writesInto(instruction: Instruction, into: Register[]): number {
  switch (instruction.op) {
    case 'unary':
    case 'convert':
    case 'binary':
    case 'compare':
    case 'select':
    case 'fma':
    case 'lane':
    case 'unknown':
      into[0] = instruction.dst;
      return 1;
    case 'load':
      for (let k = 0; k < instruction.dst.length; k++) into[k] = instruction.dst[k];
      return instruction.dst.length;
    case 'store':
    case 'asyncCopy':
    case 'barrier':
    case 'work':
      return 0;
    default: {
      const writes = writesOf(instruction);
      for (let k = 0; k < writes.length; k++) into[k] = writes[k];
      return writes.length;
    }
  }
}

/** The operands of an atomic besides its address. */
export function valuesOfAtomic({ value, compare, words }: AtomicInstruction): readonly Register[] {
  const whole = compare === undefined ? [value] : [value, compare];
  if (!words) return whole;
  return [...whole, ...[words.value, words.compare].flatMap((pair) => (pair ? [pair.low, pair.high] : []))];
}

/** Registers an instruction assigns. */
export function writesOf(instruction: Instruction): readonly Register[] {
  switch (instruction.op) {
    case 'unary':
    case 'convert':
    case 'binary':
    case 'compare':
    case 'select':
    case 'fma':
    case 'lane':
    case 'unknown':
      return [instruction.dst];
    case 'load':
      return instruction.dst;
    case 'matrix':
      return instruction.direction === 'load' ? instruction.dst : none;
    case 'atomic':
      if (instruction.words) return [instruction.words.dst.low, instruction.words.dst.high];
      return instruction.dst === undefined ? none : [instruction.dst];
    case 'host':
      if (instruction.results) return instruction.results;
      return instruction.dst === undefined ? none : [instruction.dst];
    case 'store':
    case 'asyncCopy':
    case 'barrier':
    case 'work':
      return none;
  }
}

/** Registers whose values are addresses of the accesses the instruction makes. */
export function addressesOf(instruction: Instruction): readonly Register[] {
  switch (instruction.op) {
    case 'load':
    case 'store':
    case 'atomic':
    case 'matrix':
      return [instruction.address];
    case 'asyncCopy':
      return [instruction.source, instruction.destination];
    default:
      return none;
  }
}

/** Indices into Program.accesses that the instruction makes, in the order of `addressesOf`. */
export function accessesOf(instruction: Instruction): readonly number[] {
  switch (instruction.op) {
    case 'load':
    case 'store':
    case 'atomic':
    case 'matrix':
      return [instruction.access];
    case 'asyncCopy':
      return [instruction.loadAccess, instruction.storeAccess];
    default:
      return none;
  }
}
