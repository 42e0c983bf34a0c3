import type { ScalarType } from '../program/program';
import type { LaneMemory } from './lane-memory';

export type Lanes32 = Int32Array;
export type Lanes64 = Float64Array;

/** How much of a value is unknown. */
export const KNOWN = 0;
export const UNKNOWN = 1;
/** Unknown in the lanes that `unknownLanes` marks. */
export const MIXED = 2;

/** The shape of a block: lane = x + width (y + height z). */
export interface Geometry {
  /** Lanes of all warps, those beyond the block's threads included. */
  readonly lanes: number;
  readonly width: number;
  readonly height: number;
  readonly depth: number;
  /** Every warp covers the same x, y and z relative to its first lane. */
  readonly warpsAlike: boolean;
  /** Where vectors are to lie, for as long as there is room. */
  readonly memory?: LaneMemory;
}

export function geometryOf(block: readonly [number, number, number], warp: number, memory?: LaneMemory): Geometry {
  const [width, height, depth] = block;
  const plane = width * height;
  const warpsAlike =
    width % warp === 0 || (warp % width === 0 && plane % warp === 0) || (warp % width === 0 && warp % plane === 0);
  return { lanes: Math.ceil((plane * depth) / warp) * warp, width, height, depth, warpsAlike, memory };
}

/**
 * The value of a register in all lanes of a block, in the shortest form it has: one scalar while all lanes agree; linear,
 * scalar + kx x + ky y + kz z, for most of address arithmetic; else a vector. Integers up to 32 bits and predicates are
 * held as 32-bit integers (u32 as its bits), everything else as doubles. Linear forms of 32-bit integers are taken
 * modulo 2^32. 64-bit integers are held in their signed reading, so both ends of the u64 range are exact: -1 stands for
 * 2^64 - 1.
 */
export class LaneValue<V extends Lanes32 | Lanes64 = Lanes32 | Lanes64> {
  uniform = true;
  linear = false;
  scalar = 0;
  kx = 0;
  ky = 0;
  kz = 0;
  /** The vector holds the value of every lane. */
  filled = false;
  vector: V;
  /** Where the vector lies in the lanes' memory; 0: somewhere else. */
  at = 0;
  unknown = UNKNOWN;
  unknownLanes: Uint8Array = noLanes;
  /** Snapshots hold the vector as well, or the marks: they are exchanged for others before they are written. */
  isVectorShared = false;
  areMarksShared = false;
  /** Why it is unknown: index into the reasons of the execution. */
  reason = 0;

