/** Cooperative groups: thread blocks, tiles and the grid. */

import type { Register } from '../../program/program';
import { type GroupInfo, groupOf, groupType } from '../builtin-types';
import { type Context, placeOf } from '../context';
import { number } from '../expressions';
import { memberOf } from '../members';
import { scalarBinary } from '../operators';
import { types } from '../types';
import { useValues } from '../unknown-calls';
import { unknownValue, type Value } from '../values';
import { groupOfLanes, maskOf, rankIn, shuffleFromFirst, sizeOfGroup } from './coalesced-groups';
import type { BuiltinCall, BuiltinFunction } from './functions';
import { activeLanes, lanesAlike, shuffle, vote } from './lanes';
import { unknownOf } from './opaque';
import { builtinVariable } from './variables';

type Scalar = Value & { kind: 'scalar' };

const empty = (type: Value['type']): Value => ({ kind: 'aggregate', type, elements: [] });

function part(ctx: Context, name: string, axis: string, call: BuiltinCall): Scalar {
  const triple = builtinVariable(ctx, name);
  const value = triple && memberOf(ctx, triple, axis, call.node);
  return value?.kind === 'scalar' ? value : (number(ctx, types.uint, 0) as Scalar);
}

function combine(ctx: Context, operator: string, a: Value, b: Value): Scalar {
  if (a.kind !== 'scalar' || b.kind !== 'scalar') return number(ctx, types.uint, 0) as Scalar;
  return scalarBinary(ctx, operator, a, b) as Scalar;
}

/** x + dim.x * (y + dim.y * z) */
function linear(call: BuiltinCall, index: string, size: string): Scalar {
  const { ctx } = call;
  const p = (name: string, axis: string) => part(ctx, name, axis, call);
  const yz = combine(ctx, '+', p(index, 'y'), combine(ctx, '*', p(size, 'y'), p(index, 'z')));
  return combine(ctx, '+', p(index, 'x'), combine(ctx, '*', p(size, 'x'), yz));
}

function volume(call: BuiltinCall, size: string): Scalar {
  const p = (axis: string) => part(call.ctx, size, axis, call);
  return combine(call.ctx, '*', combine(call.ctx, '*', p('x'), p('y')), p('z'));
}

/** Rank of the thread in its group. */
function threadRank(call: BuiltinCall, group: GroupInfo, self?: Value): Value {
  const inBlock = linear(call, 'threadIdx', 'blockDim');
  if (group.group === 'tile')
    return combine(call.ctx, '%', inBlock, number(call.ctx, types.uint, group.tileSize ?? 32));
  if (group.group === 'grid')
    return combine(
      call.ctx,
      '+',
      inBlock,
      combine(call.ctx, '*', linear(call, 'blockIdx', 'gridDim'), volume(call, 'blockDim')),
    );
  if (group.group === 'coalesced') return rankIn(call.ctx, maskOf(self), laneOf(call));
  return inBlock;
}

function groupSize(call: BuiltinCall, group: GroupInfo, self?: Value): Value {
  if (group.group === 'tile') return number(call.ctx, types.uint, group.tileSize ?? 32);
  if (group.group === 'block') return volume(call, 'blockDim');
  if (group.group === 'grid') return combine(call.ctx, '*', volume(call, 'gridDim'), volume(call, 'blockDim'));
  return sizeOfGroup(call.ctx, maskOf(self));
}

/** @param self the group as a value; its type says all of most */
type GroupMethod = (call: BuiltinCall, group: GroupInfo, self?: Value) => Value;

function laneOf(call: BuiltinCall): Register {
  return combine(call.ctx, '%', linear(call, 'threadIdx', 'blockDim'), number(call.ctx, types.uint, 32)).register;
}

const voidValue: Value = { kind: 'void', type: types.void };

const sync: GroupMethod = ({ ctx, node }, group) => {
  ctx.builder.emit({
    op: 'barrier',
    place: placeOf(ctx, node),
    scope: group.group === 'block' ? 'block' : group.group === 'grid' ? 'grid' : 'warp',
  });
  return voidValue;
};

const shuffleMethod =
  (fn: 'shuffle' | 'shuffleUp' | 'shuffleDown' | 'shuffleXor'): GroupMethod =>
  (call, group, self) =>
    group.group === 'coalesced'
      ? fn === 'shuffle'
        ? shuffleFromFirst(call, maskOf(self))
        : unknownValue(call.value(0).type, 'value of another member of a coalesced group')
      : shuffle(
          call.ctx,
          fn,
          call.value(0),
          call.value(1),
          number(call.ctx, types.int, group.tileSize ?? 32),
          call.node,
        );

