/** Counts memory accesses through the memory model. */

import { type CopyCost, copyCost, type PastL1Cost, pastL1Cost } from '../hardware/async-copy';
import { type AccessShape, emptyCounts, type MemoryModel, type WarpCounts } from '../hardware/memory-model';
import { addressWindows, spaceOfAddress } from '../program/addresses';
import type { AccessPlan, BytesRead } from './access-plan';
import type { AtomicContention } from './atomic-contention';
import { ACCESS_FIELDS, type AccessNotes, type CounterLayout, field, spaceNumber, spaces } from './counters';
import { type Frame, type Mask, WARP } from './mask';
import { isUnknownIn, KNOWN, type Lanes64, type LaneValue, laneOf, UNKNOWN, vectorOf } from './value';
import {
  addressAt,
  fillWarp,
  firstActive,
  liesAlike,
  liesAs,
  remainderOf,
  sameSpace,
  someMarked,
} from './warp-addresses';
import { witness } from './witness';

/** The state that counting changes, one for a whole execution. */
export interface Tally {
  readonly model: MemoryModel;
  /** Counters of the block that is being executed. */
  readonly counters: Float64Array;
  readonly layout: CounterLayout;
  /** By access and space. */
  readonly notes: (AccessNotes | undefined)[];
  block: readonly [number, number, number];
  /** By access and space, a bit for each byte of a segment at which a request of the block begins. */
  readonly starts: Int32Array;
  readonly contention: AtomicContention;
  /** Why a loop of compare and swap is not counted that stores only what is smaller or larger, a number of the reasons. */
  readonly comparedReason: number;
  /** Why accesses to the device's heap have no figure; 0 where the program asks for none of it. */
  readonly heapReason: number;
}

/** Addresses of a full warp, told from the first, and what they count. */
interface Pattern {
  space: number;
  remainder: number;
  bytes: number;
  operation: AccessShape['operation'];
  readonly distances: Float64Array;
  readonly counts: WarpCounts;
}

const counts = emptyCounts();
const copied: CopyCost = { wavefronts: 0, boundBy: 'target' };
const pastL1: PastL1Cost = { wavefronts: 0, idealWavefronts: 0, sectors: 0, idealSectors: 0 };
/** Whether sectors are what an access in the space costs (else wavefronts). */
const countsSectors: readonly boolean[] = spaces.map((space) => space !== 'shared' && space !== 'constant');

/** Addresses of an access in all lanes, and the lanes counted: scratch of one execution. */
export class AccessCounter {
  private readonly scratch: Float64Array;
  private readonly subset: Uint8Array;
  /** Full warps that count the same: remainder of the first address, first lane of the first such warp, their number. */
  private readonly remainders = new Float64Array(WARP);
  private readonly examples = new Int32Array(WARP);
  private readonly times = new Int32Array(WARP);
  private readonly known = Array.from({ length: WARP }, emptyCounts);
  /** By access: what a full warp of it counted last. */
  private readonly patterns: (Pattern | undefined)[] = [];

  constructor(
    private readonly tally: Tally,
    lanes: number,
  ) {
    this.scratch = new Float64Array(lanes);
    this.subset = new Uint8Array(lanes);
  }

