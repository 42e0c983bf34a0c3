/**
 * Which neighbouring accesses to global (or generic) memory NVVM makes one vector access of: windows of 2, 4, 8 or 16 bytes.
 * Evidence: PTX of some 900 small kernels over element sizes 1, 2, 4, counts 2 … 16, alignments 2 … 16 and sets of elements, nvcc
 * 13.0, sm_90; `uN` below stands for elements read by index or by member, the same for both.
 *
 * - A load fills gaps of one element ({0, 2} of four → v4), and one of two behind the first element ({0, 3} → v4; but {0, 4} → two
 *   loads). A window begins at an element that is wanted, on a multiple of its width.
 * - A run of 3, 5 or 7 elements is rounded up to the next power of two where the alignment allows it ({0, 1, 2} → v4,
 *   {0 … 4} of u16 → 16 bytes); one of 6 is split into 4 and 2.
 * - A store takes exactly what is written ({0, 1, 3} → v2 and one).
 * - A record that is copied is read in pieces of its alignment (16 bytes at the most) where two elements or more are wanted,
 *   every piece whole that one of them is in; one alone is read by itself.
 */

/** Bytes [start, start + width) of one access. */
export interface Window {
  readonly start: number;
  readonly width: number;
}

/** What is known of the addresses: offset + remainder is a multiple of modulus where the address is. */
export interface Base {
  readonly modulus: number;
  readonly remainder: number;
}

const WIDEST = 16;

const isAligned = (base: Base, offset: number, width: number): boolean =>
  base.modulus >= width && (((offset + base.remainder) % width) + width) % width === 0;

/** @param offsets of the elements wanted, ascending @param size bytes of each */
export function loadWindows(offsets: readonly number[], size: number, base: Base): Window[] {
  const windows: Window[] = [];
  for (const run of runsOf(offsets, size)) {
    const end = run[run.length - 1] + size;
    for (let i = 0; i < run.length; ) {
      const width = loadWidth(run[i], end, size, base);
      windows.push({ start: run[i], width });
      const next = run[i] + width;
      while (i < run.length && run[i] < next) i++;
    }
  }
  return windows;
}

/** Offsets that hang together. */
function runsOf(offsets: readonly number[], size: number): number[][] {
  const runs: number[][] = [];
  for (const offset of offsets) {
    const run = runs[runs.length - 1];
    const gap = run === undefined ? Number.POSITIVE_INFINITY : (offset - run[run.length - 1]) / size - 1;
    if (run && (gap <= 1 || (gap === 2 && run.length === 1))) run.push(offset);
    else runs.push([offset]);
  }
  return runs;
}

function loadWidth(start: number, end: number, size: number, base: Base): number {
  const count = (end - start) / size;
  for (let width = WIDEST; width > size; width /= 2) {
    if (!isAligned(base, start, width)) continue;
    const elements = width / size;
    if (count >= elements || (count % 2 === 1 && count > elements / 2)) return width;
  }
  return size;
}

/** @param offsets of the elements written, ascending @param size bytes of each */
export function storeWindows(offsets: readonly number[], size: number, base: Base): Window[] {
  const windows: Window[] = [];
  const written = new Set(offsets);
  const covers = (start: number, width: number): boolean => {
    for (let at = start; at < start + width; at += size) if (!written.has(at)) return false;
    return true;
  };
  for (const start of offsets) {
    if (!written.has(start)) continue;
    let width = WIDEST;
    while (width > size && !(isAligned(base, start, width) && covers(start, width))) width /= 2;
    for (let at = start; at < start + width; at += size) written.delete(at);
    windows.push({ start, width: Math.max(width, size) });
  }
  return windows;
}

/** @param offsets of the elements wanted of copied records, ascending @param pieces bytes a piece: the records' alignment */
export function copyWindows(offsets: readonly number[], pieces: number, base: Base): Window[] {
  const width = Math.min(WIDEST, pieces);
  const starts = offsets.map((offset) => offset - ((((offset + base.remainder) % width) + width) % width));
  return [...new Set(starts)].map((start) => ({ start, width }));
}
