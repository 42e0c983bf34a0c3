/** The reconvergence stack of a block in lock-step. */

import { EXIT } from '../program/control-flow';
import type { Liveness } from '../program/liveness';
import type { LaneMemory } from './lane-memory';
import { type Mask, MaskPool } from './mask';

/** Lanes that wait at (or, on top of the stack, execute) a block. */
export interface Entry {
  /** The block to be executed next. */
  pc: number;
  /** The block that pc came from, -1 at the start. */
  from: number;
  /** Where this entry ends: its lanes wait there in an entry below. */
  until: number;
  mask: Mask;
  /** Variables that lanes of entries below will look at. */
  kept: Int32Array;
  /** Reason for which this is executed under a condition that is not known, 0 for none. */
  speculative: number;
  /** Lanes that execute the other side of the branch as well: leaving on this side is not final. */
  both?: Mask;
  /** Lanes of `both` that left a loop on this side, and the entry where they wait. */
  left?: { readonly lanes: Mask; readonly to: Entry };
  /** Called once with the lanes that got to the end, when the entry is taken off. */
  onPop?: (arrived: Mask) => void;
  /** Called once when everything above has been executed. */
  onResume?: () => void;
}

export class Stack {
  readonly entries: Entry[] = [];
  readonly masks: MaskPool;
  /** Lanes that have not returned. */
  alive = 0;

  constructor(
    warps: number,
    private readonly live: Liveness,
    memory?: LaneMemory,
  ) {
    this.masks = new MaskPool(warps, memory);
  }

  start(mask: Mask): void {
    for (const entry of this.entries) this.masks.give(entry.mask);
    this.entries.length = 0;
    this.alive = mask.count;
    const kept = new Int32Array(this.live.words);
    this.entries.push({ pc: 0, from: -1, until: EXIT, mask: this.masks.copyOf(mask), kept, speculative: 0 });
  }

  get top(): Entry {
    return this.entries[this.entries.length - 1];
  }

  /** Puts lanes on top that execute from `pc` to `until`; the mask is taken over. */
  push(pc: number, from: number, until: number, mask: Mask): Entry {
    const below = this.top;
    const entry: Entry = { pc, from, until, mask, kept: this.keptAbove(below), speculative: below.speculative };
    this.entries.push(entry);
    return entry;
  }

  private keptAbove(below: Entry): Int32Array {
    if (below.pc === EXIT) return below.kept;
    const kept = below.kept.slice();
    const live = this.live.liveIn[below.pc];
    for (let word = 0; word < kept.length; word++) kept[word] |= live[word];
    return kept;
  }

  pop(): void {
    const entry = this.entries.pop();
    if (!entry) return;
    entry.onPop?.(entry.mask);
    this.masks.give(entry.mask);
  }

  /** The lanes have returned. */
  retire(lanes: Mask): void {
    if (this.entries.length === 1) {
      this.alive -= lanes.count;
      this.top.mask.subtract(lanes);
      return;
    }
    const gone = this.masks.copyOf(lanes);
    this.removeAbove(-1, gone);
    this.alive -= gone.count;
    this.masks.give(gone);
  }

  /**
   * Takes lanes out of all entries above `bottom`, down to where they also execute another side.
   * @param to where they wait from now on; undefined when they have returned
   * @param all out of the other sides as well: they are not to go on in a loop
   */
  removeAbove(bottom: number, gone: Mask, to?: Entry, all = false): void {
    for (let i = this.entries.length - 1; i > bottom && gone.count > 0; i--) {
      const entry = this.entries[i];
      entry.mask.subtract(gone);
      if (!entry.both) continue;
      if (to) this.noteLeaving(entry, entry.both, gone, to);
      if (!all) gone.subtract(entry.both);
    }
  }

  private noteLeaving(entry: Entry, both: Mask, gone: Mask, to: Entry): void {
    const lanes = entry.left?.to === to ? entry.left.lanes : this.masks.take();
    if (entry.left?.to !== to) lanes.clear();
    for (let lane = gone.lo; lane < gone.hi; lane++) lanes.lanes[lane] |= gone.lanes[lane] & both.lanes[lane];
    lanes.recount();
    entry.left = { lanes, to };
  }

  indexOf(entry: Entry): number {
    return this.entries.lastIndexOf(entry);
  }
}
