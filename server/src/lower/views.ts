/** Local variables in registers seen as another type: `(float4&)halves[0]`, `(uint32_t*)&pair`. */
import type { Node } from '../parse/ast';
import { bytesOf, type Register, type ScalarType } from '../program/program';
import { extracted, fitted, inserted } from './bit-fields';
import { type Context, placeOf } from './context';
import { convertRegister } from './conversions';
import { readRegister, readStorage, writeRegister } from './places';
import { type Bits, type Field, isSigned, scalarOf, sizeOf, type Type, types } from './types';
import type { RegisterTarget, Storage, Value } from './values';

/** A scalar of a variable and the bytes it has there. */
interface Leaf {
  readonly storage: Storage & { kind: 'scalar' };
  readonly offset: number;
  readonly bytes: number;
  /** It stands for an element that is not known which (open-elements.ts): its value is never known. */
  readonly isOpen?: boolean;
}

/** Parts that one view may have. */
const MAX_LEAVES = 4096;

const REASON = 'bits of a local variable seen as another type';

/**
 * The storage that `to` means at `offset` elements of it behind the target. Scalars that agree are the variable's own;
 * others are views: bits of one scalar, of several side by side, of a part of one, or of a bit-field; else unknown when read.
 * Undefined where the target ends before.
 */
export function viewOf(ctx: Context, target: RegisterTarget, to: Type, offset: number): Storage | undefined {
  const size = sizeOf(to);
  const stride = sizeOf(target.elementType);
  if (size === undefined || stride === undefined) return undefined;
  const at = (target.bytes ?? 0) + offset * size;
  const leaves = leavesOf(ctx, target, stride, at + size);
  return leaves && build(to, at, leaves);
}

/** What a member of a union means of the one that has registers, the target. */
export function memberOf(ctx: Context, target: RegisterTarget, field: Field): Storage | undefined {
  const size = sizeOf(field.type);
  const stride = sizeOf(target.elementType);
  const leaves = size === undefined || stride === undefined ? undefined : leavesOf(ctx, target, stride, size);
  return leaves && buildMember(field, 0, leaves);
}

/** The scalars of the first `bytes` from the target on. */
function leavesOf(ctx: Context, target: RegisterTarget, stride: number, bytes: number): Leaf[] | undefined {
  const leaves: Leaf[] = [];
  for (const [i, element] of target.elements.slice(target.index).entries()) {
    if (i * stride >= bytes) break;
    if (!collect(ctx, element, target.elementType, i * stride, leaves)) return undefined;
  }
  return leaves;
}

function collect(ctx: Context, declared: Storage, type: Type, at: number, out: Leaf[]): boolean {
  if (out.length > MAX_LEAVES) return false;
  const storage = ctx.openElements.get(declared) ?? declared;
  const isOpen = ctx.budget.keepsLoops && storage.kind === 'view' && !storage.isWhole && storage.leaves.length === 1;
  const [open] = isOpen ? storage.leaves : [];
  if (open?.kind === 'scalar') {
    out.push({ storage: open, offset: at, bytes: sizeOf(storage.type) ?? 4, isOpen: true });
    return true;
  }
  if (storage.kind === 'scalar') {
    out.push({ storage, offset: at, bytes: sizeOf(storage.type) ?? 4 });
    return true;
  }
  if (storage.kind !== 'aggregate') return false;
  if (type.kind === 'array') {
    const stride = sizeOf(type.of) ?? 4;
    return storage.elements.every((e, i) => collect(ctx, e, type.of, at + i * stride, out));
  }
  if (type.kind !== 'record') return false;
  const { fields } = type.record;
  return storage.elements.every((e, i) => fields[i] && collect(ctx, e, fields[i].type, at + fields[i].offset, out));
}

function build(type: Type, at: number, leaves: readonly Leaf[]): Storage | undefined {
  const scalar = scalarOf(type);
  if (scalar) return scalarView(type, at, leaves);
  const parts =
    type.kind === 'record'
      ? type.record.fields.map((f) => buildMember(f, at, leaves))
      : type.kind === 'array'
        ? Array.from({ length: Math.min(type.count ?? 0, MAX_LEAVES) }, (_, i) =>
            build(type.of, at + i * (sizeOf(type.of) ?? 4), leaves),
          )
        : undefined;
  if (!parts) return undefined;
  const elements = parts.filter((p): p is Storage => p !== undefined);
  return elements.length === parts.length && elements.length > 0 ? { kind: 'aggregate', type, elements } : undefined;
}

