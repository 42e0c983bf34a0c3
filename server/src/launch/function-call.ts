/** Inlining of host functions, methods and constructors. */
import type { Expression, FunctionDeclaration, InitListExpression, Parameter } from '../parse/ast';
import { isCopyOf } from '../parse/constructors';
import { isParameter } from '../parse/parameter-names';
import { bestOf } from './best-overload';
import { callUnknown, evaluateArguments } from './call';
import { convert } from './conversion';
import { evaluate } from './expression';
import { autoType, type HostType, type RecordType, typeName, withoutReference } from './host-type';
import { construct, fromList, initialised } from './initialise';
import { layoutOf } from './layout';
import { blur, forget, makeCell, named, store, watch } from './memory';
import { resolveType } from './resolve-type';
import { childScope, lastName, type Scope } from './scope';
import { budgets, type Frame, type HostState, step } from './state';
import { runFunctionBody } from './statement';
import { asSupposed, nothingSupposed, type Rerun } from './supposed';
import { bindTemplate } from './template-binding';
import { unknownOf } from './unknown-of';
import { loseShared } from './unseen';
import {
  type BoundArgument,
  type Cell,
  type FunctionSymbol,
  merge,
  type StructValue,
  unknown,
  type Value,
} from './value';

export interface HostArgument {
  readonly value: Value;
  /** of an lvalue, for reference parameters */
  readonly cell?: Cell;
  /** `std::ref(x)`: who is given it may keep it and write to it at any time */
  readonly isHandedOut?: true;
  /** `f({1, 2})`: what the braces mean is the parameter's to say, where the caller's names hold */
  readonly braces?: { readonly list: InitListExpression; readonly scope: Scope };
}

const valuesOf = (list: readonly HostArgument[]): readonly Value[] => list.map(({ value }) => value);

export interface CallOptions {
  readonly templateArguments?: readonly BoundArgument[];
  readonly self?: Cell;
}

/** Calls the overload that fits best; a function without body counts as unknown. */
export function callFunctions(
  state: HostState,
  overloads: readonly FunctionSymbol[],
  list: readonly HostArgument[],
  at: Expression,
  options: CallOptions,
): Value {
  const symbol = pickOverload(state, overloads, list, options);
  const name = lastName(overloads[0].declaration.name);
  if (!symbol) {
    for (const [index, argument] of list.entries()) forgetReference(state, overloads[0].declaration, index, argument);
    return callUnknown(state, list, at, name);
  }
  const result = callFunction(state, symbol, list, options);
  const { referred } = state;
  state.referred = result && referred && !ownsMemory(options.self) ? { at, cell: referred.cell } : undefined;
  if (result) return result;
  // too deep to be followed, or a recursion: what it was given to write is unknown behind it
  for (const [index, argument] of list.entries()) forgetReference(state, symbol.declaration, index, argument);
  return callUnknown(state, list, at, name);
}

/** A declared function without body may change what it takes by non-const reference. */
function forgetReference(
  state: HostState,
  declaration: FunctionDeclaration,
  index: number,
  argument: HostArgument,
): void {
  const type = declaration.parameters[index]?.type;
  if (type?.kind !== 'reference' || type.to.isConst || !argument.cell) return;
  const name = argument.cell.name ?? 'it';
  store(state, argument.cell, unknown(`${name} is set at run time`));
}

function pickOverload(
  state: HostState,
  overloads: readonly FunctionSymbol[],
  list: readonly HostArgument[],
  options: CallOptions,
): FunctionSymbol | undefined {
  const candidates = withDefinitions(state, overloads).filter(({ declaration }) => accepts(declaration, list.length));
  const usable = candidates.filter(
    ({ declaration }) => declaration.body && (!options.templateArguments || declaration.templateParameters),
  );
  return usable.length <= 1 ? usable[0] : bestOf(state, usable, valuesOf(list), options);
}

/** Declarations inside a record are joined by their definitions outside. */
function withDefinitions(state: HostState, overloads: readonly FunctionSymbol[]): readonly FunctionSymbol[] {
  const first = overloads[0];
  const record = first.scope.record;
  if (!record || overloads.every((overload) => overload.declaration.body)) return overloads;
  const outside = state.index.outOfClass.functions.get(`${record.name}::${lastName(first.declaration.name)}`) ?? [];
  // which of the general definition and those of specialisations is meant is not followed here
  if (outside.length > 1 && outside.some(({ declaration }) => isSpecialised(declaration))) return overloads;
  return [
    ...overloads,
    ...outside.map(({ declaration }) => ({ declaration, scope: scopeOfDefinition(declaration, record) })),
  ];
}

