/** Template parameters: binding, defaults, deduction from call arguments, matching of partial specialisations. */
import type {
  FunctionDeclaration,
  RecordDeclaration,
  TemplateArgument,
  TemplateParameter,
  TypeNode,
} from '../parse/ast';
import { constantOf } from './constants';
import type { Context } from './context';
import { lookupQualified } from './lookup';
import { namesIn } from './packs';
import { argumentKey } from './records';
import { evaluateArguments, inScope, resolveType } from './resolve-type';
import { type Entity, Scope } from './scope';
import { type RecordInfo, type TemplateValue, type Type, typeKey, types, unqualified, withoutReference } from './types';

/** Defines the parameters in `scope` from the given arguments and the defaults; returns the complete list. */
export function bindTemplateParameters(
  ctx: Context,
  scope: Scope,
  parameters: readonly TemplateParameter[],
  args: readonly TemplateValue[],
): TemplateValue[] {
  const complete: TemplateValue[] = [];
  for (const [i, parameter] of parameters.entries()) {
    let value: TemplateValue | undefined;
    const given = args[i];
    if (parameter.pack)
      value =
        given?.kind === 'pack' || (given?.kind === 'unknown' && given.isPack)
          ? given
          : { kind: 'pack', elements: args.slice(i) };
    else value = args[i] ?? defaultOf(ctx, scope, parameter);
    const bound = coerce(
      ctx,
      scope,
      parameter,
      value ?? { kind: 'unknown', reason: `template parameter ${parameter.name ?? ''} is not known` },
    );
    complete.push(bound);
    if (parameter.name) scope.define(parameter.name, { kind: 'template', value: bound });
  }
  return complete;
}

function defaultOf(ctx: Context, scope: Scope, parameter: TemplateParameter): TemplateValue | undefined {
  return parameter.default ? evaluateArguments(ctx, [parameter.default], scope)[0] : undefined;
}

/** A number takes the declared type of its parameter. */
function coerce(ctx: Context, scope: Scope, parameter: TemplateParameter, value: TemplateValue): TemplateValue {
  if (value.kind !== 'number' || !parameter.type) return value;
  const type = resolveType(ctx, parameter.type, scope);
  return type.kind === 'scalar' || type.kind === 'enum' ? { ...value, type } : value;
}

/** A function or lambda. */
export type Callable = Pick<FunctionDeclaration, 'templateParameters' | 'parameters'>;

/** Deduction state: parameter names and what was found for them. */
interface Deduction {
  readonly names: ReadonlySet<string>;
  readonly found: Map<string, TemplateValue>;
  /** What can only be compared when the parameters are known: `void_t<typename T::type>`, `N * 2`. */
  readonly later?: ((bound: Scope) => boolean)[];
}

/** Deduces template arguments of a function from the types of call arguments; explicit ones come first. */
export function deduceArguments(
  ctx: Context,
  declaration: Callable,
  explicit: readonly (TemplateValue | undefined)[],
  argumentTypes: readonly Type[],
  scope: Scope,
): TemplateValue[] {
  const parameters = declaration.templateParameters ?? [];
  const state: Deduction = { names: new Set(parameters.flatMap((p) => (p.name ? [p.name] : []))), found: new Map() };
  parameters.forEach((p, i) => {
    const given = explicit[i];
    if (p.name && given && !p.pack) state.found.set(p.name, given);
  });
  declaration.parameters.forEach((parameter, i) => {
    const given = argumentTypes.slice(i).map((type) => passedType(parameter.type, type));
    if (parameter.pack) deducePack(ctx, parameter.type, given, state, scope);
    else if (given.length > 0) deduce(ctx, parameter.type, given[0], state, scope);
  });
  const out: TemplateValue[] = [];
  const foundOf = ({ name }: TemplateParameter) => (name ? state.found.get(name) : undefined);
  for (const [i, parameter] of parameters.entries()) {
    if (parameter.pack) {
      out.push(packOf(declaration, parameter, state, explicit.slice(i)));
      continue;
    }
    let value = foundOf(parameter);
    if (!value && parameter.default) {
      // defaults are evaluated when the parameters are bound, but for those before one that was deduced
      if (!parameters.slice(i + 1).some((p) => !p.pack && foundOf(p))) break;
      value = defaultBehind(ctx, parameters.slice(0, i), out, parameter, scope);
    }
    out.push(value ?? { kind: 'unknown', reason: `template parameter ${parameter.name ?? i} cannot be deduced` });
  }
  return out;
}

/** A default argument with the parameters before it. */
function defaultBehind(
  ctx: Context,
  before: readonly TemplateParameter[],
  args: readonly TemplateValue[],
  parameter: TemplateParameter,
  scope: Scope,
): TemplateValue | undefined {
  const bound = new Scope(scope, 'defaults');
  bindTemplateParameters(ctx, bound, before, args);
  return defaultOf(ctx, bound, parameter);
}