const methods: Record<string, GroupMethod> = {
  sync,
  barrier_arrive: () => voidValue,
  barrier_wait: sync,
  thread_rank: threadRank,
  size: groupSize,
  num_threads: groupSize,
  meta_group_rank: (call, group) =>
    combine(call.ctx, '/', linear(call, 'threadIdx', 'blockDim'), number(call.ctx, types.uint, group.tileSize ?? 32)),
  meta_group_size: (call, group) =>
    combine(call.ctx, '/', volume(call, 'blockDim'), number(call.ctx, types.uint, group.tileSize ?? 32)),
  thread_index: ({ ctx }) => builtinVariable(ctx, 'threadIdx') ?? voidValue,
  group_index: ({ ctx }) => builtinVariable(ctx, 'blockIdx') ?? voidValue,
  dim_threads: ({ ctx }) => builtinVariable(ctx, 'blockDim') ?? voidValue,
  group_dim: ({ ctx }) => builtinVariable(ctx, 'blockDim') ?? voidValue,
  block_rank: (call) => linear(call, 'blockIdx', 'gridDim'),
  num_blocks: (call) => volume(call, 'gridDim'),
  shfl: shuffleMethod('shuffle'),
  shfl_up: shuffleMethod('shuffleUp'),
  shfl_down: shuffleMethod('shuffleDown'),
  shfl_xor: shuffleMethod('shuffleXor'),
  ballot: (call) => vote(call.ctx, 'ballot', call.value(0), call.node),
  any: (call) => vote(call.ctx, 'any', call.value(0), call.node),
  all: (call) => vote(call.ctx, 'all', call.value(0), call.node),
};

export function groupMethod(call: BuiltinCall, self: Value): Value | undefined {
  const group = groupOf(self.type);
  const method = group && (Object.hasOwn(methods, call.name) ? methods[call.name] : undefined);
  if (!group || !method) return undefined;
  return method(call, group, group.group === 'coalesced' ? call.read(self) : undefined);
}

const partition: BuiltinFunction = (call) => {
  const written = call.callee.templateArguments?.[0];
  const second = call.args[1] ? call.value(1) : undefined;
  const size =
    written?.kind === 'number'
      ? written.value
      : second?.kind === 'scalar'
        ? call.ctx.builder.constantValue(second.register)
        : undefined;
  return empty(groupType('tile', size ?? 32));
};

const reduceOverGroup: BuiltinFunction = (call) => {
  const value = call.value(1);
  useValues(call.ctx, [value]);
  if (value.kind !== 'scalar') return unknownValue(value.type, 'reduction over a group');
  return {
    kind: 'scalar',
    type: value.type,
    register: call.ctx.builder.unknown(call.ctx.builder.typeOf(value.register), 'reduction over a group'),
  };
};

const syncFunction: BuiltinFunction = (call) => {
  const group = call.args[0] ? groupOf(call.args[0].type) : undefined;
  return group ? sync(call, group) : voidValue;
};

/** `cg::thread_rank(block)` for `block.thread_rank()` */
const asFunction =
  (method: GroupMethod): BuiltinFunction =>
  (call) => {
    const group = call.args[0] && groupOf(call.args[0].type);
    return group
      ? method(call, group, call.value(0))
      : unknownValue(types.uint, `${call.name} of a group that is not known`);
  };

/** A group of the lanes that have the same label, or for which a condition holds or does not. */
const labelled: BuiltinFunction = ({ ctx, value }) => {
  const label = value(1);
  return groupOfLanes(
    label.kind === 'scalar' ? lanesAlike(ctx, label.register) : ctx.builder.unknown('u32', 'label of a lane'),
  );
};

const scanOverGroup: BuiltinFunction = (call) => {
  const value = call.value(1);
  useValues(call.ctx, [value]);
  return unknownOf(call, value.type, 'scan over a group');
};

export const groupFunctions: Record<string, BuiltinFunction> = {
  thread_rank: asFunction(threadRank),
  group_size: asFunction(groupSize),
  binary_partition: labelled,
  labeled_partition: labelled,
  inclusive_scan: scanOverGroup,
  exclusive_scan: scanOverGroup,
  this_thread_block: () => empty(groupType('block')),
  this_grid: () => empty(groupType('grid')),
  this_thread: () => empty(groupType('tile', 1)),
  coalesced_threads: (call) => groupOfLanes(activeLanes(call.ctx)),
  tiled_partition: partition,
  sync: syncFunction,
  reduce: reduceOverGroup,
  wait: syncFunction,
  wait_prior: () => voidValue,
};
