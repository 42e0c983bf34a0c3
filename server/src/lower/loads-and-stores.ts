/**
 * Machine accesses to memory for scalars and vectors of a place.
 *
 * Members that a packed record aligns less than their type does are read and written in pieces of what is promised: of `#pragma pack(push, 1)` byte by byte,
 * of `pack(2)` two bytes at once. The record around them decides for records inside, and `aligned(4)` of the whole says nothing
 * of a member at its fifth byte; a pointer to the member promises its own type again. What is not needed of a record that
 * was copied into a variable is not read. Evidence (nvcc 13.0, sm_90, machine code of 46 kernels over 19 records packed by attribute, by
 * pragma or in one member; H200: star_query_engine.cu:96).
 */
import { type Alignment, bytesOf, type Register, type ScalarType } from '../program/program';
import { accessSite } from './access-sites';
import type { Context } from './context';
import { addressOf } from './places';
import { isFullPiece } from './record-copies';
import { letterAt } from './strings';
import type { MemoryPlace } from './values';

const unsigned: Readonly<Record<number, ScalarType>> = { 1: 'u8', 2: 'u16', 4: 'u32', 8: 'u64' };

/** Register and constant part of an address; in the program of the host sums may wrap, and nothing is merged. */
const splitPlace = (ctx: Context, place: MemoryPlace): { register: Register; offset: number } =>
  ctx.unit.isHost ? { register: place.address, offset: place.offset } : ctx.builder.splitAddress(addressOf(ctx, place));

/** One load of one or more elements. */
export function emitLoad(ctx: Context, place: MemoryPlace, type: ScalarType, dst: readonly Register[]): void {
  const { register, offset } = splitPlace(ctx, place);
  const access = accessSite(ctx, place, 'load', register);
  const isReinterpreted = isReinterpretedCopy(ctx, place, type);
  const isHanded = (place.offset === 0 || isReinterpreted) && ctx.builder.isHanded(place.address);
  const aligned = alignmentOf(place);
  ctx.builder.emit({
    op: 'load',
    type,
    dst,
    address: register,
    offset,
    access,
    aligned,
    isHanded,
    ...(isReinterpreted && { isReinterpreted }),
  });
}

/** Part of a record of words that is copied from or to where it was another type that the address was computed with (of halves: 13 of 14 kernels are otherwise). */
const isReinterpretedCopy = (ctx: Context, { copied, address }: MemoryPlace, type: ScalarType): boolean =>
  copied !== undefined && bytesOf[type] >= 4 && ctx.builder.reinterpreted.has(address);

function alignmentOf({ aligned, copied }: MemoryPlace): Alignment | undefined {
  if (!aligned || !copied || isFullPiece(copied.record, copied.offset, aligned.modulus)) return aligned;
  return { ...aligned, isApart: true };
}

/** One store of one or more elements. */
export function emitStore(
  ctx: Context,
  place: MemoryPlace,
  type: ScalarType,
  values: readonly Register[],
  isCopy?: boolean,
): void {
  const { register, offset } = splitPlace(ctx, place);
  const access = accessSite(ctx, place, 'store', register);
  const isReinterpreted = isReinterpretedCopy(ctx, place, type);
  const callsThrough = place.offset === 0 || isReinterpreted ? ctx.builder.callsThrough(place.address) : 0;
  const { aligned } = place;
  ctx.builder.emit({
    op: 'store',
    type,
    values,
    address: register,
    offset,
    access,
    aligned,
    isCopy,
    callsThrough,
    ...(isReinterpreted && { isReinterpreted }),
    ...(place.offset === 0 && ctx.builder.isGiven(place.address) && { isAtGivenPlace: true }),
  });
}

/** The largest power of two that a promise says an address can be divided by. */
export function promisedBytes({ modulus, remainder }: Alignment): number {
  const at = remainder % modulus;
  return at === 0 ? modulus : at & -at;
}

/** A scalar at a place, in as many loads as its alignment makes necessary. */
export function loadBytes(ctx: Context, place: MemoryPlace, type: ScalarType): Register {
  const piece = pieceOf(ctx, place, type);
  if (piece !== undefined)
    return joined(ctx, loadPieces(ctx, alone(place), piece, bytesOf[type] / bytesOf[piece]), piece, type);
  const letter = knownLetter(ctx, place, type);
  if (letter !== undefined) return letter;
  const dst = ctx.builder.register(type, 'temporary');
  emitLoad(ctx, place, type, [dst]);
  return dst;
}

