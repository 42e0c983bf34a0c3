/** Name lookup in host code. */
import type { Expression, NamePart, QualifiedName } from '../parse/ast';
import { convertNumber } from './arithmetic';
import { evaluate } from './expression';
import { type HostType, intType, type RecordType, wellKnownType } from './host-type';
import { initialValue } from './initialise';
import { layoutOf } from './layout';
import { makeCell, named } from './memory';
import { bindArguments, resolveSymbolType, resolveType } from './resolve-type';
import {
  type EnumSymbol,
  type HostSymbol,
  lastName,
  ownType,
  ownValue,
  type Scope,
  type UsingSymbol,
  type VariableSymbol,
} from './scope';
import type { HostState } from './state';
import { unknownOf } from './unknown-of';
import { type Cell, type FunctionSymbol, number, typeOf, unknown, type Value } from './value';

export type Found =
  | { readonly kind: 'cell'; readonly cell: Cell }
  | { readonly kind: 'functions'; readonly overloads: readonly FunctionSymbol[]; readonly self?: Cell }
  | { readonly kind: 'type'; readonly type: HostType }
  /** a class template, an alias template */
  | { readonly kind: 'symbols'; readonly symbols: readonly HostSymbol[] }
  | { readonly kind: 'namespace'; readonly scope: Scope };

/** Looks an unqualified name up, from the innermost scope outwards. */
export function lookup(state: HostState, name: string, from: Scope): Found | undefined {
  for (let scope: Scope | undefined = from; scope; scope = scope.parent) {
    const found = lookupHere(state, name, scope);
    if (found) return found;
  }
  return undefined;
}

function lookupHere(state: HostState, name: string, scope: Scope): Found | undefined {
  const cell = scope.outside?.(name) ?? ownValue(scope, name);
  if (cell) return { kind: 'cell', cell };
  const type = ownType(scope, name);
  if (type) return { kind: 'type', type };
  const brought = scope.brought?.get(name);
  const behind = brought && ofUsing(state, brought);
  if (behind) return behind;
  const field = scope.self && fieldOf(scope.self.value, name);
  if (field) return { kind: 'cell', cell: field };
  // inside of a class its name is the type, not its constructors
  if (scope.record && name !== '' && scope.record.name === name) return { kind: 'type', type: scope.record };
  if (scope.record) return memberOf(state, scope.record, name, scope.self);
  const symbols = scope.symbols?.get(name);
  if (symbols) return fromSymbols(state, symbols, undefined);
  for (const using of scope.usings ?? []) {
    const inner = namespaceOf(state, using, scope);
    const found = inner && inner !== scope && inner.symbols?.get(name);
    if (found) return fromSymbols(state, found, undefined);
  }
  return undefined;
}

function fieldOf(value: Value, name: string): Cell | undefined {
  return value.kind === 'struct' ? value.fields.get(name) : undefined;
}

/** `using part::part;`: what stands before the `::` is no name that the declaration itself gives. */
function ofUsing(state: HostState, using: UsingSymbol): Found | undefined {
  const { name, scope } = using;
  if (state.openUsings.has(using)) return undefined;
  state.openUsings.add(using);
  try {
    return lookupQualified(state, name, scope);
  } finally {
    state.openUsings.delete(using);
  }
}

function fromSymbols(state: HostState, symbols: readonly HostSymbol[], self: Cell | undefined): Found | undefined {
  // A variable or function hides a type of the same name: `struct Par { … } Par;`
  const first = symbols.find(({ kind }) => kind === 'variable' || kind === 'function') ?? symbols[0];
  switch (first.kind) {
    case 'variable':
      return {
        kind: 'cell',
        cell: variableCell(
          state,
          symbols.filter((symbol) => symbol.kind === 'variable'),
        ),
      };
    case 'enumerator':
      return { kind: 'cell', cell: makeCell(enumeratorValue(state, first.of, first.index)) };
    case 'function':
      return { kind: 'functions', overloads: symbols.filter((symbol) => symbol.kind === 'function'), self };
    case 'namespace':
      return { kind: 'namespace', scope: first.scope };
    case 'using':
      return ofUsing(state, first);
    default: {
      const type = resolveSymbolType(state, symbols, undefined);
      return type ? { kind: 'type', type } : { kind: 'symbols', symbols };
    }
  }
}

/** The concept that a name means. */
export function conceptNamed(state: HostState, name: QualifiedName, from: Scope): VariableSymbol | undefined {
  const last = lastName(name);
  const isConcept = (symbol: HostSymbol) => symbol.kind === 'variable' && symbol.declaration.isConcept === true;
  const of = name.parts.length > 1 ? namespaceOf(state, { ...name, parts: name.parts.slice(0, -1) }, from) : undefined;
  if (name.parts.length > 1 && !of) return undefined;
  for (let scope: Scope | undefined = of ?? from; scope; scope = of ? undefined : scope.parent) {
    const within = [scope, ...(scope.usings ?? []).flatMap((using) => namespaceOf(state, using, from) ?? [])];
    const found = within.flatMap((each) => each.symbols?.get(last) ?? []).find(isConcept);
    if (found?.kind === 'variable') return found;
  }
  return undefined;
}

