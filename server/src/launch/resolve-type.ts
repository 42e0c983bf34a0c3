/** From the syntax of a type to a host type: names looked up, templates instantiated. */
import type { NamePart, QualifiedName, RecordDeclaration, TemplateArgument, TypeNode } from '../parse/ast';
import { areFulfilled } from './constraints';
import { deduceType } from './deduction';
import { evaluate, expandKnownPack } from './expression';
import {
  argumentName,
  autoType,
  type HostType,
  type RecordType,
  typeName,
  voidType,
  withoutReference,
} from './host-type';
import { declareEnumerators, lookupQualified, undeclaredType } from './lookup';
import { addSymbol, childScope, type HostSymbol, lastName, type Scope, spelledName } from './scope';
import { signatureOf, typeOfDecltype } from './signatures';
import { standardType } from './standard-types';
import type { HostState } from './state';
import { bindPack, bindParameters } from './template-binding';
import type { BoundArgument, Value } from './value';

type RecordSymbol = HostSymbol & { kind: 'record' };

/** Resolves a type; what is not known becomes opaque with its name. */
export function resolveType(state: HostState, node: TypeNode, scope: Scope): HostType {
  switch (node.kind) {
    case 'builtin':
      return node.name === 'void' ? voidType : { kind: 'arithmetic', name: node.name };
    case 'named':
      return resolveNamed(state, node, scope);
    case 'pointer':
      return { kind: 'pointer', to: resolveType(state, node.to, scope) };
    case 'reference':
      return { kind: 'reference', to: resolveType(state, node.to, scope) };
    case 'array':
      return { kind: 'array', of: resolveType(state, node.of, scope), length: arrayLength(state, node.size, scope) };
    case 'decltype':
      return typeOfDecltype(state, node.expression, scope);
    case 'record':
      return instantiateRecord(state, { kind: 'record', declaration: node.record, scope }, undefined);
    case 'enum':
      return enumType(state, { kind: 'enum', declaration: node.enumeration, scope });
    case 'packExpansion':
      return resolveType(state, node.of, scope);
    case 'function':
      return signatureOf(state, node, scope);
    case 'memberPointer':
      return { kind: 'function' };
    default:
      return autoType;
  }
}

function arrayLength(state: HostState, size: Parameters<typeof evaluate>[1] | undefined, scope: Scope) {
  const value = size && evaluate(state, size, scope);
  return value?.kind === 'number' ? value.value : undefined;
}

function resolveNamed(state: HostState, node: TypeNode & { kind: 'named' }, scope: Scope): HostType {
  const name = node.name;
  const part = name.parts.at(-1);
  const given = part?.templateArguments && bindArguments(state, part.templateArguments, scope);
  const found = lookupQualified(state, name, scope);
  if (found?.kind === 'type') return given ? respecialised(state, found.type, given) : found.type;
  if (found?.kind === 'cell' && name.parts.length === 1) {
    const hidden = hiddenType(state, lastName(name), scope);
    if (hidden) return hidden;
  }
  if (found?.kind === 'symbols') {
    const type = resolveSymbolType(state, found.symbols, given ?? []);
    if (type) return type;
  }
  return (
    standardType(lastName(name), given ?? []) ??
    memberOfTrait(state, name, scope) ??
    undeclaredType(name) ?? { kind: 'opaque', name: spelledName(name), node: opaqueNode(node, given) }
  );
}

/** `std::conditional<c, A, B>::type` is what `std::conditional_t<c, A, B>` is. */
function memberOfTrait(state: HostState, name: QualifiedName, scope: Scope): HostType | undefined {
  const outer = name.parts.at(-2);
  if (lastName(name) !== 'type' || !outer?.templateArguments) return undefined;
  return standardType(`${outer.name}_t`, bindArguments(state, outer.templateArguments, scope));
}

