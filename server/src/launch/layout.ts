/** Sizes, alignments and fields of host types (Itanium C++ ABI rules as far as plain structs need them). */
import type { Expression, RecordDeclaration, VariableDeclaration } from '../parse/ast';
import { arithmeticTypes } from './arithmetic';
import { evaluate } from './expression';
import type { HostType, RecordField, RecordLayout, RecordType, TupleType } from './host-type';
import { resolveType } from './resolve-type';
import { lastName, type Scope } from './scope';
import type { HostState } from './state';

/** Size in bytes; undefined when it is not known. */
export function sizeOf(state: HostState, type: HostType): number | undefined {
  switch (type.kind) {
    case 'arithmetic':
      return arithmeticTypes[type.name].bytes;
    case 'pointer':
    case 'function':
      return 8;
    case 'reference':
      return sizeOf(state, type.to);
    case 'enum':
      return arithmeticTypes[type.underlying].bytes;
    case 'vector':
      return arithmeticTypes[type.element].bytes * type.lanes;
    case 'array':
      return product(sizeOf(state, type.of), type.length);
    case 'record':
      return layoutOf(state, type).bytes;
    case 'tuple':
      return tupleSize(state, type);
    case 'container':
      return type.length !== undefined ? product(sizeOf(state, type.element), type.length) : containerBytes[type.name];
    case 'opaque':
      return type.bytes;
    case 'constant':
    case 'sequence':
      return 1;
    default:
      return undefined;
  }
}

/** The order of the elements in memory changes no size. */
function tupleSize(state: HostState, type: TupleType): number | undefined {
  let bytes: number | undefined = 0;
  for (const element of type.elements) {
    const size = sizeOf(state, element);
    if (size === undefined) return undefined;
    bytes = roundUp(bytes, alignOf(state, element)) + size;
  }
  return Math.max(1, roundUp(bytes, alignOf(state, type)));
}

/** libstdc++ */
const containerBytes: Readonly<Record<string, number>> = { vector: 24, string: 32, unique_ptr: 8, shared_ptr: 16 };

function product(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a * b;
}

/** Alignment in bytes; 1 when it is not known. */
export function alignOf(state: HostState, type: HostType): number {
  switch (type.kind) {
    case 'array':
      return alignOf(state, type.of);
    case 'reference':
      return alignOf(state, type.to);
    case 'vector':
      return type.alignment;
    case 'record':
      return layoutOf(state, type).alignment;
    case 'tuple':
      return Math.max(1, ...type.elements.map((element) => alignOf(state, element)));
    case 'container':
      return type.length !== undefined ? alignOf(state, type.element) : 8;
    default:
      return sizeOf(state, type) ?? 1;
  }
}

const POINTER_BYTES = 8;

const empty: RecordLayout = { fields: [], alignment: 1, bases: [] };

/** Records in records and bases of bases: a template that derives from another instance of itself, which one is not known, has no end. */
const DEEPEST = 64;

/** Fields, size and alignment of a record; computed once. */
export function layoutOf(state: HostState, type: RecordType): RecordLayout {
  if (type.layout) return type.layout;
  if (state.layouts.has(type)) return empty;
  if (state.layouts.size >= DEEPEST) return (type.layout = empty);
  state.layouts.add(type);
  type.layout = computeLayout(state, type);
  state.layouts.delete(type);
  return type.layout;
}

function computeLayout(state: HostState, type: RecordType): RecordLayout {
  const bases = type.declaration.bases
    .map((base) => resolveType(state, base.type, type.scope))
    .filter((base) => base.kind === 'record')
    // a name that leads back to the record itself, where an argument is not known, is no base
    .filter((base) => !state.layouts.has(base));
  const fields: RecordField[] = [];
  const declared: RecordField[] = [];
  for (const member of fieldsOf(type.declaration)) collectField(state, type, member, declared);
  const isUnion = type.declaration.key === 'union';
  let bytes: number | undefined = 0;
  let alignment = declaredAlignment(state, type);
  for (const base of bases) {
    const from: number | undefined = bytes;
    for (const field of layoutOf(state, base).fields)
      fields.push({ ...field, offset: from === undefined ? undefined : plus(from, field.offset) });
    alignment = Math.max(alignment, layoutOf(state, base).alignment);
    bytes = plus(bytes, base.declaration.members?.length ? layoutOf(state, base).bytes : 0);
  }
  const { specifiers, packing } = type.declaration;
  const largest = specifiers.isPacked ? 1 : (packing ?? Number.POSITIVE_INFINITY);
  // the layout of anonymous members is not followed
  const isFlat = declared.length === fieldsOf(type.declaration).length;
  for (const [index, field] of declared.entries()) {
    const isReference = field.type.kind === 'reference';
    const size = isReference ? POINTER_BYTES : sizeOf(state, field.type);
    const own = isReference ? POINTER_BYTES : alignOf(state, field.type);
    const align = Math.min(largest, field.initializer?.specifiers.isPacked ? 1 : own);
    const width = bitWidthOf(state, field);
    alignment = Math.max(alignment, align);
    const from = isUnion ? 0 : bytes === undefined ? undefined : roundUp(Math.ceil(bytes), align);
    if (isFlat && width === undefined) declared[index] = { ...field, offset: from };
    if (isUnion) bytes = bytes === undefined || size === undefined ? undefined : Math.max(bytes, size);
    else if (width !== undefined && bytes !== undefined) bytes = behindBits(bytes, size ?? 4, width, largest);
    else bytes = plus(bytes === undefined ? undefined : roundUp(Math.ceil(bytes), align), size);
  }
  if (bytes !== undefined) bytes = Math.ceil(bytes);
  return {
    fields: [...fields, ...declared],
    bytes: bytes === undefined ? undefined : Math.max(1, roundUp(bytes, alignment)),
    alignment,
    bases,
  };
}

