/** Steps of loads, stores, atomics and copies: they count the access and keep the contents that matter. */

import { spaceOfAddress } from '../program/addresses';
import {
  type AtomicInstruction,
  bytesOf,
  type LoadInstruction,
  type MatrixLoadInstruction,
  type StoreInstruction,
} from '../program/program';
import type { AccessCounter } from './access';
import type { AccessPlan, BytesRead } from './access-plan';
import type { Target } from './decode';
import type { GlobalContents } from './global-data';
import { contentsAt, loadKnownAddresses, storeAtKnownAddresses } from './known-addresses';
import type { Frame } from './mask';
import { type Cell, type Contents, cellOf, readTable, type Table } from './memory';
import { binaryOperation } from './operations';
import type { Reasons } from './reasons';
import { type Step, settle } from './steps';
import type { Tickets } from './tickets';
import {
  isUnknownIn,
  KNOWN,
  type Lanes64,
  type LaneValue,
  laneOf,
  MIXED,
  markLanes,
  overwrite,
  setUniform,
  setUnknown,
  UNKNOWN,
  vectorOf,
} from './value';
import type { Halves, WordOperands } from './word-atomics';

/** Memory of the block that is being executed. Contents that no address or branch depends on are not kept. */
export interface MemoryState {
  readonly shared?: Contents;
  readonly local?: Contents;
  /** Global and constant memory, where the data that the host puts there is known. */
  readonly global?: GlobalContents;
  readonly tables: readonly Table[];
  readonly tickets: Tickets;
  readonly reasons: Reasons;
  /** By access: 1 when what it stores decides something. */
  readonly storesMatter: Uint8Array;
}

export function loadStep(
  memory: MemoryState,
  counter: AccessCounter,
  plan: AccessPlan,
  instruction: LoadInstruction,
  address: LaneValue<Lanes64>,
  targets: readonly (Target | undefined)[],
): Step {
  const count: Step = (frame) => counter.count(plan, address, instruction.offset, frame);
  if (targets.every((target) => target === undefined)) return count;
  const cell = cellOf(instruction.type);
  const site = {
    access: instruction.access,
    dataReason: memory.reasons.number(`depends on loaded data: ${plan.site.expression}`),
  };
  // where a texel lies is never known, and nobody needs it to know that its value is data
  if (plan.site.space === 'texture')
    return (frame) => {
      count(frame);
      for (const target of targets) {
        if (!target) continue;
        setUnknown(target.out, site.dataReason);
        target.commit?.(frame);
      }
    };
  return (frame) => {
    count(frame);
    targets.forEach((target, element) => {
      if (!target) return;
      const offset = instruction.offset + element * cell.bytes;
      loadElement(memory, target.out, address, offset, cell, site, frame);
    });
    for (const target of targets) target?.commit?.(frame);
  };
}

/** The reason of the last `readLane` that gave nothing. */
let lastReason = 0;

function readLane(
  memory: MemoryState,
  address: number,
  lane: number,
  cell: Cell,
  { access, dataReason }: LoadedSite,
): number | undefined {
  const contents = contentsAt(memory, address);
  if (contents) {
    const value = contents.read(address, lane, cell);
    if (value === undefined) lastReason = contents.reason;
    return value;
  }
  lastReason = dataReason;
  const listed = memory.tables.length === 0 ? undefined : readTable(memory.tables, address, cell);
  if (listed !== undefined || !memory.global) return listed;
  const value = memory.global.read(address, cell, access);
  if (value === undefined && memory.global.reason !== 0) lastReason = memory.global.reason;
  return value;
}

/** Where a value is loaded, and what is said when it is not known. */
interface LoadedSite {
  readonly access: number;
  readonly dataReason: number;
}