/** What is passed by value loses its const. */
function passedType(node: TypeNode, type: Type): Type {
  const of = node.kind === 'packExpansion' ? node.of : node;
  return of.kind === 'reference' ? type : unqualified(withoutReference(type));
}

/** A pack that nothing names is empty; one that an argument of an unknown type should have given is not known. */
function packOf(
  declaration: Callable,
  parameter: TemplateParameter,
  state: Deduction,
  explicit: readonly (TemplateValue | undefined)[],
): TemplateValue {
  const name = parameter.name ?? '';
  const found = state.found.get(name);
  if (found) return found;
  const given = explicit.filter((e) => e !== undefined);
  const isNamed = given.length === 0 && declaration.parameters.some((p) => namesIn(p.type).has(name));
  return isNamed
    ? { kind: 'unknown', reason: `template parameter pack ${name} cannot be deduced`, isPack: true }
    : { kind: 'pack', elements: given };
}

function deducePack(ctx: Context, node: TypeNode, args: readonly Type[], state: Deduction, scope: Scope): void {
  const elements: TemplateValue[] = [];
  let name: string | undefined;
  for (const type of args) {
    const inner: Deduction = { names: state.names, found: new Map() };
    deduce(ctx, node, type, inner, scope);
    for (const [n, value] of inner.found) {
      name = n;
      elements.push(value);
    }
  }
  if (!name) name = packName(node);
  if (name) state.found.set(name, { kind: 'pack', elements });
}

function packName(node: TypeNode): string | undefined {
  if (node.kind === 'named') return node.name.parts[0].name;
  if (node.kind === 'packExpansion') return packName(node.of);
  if (node.kind === 'reference' || node.kind === 'pointer') return packName(node.to);
  return undefined;
}

function deduce(ctx: Context, node: TypeNode, type: Type, state: Deduction, scope: Scope): void {
  const actual = withoutReference(type);
  switch (node.kind) {
    case 'named':
      deduceNamed(ctx, node, actual, state, scope);
      break;
    case 'reference':
      deduce(ctx, node.to, actual, state, scope);
      break;
    case 'pointer':
      if (actual.kind === 'pointer') deduce(ctx, node.to, actual.to, state, scope);
      else if (actual.kind === 'array') deduce(ctx, node.to, actual.of, state, scope);
      break;
    case 'array':
      if (actual.kind !== 'array') break;
      deduce(ctx, node.of, actual.of, state, scope);
      if (node.size?.kind === 'name' && actual.count !== undefined) {
        setOnce(state, node.size.name.parts[0].name, { kind: 'number', value: actual.count, type: types.ulong });
      }
      break;
    case 'packExpansion':
      deduce(ctx, node.of, type, state, scope);
      break;
    default:
      break;
  }
}

function setOnce(state: Deduction, name: string, value: TemplateValue): void {
  if (state.names.has(name) && !state.found.has(name)) state.found.set(name, value);
}

function deduceNamed(
  ctx: Context,
  node: TypeNode & { kind: 'named' },
  type: Type,
  state: Deduction,
  scope: Scope,
): void {
  const part = node.name.parts[node.name.parts.length - 1];
  if (node.name.parts.length === 1 && !part.templateArguments && state.names.has(part.name)) {
    const plain = unqualified(type.kind === 'array' ? { kind: 'pointer', to: type.of } : type);
    // `const T*` deduces T without the const that the pattern itself supplies
    setOnce(state, part.name, {
      kind: 'type',
      type: type.isConst && !node.isConst ? { ...plain, isConst: true } : plain,
    });
    return;
  }
  if (!part.templateArguments || type.kind !== 'record') return;
  const entity = lookupQualified(ctx, scope, node.name);
  const record = entity?.kind === 'record' ? instanceOf(type.record, entity.declarations, 0) : type.record;
  const actual = entity?.kind === 'alias' ? throughAlias(ctx, entity, type) : record?.templateArguments;
  if (actual) deduceList(ctx, part.templateArguments, actual, state, scope);
}

/** The record, or the base of it, that is an instance of a template. */
function instanceOf(record: RecordInfo, template: readonly RecordDeclaration[], depth: number): RecordInfo | undefined {
  if (!record.template || template.includes(record.template)) return record;
  for (const field of depth < 16 ? record.fields : []) {
    const base =
      field.isBase && field.type.kind === 'record' ? instanceOf(field.type.record, template, depth + 1) : undefined;
    if (base) return base;
  }
  return undefined;
}

