/**
 * What the next pass of a loop begins by reading, and this one has read already, is handed on in a register: of `v[j - 1] * v[j]` with `j++`, or `v[k]` with
 * `k = j++`, only the very first is read in front of the loop (NVVM: elimination of partly redundant loads, before and after loops are written out). Evidence (PTX and
 * machine code of 37 kernels, nvcc 13.0):
 *
 * - either order of the two, three in a row, two apart once the loop is written out, rows of shared memory (`s[j - 1][t]`), counting down, a search by `while`;
 * - what is read must be a counter and a constant from a place that the loop keeps: of `v[t + j]`, `v[(j - 1) * 32 + t]` and `v[y * w + j]` every pass reads
 *   both (the sum has other parts in the next pass, and nobody takes it apart); a counter that may wrap between the two (`unsigned char`, `short`) or
 *   is of floating point has another index in the next pass, and so has a vector of which the next pass needs other parts (11 of 11 kernels);
 * - a loop that is left between the reads and a step that some index has made already (`if (v[i] > v[i + 1]) break; i++`) keeps its question in front
 *   and is not read ahead of (7 of 7; with anything else beside the step it is: 2 of 2);
 * - both are read in every pass, the one handed on before any branch, and nothing in the loop may change them;
 * - what this pass has stored is handed on as well (`v[j] += v[j - 1]`), where nothing behind the store, nor in front of the read, may change it: where the
 *   loop begins at a constant, counting up or down, written out or not, or reads at its counter itself (`v[j + 1] = v[j] * 2`). The passes left over behind
 *   a loop that is written out begin at no constant (NVVM adds nothing up in front of a loop for that), nor does one from `n - 2` down (PTX of 26 kernels);
 * - the read in front bears the line of the one that it replaces, and is for those that have a pass.
 */
import { controlFlow, dominates, type Loop } from '../program/control-flow';
import { readsInto, writesInto, writesOf } from '../program/operands';
import {
  type AccessSite,
  type Block,
  bytesOf,
  type Instruction,
  type LoadInstruction,
  type Program,
  type Register,
  type StoreInstruction,
} from '../program/program';
import { withOperands } from './common-expressions';
import { type Around, type Definition, type Form, formOf, keyOf, nextForm, one, type Work } from './loop-forms';
import { changesAtFence, isFence, isReadOnly, mayTouch, widthOf } from './memory-overlap';
import { isPure } from './pure';

interface Read {
  readonly block: number;
  readonly load: LoadInstruction;
  readonly form: Form;
}

interface Written {
  readonly block: number;
  readonly store: StoreInstruction;
  readonly form: Form;
}

export function carryLoads(program: Program): Program {
  return carryInLoops(program, carryIn);
}

export function carryInLoops(program: Program, carryIn: (work: Work, loop: Loop) => void): Program {
  const flow = controlFlow(program);
  if (flow.loops.length === 0) return program;
  const { registers, blocks } = program;
  const work: Work = { program, flow, registers: [...registers], blocks: [...blocks], needed: neededIn(blocks) };
  for (const loop of flow.loops) carryIn(work, loop);
  if (work.registers.length === program.registers.length) return program;
  return { ...program, registers: work.registers, blocks: work.blocks };
}

/** A loop that is entered and repeated by one jump each, with the blocks that every pass runs through outside of inner loops; undefined for others. */
export function plainLoop(
  { flow, blocks }: Work,
  loop: Loop,
): { readonly around: Around; readonly own: readonly number[] } | undefined {
  const [before, ...others] = flow.predecessors[loop.header].filter((p) => !loop.contains[p]);
  const [latch, ...latches] = flow.predecessors[loop.header].filter((p) => loop.contains[p]);
  if (before === undefined || latch === undefined || others.length + latches.length > 0) return undefined;
  if (blocks[before].terminator.kind !== 'jump' || blocks[latch].terminator.kind !== 'jump') return undefined;
  const inside = loop.blocks;
  const own = inside.filter((b) => flow.loopOf[b] === loop.index && dominates(flow.dominator, b, latch));
  return { around: { loop, before, latch, inside, definitions: definitionsIn(blocks, inside) }, own };
}

function carryIn(work: Work, loop: Loop): void {
  const { blocks } = work;
  const plain = plainLoop(work, loop);
  if (!plain) return;
  const { around, own } = plain;
  const loads = own.flatMap((block) =>
    blocks[block].instructions.flatMap((i) =>
      i.op === 'load' && isPlain(work.program, i) ? [{ block, load: i }] : [],
    ),
  );
  if (loads.length === 0) return;
  carryStored(work, around, loads, own);
  if (loads.length < 2) return;
  const reads = loads.flatMap(({ block, load }): Read[] => {
    const form = formOf(work, around, load);
    return form && isKept(work, around, load) ? [{ block, load, form }] : [];
  });
  const byForm = new Map(reads.map((read) => [keyOf(read.load.type, read.load.dst.length, read.form), read]));
  for (const read of reads) {
    const next = isAtHead(work, around, read.block) ? nextForm(work, around, read.form) : undefined;
    const same = next && byForm.get(keyOf(read.load.type, read.load.dst.length, next));
    if (!next || !same || !needsAsMuch(work, same.load, read.load)) continue;
    if (!isAskedFirst(work, around, read, next, reads)) carry(work, around, read, same.load.dst);
  }
}

