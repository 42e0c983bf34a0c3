/** What is provably known of registers modulo powers of two: what the compiler may use to merge accesses. */
import { layoutOf } from '../execute/layout';
import type { Instruction, Program, Register } from '../program/program';

const MAX = 256;

/** By register: its value mod `modulus` is `remainder`; the modulus a power of two up to 256. */
export interface Congruences {
  readonly modulus: Uint16Array;
  readonly remainder: Uint16Array;
}

interface Congruence {
  readonly modulus: number;
  readonly remainder: number;
}

const nothing: Congruence = { modulus: 1, remainder: 0 };

export function congruences(program: Program): Congruences {
  const count = program.registers.length;
  const known = { modulus: new Uint16Array(count).fill(1), remainder: new Uint16Array(count) };
  const isSet = new Uint8Array(count);
  const set = (register: Register, { modulus, remainder }: Congruence) => {
    known.modulus[register] = modulus;
    known.remainder[register] = remainder;
    isSet[register] = 1;
  };
  program.registers.forEach((r, i) => {
    if (r.role === 'constant') set(i, ofConstant(r.value ?? Number.NaN));
  });
  const places = layoutOf(program, 0).addresses;
  for (const { register } of program.inputs)
    set(register, { modulus: inputAlignment(program, register, places), remainder: 0 });
  const at = (register: Register): Congruence | undefined =>
    isSet[register] ? { modulus: known.modulus[register], remainder: known.remainder[register] } : undefined;
  for (let changed = true, rounds = 0; changed && rounds < 40; rounds++) {
    changed = false;
    for (const block of program.blocks) {
      for (const instruction of block.instructions) {
        if (!('dst' in instruction) || instruction.dst === undefined) continue;
        const value = resultOf(program, instruction, at);
        if (!value) continue;
        for (const dst of typeof instruction.dst === 'number' ? [instruction.dst] : instruction.dst) {
          const before = at(dst);
          const after = before ? meet(before, value) : value;
          if (before && before.modulus === after.modulus && before.remainder === after.remainder) continue;
          set(dst, after);
          changed = true;
        }
      }
    }
  }
  return known;
}

function ofConstant(value: number): Congruence {
  return Number.isSafeInteger(value) ? { modulus: MAX, remainder: modulo(value, MAX) } : nothing;
}

const modulo = (a: number, n: number): number => ((a % n) + n) % n;

function meet(a: Congruence, b: Congruence): Congruence {
  let modulus = Math.min(a.modulus, b.modulus);
  while (modulo(a.remainder - b.remainder, modulus) !== 0) modulus /= 2;
  return { modulus, remainder: a.remainder % modulus };
}

/** The largest power of two that divides all values. */
function dividing({ modulus, remainder }: Congruence): number {
  return remainder === 0 ? modulus : remainder & -remainder;
}

function powerOf(value: number): number {
  if (value === 0) return MAX;
  if (!Number.isInteger(value)) return 1;
  let power = 1;
  while (power < MAX && value % (power * 2) === 0) power *= 2;
  return power;
}

/**
 * ptxas knows where it puts a shared array: the first, and every dynamic one, is aligned to 16 bytes whatever its type; the
 * others as their place allows (nvcc 13.0: `__shared__ float a[2], e[1024]`, both used: e is read 8 bytes at a time, behind
 * `a[3]` 4, behind `a[4]` 16). What a pointer parameter points to is aligned as its type is and no better.
 */
function inputAlignment(program: Program, register: Register, places: readonly (number | undefined)[]): number {
  const index = program.objects.findIndex((o) => o.register === register);
  const object = program.objects[index];
  if (!object) return 1;
  if (object.bytes === undefined) return Math.min(16, powerOf(object.alignment));
  const place = object.space === 'shared' && !object.isDynamic ? places[index] : undefined;
  return place === undefined ? Math.max(16, object.alignment) : powerOf(place);
}

type At = (register: Register) => Congruence | undefined;

/** Undefined while nothing is known of an operand yet. */
function resultOf(program: Program, i: Instruction, at: At): Congruence | undefined {
  switch (i.op) {
    case 'unary': {
      const a = at(i.a);
      if (i.fn !== 'mov' && i.fn !== 'neg') return nothing;
      return a && i.fn === 'neg' ? { modulus: a.modulus, remainder: modulo(-a.remainder, a.modulus) } : a;
    }
    case 'convert':
      return at(i.a);
    case 'select': {
      const [a, b] = [at(i.a), at(i.b)];
      return a && b ? meet(a, b) : (a ?? b);
    }
    case 'binary': {
      const [a, b] = [at(i.a), at(i.b)];
      return a && b ? ofBinary(program, i, a, b) : undefined;
    }
    default:
      return nothing;
  }
}

function ofBinary(program: Program, i: Instruction & { op: 'binary' }, a: Congruence, b: Congruence): Congruence {
  const multiple = (power: number): Congruence => ({ modulus: Math.min(MAX, power), remainder: 0 });
  switch (i.fn) {
    case 'add':
    case 'sub': {
      const modulus = Math.min(a.modulus, b.modulus);
      return {
        modulus,
        remainder: modulo(i.fn === 'add' ? a.remainder + b.remainder : a.remainder - b.remainder, modulus),
      };
    }
    case 'mul': {
      const modulus = Math.min(MAX, a.modulus * dividing(b), b.modulus * dividing(a));
      return { modulus, remainder: modulo(a.remainder * b.remainder, modulus) };
    }
    case 'shl': {
      const by = program.registers[i.b].value;
      if (by === undefined) return multiple(dividing(a));
      const factor = 2 ** Math.min(8, Math.max(0, by));
      const modulus = Math.min(MAX, a.modulus * factor);
      return { modulus, remainder: modulo(a.remainder * factor, modulus) };
    }
    case 'and':
      return multiple(Math.max(dividing(a), dividing(b)));
    case 'or':
    case 'xor':
      return multiple(Math.min(dividing(a), dividing(b)));
    case 'min':
    case 'max':
      return meet(a, b);
    default:
      return nothing;
  }
}
