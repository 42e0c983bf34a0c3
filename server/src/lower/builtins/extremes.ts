/** `std::min` and `std::max` in programs of the host of objects, or by a function that compares: which is given is decided as the program runs. */
import type { Node } from '../../parse/ast';
import { callValue } from '../calls';
import { choice } from '../conditional';
import type { Context } from '../context';
import { toPredicate } from '../conversions';
import { binaryOnValues } from '../operators';
import { rvalue } from '../places';
import { recordOf } from '../records';
import { isLeftOpen, threeWay } from '../three-way';
import { types } from '../types';
import { userOperator } from '../user-operators';
import type { Value } from '../values';
import type { BuiltinCall } from './functions';

/** Undefined for numbers that are compared as such. */
export function extremeOf(call: BuiltinCall, which: 'min' | 'max'): Value | undefined {
  if (!call.ctx.unit.isHost) return undefined;
  const [list, ...rest] = call.args.map((_, i) => call.value(i));
  const isList = list?.kind === 'aggregate' && list.list !== undefined;
  const values = isList ? list.elements : [list, ...rest.slice(0, 1)];
  const [before] = isList ? rest : rest.slice(1);
  const [first, ...others] = values;
  if (!first || (others.length === 0 && !isList) || !(before || recordOf(first.type))) return undefined;
  return others.reduce((best, each) => {
    const pair = which === 'max' ? ([best, each] as const) : ([each, best] as const);
    return chosen(call.ctx, before, pair, [each, best], call.node);
  }, first);
}

function chosen(
  ctx: Context,
  before: Value | undefined,
  [a, b]: readonly [Value, Value],
  [yes, no]: readonly [Value, Value],
  node: BuiltinCall['node'],
): Value {
  const holds = before ? callValue(ctx, before, [a, b], node) : lessOf(ctx, a, b, node);
  return choice(
    ctx,
    node,
    toPredicate(ctx, rvalue(ctx, holds, node), node),
    () => yes,
    () => no,
  );
}

function lessOf(ctx: Context, a: Value, b: Value, node: Node): Value {
  const own = isLeftOpen(ctx, '<', a) ? undefined : userOperator(ctx, 'operator<', [a, b], node);
  const value = own || threeWay(ctx, '<', a, b, node) || binaryOnValues(ctx, '<', a, b, node);
  return value.kind === 'void' ? { kind: 'unknown', type: types.bool, reason: 'comparison' } : value;
}
