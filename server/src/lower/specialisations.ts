/** Which specialisation of a template is meant: patterns matched against arguments, and partial ordering among those that fit. */
import type { TemplateArgument, TemplateParameter, TypeNode } from '../parse/ast';
import { type Formula, isMoreConstrained } from '../parse/subsumption';
import { constantOf } from './constants';
import { areFulfilled, type Constrained, demandsOf } from './constraints';
import type { Context } from './context';
import { lookupQualified } from './lookup';
import { namesIn } from './packs';
import { argumentKey } from './records';
import { evaluateArguments, inScope, resolveType } from './resolve-type';
import { Scope } from './scope';
import { type Callable, type Deduction, nameOfArgument } from './templates';
import {
  type FunctionType,
  type RecordInfo,
  type TemplateValue,
  type Type,
  typeKey,
  types,
  withoutReference,
} from './types';

/** The declaration whose pattern fits the arguments and is the most special of those that do, and what its parameters are then. */
/** A constraint of a specialisation of which nobody knows whether it holds. */
export const UNDECIDED = 'undecided';

type Specialisation = Constrained & { readonly templateParameters?: readonly TemplateParameter[] };

export function mostSpecialised<D extends Specialisation>(
  ctx: Context,
  declarations: readonly D[],
  patternOf: (declaration: D) => readonly TemplateArgument[],
  primary: readonly TemplateParameter[],
  args: readonly TemplateValue[],
  scope: Scope,
): { declaration: D; bound: Map<string, TemplateValue> } | typeof UNDECIDED | undefined {
  let best: { declaration: D; bound: Map<string, TemplateValue>; own: Pattern } | undefined;
  const flat = args.flatMap((a) => (a.kind === 'pack' ? a.elements : [a]));
  for (const declaration of declarations) {
    const pattern = patternWithDefaults(patternOf(declaration), primary);
    const bound = matchArguments(ctx, pattern, flat, declaration.templateParameters ?? [], scope);
    if (!bound) continue;
    const inner = new Scope(scope, 'specialisation');
    for (const [name, value] of bound) inner.define(name, { kind: 'template', value });
    const isFulfilled = areFulfilled(ctx, declaration, inner);
    if (isFulfilled === undefined) return UNDECIDED;
    if (!isFulfilled) continue;
    const own = {
      pattern,
      parameters: declaration.templateParameters ?? [],
      demands: declaration.constraints && demandsOf(ctx, declaration, inner),
    };
    if (!best || isMoreSpecial(ctx, own, best.own, scope)) best = { declaration, bound, own };
  }
  return best;
}

interface Pattern {
  readonly pattern: readonly TemplateArgument[];
  readonly parameters: readonly TemplateParameter[];
  readonly demands?: Formula;
}

/** Partial ordering: everything that fits `a` fits `b` too, and not the other way; where neither holds the one with fewer parameters. */
function isMoreSpecial(ctx: Context, a: Pattern, b: Pattern, scope: Scope): boolean {
  const fits = (special: Pattern, general: Pattern): boolean => {
    const bound = withUnique(special.parameters, scope);
    const args = evaluateArguments(ctx, special.pattern, bound).flatMap((v) => (v.kind === 'pack' ? v.elements : [v]));
    return matchArguments(ctx, general.pattern, args, general.parameters, scope) !== undefined;
  };
  const [below, above] = [fits(a, b), fits(b, a)];
  if (below !== above) return below;
  return isMoreConstrained(a.demands, b.demands) || a.parameters.length < b.parameters.length;
}

/** Partial ordering of function templates, by the types of their parameters. */
export function isMoreSpecialFunction(ctx: Context, a: Callable, b: Callable, scope: Scope): boolean {
  const fits = (special: Callable, general: Callable): boolean => {
    const bound = withUnique(special.templateParameters ?? [], scope);
    const names = new Set((general.templateParameters ?? []).flatMap((p) => p.name ?? []));
    const state: Deduction = { names, found: new Map() };
    // a pack takes what stands there and behind it, and nothing but a pack takes a pack
    if (special.parameters.length > general.parameters.length && !general.parameters.at(-1)?.pack) return false;
    return general.parameters.every((parameter, i) => {
      const other = special.parameters[i];
      if (parameter.pack) return true;
      if (!other || other.pack) return false;
      return matchType(
        ctx,
        plainNode(parameter.type),
        withoutReference(resolveType(ctx, other.type, bound)),
        state,
        scope,
      );
    });
  };
  return fits(a, b) && !fits(b, a);
}

const plainNode = (node: TypeNode): TypeNode => (node.kind === 'reference' ? node.to : node);

/** Each parameter stands for something that nothing else is. */
function withUnique(parameters: readonly TemplateParameter[], scope: Scope): Scope {
  const bound = new Scope(scope, 'order');
  for (const [i, { name, kind, pack }] of parameters.entries()) {
    if (!name) continue;
    const value: TemplateValue =
      kind === 'value'
        ? { kind: 'number', value: UNIQUE + i, type: types.int }
        : { kind: 'type', type: { kind: 'enum', scalar: 'i32', name: `#${i}` } };
    const given: TemplateValue = pack ? { kind: 'pack', elements: [value] } : value;
    bound.define(name, { kind: 'template', value: given });
  }
  return bound;
}

/** No program passes numbers from here on to a template. */
const UNIQUE = 2 ** 40;

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
  if (node.kind === 'function') return type.kind === 'function' && matchFunction(ctx, node, type, state, scope);
  if (node.kind === 'pointer') return type.kind === 'pointer' && matchType(ctx, node.to, type.to, state, scope);
  if (node.kind === 'array') return type.kind === 'array' && matchArray(ctx, node, type, state, scope);
  if (node.kind === 'reference') return type.kind === 'reference' && matchType(ctx, node.to, type.to, state, scope);
  return whenKnown(state, node, scope, (at) => {
    const plain = resolveType(ctx, node, at);
    return typeKey(plain) === typeKey(type) && Boolean(plain.isConst) === Boolean(type.isConst);
  });
}

/** `R (A, B)`, `R (A...)` */
function matchFunction(
  ctx: Context,
  node: TypeNode & { kind: 'function' },
  { result, parameters }: FunctionType,
  state: Deduction,
  scope: Scope,
): boolean {
  if (!result || !parameters) return false;
  const given = parameters.map((type): TemplateValue => ({ kind: 'type', type }));
  const pattern = node.parameters.map(({ first, last, type, pack }): TemplateArgument => ({ first, last, type, pack }));
  return matchType(ctx, node.result, result, state, scope) && matchList(ctx, pattern, given, state, scope);
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
