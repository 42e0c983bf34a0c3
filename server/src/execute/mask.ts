import type { LaneMemory } from './lane-memory';

export const WARP = 32;

/** Lanes in a word of a mask, and words of a warp. */
const LANES = 4;
const WORDS = WARP / LANES;

/** Active lanes of a block. Lanes are linear thread numbers, padded to whole warps. */
export class Mask {
  readonly lanes: Uint8Array;
  /** Where the lanes lie in the lanes' memory, and what each warp has behind them; 0: somewhere else. */
  readonly at: number;
  /** The same four at a time. */
  private readonly words: Uint32Array;
  /** Active lanes of each warp. */
  readonly perWarp: Uint8Array;
  /** Active lanes. */
  count = 0;
  /** Warps with an active lane. */
  warps = 0;
  /** Lanes from lo to hi - 1, whole warps, hold all active ones. */
  lo = 0;
  hi = 0;

  constructor(warps: number, memory?: LaneMemory) {
    const bytes = warps * WARP;
    this.at = memory?.take(bytes + warps) ?? 0;
    const buffer = memory && this.at !== 0 ? memory.buffer : new ArrayBuffer(bytes + warps);
    this.lanes = new Uint8Array(buffer, this.at, bytes);
    this.words = new Uint32Array(buffer, this.at, bytes / LANES);
    this.perWarp = new Uint8Array(buffer, this.at + bytes, warps);
  }

  /** Brings the counts in line with the lanes after these were changed. */
  recount(): void {
    const { words, perWarp } = this;
    this.count = 0;
    this.warps = 0;
    let first = -1;
    let last = 0;
    for (let warp = 0; warp < perWarp.length; warp++) {
      // four sums side by side, none of which exceeds the words of a warp
      let sums = 0;
      for (let word = warp * WORDS; word < warp * WORDS + WORDS; word++) sums += words[word];
      const active = Math.imul(sums, 0x01010101) >>> 24;
      perWarp[warp] = active;
      if (active === 0) continue;
      this.count += active;
      this.warps++;
      if (first < 0) first = warp;
      last = warp + 1;
    }
    this.lo = first < 0 ? 0 : first * WARP;
    this.hi = last * WARP;
  }

  /** Brings the other counts in line with those of the warps. */
  recountWarps(): void {
    const { perWarp } = this;
    let [count, warps, first, last] = [0, 0, -1, 0];
    for (let warp = 0; warp < perWarp.length; warp++) {
      const active = perWarp[warp];
      if (active === 0) continue;
      count += active;
      warps++;
      if (first < 0) first = warp;
      last = warp + 1;
    }
    this.count = count;
    this.warps = warps;
    this.lo = first < 0 ? 0 : first * WARP;
    this.hi = last * WARP;
  }

  copyFrom(other: Mask): void {
    this.lanes.set(other.lanes);
    this.perWarp.set(other.perWarp);
    this.count = other.count;
    this.warps = other.warps;
    this.lo = other.lo;
    this.hi = other.hi;
  }

  equals(other: Mask): boolean {
    if (this.count !== other.count || this.lo !== other.lo || this.hi !== other.hi) return false;
    for (let lane = this.lo; lane < this.hi; lane++) if (this.lanes[lane] !== other.lanes[lane]) return false;
    return true;
  }

  /** Removes lanes. */
  subtract(other: Mask): void {
    if (other.count === 0 || this.count === 0) return;
    for (let word = other.lo / LANES; word < other.hi / LANES; word++) this.words[word] &= ~other.words[word];
    this.recount();
  }

  /** Adds lanes. */
  unite(other: Mask): void {
    if (other.count === 0) return;
    if (this.count === 0) {
      this.copyFrom(other);
      return;
    }
    for (let word = other.lo / LANES; word < other.hi / LANES; word++) this.words[word] |= other.words[word];
    this.recount();
  }

  /** Keeps the lanes that another mask has. */
  intersect(other: Mask): void {
    if (this.count === 0) return;
    if (other.count === 0) {
      this.clear();
      return;
    }
    for (let word = this.lo / LANES; word < this.hi / LANES; word++) this.words[word] &= other.words[word];
    this.recount();
  }

  clear(): void {
    this.lanes.fill(0);
    this.perWarp.fill(0);
    this.count = 0;
    this.warps = 0;
    this.lo = 0;
    this.hi = 0;
  }
}

/** Masks are taken and given back many times in a block; this keeps those that were given back. */
export class MaskPool {
  private readonly free: Mask[] = [];

  constructor(
    private readonly warps: number,
    private readonly memory?: LaneMemory,
  ) {}

  /** A mask with undefined content. */
  take(): Mask {
    return this.free.pop() ?? new Mask(this.warps, this.memory);
  }

  copyOf(mask: Mask): Mask {
    const copy = this.take();
    copy.copyFrom(mask);
    return copy;
  }

  give(mask: Mask): void {
    this.free.push(mask);
  }
}

/** What instructions see of the machine: the active lanes, and whether a variable may be written without a mask. */
export interface Frame {
  mask: Mask;
  /** Lanes from lo to hi - 1 are computed. */
  lo: number;
  hi: number;
  /** Every lane that has not exited is active. */
  full: boolean;
  /** Variables (bits) that lanes which wait elsewhere will look at. */
  kept: Int32Array;
  /** Index of the reason for which this is executed under a condition that is not known, 0 for none. */
  speculative: number;
}