/** The global, namespace-level or static member variable: evaluated at its first use. */
function variableCell(state: HostState, symbols: readonly VariableSymbol[]): Cell {
  const defined = symbols.find((symbol) => symbol.declaration.initializer) ?? symbols[0];
  if (defined.cell) return defined.cell;
  const name = defined.declaration.name ?? '';
  if (defined.evaluating) return makeCell(unknown(`${name} depends on itself`));
  defined.evaluating = true;
  defined.cell = globalCell(state, defined, name);
  defined.evaluating = false;
  return defined.cell;
}

function globalCell(state: HostState, symbol: VariableSymbol, name: string): Cell {
  const declaration = definitionOf(state, symbol);
  // The journals of a branch that is undone must not hold a global's first value.
  const journals = state.journals.splice(0);
  const initial = initialValue(state, declaration, symbol.scope, declaration.initializer ? 'uninitialised' : 'zero');
  state.journals.push(...journals);
  const { type } = initial;
  // A global pointer that starts as null is set somewhere before it is used.
  const isNullPointer = type.kind === 'pointer' && initial.value.kind === 'number' && initial.value.value === 0;
  const value = isNullPointer ? unknownOf(state, type, name, 'parameter') : initial.value;
  const cell = makeCell(value, { type, name });
  cell.value = named(state, cell, value);
  return cell;
}

/** A static member may be defined outside of its class. */
function definitionOf(state: HostState, symbol: VariableSymbol): VariableSymbol['declaration'] {
  const record = symbol.scope.record;
  if (!record || symbol.declaration.initializer) return symbol.declaration;
  const outside = state.index.outOfClass.variables.get(`${record.name}::${symbol.declaration.name}`);
  return outside ?? symbol.declaration;
}

function enumeratorValue(state: HostState, symbol: EnumSymbol, index: number): Value {
  symbol.values ??= enumeratorValues(state, symbol);
  const value = symbol.values[index];
  const underlying = symbol.declaration.underlying;
  const type = underlying ? resolveType(state, underlying, symbol.scope) : intType;
  const of = type.kind === 'arithmetic' ? type.name : 'int';
  if (value === undefined) return unknown('an enumerator that is not known');
  const declared = resolveSymbolType(state, [symbol], undefined);
  const plain = number(convertNumber(value, of) ?? value, of);
  return declared?.kind === 'enum' ? { ...plain, declared } : plain;
}

function enumeratorValues(state: HostState, symbol: EnumSymbol): (number | undefined)[] {
  const values: (number | undefined)[] = [];
  symbol.values = values; // earlier enumerators may be used in later ones
  for (const enumerator of symbol.declaration.enumerators ?? []) {
    const last = values.length > 0 ? values[values.length - 1] : -1;
    const given = enumerator.value && evaluate(state, enumerator.value, enumScope(state, symbol));
    if (given) values.push(given.kind === 'number' ? given.value : undefined);
    else values.push(last === undefined ? undefined : last + 1);
  }
  return values;
}

/** Enumerators see the earlier ones of their enumeration, scoped ones too. */
function enumScope(state: HostState, symbol: EnumSymbol): Scope {
  const names = symbol.declaration.enumerators ?? [];
  return {
    parent: symbol.scope,
    values: new Map(),
    types: new Map(),
    outside: (name) => {
      const index = names.findIndex((enumerator) => enumerator.name === name);
      const known = index >= 0 && index < (symbol.values?.length ?? 0);
      return known ? makeCell(enumeratorValue(state, symbol, index)) : undefined;
    },
  };
}

/** A member of a record or of its bases: static variables, methods, nested types, enumerators. */
export function memberOf(state: HostState, record: RecordType, name: string, self?: Cell): Found | undefined {
  const own = record.scope.symbols?.get(name) ?? [];
  const usable = own.filter((symbol) => symbol.kind !== 'variable' || isStaticMember(symbol));
  if (usable.some(({ kind }) => kind === 'function') && usable.some(({ kind }) => kind === 'using'))
    return withBrought(state, record, usable, name, self);
  if (usable.length > 0) return fromSymbols(state, usable, self);
  for (const base of layoutOf(state, record).bases) {
    const found = memberOf(state, base, name, self);
    if (found) return found;
  }
  return undefined;
}

/** `using Base::name;` brings what the class's own methods of the name would hide. */
function withBrought(
  state: HostState,
  record: RecordType,
  own: readonly HostSymbol[],
  name: string,
  self: Cell | undefined,
): Found {
  const brought = layoutOf(state, record).bases.map((base) => memberOf(state, base, name, self));
  const overloads = [
    ...own.filter((symbol) => symbol.kind === 'function'),
    ...brought.flatMap((found) => (found?.kind === 'functions' ? found.overloads : [])),
  ];
  return { kind: 'functions', overloads, self };
}

function isStaticMember(symbol: VariableSymbol): boolean {
  return symbol.declaration.specifiers.isStatic || symbol.declaration.specifiers.isConstexpr;
}

