/** Unary, binary and assignment operators. */

import type * as ast from '../parse/ast';
import { TokenFlag } from '../preprocess/token';
import type { BinaryOp, CompareOp, Register, ScalarType } from '../program/program';
import { materialise } from './bound-values';
import { vectorOperator } from './builtins/vectors';
import { onChosenSide } from './chosen-targets';
import { conditionalPlace, logical } from './conditional';
import { initialiseFromList } from './construct';
import { type Context, LIBRARY_TOKENS, skip } from './context';
import { convertRegister, convertToRecord, numberOf, toPredicate } from './conversions';
import { expression, number } from './expressions';
import { endBehind, endMembers } from './host/destructors';
import { behindMemberPointer, memberPointer } from './host/member-pointers';
import { lookupName } from './lookup';
import { openElement } from './open-elements';
import { addressOf, assign, peeked, reasonOf, rvalue } from './places';
import { dereference, elementAt, onlyIndex } from './pointers';
import { isPaddedCopy } from './record-padding';
import { findMethods, recordOf } from './records';
import { distanceBetween, moved } from './register-pointers';
import { isLeftOpen, threeWay } from './three-way';
import {
  arithmeticType,
  isFloat,
  promote,
  scalarOf,
  sizeOf,
  type Type,
  types,
  unqualified,
  withoutReference,
} from './types';
import { useValues } from './unknown-calls';
import { userOperator } from './user-operators';
import { unknownValue, type Value } from './values';

const arithmetic: Record<string, BinaryOp> = {
  '+': 'add',
  '-': 'sub',
  '*': 'mul',
  '/': 'div',
  '%': 'rem',
  '&': 'and',
  '|': 'or',
  '^': 'xor',
  '<<': 'shl',
  '>>': 'shr',
};
const comparison: Record<string, CompareOp> = { '==': 'eq', '!=': 'ne', '<': 'lt', '<=': 'le', '>': 'gt', '>=': 'ge' };

// ---- unary ----

export function unaryExpression(ctx: Context, node: ast.UnaryExpression): Value {
  switch (node.operator) {
    case '*': {
      const operand = expression(ctx, node.operand);
      const overloaded = userOperator(ctx, 'operator*', [operand], node);
      return overloaded ?? dereference(ctx, numberOf(ctx, peeked(ctx, operand, node.operand), node.operand), node);
    }
    case '&':
      return memberPointer(ctx, node) ?? addressOfExpression(ctx, expression(ctx, node.operand), node);
    case '++':
    case '--':
    case 'post++':
    case 'post--':
      return increment(ctx, node);
    case 'noexcept':
      return number(ctx, types.bool, 1);
    case 'delete':
      if (ctx.unit.isHost) endBehind(ctx, rvalue(ctx, expression(ctx, node.operand), node.operand), node);
      return { kind: 'void', type: types.void };
    default:
      return simpleUnary(ctx, node);
  }
}

function simpleUnary(ctx: Context, node: ast.UnaryExpression): Value {
  const operand = expression(ctx, node.operand);
  const overloaded = userOperator(ctx, `operator${node.operator}`, [operand], node);
  if (overloaded) return overloaded;
  const value = peeked(ctx, operand, node.operand);
  if (node.operator === '!')
    return {
      kind: 'scalar',
      type: types.bool,
      register: ctx.builder.unary('lognot', 'pred', toPredicate(ctx, value, node)),
    };
  if (value.kind === 'lambda' && node.operator === '+') return value;
  if (value.kind === 'aggregate') {
    const elements = value.elements.map((e) => (e.kind === 'scalar' ? negate(ctx, e, node.operator) : e));
    return { ...value, elements };
  }
  if (value.kind !== 'scalar') return unknownValue(value.type, reasonOf(value));
  return negate(ctx, value, node.operator);
}

function negate(ctx: Context, value: Value & { kind: 'scalar' }, operator: string): Value {
  const type = promote(value.type);
  const scalar = scalarOf(type) ?? 'i32';
  const register = convertRegister(ctx, value.register, ctx.builder.typeOf(value.register), scalar);
  if (operator === '-') return { kind: 'scalar', type, register: ctx.builder.unary('neg', scalar, register) };
  if (operator === '~') return { kind: 'scalar', type, register: ctx.builder.unary('bitnot', scalar, register) };
  return { kind: 'scalar', type, register };
}