/** `struct Par` where a variable Par hides the type. */
function hiddenType(state: HostState, name: string, from: Scope): HostType | undefined {
  for (let scope: Scope | undefined = from; scope; scope = scope.parent) {
    const types = scope.symbols
      ?.get(name)
      ?.filter(({ kind }) => kind === 'record' || kind === 'enum' || kind === 'alias');
    if (types && types.length > 0) return resolveSymbolType(state, types, undefined);
  }
  return undefined;
}

/** Inside of a template record its bare name is itself; `Self<U>` is another instance. */
function respecialised(state: HostState, type: HostType, given: readonly BoundArgument[]): HostType {
  if (type.kind !== 'record' || !type.declaration.templateParameters || !type.scope.parent?.parent) return type;
  const around = type.scope.parent.parent;
  const declared = (around.symbols?.get(type.name) ?? []).filter((symbol) => symbol.kind === 'record');
  const symbol: RecordSymbol = { kind: 'record', declaration: type.declaration, scope: around };
  return resolveRecords(state, declared.length > 0 ? declared : [symbol], given) ?? type;
}

/** The type that records, enumerations and aliases of one name stand for; undefined for a template without arguments. */
export function resolveSymbolType(
  state: HostState,
  symbols: readonly HostSymbol[],
  given: readonly BoundArgument[] | undefined,
): HostType | undefined {
  const alias = symbols.find((symbol) => symbol.kind === 'alias');
  const records = symbols.filter((symbol): symbol is RecordSymbol => symbol.kind === 'record');
  if (records.length > 0) return resolveRecords(state, records, given);
  if (alias?.kind === 'alias') return resolveAlias(state, alias, given);
  const enumeration = symbols.find((symbol) => symbol.kind === 'enum');
  return enumeration?.kind === 'enum' ? enumType(state, enumeration) : undefined;
}

function resolveAlias(
  state: HostState,
  alias: HostSymbol & { kind: 'alias' },
  given: readonly BoundArgument[] | undefined,
): HostType | undefined {
  const parameters = alias.declaration.templateParameters;
  if (!parameters) return guarded(state, alias, () => aliased(state, alias));
  if (!given) return undefined;
  const scope = childScope(alias.scope);
  bindParameters(state, parameters, given, scope);
  return guarded(state, alias, () => resolveType(state, alias.declaration.type, scope));
}

function aliased(state: HostState, { declaration, scope }: HostSymbol & { kind: 'alias' }): HostType {
  const { type, name } = declaration;
  return type.kind === 'record' && !type.record.name
    ? instantiateRecord(state, { kind: 'record', declaration: type.record, scope, alias: name }, undefined)
    : resolveType(state, type, scope);
}

/** An alias may lead back to itself: `typedef struct Node Node;` of a header that is not there. */
function guarded(state: HostState, key: unknown, resolve: () => HostType): HostType {
  if (state.layouts.has(key)) return autoType;
  state.layouts.add(key);
  const type = resolve();
  state.layouts.delete(key);
  return type;
}

function resolveRecords(
  state: HostState,
  records: readonly RecordSymbol[],
  given: readonly BoundArgument[] | undefined,
): HostType | undefined {
  const primary = preferDefinition(records.filter((record) => !isSpecialisation(record.declaration))) ?? records[0];
  if (!primary.declaration.templateParameters) return instantiateRecord(state, primary, undefined);
  if (!given) return undefined;
  return specialisedFor(state, records, given) ?? instantiateRecord(state, primary, given);
}

function preferDefinition(records: readonly RecordSymbol[]): RecordSymbol | undefined {
  return records.find((record) => record.declaration.members) ?? records[0];
}

function isSpecialisation(declaration: RecordDeclaration): boolean {
  return declaration.name?.parts.at(-1)?.templateArguments !== undefined;
}

