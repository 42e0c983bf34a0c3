/** Casts, sizeof and alignof. */
import type * as ast from '../parse/ast';
import { baseOf, betweenClasses, offsetOfBase, pathToBase, wholeOf } from './bases';
import { callArguments, listElements } from './calls';
import { choice } from './conditional';
import { construct, initialiseFromList } from './construct';
import type { Context } from './context';
import { convertValue, shiftedPointer } from './conversions';
import { expression, number } from './expressions';
import { objectAs } from './host/virtual-calls';
import { rvalue } from './places';
import { dereference } from './pointers';
import { findField, recordOf } from './records';
import { resolveType } from './resolve-type';
import { alignOf, sizeOf, type Type, typeKey, types, withoutReference } from './types';
import { type RegisterTarget, unknownValue, type Value } from './values';
import { viewOf } from './views';

export function castExpression(ctx: Context, node: ast.CastExpression): Value {
  const type = resolveType(ctx, node.type);
  if (node.form === 'functional' || node.form === 'braced') {
    if (node.form === 'braced' && node.arguments.length === 1 && node.arguments[0].kind === 'initList')
      return initialiseFromList(ctx, type, node.arguments[0]);
    const args = (node.form === 'braced' ? listElements : callArguments)(ctx, node.arguments);
    if (type.kind === 'unknown' && !type.template) return unknownValue(type, type.reason);
    return construct(ctx, type, args, node, false);
  }
  const operand = node.arguments[0];
  if (!operand) return unknownValue(type, 'cast of nothing');
  const value = expression(ctx, operand);
  if (type.kind === 'reference') {
    const referred = castReference(ctx, value, type.to);
    return ctx.unit.isHost && type.isRvalue ? expiring(referred, operand) : referred;
  }
  if (type.kind === 'void') return { kind: 'void', type };
  const plain = rvalue(ctx, value, operand);
  const asked = node.form === 'dynamic' ? castDynamic(ctx, plain, type, node) : undefined;
  if (asked) return asked;
  if (type.kind === 'pointer' && plain.kind === 'scalar') return castPointer(ctx, plain, type);
  return convertValue(ctx, plain, type, node);
}

/** `static_cast<T&&>(x)`; of a parameter it is what it was given, as std::forward says it. */
const expiring = (value: Value, operand: ast.Expression): Value =>
  value.kind === 'place' && (operand.kind !== 'name' || value.handed === 'given')
    ? { ...value, handed: 'expiring' }
    : value;

/** `dynamic_cast<T*>(p)`: null where the object is of no class that T is a base of. */
function castDynamic(ctx: Context, pointer: Value, type: Type, node: ast.Node): Value | undefined {
  const from = pointer.type.kind === 'pointer' ? recordOf(pointer.type.to) : undefined;
  const to = type.kind === 'pointer' ? recordOf(type.to) : undefined;
  if (!ctx.unit.isHost || pointer.kind !== 'scalar' || !from || !to || pathToBase(from, to)) return undefined;
  const { builder } = ctx;
  const isThere = builder.compare('ne', 'i64', pointer.register, builder.constant('i64', 0));
  const none: Value = { kind: 'scalar', type, register: builder.constant('i64', 0) };
  const asked = (): Value => {
    const object = dereference(ctx, pointer, node);
    const found = objectAs(ctx, object, from, node).reduce(
      (otherwise, { condition, record }) => {
        const [own, wanted] = [offsetOfBase(record, from), offsetOfBase(record, to)];
        if (own === undefined || wanted === undefined) return otherwise;
        const part = builder.binary('add', 'i64', pointer.register, builder.constant('i64', wanted - own));
        return builder.select('i64', condition, part, otherwise);
      },
      builder.constant('i64', 0),
    );
    return { kind: 'scalar', type, register: found };
  };
  return choice(ctx, node, isThere, asked, () => none);
}

/** Restrict and const of a parameter survive a cast to a vector type: the compiler looks at the pointer's origin. */
function castPointer(ctx: Context, value: Value & { kind: 'scalar' }, type: Type & { kind: 'pointer' }): Value {
  const from = value.type.kind === 'pointer' ? value.type : undefined;
  const plain = ctx.builder.convert(ctx.builder.typeOf(value.register), 'i64', value.register);
  const register = shiftedPointer(ctx, plain, from?.to, type.to);
  if (from && typeKey(from.to) !== typeKey(type.to)) ctx.builder.reinterpreted.add(register);
  const isRestrict = type.isRestrict || Boolean(from?.isRestrict && from.to.isConst && type.to.isConst);
  return { kind: 'scalar', type: { ...type, isRestrict }, register };
}