/** `&x`: of memory a number, of registers a pointer that is known while lowering. */
export function addressOfExpression(ctx: Context, operand: Value, node: ast.Node): Value {
  // a `const T&` parameter that a temporary was passed to
  const isTemporary = operand.kind === 'scalar' || operand.kind === 'aggregate';
  const value = isTemporary ? materialise(ctx, operand, node) : operand;
  const pointer: Type = { kind: 'pointer', to: withoutReference(value.type) };
  if (value.kind === 'functions' || value.kind === 'lambda') return value;
  if (value.kind !== 'place') return unknownValue(pointer, 'address of a temporary');
  if (value.place.kind === 'memory')
    return {
      kind: 'scalar',
      type: { ...pointer, isRestrict: value.place.readOnly },
      register: addressOf(ctx, value.place),
    };
  const target = ctx.arrayOf.get(value.place.storage);
  if (target) return { kind: 'placePointer', type: pointer, target };
  return {
    kind: 'placePointer',
    type: pointer,
    target: {
      elements: [value.place.storage],
      index: 0,
      elementType: pointer.kind === 'pointer' ? pointer.to : types.void,
      owner: 'owner' in value.place.storage ? value.place.storage.owner : undefined,
    },
  };
}

function increment(ctx: Context, node: ast.UnaryExpression): Value {
  const onSide = (operand: ast.Expression) => incrementOne(ctx, { ...node, operand });
  return onChosenSide(ctx, node.operand, () => undefined, onSide) ?? incrementOne(ctx, node);
}

function incrementOne(ctx: Context, node: ast.UnaryExpression): Value {
  const place = targetOf(ctx, node.operand);
  const before = peeked(ctx, place, node.operand);
  const up = node.operator.endsWith('++');
  const one = number(ctx, types.int, 1);
  const isPost = node.operator.startsWith('post');
  const name = up ? 'operator++' : 'operator--';
  // the one behind the object has a number that says so, where the class has it
  const record = recordOf(place.type);
  const behind = isPost && record && userOperator(ctx, name, [place, number(ctx, types.int, 0)], node);
  const overloaded = behind || (record && userOperator(ctx, name, [place], node));
  // iterators of the library have the one before it only
  if (overloaded) return isPost && !behind ? before : overloaded;
  const after = binaryOnValues(ctx, up ? '+' : '-', before, one, node);
  store(ctx, place, after, node.operand);
  return isPost ? before : place;
}

// ---- assignment ----

const targetOf = (ctx: Context, node: ast.Expression): Value =>
  node.kind === 'conditional' ? conditionalPlace(ctx, node) : expression(ctx, node);

export function assignExpression(ctx: Context, node: ast.AssignExpression): Value {
  const onSide = (left: ast.Expression, first: Value | undefined) => assignTo(ctx, { ...node, left }, first);
  return (
    onChosenSide(ctx, node.left, () => rightOf(ctx, node), onSide) ??
    assignTo(ctx, node, ctx.unit.isHost ? rightOf(ctx, node) : undefined)
  );
}

/** @param first what is assigned, where it is evaluated before what it is assigned to */
function assignTo(ctx: Context, node: ast.AssignExpression, first: Value | undefined): Value {
  const operator = node.operator.slice(0, -1);
  const place = targetOf(ctx, node.left);
  if (recordOf(place.type)) {
    const given = first ?? (node.right.kind === 'initList' ? undefined : expression(ctx, node.right));
    const right = given && operator === '' ? asAssigned(ctx, given, place.type, node) : given;
    const overloaded = right && userOperator(ctx, `operator${node.operator}`, [place, right], node);
    if (overloaded) return overloaded;
    const at = recordLine(ctx, node);
    const read = right && at !== node.right ? standingAt(right, at) : right;
    const list = node.right.kind === 'initList' ? node.right : undefined;
    const value = read
      ? combine(ctx, operator, place, read, node)
      : list
        ? initialiseFromList(ctx, place.type, list)
        : expression(ctx, node.right);
    if (operator === '') endMembers(ctx, place, node);
    store(ctx, standingAt(place, at), value, node.left);
    return place;
  }
  const right = first ?? expression(ctx, node.right);
  store(ctx, place, combine(ctx, operator, place, right, node), node.left);
  return place;
}

/** An object of another class that makes one of this itself. */
function asAssigned(ctx: Context, given: Value, type: Type, node: ast.Node): Value {
  const target = unqualified(withoutReference(type));
  return (target.kind === 'record' && convertToRecord(ctx, given, target, node)) || given;
}

