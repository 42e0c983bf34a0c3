/**
 * What is read of a static shared array right behind the store that wrote it is the value that was stored, and an array of which nothing else is read
 * is gone with its stores and its bytes (unread-shared.ts). Other loads are forwarded as well, but later (reuse-loads.ts), when arrays are no longer dropped:
 * their stores stay.
 *
 * NVVM's first pass does it (instcombine), which looks at six instructions in front of a load, in its block, before equal expressions are one. Evidence:
 * PTX of 90 small kernels, nvcc 13.0, sm_90: four stores or loads through bare pointers in between, or one to an element (three instructions: index,
 * address, access), do not hinder it, five or two do; not where an index is an expression (`s[t + 1]`, `s[threadIdx.x]`), for that is two values yet.
 */
import { accessesOf, writesInto } from '../program/operands';
import {
  bytesOf,
  type Instruction,
  type LoadInstruction,
  type Program,
  type Register,
  type StoreInstruction,
} from '../program/program';
import { withChangedBlocks } from './changed-blocks';
import { isFence } from './memory-overlap';

/** Instructions that may stand between store and load, the computation of the load's address among them. */
const MOST_BETWEEN = 5;

export function forwardStored(program: Program): Program {
  const objects = staticShared(program);
  if (objects.size === 0) return program;
  const forwarded = new Map<Instruction, readonly Register[]>();
  for (const { instructions } of program.blocks) {
    for (let at = 0; at < instructions.length; at++) {
      const i = instructions[at];
      if (i.op !== 'load' || !objects.has(program.accesses[i.access].object ?? -1)) continue;
      const values = storedRightBefore(program, instructions, at, i, forwarded);
      if (values) forwarded.set(i, values);
    }
  }
  if (forwarded.size === 0) return program;
  dropOtherwiseUsed(program, objects, forwarded);
  if (objects.size === 0) return program;
  return withChangedBlocks(program, (instructions) => withValues(program, instructions, objects, forwarded));
}

function staticShared({ objects }: Program): Set<number> {
  const found = new Set<number>();
  objects.forEach(({ space, isDynamic }, index) => {
    if (space === 'shared' && !isDynamic) found.add(index);
  });
  return found;
}

/** The values that the load at `at` gives; undefined where it is not known, or too far behind. */
function storedRightBefore(
  program: Program,
  instructions: readonly Instruction[],
  at: number,
  load: LoadInstruction,
  forwarded: ReadonlyMap<Instruction, readonly Register[]>,
): readonly Register[] | undefined {
  const site = program.accesses[load.access];
  if (site.isVolatile || site.isAssembly || !isOneValue(site.expression)) return undefined;
  let between = addressCost(program, load);
  for (let before = at - 1; before >= 0 && between <= MOST_BETWEEN; before--) {
    const i = instructions[before];
    if (i.op === 'store' && isSamePlace(program, i, load))
      return isKept(instructions, before, at, i) ? i.values : undefined;
    if (mayChange(program, i, load)) return undefined;
    if (!forwarded.has(i)) between += cost(program, i);
  }
  return undefined;
}

/** Every index of it is a variable or a number: the same text is the same value. */
const isOneValue = (expression: string): boolean => /^\*?[\w.]+(?:\[\s*\w+\s*\]|\.\w+)*$/.test(expression);

function isSamePlace({ accesses }: Program, store: StoreInstruction, load: LoadInstruction): boolean {
  const [a, b] = [accesses[store.access], accesses[load.access]];
  return (
    a.object === b.object &&
    a.expression === b.expression &&
    !a.isVolatile &&
    store.address === load.address &&
    store.offset === load.offset &&
    store.type === load.type &&
    store.values.length === load.dst.length
  );
}

/** Nothing in between assigns the registers that were stored. */
function isKept(instructions: readonly Instruction[], from: number, to: number, { values }: StoreInstruction): boolean {
  const writes: Register[] = [];
  for (let at = from + 1; at < to; at++) {
    const count = writesInto(instructions[at], writes);
    for (let k = 0; k < count; k++) if (values.includes(writes[k])) return false;
  }
  return true;
}

function mayChange({ accesses }: Program, i: Instruction, load: LoadInstruction): boolean {
  if (isFence(i)) return true;
  if (i.op === 'load') return false;
  const { object } = accesses[load.access];
  if (i.op === 'store' && i.address === load.address && isBeside(i, load)) return false;
  return accessesOf(i).some((access) => accesses[access].object === undefined || accesses[access].object === object);
}

function isBeside(store: StoreInstruction, load: LoadInstruction): boolean {
  const [storeEnd, loadEnd] = [
    store.offset + bytesOf[store.type] * store.values.length,
    load.offset + bytesOf[load.type] * load.dst.length,
  ];
  return storeEnd <= load.offset || loadEnd <= store.offset;
}

/** How many of NVVM's instructions it is, before it has made equal ones one. What only makes addresses counts with the access. */
function cost(program: Program, i: Instruction): number {
  switch (i.op) {
    case 'load':
    case 'store':
    case 'atomic':
      return 1 + addressCost(program, i);
    case 'unary':
      return i.fn === 'mov' ? 0 : 1;
    case 'fma':
      return 2;
    case 'convert':
    case 'binary':
      return i.type === 'i64' || i.type === 'u64' ? 0 : 1;
    default:
      return 1;
  }
}

/** An element's address, and its index in 64 bits where memory is not shared. */
function addressCost({ accesses }: Program, { access }: { readonly access: number }): number {
  const { expression, space } = accesses[access];
  if (!/[[.]/.test(expression)) return 0;
  return space === 'shared' ? 1 : 2;
}

/** Leaves those objects of which nothing else is read, and whose address goes nowhere else by an access. */
function dropOtherwiseUsed(
  { blocks, accesses }: Program,
  objects: Set<number>,
  forwarded: ReadonlyMap<Instruction, unknown>,
): void {
  for (const { instructions } of blocks) {
    for (const i of instructions) {
      if (forwarded.has(i)) continue;
      for (const access of accessesOf(i)) {
        const { object, space } = accesses[access];
        if (object !== undefined && i.op !== 'store') objects.delete(object);
        else if (object === undefined && (space === 'shared' || space === 'generic')) objects.clear();
      }
    }
  }
}

function withValues(
  program: Program,
  instructions: readonly Instruction[],
  objects: ReadonlySet<number>,
  forwarded: ReadonlyMap<Instruction, readonly Register[]>,
): readonly Instruction[] {
  const valuesOf = (i: Instruction) =>
    i.op === 'load' && objects.has(program.accesses[i.access].object ?? -1) ? forwarded.get(i) : undefined;
  if (!instructions.some(valuesOf)) return instructions;
  return instructions.flatMap((i): Instruction[] => {
    const values = valuesOf(i);
    if (!values || i.op !== 'load') return [i];
    return values.map((a, k) => ({ op: 'unary', fn: 'mov', type: i.type, dst: i.dst[k], a }));
  });
}
