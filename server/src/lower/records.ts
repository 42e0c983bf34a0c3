/** Records: instantiation of class templates, layout by the Itanium rules that nvcc follows on its hosts. */
import type { Declaration, FunctionDeclaration, RecordDeclaration, TypeNode, VariableDeclaration } from '../parse/ast';
import { constantOf } from './constants';
import type { Context } from './context';
import { attachOutOfClass, attachRecords } from './out-of-class';
import { expandTypes } from './packs';
import { inScope, isSpecialisation, resolveType } from './resolve-type';
import { declareAll, Scope } from './scope';
import { mostSpecialised, UNDECIDED } from './specialisations';
import { bindTemplateParameters } from './templates';
import {
  alignOf,
  type Field,
  type RecordInfo,
  sizeOf,
  type TemplateValue,
  type Type,
  typeKey,
  types,
  unknownType,
  vectorTypes,
} from './types';

/** The record behind a type (through references). */
export function recordOf(type: Type): RecordInfo | undefined {
  const t = type.kind === 'reference' ? type.to : type;
  return t.kind === 'record' ? t.record : undefined;
}

export function argumentKey(value: TemplateValue): string {
  switch (value.kind) {
    case 'type':
      return `${value.type.isConst ? 'const ' : ''}${value.type.isVolatile ? 'volatile ' : ''}${typeKey(value.type)}`;
    case 'number':
      return String(value.value);
    case 'pack':
      return value.elements.map(argumentKey).join(',');
    case 'name':
      return value.name;
    default:
      return '?';
  }
}

/** Equal for launches of the same instance of a kernel. */
export const instanceKey = (values: readonly TemplateValue[]): string => values.map(argumentKey).join(',');

/** Whether two keys are of one instance; the text of a launch does not say what a pointer's data is const for. */
export const isSameInstance = (a: string | undefined, b: string | undefined): boolean =>
  a === b || (a !== undefined && b !== undefined && withoutConst(a) === withoutConst(b));

/** Whether two keys may be of one instance that is written in two ways: not if a number of theirs is another one. */
export function mayBeInstance(a: string | undefined, b: string | undefined): boolean {
  const [these, those] = [a ?? '', b ?? ''].map((key) => key.split(','));
  const isNumber = /^-?\d+$/;
  return (
    these.length !== those.length ||
    these.every((part, i) => part === those[i] || !isNumber.test(part) || !isNumber.test(those[i]))
  );
}

const withoutConst = (key: string): string => key.replace(/\bconst /g, '');

/** The type of a record declaration, its template instantiated for `args` (written or deduced; undefined: none given). */
export function instantiateRecord(
  ctx: Context,
  primary: RecordDeclaration,
  scope: Scope,
  args: readonly TemplateValue[] | undefined,
  declarations: readonly RecordDeclaration[] = [primary],
): Type {
  const given = keyOf(primary, scope, args);
  const known = ctx.records.get(given);
  if (known) return known;
  if (ctx.templateDepth > ctx.budget.templateDepth || ctx.records.size > 4000)
    return unknownType(`templates nested too deeply at ${labelOf(primary, scope, args)}`);
  ctx.templateDepth++;
  try {
    // an instance is the same whether its defaults are written or not
    const complete = args && completeArguments(ctx, primary, scope, args);
    const key = keyOf(primary, scope, complete);
    const type = ctx.records.get(key) ?? buildRecord(ctx, primary, scope, complete, declarations, key);
    if (type.kind === 'record') ctx.records.set(given, type);
    return type;
  } finally {
    ctx.templateDepth--;
  }
}

/** A member's name begins with its record's: `View<float>::Handle` and `View<double>::Handle` are two types. */
function labelOf(primary: RecordDeclaration, scope: Scope, args: readonly TemplateValue[] | undefined): string {
  const outer = scope.recordType?.kind === 'record' ? `${scope.recordType.record.name}::` : '';
  const written = primary.name?.parts.at(-1)?.name ?? primary.typedefName;
  // two of them are two types
  const name = written ?? `(unnamed ${primary.key} ${primary.first})`;
  return outer + (args ? `${name}<${args.map(argumentKey).join(', ')}>` : name);
}

function keyOf(primary: RecordDeclaration, scope: Scope, args: readonly TemplateValue[] | undefined): string {
  return `${primary.first}:${labelOf(primary, scope, args)}:${scopeKey(scope)}`;
}

/** Arguments with the defaults behind them; packs are spread. */
function completeArguments(
  ctx: Context,
  primary: RecordDeclaration,
  scope: Scope,
  args: readonly TemplateValue[],
): readonly TemplateValue[] {
  if (!primary.templateParameters) return args;
  const complete = bindTemplateParameters(ctx, new Scope(scope, 'arguments'), primary.templateParameters, args);
  return complete.flatMap((a) => (a.kind === 'pack' ? a.elements : [a]));
}

