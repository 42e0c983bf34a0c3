/** Semantic types: what the syntactic ones mean after lookup and template substitution, with sizes and layouts (LP64). */
import type { BuiltinTypeName, FunctionDeclaration, LambdaExpression, RecordDeclaration } from '../parse/ast';
import { headerTypes } from '../parse/header-types';
import { bytesOf, type ScalarType } from '../program/program';
import type { Entity, Scope } from './scope';

export interface Qualifiers {
  readonly isConst?: boolean;
  readonly isVolatile?: boolean;
}

export type Type = Qualifiers &
  (
    | { readonly kind: 'void' }
    /** member: of a pointer to one, which is a number; what it leads to */
    | { readonly kind: 'scalar'; readonly scalar: ScalarType; readonly name: string; readonly member?: Type }
    | { readonly kind: 'enum'; readonly scalar: ScalarType; readonly name: string }
    | { readonly kind: 'pointer'; readonly to: Type; readonly isRestrict?: boolean }
    /** isRvalue: written with && */
    | { readonly kind: 'reference'; readonly to: Type; readonly isRvalue?: boolean }
    /** count undefined: `[]` */
    | { readonly kind: 'array'; readonly of: Type; readonly count: number | undefined }
    | { readonly kind: 'record'; readonly record: RecordInfo }
    /** captures: of a lambda that the host made and passed to the kernel, their types by name */
    | {
        readonly kind: 'lambda';
        readonly lambda: LambdaExpression;
        readonly captures?: ReadonlyMap<string, Type>;
      }
    /** Its signature is known in programs of the host; lambda: it is that one; isMember: it is called of an object. */
    | {
        readonly kind: 'function';
        readonly result?: Type;
        readonly parameters?: readonly Type[];
        readonly lambda?: LambdaExpression;
        readonly isMember?: boolean;
      }
    /** `std::function`, in programs of the host: in registers the function itself, in memory the address of what is kept of it */
    | { readonly kind: 'callable'; readonly of: FunctionType }
    /** isFailure: it names a member that its record does not have; template: a class template without its arguments */
    | {
        readonly kind: 'unknown';
        readonly reason: string;
        readonly isFailure?: boolean;
        readonly template?: Entity & { kind: 'record' };
      }
  );

export type RecordType = Type & { kind: 'record' };
export type FunctionType = Type & { kind: 'function' };

/** Bits of an integer; the lowest is bit 0. */
export interface Bits {
  readonly first: number;
  readonly width: number;
}

export interface Field {
  readonly name: string;
  readonly type: Type;
  readonly offset: number;
  /** of a bit-field: first bit within the unit of `type` at `offset`, and width */
  readonly bits?: Bits;
  /** subobject of a base class: its members are found through it */
  readonly isBase?: boolean;
  /** members of an anonymous struct or union are found through it */
  readonly isAnonymous?: boolean;
}

export interface RecordInfo {
  readonly name: string;
  readonly isUnion: boolean;
  readonly fields: readonly Field[];
  readonly bytes: number;
  readonly alignment: number;
  /** float4, int2 …: loads and stores of the whole are one access */
  readonly isVector: boolean;
  /** Members by name: methods, statics, nested types. */
  readonly scope?: Scope;
  readonly declaration?: RecordDeclaration;
  readonly methods: ReadonlyMap<string, readonly FunctionDeclaration[]>;
  /** Evaluated template arguments, for matching. */
  readonly templateArguments?: readonly TemplateValue[];
  /** The template's (or record's) qualified declaration scope, with `declaration` the identity of the template. */
  readonly template?: RecordDeclaration;
}

/** An evaluated template argument. */
export type TemplateValue =
  | { readonly kind: 'type'; readonly type: Type }
  | { readonly kind: 'number'; readonly value: number; readonly type: Type }
  | { readonly kind: 'pack'; readonly elements: readonly TemplateValue[] }
  | { readonly kind: 'name'; readonly name: string; readonly entity?: unknown }
  /** isPack: of a parameter pack, of which not even the length is known */
  | { readonly kind: 'unknown'; readonly reason: string; readonly isPack?: boolean };

