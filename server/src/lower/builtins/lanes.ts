/** Shuffles, votes, matches and reductions across a warp. */
import type { Node } from '../../parse/ast';
import type { LaneInstruction, Register } from '../../program/program';
import type { Context } from '../context';
import { convertRegister, convertValue, toPredicate } from '../conversions';
import { dereference } from '../pointers';
import { scalarOf, types } from '../types';
import { unknownValue, type Value } from '../values';
import type { BuiltinCall, BuiltinFunction } from './functions';

type LaneFn = LaneInstruction['fn'];

const shuffles: Record<string, LaneFn> = {
  __shfl: 'shuffle',
  __shfl_up: 'shuffleUp',
  __shfl_down: 'shuffleDown',
  __shfl_xor: 'shuffleXor',
};

/** value of another lane; vectors element by element */
export function shuffle(
  ctx: Context,
  fn: LaneFn,
  value: Value,
  lane: Value,
  width: Value | undefined,
  node: BuiltinCall['node'],
): Value {
  if (value.kind === 'aggregate')
    return { ...value, elements: value.elements.map((e) => shuffle(ctx, fn, e, lane, width, node)) };
  if (value.kind !== 'scalar')
    return unknownValue(value.type, value.kind === 'unknown' ? value.reason : 'shuffled value');
  const type = ctx.builder.typeOf(value.register);
  const index = convertValue(ctx, lane, types.int, node);
  const segment = width && convertValue(ctx, width, types.int, node);
  const dst = ctx.builder.register(type, 'temporary');
  const b = index.kind === 'scalar' ? index.register : ctx.builder.unknown('i32', 'lane of a shuffle');
  ctx.builder.emit({
    op: 'lane',
    fn,
    type,
    dst,
    a: value.register,
    b,
    width: segment?.kind === 'scalar' ? segment.register : undefined,
  });
  return { kind: 'scalar', type: value.type, register: dst };
}

const shuffleFunction =
  (fn: LaneFn, first: number): BuiltinFunction =>
  (call) =>
    shuffle(
      call.ctx,
      fn,
      call.value(first),
      call.value(first + 1),
      call.args[first + 2] ? call.value(first + 2) : undefined,
      call.node,
    );

export type Vote = 'ballot' | 'any' | 'all' | 'blockCount' | 'blockAny' | 'blockAll';

export function vote(ctx: Context, fn: Vote, value: Value, node: Node): Value {
  const a = toPredicate(ctx, value, node);
  const isNumber = fn === 'ballot' || fn === 'blockCount';
  const dst = ctx.builder.register(isNumber ? 'u32' : 'pred', 'temporary');
  ctx.builder.emit({ op: 'lane', fn, type: isNumber ? 'u32' : 'pred', dst, a });
  if (isNumber) return { kind: 'scalar', type: fn === 'ballot' ? types.uint : types.int, register: dst };
  return { kind: 'scalar', type: types.int, register: convertRegister(ctx, dst, 'pred', 'i32') };
}

const voteFunction =
  (fn: 'ballot' | 'any' | 'all', argument: number): BuiltinFunction =>
  (call) =>
    vote(call.ctx, fn, call.value(argument), call.node);

const reduction =
  (fn: LaneFn): BuiltinFunction =>
  (call) => {
    const value = call.value(1);
    if (value.kind !== 'scalar') return unknownValue(value.type, 'reduced value');
    const type = scalarOf(value.type) ?? 'i32';
    const dst = call.ctx.builder.register(type, 'temporary');
    call.ctx.builder.emit({ op: 'lane', fn, type, dst, a: value.register });
    return { kind: 'scalar', type: value.type, register: dst };
  };

/** The lanes that are active here, as a mask. */
export function activeLanes({ builder }: Context): Register {
  const dst = builder.register('u32', 'temporary');
  builder.emit({ op: 'lane', fn: 'activeMask', type: 'u32', dst });
  return dst;
}

/** The active lanes that have the value of this one, as a mask. */
export function lanesAlike({ builder }: Context, value: Register): Register {
  const dst = builder.register('u32', 'temporary');
  builder.emit({ op: 'lane', fn: 'matchAny', type: builder.typeOf(value), dst, a: value });
  return dst;
}

const activeMask: BuiltinFunction = ({ ctx }) => ({ kind: 'scalar', type: types.uint, register: activeLanes(ctx) });

const match: BuiltinFunction = (call) => {
  const value = call.value(1);
  if (value.kind !== 'scalar') return unknownValue(types.uint, 'matched value');
  return { kind: 'scalar', type: types.uint, register: lanesAlike(call.ctx, value.register) };
};

/** `__match_all_sync(mask, value, &pred)`: the active lanes where all have the value of this one, else 0. */
const matchAll: BuiltinFunction = (call) => {
  const { builder } = call.ctx;
  const same = match(call);
  const active = activeMask(call);
  if (same.kind !== 'scalar' || active.kind !== 'scalar') return same;
  const all = builder.compare('eq', 'u32', same.register, active.register);
  const pred = convertRegister(call.ctx, all, 'pred', 'i32');
  call.assign(dereference(call.ctx, call.value(2), call.node), { kind: 'scalar', type: types.int, register: pred });
  const register = builder.select('u32', all, active.register, builder.constant('u32', 0));
  return { kind: 'scalar', type: types.uint, register };
};

export const laneFunctions: Record<string, BuiltinFunction> = {
  ...Object.fromEntries(
    Object.entries(shuffles).flatMap(([name, fn]) => [
      [name, shuffleFunction(fn, 0)],
      [`${name}_sync`, shuffleFunction(fn, 1)],
    ]),
  ),
  __ballot: voteFunction('ballot', 0),
  __any: voteFunction('any', 0),
  __all: voteFunction('all', 0),
  __ballot_sync: voteFunction('ballot', 1),
  __any_sync: voteFunction('any', 1),
  __all_sync: voteFunction('all', 1),
  __activemask: activeMask,
  __match_any_sync: match,
  __match_all_sync: matchAll,
  __reduce_add_sync: reduction('reduceAdd'),
  __reduce_min_sync: reduction('reduceMin'),
  __reduce_max_sync: reduction('reduceMax'),
  __reduce_and_sync: reduction('reduceAnd'),
  __reduce_or_sync: reduction('reduceOr'),
  __reduce_xor_sync: reduction('reduceXor'),
};
