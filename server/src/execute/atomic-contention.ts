/**
 * How many atomics wait for one another. L2 updates a line of global memory one request after the other, and the lanes of
 * a floating-point atomic that share an address one lane after the other: a launch whose atomics meet in few lines takes
 * as long as the busiest of these (docs/timing.md). What is executed of a launch tells which line that is; how often it
 * is updated in the whole grid follows from the number of requests.
 */
import { UPDATED_LINE_BYTES, type UpdateCost, updateCosts } from '../hardware/atomic-updates';
import { spaceOfAddress } from '../program/addresses';
import type { AccessSite } from '../program/program';
import { type Frame, WARP } from './mask';
import { KNOWN, type Lanes64, type LaneValue, vectorOf } from './value';

/** Requests looked at, of a block and in all: the rest behaves like them. */
const MOST_OF_BLOCK = 256;
const MOST_REQUESTS = 8192;

interface Line {
  updates: number;
  /** The block that came last. */
  block: number;
  isShared: boolean;
}

export class AtomicContention {
  private readonly lines = new Map<number, Line>();
  private readonly seen = new Float64Array(WARP);
  private requests = 0;
  private ofBlock = 0;
  private blocks = 0;

  /** Another block is executed. */
  beginBlock(): void {
    this.blocks++;
    this.ofBlock = 0;
  }

  /** Nothing was executed yet. */
  clear(): void {
    this.lines.clear();
    this.requests = 0;
    this.ofBlock = 0;
    this.blocks = 0;
  }

  /** Notes the requests that the warps of a block make to global memory. */
  note(kind: AccessSite['atomic'], value: LaneValue<Lanes64>, offset: number, { mask, lo, hi }: Frame): void {
    if (value.unknown !== KNOWN || this.ofBlock >= MOST_OF_BLOCK || this.requests >= MOST_REQUESTS) return;
    const cost = updateCosts[kind ?? 'integer'];
    const addresses = vectorOf(value);
    for (let first = lo; first < hi; first += WARP) {
      if (mask.perWarp[first / WARP] === 0) continue;
      this.ofBlock++;
      this.requests++;
      this.noteWarp(addresses, offset, cost, mask.lanes, first);
    }
  }

  private noteWarp(addresses: Float64Array, offset: number, cost: UpdateCost, lanes: Uint8Array, first: number): void {
    const { seen } = this;
    let distinct = 0;
    for (let lane = first; lane < first + WARP; lane++) {
      if (lanes[lane] === 0) continue;
      const address = addresses[lane] + offset;
      if (spaceOfAddress(address) !== 'global') continue;
      let at = 0;
      while (at < distinct && seen[at] !== address) at++;
      const isAgain = at < distinct;
      if (!isAgain) seen[distinct++] = address;
      const line = this.lineOf(address);
      if (isAgain) line.updates += cost.sharing;
      // the first lane of the request in this line
      else if (!this.isOfLine(at, lineNumber(address))) line.updates += cost.request;
    }
  }

  /** Whether one of the first addresses seen is of a line. */
  private isOfLine(count: number, line: number): boolean {
    for (let k = 0; k < count; k++) if (lineNumber(this.seen[k]) === line) return true;
    return false;
  }

  private lineOf(address: number): Line {
    const number = lineNumber(address);
    let line = this.lines.get(number);
    if (!line) this.lines.set(number, (line = { updates: 0, block: this.blocks, isShared: false }));
    if (line.block !== this.blocks) line.isShared = true;
    return line;
  }

  /**
   * Updates of the line that has most of them, in the whole grid.
   * @param requests of global atomics in the grid
   * @param blocks of the grid
   */
  mostUpdates(requests: number, blocks: number): number {
    if (this.requests === 0) return 0;
    const scale = requests / this.requests;
    // a line that one of several blocks came to is its own
    const ofOne = this.blocks > 1 || blocks === 1 ? (scale * this.blocks) / blocks : 1;
    let most = 0;
    for (const { updates, isShared } of this.lines.values())
      most = Math.max(most, updates * (isShared ? scale : Math.max(1, ofOne)));
    return most;
  }
}

const lineNumber = (address: number): number => Math.floor(address / UPDATED_LINE_BYTES);
