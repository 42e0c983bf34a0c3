/** Overload resolution: which function a call means. */
import type * as ast from '../parse/ast';
import { takes } from '../parse/constructors';
import { isMoreConstrained } from '../parse/subsumption';
import { pathToBase } from './bases';
import { areFulfilled, demandsOf, withParameters } from './constraints';
import { type Context, LIBRARY_TOKENS } from './context';
import { isContainer } from './host/copies';
import { lookupQualified } from './lookup';
import { namesIn } from './packs';
import { countParts } from './places';
import { recordOf } from './records';
import { evaluateArguments, isFailure, resolveType } from './resolve-type';
import { Scope } from './scope';
import { isMoreSpecialFunction } from './specialisations';
import { bindTemplateParameters, deduceArguments, explicitly } from './templates';
import {
  isFloat,
  isSigned,
  parameterType,
  type RecordInfo,
  type RecordType,
  scalarOf,
  type TemplateValue,
  type Type,
  typeKey,
  unqualified,
  withoutReference,
} from './types';
import type { Value } from './values';

export interface ChosenFunction {
  readonly declaration: ast.FunctionDeclaration;
  /** Where the function is declared: its names are looked up from here. */
  readonly scope: Scope;
  readonly templateArguments: readonly TemplateValue[];
  /** Another may be meant: which constraints hold is not known. */
  readonly isDoubtful?: boolean;
}

/**
 * The best function with a body for the arguments; on the host a virtual method may be without (`= 0`).
 * @param self the object whose method is called
 */
export function chooseOverload(
  ctx: Context,
  candidates: readonly ast.FunctionDeclaration[],
  scope: Scope,
  args: readonly Value[],
  explicit: readonly TemplateValue[] | undefined,
  self?: Value,
): ChosenFunction | undefined {
  const best = bestOverload(ctx, candidates, scope, args, explicit, self);
  return best && { ...best.chosen, isDoubtful: best.isDoubtful };
}

/** Of two methods that differ in `const` alone the one that is as the object is: less than any conversion costs. */
const COST_OF_CONST = 0.1;

function costOfObject({ isConst, specifiers }: ast.FunctionDeclaration, self: Value | undefined): number {
  if (!self || specifiers.isStatic) return 0;
  return isConst === (withoutReference(self.type).isConst === true) ? 0 : COST_OF_CONST;
}

/** The same with what the conversions of its arguments cost, to compare it with functions of other scopes. */
export function bestOverload(
  ctx: Context,
  candidates: readonly ast.FunctionDeclaration[],
  scope: Scope,
  args: readonly Value[],
  explicit: readonly TemplateValue[] | undefined,
  self?: Value,
): Rated | undefined {
  let best: Rated | undefined;
  const doubtful: Rated[] = [];
  for (const declaration of candidates) {
    const isAbstract = ctx.unit.isHost && declaration.specifiers.isVirtual;
    if (!(declaration.body || isAbstract) || !takes(declaration, args.length)) continue;
    const specialised = declaration.name.parts.at(-1)?.templateArguments;
    if (explicit?.length && !declaration.templateParameters && !specialised) continue;
    const fitting = rate(ctx, declaration, scope, args, explicit ?? []);
    const rated = fitting && { ...fitting, cost: fitting.cost + costOfObject(declaration, self) };
    if (rated?.isDoubtful) doubtful.push(rated);
    else if (rated && (!best || rated.cost < best.cost || isMoreSpecial(ctx, rated, best))) best = rated;
  }
  const { cost } = best ?? { cost: Number.POSITIVE_INFINITY };
  const rivals = doubtful.filter((rated) => rated.cost <= cost);
  if (rivals.length === 0) return best;
  // the only one that there is must be the one
  return { ...rivals[0], isDoubtful: rivals.length > 1 || best !== undefined };
}

export interface Rated {
  readonly chosen: ChosenFunction;
  readonly cost: number;
  /** What its parameters stand for. */
  readonly bound: Scope;
  /** Whether its constraints hold is not known. */
  readonly isDoubtful?: boolean;
}