function loadElement(
  memory: MemoryState,
  out: LaneValue,
  address: LaneValue<Lanes64>,
  offset: number,
  cell: Cell,
  site: LoadedSite,
  frame: Frame,
): void {
  if (address.unknown === UNKNOWN) {
    setUnknown(out, address.reason);
    return;
  }
  if (address.uniform && address.unknown === KNOWN && spaceOfAddress(address.scalar + offset) !== 'local') {
    const value = readLane(memory, address.scalar + offset, 0, cell, site);
    if (value === undefined) setUnknown(out, lastReason);
    else setUniform(out, value);
    return;
  }
  if (address.unknown === KNOWN && !memory.global && memory.tables.length === 0) {
    loadKnownAddresses(memory, out, address, offset, cell, site.dataReason, frame);
    return;
  }
  const { lanes } = frame.mask;
  const vector = overwrite(out);
  const isMixed = address.unknown === MIXED;
  const addresses = address.uniform ? undefined : vectorOf(address);
  // tables of the source come first, and what is kept of the block's own memory lies at other addresses than the segments
  let global = isMixed || memory.tables.length > 0 ? undefined : memory.global;
  for (let lane = frame.lo; lane < frame.hi; lane++) {
    if (global && addresses) {
      const next = global.readLanes(vector, addresses, offset, cell, site.access, lanes, lane, frame.hi);
      // lanes that read one segment after the other go by themselves
      if (next === lane && lane > frame.lo) global = undefined;
      lane = next;
    }
    if (lane >= frame.hi) break;
    if (lanes[lane] === 0) continue;
    if (isMixed && address.unknownLanes[lane] !== 0) {
      markLanes(out, address.reason)[lane] = 1;
      continue;
    }
    const at = (addresses === undefined ? address.scalar : addresses[lane]) + offset;
    const value = readLane(memory, at, lane, cell, site);
    if (value !== undefined) {
      vector[lane] = value;
      continue;
    }
    markLanes(out, lastReason)[lane] = 1;
    // where one is not known the next ones mostly are not either
    global = undefined;
  }
  settle(out, frame);
}

export function storeStep(
  memory: MemoryState,
  counter: AccessCounter,
  plan: AccessPlan,
  instruction: StoreInstruction,
  address: LaneValue<Lanes64>,
  stored: readonly LaneValue[],
): Step {
  const count: Step = (frame) => counter.count(plan, address, instruction.offset, frame);
  const global = isKeptGlobally(memory, plan) ? memory.global : undefined;
  if (stored.length === 0 || plan.site.space === 'texture' || (!memory.shared && !memory.local && !global))
    return count;
  const cell = cellOf(instruction.type);
  return (frame) => {
    count(frame);
    stored.forEach((value, element) => {
      storeElement(memory, plan, value, address, instruction.offset + element * cell.bytes, cell, frame, global);
    });
  };
}

function storeElement(
  memory: MemoryState,
  plan: AccessPlan,
  value: LaneValue,
  address: LaneValue<Lanes64>,
  offset: number,
  cell: Cell,
  frame: Frame,
  global: GlobalContents | undefined,
): void {
  const { lanes } = frame.mask;
  const addresses = address.uniform ? undefined : vectorOf(address);
  // Under a condition that is not known the store may not happen: afterwards neither value is certain.
  const isKnownSomewhere = frame.speculative === 0 && value.unknown !== UNKNOWN;
  const reason = frame.speculative !== 0 ? frame.speculative : value.reason;
  const values = value.uniform || !isKnownSomewhere ? undefined : vectorOf(value);
  if (address.unknown === KNOWN && !global) {
    const at = { lanes, lane: frame.lo, hi: frame.hi, addresses, scalar: address.scalar, offset };
    const marks = value.unknown === MIXED ? value.unknownLanes : undefined;
    storeAtKnownAddresses(memory, at, cell, values, value.scalar, marks, isKnownSomewhere, reason);
    return;
  }
  for (let lane = frame.lo; lane < frame.hi; lane++) {
    if (lanes[lane] === 0) continue;
    if (isUnknownIn(address, lane)) {
      poison(memory, plan, address.reason);
      return;
    }
    const at = (addresses === undefined ? address.scalar : addresses[lane]) + offset;
    const contents = contentsAt(memory, at);
    if (!contents && !global) continue;
    const isKnown = isKnownSomewhere && !isUnknownIn(value, lane);
    const stored = !isKnown ? undefined : values === undefined ? value.scalar : values[lane];
    if (contents) contents.write(at, lane, cell, stored, reason);
    else global?.write(at, cell, stored, reason);
  }
}

/** A store whose address is not known may have changed anything in its space. */
export function poison(memory: MemoryState, plan: AccessPlan, reason: number): void {
  const { space } = plan.site;
  if (space === 'shared' || space === 'generic') memory.shared?.poison(reason);
  if (space === 'local' || space === 'generic') memory.local?.poison(reason);
  if (isKeptGlobally(memory, plan)) memory.global?.poison(reason);
}

/** Whether the kernel may load again what is stored at a site in global memory, and something depends on it. */
const isKeptGlobally = (memory: MemoryState, { access, site }: AccessPlan): boolean =>
  memory.global !== undefined &&
  memory.storesMatter[access] === 1 &&
  (site.space === 'global' || site.space === 'generic');