  /** Counts one execution of an access by the active lanes. */
  count(plan: AccessPlan, value: LaneValue<Lanes64>, offset: number, frame: Frame): void {
    const { mask } = frame;
    const isOpen = plan.site.atomic === 'compared' && plan.site.space === 'shared';
    if (value.unknown === UNKNOWN || isOpen) {
      const reason = isOpen ? this.tally.comparedReason : value.reason;
      if (isOpen || !this.mayTellOfOne(plan)) this.countUnknown(plan, mask.warps, mask.count, reason, frame);
      else this.countAnywhere(plan, reason, frame);
      return;
    }
    if (this.tally.heapReason !== 0 && isInHeap(value, offset, frame)) {
      this.countUnknown(plan, mask.warps, mask.count, this.tally.heapReason, frame);
      return;
    }
    if (value.unknown === KNOWN && value.geometry.warpsAlike && !value.filled && plan.site.space !== 'generic') {
      this.countAlike(plan, value, offset, frame);
      return;
    }
    const addresses = this.addressesOf(value, offset, frame);
    const unknownLanes = value.unknown === KNOWN ? undefined : value.unknownLanes;
    const { perWarp } = mask;
    if (unknownLanes === undefined && plan.site.space !== 'generic') {
      this.countVectors(plan, addresses, frame);
      return;
    }
    for (let first = frame.lo; first < frame.hi; first += WARP) {
      const active = perWarp[first / WARP];
      if (active === 0) continue;
      if (unknownLanes !== undefined && someMarked(unknownLanes, mask.lanes, first)) {
        if (active === 1 && this.mayTellOfOne(plan)) this.countOne(plan, 1, frame);
        else this.countUnknown(plan, 1, active, value.reason, frame);
      } else {
        this.countWarp(plan, addresses, mask, first, active, 1, frame);
      }
    }
  }

  /** Counts one execution of an atomic, and what waits for what in it. */
  countAtomic(plan: AccessPlan, value: LaneValue<Lanes64>, offset: number, frame: Frame): void {
    this.count(plan, value, offset, frame);
    if (plan.site.space === 'shared') return;
    this.tally.contention.note(plan.site.atomic, value, offset, frame);
  }

  /** Lanes 8k … 8k + 7 give the rows of matrix k: 16 bytes each, one phase a matrix. */
  countMatrices(plan: AccessPlan, matrices: number, value: LaneValue<Lanes64>, frame: Frame): void {
    const { mask } = frame;
    if (value.unknown !== KNOWN) {
      this.countUnknown(plan, mask.warps, mask.count, value.reason, frame);
      return;
    }
    const addresses = this.addressesOf(value, 0, frame);
    for (let first = frame.lo; first < frame.hi; first += WARP) {
      const active = mask.perWarp[first / WARP];
      if (active === 0) continue;
      const space = spaceNumber[spaceOfAddress(addresses[firstActive(mask.lanes, first)])];
      let wavefronts = 0;
      let sectors = 0;
      let idealSectors = 0;
      let transactions = 0;
      for (let matrix = 0; matrix < matrices; matrix++) {
        this.tally.model.count(plan.shapes[space], addresses, mask.lanes, first + 8 * matrix, 8, counts);
        wavefronts += counts.wavefronts;
        sectors += counts.sectors;
        idealSectors += counts.idealSectors;
        transactions += counts.transactions;
      }
      counts.wavefronts = wavefronts;
      counts.idealWavefronts = Math.min(wavefronts, matrices);
      counts.sectors = sectors;
      counts.idealSectors = idealSectors;
      counts.transactions = transactions;
      this.add(plan, space, addresses, mask.lanes, first, active, 1, frame);
    }
  }

  /** The shared half of an asynchronous copy: what it costs follows from both addresses. */
  countCopy(plan: AccessPlan, sources: LaneValue<Lanes64>, targets: LaneValue<Lanes64>, frame: Frame): void {
    const { mask } = frame;
    const reason = targets.unknown !== KNOWN ? targets.reason : sources.reason;
    if (targets.unknown !== KNOWN || sources.unknown !== KNOWN) {
      this.countUnknown(plan, mask.warps, mask.count, reason, frame);
      return;
    }
    const from = vectorOf(sources);
    const to = vectorOf(targets);
    for (let first = frame.lo; first < frame.hi; first += WARP) {
      const active = mask.perWarp[first / WARP];
      if (active === 0) continue;
      const space = spaceNumber.shared;
      this.tally.model.count(plan.shapes[space], to, mask.lanes, first, WARP, counts);
      copyCost(plan.bytes, from, to, mask.lanes, first, WARP, copied);
      counts.idealWavefronts = Math.min(copied.wavefronts, Math.ceil((active * plan.bytes) / BANK_ROW));
      counts.wavefronts = copied.wavefronts;
      this.add(plan, space, to, mask.lanes, first, active, 1, frame, copied.boundBy === 'source' ? from : undefined);
    }
  }