/** Of two that fit equally well. */
function isMoreSpecial(ctx: Context, a: Rated, b: Rated): boolean {
  const [own, other] = [a.chosen.declaration, b.chosen.declaration];
  if (a.cost !== b.cost) return false;
  if (own.templateParameters && other.templateParameters) {
    if (isMoreSpecialFunction(ctx, own, other, a.chosen.scope)) return true;
    if (own.constraints && isMoreSpecialFunction(ctx, other, own, a.chosen.scope)) return false;
  }
  if (!own.constraints) return false;
  return isMoreConstrained(demandsOf(ctx, own, a.bound), demandsOf(ctx, other, b.bound));
}

function rate(
  ctx: Context,
  declaration: ast.FunctionDeclaration,
  scope: Scope,
  args: readonly Value[],
  explicit: readonly TemplateValue[],
): Rated | undefined {
  const argumentTypes = args.map((a) => a.type);
  let bound = scope;
  let templateArguments: TemplateValue[] = [];
  let cost = declaration.specifiers.isHost && !declaration.specifiers.isDevice ? 50 : 0;
  const specialised = declaration.name.parts.at(-1)?.templateArguments;
  if (specialised) {
    const wanted = evaluateArguments(ctx, specialised, scope);
    if (explicit.some((e, i) => !sameArgument(e, wanted[i]))) return undefined;
    cost -= 1;
  } else if (declaration.templateParameters) {
    const { templateParameters: parameters } = declaration;
    if (parameters.some((p, i) => isOtherKind(explicitly(parameters, explicit, i), p))) return undefined;
    templateArguments = deduceArguments(ctx, declaration, explicit, argumentTypes, scope);
    bound = new Scope(scope, 'overload');
    const complete = bindTemplateParameters(ctx, bound, declaration.templateParameters, templateArguments);
    const own = new Set(declaration.templateParameters.flatMap((p) => p.name ?? []));
    const isOther = (p: ast.Parameter, i: number) => isNoInstance(ctx, p, argumentTypes[i], scope, own);
    if (cannotBe(ctx, declaration, complete, bound) || declaration.parameters.some(isOther)) return undefined;
    if (templateArguments.some((t) => t.kind === 'unknown')) cost += 200;
    cost += 2;
  }
  for (const [i, parameter] of declaration.parameters.entries()) {
    if (parameter.pack || !argumentTypes[i]) continue;
    const to = parameterType(resolveType(ctx, parameter.type, bound));
    if (!mayMake(args[i], to)) return undefined;
    const step = isNullPointer(ctx, args[i], to) ? 1 : conversionCost(argumentTypes[i], to);
    const more = ctx.unit.isHost ? bindingCost(declaration, parameter, args[i]) : 0;
    if (step === undefined || more === undefined) return undefined;
    cost += step + more;
  }
  const isFulfilled = areFulfilled(ctx, declaration, bound);
  if (isFulfilled === false) return undefined;
  return { chosen: { declaration, scope, templateArguments }, cost, bound, isDoubtful: isFulfilled === undefined };
}

/**
 * Of an object of a class: `T&&` takes one that nobody else needs, before `const T&` does, and no other. A parameter of a template takes both.
 */
function bindingCost(declaration: ast.FunctionDeclaration, { type }: ast.Parameter, given: Value): number | undefined {
  if (type.kind !== 'reference' || withoutReference(given.type).kind !== 'record') return 0;
  const isNeeded = given.kind === 'place' && given.handed !== 'expiring' && given.handed !== 'temporary';
  if (!type.rvalue) return isNeeded ? 0 : 0.25;
  const { to } = type;
  const isOpen =
    to.kind === 'named' && declaration.templateParameters?.some(({ name }) => name === to.name.parts.at(-1)?.name);
  return isNeeded && !isOpen && to.kind !== 'auto' ? undefined : 0;
}

/** Whether an argument, if it stands in braces, may make an object of a type. */
function mayMake(given: Value, to: Type): boolean {
  return given.kind !== 'aggregate' || !given.list || fits(given.list.node, to);
}