let scopeCount = 0;
const scopeIds = new WeakMap<Scope, number>();
function scopeKey(scope: Scope): number {
  let id = scopeIds.get(scope);
  if (id === undefined) scopeIds.set(scope, (id = ++scopeCount));
  return id;
}

/** Inside a class template its own name means the current instance. */
export function injectedName(from: Scope, primary: RecordDeclaration): Type | undefined {
  for (let s: Scope | undefined = from; s; s = s.parent) {
    if (s.recordType?.kind === 'record' && s.recordType.record.template === primary) return s.recordType;
  }
  return undefined;
}

function buildRecord(
  ctx: Context,
  primary: RecordDeclaration,
  scope: Scope,
  args: readonly TemplateValue[] | undefined,
  declarations: readonly RecordDeclaration[],
  key: string,
): Type {
  const label = labelOf(primary, scope, args);
  const inner = new Scope(scope, label);
  let declaration = primary;
  if (args && primary.templateParameters) {
    const special = chooseSpecialisation(ctx, primary, declarations, scope, args, inner);
    if (special === UNDECIDED) return unknownType(`which specialisation ${label} means is not known`);
    declaration = special ?? primary;
    if (declaration === primary) bindTemplateParameters(ctx, inner, primary.templateParameters, args);
  }
  if (declaration.bases.some(({ isVirtual }) => isVirtual)) return unknownType(`${label} has a virtual base`);
  if (!declaration.members) {
    const vector = vectorTypes.get(label);
    return vector ?? unknownType(`${label} is declared but not defined in the files that could be read`);
  }
  const type: Type & { kind: 'record' } = {
    kind: 'record',
    record: emptyRecord(label, inner, declaration, primary, args),
  };
  ctx.records.set(key, type);
  inner.recordType = type;
  // inside of the class its name is the type, not its constructors
  const own = primary.name?.parts.at(-1)?.name;
  const isConstructor = (d: Declaration) => d.kind === 'function' && d.name.parts.at(-1)?.name === own;
  declareAll(
    inner,
    declaration.members.filter((d) => !isConstructor(d)),
  );
  attachRecords(scope, primary, inner);
  const layout = layOut(ctx, declaration, inner);
  Object.assign(type.record, layout, { methods: methodsOf(declaration.members) });
  attachOutOfClass(ctx, scope, primary, inner);
  return type;
}

function emptyRecord(
  name: string,
  scope: Scope,
  declaration: RecordDeclaration,
  template: RecordDeclaration,
  args?: readonly TemplateValue[],
): RecordInfo {
  return {
    name,
    isUnion: declaration.key === 'union',
    fields: [],
    bytes: 1,
    alignment: 1,
    isVector: false,
    scope,
    declaration,
    methods: new Map(),
    template,
    templateArguments: args,
  };
}

/** Picks the most specific specialisation that matches; binds its parameters in `inner`. */
function chooseSpecialisation(
  ctx: Context,
  primary: RecordDeclaration,
  declarations: readonly RecordDeclaration[],
  scope: Scope,
  args: readonly TemplateValue[],
  inner: Scope,
): RecordDeclaration | typeof UNDECIDED | undefined {
  const special = declarations.filter((d) => isSpecialisation(d) && d.members);
  const best = mostSpecialised(ctx, special, patternOf, primary.templateParameters ?? [], args, scope);
  if (!best || best === UNDECIDED) return best;
  for (const [name, value] of best.bound) inner.define(name, { kind: 'template', value });
  return best.declaration;
}

const patternOf = (d: RecordDeclaration) => d.name?.parts[d.name.parts.length - 1].templateArguments ?? [];

function methodsOf(members: readonly Declaration[]): Map<string, FunctionDeclaration[]> {
  const methods = new Map<string, FunctionDeclaration[]>();
  for (const member of members) {
    if (member.kind !== 'function') continue;
    const name = member.name.parts[member.name.parts.length - 1].name;
    const list = methods.get(name);
    if (list) list.push(member);
    else methods.set(name, [member]);
  }
  return methods;
}

// ---- layout ----

interface Cursor {
  offset: number;
  size: number;
  alignment: number;
  /** Bits in front of `offset` that the last bit-field leaves free. */
  bits?: number;
}