/** What an alias template was given so that it means the type: `index_sequence<I...>` of `integer_sequence<size_t, 0, 1>`. */
function throughAlias(ctx: Context, alias: Entity & { kind: 'alias' }, type: Type): TemplateValue[] | undefined {
  const parameters = alias.declaration.templateParameters;
  if (!parameters || ctx.templateDepth > ctx.budget.templateDepth) return undefined;
  const inner: Deduction = { names: new Set(parameters.flatMap((p) => (p.name ? [p.name] : []))), found: new Map() };
  ctx.templateDepth++;
  deduce(ctx, alias.declaration.type, type, inner, alias.scope);
  ctx.templateDepth--;
  return parameters.flatMap((p) => {
    const value = inner.found.get(p.name ?? '');
    if (!value) return [{ kind: 'unknown', reason: `template parameter ${p.name} cannot be deduced` }];
    return value.kind === 'pack' ? value.elements : [value];
  });
}

function deduceList(
  ctx: Context,
  pattern: readonly TemplateArgument[],
  args: readonly TemplateValue[],
  state: Deduction,
  scope: Scope,
): void {
  pattern.forEach((p, i) => {
    const actual = args[i];
    if (!actual) return;
    const name = nameOfArgument(p);
    if (name && state.names.has(name))
      setOnce(state, name, p.pack ? { kind: 'pack', elements: args.slice(i) } : actual);
    else if (p.type && actual.kind === 'type') deduce(ctx, p.type, actual.type, state, scope);
  });
}

function nameOfArgument(argument: TemplateArgument): string | undefined {
  if (
    argument.type?.kind === 'named' &&
    argument.type.name.parts.length === 1 &&
    !argument.type.name.parts[0].templateArguments
  ) {
    return argument.type.isConst || argument.type.isVolatile ? undefined : argument.type.name.parts[0].name;
  }
  if (argument.expression?.kind === 'name' && argument.expression.name.parts.length === 1)
    return argument.expression.name.parts[0].name;
  return undefined;
}

/** The declaration whose pattern fits the arguments with the fewest parameters of its own, and what these are then. */
export function mostSpecialised<D extends { readonly templateParameters?: readonly TemplateParameter[] }>(
  ctx: Context,
  declarations: readonly D[],
  patternOf: (declaration: D) => readonly TemplateArgument[],
  primary: readonly TemplateParameter[],
  args: readonly TemplateValue[],
  scope: Scope,
): { declaration: D; bound: Map<string, TemplateValue> } | undefined {
  let best: { declaration: D; bound: Map<string, TemplateValue> } | undefined;
  const flat = args.flatMap((a) => (a.kind === 'pack' ? a.elements : [a]));
  for (const declaration of declarations) {
    const pattern = patternWithDefaults(patternOf(declaration), primary);
    const bound = matchArguments(ctx, pattern, flat, declaration.templateParameters ?? [], scope);
    if (bound && (!best || bound.size < best.bound.size)) best = { declaration, bound };
  }
  return best;
}

/** What a pattern leaves out are the defaults of the template. */
function patternWithDefaults(
  pattern: readonly TemplateArgument[],
  primary: readonly TemplateParameter[],
): readonly TemplateArgument[] {
  const defaults = primary.slice(pattern.length).flatMap((p) => (p.default ? [p.default] : []));
  return defaults.length > 0 ? [...pattern, ...defaults] : pattern;
}

/** Matches a partial specialisation's arguments against actual ones; the bindings of its parameters, or undefined. */
function matchArguments(
  ctx: Context,
  pattern: readonly TemplateArgument[],
  args: readonly TemplateValue[],
  parameters: readonly TemplateParameter[],
  scope: Scope,
): Map<string, TemplateValue> | undefined {
  const names = new Set(parameters.flatMap((p) => (p.name ? [p.name] : [])));
  const later: ((bound: Scope) => boolean)[] = [];
  const state: Deduction = { names, found: new Map(), later };
  if (!matchList(ctx, pattern, args, state, scope)) return undefined;
  const bound = new Scope(scope, 'match');
  for (const [name, value] of state.found) bound.define(name, { kind: 'template', value });
  return later.every((holds) => holds(bound)) ? state.found : undefined;
}

function matchList(
  ctx: Context,
  pattern: readonly TemplateArgument[],
  args: readonly TemplateValue[],
  state: Deduction,
  scope: Scope,
): boolean {
  for (const [i, p] of pattern.entries()) {
    if (p.pack) return matchPack(ctx, p, args.slice(i), state, scope);
    if (!args[i] || !matchOne(ctx, p, args[i], state, scope)) return false;
  }
  return pattern.length === args.length;
}

