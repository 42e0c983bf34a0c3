/**
 * How a record is copied from memory to memory (`s[t] = in[i]`) as far as it has padding; all others are copied member by member. Evidence (nvcc 13.0, sm_90,
 * PTX of 560 kernels over 120 records: assigned, through a variable, changed on the way, used in part; machine code of 72 of them):
 *
 * - padding is copied, too: in pieces of the record's alignment, 16 bytes at the most. `int; char` is two times four bytes, `double; int` two times eight,
 *   `__align__(16) struct { float a, b, c; }` once sixteen;
 * - a word that begins with a two-byte member and ends with padding behind the last is read by halves and written at once (`int; short`: 4, 2 and 2, stores of 4 and 4;
 *   `double; short`: 8, 2, 2 and 4, stores of 8, 4 and 4), where nothing is padded between members and the alignment is that of the members;
 * - not of records with a constructor, an initialiser of a member or a base, whose padding may hold another member;
 * - behind an array or a record that is larger than the alignment of the next member the gap is left out: `short[3]; float` is 4, 2 and 4;
 * - made of members (`R r; r.a = …; out[i] = r`), or of a record in a variable used in part, padding is neither read nor written;
 * - through a variable, changed on the way or not, padding behind the last member goes with the record, in pieces like this member.
 */
import type { RecordDeclaration } from '../parse/ast';
import { copiesItself } from './own-copies';
import { alignOf, type Field, type RecordInfo, sizeOf, type Type } from './types';

/** Bytes of one machine access. */
export interface Piece {
  readonly offset: number;
  readonly bytes: number;
}

export interface RecordCopy {
  readonly loads: readonly Piece[];
  readonly stores: readonly Piece[];
}

const WIDEST = 16;
const WORD = 4;

const copies = new WeakMap<RecordInfo, { readonly copy: RecordCopy | undefined }>();

/** How a record that has padding is copied as a whole; undefined where its members are copied one by one. */
export function copyOf(record: RecordInfo): RecordCopy | undefined {
  let known = copies.get(record);
  if (!known) copies.set(record, (known = { copy: computeCopy(record) }));
  return known.copy;
}

function computeCopy(record: RecordInfo): RecordCopy | undefined {
  if (record.isUnion || record.isVector || record.fields.length === 0 || !isPlain(record)) return undefined;
  if (coverage(record).every((byte) => byte !== 0) && !isPacked(record) && !isUneven(record)) return undefined;
  const bytes = Math.min(WIDEST, record.alignment);
  const whole = Array.from({ length: record.bytes / bytes }, (_, k): Piece => ({ offset: k * bytes, bytes }));
  if (hasGap(record) || record.alignment > ownAlignment(record) || isPacked(record))
    return { loads: whole, stores: whole };
  if (hasLeftOutGap(record)) return undefined;
  const halves = new Set(halvedWords(record));
  const words = ({ offset }: Piece) =>
    Array.from({ length: bytes / WORD }, (_, k): Piece => ({ offset: offset + k * WORD, bytes: WORD }));
  const isHalved = (piece: Piece) => bytes >= WORD && words(piece).some((word) => halves.has(word.offset));
  return {
    loads: whole.flatMap((piece) =>
      isHalved(piece)
        ? words(piece).flatMap(({ offset }) =>
            halves.has(offset)
              ? [
                  { offset, bytes: 2 },
                  { offset: offset + 2, bytes: 2 },
                ]
              : [{ offset, bytes: WORD }],
          )
        : [piece],
    ),
    stores: whole.flatMap((piece) => (isHalved(piece) ? words(piece) : [piece])),
  };
}

/** Aligned beyond its members, which are not of one size: equal ones are put together to the same pieces where they are copied one by one. */
const isUneven = (record: RecordInfo): boolean =>
  record.alignment > ownAlignment(record) &&
  record.fields.every(({ type }) => copiesBytes(type)) &&
  (ownAlignment(record) < WORD || record.fields.some(({ type }) => ownAlignmentOf(type) !== ownAlignment(record)));

/** No class inside says how it is copied: those are copied by themselves. */
function copiesBytes(type: Type): boolean {
  if (type.kind === 'array') return copiesBytes(type.of);
  return type.kind !== 'record' || (!copiesItself(type.record) && type.record.fields.every((f) => copiesBytes(f.type)));
}

const isPacked = ({ fields }: RecordInfo): boolean =>
  fields.some(({ type, offset, bits }) => !bits && offset % alignOf(type) !== 0);

const tails = new WeakMap<RecordInfo, readonly Piece[]>();

/** Padding behind the last member, of records inside too, in pieces like the member in front of it. */
export function tailsOf(record: RecordInfo): readonly Piece[] {
  let known = tails.get(record);
  if (!known) tails.set(record, (known = computeTails(record)));
  return known;
}