/** The explicit or partial specialisation that fits, the one with fewer parameters first. */
function specialisedFor(
  state: HostState,
  records: readonly RecordSymbol[],
  given: readonly BoundArgument[],
): HostType | undefined {
  const candidates = records
    .filter((record) => isSpecialisation(record.declaration))
    .sort((a, b) => countParameters(a) - countParameters(b));
  for (const candidate of candidates) {
    const bound = matchSpecialisation(state, candidate, given);
    const isMeant = bound && isAllowed(state, candidate, bound);
    if (bound && isMeant) return instantiateRecord(state, candidate, given, bound);
    // which it is nobody knows
    if (bound && isMeant === undefined) return { kind: 'opaque', name: lastName(candidate.declaration.name ?? noName) };
  }
  const isOpen = candidates.length > 0 && given.some((each) => each.kind === 'type' && each.type.kind === 'auto');
  return isOpen ? { kind: 'opaque', name: lastName(candidates[0].declaration.name ?? noName) } : undefined;
}

const noName: QualifiedName = { first: 0, last: 0, global: false, parts: [{ name: '' }] };

function isAllowed(
  state: HostState,
  { declaration: { constraints }, scope }: RecordSymbol,
  bound: ReadonlyMap<string, BoundArgument>,
): boolean | undefined {
  if (!constraints) return true;
  const inner = childScope(scope);
  for (const [name, argument] of bound) bindOne(inner, name, argument);
  return areFulfilled(state, constraints, inner);
}

/** Those with constraints count as more special. */
function countParameters(record: RecordSymbol): number {
  const { templateParameters = [], constraints } = record.declaration;
  return templateParameters.length - (constraints ? 0.5 : 0);
}

function matchSpecialisation(
  state: HostState,
  candidate: RecordSymbol,
  given: readonly BoundArgument[],
): Map<string, BoundArgument> | undefined {
  const pattern = candidate.declaration.name?.parts.at(-1)?.templateArguments ?? [];
  const names = new Set((candidate.declaration.templateParameters ?? []).map((parameter) => parameter.name ?? ''));
  const bound = new Map<string, BoundArgument>();
  const rest = pattern.at(-1)?.pack ? pattern.length - 1 : undefined;
  if (rest === undefined ? pattern.length !== given.length : given.length < rest) return undefined;
  for (const [index, part] of pattern.slice(0, rest).entries()) {
    const actual = given[index];
    const open = openName(part, names);
    if (open) {
      const earlier = bound.get(open);
      if (earlier && argumentName(earlier) !== argumentName(actual)) return undefined;
      bound.set(open, actual);
      continue;
    }
    if (actual.kind === 'type' && part.type) deduceType(state, part.type, actual.type, names, bound);
    const scope = childScope(candidate.scope);
    for (const [name, argument] of bound) bindOne(scope, name, argument);
    const [exact] = bindArguments(state, [part], scope);
    if (argumentName(exact) !== argumentName(actual)) return undefined;
  }
  const pack = rest === undefined ? undefined : openPack(pattern[rest], names);
  if (rest !== undefined && pack === undefined) return undefined;
  if (pack !== undefined) bound.set(pack, { kind: 'pack', elements: given.slice(rest) });
  return bound;
}

/** `Rest` in `List<First, Rest...>` */
function openPack(part: TemplateArgument, names: ReadonlySet<string>): string | undefined {
  const type = part.type?.kind === 'packExpansion' ? part.type.of : part.type;
  return openName({ ...part, type }, names);
}

/** The parameter a pattern argument consists of: `N` in `Traits<float, N>`. */
function openName(part: TemplateArgument, names: ReadonlySet<string>): string | undefined {
  const named = part.type?.kind === 'named' ? part.type.name : undefined;
  const value = part.expression?.kind === 'name' ? part.expression.name : undefined;
  const name = named ?? value;
  return name && name.parts.length === 1 && names.has(name.parts[0].name) ? name.parts[0].name : undefined;
}