export function atomicStep(
  memory: MemoryState,
  counter: AccessCounter,
  plan: AccessPlan,
  instruction: AtomicInstruction,
  address: LaneValue<Lanes64>,
  operands: { readonly value: LaneValue; readonly compare: LaneValue } | undefined,
  target: Target | undefined,
  inWords?: { readonly operands: WordOperands; readonly targets: readonly Target[] },
): Step {
  const count: Step = (frame) => counter.countAtomic(plan, address, instruction.offset, frame);
  if (!operands) return count;
  if (inWords) {
    const change = wordAtomicStep(memory, plan, instruction, address, inWords.operands, inWords.targets);
    return (frame) => {
      count(frame);
      change(frame);
    };
  }
  const cell = cellOf(instruction.type);
  const update = updateOf(instruction);
  const site = {
    access: instruction.access,
    dataReason: memory.reasons.number(`depends on loaded data: ${plan.site.expression}`),
  };
  return (frame) => {
    count(frame);
    if (
      target &&
      !findsOld(memory, instruction, address, cell, frame) &&
      drawTicket(memory, instruction, address, operands.value, target.out, frame)
    ) {
      target.commit?.(frame);
      return;
    }
    if (target) overwrite(target.out);
    const { lanes } = frame.mask;
    // Lanes one after the other: one of the orders the hardware may take.
    for (let lane = frame.lo; lane < frame.hi; lane++) {
      if (lanes[lane] === 0) continue;
      if (isUnknownIn(address, lane)) {
        poison(memory, plan, address.reason);
        if (target) setUnknown(target.out, address.reason);
        break;
      }
      const at = laneOf(address, lane) + instruction.offset;
      const old = readLane(memory, at, lane, cell, site);
      if (target && old !== undefined) target.out.vector[lane] = old;
      else if (target) markLanes(target.out, lastReason)[lane] = 1;
      const contents = contentsAt(memory, at);
      const global = memory.global?.isShared ? memory.global : undefined;
      if (!contents && !global) continue;
      const isKnown =
        old !== undefined &&
        frame.speculative === 0 &&
        !isUnknownIn(operands.value, lane) &&
        !isUnknownIn(operands.compare, lane);
      const fresh = isKnown ? update(old, laneOf(operands.value, lane), laneOf(operands.compare, lane)) : undefined;
      const reason = old === undefined ? lastReason : frame.speculative || operands.value.reason;
      const stored = Number.isNaN(fresh) ? undefined : fresh;
      if (contents) contents.write(at, lane, cell, stored, reason);
      else global?.write(at, cell, stored, reason);
    }
    if (target) {
      settle(target.out, frame);
      target.commit?.(frame);
    }
  };
}

/** What an atomic on 64-bit numbers in halves finds and leaves. */
function wordAtomicStep(
  memory: MemoryState,
  plan: AccessPlan,
  instruction: AtomicInstruction,
  address: LaneValue<Lanes64>,
  { update }: WordOperands,
  targets: readonly Target[],
): Step {
  const cell = cellOf('u32');
  const site = {
    access: instruction.access,
    dataReason: memory.reasons.number(`depends on loaded data: ${plan.site.expression}`),
  };
  const write = (at: number, lane: number, value: number | undefined, reason: number): void => {
    const contents = contentsAt(memory, at);
    if (contents) contents.write(at, lane, cell, value, reason);
    else if (memory.global?.isShared) memory.global.write(at, cell, value, reason);
  };
  return (frame) => {
    for (const { out } of targets) overwrite(out);
    for (let lane = frame.lo; lane < frame.hi; lane++) {
      if (frame.mask.lanes[lane] === 0) continue;
      if (isUnknownIn(address, lane)) {
        poison(memory, plan, address.reason);
        for (const { out } of targets) setUnknown(out, address.reason);
        break;
      }
      const at = laneOf(address, lane) + instruction.offset;
      const [low, high] = [0, 4].map((by) => readLane(memory, at + by, lane, cell, site));
      const old: Halves | undefined = low === undefined || high === undefined ? undefined : [low, high];
      targets.forEach(({ out }, half) => {
        if (old) out.vector[lane] = old[half];
        else markLanes(out, lastReason)[lane] = 1;
      });
      const fresh = old && frame.speculative === 0 ? update(old, lane) : undefined;
      const reason = old ? frame.speculative || site.dataReason : lastReason;
      write(at, lane, fresh?.[0], reason);
      write(at + 4, lane, fresh?.[1], reason);
    }
    for (const { out, commit } of targets) {
      settle(out, frame);
      commit?.(frame);
    }
  };
}