const scalar = (scalar: ScalarType, name: string): Type => ({ kind: 'scalar', scalar, name });

export const types = {
  void: { kind: 'void' } as Type,
  bool: scalar('pred', 'bool'),
  char: scalar('i8', 'char'),
  schar: scalar('i8', 'signed char'),
  uchar: scalar('u8', 'unsigned char'),
  short: scalar('i16', 'short'),
  ushort: scalar('u16', 'unsigned short'),
  int: scalar('i32', 'int'),
  uint: scalar('u32', 'unsigned int'),
  long: scalar('i64', 'long'),
  ulong: scalar('u64', 'unsigned long'),
  longlong: scalar('i64', 'long long'),
  ulonglong: scalar('u64', 'unsigned long long'),
  float: scalar('f32', 'float'),
  double: scalar('f64', 'double'),
  half: scalar('f16', '__half'),
  bfloat16: scalar('bf16', '__nv_bfloat16'),
} as const;

export const unknownType = (reason: string): Type => ({ kind: 'unknown', reason });

const builtinTypes: readonly (readonly [BuiltinTypeName, Type])[] = [
  ['void', types.void],
  ['bool', types.bool],
  ['char', types.char],
  ['signed char', types.schar],
  ['unsigned char', types.uchar],
  ['short', types.short],
  ['unsigned short', types.ushort],
  ['int', types.int],
  ['unsigned int', types.uint],
  ['long', types.long],
  ['unsigned long', types.ulong],
  ['long long', types.longlong],
  ['unsigned long long', types.ulonglong],
  ['float', types.float],
  ['double', types.double],
  ['long double', types.double],
  ['wchar_t', types.int],
  ['char8_t', types.uchar],
  ['char16_t', types.ushort],
  ['char32_t', types.uint],
];
const typeOfBuiltin: ReadonlyMap<BuiltinTypeName, Type> = new Map(builtinTypes);

/** Type names by canonical spelling, and the names that headers we do not read would declare. */
export const namedTypes: ReadonlyMap<string, Type> = new Map<string, Type>([
  ...builtinTypes,
  ...[...headerTypes].map(([name, builtin]): [string, Type] => [name, typeOfBuiltin.get(builtin) ?? types.int]),
  ['byte', types.uchar],
  ['uchar', types.uchar],
  ['half', types.half],
  ['__half', types.half],
  ['half_t', types.half],
  ['__nv_bfloat16', types.bfloat16],
  ['nv_bfloat16', types.bfloat16],
  ['__nv_fp8_e8m0', types.uchar],
  ['cudaTextureObject_t', types.ulonglong],
  ['cudaSurfaceObject_t', types.ulonglong],
]);

// ---- builtin vector types ----

const vectorElements: readonly (readonly [string, Type])[] = [
  ['char', types.schar],
  ['uchar', types.uchar],
  ['short', types.short],
  ['ushort', types.ushort],
  ['int', types.int],
  ['uint', types.uint],
  ['long', types.long],
  ['ulong', types.ulong],
  ['longlong', types.longlong],
  ['ulonglong', types.ulonglong],
  ['float', types.float],
  ['double', types.double],
];

function vectorType(name: string, element: Type, count: number): Type {
  const size = sizeOf(element) ?? 4;
  const fields = ['x', 'y', 'z', 'w']
    .slice(0, count)
    .map((name, i): Field => ({ name, type: element, offset: i * size }));
  // alignment: the whole vector's size up to 16 bytes, three-element ones their element's (CUDA C++ guide, built-in vector types)
  const alignment = count === 3 ? size : Math.min(16, size * count);
  const record: RecordInfo = {
    name,
    isUnion: false,
    fields,
    bytes: size * count,
    alignment,
    isVector: count !== 3 && size * count <= 16,
    methods: new Map(),
  };
  return { kind: 'record', record };
}