/** Braces make no number of several values, no element or member that is a number of braces with several, and no record of more than it has. */
function fits({ elements }: ast.InitListExpression, to: Type): boolean {
  const plain = unqualified(withoutReference(to));
  if (scalarOf(plain)) return elements.length <= 1 && elements[0]?.value.kind !== 'initList';
  if (plain.kind !== 'record') return true;
  const { fields, methods, templateArguments = [] } = plain.record;
  const [element] = templateArguments;
  const fitsIn = (value: ast.Expression, type: Type) => value.kind !== 'initList' || fits(value, type);
  // elements of sets and maps are not the first of their arguments
  if (isContainer(plain) && element?.kind === 'type' && !methods.has('__has'))
    return elements.every(({ value }) => fitsIn(value, element.type));
  if (methods.size > 0) return !isArray(plain) || fitsArray(elements, fields[0].type);
  if (elements.length > countParts(plain)) return false;
  // where inner braces are left out (`{1, 2, 3}` for an array of two and a number) values are not the members in their order
  const isInOrder = elements.every(({ value }, i) => value.kind === 'initList' || scalarOf(fields[i]?.type ?? plain));
  return !isInOrder || elements.every(({ value }, i) => !fields[i] || fitsIn(value, fields[i].type));
}

/** `std::array`: an aggregate of one array. */
const isArray = (type: RecordType): boolean =>
  type.record.fields.length === 1 && type.record.fields[0].type.kind === 'array' && !mayBeMade(type);

/** The braces of the array itself may be left out; those of its elements are the elements'. */
function fitsArray(elements: ast.InitListExpression['elements'], array: Type): boolean {
  if (array.kind !== 'array') return true;
  const [first] = elements;
  if (elements.length === 1 && first.value.kind === 'initList' && !recordOf(array.of))
    return fitsArray(first.value.elements, array);
  const isTooLong = array.count !== undefined && elements.length > array.count && !recordOf(array.of);
  return !isTooLong && elements.every(({ value }) => value.kind !== 'initList' || fits(value, array.of));
}

/** A type for a number or a number for a type: `get<int>(v)` is not `get<size_t I>`. */
function isOtherKind(given: TemplateValue | undefined, parameter: ast.TemplateParameter): boolean {
  if (!given || parameter.pack) return false;
  return parameter.kind === 'type' ? given.kind === 'number' : parameter.kind === 'value' && given.kind === 'type';
}

/** `nullptr`, `NULL` or 0 for a pointer */
function isNullPointer(ctx: Context, value: Value, to: Type): boolean {
  if (unqualified(to).kind !== 'pointer' || value.kind !== 'scalar') return false;
  const isLiteral =
    value.type.kind === 'pointer' ? value.type.to.kind === 'void' : !isFloat(scalarOf(value.type) ?? 'f32');
  return isLiteral && ctx.builder.constantValue(value.register) === 0;
}

/** Substitution that fails rules the function out: `enable_if_t<…>` among its template parameters or as its result. */
function cannotBe(
  ctx: Context,
  declaration: ast.FunctionDeclaration,
  args: readonly TemplateValue[],
  bound: Scope,
): boolean {
  const parameters = declaration.templateParameters ?? [];
  const fails = (type: ast.TypeNode | undefined): boolean =>
    type !== undefined && mayFail(type) && isFailure(resolveType(ctx, type, bound));
  return (
    args.some((a) => a.kind === 'type' && isFailure(a.type)) ||
    parameters.some((p) => p.kind === 'value' && fails(p.type)) ||
    (declaration.result.kind === 'decltype' ? isNoResult(ctx, declaration, bound) : fails(declaration.result)) ||
    declaration.parameters.some((p) => fails(p.type))
  );
}

/** `-> decltype(t.size())` of what has no size */
function isNoResult(ctx: Context, { result, parameters }: ast.FunctionDeclaration, bound: Scope): boolean {
  const inner = withParameters(ctx, parameters, bound);
  return inner !== undefined && isFailure(resolveType(ctx, result, inner));
}

/**
 * A number or a pointer for `const complex<T>&`: no T can be deduced from it, whatever converts to what. Nor is `sqrt` of a type that
 * is not known the library's of `complex<T>`: followed, one line becomes thousands of calls that say nothing.
 */
