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
   */
  static of(bytes: Uint8Array, before: KeptBytes | undefined): KeptBytes {
    const shared = before && bytes.length >= 2 * PAGE ? sharedPages(bytes, before.pages) : undefined;
    if (!shared?.some((page) => page !== undefined)) {
      const whole = bytes.slice();
      return new KeptBytes(pagesOf(whole), whole.length, whole, whole.length);
    }
    let taken = 0;
    const pages = pagesOf(bytes).map((page, i) => {
      const same = shared[i];
      if (same) return same;
      taken += page.length;
      return page.slice();
    });
    return new KeptBytes(pages, bytes.length, undefined, taken);
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

/** By page: that of before which holds the same. */
function sharedPages(bytes: Uint8Array, before: readonly Uint8Array[]): (Uint8Array | undefined)[] {
  return pagesOf(bytes).map((page, i) =>
    before[i]?.length === page.length && Buffer.compare(before[i], page) === 0 ? before[i] : undefined,
  );
}