/** What is assigned is evaluated before what it is assigned to: `known[n] = f(n - 1)`. */
function rightOf(ctx: Context, { left, right }: ast.AssignExpression): Value | undefined {
  if (right.kind === 'initList') return undefined;
  const value = expression(ctx, right);
  // what a constructor takes by reference is the object itself
  if (left.kind === 'name' && right.kind === 'name' && recordOf(expression(ctx, left).type)) return value;
  return scalarOf(withoutReference(value.type)) ? rvalue(ctx, value, right) : value;
}

/**
 * Where a record that is assigned over several lines is read and written: on the line of the value, as nvcc has it (H200:
 * sgemm_ladder.cu:93, wmma_gemm.cu:40), but with a call in the place that is assigned on the line of this call, and with one in the
 * value on the first (lines of eight small kernels, nvcc 13.0). That of a scalar, of what a function returns (`= make_float4(…)`) and of
 * a list stands where it is written.
 */
function recordLine(ctx: Context, node: ast.AssignExpression): ast.Node | undefined {
  if (node.right.kind === 'call' || node.right.kind === 'initList') return undefined;
  const { tokens } = ctx.unit;
  let isOneLine = true;
  for (let token = node.left.last + 1; token <= node.right.first && isOneLine; token++)
    isOneLine = (tokens.flags[token] & TokenFlag.lineStart) === 0;
  if (isOneLine) return undefined;
  return callIn(node.left, 0) ?? (callIn(node.right, 0) ? node.left : node.right);
}

function callIn(value: unknown, depth: number): ast.Node | undefined {
  if (typeof value !== 'object' || value === null || depth > 60 || value instanceof Set) return undefined;
  const node = value as ast.Expression;
  if (node.kind === 'call') return node;
  for (const part of Object.values(value)) {
    const found = callIn(part, depth + 1);
    if (found) return found;
  }
  return undefined;
}

/** A place in memory that the compiler gives another line. */
export const standingAt = (value: Value, at: ast.Node | undefined): Value =>
  at && value.kind === 'place' && value.place.kind === 'memory' ? { ...value, place: { ...value.place, at } } : value;

function combine(ctx: Context, operator: string, place: Value, right: Value, node: ast.AssignExpression): Value {
  if (operator === '' && isPaddedCopy(ctx, place, right)) return right;
  // an object of another class is what the place's class makes of it
  if (operator === '' && ctx.unit.isHost && recordOf(right.type) !== recordOf(place.type)) return right;
  const value = rvalue(ctx, right, node.right);
  if (operator === '') return value;
  return binaryOnValues(ctx, operator, rvalue(ctx, place, node.left), value, node);
}

export function store(ctx: Context, place: Value, value: Value, node: ast.Node): void {
  if (place.kind === 'place') assign(ctx, place.place, place.type, value, node);
  else if (place.kind === 'unknown') skip(ctx, node, place.reason);
  else if (place.kind === 'builtin' && place.self) skip(ctx, node, unknownMember(place.self, place.name));
}

/** A member that no declaration shows: nothing is known of where it lies. */
function unknownMember(object: Value, name: string): string {
  const type = withoutReference(object.type);
  return type.kind === 'unknown' ? type.reason : `member ${name} is not known`;
}

// ---- binary ----

export function binaryExpression(ctx: Context, node: ast.BinaryExpression): Value {
  switch (node.operator) {
    case ',':
      expression(ctx, node.left);
      return expression(ctx, node.right);
    case '&&':
    case '||':
      return combined(ctx, node);
    case '.*':
    case '->*':
      return behindMemberPointer(ctx, node);
    default:
      break;
  }
  const left = expression(ctx, node.left);
  // clang reads the left operand before it computes the right one
  const read = recordOf(left.type) ? undefined : numberOf(ctx, peeked(ctx, left, node.left), node.left);
  const right = expression(ctx, node.right);
  if (node.operator === '<<' && isOutput(ctx, left)) {
    useValues(ctx, [numberOf(ctx, peeked(ctx, right, node.right), node.right)]);
    return recordOf(left.type) ? left : unknownValue({ kind: 'unknown', reason: OUTPUT }, OUTPUT);
  }
  const isOpen = isLeftOpen(ctx, node.operator, left);
  if (!isOpen && (recordOf(left.type) || recordOf(right.type))) {
    const overloaded = userOperator(ctx, `operator${node.operator}`, [left, right], node);
    if (overloaded) return overloaded;
  }
  if (recordOf(left.type) || recordOf(right.type) || node.operator === '<=>') {
    const compared = threeWay(ctx, node.operator, left, right, node);
    if (compared) return compared;
  }
  const a = read ?? numberOf(ctx, peeked(ctx, left, node.left), node.left);
  if (ctx.unit.isHost && node.operator === '>>' && right.kind === 'place' && !isNumber(a)) {
    assign(ctx, right.place, right.type, unknownValue(right.type, INPUT), node);
    return unknownValue({ kind: 'unknown', reason: INPUT }, INPUT);
  }
  const b = numberOf(ctx, peeked(ctx, right, node.right), node.right);
  return binaryOnValues(ctx, node.operator, a, b, node);
}

