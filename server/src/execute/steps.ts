/** Decoded arithmetic: each instruction becomes a closure that calls the shared loop of its operation. */

import type { LaneCode, LaneCodeName } from './lane-code';
import type { LinearBinary, LinearTernary, LinearUnary } from './linear-values';
import type { Frame } from './mask';
import type { Binary, Ternary, Unary } from './operation';
import {
  areAlike,
  assignLanes,
  copyLanes,
  isUnknownIn,
  KNOWN,
  type Lanes32,
  type LaneValue,
  laneOf,
  MIXED,
  markLanes,
  overwrite,
  placeOf,
  setUniform,
  setUnknown,
  swapValues,
  UNKNOWN,
  vectorOf,
} from './value';

export type Step = (frame: Frame) => void;

/** The code that does an operation where its values lie in the lanes' memory. */
function codeOf(out: LaneValue, name: LaneCodeName | undefined): LaneCode[LaneCodeName] | undefined {
  return name && out.geometry.memory?.code[name];
}

/** Calls it known when no active lane is unknown, unknown when all are. */
export function settle(value: LaneValue, frame: Frame): void {
  if (value.unknown !== MIXED) return;
  const { lanes, count } = frame.mask;
  const marks = value.unknownLanes;
  let unknown = 0;
  for (let lane = frame.lo; lane < frame.hi; lane++) unknown += marks[lane] & lanes[lane];
  if (unknown === 0) value.unknown = KNOWN;
  else if (unknown === count) value.unknown = UNKNOWN;
}

/** Marks the lanes of `value` that are unknown in an operand. */
export function inheritUnknown(value: LaneValue, operand: LaneValue, frame: Frame): void {
  if (operand.unknown === KNOWN || value.unknown === UNKNOWN) return;
  if (operand.unknown === UNKNOWN) {
    setUnknown(value, operand.reason);
    return;
  }
  const marks = markLanes(value, operand.reason);
  const from = operand.unknownLanes;
  for (let lane = frame.lo; lane < frame.hi; lane++) marks[lane] |= from[lane];
  settle(value, frame);
}

/** Does an operation again by its definition, lane by lane, after its loop reported failures. */
function repair(value: LaneValue, frame: Frame, reason: number, scalar: (lane: number) => number): void {
  const { lanes } = frame.mask;
  const vector = value.vector;
  for (let lane = frame.lo; lane < frame.hi; lane++) {
    if (lanes[lane] === 0) continue;
    const result = scalar(lane);
    if (Number.isNaN(result)) markLanes(value, reason)[lane] = 1;
    else vector[lane] = result;
  }
  settle(value, frame);
}

function assignScalar(out: LaneValue, result: number, failure: number): void {
  if (failure !== 0 && Number.isNaN(result)) setUnknown(out, failure);
  else setUniform(out, result);
}

/** @param failure number of the reason for NaN, 0 when the operation cannot fail */
export function unaryStep(out: LaneValue, a: LaneValue, operation: Unary, failure: number, linear?: LinearUnary): Step {
  const code = codeOf(out, operation.code);
  return (frame) => {
    if (a.unknown === UNKNOWN) {
      setUnknown(out, a.reason);
      return;
    }
    if (a.uniform) {
      assignScalar(out, operation.scalar(a.scalar), failure);
    } else if (!(linear !== undefined && a.linear && linear(out, a))) {
      const x = vectorOf(a);
      const d = overwrite(out);
      const { lo, hi } = frame;
      const failed =
        code !== undefined && out.at !== 0 && a.at !== 0
          ? code(placeOf(out, lo), placeOf(a, lo), hi - lo)
          : operation.loop(d, x, lo, hi);
      if (failed !== 0 && failure !== 0) repair(out, frame, failure, (lane) => operation.scalar(x[lane]));
    }
    if (a.unknown === MIXED) inheritUnknown(out, a, frame);
  };
}