/** Whether the first active lane finds a number that is known in global memory. */
function findsOld(
  memory: MemoryState,
  instruction: AtomicInstruction,
  address: LaneValue<Lanes64>,
  cell: Cell,
  frame: Frame,
): boolean {
  if (!memory.global?.isShared) return false;
  const lane = frame.mask.lanes.indexOf(1);
  if (lane < 0 || isUnknownIn(address, lane)) return false;
  return memory.global.read(laneOf(address, lane) + instruction.offset, cell, instruction.access) !== undefined;
}

/** One lane of the block draws a number from a counter in global memory: its old value is known. */
function drawTicket(
  memory: MemoryState,
  instruction: AtomicInstruction,
  address: LaneValue<Lanes64>,
  value: LaneValue,
  out: LaneValue,
  frame: Frame,
): boolean {
  if (frame.mask.count !== 1 || frame.speculative !== 0) return false;
  const lane = frame.mask.lanes.indexOf(1);
  if (isUnknownIn(address, lane)) return false;
  const counter = laneOf(address, lane) + instruction.offset;
  if (spaceOfAddress(counter) !== 'global') return false;
  if (!memory.tickets.isDraw(instruction, isUnknownIn(value, lane) ? undefined : laneOf(value, lane))) return false;
  overwrite(out)[lane] = memory.tickets.draw(counter);
  settle(out, frame);
  return true;
}

/** What an atomic makes of the old value. */
export function updateOf(instruction: AtomicInstruction): (old: number, value: number, compare: number) => number {
  switch (instruction.fn) {
    case 'exch':
      return (_old, value) => value;
    case 'cas':
      return (old, value, compare) => (old === compare ? value : old);
    case 'inc':
      return (old, value) => (old >>> 0 >= value >>> 0 ? 0 : (old + 1) | 0);
    case 'dec':
      return (old, value) => (old === 0 || old >>> 0 > value >>> 0 ? value : (old - 1) | 0);
    default:
      return binaryOperation(instruction.fn, instruction.type).scalar;
  }
}

export function asyncCopyStep(
  memory: MemoryState,
  counter: AccessCounter,
  load: AccessPlan,
  store: AccessPlan,
  source: LaneValue<Lanes64>,
  destination: LaneValue<Lanes64>,
  isPastL1: boolean,
  read: BytesRead | undefined,
): Step {
  const reason = memory.reasons.number(`depends on loaded data: ${load.site.expression}`);
  return (frame) => {
    if (read) counter.countReading(load, store, source, read, destination, isPastL1, frame);
    else if (isPastL1) counter.countPastL1(load, store, source, destination, frame);
    else {
      counter.count(load, source, 0, frame);
      counter.countCopy(store, source, destination, frame);
    }
    if (memory.shared) overwriteBytes(memory, store, destination, load.bytes, reason, frame);
  };
}

export function matrixStep(
  memory: MemoryState,
  counter: AccessCounter,
  plan: AccessPlan,
  instruction: MatrixLoadInstruction,
  address: LaneValue<Lanes64>,
  targets: readonly Target[],
): Step {
  const reason = memory.reasons.number(`depends on loaded data: ${plan.site.expression}`);
  return (frame) => {
    counter.countMatrices(plan, instruction.matrices, address, frame);
    if (instruction.direction === 'store' && memory.shared) {
      overwriteBytes(memory, plan, address, 16, reason, frame);
    }
    for (const target of targets) {
      setUnknown(target.out, reason);
      target.commit?.(frame);
    }
  };
}

/** Data that is not known is written to `bytes` bytes of every active lane. */
function overwriteBytes(
  memory: MemoryState,
  plan: AccessPlan,
  address: LaneValue<Lanes64>,
  bytes: number,
  reason: number,
  frame: Frame,
): void {
  const cell = cellOf('u32');
  for (let lane = frame.lo; lane < frame.hi; lane++) {
    if (frame.mask.lanes[lane] === 0) continue;
    if (isUnknownIn(address, lane)) {
      poison(memory, plan, address.reason);
      return;
    }
    const at = laneOf(address, lane);
    const contents = contentsAt(memory, at);
    if (!contents) continue;
    for (let offset = 0; offset < bytes; offset += bytesOf.u32) {
      contents.write(at + offset, lane, cell, undefined, reason);
    }
  }
}
