/**
 * A small set of whole numbers that is emptied in no time and never allocates: the simulator asks it for nearly every
 * warp access. Open addressing, at most half of its slots may be taken.
 */
export class DistinctSet {
  private readonly keys: Float64Array;
  private readonly stamps: Int32Array;
  private readonly mask: number;
  private generation = 0;

  /** @param slots a power of two up to 4096, at least twice the number of members */
  constructor(slots: number) {
    this.keys = new Float64Array(slots);
    this.stamps = new Int32Array(slots);
    this.mask = slots - 1;
  }

  clear(): void {
    this.generation = (this.generation + 1) | 0;
    // Stamps begin at 0, so after 2^32 clearings old entries could look fresh: forget them all then.
    if (this.generation === 0) {
      this.stamps.fill(0);
      this.generation = 1;
    }
  }

  /** The slot of `key`, a whole number up to 2^53; the slot's complement (negative) when it was not there before. */
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