export function binaryStep(
  out: LaneValue,
  a: LaneValue,
  b: LaneValue,
  operation: Binary,
  failure: number,
  linear?: LinearBinary,
): Step {
  const code = codeOf(out, operation.code);
  const compute = (frame: Frame) => {
    if (a.uniform && b.uniform) {
      assignScalar(out, operation.scalar(a.scalar, b.scalar), failure);
      return;
    }
    if (linear !== undefined && (a.linear || a.uniform) && (b.linear || b.uniform) && linear(out, a, b)) return;
    const x = vectorOf(a);
    const y = vectorOf(b);
    const d = overwrite(out);
    const { lo, hi } = frame;
    const failed =
      code !== undefined && out.at !== 0 && a.at !== 0 && b.at !== 0
        ? code(placeOf(out, lo), placeOf(a, lo), placeOf(b, lo), hi - lo)
        : operation.loop(d, x, y, lo, hi);
    if (failed !== 0 && failure !== 0) repair(out, frame, failure, (lane) => operation.scalar(x[lane], y[lane]));
  };
  return (frame) => {
    if ((a.unknown | b.unknown) === KNOWN) {
      compute(frame);
    } else if (operation.absorbs !== undefined) {
      absorb(out, a, b, operation, failure, frame);
    } else if (a.unknown === UNKNOWN || b.unknown === UNKNOWN) {
      setUnknown(out, a.unknown !== KNOWN ? a.reason : b.reason);
    } else {
      compute(frame);
      inheritUnknown(out, a, frame);
      inheritUnknown(out, b, frame);
    }
  };
}

/** x & 0, x * 0, false && x: known although x is not. */
function absorb(out: LaneValue, a: LaneValue, b: LaneValue, operation: Binary, failure: number, frame: Frame): void {
  const absorbing = operation.absorbs;
  const reason = a.unknown !== KNOWN ? a.reason : b.reason;
  const { lanes } = frame.mask;
  const vector = overwrite(out);
  const marks = markLanes(out, reason);
  for (let lane = frame.lo; lane < frame.hi; lane++) {
    if (lanes[lane] === 0) continue;
    const x = isUnknownIn(a, lane) ? undefined : laneOf(a, lane);
    const y = isUnknownIn(b, lane) ? undefined : laneOf(b, lane);
    let result = Number.NaN;
    if (x === absorbing || y === absorbing) result = absorbing ?? 0;
    else if (x !== undefined && y !== undefined) result = operation.scalar(x, y);
    const failed = Number.isNaN(result) && (failure !== 0 || x === undefined || y === undefined);
    if (failed) marks[lane] = 1;
    else vector[lane] = result;
  }
  settle(out, frame);
}

function areLinear(a: LaneValue, b: LaneValue, c: LaneValue): boolean {
  return (a.linear || a.uniform) && (b.linear || b.uniform) && (c.linear || c.uniform);
}

export function ternaryStep(
  out: LaneValue,
  a: LaneValue,
  b: LaneValue,
  c: LaneValue,
  operation: Ternary,
  failure: number,
  linear?: LinearTernary,
): Step {
  const code = codeOf(out, operation.code);
  return (frame) => {
    const unknown = a.unknown | b.unknown | c.unknown;
    if (a.unknown === UNKNOWN || b.unknown === UNKNOWN || c.unknown === UNKNOWN) {
      setUnknown(out, (a.unknown !== KNOWN ? a : b.unknown !== KNOWN ? b : c).reason);
      return;
    }
    if (a.uniform && b.uniform && c.uniform) {
      assignScalar(out, operation.scalar(a.scalar, b.scalar, c.scalar), failure);
    } else if (!(linear !== undefined && areLinear(a, b, c) && linear(out, a, b, c))) {
      const x = vectorOf(a);
      const y = vectorOf(b);
      const z = vectorOf(c);
      const d = overwrite(out);
      const { lo, hi } = frame;
      const failed =
        code !== undefined && out.at !== 0 && a.at !== 0 && b.at !== 0 && c.at !== 0
          ? code(placeOf(out, lo), placeOf(a, lo), placeOf(b, lo), placeOf(c, lo), hi - lo)
          : operation.loop(d, x, y, z, lo, hi);
      if (failed !== 0 && failure !== 0) {
        repair(out, frame, failure, (lane) => operation.scalar(x[lane], y[lane], z[lane]));
      }
    }
    if (unknown === KNOWN) return;
    for (const operand of [a, b, c]) inheritUnknown(out, operand, frame);
  };
}

