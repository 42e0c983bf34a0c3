/** The most registers that live at once: as the source orders the work, and with the loads as early as they may be. */
import { memoryOf } from '../program/aliasing';
import { flowBackwards } from '../program/backward-flow';
import { type ControlFlow, controlFlow } from '../program/control-flow';
import { setBit } from '../program/liveness';
import { readsInto, writesInto, writesOf } from '../program/operands';
import type { Instruction, Program, Register } from '../program/program';
import { type RegisterValues, registerValues } from './register-values';
import { scratchRegisters } from './scratch-registers';

export interface Pressure {
  /** In the order of the program: what cannot be done without. */
  readonly least: number;
  /** With loads hoisted within their block, and loops of unknown length unrolled; undefined where that was not asked. */
  readonly eager: number | undefined;
}

/** Copies the compiler makes of the body of a loop whose length is not known. */
const UNROLL = 4;
/** A body without branches is copied by four again when it becomes machine code. */
const UNROLL_STRAIGHT = 16;
/** Registers that loads under way take at most, where there is room for more. */
const MOST_IN_FLIGHT = 18;
/** Instructions of a body that is unrolled. */
const UNROLLED_BODY = 120;

/** @param isEnough whether the least decides all: what loads would take besides costs more to find */
export function registerPressure(program: Program, isEnough: (least: number) => boolean = () => false): Pressure {
  const values = registerValues(program);
  const flow = controlFlow(program);
  const sets = liveness(program, flow, values);
  const live = new Int32Array(program.registers.length);
  let set = 0;
  const plain = flow.order.map((block) =>
    pressureOf(program.blocks[block].instructions, liveOut(flow, block, sets), values, live, ++set),
  );
  const least = plain.reduce((most, each) => Math.max(most, each), 0);
  if (isEnough(least)) return { least, eager: undefined };
  const extra = inFlight(program, flow, values);
  let eager = 0;
  for (const [k, block] of flow.order.entries()) eager = Math.max(eager, plain[k], plain[k] + extra[block]);
  for (const region of regions(program, flow)) {
    const last = region[region.length - 1];
    const [only, ...more] = region.map((block) => program.blocks[block].instructions);
    const instructions = more.length === 0 ? only : only.concat(...more);
    // a block in its own order was looked at above
    const ordered = loadsFirst(program, instructions);
    if (ordered === instructions && more.length === 0) continue;
    const early = pressureOf(ordered, liveOut(flow, last, sets), values, live, ++set);
    eager = Math.max(eager, early, early + extra[last]);
  }
  return { least, eager: Math.min(eager, least + MOST_IN_FLIGHT) };
}

/** Instructions of a block behind a branch that are predicated rather than branched to. */
const PREDICATED = 24;

/** Blocks that are scheduled together: a block and what follows in the same loop, as long as branches are predicated. */
function regions(program: Program, flow: ControlFlow): number[][] {
  const found: number[][] = [];
  let current: number[] = [];
  for (const block of flow.order) {
    const previous = current[current.length - 1];
    const isShort = program.blocks[block].instructions.length <= PREDICATED;
    const isJoin = flow.predecessors[block].length > 1;
    const isHeader = flow.loopAtHeader[block] >= 0;
    const continues =
      previous !== undefined && !isHeader && flow.loopOf[block] === flow.loopOf[previous] && (isShort || isJoin);
    if (continues) current.push(block);
    else {
      current = [block];
      found.push(current);
    }
  }
  return found;
}

/** Registers that live across blocks: by block, the set at its start as bits. */
interface LiveSets {
  /** By bit: the register. */
  readonly registers: readonly Register[];
  readonly liveIn: readonly Int32Array[];
}

function liveOut(flow: ControlFlow, block: number, { registers, liveIn }: LiveSets): Register[] {
  const live: Register[] = [];
  for (let word = 0; word * 32 < registers.length; word++) {
    let bits = 0;
    for (const next of flow.successors[block]) bits |= liveIn[next][word];
    for (; bits !== 0; bits &= bits - 1) live.push(registers[word * 32 + (31 - Math.clz32(bits & -bits))]);
  }
  return live;
}

const ROUNDS = 12;
const nothing = new Int32Array(0);