export const vectorTypes: ReadonlyMap<string, Type> = new Map<string, Type>([
  ...vectorElements.flatMap(([name, element]) =>
    [1, 2, 3, 4].map((n): [string, Type] => [`${name}${n}`, vectorType(`${name}${n}`, element, n)]),
  ),
  ...(['half2', '__half2'] as const).map((name): [string, Type] => [name, vectorType('__half2', types.half, 2)]),
  ...(['nv_bfloat162', '__nv_bfloat162'] as const).map((name): [string, Type] => [
    name,
    vectorType('__nv_bfloat162', types.bfloat16, 2),
  ]),
  ['dim3', vectorType('dim3', types.uint, 3)],
]);

// ---- sizes ----

/** Bytes of an object of the type; undefined when unknown. */
export function sizeOf(type: Type): number | undefined {
  switch (type.kind) {
    case 'scalar':
    case 'enum':
      return bytesOf[type.scalar];
    case 'pointer':
    case 'reference':
      return 8;
    case 'callable':
      // of libstdc++
      return 32;
    case 'array': {
      const size = sizeOf(type.of);
      return size === undefined || type.count === undefined ? undefined : size * type.count;
    }
    case 'record':
      return type.record.bytes;
    case 'void':
    case 'function':
    case 'lambda':
      return 1;
    default:
      return undefined;
  }
}

export function alignOf(type: Type): number {
  switch (type.kind) {
    case 'array':
      return alignOf(type.of);
    case 'record':
      return type.record.alignment;
    case 'callable':
      return 8;
    default:
      return sizeOf(type) ?? 1;
  }
}

/** By type: what it is with const, with volatile, with both. Types never change, and the same are asked for over and over. */
const qualifiedTypes = new WeakMap<Type, (Type | undefined)[]>();

/** Adds qualifiers to a type. */
export function qualified(type: Type, isConst: boolean, isVolatile: boolean): Type {
  if ((!isConst || type.isConst) && (!isVolatile || type.isVolatile)) return type;
  let known = qualifiedTypes.get(type);
  if (!known) qualifiedTypes.set(type, (known = []));
  const which = Number(isConst) + 2 * Number(isVolatile);
  return (known[which] ??= {
    ...type,
    isConst: isConst || type.isConst,
    isVolatile: isVolatile || type.isVolatile,
  });
}

/** The type of a parameter: arrays are pointers to their first element, whatever their first bound. */
export function parameterType(type: Type): Type {
  return type.kind === 'array' ? { kind: 'pointer', to: type.of } : type;
}

const unqualifiedTypes = new WeakMap<Type, Type>();

export function unqualified(type: Type): Type {
  if (!type.isConst && !type.isVolatile) return type;
  let plain = unqualifiedTypes.get(type);
  if (!plain) unqualifiedTypes.set(type, (plain = { ...type, isConst: undefined, isVolatile: undefined }));
  return plain;
}

const listTypes: Type[] = [];
const valuesOfList = new WeakMap<Type, number>();

/** Of braces: nothing is deduced from them but the length of an array. */
export function listTypeOf(values: number): Type {
  let type = listTypes[values];
  if (!type) {
    type = { kind: 'unknown', reason: 'initialiser list' };
    listTypes[values] = type;
    valuesOfList.set(type, values);
  }
  return type;
}

/** How many values stand in braces; undefined for every other type. */
export const valuesInList = (type: Type): number | undefined => valuesOfList.get(type);

export const withoutReference = (type: Type): Type => (type.kind === 'reference' ? type.to : type);

/** The machine type of a scalar, enum or pointer value. */
export function scalarOf(type: Type): ScalarType | undefined {
  if (type.kind === 'scalar' || type.kind === 'enum') return type.scalar;
  // addresses are computed as signed: they stay below 2^53, and offsets may be negative
  if (type.kind === 'pointer' || type.kind === 'reference') return 'i64';
  return undefined;
}

