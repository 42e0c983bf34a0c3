import type { ScalarType } from '../program/program';

export type Lanes32 = Int32Array;
export type Lanes64 = Float64Array;

/** How much of a value is unknown. */
export const KNOWN = 0;
export const UNKNOWN = 1;
/** Unknown in the lanes that `unknownLanes` marks. */
export const MIXED = 2;

/**
 * The value of a register in all lanes of a block: one scalar while all lanes agree, else a vector. Integers up to 32
 * bits and predicates are held as 32-bit integers (u32 as its bits), everything else as doubles. 64-bit integers are
 * held in their signed reading, so both ends of the u64 range are exact: -1 stands for 2^64 - 1.
 */
export class LaneValue<V extends Lanes32 | Lanes64 = Lanes32 | Lanes64> {
  uniform = true;
  scalar = 0;
  /** The vector holds the scalar in every lane. */
  filled = false;
  vector: V;
  unknown = UNKNOWN;
  unknownLanes: Uint8Array = noLanes;
  /** Why it is unknown: index into the reasons of the execution. */
  reason = 0;

  constructor(
    readonly wide: boolean,
    readonly lanes: number,
  ) {
    this.vector = (wide ? noLanes64 : noLanes32) as V;
  }
}

const noLanes = new Uint8Array(0);
const noLanes32 = new Int32Array(0);
const noLanes64 = new Float64Array(0);

/** Whether values of the type are held as doubles. */
export function isWide(type: ScalarType): boolean {
  return type === 'i64' || type === 'u64' || isFloat(type);
}

export function isFloat(type: ScalarType): boolean {
  return type === 'f16' || type === 'bf16' || type === 'f32' || type === 'f64';
}

/** A value of the type that nothing was assigned to. */
export function newValue(type: ScalarType, lanes: number): LaneValue {
  return new LaneValue(isWide(type), lanes);
}

/** The value in every lane, for reading. */
export function vectorOf<V extends Lanes32 | Lanes64>(value: LaneValue<V>): V {
  if (value.uniform && !value.filled) {
    if (value.vector.length === 0) allocate(value);
    value.vector.fill(value.scalar);
    value.filled = true;
  }
  return value.vector;
}

/** The vector to be written in all lanes that matter; the value becomes a known vector. */
export function overwrite<V extends Lanes32 | Lanes64>(value: LaneValue<V>): V {
  if (value.vector.length === 0) allocate(value);
  value.uniform = false;
  value.filled = false;
  value.unknown = KNOWN;
  return value.vector;
}

/** The vector to be changed in some lanes, the others keep what they have. */
export function changeSome<V extends Lanes32 | Lanes64>(value: LaneValue<V>): V {
  const vector = vectorOf(value);
  value.uniform = false;
  value.filled = false;
  return vector;
}

function allocate(value: LaneValue): void {
  value.vector = value.wide ? new Float64Array(value.lanes) : new Int32Array(value.lanes);
}

export function setUniform(value: LaneValue, scalar: number): void {
  if (!value.uniform || value.scalar !== scalar) value.filled = false;
  value.uniform = true;
  value.scalar = scalar;
  value.unknown = KNOWN;
}

export function setUnknown(value: LaneValue, reason: number): void {
  value.unknown = UNKNOWN;
  value.reason = reason;
}

/** Lanes marked unknown, one byte each, ready to be changed; the value becomes mixed. */
export function markLanes(value: LaneValue, reason: number): Uint8Array {
  if (value.unknownLanes.length === 0) value.unknownLanes = new Uint8Array(value.lanes);
  if (value.unknown === KNOWN) {
    value.unknownLanes.fill(0);
    value.reason = reason;
  } else if (value.unknown === UNKNOWN) {
    value.unknownLanes.fill(1);
  }
  value.unknown = MIXED;
  return value.unknownLanes;
}

export function isUnknownIn(value: LaneValue, lane: number): boolean {
  return value.unknown === UNKNOWN || (value.unknown === MIXED && value.unknownLanes[lane] !== 0);
}

export function laneOf(value: LaneValue, lane: number): number {
  return value.uniform ? value.scalar : value.vector[lane];
}

/** Exchanges contents: the cheap way to assign a freshly computed vector. */
export function swapValues(a: LaneValue, b: LaneValue): void {
  const { uniform, scalar, filled, vector, unknown, unknownLanes, reason } = a;
  a.uniform = b.uniform;
  a.scalar = b.scalar;
  a.filled = b.filled;
  a.vector = b.vector;
  a.unknown = b.unknown;
  a.unknownLanes = b.unknownLanes;
  a.reason = b.reason;
  b.uniform = uniform;
  b.scalar = scalar;
  b.filled = filled;
  b.vector = vector;
  b.unknown = unknown;
  b.unknownLanes = unknownLanes;
  b.reason = reason;
}

/** Makes `target` equal to `source` in all lanes. */
export function copyValue(target: LaneValue, source: LaneValue): void {
  if (source.uniform) {
    setUniform(target, source.scalar);
  } else {
    overwrite(target).set(source.vector);
  }
  if (source.unknown === MIXED) markLanes(target, source.reason).set(source.unknownLanes);
  target.unknown = source.unknown;
  target.reason = source.reason;
}

/** Assigns `source` to `target` in the lanes of the mask between lo and hi only. */
export function assignLanes(target: LaneValue, source: LaneValue, mask: Uint8Array, lo: number, hi: number): void {
  const bothKnown = source.unknown === KNOWN && target.unknown === KNOWN;
  if (bothKnown && source.uniform && target.uniform && source.scalar === target.scalar) return;
  if (source.unknown !== UNKNOWN) {
    const to = changeSome(target);
    if (source.uniform) {
      const scalar = source.scalar;
      for (let lane = lo; lane < hi; lane++) if (mask[lane] !== 0) to[lane] = scalar;
    } else {
      const from = source.vector;
      for (let lane = lo; lane < hi; lane++) if (mask[lane] !== 0) to[lane] = from[lane];
    }
  }
  if (bothKnown) return;
  const reason = source.unknown === KNOWN ? target.reason : source.reason;
  const marks = markLanes(target, reason);
  if (source.unknown !== KNOWN) target.reason = reason;
  for (let lane = lo; lane < hi; lane++) {
    if (mask[lane] !== 0) marks[lane] = source.unknown === MIXED ? source.unknownLanes[lane] : source.unknown;
  }
  if (marks.indexOf(1) < 0) target.unknown = KNOWN;
}