/** `template <> int A<int>::f()`, `template <class T> int A<T*>::f()` */
function isSpecialised({ name, templateParameters = [] }: FunctionDeclaration): boolean {
  const given = name.parts.at(-2)?.templateArguments;
  if (!given) return false;
  return !given.every((argument) => templateParameters.some((parameter) => isParameter(argument, parameter.name)));
}

/** `template <class U> void A<U>::f()` may name the record's parameters differently. */
function scopeOfDefinition(declaration: FunctionDeclaration, record: RecordType): Scope {
  const scope = childScope(record.scope, { record });
  for (const [index, parameter] of (declaration.templateParameters ?? []).entries()) {
    const argument = record.arguments?.[index];
    if (!parameter.name || !argument) continue;
    if (argument.kind === 'type') scope.types.set(parameter.name, argument.type);
    if (argument.kind === 'value') scope.values.set(parameter.name, makeCell(argument.value));
  }
  return scope;
}

function accepts(declaration: FunctionDeclaration, count: number): boolean {
  const parameters = declaration.parameters;
  const isOpen = declaration.isVariadic || parameters.some((parameter) => parameter.pack);
  const required = parameters.filter((parameter) => !parameter.default && !parameter.pack).length;
  return count >= required && (isOpen || count <= parameters.length);
}

/** An object whose class copies or destroys it in its own way: what it leads to may be another's here, since that is not followed. */
function ownsMemory(self: Cell | undefined): boolean {
  const type = self?.value.kind === 'struct' ? self.value.type : undefined;
  if (type?.kind !== 'record') return false;
  const { name, members = [] } = type.declaration;
  const own = name ? lastName(name) : '';
  return members.some(
    (m) => m.kind === 'function' && (lastName(m.name) === `~${own}` || (lastName(m.name) === own && isCopyOf(own, m))),
  );
}

/** Runs a function's body with arguments bound; undefined when budgets forbid it. */
export function callFunction(
  state: HostState,
  symbol: FunctionSymbol,
  list: readonly HostArgument[],
  options: CallOptions,
): Value | undefined {
  const declaration = symbol.declaration;
  if (!declaration.body || !step(state) || state.depth >= budgets.callDepth) return undefined;
  const active = state.active.get(declaration) ?? 0;
  if (active > 0 && state.uncertain > 0 && active >= budgets.uncertainRecursion) return undefined;
  state.active.set(declaration, active + 1);
  state.depth++;
  const result = runQuietly(state, symbol, list, options, () => runCall(state, symbol, list, options));
  state.depth--;
  state.active.set(declaration, active);
  return result;
}

/**
 * A call from which no launch is reached gets a part of the steps: a deep recursion or a long computation ends unfinished,
 * and what it may have written is unknown then. Undefined in that case.
 */
function runQuietly(
  state: HostState,
  { declaration }: FunctionSymbol,
  list: readonly HostArgument[],
  options: CallOptions,
  run: () => Value,
): Value | undefined {
  const { recorder } = state;
  const kept = state.steps - budgets.quietCall;
  const body = declaration.body;
  if (!recorder || !body || state.isQuiet || kept <= 0 || recorder.holds(body.first, body.last)) return run();
  state.steps = budgets.quietCall;
  state.isQuiet = true;
  const { result, before } = watch(state, run);
  state.isQuiet = false;
  const isCut = state.steps <= 0;
  state.steps += kept;
  if (!isCut) return result;
  const reason = `${lastName(declaration.name)} runs too long to be followed`;
  blur(state, before, reason);
  for (const [index, { cell }] of list.entries()) {
    const type = declaration.parameters[index]?.type;
    if (cell && type?.kind === 'reference' && !type.to.isConst) forget(state, cell, reason);
  }
  if (options.self) forget(state, options.self, reason);
  return undefined;
}

function runCall(
  state: HostState,
  symbol: FunctionSymbol,
  list: readonly HostArgument[],
  options: CallOptions,
  supposed = nothingSupposed,
): Value {
  const { declaration } = symbol;
  const scope = childScope(symbol.scope, { self: options.self, record: symbol.scope.record });
  bindTemplate(state, declaration, scope, valuesOf(list), options.templateArguments);
  bindAll(state, declaration, list, scope);
  supposeParameters(state, declaration, scope, supposed);
  return runBody(state, declaration, scope, false, {
    supposed,
    run: (more) => runCall(state, symbol, list, options, more),
  });
}

function bindAll(
  state: HostState,
  declaration: FunctionDeclaration,
  list: readonly HostArgument[],
  scope: Scope,
): void {
  for (const [index, parameter] of declaration.parameters.entries()) {
    if (parameter.pack) {
      bindPack(state, parameter, list.slice(index), scope);
      break;
    }
    bindParameter(state, parameter, list[index], scope);
  }
}