function selectLoop32(d: Lanes32, p: Lanes32, x: Lanes32, y: Lanes32, lo: number, hi: number): void {
  for (let i = lo; i < hi; i++) d[i] = p[i] !== 0 ? x[i] : y[i];
}
function selectLoop64(d: Float64Array, p: Lanes32, x: Float64Array, y: Float64Array, lo: number, hi: number): void {
  for (let i = lo; i < hi; i++) d[i] = p[i] !== 0 ? x[i] : y[i];
}

/**
 * p ? a : b; where p is known only the side taken matters, and where it is not and one of the two was never assigned, the other is meant.
 * @param open why what was never assigned is not known
 */
export function selectStep(out: LaneValue, p: LaneValue<Lanes32>, a: LaneValue, b: LaneValue, open: number): Step {
  const isOpen = ({ unknown, reason }: LaneValue): boolean => unknown === UNKNOWN && reason === open;
  const loop = (out.wide ? selectLoop64 : selectLoop32) as (
    d: LaneValue['vector'],
    p: Lanes32,
    x: LaneValue['vector'],
    y: LaneValue['vector'],
    lo: number,
    hi: number,
  ) => void;
  const code = codeOf(out, out.wide ? 'select64' : 'select32');
  const choose = ({ lo, hi }: Frame): void => {
    const [marks, x, y, d] = [vectorOf(p), vectorOf(a), vectorOf(b), overwrite(out)];
    if (code !== undefined && out.at !== 0 && p.at !== 0 && a.at !== 0 && b.at !== 0)
      code(placeOf(out, lo), placeOf(p, lo), placeOf(a, lo), placeOf(b, lo), hi - lo);
    else loop(d, marks, x, y, lo, hi);
  };
  const take = (taken: LaneValue, frame: Frame): void => {
    copyLanes(out, taken);
    inheritUnknown(out, taken, frame);
  };
  return (frame) => {
    if (p.unknown !== KNOWN && (isOpen(a) || isOpen(b))) {
      take(isOpen(a) ? b : a, frame);
      return;
    }
    if (p.unknown === UNKNOWN) {
      setUnknown(out, p.reason);
      return;
    }
    if (p.unknown === KNOWN && p.uniform) {
      take(p.scalar !== 0 ? a : b, frame);
      return;
    }
    if (areAlike(a, b)) copyLanes(out, a);
    else choose(frame);
    if ((p.unknown | a.unknown | b.unknown) === KNOWN) return;
    const source = [p, a, b].find((operand) => operand.unknown !== KNOWN) ?? p;
    const marks = markLanes(out, source.reason);
    for (let lane = frame.lo; lane < frame.hi; lane++) {
      if (isUnknownIn(p, lane) || isUnknownIn(laneOf(p, lane) !== 0 ? a : b, lane)) marks[lane] = 1;
    }
    settle(out, frame);
  };
}

/** Assigns a freshly computed value to a variable: in active lanes only, unless nobody looks at the others. */
export function commit(variable: LaneValue, computed: LaneValue, bit: number, frame: Frame): void {
  if (frame.full || (frame.kept[bit >> 5] & (1 << (bit & 31))) === 0) swapValues(variable, computed);
  else assignLanes(variable, computed, frame.mask.lanes, frame.lo, frame.hi, frame.mask.at);
}
