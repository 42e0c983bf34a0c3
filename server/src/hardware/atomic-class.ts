/** How an atomic is carried out, which decides how it is counted. */

/**
 * 'add-constant': every lane adds the same number, a population count. 'aggregated': one lane of the warp does it for all. 'float', 'wide'
 * (64 bits) and 'compared' (the smaller or larger of 64 bits) are loops of compare and swap in shared memory.
 */
export type AtomicClass = 'add-constant' | 'integer' | 'float' | 'wide' | 'compared' | 'aggregated';

export interface Atomic {
  readonly fn: 'add' | 'sub' | 'min' | 'max' | 'and' | 'or' | 'xor' | 'inc' | 'dec' | 'exch' | 'cas';
  readonly bytes: number;
  readonly isFloat: boolean;
  /** All lanes give the same constant. */
  readonly isConstant: boolean;
  /** It is in shared memory, or may be. */
  readonly mayBeShared: boolean;
}

/**
 * Evidence (nvcc 13.0, sm_90, SASS of 12 kernels): floating point and 64 bits have no atomics of their own in shared memory
 * (LDS and ATOMS.CAST.SPIN), exchange and compare-and-swap excepted. The smaller or larger is stored only where it is another than before.
 */
export function atomicClassOf({ fn, bytes, isFloat, isConstant, mayBeShared }: Atomic): AtomicClass {
  if (fn === 'exch' || fn === 'cas') return 'integer';
  if (isFloat) return 'float';
  if (mayBeShared && bytes === 8) return fn === 'min' || fn === 'max' ? 'compared' : 'wide';
  const isCounted = fn === 'add' || fn === 'sub' || fn === 'inc';
  return isCounted && isConstant ? 'add-constant' : 'integer';
}

/** Whether shared memory needs a loop for it, whose loads count as well. */
export const isSwapLoop = (atomic: AtomicClass | undefined): boolean =>
  atomic === 'float' || atomic === 'wide' || atomic === 'compared';