/** A record with its template arguments; one object for one instance. */
export function instantiateRecord(
  state: HostState,
  symbol: RecordSymbol,
  given: readonly BoundArgument[] | undefined,
  bound?: ReadonlyMap<string, BoundArgument>,
): RecordType {
  const key = given ? given.map(argumentName).join(',') : '';
  const isFixed = !given?.some((argument) => argument.kind === 'value' && argument.value.kind !== 'number');
  const known = state.records.get(symbol.declaration)?.get(key);
  if (known && isFixed && known.from === symbol.scope) return known.type;
  const type = makeRecord(state, symbol, given, bound);
  const instances = state.records.get(symbol.declaration) ?? new Map();
  state.records.set(symbol.declaration, instances);
  instances.set(key, { from: symbol.scope, type });
  return type;
}

function makeRecord(
  state: HostState,
  symbol: RecordSymbol,
  given: readonly BoundArgument[] | undefined,
  bound: ReadonlyMap<string, BoundArgument> | undefined,
): RecordType {
  const declaration = symbol.declaration;
  const name = declaration.name ? lastName(declaration.name) : (symbol.alias ?? '');
  const outer = childScope(symbol.scope);
  if (bound) {
    for (const [parameter, argument] of bound) bindOne(outer, parameter, argument);
  } else if (given) bindParameters(state, declaration.templateParameters ?? [], given, outer);
  const type: RecordType = { kind: 'record', name, declaration, scope: outer, arguments: given };
  const scope = childScope(outer, { symbols: new Map(), record: type });
  type.scope = scope;
  for (const member of declaration.members ?? []) addSymbol(scope, member);
  if (name) outer.types.set(name, type);
  return type;
}

function bindOne(scope: Scope, name: string, argument: BoundArgument): void {
  if (argument.kind === 'type') scope.types.set(name, argument.type);
  else if (argument.kind === 'value') scope.values.set(name, { value: argument.value, name, depth: 0 });
  else bindPack(name, argument.elements, scope);
}

function enumType(state: HostState, symbol: HostSymbol & { kind: 'enum' }): HostType {
  const known = state.enums.get(symbol.declaration);
  if (known) return known;
  const underlying = symbol.declaration.underlying && resolveType(state, symbol.declaration.underlying, symbol.scope);
  const scope: Scope = { values: new Map(), types: new Map() };
  const type: HostType = {
    kind: 'enum',
    name: symbol.declaration.name ? lastName(symbol.declaration.name) : (symbol.declaration.typedefName ?? ''),
    underlying: underlying?.kind === 'arithmetic' ? underlying.name : 'int',
    scope,
  };
  state.enums.set(symbol.declaration, type);
  declareEnumerators(state, symbol, scope);
  return type;
}

/** Evaluates a list of template arguments; packs are spliced in. */
export function bindArguments(state: HostState, list: readonly TemplateArgument[], scope: Scope): BoundArgument[] {
  return list.flatMap((argument) => bindArgument(state, argument, scope));
}

function bindArgument(state: HostState, argument: TemplateArgument, scope: Scope): BoundArgument[] {
  const asType = argument.type && resolveType(state, argument.type, scope);
  if (argument.pack || asType?.kind === 'pack') {
    const pack = asType && packElements(asType, argument, scope);
    if (pack) return pack;
    const pattern = argument.type ?? argument.expression;
    const scopes = argument.pack && pattern && state.tokens ? expandKnownPack(state, pattern, scope) : undefined;
    if (scopes) return scopes.flatMap((inner) => bindArgument(state, { ...argument, pack: false }, inner));
  }
  const isKnownType = asType && asType.kind !== 'opaque' && asType.kind !== 'auto';
  if (!argument.expression || isKnownType) return [{ kind: 'type', type: asType ?? autoType }];
  const value = evaluate(state, argument.expression, scope);
  if (value.kind === 'pack') return value.elements.map((cell) => ({ kind: 'value', value: cell.value }));
  return argument.type && value.kind === 'unknown' && asType ? [unclear(asType, value)] : [{ kind: 'value', value }];
}

/** A name that nothing declares may be either: the template's parameter tells. */
function unclear(type: HostType, value: Value): BoundArgument {
  return value.kind === 'unknown' && value.roots.length > 0
    ? { kind: 'value', value, orType: type }
    : { kind: 'type', type };
}