/** Spelling that is equal exactly for equal types (top-level qualifiers left out). */
export function typeKey(type: Type): string {
  const inner = (t: Type) => `${t.isConst ? 'const ' : ''}${t.isVolatile ? 'volatile ' : ''}${typeKey(t)}`;
  switch (type.kind) {
    case 'scalar':
    case 'enum':
      return type.name;
    case 'pointer':
      return `${inner(type.to)}*`;
    case 'reference':
      return `${inner(type.to)}&`;
    case 'array':
      return `${inner(type.of)}[${type.count ?? ''}]`;
    case 'record':
      return type.record.name;
    case 'lambda':
      return `lambda#${type.lambda.first}${capturesKey(type.captures)}`;
    case 'callable':
      return `function<${signatureKey(type.of)}>`;
    case 'function':
      return type.parameters && !type.isMember ? signatureKey(type) : type.kind;
    default:
      return type.kind;
  }
}

/** A lambda in a template is another type in each instance: what it captured tells them apart. */
function capturesKey(captures: ReadonlyMap<string, Type> | undefined): string {
  const told = [...(captures ?? [])].filter(([, type]) => type.kind !== 'unknown');
  if (told.length === 0) return '';
  return `{${told
    .map(([name, type]) => `${name}:${typeKey(type)}`)
    .sort()
    .join()}}`;
}

export const signatureKey = ({ result, parameters, lambda, isMember }: FunctionType): string =>
  lambda
    ? `lambda#${lambda.first}`
    : `${isMember ? '::' : ''}${result ? typeKey(result) : '?'}(${parameters?.map(typeKey).join() ?? '?'})`;

/** Of pointers to members of a type that are data. */
export const memberType = (member: Type): Type => ({
  kind: 'scalar',
  scalar: 'i64',
  name: `${typeKey(member)} ::*`,
  member,
});

const floatRank: Partial<Record<ScalarType, number>> = { f16: 1, bf16: 1, f32: 2, f64: 3 };

export const isFloat = (scalar: ScalarType): boolean => floatRank[scalar] !== undefined;
export const isSigned = (scalar: ScalarType): boolean =>
  scalar === 'i8' || scalar === 'i16' || scalar === 'i32' || scalar === 'i64';

/** Integral promotion. */
export function promote(type: Type): Type {
  const scalar = scalarOf(type);
  if (type.kind === 'enum')
    return scalar === 'u32'
      ? types.uint
      : scalar === 'i64' || scalar === 'u64'
        ? { kind: 'scalar', scalar, name: type.name }
        : types.int;
  switch (scalar) {
    case 'pred':
    case 'i8':
    case 'u8':
    case 'i16':
    case 'u16':
      return types.int;
    default:
      return unqualified(type);
  }
}

/** Usual arithmetic conversions. */
export function arithmeticType(a: Type, b: Type): Type {
  const pa = promote(a);
  const pb = promote(b);
  const sa = scalarOf(pa);
  const sb = scalarOf(pb);
  if (!sa || !sb) return unknownType('operands are no numbers');
  const fa = floatRank[sa];
  const fb = floatRank[sb];
  if (fa !== undefined || fb !== undefined) return (fa ?? 0) >= (fb ?? 0) ? pa : pb;
  if (sa === sb) return pa;
  const [wide, narrow] = bytesOf[sa] >= bytesOf[sb] ? [pa, pb] : [pb, pa];
  const ws = scalarOf(wide) ?? 'i32';
  const ns = scalarOf(narrow) ?? 'i32';
  if (bytesOf[ws] > bytesOf[ns]) return wide;
  return isSigned(ws) ? narrow : wide;
}

export function describeType(type: Type): string {
  return `${type.isConst ? 'const ' : ''}${typeKey(type)}`;
}

/** The member that holds the bits of a union in registers: the largest, of those the one of fewest parts; others are views of it. */
export function holderOf(record: RecordInfo): number {
  const parts = (type: Type): number =>
    type.kind === 'record'
      ? type.record.fields.reduce((n, f) => n + parts(f.type), 0)
      : type.kind === 'array'
        ? (type.count ?? 0) * parts(type.of)
        : 1;
  const bytesIn = ({ type, bits }: Field): number => (bits ? bits.width / 8 : (sizeOf(type) ?? 0));
  let best = 0;
  record.fields.forEach((field, i) => {
    const bytes = bytesIn(field);
    const most = bytesIn(record.fields[best]);
    if (bytes > most || (bytes === most && parts(field.type) < parts(record.fields[best].type))) best = i;
  });
  return best;
}