/** What a pass has stored is what the next one begins by reading. */
function carryStored(
  work: Work,
  around: Around,
  loads: readonly Pick<Read, 'block' | 'load'>[],
  own: readonly number[],
) {
  const { program, blocks } = work;
  const stores = own.flatMap((block) =>
    blocks[block].instructions.flatMap((store): Written[] => {
      if (store.op !== 'store' || store.values.length !== 1 || !isPlain(program, store)) return [];
      const form = formOf(work, around, store);
      return form ? [{ block, store, form }] : [];
    }),
  );
  if (stores.length === 0) return;
  const byForm = new Map(stores.map((each) => [keyOf(each.store.type, 1, each.form), each]));
  for (const { block, load } of loads) {
    if (load.dst.length !== 1 || !isAtHead(work, around, block)) continue;
    const form = formOf(work, around, load);
    const next = form && nextForm(work, around, form);
    const same = next && byForm.get(keyOf(load.type, 1, next));
    if (!form || !same || !isFoundInFront(work, around, form)) continue;
    const read = { block, load, form };
    if (isLeftAlone(work, around, read, same, stores)) carry(work, around, read, same.store.values);
  }
}

/** Whether nothing has to be added up in front of the loop for the address of its first read. */
function isFoundInFront({ flow, registers, blocks }: Work, { before }: Around, { counter, at }: Form): boolean {
  if (at === 0 && counter.before.every(({ plus }) => plus === 0)) return true;
  for (let block: number | undefined = before, depth = 0; block !== undefined && depth < 8; depth++) {
    const i = blocks[block].instructions.findLast((each) => writesOf(each).includes(counter.variable));
    if (i) return i.op === 'unary' && i.fn === 'mov' && registers[i.a].role === 'constant';
    const from: readonly number[] = flow.predecessors[block];
    block = from.length === 1 ? from[0] : undefined;
  }
  return false;
}

/** Whether nothing may change what is read between the store and the end of the pass, and from there to the read. */
function isLeftAlone(
  { program, flow, blocks }: Work,
  { inside, loop }: Around,
  read: Read,
  { block, store, form }: Written,
  stores: readonly Written[],
): boolean {
  const site = program.accesses[read.load.access];
  const isEarlier = (a: number, of: number) => a !== of && dominates(flow.dominator, a, of);
  const partsOf = (each: number): readonly Instruction[] => {
    const { instructions } = blocks[each];
    const isBehind = !isEarlier(each, block);
    const isBefore = isEarlier(each, read.block) || each === loop.header;
    const from = !isBehind ? instructions.length : each === block ? instructions.indexOf(store) + 1 : 0;
    const to = each === read.block ? instructions.indexOf(read.load) : isBefore ? instructions.length : 0;
    return [...instructions.slice(0, to), ...instructions.slice(from)];
  };
  const unit = bytesOf[store.type];
  // other elements of what the same counter leads to
  const others = stores.filter(
    (each) => each.store.type === store.type && Math.abs(each.form.at - form.at) >= unit && isBeside(each.form, form),
  );
  const isOther = (i: Instruction) => others.some((each) => each.store === i);
  return !inside.some((each) => partsOf(each).some((i) => !isOther(i) && mayChange(program, site, i)));
}

const isBeside = (a: Form, b: Form): boolean => keyOf('i8', 1, { ...a, at: 0 }) === keyOf('i8', 1, { ...b, at: 0 });

export function isPlain({ accesses }: Program, i: LoadInstruction | StoreInstruction): boolean {
  const { space, isVolatile, isAssembly, atomic } = accesses[i.access];
  const isOfAny = i.op === 'store' || i.dst.length > 0;
  return (space === 'global' || space === 'shared') && !isVolatile && !isAssembly && !atomic && isOfAny;
}

function definitionsIn(blocks: readonly Block[], inside: readonly number[]): Map<Register, Definition[]> {
  const found = new Map<Register, Definition[]>();
  const writes: Register[] = [];
  for (const block of inside)
    for (const instruction of blocks[block].instructions) {
      const count = writesInto(instruction, writes);
      for (let k = 0; k < count; k++) {
        const list = found.get(writes[k]);
        if (list) list.push({ block, instruction });
        else found.set(writes[k], [{ block, instruction }]);
      }
    }
  return found;
}

