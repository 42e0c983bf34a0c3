/**
 * Loop-invariant code moves in front of the loop, loads too where nothing in the loop can change what they read. Evidence:
 * LICM of NVVM on kernels compiled with nvcc 13.0; on an H200 nbody.cu:59 reads p[i] once, not once a round. invariant-lines.ts
 * has the line that it bears then. Loads that are invariant only once an
 * inner loop is written out (points[i].c[j] under loops over k and j) move later, by the elimination of redundant loads, and keep
 * their line (H200: kmeans_assign.cu:58). What an inner loop reads stays in front of it, within the outer one, unless that has a pass for sure, between
 * constants or since the outer one begins alike and asks for the same: those without a pass must not read it (PTX of 5 kernels; H200: aobench).
 * Where a loop may have no pass its loads are marked as those of the lanes that have one (guard-preheaders.ts).
 * What half and bfloat16 are computed with is inline assembly, behind which NVVM is not sure that anything else of the pass is executed: loads that
 * may fail stay behind it (PTX and machine code of 8 kernels; H200: adam_moe.cu:113). Those that cannot, at fixed places of declared arrays (`s[3]`, a member of a shared
 * record), leave the loop from behind conditions and inner loops too (machine code of 7 kernels, dynamic arrays and open indices stay; H200: parquet_page_decode.cu:54).
 */
import { type ControlFlow, controlFlow, dominates, type Loop } from '../program/control-flow';
import { readsInto, writesInto } from '../program/operands';
import type {
  AccessSite,
  Instruction,
  LoadInstruction,
  Program,
  Register,
  SourcePlace,
  Terminator,
} from '../program/program';
import { hoistedAsAssembled, isInlineAssembly } from './hoist-as-assembled';
import { lineInFront, onlyAccesses, surelyHasPass } from './invariant-lines';
import { changesAtFence, isFence, isReadOnly, mayTouch } from './memory-overlap';
import { writtenBytes } from './merged-widths';

interface Work extends Program {
  readonly blocks: { readonly instructions: Instruction[]; readonly terminator: Terminator }[];
  readonly accesses: AccessSite[];
  /** Loads in front of inner loops that may have no pass. */
  readonly guarded: Set<Instruction>;
  readonly before: Program;
}

export function hoistInvariants(program: Program): Program {
  const flow = controlFlow(program);
  if (flow.loops.length === 0) return program;
  const blocks = program.blocks.map((b) => ({ ...b, instructions: [...b.instructions] }));
  const work: Work = { ...program, blocks, accesses: [...program.accesses], guarded: new Set(), before: program };
  // inner loops first: what leaves an inner loop may leave the outer one too
  const order = [...flow.loops].sort((a, b) => a.blocks.length - b.blocks.length);
  const only = onlyAccesses(program);
  let changes = false;
  const writtenIn = new Int32Array(program.registers.length).fill(-1);
  for (const loop of order) if (hoistFrom(work, flow, loop, only, writtenIn)) changes = true;
  if (!changes) return program;
  const { guarded: _, before: __, ...changed } = work;
  return changed;
}

/** What an instruction reads or writes, for as long as it is looked at. */
const registers: Register[] = [];

interface LoopFacts {
  readonly loop: number;
  /** By register: the index of the loop, where the loop writes it. */
  readonly writtenIn: Int32Array;
  /** With the bytes of each that is a plain store. */
  readonly stores: readonly (readonly [AccessSite, number?])[];
  readonly hasFence: boolean;
}

/** @param writtenIn by register; what other loops have left there counts for nothing */
function factsOf(program: Work, { blocks, index }: Loop, writtenIn: Int32Array): LoopFacts {
  const stores: [AccessSite, number?][] = [];
  let hasFence = false;
  for (const block of blocks) {
    for (const i of program.blocks[block].instructions) {
      const count = writesInto(i, registers);
      for (let k = 0; k < count; k++) writtenIn[registers[k]] = index;
      if (i.op === 'store') stores.push([program.accesses[i.access], writtenBytes(program.before, i)]);
      if (i.op === 'atomic') stores.push([program.accesses[i.access]]);
      if (i.op === 'asyncCopy') stores.push([program.accesses[i.storeAccess]]);
      if (isFence(i)) hasFence = true;
    }
  }
  return { loop: index, writtenIn, stores, hasFence };
}

