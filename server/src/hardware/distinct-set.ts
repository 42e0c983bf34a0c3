/**
 * A small set of numbers that is emptied in no time and never allocates: the simulator asks it a few times for every
 * warp access. Open addressing, at most `slots` / 2 members.
 */
export class DistinctSet {
  private readonly keys: Float64Array;
  private readonly stamps: Int32Array;
  private readonly mask: number;
  private generation = 0;

  /** @param slots a power of two, at least twice the number of members */
  constructor(slots: number) {
    this.keys = new Float64Array(slots);
    this.stamps = new Int32Array(slots);
    this.mask = slots - 1;
  }

  clear(): void {
    this.generation = (this.generation + 1) | 0;
    // Stamps start at 0: after 2^32 generations the one value that could be mistaken for an old entry is skipped.
    if (this.generation === 0) {
      this.stamps.fill(0);
      this.generation = 1;
    }
  }

  /** The slot of `key`, a whole number up to 2^53; negative (the slot's complement) when it was not there before. */
  slot(key: number): number {
    const { keys, stamps, mask, generation } = this;
    let at = (Math.imul(key | 0, 0x9e3779b1) >>> 20) & mask;
    while (stamps[at] === generation) {
      if (keys[at] === key) return at;
      at = (at + 1) & mask;
    }
    stamps[at] = generation;
    keys[at] = key;
    return ~at;
  }

  /** Adds `key`; true when it is new. */
  add(key: number): boolean {
    return this.slot(key) < 0;
  }
}
