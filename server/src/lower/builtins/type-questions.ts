/** What compilers answer about types because the language cannot say it; `lower/library` builds the standard's traits on them. */
import { pathToBase } from '../bases';
import type { Context } from '../context';
import { number } from '../expressions';
import { recordOf } from '../records';
import type { resolveType } from '../resolve-type';
import { arithmeticType, isFloat, isSigned, scalarOf, type Type, typeKey, types, unqualified } from '../types';
import { unknownValue, type Value } from '../values';
import type { BuiltinCall, BuiltinFunction } from './functions';

/** Longest sequence that is spread. */
const MAX_SEQUENCE = 1024;

const isClass = (t: Type): boolean => t.kind === 'record' && !t.record.isUnion;
const isNumber = (t: Type): boolean => t.kind === 'scalar' && t.scalar !== 'f16' && t.scalar !== 'bf16';

const questions: Readonly<Record<string, (t: Type) => boolean>> = {
  __is_integral: (t) => isNumber(t) && t.kind === 'scalar' && !isFloat(t.scalar),
  __is_floating_point: (t) => isNumber(t) && t.kind === 'scalar' && isFloat(t.scalar),
  __is_signed: (t) => isNumber(t) && t.kind === 'scalar' && (isSigned(t.scalar) || isFloat(t.scalar)),
  __is_unsigned: (t) => isNumber(t) && t.kind === 'scalar' && !isSigned(t.scalar) && !isFloat(t.scalar),
  __is_enum: (t) => t.kind === 'enum',
  // the halves are classes to the language
  __is_class: (t) => isClass(t) || (t.kind === 'scalar' && !isNumber(t)),
  __is_pointer: (t) => t.kind === 'pointer',
  __is_union: (t) => t.kind === 'record' && t.record.isUnion,
  __is_empty: (t) => isClass(t) && t.kind === 'record' && t.record.fields.every((f) => f.isBase && isEmpty(f.type)),
  __is_trivially_copyable: isTrivial,
};

const isEmpty = (t: Type): boolean => questions.__is_empty(t);

/** Copy constructors, assignments and destructors of one's own are what makes a class not trivial. */
function isTrivial(type: Type): boolean {
  if (type.kind === 'array') return isTrivial(type.of);
  if (type.kind !== 'record') return type.kind !== 'reference' && type.kind !== 'void';
  const own = type.record.declaration?.name?.parts.at(-1)?.name ?? '';
  const copies = (name: string) =>
    (type.record.methods.get(name) ?? []).some((m) => {
      const [first] = m.parameters;
      return m.body && m.parameters.length === 1 && first.type.kind === 'reference' && namesType(first.type.to, own);
    });
  const isDestroyed = type.record.methods.get(`~${own}`)?.some((m) => m.body);
  return !copies(own) && !copies('operator=') && !isDestroyed && type.record.fields.every((f) => isTrivial(f.type));
}

const namesType = (node: Parameters<typeof resolveType>[1], name: string): boolean =>
  node.kind === 'named' && node.name.parts.at(-1)?.name === name;

const unknownArgument = (call: BuiltinCall): Value | undefined => {
  const unknown = call.args.find((a) => a.type.kind === 'unknown');
  return unknown && unknownValue(types.bool, unknown.type.kind === 'unknown' ? unknown.type.reason : call.name);
};

const answer =
  (question: (...types: Type[]) => boolean): BuiltinFunction =>
  (call) =>
    unknownArgument(call) ?? number(call.ctx, types.bool, question(...call.args.map((a) => a.type)) ? 1 : 0);

/** A type, for `decltype`. */
const typeFrom =
  (change: (...types: Type[]) => Type): BuiltinFunction =>
  (call) =>
    unknownValue(change(...call.args.map((a) => a.type)), 'a type');

function isBaseOf(base: Type, derived: Type): boolean {
  const [b, d] = [recordOf(base), recordOf(derived)];
  return b !== undefined && d !== undefined && pathToBase(d, b) !== undefined;
}

function isConvertible(from: Type, to: Type): boolean {
  if (typeKey(from) === typeKey(to) || isBaseOf(to, from)) return true;
  if (from.kind === 'pointer' && to.kind === 'pointer') return isPointerTo(from.to, to.to);
  // by a constructor of one argument
  const record = recordOf(to);
  const name = record?.declaration?.name?.parts.at(-1)?.name ?? '';
  if (record && !recordOf(from)) return record.methods.get(name)?.some((m) => m.parameters.length === 1) === true;
  return isNumber(from) && isNumber(to);
}

