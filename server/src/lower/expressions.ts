/** Expressions: one function a node kind; each gives a Value (an lvalue is a place). Nothing here throws. */
import type * as ast from '../parse/ast';
import type { Register } from '../program/program';
import { callExpression } from './calls';
import { castExpression, sizeofExpression } from './casts';
import { conditionalExpression } from './conditional';
import { isFulfilled } from './constraints';
import { type Context, skip, step as spend } from './context';
import { toPredicate } from './conversions';
import { withCaptures } from './host/closures';
import { throwExpression } from './host/exceptions';
import { hostLaunch } from './host/launch';
import { newObject } from './host/new-objects';
import { memberExpression } from './members';
import { nameExpression, thisExpression } from './names';
import { newOnDevice } from './new-on-device';
import { assignExpression, binaryExpression, binaryOnValues, unaryExpression } from './operators';
import { expandPack } from './packs';
import { rvalue } from './places';
import { indexExpression } from './pointers';
import { inScope } from './resolve-type';
import { blockExpression } from './statements';
import { stringAddress } from './strings';
import { listTypeOf, scalarOf, type Type, types } from './types';
import { useValues } from './unknown-calls';
import { userOperator } from './user-operators';
import { unknownValue, type Value } from './values';

const MAX_DEPTH = 400;
let depth = 0;

/** Lowers an expression. */
export function expression(ctx: Context, node: ast.Expression): Value {
  if (depth > MAX_DEPTH || !spend(ctx))
    return unknownValue({ kind: 'unknown', reason: 'nested too deeply' }, 'expression nested too deeply');
  depth++;
  try {
    return lowerExpression(ctx, node);
  } finally {
    depth--;
  }
}

function lowerExpression(ctx: Context, node: ast.Expression): Value {
  switch (node.kind) {
    case 'integer':
      return integerLiteral(ctx, node);
    case 'float':
      return number(ctx, node.type === 'float' ? types.float : types.double, node.value);
    case 'string':
      return {
        kind: 'scalar',
        type: { kind: 'pointer', to: types.char },
        register: stringAddress(ctx, node),
      };
    case 'name':
      return nameExpression(ctx, node);
    case 'this':
      return thisExpression(ctx);
    case 'unary':
      return unaryExpression(ctx, node);
    case 'binary':
      return binaryExpression(ctx, node);
    case 'assign':
      return assignExpression(ctx, node);
    case 'conditional':
      return conditionalExpression(ctx, node);
    case 'call':
      return callExpression(ctx, node);
    case 'index':
      return indexExpression(ctx, node);
    case 'member':
      return memberExpression(ctx, node);
    case 'cast':
      return castExpression(ctx, node);
    case 'sizeof':
      return sizeofExpression(ctx, node);
    case 'initList':
      return listValue(ctx, node);
    case 'lambda':
      if (ctx.unit.isHost) return withCaptures(ctx, node);
      return { kind: 'lambda', type: { kind: 'lambda', lambda: node }, lambda: node, scope: ctx.scope };
    case 'fold':
      return foldExpression(ctx, node);
    case 'packExpansion':
      return {
        kind: 'pack',
        type: types.void,
        elements: expandPack(ctx, node.operand) ?? [expression(ctx, node.operand)],
      };
    case 'block':
      return blockExpression(ctx, node);
    case 'launch':
      if (ctx.unit.isHost) return hostLaunch(ctx, node);
      // the grid it starts is another kernel's matter; here only its arguments are computed
      useValues(
        ctx,
        [...node.configuration, ...node.arguments].map((a) => rvalue(ctx, expression(ctx, a), a)),
      );
      return { kind: 'void', type: types.void };
    case 'throw':
      if (ctx.unit.isHost) throwExpression(ctx, node);
      return { kind: 'void', type: types.void };
    case 'new':
      if (ctx.unit.isHost) return newObject(ctx, node);
      return newOnDevice(ctx, node);
    case 'requires':
      return answerValue(ctx, isFulfilled(ctx, node, ctx.scope));
    default:
      skip(ctx, node, node.reason);
      return unknownValue({ kind: 'unknown', reason: node.reason }, node.reason);
  }
}