const buildMember = (field: Field, at: number, leaves: readonly Leaf[]): Storage | undefined =>
  field.bits ? fieldView(field, field.bits, at + field.offset, leaves) : build(field.type, at + field.offset, leaves);

/** By bytes: the type of a unit. */
const units: Readonly<Record<number, Type>> = { 1: types.uchar, 2: types.ushort, 4: types.uint, 8: types.ulong };

/** @param at of the unit */
function fieldView({ type }: Field, { first, width }: Bits, at: number, leaves: readonly Leaf[]): Storage | undefined {
  const from = 8 * at + first;
  const around = leaves.find((l) => !l.isOpen && firstBit(l) <= from && endBit(l) >= from + width);
  if (around) {
    const { storage } = around;
    const isOwn = storage.bits?.width === width && scalarOf(storage.type) === scalarOf(type);
    if (isOwn) return storage;
    return { kind: 'view', type, leaves: [storage], isWhole: false, field: { first: from - firstBit(around), width } };
  }
  const bytes = sizeOf(type) ?? 4;
  const unit = units[bytes] && first + width <= 8 * bytes ? scalarView(units[bytes], at, leaves) : undefined;
  return unit && { kind: 'view', type, leaves: [unit], isWhole: false, field: { first, width } };
}

const firstBit = ({ offset, storage }: Leaf): number => 8 * offset + (storage.bits?.first ?? 0);
const widthOf = ({ bytes, storage }: Leaf): number => storage.bits?.width ?? 8 * bytes;
const endBit = (leaf: Leaf): number => firstBit(leaf) + widthOf(leaf);

function scalarView(type: Type, at: number, leaves: readonly Leaf[]): Storage | undefined {
  const bytes = sizeOf(type) ?? 4;
  const from = 8 * at;
  const end = from + 8 * bytes;
  const within = leaves.filter((l) => firstBit(l) < end && endBit(l) > from);
  // an open element is any of its array: what lies behind it is another one
  const covered = within.length > 0 ? within : leaves.filter((l) => l.isOpen).slice(0, 1);
  if (covered.length === 0) return undefined;
  const [first] = covered;
  if (first.isOpen) return { kind: 'view', type, leaves: covered.map((l) => l.storage), isWhole: false };
  const isWhole = firstBit(first) === from && endBit(first) === end;
  if (isWhole && scalarOf(first.storage.type) === scalarOf(type)) return first.storage;
  const isWithin = covered.length === 1 && firstBit(first) <= from && endBit(first) >= end;
  const shape = isTogether(covered, from, end)
    ? { parts: covered.map((l) => ({ first: firstBit(l) - from, width: widthOf(l) })) }
    : isWithin
      ? { shift: from - firstBit(first) }
      : {};
  return { kind: 'view', type, leaves: covered.map((l) => l.storage), isWhole, ...shape };
}

/** Scalars of one size, or with bit-fields among them, that have all bits side by side. */
function isTogether(covered: readonly Leaf[], from: number, end: number): boolean {
  const isFilled = covered.reduce((sum, leaf) => sum + widthOf(leaf), 0) === end - from;
  const isAlike = covered.every((l) => l.bytes === covered[0].bytes) || covered.some((l) => l.storage.bits);
  return isFilled && isAlike && covered.every((l) => !l.isOpen && firstBit(l) >= from && endBit(l) <= end);
}

type View = Storage & { kind: 'view' };