/** Whether a pointer to the one may be one to the other. */
function isPointerTo(from: Type, to: Type): boolean {
  if (from.isConst && !to.isConst) return false;
  return to.kind === 'void' || typeKey(from) === typeKey(to) || isBaseOf(to, from);
}

const signs: Readonly<Record<'signed' | 'unsigned', ReadonlyMap<string, Type>>> = {
  signed: new Map<string, Type>([
    ['char', types.schar],
    ['unsigned char', types.schar],
    ['unsigned short', types.short],
    ['unsigned int', types.int],
    ['unsigned long', types.long],
    ['unsigned long long', types.longlong],
  ]),
  unsigned: new Map<string, Type>([
    ['char', types.uchar],
    ['signed char', types.uchar],
    ['short', types.ushort],
    ['int', types.uint],
    ['long', types.ulong],
    ['long long', types.ulonglong],
  ]),
};

const withSign =
  (sign: 'signed' | 'unsigned') =>
  (type: Type): Type =>
    signs[sign].get(typeKey(type)) ?? type;

const underlying: Readonly<Partial<Record<string, Type>>> = {
  pred: types.bool,
  i8: types.schar,
  u8: types.uchar,
  i16: types.short,
  u16: types.ushort,
  i32: types.int,
  u32: types.uint,
  i64: types.long,
  u64: types.ulong,
};

function commonType(a: Type, b: Type): Type {
  const [x, y] = [a, b].map((t) => unqualified(t.kind === 'reference' ? t.to : t));
  if (typeKey(x) === typeKey(y)) return x;
  if (isBaseOf(x, y)) return x;
  return scalarOf(x) && scalarOf(y) ? arithmeticType(x, y) : y;
}

/** __integer_pack(N): 0, 1, … N - 1 */
const integerPack: BuiltinFunction = (call) => {
  const count = call.value(0);
  const n = count.kind === 'scalar' ? call.ctx.builder.constantValue(count.register) : undefined;
  if (n === undefined || n > MAX_SEQUENCE) return unknownValue(types.int, 'length of a sequence that is not known');
  const type = unqualified(count.type);
  return { kind: 'pack', type, elements: Array.from({ length: n }, (_, i) => number(call.ctx, type, i)) };
};

/** declval<T>(): a T that no one made */
const declval: BuiltinFunction = (call) => {
  const given = call.callee.templateArguments?.[0];
  const type: Type = given?.kind === 'type' ? given.type : { kind: 'unknown', reason: 'declval' };
  return type.kind === 'reference' && scalarOf(type.to)
    ? unknownValue(type.to, NEVER_MADE)
    : neverMade(call.ctx, unqualified(type.kind === 'reference' ? type.to : type));
};

const NEVER_MADE = 'a value that is never made';

/** Objects in registers: their operators and methods are asked what they would give. */
export function neverMade(ctx: Context, type: Type): Value {
  const scalar = scalarOf(type);
  if (scalar) return { kind: 'scalar', type, register: ctx.builder.unknown(scalar, NEVER_MADE) };
  const record = recordOf(type);
  return record
    ? { kind: 'aggregate', type, elements: record.fields.map((field) => neverMade(ctx, unqualified(field.type))) }
    : unknownValue(type, NEVER_MADE);
}

export const typeQuestions: Readonly<Record<string, BuiltinFunction>> = {
  ...Object.fromEntries(Object.entries(questions).map(([name, question]) => [name, answer(question)])),
  __is_base_of: answer(isBaseOf),
  __is_convertible: answer(isConvertible),
  __is_same: answer((a, b) => typeKey(a) === typeKey(b) && Boolean(a.isConst) === Boolean(b.isConst)),
  __make_signed: typeFrom(withSign('signed')),
  __make_unsigned: typeFrom(withSign('unsigned')),
  __underlying_type: typeFrom((t) => (t.kind === 'enum' ? (underlying[t.scalar] ?? types.int) : t)),
  __common_type: typeFrom(commonType),
  __integer_pack: integerPack,
  declval,
};