function layOut(
  ctx: Context,
  declaration: RecordDeclaration,
  scope: Scope,
): Pick<RecordInfo, 'fields' | 'bytes' | 'alignment'> {
  const fields: Field[] = [];
  const cursor: Cursor = { offset: 0, size: 0, alignment: 1 };
  const isUnion = declaration.key === 'union';
  const largest = packingOf(declaration);
  const place = (name: string, type: Type, extra: Partial<Field>, minimum = 1, most = largest) => {
    const isEmpty = extra.isBase && recordOf(type)?.fields.length === 0 && !hasTable(type);
    const bytes = isEmpty ? 0 : (sizeOf(type) ?? 8);
    const alignment = Math.max(Math.min(alignOf(type), most), minimum);
    const offset = isUnion ? 0 : Math.ceil(cursor.offset / alignment) * alignment;
    fields.push({ name, type, offset, ...extra });
    cursor.alignment = Math.max(cursor.alignment, alignment);
    cursor.offset = offset + bytes;
    cursor.size = Math.max(cursor.size, cursor.offset);
    cursor.bits = undefined;
  };
  const bases = declaration.bases.flatMap((base) => baseTypes(ctx, base.type, scope));
  const isVirtual = hasVirtualMethods(declaration);
  // nothing of a kernel reads or writes the pointer to the table of methods, but the members lie behind it
  if (isVirtual && !ctx.unit.isHost && !bases.some(hasTable))
    Object.assign(cursor, { offset: TABLE_BYTES, size: TABLE_BYTES, alignment: TABLE_BYTES });
  for (const type of bases) {
    if (type.kind === 'record') place(`(base ${type.record.name})`, type, { isBase: true });
    else if (type.kind === 'lambda' && ctx.unit.isHost) place(`(base ${typeKey(type)})`, kept(type), { isBase: true });
  }
  // behind the bases: a pointer to an object stays one to its first base
  if (isVirtual && ctx.unit.isHost && !fields.some(({ type }) => hasClass(type))) place(CLASS_FIELD, types.ulong, {});
  // the scope's record must already show the bases while member types are resolved
  if (scope.recordType?.kind === 'record') Object.assign(scope.recordType.record, { fields });
  for (const member of declaration.members ?? []) {
    if (member.kind === 'record' && !member.name)
      place('(anonymous)', resolveAnonymous(ctx, member, scope), { isAnonymous: true });
    if (member.kind !== 'variable' || member.specifiers.isStatic || member.specifiers.isConstexpr) continue;
    if (isUnion) Object.assign(cursor, { offset: 0, bits: undefined });
    layOutMember(ctx, member, scope, fields, cursor, place, largest);
  }
  const wanted = alignmentOf(ctx, declaration, scope);
  const alignment = Math.max(cursor.alignment, wanted);
  return { fields, bytes: Math.max(1, Math.ceil(cursor.size / alignment) * alignment), alignment };
}

/** Bytes of the pointer to the table of virtual methods, with which objects begin (Itanium C++ ABI, 2.4 II and 2.5). */
const TABLE_BYTES = 8;

const hasVirtualMethods = ({ members = [] }: RecordDeclaration): boolean =>
  members.some((m) => m.kind === 'function' && m.specifiers.isVirtual);

/** Whether objects of a class begin with a pointer to a table of methods, their own or that of a base. */
const hasTable = (type: Type): boolean =>
  type.kind === 'record' &&
  ((type.record.declaration !== undefined && hasVirtualMethods(type.record.declaration)) ||
    type.record.fields.some((field) => field.isBase && hasTable(field.type)));

/** The hidden member by which an object of the host with virtual methods tells its class. */
export const CLASS_FIELD = '(class)';

/** Whether objects of the type tell which class they are of. */
export const hasClass = (type: Type): boolean =>
  type.kind === 'record' && findField(type.record, CLASS_FIELD) !== undefined;

function baseTypes(ctx: Context, base: TypeNode, scope: Scope): readonly Type[] {
  if (base.kind === 'packExpansion') return expandTypes(ctx, base.of, scope) ?? [];
  return [resolveType(ctx, base, scope)];
}

function resolveAnonymous(ctx: Context, member: RecordDeclaration, scope: Scope): Type {
  return instantiateRecord(ctx, member, scope, undefined);
}

/** `__attribute__((packed))` or `#pragma pack`: the largest alignment that a member gets. */
const packingOf = ({ specifiers, packing }: RecordDeclaration): number =>
  specifiers.isPacked ? 1 : (packing ?? Number.POSITIVE_INFINITY);

/** What memory of the host holds of a lambda is what it holds of any function. */
const kept = ({ lambda }: Type & { kind: 'lambda' }): Type => ({ kind: 'callable', of: { kind: 'function', lambda } });

type PlaceField = (name: string, type: Type, extra: Partial<Field>, minimum?: number, most?: number) => void;

