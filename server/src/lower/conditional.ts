/** Control flow in expressions: `a && b`, `a || b`, `c ? a : b`. */

import type * as ast from '../parse/ast';
import type { LibraryBranches } from '../program/program';
import { isFolded } from '../program/speculation';
import { unevaluatedType } from './casts';
import { type Context, demandMemory, placeOf } from './context';
import { convertRegister, convertValue, toPredicate } from './conversions';
import { expression } from './expressions';
import { withTemporaries } from './host/destructors';
import { KnownValues } from './known-values';
import { addressOfExpression } from './operators';
import { peeked, reasonOf, rvalue, writeRegister } from './places';
import { dereference } from './pointers';
import { recordOf } from './records';
import { arithmeticType, scalarOf, type Type, types, unqualified, withoutReference } from './types';
import { unknownValue, type Value } from './values';

/** No access, call or side effect: may be evaluated for all lanes without a branch, as the compiler does. */
export function isSimple(node: ast.Expression, budget = 24): boolean {
  if (budget <= 0) return false;
  switch (node.kind) {
    case 'integer':
    case 'float':
    case 'name':
    case 'sizeof':
      return true;
    case 'unary':
      return /^[+\-!~]$/.test(node.operator) && isSimple(node.operand, budget - 1);
    case 'binary':
      return node.operator !== ',' && isSimple(node.left, budget / 2) && isSimple(node.right, budget / 2);
    case 'conditional':
      return isSimple(node.condition, budget / 3) && isSimple(node.then, budget / 3) && isSimple(node.else, budget / 3);
    case 'cast':
      return node.arguments.every((a) => isSimple(a, budget - 1));
    case 'member':
      return !node.arrow && isSimple(node.object, budget - 1);
    default:
      return false;
  }
}

/** @param first what its left side gives */
export function logical(ctx: Context, node: ast.BinaryExpression, first: Value): Value {
  const b = ctx.builder;
  const left = toPredicate(ctx, peeked(ctx, first, node.left), node.left);
  const constant = b.constantValue(left);
  const isAnd = node.operator === '&&';
  if (constant !== undefined && Boolean(constant) !== isAnd)
    return { kind: 'scalar', type: types.bool, register: left };
  if (constant !== undefined || isSimple(node.right)) {
    const right = toPredicate(ctx, peeked(ctx, expression(ctx, node.right), node.right), node.right);
    return { kind: 'scalar', type: types.bool, register: b.binary(isAnd ? 'and' : 'or', 'pred', left, right) };
  }
  const result = b.variable('pred');
  writeRegister(ctx, result, left);
  const more = b.newBlock();
  const join = b.newBlock();
  b.branch(left, isAnd ? more : join, isAnd ? join : more, { place: placeOf(ctx, node), kind: 'logical' });
  const known = ctx.known.fork();
  b.use(more);
  b.enterRegion();
  const right = () => toPredicate(ctx, peeked(ctx, expression(ctx, node.right), node.right), node.right);
  writeRegister(ctx, result, withTemporaries(ctx, right));
  b.jump(join);
  b.leaveRegion();
  ctx.known = KnownValues.merged([known, ctx.known]);
  b.use(join);
  return { kind: 'scalar', type: types.bool, register: readResult(ctx, result) };
}

function readResult(ctx: Context, variable: number): number {
  const copy = ctx.builder.register(ctx.builder.typeOf(variable), 'temporary');
  ctx.builder.emit({ op: 'unary', fn: 'mov', type: ctx.builder.typeOf(variable), dst: copy, a: variable });
  return copy;
}

export function conditionalExpression(ctx: Context, node: ast.ConditionalExpression): Value {
  const condition = toPredicate(ctx, peeked(ctx, expression(ctx, node.condition), node.condition), node.condition);
  const constant = ctx.builder.constantValue(condition);
  if (constant !== undefined) return chosenSide(ctx, node, constant !== 0);
  if (isSimple(node.then) && isSimple(node.else)) {
    const start = ctx.builder.emitted;
    const a = rvalue(ctx, expression(ctx, node.then), node.then);
    const middle = ctx.builder.emitted;
    const b = rvalue(ctx, expression(ctx, node.else), node.else);
    const sides = [ctx.builder.emittedSince(start, middle), ctx.builder.emittedSince(middle)];
    const branches = isFolded(ctx.builder.registers, sides) ? undefined : 'short';
    return selectValue(ctx, condition, a, b, node, branches);
  }
  return branchingConditional(ctx, node, condition);
}

