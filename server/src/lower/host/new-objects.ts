/** `new` in the program of the host. */
import type * as ast from '../../parse/ast';
import type { Register } from '../../program/program';
import { callArguments, callExpression } from '../calls';
import { construct, constructInPlace, constructorsOf } from '../construct';
import { type Context, demandMemory } from '../context';
import { convertValue } from '../conversions';
import { expression } from '../expressions';
import { lookupName } from '../lookup';
import { assign, rvalue } from '../places';
import { recordOf } from '../records';
import { resolveType } from '../resolve-type';
import { type RecordInfo, sizeOf, type Type, types } from '../types';
import { type MemoryPlace, unknownValue, type Value } from '../values';
import { initialiseInMemory } from '../variables';
import { emitHost } from './memory';
import { isOfLibrary } from './only-read';

/** `new T[n]`, `new T(…)`, `new (place) T`: the address of what is made there. */
export function newObject(ctx: Context, node: ast.NewExpression): Value {
  const type = resolveType(ctx, node.type);
  const sized = node.type.kind === 'array' ? node.type.size : undefined;
  const element = type.kind === 'array' ? type.of : type;
  const size = sizeOf(element);
  const pointer: Type = { kind: 'pointer', to: element };
  if (size === undefined) return unknownValue(pointer, 'size of what new makes');
  if (type.kind === 'array') return newArray(ctx, node, element, size, sized);
  const bytes = ctx.builder.constant('i64', size);
  const isCleared = !node.isBare && node.arguments.length === 0 && !hasConstructors(element);
  const register = placeGiven(ctx, node) ?? emitHost(ctx, isCleared ? 'allocateZero' : 'allocate', [bytes]);
  const place = { kind: 'memory', address: register, offset: 0, node } as const;
  if (node.arguments.length > 0) {
    const args = callArguments(ctx, node.arguments);
    if (!constructInPlace(ctx, place, element, args, node))
      assign(ctx, place, element, construct(ctx, element, args, node, false), node);
  } else if (recordOf(element)) initialiseInMemory(ctx, place, element, undefined, node);
  return { kind: 'scalar', type: pointer, register };
}

function newArray(
  ctx: Context,
  node: ast.NewExpression,
  element: Type,
  size: number,
  sized: ast.Expression | undefined,
): Value {
  const { builder } = ctx;
  const pointer: Type = { kind: 'pointer', to: element };
  const list = node.arguments[0]?.kind === 'initList' ? node.arguments[0].elements : [];
  const given: Value = { kind: 'scalar', type: types.long, register: builder.constant('i64', list.length) };
  const count = sized ? convertValue(ctx, rvalue(ctx, expression(ctx, sized), sized), types.long, sized) : given;
  if (count.kind !== 'scalar') return unknownValue(pointer, 'size of what new makes');
  const total = builder.binary('mul', 'i64', count.register, builder.constant('i64', size));
  const isConstructed = !isZeroMade(element);
  const isLeft = node.isBare && !hasObjects(element);
  const address = placeGiven(ctx, node) ?? emitHost(ctx, isLeft ? 'allocate' : 'allocateZero', [total]);
  const made: Value = { kind: 'scalar', type: pointer, register: address };
  if (isConstructed) constructAll(ctx, made, count, node);
  for (const [i, { value }] of list.entries()) {
    const place: MemoryPlace = { kind: 'memory', address, offset: i * size, node };
    initialiseInMemory(ctx, place, element, { form: 'assign', value }, node);
  }
  return made;
}

/** Makes objects one behind the other, in a loop of the library's. */
export function constructAll(ctx: Context, first: Value, count: Value, node: ast.Node): void {
  const entity = lookupName(ctx, ctx.scope, '__make_all');
  if (entity?.kind !== 'functions') return;
  const { declarations, scope } = entity;
  const range = { first: node.first, last: node.last };
  callExpression(
    ctx,
    { kind: 'call', callee: { kind: 'this', ...range }, arguments: [], ...range },
    { kind: 'functions', type: { kind: 'function' }, declarations, scope },
    [first, count],
  );
}

/** Whether an object that is made without arguments is all zero, or left as it is: numbers, and containers that begin with no memory. */
export function isZeroMade(type: Type, depth = 0): boolean {
  if (type.kind === 'array') return isZeroMade(type.of, depth);
  if (type.kind !== 'record') return true;
  const { record } = type;
  if (depth > DEEPEST || !(isOfLibrary(type) ? beginsEmpty(record) : constructorsOf(record).length === 0)) return false;
  const members = record.declaration?.members ?? [];
  const isPlain = members.every((m) => m.kind !== 'variable' || m.specifiers.isStatic || isZero(m.initializer));
  return isPlain && record.fields.every((field) => isZeroMade(field.type, depth + 1));
}

const DEEPEST = 16;

/** Of the library's classes the constructor without arguments sets members to zero behind its `:`, if anything. */
function beginsEmpty(record: RecordInfo): boolean {
  const plain = constructorsOf(record).filter(({ parameters }) => parameters.every((p) => p.default !== undefined));
  return plain.every(
    ({ body, initializers = [] }) =>
      (body?.body.length ?? 0) === 0 && initializers.every(({ arguments: args }) => args.every(isZeroExpression)),
  );
}

function isZero(init: ast.VariableInitializer | undefined): boolean {
  if (!init) return true;
  if (init.form === 'assign') return isZeroExpression(init.value);
  const values = init.form === 'call' ? init.arguments : init.list.elements.map(({ value }) => value);
  return values.every(isZeroExpression);
}

export const isZeroExpression = (node: ast.Expression): boolean =>
  (node.kind === 'integer' && node.value === 0n) || (node.kind === 'float' && node.value === 0);

const hasConstructors = (type: Type): boolean => type.kind === 'record' && constructorsOf(type.record).length > 0;

/** Records with something in them that is more than a number. */
export function hasObjects(type: Type): boolean {
  if (type.kind === 'array') return hasObjects(type.of);
  if (type.kind !== 'record') return false;
  return (
    constructorsOf(type.record).length > 0 || isOfLibrary(type) || type.record.fields.some((f) => hasObjects(f.type))
  );
}

/** `new (place) T`: the address; `new (std::nothrow) T` has none. */
export function placeGiven(ctx: Context, { placement }: ast.NewExpression): Register | undefined {
  const [node] = placement ?? [];
  const given = node && rvalue(ctx, expression(ctx, node), node);
  if (given?.kind === 'placePointer' && given.target.owner) demandMemory(ctx, given.target.owner);
  return given?.kind === 'scalar' && given.type.kind === 'pointer' ? given.register : undefined;
}
