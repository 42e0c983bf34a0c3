/**
 * Bit-fields. Evidence (nvcc 13.0, PTX of 60 kernels over 13 records; H200: plasma_and_lattice.cu:49):
 *
 * - one that is read in memory is taken from the whole of its type (`unsigned a : 4`: four bytes), or from the bytes it has to
 *   itself where these are a number; a store reads the whole, changes it and writes it back;
 * - in a record that is copied they are bytes: of a copy in a variable of which only `a` is used one byte is read, of `b : 12` behind
 *   it two; a packed record's too. Therefore each of a variable in registers has one of its own, which holds no more than its bits.
 */
import { bytesOf, type Register, type ScalarType } from '../program/program';
import type { Context } from './context';
import { convertRegister } from './conversions';
import { joined, loadBytes, loadPieces, placeBehind, promisedBytes, storeBytes, storePieces } from './loads-and-stores';
import { type Bits, type Field, isSigned } from './types';
import type { MemoryPlace, Storage, Value } from './values';

/** The value of a bit-field of which `type` is the unit. */
export function loadBits(ctx: Context, place: MemoryPlace, bits: Bits, type: ScalarType): Register {
  const alone = numberOf(bits, type);
  if (!isBytes(ctx, place) && alone !== undefined) {
    const number = loadBytes(ctx, placeBehind({ ...place, bits: undefined }, bits.first / 8), alone);
    return convertRegister(ctx, number, alone, type);
  }
  if (!isBytes(ctx, place)) return extracted(ctx, loadBytes(ctx, place, type), type, bits);
  const from = Math.floor(bits.first / 8);
  const count = Math.ceil((bits.first + bits.width) / 8) - from;
  const unit = joined(ctx, loadPieces(ctx, placeBehind(place, from), 'u8', count), 'u8', type);
  return extracted(ctx, unit, type, { ...bits, first: bits.first - 8 * from });
}

/** Writes a bit-field of which `type` is the unit. */
export function storeBits(ctx: Context, place: MemoryPlace, bits: Bits, type: ScalarType, value: Register): void {
  const alone = numberOf(bits, type);
  if (alone !== undefined && !isBytes(ctx, place)) {
    const number = convertRegister(ctx, value, type, alone);
    storeBytes(ctx, placeBehind({ ...place, bits: undefined }, bits.first / 8), alone, number);
    return;
  }
  const b = ctx.builder;
  const word: ScalarType = bytesOf[type] === 8 ? 'u64' : 'u32';
  const before = b.convert(type, word, loadBytes(ctx, place, type));
  // of a unit of 64 bits the numbers are not exact
  const mask = (2 ** bits.width - 1) * 2 ** bits.first;
  const others = 2 ** (8 * bytesOf[type]) - 1 - mask;
  const shifted = b.binary('shl', word, b.convert(type, word, value), b.constant('u32', bits.first));
  const changed = b.binary('and', word, shifted, b.constant(word, mask));
  const kept = b.binary('and', word, before, b.constant(word, others));
  storeBytes(ctx, place, type, b.convert(word, type, b.binary('or', word, kept, changed)));
}

/** Writes neighbouring bit-fields of a record that is copied, byte by byte. */
export function storeBitRun(
  ctx: Context,
  placeOf: (field: Field) => MemoryPlace,
  parts: readonly { readonly field: Field; readonly value: Value }[],
): void {
  const bytes = new Map<number, Register>();
  const at = (field: Field) => field.offset * 8 + (field.bits?.first ?? 0);
  for (const { field, value } of parts) {
    const width = field.bits?.width ?? 0;
    for (let byte = Math.floor(at(field) / 8); byte * 8 < at(field) + width; byte++) {
      const part = byteOf(ctx, value, width, byte * 8 - at(field));
      const before = bytes.get(byte);
      bytes.set(byte, before === undefined ? part : ctx.builder.binary('or', 'u32', before, part));
    }
  }
  const [{ field }] = parts;
  for (const [byte, value] of bytes) {
    const place = placeBehind({ ...placeOf(field), bits: undefined }, byte - field.offset);
    storePieces(ctx, place, 'u8', [ctx.builder.convert('u32', 'u8', value)]);
  }
}

/** What a value of `width` bits has in the byte that begins at its bit `from`, which may be in front of it; other bits are 0. */
function byteOf(ctx: Context, value: Value, width: number, from: number): Register {
  const b = ctx.builder;
  if (value.kind !== 'scalar') return b.unknown('u32', 'bit-field that could not be followed');
  const type = b.typeOf(value.register);
  const word: ScalarType = bytesOf[type] === 8 ? 'u64' : 'u32';
  const whole = b.convert(type, word, value.register);
  const low = from > 0 ? b.binary('shr', word, whole, b.constant('u32', from)) : whole;
  const used = Math.min(8, width - Math.max(0, from));
  const masked = b.binary('and', 'u32', b.convert(word, 'u32', low), b.constant('u32', 2 ** used - 1));
  const up = from < 0 ? b.binary('shl', 'u32', masked, b.constant('u32', -from)) : masked;
  return b.binary('and', 'u32', up, b.constant('u32', 255));
}

const isBytes = (ctx: Context, { copied, aligned }: MemoryPlace): boolean =>
  !ctx.unit.isHost && (copied !== undefined || (aligned !== undefined && promisedBytes(aligned) === 1));

/** The number that has the bytes of a bit-field to itself. */
function numberOf({ first, width }: Bits, type: ScalarType): ScalarType | undefined {
  if (first % width !== 0 || width > bytesOf[type] * 8) return undefined;
  const signed = { 8: 'i8', 16: 'i16', 32: 'i32' } as const;
  const plain = { 8: 'u8', 16: 'u16', 32: 'u32' } as const;
  if (width !== 8 && width !== 16 && width !== 32) return undefined;
  return isSigned(type) ? signed[width] : plain[width];
}

/** What a bit-field in a register holds of a value that is assigned to it. */
export function fitted(ctx: Context, { bits, register }: Storage & { kind: 'scalar' }, value: Register): Register {
  const type = ctx.builder.typeOf(register);
  if (bits === undefined || type === 'pred' || bits.width >= bytesOf[type] * 8) return value;
  return extracted(ctx, value, type, { first: 0, width: bits.width });
}

/** An integer without sign in which some bits are those of `value`. */
export function inserted(ctx: Context, unit: Register, value: Register, { first, width }: Bits): Register {
  const b = ctx.builder;
  const type = b.typeOf(unit);
  const total = bytesOf[type] * 8;
  const moved = (fn: 'shl' | 'shr', register: Register, by: number) =>
    by === 0 ? register : b.binary(fn, type, register, b.constant('u32', by));
  // shifts instead of masks: of 64 bits the numbers are not exact
  const change = b.binary('xor', type, moved('shr', unit, first), value);
  const placed = moved('shr', moved('shl', change, total - width), total - width - first);
  return b.binary('xor', type, unit, placed);
}

/** Some bits of an integer as a number of its type. */
export function extracted(ctx: Context, unit: Register, type: ScalarType, bits: Bits): Register {
  const b = ctx.builder;
  const total = bytesOf[type] * 8;
  const left = b.binary('shl', type, unit, b.constant('u32', total - bits.first - bits.width));
  return b.binary('shr', type, left, b.constant('u32', total - bits.width));
}
