/** The largest power of two that provably divides a register: what the compiler may use to merge accesses. */
import { layoutOf } from '../execute/layout';
import type { Instruction, Program, Register } from '../program/program';

const MAX = 256;

/** By register: a power of two up to 256; MAX for zero. */
export function alignments(program: Program): Uint16Array {
  const known = new Uint16Array(program.registers.length);
  program.registers.forEach((r, i) => {
    if (r.role === 'constant') known[i] = powerOf(r.value ?? 1);
  });
  const places = layoutOf(program, 0).addresses;
  for (const input of program.inputs) known[input.register] = inputAlignment(program, input.register, places);
  // start from the best for all others and lower until nothing changes
  program.registers.forEach((r, i) => {
    if (r.role === 'variable' || r.role === 'temporary') known[i] = MAX;
  });
  for (let changed = true, rounds = 0; changed && rounds < 30; rounds++) {
    changed = false;
    for (const block of program.blocks) {
      for (const instruction of block.instructions) if (lower(program, instruction, known)) changed = true;
    }
  }
  return known;
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

function lower(program: Program, i: Instruction, known: Uint16Array): boolean {
  if (!('dst' in i) || i.dst === undefined) return false;
  const value = resultAlignment(program, i, known);
  let changed = false;
  for (const dst of typeof i.dst === 'number' ? [i.dst] : i.dst) {
    if (value < known[dst]) {
      known[dst] = value;
      changed = true;
    }
  }
  return changed;
}

function resultAlignment(_program: Program, i: Instruction, known: Uint16Array): number {
  switch (i.op) {
    case 'unary':
      return i.fn === 'mov' || i.fn === 'neg' ? known[i.a] : 1;
    case 'convert':
      return known[i.a];
    case 'select':
      return Math.min(known[i.a], known[i.b]);
    case 'binary':
      switch (i.fn) {
        case 'add':
        case 'sub':
        case 'or':
        case 'xor':
          return Math.min(known[i.a], known[i.b]);
        case 'mul':
          return Math.min(MAX, known[i.a] * known[i.b]);
        case 'and':
          return Math.max(known[i.a], known[i.b]);
        case 'min':
        case 'max':
          return Math.min(known[i.a], known[i.b]);
        case 'shl': {
          const by = _program.registers[i.b].value;
          return by === undefined ? known[i.a] : Math.min(MAX, known[i.a] * 2 ** Math.min(8, Math.max(0, by)));
        }
        default:
          return 1;
      }
    default:
      return 1;
  }
}
