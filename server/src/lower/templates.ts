/** Template parameters: binding, defaults, deduction from call arguments, matching of partial specialisations. */
import type {
  FunctionDeclaration,
  RecordDeclaration,
  TemplateArgument,
  TemplateParameter,
  TypeNode,
} from '../parse/ast';
import type { Context } from './context';
import { lookupQualified } from './lookup';
import { namesIn } from './packs';
import { evaluateArguments, resolveType } from './resolve-type';
import { type Entity, Scope } from './scope';
import {
  type RecordInfo,
  type TemplateValue,
  type Type,
  types,
  unqualified,
  valuesInList,
  withoutReference,
} from './types';

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
export interface Deduction {
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
    const given = explicitly(parameters, explicit, i);
    if (p.name && given && !p.pack) state.found.set(p.name, given);
  });
  const packs = new Set(parameters.flatMap((p) => (p.name && p.pack ? [p.name] : [])));
  const passed = passedFor(declaration, explicit, argumentTypes.length);
  declaration.parameters.forEach((parameter, i) => {
    const [from, count] = passed[i];
    const behind = argumentTypes.slice(from, from + count);
    const given = behind.map((type) => passedType(parameter.type, type));
    if (parameter.pack) deducePack(ctx, parameter.type, given, { ...state, names: packs }, scope);
    else if (given.length > 0) {
      const listed = valuesInList(behind[0]);
      if (listed === undefined) deduce(ctx, parameter.type, given[0], state, scope);
      else deduceLength(parameter.type, listed, state);
    }
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

/** `const int (&a)[N]` is given braces. */
function deduceLength(node: TypeNode, values: number, state: Deduction): void {
  const array = node.kind === 'reference' ? node.to : node;
  if (array.kind === 'array' && array.size?.kind === 'name')
    setOnce(state, array.size.name.parts[0].name, { kind: 'number', value: values, type: types.ulong });
}

/** What is written for a parameter that is no pack; a pack before it takes all that is written from there on. */
export function explicitly(
  parameters: readonly TemplateParameter[],
  explicit: readonly (TemplateValue | undefined)[],
  index: number,
): TemplateValue | undefined {
  const pack = parameters.findIndex((p) => p.pack);
  const isTaken = pack >= 0 && index > pack && explicit[pack]?.kind !== 'pack';
  return isTaken ? undefined : explicit[index];
}

/**
 * By parameter of a function: the first of its arguments, and how many there are. A pack takes all that is left; one that others
 * follow is not deduced, and takes as many as were given for it.
 */
function passedFor(
  { parameters, templateParameters = [] }: Callable,
  explicit: readonly (TemplateValue | undefined)[],
  count: number,
): readonly (readonly [first: number, count: number])[] {
  const pack = templateParameters.findIndex((p) => p.pack);
  const given = explicit[pack]?.kind === 'pack' ? explicit[pack].elements.length : explicit.length - pack;
  let next = 0;
  return parameters.map((parameter, i) => {
    const first = next;
    const isLast = i === parameters.length - 1;
    const own = !parameter.pack ? 1 : isLast || pack < 0 ? Math.max(0, count - first) : Math.max(0, given);
    next += own;
    return [first, own];
  });
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
  const written = explicit.flatMap((e): readonly (TemplateValue | undefined)[] =>
    e?.kind === 'pack' ? e.elements : [e],
  );
  if (found?.kind === 'pack') return { kind: 'pack', elements: found.elements.map((e, i) => written[i] ?? e) };
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
      deduceNamed(ctx, node, actual.kind === 'array' ? { kind: 'pointer', to: actual.of } : actual, state, scope);
      break;
    case 'reference':
      // an array that is passed by reference stays one
      if (node.to.kind === 'named') deduceNamed(ctx, node.to, actual, state, scope);
      else deduce(ctx, node.to, actual, state, scope);
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
    case 'memberPointer':
      deduceMember(ctx, node, actual, state, scope);
      break;
    default:
      break;
  }
}

/** `M T::*` of a pointer to data, `R (T::*)(A)` of one to a function. */
function deduceMember(
  ctx: Context,
  { to }: TypeNode & { kind: 'memberPointer' },
  type: Type,
  state: Deduction,
  scope: Scope,
): void {
  if (type.kind === 'scalar' && type.member) deduce(ctx, to, type.member, state, scope);
  const given = type.kind === 'pointer' ? type.to : type;
  if (to.kind !== 'function' || given.kind !== 'function') return;
  if (given.result) deduce(ctx, to.result, given.result, state, scope);
  to.parameters.forEach((parameter, i) => {
    const own = given.parameters?.[i];
    if (own && !parameter.pack) deduce(ctx, parameter.type, own, state, scope);
  });
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
    const plain = unqualified(type);
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
    const name = nameOfArgument(p);
    if (name && p.pack && state.names.has(name)) setOnce(state, name, { kind: 'pack', elements: args.slice(i) });
    else if (!actual) return;
    else if (name && state.names.has(name)) setOnce(state, name, actual);
    else if (p.type && actual.kind === 'type') deduce(ctx, p.type, actual.type, state, scope);
  });
}

export function nameOfArgument(argument: TemplateArgument): string | undefined {
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
