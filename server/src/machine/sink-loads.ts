/**
 * A load that only one side of a branch needs is made there, by the lanes that go there: `float x = a[i]; if (i < 7) z[i] = x;` reads 7 elements. What is computed of
 * it goes along. Evidence: PTX of 430 kernels, nvcc 13.0, sm_90 (43 ways to load × ten ways to use it):
 *
 * - the side begins right behind the load's block and is reached from there only; what stands behind a `return` is a side too;
 * - everything that needs it stands on that side, but not in a loop there: bounds of a loop are read in front of the branch;
 * - no barrier, shuffle or other fence stands between load and branch, and no store or atomic that may go there;
 * - a sum with a product goes nowhere (it is one instruction by then), and neither does what it is made of;
 * - what another such load has its address from goes along only where nothing stands behind the side;
 * - after neighbours were merged: a float2 of which one side needs a half stays whole.
 *
 * Branches that have become selections by then (if-conversion.ts) have no sides any more: there all lanes read, which is not always so.
 */
import { type ControlFlow, controlFlow, dominates } from '../program/control-flow';
import { readsInto, writesInto } from '../program/operands';
import {
  type Block,
  bytesOf,
  type Instruction,
  type LoadInstruction,
  type Program,
  type Register,
  type ScalarType,
  type StoreInstruction,
} from '../program/program';
import { isFence, isReadOnly, mayTouch } from './memory-overlap';

interface Work {
  readonly program: Program;
  readonly flow: ControlFlow;
  readonly blocks: Block[];
  /** Of registers that come from loads in front of a branch: the blocks that read them. */
  readonly readers: Map<Register, Set<number>>;
}

export function sinkLoads(program: Program): Program {
  const work: Work = { program, flow: controlFlow(program), blocks: [...program.blocks], readers: new Map() };
  const starts = work.flow.order.filter((block) => sidesOf(work, block).length > 0);
  if (starts.length === 0) return program;
  for (const block of starts) noteLoaded(work, block);
  for (const block of program.blocks.keys()) noteReaders(work, block);
  let changes = false;
  // as they follow each other: what went to a side may go on to a side of that
  for (const block of work.flow.order)
    for (const side of sidesOf(work, block)) if (sinkTo(work, block, side)) changes = true;
  return changes ? { ...program, blocks: work.blocks } : program;
}

const registers: Register[] = [];
const written: Register[] = [];

/** What is loaded in a block, and computed of that there. */
function noteLoaded({ blocks, readers }: Work, block: number): void {
  for (const i of blocks[block].instructions) {
    if (i.op !== 'load' && !(isPure(i) && readsAny(i, readers))) continue;
    const count = writesInto(i, written);
    for (let k = 0; k < count; k++) if (!readers.has(written[k])) readers.set(written[k], new Set());
  }
}

function readsAny(i: Instruction, of: { has(register: Register): boolean }): boolean {
  const count = readsInto(i, registers);
  for (let k = 0; k < count; k++) if (of.has(registers[k])) return true;
  return false;
}

function noteReaders({ blocks, readers }: Work, block: number): void {
  const { instructions, terminator } = blocks[block];
  for (const i of instructions) {
    const count = readsInto(i, registers);
    for (let k = 0; k < count; k++) readers.get(registers[k])?.add(block);
  }
  if (terminator.kind === 'branch') readers.get(terminator.condition)?.add(block);
}

function addReads(found: Set<Register>, i: Instruction): void {
  const count = readsInto(i, registers);
  for (let k = 0; k < count; k++) found.add(registers[k]);
}

/** Where a branch goes, as far as nothing else leads there. */
function sidesOf({ program, flow, blocks }: Work, block: number): number[] {
  const { terminator, instructions } = blocks[block];
  if (terminator.kind !== 'branch' || program.branches[terminator.branch].kind === 'loop') return [];
  if (!instructions.some(({ op }) => op === 'load')) return [];
  const { predecessors, successors, loopOf } = flow;
  return successors[block].filter((side) => predecessors[side].length === 1 && loopOf[side] === loopOf[block]);
}

/** What moves, from the end of the block on, and what is known of what stays behind it. */
interface Sinking {
  readonly block: number;
  readonly side: number;
  readonly moved: Instruction[];
  readonly stores: (StoreInstruction | (Instruction & { readonly op: 'atomic' }))[];
  /** Registers that what stays in the block reads behind this place. */
  readonly wanted: Set<Register>;
  /** Addresses of loads that move, and what these are made of. */
  readonly addresses: Set<Register>;
  /** Sums that are one instruction with their product, and values that come from loads of this block. */
  readonly fixed: ReadonlySet<Instruction>;
  readonly isLast: boolean;
}