  constructor(
    readonly wide: boolean,
    readonly geometry: Geometry,
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
export function newValue(type: ScalarType, geometry: Geometry): LaneValue {
  return new LaneValue(isWide(type), geometry);
}

/** The value in every lane, for reading. */
export function vectorOf<V extends Lanes32 | Lanes64>(value: LaneValue<V>): V {
  if (!value.filled) {
    if (value.vector.length === 0 || value.isVectorShared) allocate(value);
    if (value.uniform) fillUniform(value);
    else fillLinear(value);
    value.filled = true;
  }
  return value.vector;
}

function fillUniform(value: LaneValue): void {
  const code = value.at === 0 ? undefined : value.geometry.memory?.code;
  if (!code) value.vector.fill(value.scalar);
  else if (value.wide) code.fill64(value.at, value.geometry.lanes, value.scalar);
  else code.fill32(value.at, value.geometry.lanes, value.scalar);
}

/** Lanes that the code for rows does at a time, and those of a row for which a call is worth it. */
const AT_ONCE = 4;
const LONG = 16;

function fillLinear(value: LaneValue): void {
  const { vector, kx, ky, kz } = value;
  const { width, height, depth, memory } = value.geometry;
  if (memory && value.at !== 0 && width >= LONG && width % AT_ONCE === 0) {
    const fill = value.wide ? memory.code.row64 : memory.code.row32;
    let at = value.at;
    for (let z = 0; z < depth; z++) {
      for (let y = 0; y < height; y++, at += width * (value.wide ? 8 : 4))
        fill(at, width, value.scalar + ky * y + kz * z, kx);
    }
    return;
  }
  let lane = 0;
  for (let z = 0; z < depth; z++) {
    for (let y = 0; y < height; y++) {
      let at = value.scalar + ky * y + kz * z;
      for (let x = 0; x < width; x++, at += kx) vector[lane++] = at;
    }
  }
}

/** The vector to be written in all lanes that matter; the value becomes a known vector. */
export function overwrite<V extends Lanes32 | Lanes64>(value: LaneValue<V>): V {
  if (value.vector.length === 0 || value.isVectorShared) allocate(value);
  value.uniform = false;
  value.linear = false;
  value.filled = true;
  value.unknown = KNOWN;
  return value.vector;
}

/** The vector to be changed in some lanes, the others keep what they have. */
export function changeSome<V extends Lanes32 | Lanes64>(value: LaneValue<V>): V {
  vectorOf(value);
  value.uniform = false;
  value.linear = false;
  if (value.isVectorShared) {
    value.vector = value.vector.slice() as V;
    value.at = 0;
    value.isVectorShared = false;
  }
  return value.vector;
}

function allocate(value: LaneValue): void {
  const { lanes, memory } = value.geometry;
  // what is shared for a while would use up the memory
  value.at = memory && value.vector.length === 0 ? memory.take(lanes * (value.wide ? 8 : 4)) : 0;
  if (memory && value.at !== 0)
    value.vector = value.wide
      ? new Float64Array(memory.buffer, value.at, lanes)
      : new Int32Array(memory.buffer, value.at, lanes);
  else value.vector = value.wide ? new Float64Array(lanes) : new Int32Array(lanes);
  value.isVectorShared = false;
}

export function setUniform(value: LaneValue, scalar: number): void {
  if (!value.uniform || value.scalar !== scalar) value.filled = false;
  value.uniform = true;
  value.linear = false;
  // a vector in between leaves the slopes as they were
  value.kx = 0;
  value.ky = 0;
  value.kz = 0;
  value.scalar = scalar;
  value.unknown = KNOWN;
}

/** scalar + kx x + ky y + kz z; uniform where no lane differs. */
export function setLinear(value: LaneValue, scalar: number, kx: number, ky: number, kz: number): void {
  const { width, height, depth } = value.geometry;
  const [x, y, z] = [width > 1 ? kx : 0, height > 1 ? ky : 0, depth > 1 ? kz : 0];
  if (x === 0 && y === 0 && z === 0) {
    setUniform(value, scalar);
    return;
  }
  value.uniform = false;
  value.linear = true;
  value.filled = false;
  value.scalar = scalar;
  value.kx = x;
  value.ky = y;
  value.kz = z;
  value.unknown = KNOWN;
}

export function setUnknown(value: LaneValue, reason: number): void {
  value.unknown = UNKNOWN;
  value.reason = reason;
}

/** Lanes marked unknown, one byte each, ready to be changed; the value becomes mixed. */
export function markLanes(value: LaneValue, reason: number): Uint8Array {
  if (value.unknownLanes.length === 0) value.unknownLanes = new Uint8Array(value.geometry.lanes);
  else if (value.areMarksShared) {
    value.unknownLanes = value.unknown === MIXED ? value.unknownLanes.slice() : new Uint8Array(value.geometry.lanes);
    value.areMarksShared = false;
  }
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
  return value.uniform ? value.scalar : vectorOf(value)[lane];
}

/** Exchanges contents: the cheap way to assign a freshly computed vector. */
export function swapValues(a: LaneValue, b: LaneValue): void {
  const { uniform, linear, scalar, kx, ky, kz, filled, vector, unknown, unknownLanes, reason } = a;
  const { isVectorShared, areMarksShared, at } = a;
  a.uniform = b.uniform;
  a.linear = b.linear;
  a.scalar = b.scalar;
  a.kx = b.kx;
  a.ky = b.ky;
  a.kz = b.kz;
  a.filled = b.filled;
  a.vector = b.vector;
  a.at = b.at;
  a.unknown = b.unknown;
  a.unknownLanes = b.unknownLanes;
  a.reason = b.reason;
  a.isVectorShared = b.isVectorShared;
  a.areMarksShared = b.areMarksShared;
  b.uniform = uniform;
  b.linear = linear;
  b.scalar = scalar;
  b.kx = kx;
  b.ky = ky;
  b.kz = kz;
  b.filled = filled;
  b.vector = vector;
  b.at = at;
  b.unknown = unknown;
  b.unknownLanes = unknownLanes;
  b.reason = reason;
  b.isVectorShared = isVectorShared;
  b.areMarksShared = areMarksShared;
}

/** Whether both have the same form and so the same values, whatever is unknown of them. */
export function areAlike(a: LaneValue, b: LaneValue): boolean {
  if (a.scalar !== b.scalar) return false;
  if (a.uniform && b.uniform) return true;
  return a.linear && b.linear && a.kx === b.kx && a.ky === b.ky && a.kz === b.kz;
}

/** Gives `target` the values of `source`, all known. */
export function copyLanes(target: LaneValue, source: LaneValue): void {
  if (source.uniform) setUniform(target, source.scalar);
  else if (source.linear) setLinear(target, source.scalar, source.kx, source.ky, source.kz);
  else overwrite(target).set(source.vector);
}

/** Where a lane lies in the lanes' memory, of a vector that lies there. */
export function placeOf(value: LaneValue, lane: number): number {
  return value.at + (value.wide ? 8 : 4) * lane;
}

/** Makes `target` equal to `source` in all lanes. */
export function copyValue(target: LaneValue, source: LaneValue): void {
  copyLanes(target, source);
  if (source.unknown === MIXED) markLanes(target, source.reason).set(source.unknownLanes);
  target.unknown = source.unknown;
  target.reason = source.reason;
}

/** What a value holds now, for reading; nothing is copied until the value changes. */
export function snapshotOf(value: LaneValue): LaneValue {
  const taken = new LaneValue(value.wide, value.geometry);
  shareValue(taken, value);
  return taken;
}

/** Makes `target` equal to `source` in all lanes; they hold the same vector and marks until one of them changes. */
export function shareValue(target: LaneValue, source: LaneValue): void {
  if (source.uniform) setUniform(target, source.scalar);
  else if (source.linear) setLinear(target, source.scalar, source.kx, source.ky, source.kz);
  else {
    target.uniform = false;
    target.linear = false;
    target.filled = true;
    target.vector = source.vector;
    target.at = source.at;
    target.isVectorShared = true;
    source.isVectorShared = true;
  }
  target.unknown = source.unknown;
  target.reason = source.reason;
  if (source.unknown === MIXED) {
    target.unknownLanes = source.unknownLanes;
    target.areMarksShared = true;
    source.areMarksShared = true;
  }
}

/** Whether nothing was written to a value since its snapshot was taken, as far as that costs nothing to tell. */
export function isAsTaken(value: LaneValue, snapshot: LaneValue): boolean {
  if (value.unknown !== snapshot.unknown || value.reason !== snapshot.reason) return false;
  if (value.unknown === UNKNOWN) return true;
  if (value.unknown === MIXED && value.unknownLanes !== snapshot.unknownLanes) return false;
  const isVector = !(value.uniform || value.linear || snapshot.uniform || snapshot.linear);
  return isVector ? value.vector === snapshot.vector : areAlike(value, snapshot);
}

/**
 * Assigns `source` to `target` in the lanes of the mask between lo and hi only.
 * @param maskAt where the mask lies in the lanes' memory; 0: somewhere else
 */
export function assignLanes(
  target: LaneValue,
  source: LaneValue,
  mask: Uint8Array,
  lo: number,
  hi: number,
  maskAt = 0,
): void {
  const bothKnown = source.unknown === KNOWN && target.unknown === KNOWN;
  if (bothKnown && areAlike(source, target)) return;
  if (source.unknown !== UNKNOWN) {
    const to = changeSome(target);
    const code = maskAt === 0 || target.at === 0 ? undefined : target.geometry.memory?.code;
    if (code && source.uniform) {
      const assign = target.wide ? code.assignSame64 : code.assignSame32;
      assign(placeOf(target, lo), maskAt + lo, hi - lo, source.scalar);
    } else if (code && vectorOf(source).length > 0 && source.at !== 0) {
      const assign = target.wide ? code.assign64 : code.assign32;
      assign(placeOf(target, lo), maskAt + lo, placeOf(source, lo), hi - lo);
    } else if (source.uniform) {
      const scalar = source.scalar;
      for (let lane = lo; lane < hi; lane++) if (mask[lane] !== 0) to[lane] = scalar;
    } else {
      const from = vectorOf(source);
      for (let lane = lo; lane < hi; lane++) if (mask[lane] !== 0) to[lane] = from[lane];
    }
  }
  if (bothKnown) return;
  const reason = source.unknown === KNOWN ? target.reason : source.reason;
  const marks = markLanes(target, reason);
  if (source.unknown !== KNOWN) target.reason = reason;
  if (source.unknown === MIXED) {
    const from = source.unknownLanes;
    for (let lane = lo; lane < hi; lane++) if (mask[lane] !== 0) marks[lane] = from[lane];
  } else {
    const mark = source.unknown;
    for (let lane = lo; lane < hi; lane++) if (mask[lane] !== 0) marks[lane] = mark;
  }
  if (marks.indexOf(1) < 0) target.unknown = KNOWN;
}
