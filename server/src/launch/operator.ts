/** Binary operators on host values. */
import type { BinaryExpression } from '../parse/ast';
import { binaryArithmetic, commonType, isArithmeticOperator, isComparison } from './arithmetic';
import { callMethod, callOperator } from './call';
import { decay } from './conversion';
import { evaluate } from './expression';
import type { HostType } from './host-type';
import { sizeOf } from './layout';
import { forget, makeCell } from './memory';
import { locate } from './place';
import type { Scope } from './scope';
import type { HostState } from './state';
import { isNull, number, type PointerValue, truth, typeOf, unknown, unknownFrom, type Value } from './value';

const boolType: HostType = { kind: 'arithmetic', name: 'bool' };

/** `left operator right`, short-circuit operators included. */
export function binaryOperation(state: HostState, expression: BinaryExpression, scope: Scope): Value {
  const operator = expression.operator;
  if (operator === '&&' || operator === '||') return logical(state, expression, scope);
  const left = evaluate(state, expression.left, scope);
  if (operator === '>>' && left.kind !== 'number') return extraction(state, expression, left, scope);
  const right = evaluate(state, expression.right, scope);
  if (operator === ',') return right;
  return combine(state, operator, left, right, expression);
}

function logical(state: HostState, expression: BinaryExpression, scope: Scope): Value {
  const isAnd = expression.operator === '&&';
  const left = evaluate(state, expression.left, scope);
  const x = truth(left);
  if (x !== undefined && x !== isAnd) return number(x ? 1 : 0, 'bool');
  const right = evaluate(state, expression.right, scope);
  const y = truth(right);
  if (y !== undefined && (x !== undefined || y !== isAnd)) return number(y ? 1 : 0, 'bool');
  return unknownFrom([left, right], 'a condition that is not known', boolType);
}

/** `std::cin >> n`: what is read is not known. */
function extraction(state: HostState, expression: BinaryExpression, left: Value, scope: Scope): Value {
  const place = locate(state, expression.right, scope);
  if (place.kind === 'cell' && left.kind === 'unknown')
    forget(state, place.cell, `${place.cell.name ?? 'it'} is read at run time`);
  return left.kind === 'unknown' ? left : unknown('a stream');
}

/** The operator on two values. */
export function combine(
  state: HostState,
  operator: string,
  a: Value,
  b: Value,
  at: BinaryExpression | undefined,
): Value {
  if (a.kind === 'number' && b.kind === 'number') return onNumbers(operator, a, b);
  const left = decay(a);
  const right = decay(b);
  if (left.kind === 'pointer') return onPointer(state, operator, left, right);
  if (right.kind === 'pointer') return fromRight(state, operator, left, right);
  const overloaded =
    at && (left.kind === 'struct' || right.kind === 'struct') && onStructs(state, operator, left, right, at);
  if (overloaded) return overloaded;
  const rest = operator === '+' && restOfText(left, right);
  if (rest) return rest;
  if (left.kind === 'string' && right.kind === 'string' && operator === '==')
    return number(left.value === right.value ? 1 : 0, 'bool');
  if (isComparison(operator) && (isNull(left) || isNull(right))) {
    const other = isNull(left) ? right : left;
    if (other.kind !== 'unknown' && other.kind !== 'number') return number(operator === '!=' ? 1 : 0, 'bool');
  }
  return unknownFrom([left, right], 'not known', resultType(operator, left, right));
}

/** `text + n` */
function restOfText(a: Value, b: Value): Value | undefined {
  const [text, count] = a.kind === 'string' ? [a, b] : [b, a];
  if (text.kind !== 'string' || count.kind !== 'number' || count.value < 0 || count.value > text.value.length)
    return undefined;
  return { kind: 'string', value: text.value.slice(count.value) };
}

