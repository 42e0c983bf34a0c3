import type { Instruction, Register } from './program';

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
      return instruction.compare === undefined
        ? [instruction.address, instruction.value]
        : [instruction.address, instruction.value, instruction.compare];
    case 'asyncCopy':
      return [instruction.source, instruction.destination];
    case 'lane':
      return [instruction.a, instruction.b, instruction.width].filter((r): r is Register => r !== undefined);
    case 'work':
      return instruction.reads ?? none;
    case 'barrier':
    case 'unknown':
      return none;
  }
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