/** `a && b` of truth values, or what an operator of the user's makes of both. */
function combined(ctx: Context, node: ast.BinaryExpression): Value {
  const name = `operator${node.operator}`;
  const left = expression(ctx, node.left);
  const record = recordOf(left.type);
  const isOwn = record && (findMethods(record, name) || lookupName(ctx, ctx.scope, name));
  const overloaded = isOwn && userOperator(ctx, name, [left, expression(ctx, node.right)], node);
  return overloaded || logical(ctx, node, left);
}

const isNumber = ({ kind, type }: Value): boolean => kind === 'scalar' && type.kind !== 'pointer';

/** From a stream that is not followed: a file, the standard input. */
const INPUT = 'read from a stream';

const OUTPUT = 'written to a stream';

/** `cout`, a file, and what they give: what a program writes changes nothing. */
function isOutput(ctx: Context, { kind, type }: Value): boolean {
  if (!ctx.unit.isHost) return false;
  const record = recordOf(type);
  if (record) return record.name === 'ofstream' && (record.declaration?.first ?? 0) >= LIBRARY_TOKENS;
  return kind === 'builtin' || (kind === 'unknown' && scalarOf(withoutReference(type)) === undefined);
}

/** A binary operator on rvalues of builtin types. */
export function binaryOnValues(ctx: Context, operator: string, a: Value, b: Value, node: ast.Node): Value {
  const pointer = pointerArithmetic(ctx, operator, a, b, node);
  if (pointer) return pointer;
  if (a.kind === 'aggregate' || b.kind === 'aggregate') return vectorOperator(ctx, operator, a, b, node);
  const compare = comparison[operator];
  if (a.kind !== 'scalar' || b.kind !== 'scalar') {
    const type = compare ? types.bool : a.kind === 'unknown' ? b.type : a.type;
    useValues(ctx, [a, b]);
    return unknownValue(
      type,
      a.kind === 'unknown'
        ? a.reason
        : b.kind === 'unknown'
          ? b.reason
          : `operands of ${operator} could not be followed`,
    );
  }
  return scalarBinary(ctx, operator, a, b);
}

type Scalar = Value & { kind: 'scalar' };

export function scalarBinary(ctx: Context, operator: string, a: Scalar, b: Scalar): Value {
  const compare = comparison[operator];
  const shift = operator === '<<' || operator === '>>';
  const type = shift
    ? promote(a.type)
    : a.type.kind === 'pointer' || b.type.kind === 'pointer'
      ? types.long
      : arithmeticType(a.type, b.type);
  const scalar = scalarOf(type) ?? 'i32';
  const ra = convertRegister(ctx, a.register, ctx.builder.typeOf(a.register), scalar);
  const rb = convertRegister(
    ctx,
    b.register,
    ctx.builder.typeOf(b.register),
    shift ? shiftType(ctx, b, scalar) : scalar,
  );
  if (compare) return { kind: 'scalar', type: types.bool, register: ctx.builder.compare(compare, scalar, ra, rb) };
  const fn = arithmetic[operator];
  if (!fn) return unknownValue(type, `operator ${operator}`);
  const isDivision = fn === 'div' && (scalar === 'f32' || scalar === 'f64') && !isPowerOfTwo(ctx, rb);
  const register = ctx.builder.binary(fn, scalar, ra, rb, isDivision ? 'assembled' : undefined);
  return { kind: 'scalar', type, register };
}

/** Such a divisor makes the division a product. */
function isPowerOfTwo(ctx: Context, register: Register): boolean {
  const value = ctx.builder.constantValue(register);
  return value !== undefined && value !== 0 && Number.isInteger(Math.log2(Math.abs(value)));
}