function packElements(type: HostType, argument: TemplateArgument, scope: Scope): BoundArgument[] | undefined {
  if (type.kind === 'pack') return type.elements.map((element) => ({ kind: 'type', type: element }));
  const name = argument.expression?.kind === 'name' ? lastName(argument.expression.name) : '';
  for (let at: Scope | undefined = scope; at; at = at.parent) {
    const value = at.values.get(name)?.value;
    if (value?.kind === 'pack') return value.elements.map((cell) => ({ kind: 'value', value: cell.value }));
  }
  return undefined;
}

// ---- back to syntax -------------------------------------------------------------------------------------------------

const nowhere = { first: 0, last: 0 } as const;
const plain = { ...nowhere, isConst: false, isVolatile: false } as const;

/** The type as syntax again, free of the host's template parameters: for template arguments of kernels. */
export function toTypeNode(type: HostType): TypeNode {
  switch (type.kind) {
    case 'arithmetic':
      return { ...plain, kind: 'builtin', name: type.name };
    case 'pointer':
      return { ...plain, kind: 'pointer', to: toTypeNode(type.to), restrict: false };
    case 'reference':
      return { ...plain, kind: 'reference', to: toTypeNode(withoutReference(type)), rvalue: false };
    case 'array':
      return { ...plain, kind: 'array', of: toTypeNode(type.of), size: length(type.length) };
    case 'opaque':
      return type.node ?? namedNode([{ name: type.name }]);
    case 'record':
      return namedNode(recordName(type));
    case 'enum':
    case 'vector':
      return namedNode([{ name: type.name }]);
    case 'container':
      return namedNode([{ name: type.name, templateArguments: [typeArgument(type.element)] }]);
    default:
      return { ...plain, kind: 'unknown', reason: typeName(type) };
  }
}

function length(value: number | undefined) {
  if (value === undefined) return undefined;
  return { ...nowhere, kind: 'integer', value: BigInt(value), type: 'int' } as const;
}

function namedNode(parts: readonly NamePart[]): TypeNode {
  const name: QualifiedName = { ...nowhere, global: false, parts };
  return { ...plain, kind: 'named', name };
}

function recordName(type: RecordType): NamePart[] {
  const parts: NamePart[] = [];
  for (let at = type.scope.parent; at; at = at.parent) {
    if (at.namespace) parts.unshift({ name: at.namespace });
    else if (at.record && at.record !== type) {
      const outer = at.record;
      parts.unshift({ name: outer.name, templateArguments: outer.arguments?.map(toTemplateArgument) });
    }
  }
  return [...parts, { name: type.name, templateArguments: type.arguments?.map(toTemplateArgument) }];
}

function typeArgument(type: HostType): TemplateArgument {
  return { ...nowhere, type: toTypeNode(type), pack: false };
}

/** A template argument as syntax again. */
export function toTemplateArgument(argument: BoundArgument): TemplateArgument {
  if (argument.kind === 'type') return typeArgument(argument.type);
  const value = argument.kind === 'value' ? argument.value : undefined;
  if (value?.kind === 'number' && Number.isInteger(value.value)) {
    const literal = { ...nowhere, kind: 'integer', value: BigInt(value.value), type: value.of } as const;
    return { ...nowhere, expression: literal, pack: false };
  }
  const reason = argumentName(argument);
  return { ...nowhere, expression: { ...nowhere, kind: 'unknown', reason }, pack: false };
}

/** An unresolved name, with the host's own parameters in its template arguments replaced. */
function opaqueNode(node: TypeNode & { kind: 'named' }, given: readonly BoundArgument[] | undefined): TypeNode {
  if (!given) return node;
  const last = node.name.parts.at(-1);
  const parts = [
    ...node.name.parts.slice(0, -1),
    { name: last?.name ?? '', templateArguments: given.map(toTemplateArgument) },
  ];
  return { ...node, name: { ...node.name, parts } };
}