function isNoInstance(
  ctx: Context,
  { type }: ast.Parameter,
  given: Type | undefined,
  scope: Scope,
  own: ReadonlySet<string>,
): boolean {
  const kind = given && withoutReference(given).kind;
  if (kind === 'record' && ctx.unit.isHost) return isOtherTemplate(ctx, type, given, scope, own);
  const isUnknown = kind === 'unknown' && type.first >= LIBRARY_TOKENS;
  if (!isUnknown && kind !== 'scalar' && kind !== 'pointer' && kind !== 'array') return false;
  const node = type.kind === 'reference' ? type.to : type;
  if (node.kind !== 'named' || !node.name.parts.at(-1)?.templateArguments) return false;
  const names = namesIn(node);
  return [...own].some((name) => names.has(name)) && lookupQualified(ctx, scope, node.name)?.kind === 'record';
}

/** An object of another class for `vector<T>&`. */
function isOtherTemplate(
  ctx: Context,
  type: ast.TypeNode,
  given: Type | undefined,
  scope: Scope,
  own: ReadonlySet<string>,
): boolean {
  const node = type.kind === 'reference' ? type.to : type;
  if (!given || node.kind !== 'named' || !node.name.parts.at(-1)?.templateArguments) return false;
  if (![...own].some((name) => namesIn(node).has(name))) return false;
  const entity = lookupQualified(ctx, scope, node.name);
  if (entity?.kind !== 'record') return false;
  const isInstance = (record: RecordInfo | undefined, depth: number): boolean =>
    record !== undefined &&
    depth < 16 &&
    ((record.template !== undefined && entity.declarations.includes(record.template)) ||
      record.fields.some((field) => field.isBase && isInstance(recordOf(field.type), depth + 1)));
  return !isInstance(recordOf(given), 0);
}

/** Types of template arguments or of a qualified name. */
function mayFail(type: ast.TypeNode): boolean {
  if (type.kind === 'pointer' || type.kind === 'reference') return mayFail(type.to);
  if (type.kind !== 'named') return false;
  return type.name.parts.length > 1 || type.name.parts[0].templateArguments !== undefined;
}

function sameArgument(a: TemplateValue, b: TemplateValue | undefined): boolean {
  if (!b || a.kind !== b.kind) return false;
  if (a.kind === 'type' && b.kind === 'type') return typeKey(a.type) === typeKey(b.type);
  if (a.kind === 'number' && b.kind === 'number') return a.value === b.value;
  return true;
}

/**
 * What a conversion costs in the choice of an overload: 0 exact, small for promotions, larger for conversions, undefined when impossible. Unknown types
 * fit anything, badly.
 */
export function conversionCost(from: Type, to: Type): number | undefined {
  const a = unqualified(withoutReference(from));
  const b = unqualified(withoutReference(to));
  if (a.kind === 'unknown' || b.kind === 'unknown' || b.kind === 'callable') return 30;
  const constPenalty = to.kind === 'reference' && isConstant(to.to) !== isConstant(withoutReference(from)) ? 0.5 : 0;
  if (typeKey(a) === typeKey(b)) return constPenalty;
  const sa = scalarOf(a);
  const sb = scalarOf(b);
  if (b.kind === 'record' && (a.kind === 'pointer' || a.kind === 'array')) return madeOf(b).pointer ? 22 : undefined;
  if (a.kind === 'array' && b.kind === 'pointer') return b.to.kind === 'void' ? 5 : pointeeCost(a.of, b.to);
  if (a.kind === 'pointer' && b.kind === 'pointer') return pointerCost(a, b);
  // a lambda converts to a pointer to a function, a function's name decays to one
  if (b.kind === 'pointer' && b.to.kind === 'function' && (a.kind === 'lambda' || a.kind === 'function')) return 4;
  if (b.kind === 'pointer' && a.kind === 'record') return mayConvert(a) ? 25 : undefined;
  if (a.kind === 'pointer' || b.kind === 'pointer') return undefined;
  if (sa && sb) {
    if (isFloat(sa) === isFloat(sb)) return isSigned(sa) === isSigned(sb) ? 2 : 3;
    return 6;
  }
  if (a.kind === 'record' && b.kind === 'record') {
    const path = pathToBase(a.record, b.record);
    if (path) return 4 + path.length;
  }
  // CUDA's own constructor
  if (b.kind === 'record' && b.record.name === 'dim3' && sa) return 20;
  if (b.kind === 'record' && (sa || a.kind === 'record')) {
    // other arguments of one template may be the same, written in another way
    const isOther = a.kind === 'record' && a.record.declaration !== b.record.declaration;
    if (isOther && !mayBeMade(b) && !mayConvert(a)) return undefined;
    const { pointer, other } = madeOf(b);
    return b.record.methods.size > 0 && (other || !pointer || mayConvert(a)) ? 20 : undefined;
  }
  if (a.kind === 'record' && sb) return mayConvert(a) ? 25 : undefined;
  return a.kind === b.kind ? 10 : undefined;
}