/** Parameters with the values that are supposed of them (supposed.ts). */
export function supposeParameters(
  state: HostState,
  { parameters }: FunctionDeclaration,
  scope: Scope,
  supposed: ReadonlyMap<string, Value>,
): void {
  if (supposed.size === 0) return;
  for (const { name } of parameters) {
    const cell = name && scope.values.get(name);
    const value = name && supposed.get(name);
    if (!cell || !value) continue;
    // a reference is the caller's variable, by the caller's name
    scope.values.set(name, asSupposed(state, { ...cell, name }, supposed));
  }
}

function bindParameter(state: HostState, parameter: Parameter, argument: HostArgument | undefined, scope: Scope): void {
  const name = parameter.name;
  if (!name) return;
  const type = asParameter(resolveType(state, parameter.type, scope));
  if (type.kind === 'reference' && argument?.cell && bindsDirectly(type.to, argument.cell)) {
    scope.values.set(name, argument.cell);
    return;
  }
  const cell = makeCell(unknown(''), { type: parameterType(type, argument), name, depth: state.depth });
  const value = valueFor(state, argument, type) ?? defaultArgument(state, parameter, type, name, scope);
  cell.value = named(state, cell, initialised(state, value, type));
  scope.values.set(name, cell);
}

/** Types that take braces as an object of theirs. */
const madeOfBraces: ReadonlySet<HostType['kind']> = new Set(['record', 'vector', 'tuple', 'container']);

/** What a parameter is given; braces mean what its type makes of them. */
function valueFor(state: HostState, argument: HostArgument | undefined, type: HostType): Value | undefined {
  const own = withoutReference(type);
  if (!argument?.braces || !madeOfBraces.has(own.kind)) return argument?.value;
  return fromList(state, argument.braces.list, own, argument.braces.scope);
}

/** A member that is a reference is what it is given, if that is an object: whatever is done to either is done to both. */
export function bindMember(object: StructValue, name: string, argument: HostArgument | undefined): boolean {
  const type = object.fields.get(name)?.type;
  if (type?.kind !== 'reference' || !argument?.cell || !bindsDirectly(type.to, argument.cell)) return false;
  object.fields.set(name, argument.cell);
  return true;
}

function bindsDirectly(type: HostType, cell: Cell): boolean {
  return (
    type.kind !== 'arithmetic' ||
    cell.type === undefined ||
    cell.type.kind !== 'arithmetic' ||
    cell.type.name === type.name
  );
}

function parameterType(type: HostType, argument: HostArgument | undefined): HostType {
  if (type.kind === 'reference')
    return type.to.kind === 'auto' || type.to.kind === 'opaque' ? (argument?.cell?.type ?? autoType) : type.to;
  return type;
}

/** `int a[8]` is a pointer to what the caller has. */
const asParameter = (type: HostType): HostType => (type.kind === 'array' ? { kind: 'pointer', to: type.of } : type);

function defaultArgument(state: HostState, parameter: Parameter, type: HostType, name: string, scope: Scope): Value {
  return parameter.default ? evaluate(state, parameter.default, scope) : unknownOf(state, type, name, 'parameter');
}

function bindPack(state: HostState, parameter: Parameter, rest: readonly HostArgument[], scope: Scope): void {
  if (!parameter.name) return;
  const elements = rest.map(
    (argument) => argument.cell ?? makeCell(convert(state, argument.value, undefined), { depth: state.depth }),
  );
  scope.values.set(parameter.name, makeCell({ kind: 'pack', elements }));
}

/** Equal for calls of one instance of a function template. */
function instanceKey({ templateParameters }: FunctionDeclaration, scope: Scope): string | undefined {
  const parts = (templateParameters ?? []).map(({ name, pack }) => {
    const type = name && !pack ? scope.types.get(name) : undefined;
    if (type) return type.kind === 'opaque' || type.kind === 'auto' ? undefined : typeName(type);
    const value = name && !pack ? scope.values.get(name)?.value : undefined;
    return value?.kind === 'number' ? String(value.value) : undefined;
  });
  return parts.length > 0 && parts.every((part) => part !== undefined) ? parts.join(', ') : undefined;
}