  /** Both halves of an asynchronous copy past L1: each follows from both addresses. */
  countPastL1(
    load: AccessPlan,
    store: AccessPlan,
    sources: LaneValue<Lanes64>,
    targets: LaneValue<Lanes64>,
    frame: Frame,
  ): void {
    const { mask } = frame;
    if (targets.unknown !== KNOWN || sources.unknown !== KNOWN) {
      this.count(load, sources, 0, frame);
      this.countCopy(store, sources, targets, frame);
      return;
    }
    const from = vectorOf(sources);
    const to = vectorOf(targets);
    for (let first = frame.lo; first < frame.hi; first += WARP) {
      const active = mask.perWarp[first / WARP];
      if (active === 0) continue;
      pastL1Cost(from, to, mask.lanes, first, WARP, pastL1);
      const space = spaceNumber[spaceOfAddress(from[firstActive(mask.lanes, first)])];
      this.tally.model.count(load.shapes[space], from, mask.lanes, first, WARP, counts);
      counts.sectors = pastL1.sectors;
      counts.idealSectors = pastL1.idealSectors;
      this.add(load, space, from, mask.lanes, first, active, 1, frame);
      this.tally.model.count(store.shapes[spaceNumber.shared], to, mask.lanes, first, WARP, counts);
      counts.wavefronts = pastL1.wavefronts;
      counts.idealWavefronts = pastL1.idealWavefronts;
      this.add(store, spaceNumber.shared, to, mask.lanes, first, active, 1, frame, from);
    }
  }

  /** Both halves of an asynchronous copy of which some lanes read nothing, and fill with zeros. */
  countReading(
    load: AccessPlan,
    store: AccessPlan,
    sources: LaneValue<Lanes64>,
    read: BytesRead,
    targets: LaneValue<Lanes64>,
    isPastL1: boolean,
    frame: Frame,
  ): void {
    const { mask } = frame;
    const open = [sources, read.bytes].find(({ unknown }) => unknown !== KNOWN);
    const isCounted = isPastL1 && open === undefined && targets.unknown === KNOWN;
    const arePlainStores = !isCounted || read.countsAsFilled;
    if (arePlainStores) this.count(store, targets, 0, frame);
    if (open) {
      this.countUnknown(load, mask.warps, mask.count, open.reason, frame);
      return;
    }
    const from = vectorOf(sources);
    const { subset } = this;
    for (let first = frame.lo; first < frame.hi; first += WARP) {
      const active = mask.perWarp[first / WARP];
      if (active === 0) continue;
      let reading = 0;
      for (let lane = first; lane < first + WARP; lane++) {
        subset[lane] = mask.lanes[lane] !== 0 && laneOf(read.bytes, lane) > 0 ? 1 : 0;
        reading += subset[lane];
      }
      const space = spaceNumber[spaceOfAddress(from[firstActive(subset, first)])];
      this.tally.model.count(load.shapes[space], from, subset, first, WARP, counts);
      if (isCounted) {
        pastL1Cost(from, vectorOf(targets), subset, first, WARP, pastL1);
        counts.sectors = pastL1.sectors;
        counts.idealSectors = pastL1.idealSectors;
      }
      this.add(load, space, from, mask.lanes, first, active, 1, frame);
      if (arePlainStores) continue;
      const to = vectorOf(targets);
      this.tally.model.count(store.shapes[spaceNumber.shared], to, mask.lanes, first, WARP, counts);
      const isFilled = reading < active;
      counts.wavefronts = pastL1.wavefronts + (isFilled ? counts.wavefronts : 0);
      counts.idealWavefronts = pastL1.idealWavefronts + (isFilled ? Math.ceil((active * store.bytes) / BANK_ROW) : 0);
      this.add(store, spaceNumber.shared, to, mask.lanes, first, active, 1, frame, from);
    }
  }

  private addressesOf(value: LaneValue<Lanes64>, offset: number, frame: Frame): Float64Array {
    const from = vectorOf(value);
    if (offset === 0) return from;
    const { lo, hi } = frame;
    const { scratch } = this;
    for (let lane = lo; lane < hi; lane++) scratch[lane] = from[lane] + offset;
    return scratch;
  }