export function readView(ctx: Context, view: View, read: (storage: Storage) => Value): Value {
  const scalar = scalarOf(view.type) ?? 'i32';
  const values = view.leaves.map(read).flatMap((v) => (v.kind === 'scalar' ? [v.register] : []));
  const field = view.field && values.length === 1 ? fieldRead(ctx, values[0], scalar, view.field) : undefined;
  if (field !== undefined) return { kind: 'scalar', type: view.type, register: field };
  const register =
    view.isWhole && values.length === 1
      ? sameBits(ctx, values[0], scalar)
      : (bitsRead(ctx, view, values, scalar) ?? unknownFrom(ctx, values, scalar));
  return { kind: 'scalar', type: view.type, register };
}

/** By bytes: the integer that holds as many bits. */
const words: Readonly<Record<number, ScalarType>> = { 1: 'u8', 2: 'u16', 4: 'u32', 8: 'u64' };
const signedWords: Readonly<Record<number, ScalarType>> = { 1: 'i8', 2: 'i16', 4: 'i32', 8: 'i64' };

/** The value of a bit-field of which the bits are in a register. */
function fieldRead(ctx: Context, unit: Register, scalar: ScalarType, field: Bits): Register | undefined {
  const from = ctx.builder.typeOf(unit);
  if (from === 'pred') return undefined;
  const type = (isSigned(scalar) ? signedWords : words)[bytesOf[from]];
  return type && convertRegister(ctx, extracted(ctx, sameBits(ctx, unit, type), type, field), type, scalar);
}

/** @param unit what the bit-field lies in: a scalar, or a view of several */
function writeField(ctx: Context, unit: Storage, value: Register | undefined, field: Bits): void {
  const before = readStorage(ctx, unit);
  if ((unit.kind !== 'scalar' && unit.kind !== 'view') || before.kind !== 'scalar') return;
  const word = wordOf(ctx, before.register);
  const after =
    word !== undefined && value !== undefined
      ? inserted(ctx, word, convertRegister(ctx, value, ctx.builder.typeOf(value), ctx.builder.typeOf(word)), field)
      : unknownFrom(ctx, [before.register], ctx.builder.typeOf(before.register));
  if (unit.kind === 'view') writeView(ctx, unit, sameBits(ctx, after, ctx.builder.typeOf(before.register)));
  else writeLeaf(ctx, unit, after);
}

/** Gives a scalar the bits of a register. */
function writeLeaf(ctx: Context, leaf: Storage & { kind: 'scalar' }, value: Register): void {
  const to = ctx.builder.typeOf(leaf.register);
  writeRegister(ctx, leaf.register, fitted(ctx, leaf, sameBits(ctx, value, to)));
}

/** The value of several scalars side by side, or of a part of one, from their bits; the first has the lowest (little endian). */
function bitsRead(ctx: Context, view: View, values: readonly Register[], scalar: ScalarType): Register | undefined {
  const { builder } = ctx;
  const word = words[sizeOf(view.type) ?? 0];
  if (word === undefined || scalar === 'pred' || values.length !== view.leaves.length) return undefined;
  const held = values.map((r) => wordOf(ctx, r));
  if (!held.every((r) => r !== undefined)) return undefined;
  if (view.shift !== undefined) return sameBits(ctx, cutOut(ctx, held[0], view.shift, word), scalar);
  if (view.parts === undefined) return undefined;
  const sum = view.parts
    .map(({ first, width }, k) => shifted(ctx, partRead(ctx, held[k], width, word), 'shl', first))
    .reduce((a, b) => builder.binary('or', word, a, b));
  return sameBits(ctx, sum, scalar);
}

/** The low bits of an unsigned integer; the others, which a negative bit-field has set, are 0. */
function partRead(ctx: Context, register: Register, width: number, to: ScalarType): Register {
  const type = ctx.builder.typeOf(register);
  const isAll = width === bytesOf[type] * 8;
  return convertRegister(ctx, isAll ? register : extracted(ctx, register, type, { first: 0, width }), type, to);
}

/** The bits of a register as an unsigned integer. */
function wordOf(ctx: Context, register: Register): Register | undefined {
  const type = ctx.builder.typeOf(register);
  const word = type === 'pred' ? undefined : words[bytesOf[type]];
  return word && sameBits(ctx, register, word);
}

function shifted(ctx: Context, register: Register, fn: 'shl' | 'shr', bits: number): Register {
  const { builder } = ctx;
  const type = builder.typeOf(register);
  return bits === 0 ? register : builder.binary(fn, type, register, builder.constant(type, bits));
}