function sinkTo(work: Work, block: number, side: number): boolean {
  const { instructions, terminator } = work.blocks[block];
  const sinking: Sinking = {
    block,
    side,
    moved: [],
    stores: [],
    wanted: new Set(terminator.kind === 'branch' ? [terminator.condition] : []),
    addresses: new Set(),
    fixed: fixedIn(work, instructions),
    isLast: isLast(work, side),
  };
  const kept: Instruction[] = [];
  let at = instructions.length - 1;
  for (; at >= 0 && !isWall(instructions[at]); at--) {
    const i = instructions[at];
    if (mayMove(work, sinking, i)) {
      sinking.moved.push(i);
      if (i.op === 'load') sinking.addresses.add(i.address);
      else if (writesOf(i).some((r) => sinking.addresses.has(r))) addReads(sinking.addresses, i);
      continue;
    }
    kept.push(i);
    addReads(sinking.wanted, i);
    if (i.op === 'store' || i.op === 'atomic') sinking.stores.push(i);
  }
  if (!sinking.moved.some(({ op }) => op === 'load')) return false;
  moveTo(work, sinking, [...instructions.slice(0, at + 1), ...kept.reverse()]);
  return true;
}

/** Nothing moves across. */
const isWall = (i: Instruction): boolean => isFence(i) || i.op === 'matrix' || i.op === 'host';

function moveTo(work: Work, { block, side, moved }: Sinking, kept: readonly Instruction[]): void {
  const { blocks, readers } = work;
  for (const blocksOf of readers.values()) blocksOf.delete(block);
  blocks[block] = { ...blocks[block], instructions: kept };
  blocks[side] = { ...blocks[side], instructions: [...moved.toReversed(), ...blocks[side].instructions] };
  noteLoaded(work, side);
  for (const each of [block, side]) noteReaders(work, each);
}

function writesOf(i: Instruction): readonly Register[] {
  const count = writesInto(i, written);
  return written.slice(0, count);
}

function mayMove(work: Work, sinking: Sinking, i: Instruction): boolean {
  if (sinking.fixed.has(i)) return false;
  if (i.op === 'load' ? !mayMoveLoad(work, sinking, i) : !isPure(i)) return false;
  const { registers: all } = work.program;
  const count = readsInto(i, registers);
  for (let k = 0; k < count; k++) if (all[registers[k]].role === 'variable') return false;
  let isUsed = false;
  for (const dst of writesOf(i)) {
    if (all[dst].role !== 'temporary' || sinking.wanted.has(dst)) return false;
    for (const reader of work.readers.get(dst) ?? []) {
      // in the block itself only what moves reads it
      if (reader !== sinking.block && !isOnSide(work, sinking, reader, dst)) return false;
      isUsed = true;
    }
  }
  return isUsed;
}

function isOnSide({ program, flow }: Work, { block, side }: Sinking, reader: number, register: Register): boolean {
  if (!dominates(flow.dominator, side, reader) || flow.loopOf[reader] !== flow.loopOf[block]) return false;
  // bounds of a loop are counted from in front of it
  const entersLoop = flow.successors[reader].some((next) => flow.loopAtHeader[next] >= 0);
  return !entersLoop || isFloat(program.registers[register].type);
}

function mayMoveLoad({ program }: Work, { stores, addresses, isLast }: Sinking, load: LoadInstruction): boolean {
  const site = program.accesses[load.access];
  if (site.isVolatile || site.isAssembly || site.space === 'local' || load.isOfLoop) return false;
  if (!isLast && load.dst.some((r) => addresses.has(r))) return false;
  if (isReadOnly(site, program)) return true;
  return stores.every((store) => !mayTouch(program, site, program.accesses[store.access]) || isBeside(store, load));
}

/** Same base, other bytes. */
function isBeside(other: Sinking['stores'][number], load: LoadInstruction): boolean {
  if (other.op === 'atomic' || other.address !== load.address) return false;
  const end = other.offset + bytesOf[other.type] * other.values.length;
  return end <= load.offset || load.offset + bytesOf[load.type] * load.dst.length <= other.offset;
}

function isPure({ op }: Instruction): boolean {
  return op === 'unary' || op === 'convert' || op === 'binary' || op === 'compare' || op === 'select';
}

/** What stays: what does not come from a load, and sums that are one instruction with their product. */
function fixedIn({ program, readers }: Work, instructions: readonly Instruction[]): Set<Instruction> {
  const fixed = new Set<Instruction>();
  const products = new Set<Register>();
  for (const i of instructions) {
    if (!isPure(i)) continue;
    if (!readsAny(i, readers)) fixed.add(i);
    if (i.op !== 'binary' || !isFloat(i.type)) continue;
    if ((i.fn === 'add' || i.fn === 'sub') && (products.has(i.a) || products.has(i.b))) fixed.add(i);
    if (i.fn === 'mul' && program.registers[i.dst].role === 'temporary') products.add(i.dst);
  }
  return fixed;
}

const isFloat = (type: ScalarType): boolean => type === 'f32' || type === 'f64' || type === 'f16' || type === 'bf16';

/** Nothing happens behind the side. */
function isLast({ blocks }: Work, side: number): boolean {
  const { terminator } = blocks[side];
  if (terminator.kind === 'exit') return true;
  if (terminator.kind !== 'jump') return false;
  const next = blocks[terminator.target];
  return next.instructions.length === 0 && next.terminator.kind === 'exit';
}