/** The namespace of that name, seen from a scope. */
function namespaceOf(state: HostState, name: QualifiedName, from: Scope): Scope | undefined {
  let scope: Scope | undefined = name.global ? state.index.root : from;
  for (const [index, part] of name.parts.entries()) {
    const found: Found | undefined = index === 0 ? namespaceNamed(part.name, scope) : namespaceHere(part.name, scope);
    if (found?.kind !== 'namespace') return undefined;
    scope = found.scope;
  }
  return scope;
}

function namespaceHere(name: string, scope: Scope | undefined): Found | undefined {
  const symbol = scope?.symbols?.get(name)?.find((candidate) => candidate.kind === 'namespace');
  return symbol?.kind === 'namespace' ? { kind: 'namespace', scope: symbol.scope } : undefined;
}

function namespaceNamed(name: string, from: Scope | undefined): Found | undefined {
  for (let scope = from; scope; scope = scope.parent) {
    const found = namespaceHere(name, scope);
    if (found) return found;
  }
  return undefined;
}

/** Looks `a::b<int>::c` up; template arguments of the last part are left to the caller. */
export function lookupQualified(state: HostState, name: QualifiedName, from: Scope): Found | undefined {
  if (name.scopeOf) return memberOfExpression(state, name, name.scopeOf, from);
  if (!name.global && name.parts.length === 1) return lookup(state, name.parts[0].name, from);
  let found: Found | undefined = name.global ? { kind: 'namespace', scope: state.index.root } : undefined;
  for (const [index, part] of name.parts.entries()) {
    found = index === 0 && !found ? firstPart(state, part, from) : memberPart(state, found, part, from);
    if (!found) return undefined;
    if (index < name.parts.length - 1) found = withArguments(state, found, part, from);
  }
  return found;
}

/** `decltype(x)::a`; an integral constant was converted to its value when it was passed. */
function memberOfExpression(state: HostState, name: QualifiedName, of: Expression, from: Scope): Found | undefined {
  const value = evaluate(state, of, from);
  if (value.kind === 'number' && lastName(name) === 'value') return { kind: 'cell', cell: makeCell(value) };
  const type = typeOf(value);
  let found: Found | undefined = type && { kind: 'type', type };
  for (const part of name.parts) found = memberPart(state, found, part, from);
  return found;
}

/** What stands in front of a `::`; in a class the name of a base is the base, and its constructors have no scope. */
function firstPart(state: HostState, part: NamePart, from: Scope): Found | undefined {
  const found = lookup(state, part.name, from);
  const record = found?.kind === 'functions' ? found.overloads[0]?.scope.record : undefined;
  return record?.name === part.name ? { kind: 'type', type: record } : found;
}

function memberPart(state: HostState, within: Found | undefined, part: NamePart, from: Scope): Found | undefined {
  if (within?.kind === 'namespace') {
    const symbols = within.scope.symbols?.get(part.name);
    if (symbols) return fromSymbols(state, symbols, undefined);
    for (const using of within.scope.usings ?? []) {
      const inner = namespaceOf(state, using, within.scope)?.symbols?.get(part.name);
      if (inner) return fromSymbols(state, inner, undefined);
    }
    return undefined;
  }
  if (within?.kind !== 'type') return undefined;
  return memberOfType(state, within.type, part.name, from);
}

/** `T::name` */
function memberOfType(state: HostState, type: HostType, name: string, from: Scope): Found | undefined {
  if (type.kind === 'record') {
    // Inside of a method `Base::f()` runs on the same object.
    for (let scope: Scope | undefined = from; scope; scope = scope.parent) {
      if (!scope.self) continue;
      const field = fieldOf(scope.self.value, name);
      return field ? { kind: 'cell', cell: field } : memberOf(state, type, name, scope.self);
    }
    return memberOf(state, type, name);
  }
  if (type.kind === 'constant' && name === 'value') return { kind: 'cell', cell: makeCell(type.value) };
  if (type.kind === 'enum' && type.scope) return lookupHere(state, name, type.scope);
  if (type.kind === 'container' && name === 'value_type') return { kind: 'type', type: type.element };
  return undefined;
}

function withArguments(state: HostState, found: Found, part: NamePart, from: Scope): Found {
  if (found.kind !== 'symbols' || !part.templateArguments) return found;
  const type = resolveSymbolType(state, found.symbols, bindArguments(state, part.templateArguments, from));
  return type ? { kind: 'type', type } : found;
}

/** Puts the enumerators of an enumeration into its scope, once its type is known: they are of it. */
export function declareEnumerators(state: HostState, symbol: EnumSymbol, scope: Scope): void {
  for (const [index, enumerator] of (symbol.declaration.enumerators ?? []).entries()) {
    scope.values.set(enumerator.name, makeCell(enumeratorValue(state, symbol, index)));
  }
}

/** The type a plain name stands for when nothing in the unit declares it. */
export function undeclaredType(name: QualifiedName): HostType | undefined {
  const outer = name.parts.length === 1 || name.parts[0].name === 'std' || name.parts[0].name === 'cuda';
  return outer ? wellKnownType(lastName(name)) : undefined;
}
