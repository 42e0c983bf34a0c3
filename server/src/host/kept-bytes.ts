/**
 * What memory held at some time, a block at a time. A program launches many kernels with the same large buffers, of which each launch changes a
 * part: pages that are as they were when the block was kept before are kept once, so that the bytes for all launches last longer.
 */

/** Bytes that are compared and kept together. */
const PAGE = 2 ** 16;
/** Bytes put together from pages that stay so for the next who asks: a launch asks for its blocks several times. */
const MOST_TOGETHER = 2 ** 25;

/** Those that were put together last, the newest at the end. */
const together = new Map<KeptBytes, Uint8Array>();
let bytesTogether = 0;

/** Bytes of a block, and which of them are known; no shadows where all are. */
export interface Kept {
  readonly bytes: KeptBytes;
  readonly shadows: KeptBytes | undefined;
}

export class KeptBytes {
  private constructor(
    private readonly pages: readonly Uint8Array[],
    private readonly length: number,
    private readonly whole: Uint8Array | undefined,
    /** Bytes of memory that it takes beside what it shares. */
    readonly taken: number,
  ) {}

  /**
   * @param bytes a view of memory, which is copied
   * @param before what the same block held when it was kept before
   * @param most bytes that it may take: undefined, and nothing is copied, where it would take more
   */
  static of(bytes: Uint8Array, before: KeptBytes | undefined, most: number): KeptBytes | undefined {
    const pages = pagesOf(bytes);
    const shared = pages.map((page, i) => sharedPage(page, before?.pages[i]));
    const taken = pages.reduce((sum, page, i) => sum + (shared[i] ? 0 : page.length), 0);
    if (taken > most) return undefined;
    if (taken < bytes.length)
      return new KeptBytes(
        pages.map((page, i) => shared[i] ?? page.slice()),
        bytes.length,
        undefined,
        taken,
      );
    const whole = bytes.slice();
    return new KeptBytes(pagesOf(whole), whole.length, whole, taken);
  }

  /** All of them, one behind the other; nobody may write to them. */
  get bytes(): Uint8Array {
    if (this.whole) return this.whole;
    const found = together.get(this) ?? this.putTogether();
    together.delete(this);
    together.set(this, found);
    return found;
  }

  private putTogether(): Uint8Array {
    const all = new Uint8Array(this.length);
    this.pages.forEach((page, i) => {
      all.set(page, i * PAGE);
    });
    bytesTogether += all.length;
    for (const [oldest, bytes] of together) {
      if (bytesTogether <= MOST_TOGETHER) break;
      together.delete(oldest);
      bytesTogether -= bytes.length;
    }
    return all;
  }
}

function pagesOf(bytes: Uint8Array): Uint8Array[] {
  const pages: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += PAGE) pages.push(bytes.subarray(at, at + PAGE));
  return pages;
}

/** The page of before where it holds the same. */
const sharedPage = (page: Uint8Array, before: Uint8Array | undefined): Uint8Array | undefined =>
  before?.length === page.length && Buffer.compare(before, page) === 0 ? before : undefined;