export function number(ctx: Context, type: Type, value: number): Value {
  const scalar = scalarOf(type) ?? 'i32';
  return {
    kind: 'scalar',
    type,
    register: ctx.builder.constant(scalar, scalar === 'f32' ? Math.fround(value) : value),
  };
}

const literalTypes: Partial<Record<string, Type>> = {
  bool: types.bool,
  char: types.char,
  int: types.int,
  'unsigned int': types.uint,
  long: types.long,
  'unsigned long': types.ulong,
  'long long': types.longlong,
  'unsigned long long': types.ulonglong,
  nullptr: { kind: 'pointer', to: types.void },
};

function integerLiteral(ctx: Context, node: ast.IntegerLiteral): Value {
  const type = literalTypes[node.type] ?? types.int;
  const value = Number(node.value);
  if (Number.isSafeInteger(value)) return number(ctx, type, value);
  return { kind: 'scalar', type, register: longConstant(ctx, node.value) };
}

/** A constant beyond 2^53, from its halves. */
function longConstant({ builder }: Context, value: bigint): Register {
  const half = (bits: bigint) => builder.constant('u64', Number(BigInt.asUintN(32, bits)));
  const high = builder.binary('shl', 'u64', half(value >> 32n), builder.constant('u32', 32));
  return builder.binary('or', 'u64', high, half(value));
}

/** What is known of a constraint, as a value. */
export const answerValue = (ctx: Context, answer: boolean | undefined): Value =>
  answer === undefined
    ? unknownValue(types.bool, 'a constraint that cannot be decided')
    : number(ctx, types.bool, answer ? 1 : 0);

function foldExpression(ctx: Context, node: ast.FoldExpression): Value {
  const elements = expandPack(ctx, node.pack);
  const reason = 'fold expression over a pack that is not known';
  if (!elements) {
    skip(ctx, node, reason);
    return unknownValue({ kind: 'unknown', reason }, reason);
  }
  const initial = node.initial && rvalue(ctx, expression(ctx, node.initial), node.initial);
  const all = node.left ? [...(initial ? [initial] : []), ...elements] : [...elements, ...(initial ? [initial] : [])];
  if (all.length === 0)
    return node.operator === ','
      ? { kind: 'void', type: types.void }
      : number(ctx, types.bool, node.operator === '&&' ? 1 : 0);
  const combine = (a: Value, b: Value): Value => foldStep(ctx, node, a, b);
  return node.left ? all.reduce(combine) : all.reduceRight((b, a) => combine(a, b));
}

/** The elements are evaluated already: of && and || all of them, as for operands without side effects. */
function foldStep(ctx: Context, node: ast.FoldExpression, a: Value, b: Value): Value {
  if (node.operator === ',') return b;
  if (node.operator === '&&' || node.operator === '||') {
    const fn = node.operator === '&&' ? 'and' : 'or';
    const left = toPredicate(ctx, rvalue(ctx, a, node), node);
    const right = toPredicate(ctx, rvalue(ctx, b, node), node);
    return { kind: 'scalar', type: types.bool, register: ctx.builder.binary(fn, 'pred', left, right) };
  }
  const overloaded = userOperator(ctx, `operator${node.operator}`, [a, b], node);
  return overloaded ?? binaryOnValues(ctx, node.operator, rvalue(ctx, a, node), rvalue(ctx, b, node), node);
}

/** Braces as a value. In programs of the host what they make of an object evaluates them: their elements are evaluated where these are asked for. */
function listValue(ctx: Context, node: ast.InitListExpression): Value {
  const { scope } = ctx;
  const evaluate = () => node.elements.map((e) => rvalue(ctx, expression(ctx, e.value), e.value));
  const type = listTypeOf(node.elements.length);
  if (!ctx.unit.isHost) return { kind: 'aggregate', type, elements: evaluate(), list: { node, scope } };
  let elements: Value[] | undefined;
  return {
    kind: 'aggregate',
    type,
    get elements() {
      const known = elements ?? inScope(ctx, scope, evaluate);
      elements = known;
      return known;
    },
    list: { node, scope },
  };
}