/** A constant array has constant elements. */
const isConstant = (type: Type): boolean => type.isConst === true || (type.kind === 'array' && isConstant(type.of));

/** Whether a class, or a base of it, converts to something (a buffer to the pointer that it owns), as far as its text could be read. */
function mayConvert(type: Type, depth = 0): boolean {
  if (type.kind !== 'record') return true;
  const { fields, methods } = type.record;
  if ([...methods.keys()].some((name) => /^operator [\w(:]/.test(name))) return true;
  return depth < 16 && fields.some((field) => field.isBase && mayConvert(field.type, depth + 1));
}

/** Whether an object of another class may become one of this: not without a constructor, be it of a base. */
function mayBeMade({ record: { declaration, methods, fields } }: Type & { kind: 'record' }): boolean {
  return methods.has(declaration?.name?.parts.at(-1)?.name ?? '') || fields.some((field) => field.isBase);
}

/** What a class can be made of alone, as its constructors are written: a pointer or an array (a text from characters), or something else. */
function madeOf({ record: { declaration, methods } }: Type & { kind: 'record' }): { pointer: boolean; other: boolean } {
  const constructors = methods.get(declaration?.name?.parts.at(-1)?.name ?? '') ?? [];
  const alone = constructors.flatMap(({ parameters: [first, ...rest] }) =>
    first && rest.every((parameter) => parameter.default !== undefined) ? [isOfElements(first.type)] : [],
  );
  return { pointer: alone.includes(true), other: alone.includes(false) };
}

/** `const char*`, `T (&)[N]` */
const isOfElements = (type: ast.TypeNode): boolean =>
  type.kind === 'pointer' || (type.kind === 'reference' && type.to.kind === 'array');

function pointerCost(a: Type & { kind: 'pointer' }, b: Type & { kind: 'pointer' }): number | undefined {
  if (b.to.kind === 'void') return 5;
  if (a.to.isConst && !b.to.isConst) return undefined;
  if (a.to.kind === 'unknown' || b.to.kind === 'unknown') return 30;
  if (a.to.kind === 'record' && b.to.kind === 'record') return typeKey(a.to) === typeKey(b.to) ? 0.5 : 8;
  return pointeeCost(a.to, b.to);
}

/**
 * What a pointer leads to, of the same type but for qualifiers that are added: those of rows stand at their elements, and what pointers behind it
 * lead to may become constant where they are so themselves (`float**` for `const float* const*`).
 */
function pointeeCost(from: Type, to: Type): number | undefined {
  if (typeKey(from) === typeKey(to)) return 0.5;
  let [a, b] = [from, to];
  while (a.kind === 'array' && b.kind === 'array' && a.count === b.count) [a, b] = [a.of, b.of];
  const adds = (b.isConst || !a.isConst) && (b.isVolatile || !a.isVolatile);
  if (a.kind === 'pointer' && b.kind === 'pointer' && b.isConst && adds) {
    const isLess = a.to.isConst && !b.to.isConst;
    return isLess || pointeeCost(a.to, b.to) === undefined ? undefined : 0.75;
  }
  return a !== from && adds && typeKey(a) === typeKey(b) ? 0.75 : undefined;
}
