/** Assignments and increments of host code. */
import type {
  AssignExpression,
  CallExpression,
  ConditionalExpression,
  Expression,
  UnaryExpression,
} from '../parse/ast';
import { callMethod } from './call';
import { evaluate } from './expression';
import type { HostType } from './host-type';
import { fromList, initialised } from './initialise';
import { keepsReferences, loseReferred } from './kept-references';
import { forget, smudge, store } from './memory';
import { combine, movePointer } from './operator';
import { locate, type Place, read } from './place';
import { localVariable, type Scope } from './scope';
import type { HostState } from './state';
import { rootOf } from './unseen';
import { type Cell, number, unknown, type Value } from './value';

/** `left = right` and the compound forms. */
export function assign(state: HostState, expression: AssignExpression, scope: Scope): Value {
  if (expression.operator !== '=') return compound(state, expression, scope);
  const right = expression.right;
  const early = right.kind === 'initList' ? undefined : evaluate(state, right, scope);
  if (early && state.leaving) return early;
  const place = locate(state, expression.left, scope);
  const type = place.kind === 'cell' ? place.cell.type : undefined;
  if (keepsReferences(type)) loseReferred(state, [right], scope);
  const object = place.kind === 'cell' && place.cell.value.kind === 'struct' ? place.cell : undefined;
  if (object && type?.kind === 'record' && early && early.kind !== 'struct' && early.kind !== 'unknown')
    return assignOther(state, object, type, early, expression);
  const value =
    early ?? (right.kind === 'initList' ? fromList(state, right, type ?? { kind: 'auto' }, scope) : unknown(''));
  return put(state, place, value, expression.left, scope);
}

/** What is no object of the class is assigned: by an operator of its own, or as the object that a constructor makes of it. */
function assignOther(state: HostState, cell: Cell, type: HostType, value: Value, at: AssignExpression): Value {
  if (!callMethod(state, cell, 'operator=', [{ value }], at)) store(state, cell, initialised(state, value, type));
  return cell.value;
}

function compound(state: HostState, expression: AssignExpression, scope: Scope): Value {
  const operator = expression.operator.slice(0, -1);
  const right = evaluate(state, expression.right, scope);
  if (state.leaving) return right;
  const place = locate(state, expression.left, scope);
  const left = read(place);
  if (left.kind === 'struct' && place.kind === 'cell') {
    const result = callMethod(state, place.cell, `operator${expression.operator}`, [{ value: right }], expression);
    if (!result) forget(state, place.cell, `operator${expression.operator} is not known`);
    return place.cell.value;
  }
  const value = counted(state, place, combine(state, operator, left, right, undefined));
  return put(state, place, value, expression.left, scope);
}

function put(state: HostState, place: Place, value: Value, target: Expression, scope: Scope): Value {
  if (place.kind === 'cell') {
    store(state, place.cell, value);
    return place.cell.value;
  }
  if (place.kind === 'somewhere') smudge(state, place.buffer);
  else forgetTarget(state, target, scope);
  return target.kind === 'unknown' ? unknown(target.reason) : value;
}

/** Behind a way out of a function that may have been taken, what counts outside of it may not have counted: `if (!isNew(x)) return; n++;` */
function counted(state: HostState, place: Place, value: Value): Value {
  const { frame } = state;
  const isOwn = place.kind !== 'cell' || place.cell.depth >= state.depth;
  if (!frame.mayBeLeft || frame.isEntry || isOwn || value.kind !== 'number') return value;
  return unknown(`${place.cell.name ?? 'it'} changes behind a return`, { type: place.cell.type });
}

/** What is assigned to and not found: of two variables either may be meant. */
function forgetTarget(state: HostState, target: Expression, scope: Scope): void {
  if (target.kind === 'conditional') forgetSides(state, target, scope);
  else if (!forgetChosen(state, target, scope)) forgetRoot(state, target, scope);
}

/** `(c ? a : b).name[i] = x`, `(c ? a : b).push_back(x)`: either object may have changed. False where nothing is chosen. */
export function forgetChosen(state: HostState, target: Expression, scope: Scope): boolean {
  let at = target;
  while (at.kind === 'member' || at.kind === 'index') at = at.kind === 'member' ? at.object : at.base;
  if (at.kind !== 'conditional') return false;
  forgetSides(state, at, scope);
  return true;
}

function forgetSides(state: HostState, target: ConditionalExpression, scope: Scope): void {
  for (const side of [target.then, target.else]) {
    const place = locate(state, side, scope);
    if (place.kind === 'cell') forget(state, place.cell, `${place.cell.name ?? 'it'} depends on a condition`);
    else if (place.kind === 'somewhere') smudge(state, place.buffer);
    else forgetTarget(state, side, scope);
  }
}

/** What a method or an operator gives to be assigned to is a part of its object, as far as anybody knows: `m(i, j) = x`. */
function forgetRoot(state: HostState, target: Expression, scope: Scope): void {
  if (target.kind !== 'call' && target.kind !== 'index' && target.kind !== 'member' && target.kind !== 'unary') return;
  const root = rootOf(target);
  const cell = root === undefined ? undefined : localVariable(scope, root);
  const isPart = cell?.value.kind === 'struct' || cell?.value.kind === 'container';
  if (cell && isPart) forget(state, cell, `${cell.name ?? 'it'} is written through a reference`);
  if (target.kind === 'call') forgetArguments(state, target, scope);
}

/** What a function gives to be assigned to may be a part of what it is given: `std::tie(a, b) = f()`, `std::get<0>(std::tie(a, b)) = x`, `row(m, 3)[i] = x`. */
function forgetArguments(state: HostState, call: CallExpression, scope: Scope): void {
  for (const argument of call.arguments) {
    if (argument.kind === 'call') forgetArguments(state, argument, scope);
    if (argument.kind !== 'name' && argument.kind !== 'member' && argument.kind !== 'index') continue;
    const place = locate(state, argument, scope);
    if (place.kind === 'somewhere') smudge(state, place.buffer);
    else if (place.kind === 'cell' && place.cell.value.kind !== 'pointer')
      forget(state, place.cell, `${place.cell.name ?? 'it'} is written through a reference`);
  }
}

/** ++ and --, before and behind. */
export function increment(state: HostState, expression: UnaryExpression, scope: Scope): Value {
  const place = locate(state, expression.operand, scope);
  const old = read(place);
  const sign = expression.operator.endsWith('--') ? -1 : 1;
  const one = number(1);
  const value =
    old.kind === 'pointer'
      ? movePointer(state, old, one, sign)
      : combine(state, sign > 0 ? '+' : '-', old, one, undefined);
  const stored = put(state, place, counted(state, place, value), expression.operand, scope);
  return expression.operator.startsWith('post') ? old : stored;
}