function neededIn(blocks: readonly Block[]): Set<Register> {
  const needed = new Set<Register>();
  const reads: Register[] = [];
  for (const { instructions } of blocks)
    for (const i of instructions) {
      const count = readsInto(i, reads);
      for (let k = 0; k < count; k++) needed.add(reads[k]);
    }
  return needed;
}

/** Whether all parts of a vector are needed that are needed of another. */
const needsAsMuch = ({ needed }: Work, a: LoadInstruction, b: LoadInstruction): boolean =>
  b.dst.every((part, k) => !needed.has(part) || needed.has(a.dst[k]));

/**
 * Whether the loop keeps its question in front: it is left right before the step, and an index in it has made that step already, so that nothing stands
 * between the two (NVVM turns a loop round where its end asks nothing).
 */
function isAskedFirst(
  { flow, blocks, registers }: Work,
  { loop, latch }: Around,
  { form }: Read,
  next: Form,
  reads: readonly Read[],
): boolean {
  const [from, ...others] = flow.predecessors[latch];
  const asks = (block: number): boolean => loop.exitBranches.includes(block);
  if (others.length > 0 || from === loop.header || !asks(from) || !asks(loop.header)) return false;
  const { instructions } = blocks[latch];
  const assigned = instructions.flatMap((i) => writesOf(i).filter((r) => registers[r].role === 'variable'));
  if (!instructions.every(isPure) || assigned.some((r) => r !== form.counter.variable)) return false;
  const step = innermost(next) - innermost(form);
  return reads.some((read) => read.form.counter.variable === form.counter.variable && innermost(read.form) === step);
}

/** What is added to the variable before anything else happens to it. */
const innermost = ({ counter, scale, at }: Form): number => counter.before.at(-1)?.plus ?? at / scale;

/** Nothing in the loop may change what is read. */
function isKept({ program, blocks }: Work, { inside }: Around, { access }: LoadInstruction): boolean {
  const site = program.accesses[access];
  if (isReadOnly(site, program)) return true;
  return !inside.some((block) => blocks[block].instructions.some((i) => mayChange(program, site, i)));
}

export function mayChange(program: Program, site: AccessSite, i: Instruction): boolean {
  if (isFence(i) && changesAtFence(program, site)) return true;
  if (i.op === 'store') return mayTouch(program, site, program.accesses[i.access], widthOf(i));
  if (i.op === 'atomic') return mayTouch(program, site, program.accesses[i.access]);
  if (i.op === 'asyncCopy') return mayTouch(program, site, program.accesses[i.storeAccess]);
  return i.op === 'matrix' && i.direction === 'store';
}

/** No branch stands before it but the question whether there is a pass. */
export function isAtHead({ flow, blocks }: Work, { loop }: Around, block: number): boolean {
  for (let at = block; at !== loop.header; ) {
    const [from, ...others] = flow.predecessors[at];
    if (others.length > 0 || (from !== loop.header && blocks[from].terminator.kind !== 'jump')) return false;
    at = from;
  }
  return true;
}

// ---- the change ----

/** @param values what this pass hands to the next */
export function carry(
  work: Work,
  around: Around,
  read: Pick<Read, 'block' | 'load'>,
  values: readonly Register[],
): void {
  const { registers, blocks } = work;
  const { before, latch } = around;
  const { type, dst } = read.load;
  const move = (to: Register, a: Register): Instruction => ({ op: 'unary', fn: 'mov', type, dst: to, a });
  const make = (role: 'variable' | 'temporary') => dst.map(() => registers.push({ type, role }) - 1);
  const [held, first] = [make('variable'), make('temporary')];
  const address: Instruction[] = [];
  const start = inFront(work, around, read.load.address, address);
  append(blocks, before, [
    ...address,
    { ...read.load, dst: first, address: start, isOfLoop: true },
    ...held.map((to, k) => move(to, first[k])),
  ]);
  blocks[read.block] = {
    ...blocks[read.block],
    instructions: blocks[read.block].instructions.flatMap((i) =>
      i === read.load ? dst.map((to, k) => move(to, held[k])) : [i],
    ),
  };
  append(
    blocks,
    latch,
    held.map((to, k) => move(to, values[k])),
  );
}

function append(blocks: Block[], block: number, instructions: readonly Instruction[]): void {
  blocks[block] = { ...blocks[block], instructions: [...blocks[block].instructions, ...instructions] };
}

/** Computes an address of the loop once more, in front of it. */
function inFront(work: Work, around: Around, register: Register, out: Instruction[]): Register {
  const made = one(around, register)?.instruction;
  if (!made || !isPure(made) || work.registers[register].role !== 'temporary') return register;
  const operands = new Map<Register, Register>();
  const copied = withOperands(made, (r) => {
    let copy = operands.get(r);
    if (copy === undefined) operands.set(r, (copy = inFront(work, around, r, out)));
    return copy;
  });
  const [dst] = writesOf(made);
  const copy = work.registers.push(work.registers[dst]) - 1;
  out.push({ ...copied, dst: copy } as Instruction);
  return copy;
}
