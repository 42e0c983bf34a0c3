/** Where the instructions stand that the assembler makes, for what looks at their rows in the line table (charge-calls.ts). */
import { addressWindows } from '../program/addresses';
import { readsInto, writesOf } from '../program/operands';
import type { Instruction, Program, Register, SourcePlace } from '../program/program';
import type { Sums } from './address-sums';

export type Place = Pick<SourcePlace, 'statement' | 'row' | 'call'>;

/** Where the machine instruction stands that becomes of this; undefined where none does. */
export function placeOf(program: Program, sums: Sums, i: Instruction): Place | undefined {
  switch (i.op) {
    case 'load':
    case 'store':
    case 'atomic':
    case 'matrix':
      return program.accesses[i.access].place;
    case 'asyncCopy':
      return program.accesses[i.loadAccess].place;
    case 'barrier':
      return i.place;
    case 'convert':
      // widening is part of the multiplication behind it
      if (!/f/.test(i.from + i.type)) return undefined;
      break;
    case 'unary':
      if (i.fn === 'neg' || i.fn === 'bitcast') return undefined;
      if (i.fn === 'mov' && !isStart(program, i.dst, i.a)) return undefined;
      break;
    case 'binary':
      if (isOfWindow(program, i.b)) return undefined;
  }
  const [dst] = writesOf(i);
  return dst === undefined || sums.isMoving(dst) ? undefined : madeAt(program, i);
}

export function madeAt({ registers }: Program, i: Instruction): Place | undefined {
  const [dst] = writesOf(i);
  return dst === undefined || registers[dst].statement === undefined ? undefined : registers[dst];
}

/** Where shared memory begins among generic addresses is no matter to instructions of shared memory. */
const isOfWindow = ({ registers }: Program, b: Register): boolean => {
  const { role, value } = registers[b];
  return role === 'constant' && Math.abs(Number(value)) === addressWindows.shared;
};

/** What a variable begins with is moved to its register. */
const isStart = ({ registers }: Program, dst: Register, a: Register): boolean =>
  registers[dst].role === 'variable' && registers[a].role === 'constant';

/** By register: 1 where an address is computed of it. */
export function addressRegisters({ blocks, registers }: Program): Uint8Array {
  const found = new Uint8Array(registers.length);
  const reads: Register[] = [];
  for (const { instructions } of blocks.toReversed())
    for (const i of instructions.toReversed()) {
      if (i.op === 'load') found[i.address] = 1;
      else if (writesOf(i).some((r) => found[r] === 1)) {
        const count = readsInto(i, reads);
        for (let k = 0; k < count; k++) found[reads[k]] = 1;
      }
    }
  return found;
}