  /** Known addresses of any kind: full warps count what one before them does that lies alike. */
  private countVectors(plan: AccessPlan, addresses: Float64Array, frame: Frame): void {
    const { mask } = frame;
    const { remainders, examples, times, known } = this;
    let groups = 0;
    for (let first = frame.lo; first < frame.hi; first += WARP) {
      const active = mask.perWarp[first / WARP];
      if (active === 0) continue;
      const remainder = remainderOf(addresses[first]);
      let group = 0;
      while (group < groups && !(remainders[group] === remainder && liesAlike(addresses, examples[group], first)))
        group++;
      if (group < groups && active === WARP) {
        times[group]++;
        examples[group] = first;
        continue;
      }
      if (active < WARP) {
        this.countWarp(plan, addresses, mask, first, active, 1, frame);
        continue;
      }
      this.countFull(plan, addresses, mask, first, remainder, frame);
      remainders[groups] = remainder;
      examples[groups] = first;
      times[groups] = 0;
      copyCounts(counts, known[groups]);
      groups++;
    }
    for (let group = 0; group < groups; group++) {
      if (times[group] === 0) continue;
      const first = examples[group];
      copyCounts(known[group], counts);
      const space = spaceNumber[spaceOfAddress(addresses[first])];
      this.add(plan, space, addresses, mask.lanes, first, WARP, times[group], frame);
    }
  }

  /** A full warp counts what the last one of its access did that lies alike: in loops, and in their copies, they come again. */
  private countFull(
    plan: AccessPlan,
    addresses: Float64Array,
    mask: Mask,
    first: number,
    remainder: number,
    frame: Frame,
  ): void {
    const space = spaceNumber[spaceOfAddress(addresses[first])];
    const shape = plan.shapes[space];
    const last = this.patterns[plan.access];
    const isAlike =
      last !== undefined &&
      last.space === space &&
      last.remainder === remainder &&
      last.bytes === shape.bytes &&
      last.operation === shape.operation &&
      liesAs(addresses, first, last.distances);
    if (isAlike) {
      copyCounts(last.counts, counts);
      this.add(plan, space, addresses, mask.lanes, first, WARP, 1, frame);
      return;
    }
    this.countWarp(plan, addresses, mask, first, WARP, 1, frame);
    const { bytes, operation } = shape;
    const pattern = last ?? {
      space,
      remainder,
      bytes,
      operation,
      distances: new Float64Array(WARP),
      counts: emptyCounts(),
    };
    this.patterns[plan.access] = pattern;
    pattern.space = space;
    pattern.remainder = remainder;
    pattern.bytes = bytes;
    pattern.operation = operation;
    const start = addresses[first];
    for (let lane = 0; lane < WARP; lane++) pattern.distances[lane] = addresses[first + lane] - start;
    copyCounts(counts, pattern.counts);
  }

  /**
   * Addresses that are uniform or linear, in a block whose warps are cut alike: full warps whose addresses differ by a
   * multiple of the memory's geometry count the same, so that one of them is enough.
   */
  private countAlike(plan: AccessPlan, value: LaneValue<Lanes64>, offset: number, frame: Frame): void {
    const { mask } = frame;
    const { scratch, remainders, examples, times } = this;
    let groups = 0;
    for (let first = frame.lo; first < frame.hi; first += WARP) {
      const active = mask.perWarp[first / WARP];
      if (active === 0) continue;
      const start = addressAt(value, first) + offset;
      if (active < WARP) {
        fillWarp(value, start, first, scratch);
        this.countWarp(plan, scratch, mask, first, active, 1, frame);
        continue;
      }
      const remainder = remainderOf(start);
      let group = 0;
      while (group < groups && remainders[group] !== remainder) group++;
      if (group === groups) {
        remainders[group] = remainder;
        examples[group] = first;
        times[group] = 0;
        groups++;
      }
      times[group]++;
    }
    for (let group = 0; group < groups; group++) {
      const first = examples[group];
      const start = addressAt(value, first) + offset;
      const space = spaceNumber[spaceOfAddress(start)];
      const { kx, ky, kz } = value;
      const known = plan.linear.get(remainders[group]);
      if (known && known.kx === kx && known.ky === ky && known.kz === kz && known.space === space) {
        copyCounts(known.counts, counts);
        const worst = this.addCounts(plan, space, start, WARP, times[group], frame);
        if (!worst) continue;
        fillWarp(value, start, first, scratch);
        worst.witness = witness(this.tally.block, counts, plan, space, scratch, mask.lanes, first);
        continue;
      }
      fillWarp(value, start, first, scratch);
      this.countWarp(plan, scratch, mask, first, WARP, times[group], frame);
      plan.linear.set(remainders[group], { kx, ky, kz, space, counts: { ...counts } });
    }
  }

