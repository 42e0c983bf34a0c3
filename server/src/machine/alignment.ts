/** What is provably known of registers modulo powers of two: what the compiler may use to merge accesses. */
import { layoutOf } from '../execute/layout';
import { writesInto } from '../program/operands';
import type { Instruction, Program, Register } from '../program/program';
import { settle } from './fixed-point';

const MAX = 256;

/** By register: its value mod `modulus` is `remainder`; the modulus a power of two up to 256. */
export interface Congruences {
  readonly modulus: Uint16Array;
  readonly remainder: Uint16Array;
}

const modulo = (a: number, n: number): number => ((a % n) + n) % n;

/** A congruence as one number, so that none is allocated: modulus × 256 + remainder. Below 0: nothing is said yet. */
type Congruence = number;
const OPEN: Congruence = -1;

const congruence = (modulus: number, remainder: number): Congruence => modulus * MAX + modulo(remainder, modulus);
const modulusOf = (c: Congruence): number => c >> 8;
const remainderOf = (c: Congruence): number => c & (MAX - 1);

/** Every integer. */
const nothing: Congruence = congruence(1, 0);

/** Passes over the program until nothing changes. */
const MOST_ROUNDS = 40;

const known = new WeakMap<Program, Congruences>();

/** Remembered as long as the program is. */
export function congruences(program: Program): Congruences {
  let found = known.get(program);
  if (!found) known.set(program, (found = computeCongruences(program)));
  return found;
}

function computeCongruences(program: Program): Congruences {
  const at = new Int32Array(program.registers.length).fill(OPEN);
  program.registers.forEach((r, i) => {
    if (r.role === 'constant') at[i] = ofConstant(r.value ?? Number.NaN);
  });
  const places = layoutOf(program, 0).addresses;
  for (const { register } of program.inputs) at[register] = congruenceOfInput(program, register, places);
  const writes: Register[] = [];
  const update = (instruction: Instruction): boolean => {
    const count = writesInto(instruction, writes);
    const value = count > 0 ? resultOf(program, instruction, at) : OPEN;
    let changed = false;
    for (let k = 0; value >= 0 && k < count; k++) {
      const before = at[writes[k]];
      const after = before < 0 ? value : meet(before, value);
      if (before === after) continue;
      at[writes[k]] = after;
      changed = true;
    }
    return changed;
  };
  settle(program, update, followsOperands, MOST_ROUNDS);
  return {
    modulus: Uint16Array.from(at, (c) => (c < 0 ? 1 : modulusOf(c))),
    remainder: Uint16Array.from(at, (c) => (c < 0 ? 0 : remainderOf(c))),
  };
}

function ofConstant(value: number): Congruence {
  return Number.isSafeInteger(value) ? congruence(MAX, value) : nothing;
}

/** The largest power of two that divides a number that is not 0. */
const lowestBit = (value: number): number => value & -value;

function meet(a: Congruence, b: Congruence): Congruence {
  const modulus = Math.min(modulusOf(a), modulusOf(b));
  const difference = (remainderOf(a) - remainderOf(b)) & (modulus - 1);
  return congruence(difference === 0 ? modulus : lowestBit(difference), remainderOf(a));
}

/** The largest power of two that divides all values. */
function dividing(c: Congruence): number {
  return remainderOf(c) === 0 ? modulusOf(c) : lowestBit(remainderOf(c));
}

/**
 * ptxas knows where it puts a shared array: the first, and every dynamic one, is aligned to 16 bytes whatever its type; the
 * others lie where their place is (nvcc 13.0: `__shared__ float a[2], e[1024]`, both used: e[0] … e[3] are read 8 bytes at a time, e[2] … e[5] 16;
 * behind `a[3]` it is e[1] … e[4], behind `a[4]` e[0] … e[3]). The type of a pointer parameter promises nothing: an access says itself what it is aligned to
 * (`float2 *p` read through `(float *)p`, `float4`, `double` and a record of 16 bytes alike: single words, 6 of 6). Where the linker puts an
 * array of the device neither NVVM nor ptxas knows: it is aligned as it is declared (nvcc 13.0: float and double arrays, const or static, records
 * of words are read one by one, `__align__(16)` and float4 together, 11 of 11).
 */
function congruenceOfInput(program: Program, register: Register, places: readonly (number | undefined)[]): Congruence {
  const index = program.objects.findIndex((o) => o.register === register);
  const object = program.objects[index];
  if (object?.bytes === undefined) return nothing;
  const place = object.space === 'shared' && !object.isDynamic ? places[index] : undefined;
  const least = object.space === 'global' ? 1 : 16;
  return place === undefined ? congruence(Math.max(least, object.alignment), 0) : congruence(MAX, place);
}

/** Whether what is known of operands decides what is known of the result. */
const followsOperands = (i: Instruction): boolean =>
  i.op === 'binary' ||
  i.op === 'convert' ||
  i.op === 'select' ||
  (i.op === 'unary' && (i.fn === 'mov' || i.fn === 'neg'));

/** OPEN while nothing is known of an operand yet. */
function resultOf(program: Program, i: Instruction, at: Int32Array): Congruence {
  switch (i.op) {
    case 'unary': {
      const a = at[i.a];
      if (i.fn !== 'mov' && i.fn !== 'neg') return nothing;
      return a >= 0 && i.fn === 'neg' ? congruence(modulusOf(a), -remainderOf(a)) : a;
    }
    case 'convert':
      return at[i.a];
    case 'select': {
      const a = at[i.a];
      const b = at[i.b];
      return a >= 0 && b >= 0 ? meet(a, b) : Math.max(a, b);
    }
    case 'binary': {
      const a = at[i.a];
      const b = at[i.b];
      return a >= 0 && b >= 0 ? ofBinary(program, i, a, b) : OPEN;
    }
    default:
      return nothing;
  }
}

function ofBinary(program: Program, i: Instruction & { op: 'binary' }, a: Congruence, b: Congruence): Congruence {
  switch (i.fn) {
    case 'add':
      return congruence(Math.min(modulusOf(a), modulusOf(b)), remainderOf(a) + remainderOf(b));
    case 'sub':
      return congruence(Math.min(modulusOf(a), modulusOf(b)), remainderOf(a) - remainderOf(b));
    case 'mul': {
      const modulus = Math.min(MAX, modulusOf(a) * dividing(b), modulusOf(b) * dividing(a));
      return congruence(modulus, remainderOf(a) * remainderOf(b));
    }
    case 'shl': {
      const by = program.registers[i.b].value;
      if (by === undefined) return congruence(dividing(a), 0);
      const factor = 2 ** Math.min(8, Math.max(0, by));
      return congruence(Math.min(MAX, modulusOf(a) * factor), remainderOf(a) * factor);
    }
    case 'and':
      return congruence(Math.max(dividing(a), dividing(b)), 0);
    case 'or':
    case 'xor':
      return congruence(Math.min(dividing(a), dividing(b)), 0);
    case 'min':
    case 'max':
      return meet(a, b);
    default:
      return nothing;
  }
}