function computeTails(record: RecordInfo): readonly Piece[] {
  if (record.isUnion || record.isVector || record.fields.length === 0 || !isPlain(record)) return [];
  const inside = record.fields.flatMap(({ type, offset }) =>
    type.kind === 'record' ? tailsOf(type.record).map((piece) => ({ ...piece, offset: piece.offset + offset })) : [],
  );
  const last = record.fields.reduce((a, b) => (endOf(b) > endOf(a) ? b : a));
  const size = last.bits ? 1 : Math.min(WORD, ownAlignmentOf(last.type));
  const own: Piece[] = [];
  for (let offset = endOf(last); offset < record.bytes; ) {
    const bytes = size === 2 && offset % WORD === 0 ? WORD : size;
    own.push({ offset, bytes });
    offset += bytes;
  }
  return [...inside, ...own];
}

/** Words of which the first half is a member of two bytes and the second begins with none. */
function halvedWords(record: RecordInfo): number[] {
  const starts = record.fields.filter(({ type, bits }) => !bits && sizeOf(type) === 2).map(({ offset }) => offset);
  return starts.filter((offset) => offset % WORD === 0 && !starts.includes(offset + 2));
}

/** Where a member ends. */
function endOf({ offset, type, bits }: Field): number {
  return offset + (bits ? Math.ceil((bits.first + bits.width) / 8) : (sizeOf(type) ?? 0));
}

/** Padding between two members, or in a record that comes first. */
function hasGap({ fields }: RecordInfo): boolean {
  const [first] = fields;
  if (first?.type.kind === 'record' && !first.type.record.isVector && hasGap(first.type.record)) return true;
  return gapsIn(fields).some(
    ({ before, field }) => before.bits !== undefined || endOf(before) - before.offset < alignOf(field.type),
  );
}

/** Padding behind something large, or in a record further on: no part of the copy. */
const hasLeftOutGap = ({ fields }: RecordInfo): boolean =>
  gapsIn(fields).length > 0 || fields.some(({ type }) => type.kind === 'record' && hasGap(type.record));

const gapsIn = (fields: readonly Field[]): { readonly before: Field; readonly field: Field }[] =>
  fields.flatMap((field, i) =>
    i > 0 && !field.bits && endOf(fields[i - 1]) < field.offset ? [{ before: fields[i - 1], field }] : [],
  );

/** The alignment that follows from the numbers in a type, without what __align__ or a built-in vector asks for. */
const ownAlignment = (record: RecordInfo): number =>
  Math.max(1, ...record.fields.map(({ type }) => ownAlignmentOf(type)));

function ownAlignmentOf(type: Type): number {
  if (type.kind === 'array') return ownAlignmentOf(type.of);
  return type.kind === 'record' ? ownAlignment(type.record) : alignOf(type);
}

/** No constructor, no initialiser of a member, no base: its padding belongs to it. */
function isPlain({ declaration, fields }: RecordInfo): boolean {
  if (fields.some(({ isBase }) => isBase)) return false;
  return declaration === undefined || !(declaration.members ?? []).some((member) => isOwnCode(declaration, member));
}

function isOwnCode({ name }: RecordDeclaration, member: NonNullable<RecordDeclaration['members']>[number]): boolean {
  if (member.kind === 'function') return member.name.parts.at(-1)?.name === name?.parts.at(-1)?.name;
  return member.kind === 'variable' && member.initializer !== undefined && !member.specifiers.isStatic;
}

const coverages = new WeakMap<RecordInfo, Uint8Array>();

const NUMBER = 1;
/** Bit-fields are bytes that may be read one by one. */
const BITS = 2;

/** By byte of a record: what lies there, 0 for padding. */
function coverage(record: RecordInfo): Uint8Array {
  const known = coverages.get(record);
  if (known) return known;
  const covered = new Uint8Array(record.bytes);
  const cover = (type: Type, at: number): void => {
    if (type.kind === 'record') {
      const inner = coverage(type.record);
      for (let k = 0; k < inner.length; k++) covered[at + k] |= inner[k];
    } else if (type.kind === 'array' && type.of.kind === 'record') {
      const size = sizeOf(type.of) ?? 1;
      for (let k = 0; k < (type.count ?? 0); k++) cover(type.of, at + k * size);
    } else covered.fill(NUMBER, at, at + (sizeOf(type) ?? 0));
  };
  for (const field of record.fields) {
    if (field.bits) covered.fill(BITS, field.offset + Math.floor(field.bits.first / 8), endOf(field));
    else cover(field.type, field.offset);
  }
  coverages.set(record, covered);
  return covered;
}

/** Whether numbers fill the piece of a record that a byte of it lies in. */
export function isFullPiece(record: RecordInfo, offset: number, pieces: number): boolean {
  const width = Math.min(WIDEST, pieces);
  const start = Math.floor(offset / width) * width;
  const covered = coverage(record);
  for (let at = start; at < start + width; at++) if (covered[at] !== NUMBER) return false;
  return true;
}