function onNumbers(operator: string, a: Value & { kind: 'number' }, b: Value & { kind: 'number' }): Value {
  if (!isArithmeticOperator(operator)) return unknown(`operator ${operator}`);
  const result = binaryArithmetic(operator, a, b);
  if (result) return number(result.value, result.of);
  const isDivision = (operator === '/' || operator === '%') && b.value === 0;
  return unknown(isDivision ? 'a division by zero' : 'a number beyond its type', { type: resultType(operator, a, b) });
}

function resultType(operator: string, a: Value, b: Value): HostType | undefined {
  if (isComparison(operator)) return boolType;
  const left = typeOf(a);
  const right = typeOf(b);
  if (left?.kind === 'arithmetic' && right?.kind === 'arithmetic') {
    return { kind: 'arithmetic', name: commonType(left.name, right.name) };
  }
  return left?.kind === 'pointer' ? left : right?.kind === 'pointer' ? right : undefined;
}

function onPointer(state: HostState, operator: string, a: PointerValue, b: Value): Value {
  if (operator === '+') return movePointer(state, a, b, 1);
  if (operator === '-' && b.kind !== 'pointer') return movePointer(state, a, b, -1);
  if (b.kind === 'pointer') return pointerPair(state, operator, a, b);
  if (isNull(b) && a.oneOf === 'pointersAndNull') return unknown('a pointer that may be null', { type: boolType });
  if (isNull(b) && (operator === '==' || operator === '!=')) return number(operator === '!=' ? 1 : 0, 'bool');
  return unknownFrom([b], 'not known', isComparison(operator) ? boolType : undefined);
}

function fromRight(state: HostState, operator: string, a: Value, b: PointerValue): Value {
  if (operator === '+') return movePointer(state, b, a, 1);
  if (isNull(a) && b.oneOf === 'pointersAndNull') return unknown('a pointer that may be null', { type: boolType });
  if (isNull(a) && (operator === '==' || operator === '!=')) return number(operator === '!=' ? 1 : 0, 'bool');
  return unknownFrom([a], 'not known', isComparison(operator) ? boolType : undefined);
}

/** `pointer ± count` */
export function movePointer(state: HostState, pointer: PointerValue, count: Value, sign: 1 | -1): Value {
  const isVoid = pointer.element.kind === 'arithmetic' && pointer.element.name === 'void';
  const size = isVoid ? 1 : sizeOf(state, pointer.element);
  if (count.kind === 'number' && size !== undefined)
    return { ...pointer, offset: pointer.offset + sign * count.value * size };
  const doubt = unknownFrom([count], `where in ${pointer.to.name} it points is not known`);
  return { ...pointer, offset: Number.NaN, unknownOffset: pointer.unknownOffset ?? doubt };
}

function pointerPair(state: HostState, operator: string, a: PointerValue, b: PointerValue): Value {
  const size = sizeOf(state, a.element);
  const isOne = !a.oneOf && !b.oneOf;
  const known = isOne && a.to === b.to && !Number.isNaN(a.offset) && !Number.isNaN(b.offset);
  if (operator === '-') {
    return known && size
      ? number((a.offset - b.offset) / size, 'long')
      : unknown('a pointer difference', { type: { kind: 'arithmetic', name: 'long' } });
  }
  if (known) return onNumbers(operator, number(a.offset, 'long'), number(b.offset, 'long'));
  // what an object that is not known gives may lie anywhere
  const isOpen = [...state.outside.values()].some((buffer) => buffer === a.to || buffer === b.to);
  if (isOne && !isOpen && a.to !== b.to && (operator === '==' || operator === '!='))
    return number(operator === '!=' ? 1 : 0, 'bool');
  return unknown('a comparison of pointers', { type: boolType });
}

function onStructs(state: HostState, operator: string, a: Value, b: Value, at: BinaryExpression): Value | undefined {
  if (a.kind === 'struct') {
    const result = callMethod(state, makeCell(a), `operator${operator}`, [{ value: b }], at);
    if (result) return result;
  }
  return callOperator(state, `operator${operator}`, [{ value: a }, { value: b }], at);
}
