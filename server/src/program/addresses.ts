/** Where the spaces of memory lie, as numbers. */
import type { MemorySpace } from './program';

/**
 * Address windows: a pointer is a plain number, and its space follows from the window it falls into. Global allocations
 * are `globalWindow * (k + 1)` apart, k the order of objects, so that none overlaps and all sums stay below 2^53.
 */
export const addressWindows = {
  shared: 2 ** 34,
  local: 2 ** 35,
  constant: 2 ** 35 + 2 ** 34,
  texture: 2 ** 35 + 2 ** 34 + 2 ** 33,
  global: 2 ** 36,
  /** What lanes ask for in a kernel: a region for each, whose real places are not known. */
  heap: 2 ** 52,
} as const;

/** Bytes of the heap from one lane's region to the next: those of 16 million lanes end below 2^53. */
export const HEAP_OF_LANE = 2 ** 28;

/** The space an address belongs to; addresses below the windows (null and wild pointers) count as global. */
export function spaceOfAddress(address: number): MemorySpace {
  if (address >= addressWindows.global || address < addressWindows.shared) return 'global';
  if (address < addressWindows.local) return 'shared';
  if (address < addressWindows.constant) return 'local';
  if (address < addressWindows.texture) return 'constant';
  return 'texture';
}
