/**
 * Which array or parameter an access goes to, where the pointer was moved, chosen or handed on: all ways that lead to its address
 * start from the same object. The compiler knows the space by that (NVVM's address space inference), and what cannot overlap; a
 * parameter that is `__restrict__` and only read from is read-only data (ld.global.nc in PTX of nvcc 13.0, also without `const`).
 */
import { isSwapLoop } from '../hardware/atomic-class';
import { accessesOf, addressesOf, writesInto, writesOf } from '../program/operands';
import { type AccessSite, bytesOf, type Instruction, type Program, type Register } from '../program/program';
import { settle } from './fixed-point';

/** Nothing said yet, a number, several objects or one that is not known. */
const OPEN = -1;
const NONE = -2;
const SEVERAL = -3;

const MOST_ROUNDS = 20;

export function inferObjects(program: Program): Program {
  const roots = rootsOf(program);
  const found = new Map<number, number>();
  for (const { instructions } of program.blocks) {
    for (const i of instructions) {
      const accesses = accessesOf(i);
      const addresses = addressesOf(i);
      for (let k = 0; k < accesses.length; k++) {
        const root = roots[addresses[k]];
        const before = found.get(accesses[k]);
        found.set(accesses[k], before === undefined || before === root ? root : SEVERAL);
      }
    }
  }
  const accesses = program.accesses.map((site, access): AccessSite => {
    const object = found.get(access);
    if (site.object !== undefined || object === undefined || object < 0) return site;
    return { ...site, object, space: program.objects[object].space };
  });
  return withReadOnly(withoutLoops({ ...program, accesses }));
}

/** Only shared memory needs a loop for an atomic: loads of loops elsewhere are none. */
function withoutLoops(program: Program): Program {
  const isNone = (i: Instruction): boolean => {
    if (i.op !== 'load') return false;
    const { atomic, space } = program.accesses[i.access];
    return isSwapLoop(atomic) && space !== 'shared';
  };
  if (!program.blocks.some(({ instructions }) => instructions.some(isNone))) return program;
  const blocks = program.blocks.map((block) => ({
    ...block,
    instructions: block.instructions.filter((i) => !isNone(i)),
  }));
  return { ...program, blocks };
}

/** By register: the object that its address is made from. */
function rootsOf(program: Program): Int32Array {
  const roots = new Int32Array(program.registers.length).fill(OPEN);
  for (const [register, { role }] of program.registers.entries())
    if (role === 'constant' || role === 'input') roots[register] = NONE;
  program.objects.forEach((object, index) => {
    roots[object.register] = index;
  });
  const writes: Register[] = [];
  const is64 = (r: Register): boolean => bytesOf[program.registers[r].type] === 8;
  const update = (i: Instruction): boolean => {
    const count = writesInto(i, writes);
    let changed = false;
    for (let k = 0; k < count; k++) {
      const r = writes[k];
      if (roots[r] === SEVERAL) continue;
      const next = meet(roots[r], is64(r) ? resultOf(program, i, roots) : NONE);
      if (next === roots[r]) continue;
      roots[r] = next;
      changed = true;
    }
    return changed;
  };
  const follows = (i: Instruction): boolean =>
    handsOn.has(i.op) && 'dst' in i && typeof i.dst === 'number' && is64(i.dst);
  if (!settle(program, update, follows, MOST_ROUNDS)) roots.fill(SEVERAL);
  return roots;
}

/** Operations whose result may be the address that an operand is. */
const handsOn: ReadonlySet<Instruction['op']> = new Set(['unary', 'convert', 'select', 'binary', 'lane']);

function resultOf(program: Program, i: Instruction, roots: Int32Array): number {
  switch (i.op) {
    case 'unary':
      return i.fn === 'mov' ? roots[i.a] : NONE;
    case 'convert':
      return bytesOf[i.from] === 8 ? roots[i.a] : NONE;
    case 'select':
      return meet(roots[i.a], roots[i.b]);
    case 'binary':
      if (i.fn === 'add' || i.fn === 'sub' || i.fn === 'and' || i.fn === 'or') return sum(roots[i.a], roots[i.b]);
      return i.fn === 'min' || i.fn === 'max' ? meet(roots[i.a], roots[i.b]) : NONE;
    case 'lane':
      return i.a === undefined ? NONE : roots[i.a];
    case 'load':
    case 'atomic':
    case 'unknown':
      return isIndex(program, i) ? NONE : SEVERAL;
    default:
      return NONE;
  }
}

/** A value of 64 bits from memory may be a pointer; a floating-point one is none. */
function isIndex(program: Program, i: Instruction): boolean {
  return writesOf(i).every((r) => /^[fb]/.test(program.registers[r].type));
}

function sum(a: number, b: number): number {
  if (a === NONE || b === NONE) return a === NONE ? b : a;
  if (a === OPEN || b === OPEN) return OPEN;
  return SEVERAL;
}

/** A null pointer is a number: it says nothing against an object. */
function meet(a: number, b: number): number {
  if (a === OPEN || a === b || a === NONE) return b === OPEN ? a : b;
  return b === OPEN || b === NONE ? a : SEVERAL;
}

/** Marks what is read through parameters that are `__restrict__` and that nothing is written through. */
function withReadOnly(program: Program): Program {
  const written = new Set<number>();
  for (const { instructions } of program.blocks) {
    for (const i of instructions) {
      const isWrite = i.op === 'store' || i.op === 'atomic' || (i.op === 'matrix' && i.direction === 'store');
      const access = isWrite ? i.access : i.op === 'asyncCopy' ? i.storeAccess : undefined;
      if (access === undefined) continue;
      const site = program.accesses[access];
      if (site.object !== undefined) written.add(site.object);
      // it may go through any of them
      else if (site.space === 'generic' || site.space === 'global') return program;
    }
  }
  const isReadOnly = (site: AccessSite) =>
    site.object !== undefined && program.objects[site.object].isRestrict === true && !written.has(site.object);
  const accesses = program.accesses.map((site) =>
    site.operation === 'load' && !site.readOnly && !site.isVolatile && isReadOnly(site)
      ? { ...site, readOnly: true }
      : site,
  );
  return { ...program, accesses };
}