/** `T...`, `Pair<I, T>...`: each parameter of the pattern becomes a pack. */
function matchPack(
  ctx: Context,
  p: TemplateArgument,
  args: readonly TemplateValue[],
  state: Deduction,
  scope: Scope,
): boolean {
  const plain = nameOfArgument(p);
  const packs = new Map<string, TemplateValue[]>(plain && state.names.has(plain) ? [[plain, []]] : []);
  for (const actual of args) {
    const inner: Deduction = { names: state.names, found: new Map(), later: state.later };
    if (!matchOne(ctx, p, actual, inner, scope)) return false;
    for (const [name, value] of inner.found) packs.set(name, [...(packs.get(name) ?? []), value]);
  }
  return [...packs].every(([name, elements]) => bindOnce(state, name, { kind: 'pack', elements }));
}

/** Binds a parameter, or says whether it was bound to the same before. */
function bindOnce(state: Deduction, name: string, value: TemplateValue): boolean {
  const known = state.found.get(name);
  if (!known) state.found.set(name, value);
  return !known || argumentKey(known) === argumentKey(value);
}

function matchOne(ctx: Context, p: TemplateArgument, actual: TemplateValue, state: Deduction, scope: Scope): boolean {
  const name = nameOfArgument(p);
  if (name && state.names.has(name)) return bindOnce(state, name, actual);
  if (p.type && actual.kind === 'type') return matchType(ctx, p.type, actual.type, state, scope);
  if (p.expression && actual.kind === 'number') {
    const node = p.expression;
    const holds = (at: Scope) => inScope(ctx, at, () => constantOf(ctx, node)) === actual.value;
    return whenKnown(state, node, scope, holds);
  }
  return false;
}

function matchType(ctx: Context, node: TypeNode, type: Type, state: Deduction, scope: Scope): boolean {
  if (node.kind === 'named') {
    const part = node.name.parts[node.name.parts.length - 1];
    const isParameter = node.name.parts.length === 1 && state.names.has(part.name);
    if (isParameter && !part.templateArguments) {
      if ((node.isConst && !type.isConst) || (node.isVolatile && !type.isVolatile)) return false;
      const isConst = node.isConst ? undefined : type.isConst;
      const isVolatile = node.isVolatile ? undefined : type.isVolatile;
      return bindOnce(state, part.name, { kind: 'type', type: { ...type, isConst, isVolatile } });
    }
    if (part.templateArguments && type.kind === 'record' && type.record.templateArguments) {
      const { record } = type;
      const template = templateOf(record);
      if (!isParameter) {
        const entity = lookupQualified(ctx, scope, node.name);
        const pattern = entity?.kind === 'record' ? entity.declarations : undefined;
        if (record.template && pattern ? !pattern.includes(record.template) : template?.name !== part.name)
          return false;
      } else if (!template || !bindOnce(state, part.name, template)) return false;
      const pattern = patternWithDefaults(part.templateArguments, record.template?.templateParameters ?? []);
      return matchList(ctx, pattern, record.templateArguments ?? [], state, scope);
    }
  }
  if (node.kind === 'pointer') return type.kind === 'pointer' && matchType(ctx, node.to, type.to, state, scope);
  if (node.kind === 'array') return type.kind === 'array' && matchArray(ctx, node, type, state, scope);
  if (node.kind === 'reference') return type.kind === 'reference' && matchType(ctx, node.to, type.to, state, scope);
  return whenKnown(state, node, scope, (at) => {
    const plain = resolveType(ctx, node, at);
    return typeKey(plain) === typeKey(type) && Boolean(plain.isConst) === Boolean(type.isConst);
  });
}

/** Compares now, or once the parameters that the syntax names are bound. */
function whenKnown(state: Deduction, node: object, scope: Scope, holds: (at: Scope) => boolean): boolean {
  const names = namesIn(node);
  if (!state.later || ![...state.names].some((n) => names.has(n))) return holds(scope);
  state.later.push(holds);
  return true;
}

/** `T[N]` binds both. */
function matchArray(
  ctx: Context,
  node: TypeNode & { kind: 'array' },
  type: Type & { kind: 'array' },
  state: Deduction,
  scope: Scope,
): boolean {
  const size = node.size?.kind === 'name' ? node.size.name.parts[0].name : undefined;
  if (size !== undefined && type.count !== undefined && state.names.has(size))
    if (!bindOnce(state, size, { kind: 'number', value: type.count, type: types.ulong })) return false;
  return matchType(ctx, node.of, type.of, state, scope);
}

/** The template a record is an instance of, as the argument of a template template parameter. */
function templateOf(record: RecordInfo): (TemplateValue & { kind: 'name' }) | undefined {
  const name = record.template?.name?.parts.at(-1)?.name;
  return name === undefined ? undefined : { kind: 'name', name, entity: record.scope?.parent?.own(name) };
}