/** Shift counts keep a type of their own; the executor takes any 32-bit one. */
function shiftType(_ctx: Context, _b: Scalar, scalar: ScalarType): ScalarType {
  return isFloat(scalar) ? 'i32' : scalar;
}

// ---- pointers ----

function pointerArithmetic(ctx: Context, operator: string, a: Value, b: Value, node: ast.Node): Value | undefined {
  const pa = a.type.kind === 'pointer' ? a.type : undefined;
  const pb = b.type.kind === 'pointer' ? b.type : undefined;
  if (!pa && !pb) return undefined;
  if (operator === '+' || (operator === '-' && pa && !pb)) {
    const [pointer, index] = pa ? [a, b] : [b, a];
    const type = pa ?? pb;
    if (!type) return undefined;
    return offsetPointer(ctx, pointer, type, operator === '-' ? negateIndex(ctx, index) : index, node);
  }
  const known = registerPointers(ctx, operator, a, b);
  if (known) return known;
  if (operator === '-' && pa && pb && a.kind === 'scalar' && b.kind === 'scalar') {
    const bytes = ctx.builder.binary('sub', 'i64', a.register, b.register);
    const size = ctx.builder.constant('i64', sizeOf(pa.to) ?? 1);
    return { kind: 'scalar', type: types.long, register: ctx.builder.binary('div', 'i64', bytes, size) };
  }
  return undefined;
}

/** Two pointers into one array of registers: their difference and order are known. */
/** A pointer to a variable in registers leads to no other object: `this != &other`. */
function differentObjects(ctx: Context, operator: string, a: Value, b: Value): Value | undefined {
  if ((operator !== '==' && operator !== '!=') || (a.kind !== 'placePointer' && b.kind !== 'placePointer'))
    return undefined;
  const objectOf = (value: Value) =>
    value.kind === 'placePointer' ? value.target.elements[value.target.index] : undefined;
  const bytesOf = (value: Value) => (value.kind === 'placePointer' ? value.target.bytes : undefined);
  const isKnown = [a, b].every(({ kind }) => kind === 'placePointer' || kind === 'scalar');
  const isSame = objectOf(a) === objectOf(b) && bytesOf(a) === bytesOf(b);
  return isKnown ? number(ctx, types.bool, isSame === (operator === '==') ? 1 : 0) : undefined;
}

function registerPointers(ctx: Context, operator: string, a: Value, b: Value): Value | undefined {
  if (a.kind !== 'placePointer' || b.kind !== 'placePointer' || a.target.elements !== b.target.elements)
    return ctx.unit.isHost ? differentObjects(ctx, operator, a, b) : undefined;
  const to = a.type.kind === 'pointer' ? a.type.to : a.target.elementType;
  const distance = distanceBetween(a.target, b.target, to);
  if (operator === '-') return number(ctx, types.long, distance);
  const order = comparison[operator];
  if (!order) return undefined;
  const holds = {
    eq: distance === 0,
    ne: distance !== 0,
    lt: distance < 0,
    le: distance <= 0,
    gt: distance > 0,
    ge: distance >= 0,
  };
  return number(ctx, types.bool, holds[order] ? 1 : 0);
}

function negateIndex(ctx: Context, index: Value): Value {
  if (index.kind !== 'scalar') return index;
  const wide = ctx.builder.convert(ctx.builder.typeOf(index.register), 'i64', index.register);
  return { kind: 'scalar', type: types.long, register: ctx.builder.unary('neg', 'i64', wide) };
}

function offsetPointer(
  ctx: Context,
  pointer: Value,
  type: Type & { kind: 'pointer' },
  index: Value,
  node: ast.Node,
): Value {
  if (pointer.kind === 'placePointer') {
    const known = index.kind === 'scalar' ? ctx.builder.constantValue(index.register) : undefined;
    const i = known ?? onlyIndex(ctx, pointer);
    if (i === undefined) {
      const open = openElement(ctx, pointer.target, node);
      if (open) return { ...pointer, target: { elements: [open], index: 0, elementType: pointer.target.elementType } };
      return unknownValue(type, 'offset into a local array that is not constant');
    }
    return { ...pointer, target: moved(pointer.target, type.to, i) };
  }
  const element = elementAt(ctx, pointer, index, node);
  if (element.kind === 'place' && element.place.kind === 'memory')
    return { kind: 'scalar', type, register: addressOf(ctx, element.place) };
  return unknownValue(type, reasonOf(element));
}