function knownLetter(ctx: Context, place: MemoryPlace, type: ScalarType): Register | undefined {
  if (ctx.unit.isHost) return undefined;
  const { register, offset } = ctx.builder.splitAddress(addressOf(ctx, place));
  const letter = letterAt(ctx, register, offset, type);
  return letter === undefined ? undefined : ctx.builder.constant(type, letter);
}

/** Writes a scalar to a place, in as many stores as its alignment makes necessary. */
export function storeBytes(ctx: Context, place: MemoryPlace, type: ScalarType, value: Register): void {
  const piece = pieceOf(ctx, place, type);
  if (piece === undefined) emitStore(ctx, place, type, [value]);
  else storePieces(ctx, alone(place), piece, splitUp(ctx, value, type, piece));
}

/** A place whose accesses are merged with nothing. */
export const alone = (place: MemoryPlace): MemoryPlace => ({
  ...place,
  aligned: { modulus: 1, remainder: 0, ...place.aligned, isAlone: true },
});

/** The unsigned type of the pieces in which a scalar at a place is read; undefined where it is read at once. */
function pieceOf(ctx: Context, { aligned }: MemoryPlace, type: ScalarType): ScalarType | undefined {
  if (!aligned || ctx.unit.isHost) return undefined;
  const bytes = promisedBytes(aligned);
  return bytes < bytesOf[type] ? unsigned[bytes] : undefined;
}

/** Neighbouring elements from a place on, one load each. */
export function loadPieces(ctx: Context, place: MemoryPlace, type: ScalarType, count: number): Register[] {
  return Array.from({ length: count }, (_, k) => {
    const dst = ctx.builder.register(type, 'temporary');
    emitLoad(ctx, placeBehind(place, k * bytesOf[type]), type, [dst]);
    return dst;
  });
}

/** Neighbouring elements from a place on, one store each. */
export function storePieces(ctx: Context, place: MemoryPlace, type: ScalarType, values: readonly Register[]): void {
  values.forEach((value, k) => {
    emitStore(ctx, placeBehind(place, k * bytesOf[type]), type, [value]);
  });
}

/** The place some bytes further on. */
export function placeBehind(place: MemoryPlace, bytes: number): MemoryPlace {
  const { aligned, offset, copied } = place;
  return {
    ...place,
    offset: offset + bytes,
    aligned: aligned && { ...aligned, remainder: (aligned.remainder + bytes) % aligned.modulus },
    copied: copied && { ...copied, offset: copied.offset + bytes },
  };
}

/** The scalar whose lowest pieces these are, the lowest first; what is above them is 0. */
export function joined(ctx: Context, pieces: readonly Register[], piece: ScalarType, type: ScalarType): Register {
  const b = ctx.builder;
  const word: ScalarType = bytesOf[type] === 8 ? 'u64' : 'u32';
  const whole = pieces
    .map((register, k) =>
      b.binary('shl', word, b.convert(piece, word, register), b.constant('u32', 8 * bytesOf[piece] * k)),
    )
    .reduce((sum, part) => b.binary('or', word, sum, part));
  const bits = unsigned[bytesOf[type]];
  return asType(ctx, b.convert(word, bits, whole), bits, type);
}

/** The pieces of a scalar, the lowest first. */
function splitUp(ctx: Context, value: Register, type: ScalarType, piece: ScalarType): Register[] {
  const b = ctx.builder;
  const word: ScalarType = bytesOf[type] === 8 ? 'u64' : 'u32';
  const bits = unsigned[bytesOf[type]];
  const whole = b.convert(bits, word, asType(ctx, value, type, bits));
  return Array.from({ length: bytesOf[type] / bytesOf[piece] }, (_, k) =>
    b.convert(word, piece, b.binary('shr', word, whole, b.constant('u32', 8 * bytesOf[piece] * k))),
  );
}

/** The same bits. */
function asType(ctx: Context, value: Register, from: ScalarType, to: ScalarType): Register {
  return from === to ? value : ctx.builder.unary('bitcast', to, value, from);
}
