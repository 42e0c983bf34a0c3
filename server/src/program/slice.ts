import { aliasClasses, keepsContents } from './aliasing';
import { Definitions } from './definitions';
import { accessesOf, addressesOf, readsInto, valuesOfAtomic, writesOf } from './operands';
import type { Instruction, Program, Register } from './program';

/** What of a program decides addresses and branches; the rest computes data nobody's counters depend on. */
export interface Slice {
  /** By register: 1 when an address, a branch or contents of memory that matter depend on its value. */
  readonly needed: Uint8Array;
  /** By access site: 1 when the values it stores to shared or local memory matter. */
  readonly storesMatter: Uint8Array;
  /** By block: instructions that must be executed. Accesses that are to be counted always are. */
  readonly kept: readonly (readonly Instruction[])[];
}

const known = new WeakMap<Program, Slice>();
const knownWithData = new WeakMap<Program, Slice>();

/**
 * Backward slice from all addresses and branch conditions, over registers and the contents of shared and local memory.
 * Remembered as long as the program is.
 * @param withData contents of global memory are known too: what a kernel stores there and loads again matters
 */
export function sliceForCounters(program: Program, withData = false): Slice {
  const remembered = withData ? knownWithData : known;
  let slice = remembered.get(program);
  if (!slice) remembered.set(program, (slice = computeSlice(program, withData, () => true)));
  return slice;
}

/** The same where only some accesses are to be counted: of the others those stay that these, or a branch, depend on. */
export function sliceForAccesses(program: Program, counted: ReadonlySet<number>, withData = false): Slice {
  return computeSlice(program, withData, (instruction) => accessesOf(instruction).some((a) => counted.has(a)));
}

/** The same with more that is needed. @param more a register that an instruction makes needed */
export function sliceWith(program: Program, more: (instruction: Instruction) => Register | undefined): Slice {
  return computeSlice(program, false, () => true, more);
}

/** @param isCounted whether what an instruction does in memory is to be counted */
function computeSlice(
  program: Program,
  withData: boolean,
  isCounted: (instruction: Instruction) => boolean,
  more?: (instruction: Instruction) => Register | undefined,
): Slice {
  const needed = new Uint8Array(program.registers.length);
  const storesMatter = new Uint8Array(program.accesses.length);
  const definitions = new Definitions(program);
  const storing: Instruction[] = [];
  /** Instructions that change contents that matter. */
  const changing = new Set<Instruction>();
  const reads: number[] = [];
  const work: number[] = [];
  const need = (register: number) => {
    if (needed[register] === 0) {
      needed[register] = 1;
      work.push(register);
    }
  };
  for (const block of program.blocks) {
    for (const instruction of block.instructions) {
      definitions.add(instruction);
      if (isCounted(instruction)) {
        addressesOf(instruction).forEach(need);
        if (instruction.op === 'asyncCopy' && instruction.read !== undefined) need(instruction.read);
      }
      if (stores(instruction)) storing.push(instruction);
      const another = more?.(instruction);
      if (another !== undefined) need(another);
    }
    if (block.terminator.kind === 'branch') need(block.terminator.condition);
  }
  const classes = aliasClasses(program);
  const askedFor = new Uint8Array(classes.sites.length);
  const needContents = (access: number) => {
    const asked = classes.of[access];
    const site = classes.sites[asked];
    if (askedFor[asked] === 1 || !(keepsContents(site) || (withData && site.space === 'global'))) return;
    askedFor[asked] = 1;
    const others = classes.aliasing[asked];
    for (const store of storing) {
      if (changing.has(store) || !accessesOf(store).some((a) => others.includes(classes.of[a]))) continue;
      changing.add(store);
      addressesOf(store).forEach(need);
      if (store.op !== 'store' && store.op !== 'atomic') continue;
      storesMatter[store.access] = 1;
      // Unrolled copies share the site: each of them stores its own value.
      valuesStored(store).forEach(need);
    }
  };
  for (let register = work.pop(); register !== undefined; register = work.pop()) {
    for (let entry = definitions.last(register); entry >= 0; entry = definitions.before(entry)) {
      const instruction = definitions.at(entry);
      addressesOf(instruction).forEach(need);
      if (instruction.op === 'load') {
        needContents(instruction.access);
      } else if (instruction.op === 'atomic') {
        needContents(instruction.access);
        valuesStored(instruction).forEach(need);
      } else if (instruction.op !== 'matrix') {
        const count = readsInto(instruction, reads);
        for (let k = 0; k < count; k++) need(reads[k]);
      }
    }
  }
  const kept = program.blocks.map((block) =>
    block.instructions.filter(
      (instruction) =>
        (addressesOf(instruction).length > 0 && isCounted(instruction)) ||
        changing.has(instruction) ||
        writesOf(instruction).some((register) => needed[register] === 1),
    ),
  );
  return { needed, storesMatter, kept };
}

/** Whether an instruction changes memory. */
function stores(instruction: Instruction): boolean {
  const { op } = instruction;
  return (
    op === 'store' || op === 'atomic' || op === 'asyncCopy' || (op === 'matrix' && instruction.direction === 'store')
  );
}

function valuesStored(instruction: Instruction): readonly number[] {
  if (instruction.op === 'store') return instruction.values;
  return instruction.op === 'atomic' ? valuesOfAtomic(instruction) : [];
}