function castReference(ctx: Context, value: Value, to: Type): Value {
  const record = recordOf(to);
  const base = record && baseOf(value, record);
  if (base) return base;
  if (value.kind !== 'place') return value;
  if (value.place.kind === 'memory') {
    const offset = value.place.offset + betweenClasses(recordOf(value.type), record);
    return { ...value, type: to, place: { ...value.place, offset } };
  }
  const whole = record && wholeOf(value, record);
  if (whole) return whole;
  const { storage: own } = value.place;
  // an element reaches on into those behind it
  const target: RegisterTarget = ctx.arrayOf.get(own) ?? {
    elements: own.kind === 'aggregate' && value.type.kind === 'array' ? own.elements : [own],
    index: 0,
    elementType: value.type,
  };
  const storage = viewOf(ctx, target, to, 0);
  return storage
    ? { kind: 'place', type: to, place: { kind: 'storage', storage } }
    : unknownValue(to, `bits of a local variable seen as ${typeKey(to)}`);
}

export function sizeofExpression(ctx: Context, node: ast.SizeofExpression): Value {
  if (node.operator === 'sizeof...') {
    const inner = node.expression && expression(ctx, node.expression);
    return inner?.kind === 'pack'
      ? number(ctx, types.ulong, inner.elements.length)
      : unknownValue(types.ulong, 'size of a pack');
  }
  if (node.operator === 'offsetof') {
    const whole = node.type && node.expression && partAt(ctx, resolveType(ctx, node.type), node.expression);
    return whole ? number(ctx, types.ulong, whole.offset) : unknownValue(types.ulong, 'offsetof');
  }
  // a text is an array there, and no pointer
  if (node.expression?.kind === 'string' && node.operator === 'sizeof')
    return number(ctx, types.ulong, node.expression.value.length + 1);
  const type = node.type
    ? resolveType(ctx, node.type)
    : node.expression
      ? unevaluatedType(ctx, node.expression)
      : undefined;
  if (!type) return unknownValue(types.ulong, 'sizeof');
  const plain = withoutReference(type);
  const isOfRunTime = ctx.unit.isHost && plain.kind === 'array' && plain.count === undefined;
  if (isOfRunTime && node.operator === 'sizeof' && node.expression?.kind === 'name') {
    const array = expression(ctx, node.expression);
    const bytes = array.kind === 'place' && array.place.kind === 'memory' ? array.place.bytes : undefined;
    if (bytes !== undefined) return { kind: 'scalar', type: types.ulong, register: bytes };
  }
  const size = node.operator === 'alignof' ? alignOf(plain) : sizeOf(plain);
  return size === undefined
    ? unknownValue(types.ulong, plain.kind === 'unknown' ? plain.reason : 'size is not known')
    : number(ctx, types.ulong, size);
}

/** A part of a type, spelled as if the type's members were variables: `member.part[2]`. */
function partAt(ctx: Context, whole: Type, node: ast.Expression): { type: Type; offset: number } | undefined {
  if (node.kind === 'index') {
    const array = partAt(ctx, whole, node.base);
    const index = rvalue(ctx, expression(ctx, node.indices[0]), node);
    const at = index.kind === 'scalar' ? ctx.builder.constantValue(index.register) : undefined;
    if (array?.type.kind !== 'array' || at === undefined) return undefined;
    return { type: array.type.of, offset: array.offset + at * (sizeOf(array.type.of) ?? 0) };
  }
  const from = node.kind === 'member' ? partAt(ctx, whole, node.object) : { type: whole, offset: 0 };
  const name = node.kind === 'member' || node.kind === 'name' ? node.name.parts.at(-1)?.name : undefined;
  const record = from && recordOf(from.type);
  const found = record && name !== undefined ? findField(record, name) : undefined;
  const last = found?.path.at(-1);
  if (!from || !found || !last) return undefined;
  return { type: last.type, offset: found.path.reduce((sum, field) => sum + field.offset, from.offset) };
}

/** The type of an operand that is not evaluated: what is emitted for it lands in a block that nothing reaches. */
export const unevaluatedType = (ctx: Context, node: ast.Expression): Type =>
  unevaluated(ctx, () => expression(ctx, node).type);

/** Asks something of expressions that are not evaluated. */
export function unevaluated<T>(ctx: Context, ask: () => T): T {
  const saved = ctx.builder.currentBlock;
  const known = ctx.known.fork();
  ctx.builder.use(ctx.builder.newBlock());
  ctx.builder.enterRegion();
  const answer = ask();
  ctx.builder.leaveRegion();
  ctx.builder.use(saved);
  ctx.known = known;
  return answer;
}
