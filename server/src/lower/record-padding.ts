/** Copies of records from memory to memory that have padding: the accesses of what record-copies.ts says. */
import { bytesOf, type Register, type ScalarType } from '../program/program';
import type { Context } from './context';
import { alone, emitLoad, emitStore, placeBehind } from './loads-and-stores';
import { writeRegister } from './places';
import { copyOf, type Piece, type RecordCopy, tailsOf } from './record-copies';
import { recordOf } from './records';
import type { RecordInfo } from './types';
import type { MemoryPlace, Storage, Value } from './values';

/** Copies a record whose padding is copied with it, whatever its members are; false where it is none, or the value is not in memory. */
export function copyPadded(ctx: Context, to: MemoryPlace, record: RecordInfo, value: Value): boolean {
  const from = inMemory(ctx, record, value);
  const copy = from && copyOf(record);
  if (!copy) return false;
  const bytes = copy.loads.flatMap((piece) => {
    const type = unitOf(copy, piece);
    const dst = Array.from({ length: piece.bytes / bytesOf[type] }, () => ctx.builder.register(type, 'temporary'));
    emitLoad(ctx, part(from, record, piece), type, dst);
    return dst;
  });
  let next = 0;
  for (const piece of copy.stores) {
    const type = unitOf(copy, piece);
    const count = piece.bytes / bytesOf[type];
    emitStore(ctx, part(to, record, piece), type, bytes.slice(next, next + count));
    next += count;
  }
  return true;
}

/** Elements of what is read and written: of the same size on both sides. */
function unitOf({ loads, stores }: RecordCopy, { offset }: Piece): ScalarType {
  const word = offset - (offset % 4);
  const inWord = [...loads, ...stores].filter((piece) => piece.offset >= word && piece.offset < word + 4);
  const least = Math.min(4, ...inWord.map(({ bytes }) => bytes));
  return least === 1 ? 'u8' : least === 2 ? 'u16' : 'u32';
}

/** Reads what lies behind the members of a record that is read as a whole. */
export function loadPadding(ctx: Context, place: MemoryPlace, record: RecordInfo): readonly Register[] | undefined {
  const tails = tailsOf(record);
  if (tails.length === 0 || place.copied || !isOfDevice(ctx, place)) return undefined;
  return tails.map((piece) => {
    const dst = ctx.builder.register(typeOf(piece), 'temporary');
    const at = behind(place, record, piece);
    // the half of a word whose first half is a member
    emitLoad(ctx, piece.bytes === 2 ? alone(at) : at, typeOf(piece), [dst]);
    return dst;
  });
}

/** Writes it, where the value of the record has it. */
export function storePadding(
  ctx: Context,
  place: MemoryPlace,
  record: RecordInfo,
  padding: readonly Register[] | undefined,
): void {
  if (!padding || place.copied || !isOfDevice(ctx, place)) return;
  tailsOf(record).forEach((piece, k) => {
    emitStore(ctx, behind(place, record, piece), typeOf(piece), [padding[k]]);
  });
}

/** A variable that holds a record keeps it. */
export function keepPadding(ctx: Context, storage: Storage, padding: readonly Register[]): void {
  let kept = ctx.padding.get(storage);
  if (!kept) {
    kept = padding.map((register) => ctx.builder.register(ctx.builder.typeOf(register), 'variable'));
    ctx.padding.set(storage, kept);
  }
  for (const [k, variable] of kept.entries()) writeRegister(ctx, variable, padding[k]);
}

const typeOf = ({ bytes }: Piece): ScalarType => (bytes === 4 ? 'u32' : bytes === 2 ? 'u16' : 'u8');

const behind = (place: MemoryPlace, record: RecordInfo, { offset }: Piece): MemoryPlace =>
  placeBehind(
    {
      ...place,
      copied: { record, offset: 0 },
      aligned: place.aligned ?? { modulus: record.alignment, remainder: 0 },
    },
    offset,
  );

/** Whether assigning a value to a place copies padding, too, for which it has to stay a place. */
export function isPaddedCopy(ctx: Context, to: Value, value: Value): boolean {
  const record = recordOf(to.type);
  if (!record || to.kind !== 'place' || to.place.kind !== 'memory' || !inMemory(ctx, record, value)) return false;
  return copyOf(record) !== undefined;
}

/** Where a value of the record's type is in memory; constants are no loads of the machine. */
function inMemory(ctx: Context, record: RecordInfo, value: Value): MemoryPlace | undefined {
  if (value.kind !== 'place' || value.place.kind !== 'memory' || !isOfDevice(ctx, value.place)) return undefined;
  return recordOf(value.type) === record ? value.place : undefined;
}

function isOfDevice(ctx: Context, { object, isVolatile }: MemoryPlace): boolean {
  if (ctx.unit.isHost || isVolatile) return false;
  return object === undefined || ctx.builder.objects[object].space !== 'constant';
}

/** A piece of a record that is copied; smaller ones are not joined again. */
function part(whole: MemoryPlace, record: RecordInfo, { offset, bytes }: Piece): MemoryPlace {
  const aligned = whole.aligned ?? { modulus: record.alignment, remainder: 0 };
  const place = placeBehind({ ...whole, copied: undefined, aligned }, offset);
  return bytes < Math.min(16, record.alignment) ? alone(place) : place;
}