/** Some bits of an unsigned integer. */
function cutOut(ctx: Context, register: Register, shift: number, to: ScalarType): Register {
  const type = ctx.builder.typeOf(register);
  return convertRegister(ctx, shifted(ctx, register, 'shr', shift), type, to);
}

/** What each scalar holds once the bits of a view over them are written; undefined where that is not known. */
function bitsWritten(ctx: Context, view: View, register: Register): Register[] | undefined {
  const whole = wordOf(ctx, register);
  if (whole === undefined || view.parts === undefined || view.leaves.length < 2) return undefined;
  return view.parts.map(({ first }) => shifted(ctx, whole, 'shr', first));
}

/**
 * @param register the value in the view's type; undefined: not known
 * @param node what writes: NVVM keeps what is seen as both kinds as an integer, so that a float is one from here on
 */
export function writeView(ctx: Context, view: View, register: Register | undefined, node?: Node): void {
  if (view.field) {
    writeField(ctx, view.leaves[0], register, view.field);
    return;
  }
  const written = register === undefined ? undefined : bitsWritten(ctx, view, register);
  for (const [k, leaf] of view.leaves.entries()) {
    if (leaf.kind !== 'scalar') continue;
    const to = ctx.builder.typeOf(leaf.register);
    if (written && to !== 'pred') {
      const word = words[bytesOf[to]] ?? to;
      writeLeaf(ctx, leaf, convertRegister(ctx, written[k], ctx.builder.typeOf(written[k]), word));
      continue;
    }
    const known = view.isWhole && register !== undefined;
    const inserting = register === undefined ? undefined : withPart(ctx, view, leaf, register);
    if (inserting !== undefined) {
      writeLeaf(ctx, leaf, inserting);
      continue;
    }
    // what is written to a part of it leaves the rest as it was
    const isPart = !view.isWhole && view.leaves.length === 1;
    const rest = isPart && sizeOf(view.type) !== sizeOf(leaf.type) ? [readRegister(ctx, leaf.register)] : [];
    const sources = register === undefined ? rest : [register, ...rest];
    const value = known ? sameBits(ctx, register, to) : unknownFrom(ctx, sources, to);
    if (known && node && !to.startsWith('f')) ctx.builder.readAt(value, () => placeOf(ctx, node));
    writeRegister(ctx, leaf.register, value);
  }
}

/** A scalar of which a part is written: the other bits stay; undefined where its bits cannot be looked at. */
function withPart(
  ctx: Context,
  view: View,
  leaf: Storage & { kind: 'scalar' },
  register: Register,
): Register | undefined {
  if (view.shift === undefined || view.leaves.length !== 1) return undefined;
  const before = readRegister(ctx, leaf.register);
  const unit = wordOf(ctx, before);
  const part = wordOf(ctx, register);
  if (unit === undefined || part === undefined) return undefined;
  const type = ctx.builder.typeOf(unit);
  const value = convertRegister(ctx, part, ctx.builder.typeOf(part), type);
  // of a variable that is put together piece by piece, what comes first finds anything
  const whole = ctx.builder.isUninitialised(before) ? ctx.builder.constant(type, 0) : unit;
  return inserted(ctx, whole, value, { first: view.shift, width: 8 * (sizeOf(view.type) ?? 0) });
}

function sameBits(ctx: Context, register: Register, to: ScalarType): Register {
  const from = ctx.builder.typeOf(register);
  if (from === 'pred' || to === 'pred') return convertRegister(ctx, register, from, to);
  return ctx.builder.unary('bitcast', to, register, from);
}

/** A value that is not known but computed from these registers: what loads them is needed. */
function unknownFrom(ctx: Context, registers: readonly Register[], to: ScalarType): Register {
  const { builder } = ctx;
  const type = to === 'pred' ? 'u8' : to;
  let sum = builder.unknown(type, REASON);
  for (const register of registers)
    sum = builder.binary('add', type, sum, convertRegister(ctx, register, builder.typeOf(register), type));
  return convertRegister(ctx, sum, type, to);
}
