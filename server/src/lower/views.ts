/** Local variables in registers seen as another type: `(float4&)halves[0]`, `(uint32_t*)&pair`. */
import { bytesOf, type Register, type ScalarType } from '../program/program';
import type { Context } from './context';
import { convertRegister } from './conversions';
import { readRegister, writeRegister } from './places';
import { scalarOf, sizeOf, type Type } from './types';
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
 * others are views: bits of one scalar, of several side by side, or of a part of one; else unknown when read. Undefined where the target ends before.
 */
export function viewOf(ctx: Context, target: RegisterTarget, to: Type, offset: number): Storage | undefined {
  const size = sizeOf(to);
  const stride = sizeOf(target.elementType);
  if (size === undefined || stride === undefined) return undefined;
  const leaves: Leaf[] = [];
  for (const [i, element] of target.elements.slice(target.index).entries()) {
    if (i * stride >= (offset + 1) * size) break;
    if (!collect(ctx, element, target.elementType, i * stride, leaves)) return undefined;
  }
  return build(to, offset * size, leaves);
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
      ? type.record.fields.map((f) => build(f.type, at + f.offset, leaves))
      : type.kind === 'array'
        ? Array.from({ length: Math.min(type.count ?? 0, MAX_LEAVES) }, (_, i) =>
            build(type.of, at + i * (sizeOf(type.of) ?? 4), leaves),
          )
        : undefined;
  if (!parts) return undefined;
  const elements = parts.filter((p): p is Storage => p !== undefined);
  return elements.length === parts.length && elements.length > 0 ? { kind: 'aggregate', type, elements } : undefined;
}

function scalarView(type: Type, at: number, leaves: readonly Leaf[]): Storage | undefined {
  const bytes = sizeOf(type) ?? 4;
  const within = leaves.filter((l) => l.offset < at + bytes && l.offset + l.bytes > at);
  // an open element is any of its array: what lies behind it is another one
  const covered = within.length > 0 ? within : leaves.filter((l) => l.isOpen).slice(0, 1);
  if (covered.length === 0) return undefined;
  const [first] = covered;
  if (first.isOpen) return { kind: 'view', type, leaves: covered.map((l) => l.storage), isWhole: false };
  if (first.offset === at && first.bytes === bytes && scalarOf(first.storage.type) === scalarOf(type))
    return first.storage;
  const isWhole = first.offset === at && first.bytes === bytes;
  const isTogether =
    covered.length * first.bytes === bytes &&
    covered.every((leaf, i) => leaf.bytes === first.bytes && leaf.offset === at + i * first.bytes && !leaf.isOpen);
  const isWithin = covered.length === 1 && at >= first.offset && at + bytes <= first.offset + first.bytes;
  const shape = isTogether ? { bits: 8 * first.bytes } : isWithin ? { shift: 8 * (at - first.offset) } : {};
  return { kind: 'view', type, leaves: covered.map((l) => l.storage), isWhole, ...shape };
}

type View = Storage & { kind: 'view' };

export function readView(ctx: Context, view: View, read: (storage: Storage) => Value): Value {
  const scalar = scalarOf(view.type) ?? 'i32';
  const values = view.leaves.map(read).flatMap((v) => (v.kind === 'scalar' ? [v.register] : []));
  const register =
    view.isWhole && values.length === 1
      ? sameBits(ctx, values[0], scalar)
      : (bitsRead(ctx, view, values, scalar) ?? unknownFrom(ctx, values, scalar));
  return { kind: 'scalar', type: view.type, register };
}

/** By bytes: the integer that holds as many bits. */
const words: Readonly<Record<number, ScalarType>> = { 1: 'u8', 2: 'u16', 4: 'u32', 8: 'u64' };

/** The value of several scalars side by side, or of a part of one, from their bits; the first has the lowest (little endian). */
function bitsRead(ctx: Context, view: View, values: readonly Register[], scalar: ScalarType): Register | undefined {
  const { builder } = ctx;
  const word = words[sizeOf(view.type) ?? 0];
  if (word === undefined || scalar === 'pred' || values.length !== view.leaves.length) return undefined;
  const held = values.map((r) => wordOf(ctx, r));
  if (!held.every((r) => r !== undefined)) return undefined;
  if (view.shift !== undefined) return sameBits(ctx, cutOut(ctx, held[0], view.shift, word), scalar);
  if (view.bits === undefined) return undefined;
  const { bits } = view;
  const sum = held
    .map((r, k) => shifted(ctx, convertRegister(ctx, r, builder.typeOf(r), word), 'shl', k * bits))
    .reduce((a, b) => builder.binary('or', word, a, b));
  return sameBits(ctx, sum, scalar);
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
  if (whole === undefined || view.bits === undefined || view.leaves.length < 2) return undefined;
  const { bits } = view;
  const word = words[bits / 8];
  return word && view.leaves.map((_, k) => cutOut(ctx, whole, k * bits, word));
}

/** @param register the value in the view's type; undefined: not known */
export function writeView(ctx: Context, view: View, register: Register | undefined): void {
  const written = register === undefined ? undefined : bitsWritten(ctx, view, register);
  for (const [k, leaf] of view.leaves.entries()) {
    if (leaf.kind !== 'scalar') continue;
    const to = ctx.builder.typeOf(leaf.register);
    if (written && to !== 'pred') {
      writeRegister(ctx, leaf.register, sameBits(ctx, written[k], to));
      continue;
    }
    const known = view.isWhole && register !== undefined;
    // what is written to a part of it leaves the rest as it was
    const isPart = !view.isWhole && view.leaves.length === 1;
    const rest = isPart && sizeOf(view.type) !== sizeOf(leaf.type) ? [readRegister(ctx, leaf.register)] : [];
    const sources = register === undefined ? rest : [register, ...rest];
    writeRegister(ctx, leaf.register, known ? sameBits(ctx, register, to) : unknownFrom(ctx, sources, to));
  }
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