/** A part of a type, spelled as if the type's members were variables: `member.part[2]`. */
export function partAt(
  state: HostState,
  whole: HostType,
  node: Expression,
  scope: Scope,
): { type: HostType; offset: number } | undefined {
  if (node.kind === 'index') {
    const array = partAt(state, whole, node.base, scope);
    const index = evaluate(state, node.indices[0], scope);
    const size = array?.type.kind === 'array' ? sizeOf(state, array.type.of) : undefined;
    if (array?.type.kind !== 'array' || index.kind !== 'number' || size === undefined) return undefined;
    return { type: array.type.of, offset: array.offset + index.value * size };
  }
  const from = node.kind === 'member' ? partAt(state, whole, node.object, scope) : { type: whole, offset: 0 };
  const name = node.kind === 'member' || node.kind === 'name' ? lastName(node.name) : '';
  const fields = from?.type.kind === 'record' ? layoutOf(state, from.type).fields : [];
  const field = fields.findLast((each) => each.name === name);
  if (!from || field?.offset === undefined) return undefined;
  return { type: field.type, offset: from.offset + field.offset };
}

/** Of a bit-field. */
export function bitWidthOf(state: HostState, { initializer, scope }: RecordField): number | undefined {
  if (!initializer?.bitWidth) return undefined;
  const width = evaluate(state, initializer.bitWidth, scope);
  return width.kind === 'number' ? Number(width.value) : undefined;
}

/** Bytes, in eighths, behind a bit-field that follows others; it begins anew where it would cross a boundary of its type. */
function behindBits(before: number, size: number, width: number, largest: number): number {
  const [first, unit] = [before * 8, size * 8];
  const crosses = largest >= size && Math.floor(first / unit) !== Math.floor((first + width - 1) / unit);
  return ((crosses ? roundUp(first, unit) : first) + width) / 8;
}

function plus(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a + b;
}

export function roundUp(value: number, unit: number): number {
  return Math.ceil(value / unit) * unit;
}

function declaredAlignment(state: HostState, type: RecordType): number {
  const alignment = type.declaration.specifiers.alignment;
  if (!alignment || !('first' in alignment)) return 1;
  if ('isConst' in alignment) return alignOf(state, resolveType(state, alignment, type.scope));
  const value = evaluate(state, alignment, type.scope);
  return value.kind === 'number' && value.value > 0 ? value.value : 1;
}

function fieldsOf(declaration: RecordDeclaration): (VariableDeclaration | RecordDeclaration)[] {
  return (declaration.members ?? []).filter(
    (member): member is VariableDeclaration | RecordDeclaration =>
      (member.kind === 'variable' && !member.specifiers.isStatic && !member.specifiers.isConstexpr) ||
      (member.kind === 'record' && member.name === undefined),
  );
}

/** Members of an anonymous struct or union count as the record's own; their layout is taken one after another. */
function collectField(
  state: HostState,
  type: RecordType,
  member: VariableDeclaration | RecordDeclaration,
  into: RecordField[],
): void {
  if (member.kind === 'record') {
    for (const inner of fieldsOf(member)) collectField(state, type, inner, into);
  } else if (member.name) {
    const field = resolveType(state, member.type, type.scope);
    into.push({ name: member.name, type: field, initializer: member, scope: type.scope });
  } else if (member.type.kind === 'record') {
    for (const inner of fieldsOf(member.type.record)) collectField(state, type, inner, into);
  }
}