/** Whether something moved. */
function hoistFrom(program: Work, flow: ControlFlow, loop: Loop, only: Set<number>, writtenIn: Int32Array): boolean {
  const { blocks } = program;
  const moved = new Map<number, number>();
  const loads = new Map<number, LoadInstruction[]>();
  const outside = flow.predecessors[loop.header].filter((p) => !loop.contains[p]);
  if (outside.length !== 1) return false;
  const before = outside[0];
  if (program.blocks[before].terminator.kind !== 'jump') return false;
  const own = blocks[before].instructions.length;
  const facts = factsOf(program, loop, writtenIn);
  let changes = false;
  const latches = flow.predecessors[loop.header].filter((p) => loop.contains[p]);
  // what has constant bounds may be here for want of space only: written out, equal loads are made once
  const isKept = surelyHasPass(program, flow, loop, before);
  const behindAssembly = isKept ? undefined : blocksBehindAssembly(program, flow, loop);
  const isHoistedAsAssembled = hoistedAsAssembled(program, flow, loop);
  const assembled: LoadInstruction[] = [];
  for (const index of loop.blocks) {
    const always = latches.every((latch) => dominates(flow.dominator, index, latch));
    const { instructions } = blocks[index];
    // what stays closes up
    let kept = 0;
    let isBehind = behindAssembly?.has(index) === true;
    for (const i of instructions) {
      isBehind ||= behindAssembly !== undefined && isInlineAssembly(i);
      const isSure = !mayFail(program, i) || (always && !program.guarded.has(i) && !isBehind);
      const isOptimised = mayLeave(program, i, facts, isSure);
      const isAssembled = !isOptimised && i.op === 'load' && !program.guarded.has(i) && isHoistedAsAssembled(i, index);
      if (!(isOptimised || isAssembled) || !isFixed(program, i, facts)) {
        instructions[kept++] = i;
        continue;
      }
      blocks[before].instructions.push(i);
      if (isAssembled) assembled.push(i);
      // what the loop's condition reads stands at the head already, and is read in front of the question whether there is a pass
      else if (i.op === 'load' && index !== loop.header) loads.set(i.access, [...(loads.get(i.access) ?? []), i]);
      const count = writesInto(i, registers);
      for (let k = 0; k < count; k++) writtenIn[registers[k]] = -1;
    }
    if (kept < instructions.length) changes = true;
    instructions.length = kept;
  }
  if (loads.size + assembled.length === 0) return changes;
  const isGuarded = flow.loops[flow.loopOf[before]] !== undefined && !surelyHasPass(program, flow, loop, before);
  // several loads of one access are the copies of an inner loop, but for members of one record
  const single = new Set(
    [...loads.values()].filter((copies) => copies.length === 1 || areMembers(program, copies)).flat(),
  );
  const line = lineInFront(program, flow, { loop, before, own, only });
  const ofPasses = new Set([...assembled, ...[...loads.values()].flat()]);
  blocks[before].instructions.forEach((i, at, list) => {
    if (i.op !== 'load' || !ofPasses.has(i)) return;
    let load = i;
    if (single.has(i)) {
      const access = movedTo(program, i.access, line, moved);
      load = { ...i, access };
      if (only.has(i.access)) only.add(access);
    }
    if (!isKept) load = { ...load, isOfLoop: true };
    list[at] = load;
    if (isGuarded) program.guarded.add(load);
  });
  return changes;
}

/** Blocks of a pass that are come to behind inline assembly in others. */
function blocksBehindAssembly({ blocks }: Program, { successors }: ControlFlow, loop: Loop): ReadonlySet<number> {
  const behind = new Set<number>();
  const open = [...loop.blocks].filter((block) => blocks[block].instructions.some(isInlineAssembly));
  for (let block = open.pop(); block !== undefined; block = open.pop())
    for (const next of successors[block]) {
      if (next === loop.header || loop.contains[next] === 0 || behind.has(next)) continue;
      behind.add(next);
      open.push(next);
    }
  return behind;
}

/** Not of a declared array at a fixed place. */
const mayFail = (program: Program, i: Instruction): boolean =>
  i.op === 'load' && !program.objects.some((o) => o.register === i.address && o.bytes !== undefined && !o.isDynamic);

/** Members of one record that is copied: they stand where a single load would (H200: gwas_bed2bit.cu:108). */
function areMembers(program: Program, loads: readonly LoadInstruction[]): boolean {
  const [{ access, address }] = loads;
  const bytes = program.accesses[access].copiedBytes;
  if (bytes === undefined || loads.some((load) => load.address !== address)) return false;
  const offsets = loads.map((load) => load.offset);
  return Math.max(...offsets) - Math.min(...offsets) < bytes;
}

function movedTo(program: Work, access: number, line: SourcePlace | undefined, moved: Map<number, number>): number {
  if (!line) return access;
  let copy = moved.get(access);
  if (copy === undefined) {
    copy = program.accesses.push({ ...program.accesses[access], place: line }) - 1;
    moved.set(access, copy);
  }
  return copy;
}

/** Nothing that the loop writes is in it, and what it gives is no variable. */
function isFixed(program: Program, i: Instruction, facts: LoopFacts): boolean {
  const reads = readsInto(i, registers);
  for (let k = 0; k < reads; k++) if (facts.writtenIn[registers[k]] === facts.loop) return false;
  const writes = writesInto(i, registers);
  for (let k = 0; k < writes; k++) if (program.registers[registers[k]].role !== 'temporary') return false;
  return true;
}

function mayLeave(program: Program, i: Instruction, facts: LoopFacts, always: boolean): boolean {
  switch (i.op) {
    case 'unary':
    case 'convert':
    case 'binary':
    case 'compare':
    case 'select':
    case 'fma':
      return true;
    case 'load':
      return always && mayHoistLoad(program, program.accesses[i.access], facts);
    default:
      return false;
  }
}

function mayHoistLoad(program: Program, site: AccessSite, facts: LoopFacts): boolean {
  if (site.isVolatile || site.isAssembly) return false;
  if (isReadOnly(site, program)) return true;
  if (facts.hasFence && changesAtFence(program, site)) return false;
  return facts.stores.every(([store, bytes]) => !mayTouch(program, site, store, bytes));
}