function liveness(program: Program, flow: ControlFlow, values: RegisterValues): LiveSets {
  const used = flow.order.map((block) => usedFirst(program.blocks[block].instructions, values));
  const bitOf = new Int32Array(program.registers.length).fill(-1);
  const registers: Register[] = [];
  for (const list of used) for (const r of list) if (bitOf[r] < 0) bitOf[r] = registers.push(r) - 1;
  const words = (registers.length + 31) >> 5;
  const liveIn = program.blocks.map(() => new Int32Array(words));
  const writes: Register[] = [];
  const killed = program.blocks.map(() => nothing);
  flow.order.forEach((block, k) => {
    for (const r of used[k]) setBit(liveIn[block], bitOf[r]);
    killed[block] = new Int32Array(words);
    const set = killed[block];
    for (const i of program.blocks[block].instructions) {
      if (isFolded(i, values)) continue;
      const writing = writesInto(i, writes);
      for (let n = 0; n < writing; n++) if (bitOf[writes[n]] >= 0) setBit(set, bitOf[writes[n]]);
    }
  });
  flowBackwards(flow, liveIn, killed, ROUNDS);
  return { registers, liveIn };
}

/** Registers a block reads before it writes them. */
function usedFirst(instructions: readonly Instruction[], values: RegisterValues): Set<Register> {
  const used = new Set<Register>();
  const reads: Register[] = [];
  const { root } = values;
  for (let k = instructions.length - 1; k >= 0; k--) {
    const i = instructions[k];
    if (isFolded(i, values)) continue;
    const writing = writesInto(i, reads);
    for (let n = 0; n < writing; n++) used.delete(reads[n]);
    const count = readsInto(i, reads);
    for (let n = 0; n < count; n++) if (root[reads[n]] >= 0) used.add(root[reads[n]]);
  }
  return used;
}

const written: Register[] = [];

/** Everything it writes is made again where it is used. */
function isFolded(i: Instruction, { root }: RegisterValues): boolean {
  const count = writesInto(i, written);
  for (let k = 0; k < count; k++) if (root[written[k]] === written[k]) return false;
  return count > 0;
}

/** @param live scratch, by register: the number of the set it is in */
function pressureOf(
  instructions: readonly Instruction[],
  out: readonly Register[],
  values: RegisterValues,
  live: Int32Array,
  set: number,
): number {
  const { root, weight } = values;
  const reads: Register[] = [];
  let sum = 0;
  for (const r of out) {
    live[r] = set;
    sum += weight[r];
  }
  let most = sum;
  for (let k = instructions.length - 1; k >= 0; k--) {
    const i = instructions[k];
    if (isFolded(i, values)) continue;
    // What nobody reads is written all the same.
    const writing = writesInto(i, reads);
    for (let n = 0; n < writing; n++) {
      const r = reads[n];
      if (live[r] === set) {
        live[r] = 0;
        sum -= weight[r];
      } else if (root[r] === r) most = Math.max(most, sum + weight[r]);
    }
    const count = readsInto(i, reads);
    for (let n = 0; n < count; n++) {
      const needed = root[reads[n]];
      if (needed < 0 || live[needed] === set) continue;
      live[needed] = set;
      sum += weight[needed];
    }
    most = Math.max(most, sum + scratchRegisters(i));
  }
  return most;
}

/** Loads whose addresses are made before the first of them starts. */
const TOGETHER = 4;

/** The instructions of a block in the order that starts every load as early as its operands and memory order allow. */
function loadsFirst(program: Program, instructions: readonly Instruction[]): readonly Instruction[] {
  if (!instructions.some((i) => i.op === 'load')) return instructions;
  const needs = dependences(program, instructions);
  const done = new Uint8Array(instructions.length);
  const order: Instruction[] = [];
  const emit = (start: number): void => {
    if (done[start]) return;
    const path = [start];
    while (path.length > 0) {
      const k = path[path.length - 1];
      const { length } = path;
      if (!done[k]) for (const n of needs[k]) if (!done[n]) path.push(n);
      if (path.length > length) continue;
      path.pop();
      if (done[k]) continue;
      done[k] = 1;
      order.push(instructions[k]);
    }
  };
  const loads: number[] = [];
  for (let k = 0; k < instructions.length; k++) if (instructions[k].op === 'load') loads.push(k);
  for (let first = 0; first < loads.length; first += TOGETHER) {
    const group = loads.slice(first, first + TOGETHER);
    for (const k of group) for (const n of needs[k]) emit(n);
    for (const k of group) emit(k);
  }
  for (let k = 0; k < instructions.length; k++) emit(k);
  return order;
}