function layOutMember(
  ctx: Context,
  member: VariableDeclaration,
  scope: Scope,
  fields: Field[],
  cursor: Cursor,
  place: PlaceField,
  largest: number,
): void {
  const written = resolveType(ctx, member.type, scope);
  const type = written.kind === 'lambda' && ctx.unit.isHost ? kept(written) : written;
  const width =
    member.bitWidth &&
    inScope(ctx, scope, () => constantOf(ctx, member.bitWidth as NonNullable<typeof member.bitWidth>));
  if (width !== undefined) {
    layOutBits(member.name ?? '', type, width, fields, cursor, largest);
    return;
  }
  const anonymous = !member.name && type.kind === 'record';
  const minimum = member.specifiers.alignment ? declaredAlignment(ctx, member.specifiers.alignment, scope) : 1;
  const most = member.specifiers.isPacked ? 1 : largest;
  place(member.name ?? '(anonymous)', type, anonymous ? { isAnonymous: true } : {}, minimum, most);
}

/**
 * A bit-field lies behind what comes before it, bit by bit, and begins anew where it would cross a boundary of its type (Itanium
 * C++ ABI, 2.4 II 1); packed ones cross. Its unit is the number of its type that it lies in.
 */
function layOutBits(name: string, type: Type, width: number, fields: Field[], cursor: Cursor, largest: number): void {
  const bytes = sizeOf(type) ?? 4;
  const alignment = Math.min(bytes, largest);
  let first = cursor.offset * 8 - (cursor.bits ?? 0);
  const unitOf = (bit: number) => Math.floor(bit / (bytes * 8));
  const crosses = largest >= bytes && width > 0 && unitOf(first) !== unitOf(first + width - 1);
  if (width === 0 || crosses) first = Math.ceil(first / (bytes * 8)) * bytes * 8;
  cursor.offset = Math.ceil((first + width) / 8);
  cursor.bits = cursor.offset * 8 - (first + width);
  cursor.size = Math.max(cursor.size, cursor.offset);
  if (width === 0) return;
  cursor.alignment = Math.max(cursor.alignment, alignment);
  const offset = largest >= bytes ? unitOf(first) * bytes : Math.floor(first / 8);
  fields.push({ name, type, offset, bits: { first: first - offset * 8, width } });
}

function alignmentOf(ctx: Context, declaration: RecordDeclaration, scope: Scope): number {
  const wanted = declaration.specifiers.alignment;
  return wanted ? declaredAlignment(ctx, wanted, scope) : 1;
}

/** alignas(16), alignas(float4), __align__(N) */
export function declaredAlignment(
  ctx: Context,
  node: NonNullable<RecordDeclaration['specifiers']['alignment']>,
  scope: Scope,
): number {
  const isType = 'isConst' in node;
  if (isType) return alignOf(resolveType(ctx, node, scope));
  return inScope(ctx, scope, () => constantOf(ctx, node)) ?? 1;
}

/** Field by name, through bases and anonymous members; offsets are relative to the outer record. */
export function findField(record: RecordInfo, name: string, depth = 0): { path: readonly Field[] } | undefined {
  if (depth > 16) return undefined;
  const direct = record.fields.find((f) => f.name === name);
  if (direct) return { path: [direct] };
  for (const field of record.fields) {
    if (!(field.isBase || field.isAnonymous) || field.type.kind !== 'record') continue;
    const inner = findField(field.type.record, name, depth + 1);
    if (inner) return { path: [field, ...inner.path] };
  }
  return undefined;
}

/** Methods by name, bases included. */
export function findMethods(
  record: RecordInfo,
  name: string,
  depth = 0,
): { declarations: readonly FunctionDeclaration[]; owner: RecordInfo } | undefined {
  const own = record.methods.get(name);
  const brought = own && usesOf(record, name) ? inBases(record, name, depth) : undefined;
  if (own) return { declarations: brought ? [...own, ...brought.declarations] : own, owner: record };
  return inBases(record, name, depth);
}

/** `using Base::name;` brings what the class's own methods of the name would hide. */
const usesOf = ({ declaration }: RecordInfo, name: string): boolean =>
  declaration?.members?.some((m) => m.kind === 'using' && !m.isDirective && m.name.parts.at(-1)?.name === name) ??
  false;

function inBases(record: RecordInfo, name: string, depth: number): ReturnType<typeof findMethods> {
  if (depth > 16) return undefined;
  for (const field of record.fields) {
    if (!field.isBase || field.type.kind !== 'record') continue;
    const inner = findMethods(field.type.record, name, depth + 1);
    if (inner) return inner;
  }
  return undefined;
}

/** The template arguments that hold where a declaration stands. */
export function instanceAround(ctx: Context): string {
  const found: string[] = [];
  for (let scope: Scope | undefined = ctx.scope; scope && scope !== ctx.unit.scope; scope = scope.parent)
    for (const [name, entity] of scope.entries())
      if (entity.kind === 'template') found.push(`${name}=${argumentKey(entity.value)}`);
  return found.join(';');
}