  /** @param times warps that count the same */
  private countWarp(
    plan: AccessPlan,
    addresses: Float64Array,
    mask: Mask,
    first: number,
    active: number,
    times: number,
    frame: Frame,
  ): void {
    const { lanes } = mask;
    const space = spaceNumber[spaceOfAddress(addresses[active === WARP ? first : firstActive(lanes, first)])];
    if (plan.site.space === 'generic' && !sameSpace(addresses, lanes, first, spaces[space])) {
      this.countMixed(plan, addresses, lanes, first, frame);
      return;
    }
    this.tally.model.count(plan.shapes[space], addresses, lanes, first, WARP, counts);
    this.add(plan, space, addresses, lanes, first, active, times, frame);
  }

  /** A generic access whose lanes go to different spaces: one request in each. */
  private countMixed(plan: AccessPlan, addresses: Float64Array, lanes: Uint8Array, first: number, frame: Frame): void {
    const { subset } = this;
    for (let space = 0; space < spaces.length; space++) {
      let active = 0;
      for (let lane = first; lane < first + WARP; lane++) {
        subset[lane] = lanes[lane] !== 0 && spaceOfAddress(addresses[lane]) === spaces[space] ? 1 : 0;
        active += subset[lane];
      }
      if (active === 0) continue;
      this.tally.model.count(plan.shapes[space], addresses, subset, first, WARP, counts);
      this.add(plan, space, addresses, subset, first, active, 1, frame);
    }
  }

  /**
   * Wherever one lane goes, it takes the same: a request of one address, aligned to what it is wide (other addresses are errors). Not in the heap
   * of the device, and not where the space is not known.
   */
  private mayTellOfOne({ site }: AccessPlan): boolean {
    return this.tally.heapReason === 0 && site.space !== 'generic' && site.space !== 'texture';
  }

  /** Nothing is known of the addresses: warps of which one lane is on have their figures all the same. */
  private countAnywhere(plan: AccessPlan, reason: number, frame: Frame): void {
    const { perWarp, warps, count: lanes } = frame.mask;
    let single = 0;
    for (let warp = frame.lo / WARP; warp < frame.hi / WARP; warp++) if (perWarp[warp] === 1) single++;
    if (single > 0) this.countOne(plan, single, frame);
    if (single < warps) this.countUnknown(plan, warps - single, lanes - single, reason, frame);
  }

  /** Counts warps of which one lane is on; no witness, since it would have to name the address. */
  private countOne(plan: AccessPlan, warps: number, frame: Frame): void {
    const space = spaceNumber[plan.site.space === 'generic' ? 'global' : plan.site.space];
    this.tally.model.count(plan.shapes[space], NOWHERE, ONE_LANE, 0, 1, counts);
    const worst = this.addCounts(plan, space, 0, 1, warps, frame);
    if (worst) worst.worstExcess = 0;
  }

  private countUnknown(plan: AccessPlan, warps: number, lanes: number, reason: number, frame: Frame): void {
    const space = plan.site.space === 'generic' ? 'global' : plan.site.space;
    const number = spaceNumber[space];
    const { counters } = this.tally;
    const notes = this.notesOf(plan, number);
    const { at } = notes;
    counters[at + field.requests] += warps;
    counters[at + field.activeLanes] += lanes;
    counters[at + field.unknownRequests] += warps;
    if (notes.unknownReason === 0) notes.unknownReason = reason;
    if (notes.speculative === 0) notes.speculative = frame.speculative;
  }

