/**
 * Comparisons that a class does not write out: by its `operator<=>`, or, where that and `operator==` are defaulted, member by member in the order in which
 * they are declared. `<=>` of numbers is -1, 0 or 1.
 */
import type * as ast from '../parse/ast';
import type { Register } from '../program/program';
import { type Context, skip } from './context';
import { toPredicate } from './conversions';
import { number } from './expressions';
import { memberOf } from './members';
import { binaryOnValues } from './operators';
import { rvalue } from './places';
import { recordOf } from './records';
import { scalarOf, type Type, types, withoutReference } from './types';
import { userOperator } from './user-operators';
import { unknownValue, type Value } from './values';

/** Of two values: whether the first is less, whether they are equal. */
interface Order {
  readonly less: Register;
  readonly equal: Register;
}

const comparisons: ReadonlySet<string> = new Set(['==', '!=', '<', '<=', '>', '>=', '<=>']);

/** `a < b`, `a <=> b` of what has no such operator; undefined where nothing says how it is compared. */
export function threeWay(ctx: Context, operator: string, left: Value, right: Value, node: ast.Node): Value | undefined {
  if (!ctx.unit.isHost || !comparisons.has(operator)) return undefined;
  const [a, b] = [recordOf(left.type), recordOf(right.type)];
  if (!a && !b) return operator === '<=>' ? signOf(ctx, orderOf(ctx, left, right, node)) : undefined;
  const opposite = operator === '!=' ? userOperator(ctx, 'operator==', [left, right], node) : undefined;
  if (opposite) {
    const register = ctx.builder.unary('lognot', 'pred', holds(ctx, opposite, node));
    return { kind: 'scalar', type: types.bool, register };
  }
  const written = operator === '<=>' ? undefined : bySign(ctx, operator, left, right, node);
  if (written) return written;
  const wanted = operator === '==' || operator === '!=' ? /^operator(?:==|<=>)$/ : /^operator<=>$/;
  const isDefaulted = a !== undefined && a === b && names(a.scope).some((name) => wanted.test(name));
  if (!isDefaulted && operator !== '<=>') return undefined;
  const order = orderOf(ctx, left, right, node, isDefaulted);
  return operator === '<=>' ? signOf(ctx, order) : told(ctx, operator, order);
}

/** Whether a class leaves a comparison to its `operator<=>` or to the compiler: what others declare for all types is not meant then. */
export function isLeftOpen(ctx: Context, operator: string, { type }: Value): boolean {
  const record = ctx.unit.isHost && comparisons.has(operator) ? recordOf(type) : undefined;
  if (!record?.scope) return false;
  const bodies = (name: string): boolean | undefined => {
    const own = record.scope?.own(name);
    const declarations = record.methods.get(name) ?? (own?.kind === 'functions' ? own.declarations : undefined);
    return declarations?.some(({ body }) => body !== undefined);
  };
  if (bodies(`operator${operator}`)) return false;
  const isEquality = operator === '==' || operator === '!=';
  return bodies('operator<=>') !== undefined || (isEquality && bodies('operator==') === false);
}

const names = (scope: { entries(): Iterable<[string, unknown]> } | undefined): string[] =>
  scope ? [...scope.entries()].map(([name]) => name) : [];

/** By an `operator<=>` that is written out. */
function bySign(ctx: Context, operator: string, left: Value, right: Value, node: ast.Node): Value | undefined {
  const sign = userOperator(ctx, 'operator<=>', [left, right], node);
  if (!sign) return undefined;
  const zero = number(ctx, types.int, 0);
  const own = userOperator(ctx, `operator${operator}`, [sign, zero], node);
  return own || binaryOnValues(ctx, operator, rvalue(ctx, sign, node), zero, node);
}

function told(ctx: Context, operator: string, { less, equal }: Order): Value {
  const { builder } = ctx;
  const not = (register: Register): Register => builder.unary('lognot', 'pred', register);
  const either = (): Register => builder.binary('or', 'pred', less, equal);
  const register =
    operator === '=='
      ? equal
      : operator === '!='
        ? not(equal)
        : operator === '<'
          ? less
          : operator === '<='
            ? either()
            : operator === '>'
              ? not(either())
              : not(less);
  return { kind: 'scalar', type: types.bool, register };
}

