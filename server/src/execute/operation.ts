import type { LaneCodeName } from './lane-code';
import type { Lanes32, Lanes64 } from './value';

export type Lanes = Lanes32 | Lanes64;

/**
 * An operation on lanes. `scalar` is its definition; where it can fail (`fails` says why), NaN stands for a result that
 * is not known. `loop` does the same for the lanes from lo to hi - 1 at speed and returns non-zero when some lane may
 * have failed, upon which the scalar definition is asked lane by lane. The result vector is never an operand. `code` does the same
 * where all vectors lie in the lanes' memory.
 */
export interface Unary {
  readonly scalar: (x: number) => number;
  readonly loop: (d: Lanes, x: Lanes, lo: number, hi: number) => number;
  readonly fails?: string;
  readonly code?: LaneCodeName;
}

export interface Binary {
  readonly scalar: (x: number, y: number) => number;
  readonly loop: (d: Lanes, x: Lanes, y: Lanes, lo: number, hi: number) => number;
  readonly fails?: string;
  /** An operand with this value makes the result the same value, whatever the other operand is. */
  readonly absorbs?: number;
  readonly code?: LaneCodeName;
}

export interface Ternary {
  readonly scalar: (x: number, y: number, z: number) => number;
  readonly loop: (d: Lanes, x: Lanes, y: Lanes, z: Lanes, lo: number, hi: number) => number;
  readonly fails?: string;
  readonly code?: LaneCodeName;
}

type Loop1<D, X> = (d: D, x: X, lo: number, hi: number) => number;
type Loop2<D, X> = (d: D, x: X, y: X, lo: number, hi: number) => number;
type Loop3<D, X> = (d: D, x: X, y: X, z: X, lo: number, hi: number) => number;

/** Gives a loop written for one kind of vectors the general type; the decoder pairs them with registers of that kind. */
export function unary<D, X>(scalar: Unary['scalar'], loop?: Loop1<D, X>, fails?: string, code?: LaneCodeName): Unary {
  return { scalar, loop: loop ? (loop as unknown as Unary['loop']) : each1(scalar), fails, code };
}

export function binary<D, X>(
  scalar: Binary['scalar'],
  loop?: Loop2<D, X>,
  more?: { fails?: string; absorbs?: number; code?: LaneCodeName },
): Binary {
  return { scalar, loop: loop ? (loop as unknown as Binary['loop']) : each2(scalar), ...more };
}

export function ternary<D, X>(
  scalar: Ternary['scalar'],
  loop?: Loop3<D, X>,
  fails?: string,
  code?: LaneCodeName,
): Ternary {
  return { scalar, loop: loop ? (loop as unknown as Ternary['loop']) : each3(scalar), fails, code };
}

function each1(scalar: Unary['scalar']): Unary['loop'] {
  return (d, x, lo, hi) => {
    let failed = 0;
    for (let i = lo; i < hi; i++) {
      const r = scalar(x[i]);
      d[i] = r;
      if (Number.isNaN(r)) failed = 1;
    }
    return failed;
  };
}

function each2(scalar: Binary['scalar']): Binary['loop'] {
  return (d, x, y, lo, hi) => {
    let failed = 0;
    for (let i = lo; i < hi; i++) {
      const r = scalar(x[i], y[i]);
      d[i] = r;
      if (Number.isNaN(r)) failed = 1;
    }
    return failed;
  };
}

function each3(scalar: Ternary['scalar']): Ternary['loop'] {
  return (d, x, y, z, lo, hi) => {
    let failed = 0;
    for (let i = lo; i < hi; i++) {
      const r = scalar(x[i], y[i], z[i]);
      d[i] = r;
      if (Number.isNaN(r)) failed = 1;
    }
    return failed;
  };
}