/** The side that is always taken, in the type that both have together: `small ? 1 : 2.0` is a double. */
function chosenSide(ctx: Context, node: ast.ConditionalExpression, isFirst: boolean): Value {
  const [chosen, other] = isFirst ? [node.then, node.else] : [node.else, node.then];
  const value = expression(ctx, chosen);
  const own = unqualified(withoutReference(value.type));
  if (own.kind !== 'scalar' || !isSimple(other)) return value;
  const others = unqualified(withoutReference(unevaluatedType(ctx, other)));
  if (others.kind !== 'scalar' || others.scalar === own.scalar) return value;
  const common = arithmeticType(own, others);
  return scalarOf(common) === own.scalar ? value : convertValue(ctx, rvalue(ctx, value, chosen), common, chosen);
}

/** p ? a : b of two values already computed. */
export function selectValue(
  ctx: Context,
  p: number,
  a: Value,
  b: Value,
  node: ast.Node,
  branches?: LibraryBranches,
): Value {
  if (a.kind === 'scalar' && b.kind === 'scalar') {
    const type = commonType(a.type, b.type);
    const scalar = scalarOf(type) ?? 'i32';
    const ra = convertRegister(ctx, a.register, ctx.builder.typeOf(a.register), scalar);
    const rb = convertRegister(ctx, b.register, ctx.builder.typeOf(b.register), scalar);
    return { kind: 'scalar', type, register: ctx.builder.select(scalar, p, ra, rb, branches) };
  }
  if (a.kind === 'aggregate' && b.kind === 'aggregate' && a.elements.length === b.elements.length) {
    return { ...a, elements: a.elements.map((e, i) => selectValue(ctx, p, e, b.elements[i], node, branches)) };
  }
  if (a.kind === 'scalar' || b.kind === 'scalar') {
    const known = a.kind === 'scalar' ? a : b;
    const other = a.kind === 'scalar' ? b : a;
    const scalar = scalarOf(known.type);
    if (scalar && other.kind === 'unknown') {
      const u: Value = { kind: 'scalar', type: known.type, register: ctx.builder.unknown(scalar, other.reason) };
      return a.kind === 'scalar' ? selectValue(ctx, p, a, u, node) : selectValue(ctx, p, u, b, node);
    }
  }
  return unknownValue(a.type, 'choice between values that have no common form');
}

function commonType(a: Type, b: Type): Type {
  if (a.kind === 'pointer') return a;
  if (b.kind === 'pointer') return b;
  const same = scalarOf(a) === scalarOf(b);
  return same && a.kind === b.kind ? a : arithmeticType(a, b);
}

/**
 * `T& r = c ? a : b;`: which of the two objects it refers to is an address like any other.
 * @param isChangeable what is chosen may be changed, so that a call on either side gives an object too
 */
export function conditionalPlace(ctx: Context, node: ast.ConditionalExpression, isChangeable = false): Value {
  const isObject = (side: ast.Expression) => namesObject(side, isChangeable);
  if (!isObject(node.then) || !isObject(node.else)) return conditionalExpression(ctx, node);
  const condition = toPredicate(ctx, peeked(ctx, expression(ctx, node.condition), node.condition), node.condition);
  const constant = ctx.builder.constantValue(condition);
  if (constant !== undefined) return expression(ctx, constant ? node.then : node.else);
  const addressOf = (side: ast.Expression) => () => {
    const object = side.kind === 'conditional' ? conditionalPlace(ctx, side, isChangeable) : expression(ctx, side);
    return addressOfExpression(ctx, object, side);
  };
  const pointer = choice(ctx, node, condition, addressOf(node.then), addressOf(node.else));
  return dereference(ctx, pointer, node);
}

/** The object that a member or an element is taken of: `(isSmall ? small : large).push_back(v)` changes one of the two. */
export function chosenObject(ctx: Context, node: ast.Expression): Value {
  const isChoice = ctx.unit.isHost && node.kind === 'conditional' && recordOf(unevaluatedType(ctx, node.then));
  return isChoice ? conditionalPlace(ctx, node) : expression(ctx, node);
}