  private add(
    plan: AccessPlan,
    space: number,
    addresses: Float64Array,
    lanes: Uint8Array,
    first: number,
    active: number,
    times: number,
    frame: Frame,
    sources?: Float64Array,
  ): void {
    const start = addresses[active === WARP ? first : firstActive(lanes, first)];
    const worst = this.addCounts(plan, space, start, active, times, frame);
    if (worst) worst.witness = witness(this.tally.block, counts, plan, space, addresses, lanes, first, sources);
  }

  /**
   * Adds what a warp counts to what its access does.
   * @param start the address of the first active lane
   * @returns where a witness is wanted: none before it cost as much
   */
  private addCounts(
    plan: AccessPlan,
    space: number,
    start: number,
    active: number,
    times: number,
    frame: Frame,
  ): AccessNotes | undefined {
    const { counters } = this.tally;
    const notes = this.tally.notes[plan.access * spaces.length + space] ?? this.notesOf(plan, space);
    const { at } = notes;
    this.tally.starts[plan.access * spaces.length + space] |= 1 << (start & (BYTES_OF_SEGMENT - 1));
    counters[at + field.requests] += times;
    counters[at + field.activeLanes] += times * active;
    counters[at + field.wavefronts] += times * counts.wavefronts;
    counters[at + field.idealWavefronts] += times * counts.idealWavefronts;
    counters[at + field.sectors] += times * counts.sectors;
    counters[at + field.idealSectors] += times * counts.idealSectors;
    counters[at + field.transactions] += times * counts.transactions;
    if (plan.bytes > notes.bytesPerLane) notes.bytesPerLane = plan.bytes;
    if (frame.speculative !== 0 && notes.speculative === 0) notes.speculative = frame.speculative;
    const cost = countsSectors[space] ? counts.sectors : counts.wavefronts;
    const ideal = countsSectors[space] ? counts.idealSectors : counts.idealWavefronts;
    if (!(cost > notes.worstExcess * ideal)) return undefined;
    notes.worstExcess = cost / ideal;
    return notes;
  }

  private notesOf(plan: AccessPlan, space: number): AccessNotes {
    const { notes, layout } = this.tally;
    const index = plan.access * spaces.length + space;
    const known = notes[index];
    if (known) {
      if (plan.bytes > known.bytesPerLane) known.bytesPerLane = plan.bytes;
      return known;
    }
    const at = layout.used;
    layout.used += ACCESS_FIELDS;
    const fresh: AccessNotes = { at, bytesPerLane: plan.bytes, unknownReason: 0, speculative: 0, worstExcess: 0 };
    notes[index] = fresh;
    return fresh;
  }
}

/** An address that is aligned as any is. */
const NOWHERE = new Float64Array(1);
const ONE_LANE = Uint8Array.of(1);

/** Bytes that the 32 banks serve at once. */
const BANK_ROW = 128;

/** Of global memory: what a request costs repeats in 32 bytes. */
const BYTES_OF_SEGMENT = 32;

function copyCounts(from: WarpCounts, to: WarpCounts): void {
  to.wavefronts = from.wavefronts;
  to.idealWavefronts = from.idealWavefronts;
  to.leastWavefronts = from.leastWavefronts;
  to.sectors = from.sectors;
  to.idealSectors = from.idealSectors;
  to.transactions = from.transactions;
  to.lanes = from.lanes;
}

/** Whether a lane's address lies in the heap of the device. */
function isInHeap(value: LaneValue<Lanes64>, offset: number, { mask, lo, hi }: Frame): boolean {
  for (let lane = lo; lane < hi; lane++) {
    if (mask.lanes[lane] === 0 || isUnknownIn(value, lane)) continue;
    if (laneOf(value, lane) + offset >= addressWindows.heap) return true;
  }
  return false;
}