/** -1, 0 or 1 */
function signOf(ctx: Context, { less, equal }: Order): Value {
  const { builder } = ctx;
  const asNumber = (register: Register): Register => builder.convert('pred', 'i32', register);
  const more = builder.unary('lognot', 'pred', builder.binary('or', 'pred', less, equal));
  return { kind: 'scalar', type: types.int, register: builder.binary('sub', 'i32', asNumber(more), asNumber(less)) };
}

function orderOf(ctx: Context, left: Value, right: Value, node: ast.Node, byMembers = false): Order {
  const type = withoutReference(left.type);
  const record = recordOf(type);
  if (scalarOf(type) && !record) {
    const [a, b] = [rvalue(ctx, left, node), rvalue(ctx, right, node)];
    return {
      less: holds(ctx, binaryOnValues(ctx, '<', a, b, node), node),
      equal: holds(ctx, binaryOnValues(ctx, '==', a, b, node), node),
    };
  }
  if (record && !byMembers) {
    const compare = (operator: string): Value | undefined =>
      userOperator(ctx, operator, [left, right], node) ||
      threeWay(ctx, operator.slice('operator'.length), left, right, node);
    const less = compare('operator<');
    const equal = compare('operator==');
    if (less)
      return {
        less: holds(ctx, less, node),
        equal: equal ? holds(ctx, equal, node) : neither(ctx, less, [right, left], node),
      };
    return { less: unknownOrder(ctx, node), equal: equal ? holds(ctx, equal, node) : unknownOrder(ctx, node) };
  }
  const parts = partsOf(ctx, type, [left, right], node);
  if (!parts) return { less: unknownOrder(ctx, node), equal: unknownOrder(ctx, node) };
  const { builder } = ctx;
  let order: Order = { less: builder.constant('pred', 0), equal: builder.constant('pred', 1) };
  for (const [a, b] of parts) {
    const next = orderOf(ctx, a, b, node);
    order = {
      less: builder.binary('or', 'pred', order.less, builder.binary('and', 'pred', order.equal, next.less)),
      equal: builder.binary('and', 'pred', order.equal, next.equal),
    };
  }
  return order;
}

/** Neither is less. */
function neither(ctx: Context, less: Value, turned: readonly [Value, Value], node: ast.Node): Register {
  const more = userOperator(ctx, 'operator<', turned, node);
  if (!more) return unknownOrder(ctx, node);
  return ctx.builder.unary(
    'lognot',
    'pred',
    ctx.builder.binary('or', 'pred', holds(ctx, less, node), holds(ctx, more, node)),
  );
}

/** Members of a record, elements of an array; undefined where they are not known. */
function partsOf(
  ctx: Context,
  type: Type,
  both: readonly [Value, Value],
  node: ast.Node,
): (readonly [Value, Value])[] | undefined {
  const record = recordOf(type);
  if (record) {
    const parts = record.fields.map(({ name }) => both.map((value) => memberOf(ctx, value, name, node)));
    return parts.every(([a, b]) => a && b) ? parts.flatMap(([a, b]) => (a && b ? [[a, b] as const] : [])) : undefined;
  }
  const [a, b] = both.map((value) => rvalue(ctx, value, node));
  if (a.kind !== 'aggregate' || b.kind !== 'aggregate' || a.elements.length !== b.elements.length) return undefined;
  return a.elements.map((element, i) => [element, b.elements[i]] as const);
}

const holds = (ctx: Context, value: Value, node: ast.Node): Register =>
  toPredicate(ctx, rvalue(ctx, value, node), node);

function unknownOrder(ctx: Context, node: ast.Node): Register {
  const reason = 'how the objects are compared is not known';
  skip(ctx, node, reason);
  return toPredicate(ctx, unknownValue(types.bool, reason), node);
}