/** What a call gives that may be changed is an object. */
const namesObject = (node: ast.Expression, isChangeable: boolean): boolean =>
  (node.kind === 'conditional' && namesObject(node.then, isChangeable) && namesObject(node.else, isChangeable)) ||
  (node.kind === 'call' && isChangeable) ||
  node.kind === 'name' ||
  node.kind === 'index' ||
  node.kind === 'member' ||
  (node.kind === 'unary' && node.operator === '*');

/** Variables between which an address chooses at run time have addresses: on the host they move to memory, and it is lowered again. */
function giveAddresses(ctx: Context, ...values: readonly Value[]): void {
  if (!ctx.unit.isHost) return;
  for (const value of values)
    if (value.kind === 'placePointer' && value.target.owner) demandMemory(ctx, value.target.owner);
}

const branchingConditional = (ctx: Context, node: ast.ConditionalExpression, condition: number): Value =>
  choice(
    ctx,
    node,
    condition,
    () => rvalue(ctx, expression(ctx, node.then), node.then),
    () => rvalue(ctx, expression(ctx, node.else), node.else),
  );

/** One of two values, made on a side of a branch each. */
export function choice(
  ctx: Context,
  node: ast.Node,
  condition: number,
  onTrueValue: () => Value,
  onFalseValue: () => Value,
): Value {
  const b = ctx.builder;
  const [onTrue, onFalse, join] = [b.newBlock(), b.newBlock(), b.newBlock()];
  b.branch(condition, onTrue, onFalse, { place: placeOf(ctx, node), kind: 'conditional' });
  const before = ctx.known.fork();
  const side = (block: number, value: () => Value) => {
    ctx.known = before.fork();
    b.use(block);
    b.enterRegion();
    const result = withTemporaries(ctx, value);
    return { result, end: b.currentBlock, known: ctx.known };
  };
  const then = side(onTrue, onTrueValue);
  b.leaveRegion();
  const otherwise = side(onFalse, onFalseValue);
  b.leaveRegion();
  return joinSides(ctx, node, then, otherwise, join);
}

interface Side {
  readonly result: Value;
  readonly end: number;
  readonly known: KnownValues;
}

/** Both sides write the same variables, which are read behind the join. */
function joinSides(ctx: Context, node: ast.Node, a: Side, c: Side, join: number): Value {
  const b = ctx.builder;
  giveAddresses(ctx, a.result, c.result);
  const shape = shapeOf(a.result, c.result);
  const variables: number[] = [];
  const write = (side: Side) => {
    b.use(side.end);
    ctx.known = side.known;
    let next = 0;
    const put = (target: Value, value: Value | undefined): void => {
      if (target.kind === 'aggregate') {
        for (const [i, e] of target.elements.entries())
          put(e, value?.kind === 'aggregate' ? value.elements[i] : undefined);
        return;
      }
      const scalar = scalarOf(target.type) ?? 'i32';
      if (variables.length === next) variables.push(b.variable(scalar));
      const converted = value && convertValue(ctx, value, target.type, node);
      const register =
        converted?.kind === 'scalar'
          ? converted.register
          : b.unknown(scalar, value ? reasonOf(value) : 'value could not be followed');
      writeRegister(ctx, variables[next++], register);
    };
    if (shape) put(shape, side.result);
    b.jump(join);
    return ctx.known;
  };
  const known = [write(a), write(c)];
  b.use(join);
  ctx.known = KnownValues.merged(known);
  if (!shape)
    return a.result.kind === 'void'
      ? a.result
      : unknownValue(a.result.type, 'choice between values that have no common form');
  let next = 0;
  const read = (target: Value): Value => {
    if (target.kind === 'aggregate') return { ...target, elements: target.elements.map(read) };
    return { kind: 'scalar', type: target.type, register: readResult(ctx, variables[next++]) };
  };
  return read(shape);
}

function shapeOf(a: Value, b: Value): Value | undefined {
  if (a.kind === 'scalar' && b.kind === 'scalar') return { ...a, type: commonType(a.type, b.type) };
  if (a.kind === 'aggregate') return a;
  if (b.kind === 'aggregate') return b;
  if (a.kind === 'scalar') return a;
  return b.kind === 'scalar' ? b : undefined;
}