/** Runs a body in a scope that holds the parameters; gives what it returns. */
export function runBody(
  state: HostState,
  declaration: FunctionDeclaration,
  scope: Scope,
  isEntry: boolean,
  rerun?: Rerun,
): Value {
  const resultType = resolveType(state, declaration.result, scope);
  const frame: Frame = {
    name: lastName(declaration.name),
    returns: [],
    resultType,
    isEntry,
    rerun,
    isInstance: declaration.templateParameters !== undefined || scope.record?.arguments !== undefined,
    instance: instanceKey(declaration, scope),
    left: [],
    escaped: [],
    mayReturn: false,
  };
  const outer = state.frame;
  state.frame = frame;
  state.recorder?.enter(declaration);
  if (declaration.body) runFunctionBody(state, declaration.body, scope);
  state.frame = outer;
  const result = frameResult(state, frame);
  // one of several is meant by each, nobody knows which
  state.referred = frame.returns.length === 1 && frame.referred ? { cell: frame.referred } : undefined;
  return result;
}

/** The merged value of the returns of a frame. */
export function frameResult(state: HostState, frame: Frame): Value {
  const [first, ...others] = frame.returns;
  if (!first) return unknown('a function without a value', { type: frame.resultType });
  const value = others.reduce((a, b) => merge(a, b), first);
  const type = frame.resultType;
  return type && type.kind !== 'auto' && type.kind !== 'reference' ? initialised(state, value, type) : value;
}

// ---- constructors ---------------------------------------------------------------------------------------------------

/** Constructors with a body, inside the record or outside, and those that it has from its bases. */
export function constructorsOf(state: HostState, type: RecordType): FunctionSymbol[] {
  const own = type.scope.symbols?.get(type.name) ?? [];
  const symbols = own.filter((symbol) => symbol.kind === 'function');
  const defined = symbols.length > 0 ? withDefinitions(state, symbols) : [];
  return [...defined.filter((symbol) => symbol.declaration.body), ...inheritedConstructors(state, type)];
}

/** `using Base::Base;`; by another name than its own (`using T::T;`) it is the only base. */
function inheritedConstructors(state: HostState, type: RecordType): FunctionSymbol[] {
  return (type.declaration.members ?? []).flatMap((member) => {
    if (member.kind !== 'using' || member.isDirective || member.name.parts.length < 2) return [];
    const [outer, last] = member.name.parts.slice(-2);
    if (outer.name !== last.name) return [];
    const { bases } = layoutOf(state, type);
    const named = bases.filter((base) => base.name === last.name);
    return (named.length > 0 || bases.length > 1 ? named : bases).flatMap((base) =>
      constructorsOf(state, base).filter(({ declaration }) => !isCopyOf(base.name, declaration)),
    );
  });
}

/** Runs the constructor that fits on a fresh object. */
export function runConstructor(
  state: HostState,
  type: RecordType,
  object: StructValue,
  constructors: readonly FunctionSymbol[],
  list: readonly HostArgument[],
): Value {
  const symbol = pickOverload(state, constructors, list, {});
  if (!symbol || state.depth >= budgets.callDepth || !step(state)) return object;
  const self = makeCell(object, { type, depth: state.depth });
  state.depth++;
  runInitializers(state, type, symbol, self, list);
  state.depth--;
  if (self.value.kind === 'struct') loseShared(state, type.name, self.value);
  return self.value;
}

function runInitializers(
  state: HostState,
  type: RecordType,
  symbol: FunctionSymbol,
  self: Cell,
  list: readonly HostArgument[],
): void {
  const { declaration } = symbol;
  const scope = childScope(symbol.scope, { self, record: type });
  bindTemplate(state, declaration, scope, valuesOf(list), undefined);
  bindAll(state, declaration, list, scope);
  for (const initializer of declaration.initializers ?? []) {
    initialiseMember(state, type, self, lastName(initializer.member), initializer.arguments, scope);
  }
  runBody(state, declaration, childScope(scope), false);
}

function initialiseMember(
  state: HostState,
  type: RecordType,
  self: Cell,
  name: string,
  list: readonly Expression[],
  scope: Scope,
): void {
  const object = self.value;
  if (object.kind !== 'struct') return;
  const field = object.fields.get(name);
  if (field?.type?.kind === 'reference' && list.length === 1) {
    const [argument] = evaluateArguments(state, list, scope);
    if (!bindMember(object, name, argument)) store(state, field, argument?.value ?? unknown('a reference to nothing'));
    return;
  }
  if (field) {
    store(state, field, construct(state, field.type ?? autoType, list, scope, 'call'));
    return;
  }
  const base = name === type.name ? type : layoutOf(state, type).bases.find((candidate) => candidate.name === name);
  const value = base && construct(state, base, list, scope, 'call');
  if (value?.kind !== 'struct') return;
  for (const [key, cell] of value.fields) {
    const own = object.fields.get(key);
    if (own) store(state, own, cell.value);
  }
}