/** By instruction: earlier ones of the block that have to stand before it. */
function dependences(program: Program, instructions: readonly Instruction[]): number[][] {
  const lastWrite = new Map<Register, number>();
  const readers = new Map<Register, number[]>();
  let fence = -1;
  let sinceFence: number[] = [];
  const writers = new Map<string, number>();
  const loaders = new Map<string, number[]>();
  const operands: Register[] = [];
  return instructions.map((i, k) => {
    const needs: number[] = [];
    const need = (n: number | undefined) => {
      if (n !== undefined && n >= 0) needs.push(n);
    };
    const reading = readsInto(i, operands);
    for (let n = 0; n < reading; n++) {
      const r = operands[n];
      // constants and inputs are nobody's to write
      if (!isAssigned(program, r)) continue;
      need(lastWrite.get(r));
      const list = readers.get(r);
      if (list) list.push(k);
      else readers.set(r, [k]);
    }
    const writing = writesInto(i, operands);
    for (let n = 0; n < writing; n++) {
      const r = operands[n];
      need(lastWrite.get(r));
      const list = readers.get(r);
      if (list) {
        for (const reader of list) needs.push(reader);
        list.length = 0;
      }
      lastWrite.set(r, k);
    }
    if (i.op === 'barrier' || i.op === 'atomic' || i.op === 'lane' || i.op === 'asyncCopy' || i.op === 'matrix') {
      needs.push(...sinceFence);
      need(fence);
      fence = k;
      sinceFence = [];
    } else if (i.op === 'load' || i.op === 'store') {
      need(fence);
      sinceFence.push(k);
      const site = program.accesses[i.access];
      const { space } = site;
      const memory = memoryOf(site);
      const place = space === 'shared' && memory !== undefined ? `shared ${memory}` : space;
      if (i.op === 'store') {
        need(writers.get(place));
        needs.push(...(loaders.get(place) ?? []));
        writers.set(place, k);
        loaders.set(place, []);
      } else {
        if (!site.readOnly) need(writers.get(place));
        const list = loaders.get(place);
        if (list) list.push(k);
        else loaders.set(place, [k]);
      }
    }
    return needs;
  });
}

const isAssigned = ({ registers }: Program, r: Register): boolean =>
  registers[r].role === 'variable' || registers[r].role === 'temporary';

/** By block: registers more when its loop is unrolled and the loads of the copies are under way together. */
function inFlight(program: Program, flow: ControlFlow, { weight }: RegisterValues): Float64Array {
  const extra = new Float64Array(program.blocks.length);
  const isOuter = new Uint8Array(flow.loops.length);
  for (const { parent } of flow.loops) if (parent >= 0) isOuter[parent] = 1;
  for (const loop of flow.loops) {
    if (isOuter[loop.index] === 1) continue;
    const body = loop.blocks;
    const size = body.reduce((sum, block) => sum + program.blocks[block].instructions.length, 0);
    if (size > UNROLLED_BODY || loop.exitBranches.length > 1) continue;
    const instructions = body.flatMap((block) => program.blocks[block].instructions);
    if (instructions.some((i) => unrollStoppers.has(i.op))) continue;
    if (!hasConstantStep(program, instructions)) continue;
    const stored = new Set(instructions.flatMap((i) => (i.op === 'store' ? [program.accesses[i.access].space] : [])));
    let loaded = 0;
    for (const i of instructions) {
      if (i.op !== 'load') continue;
      const site = program.accesses[i.access];
      if (stored.has(site.space) && !site.readOnly) continue;
      // A value, and half an address: every second one is an immediate offset from another.
      for (const r of i.dst) loaded += weight[r];
      if (site.space === 'global') loaded += 1;
    }
    const copies = body.length <= 2 ? UNROLL_STRAIGHT : UNROLL;
    for (const block of body) extra[block] = Math.min((copies - 1) * loaded, MOST_IN_FLIGHT);
  }
  return extra;
}

const unrollStoppers = new Set<Instruction['op']>(['barrier', 'lane', 'asyncCopy', 'matrix']);

/** Whether some variable of the loop grows by a constant: only then is the number of passes known before it starts. */
function hasConstantStep(program: Program, body: readonly Instruction[]): boolean {
  const made = new Map<Register, Instruction>();
  const writes = new Map<Register, number>();
  for (const i of body)
    for (const r of writesOf(i)) {
      made.set(r, i);
      writes.set(r, (writes.get(r) ?? 0) + 1);
    }
  const constant = (r: Register) => program.registers[r].role === 'constant';
  for (const [variable, count] of writes) {
    if (count !== 1 || program.registers[variable].role !== 'variable') continue;
    let at: Register = variable;
    let steps = 0;
    for (let hops = 0; hops < 8; hops++) {
      const i = made.get(at);
      if (!i) break;
      if ((i.op === 'unary' && i.fn === 'mov') || i.op === 'convert') at = i.a;
      else if (i.op === 'binary' && (i.fn === 'add' || i.fn === 'sub') && constant(i.b)) {
        at = i.a;
        steps++;
      } else if (i.op === 'binary' && i.fn === 'add' && constant(i.a)) {
        at = i.b;
        steps++;
      } else break;
      if (at === variable) break;
    }
    if (at === variable && steps > 0) return true;
  }
  return false;
}
