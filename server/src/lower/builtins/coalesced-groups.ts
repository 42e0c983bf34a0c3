/**
 * Cooperative groups of the lanes that happen to be active, or that have the same label: a mask of lanes, taken where the group is made.
 * As coalesced_group of cooperative_groups.h has it: ranks count the lanes of the mask from the lowest.
 */
import type { Register } from '../../program/program';
import { COALESCED } from '../builtin-types';
import type { Context } from '../context';
import { types } from '../types';
import { unknownValue, type Value } from '../values';
import type { BuiltinCall } from './functions';
import { shuffle } from './lanes';

/** The group of the lanes of a mask. */
export const groupOfLanes = (mask: Register): Value => ({
  kind: 'aggregate',
  type: COALESCED,
  elements: [{ kind: 'scalar', type: types.uint, register: mask }],
});

/** The mask of a group; undefined where it is not known. */
export function maskOf(group: Value | undefined): Register | undefined {
  const [mask] = group?.kind === 'aggregate' ? group.elements : [];
  return mask?.kind === 'scalar' ? mask.register : undefined;
}

const scalar = (register: Register): Value => ({ kind: 'scalar', type: types.uint, register });

/** Lanes of the group below this one. */
export function rankIn({ builder }: Context, mask: Register | undefined, lane: Register): Value {
  if (mask === undefined) return unknownValue(types.uint, 'rank in a coalesced group');
  const one = builder.constant('u32', 1);
  const below = builder.binary('sub', 'u32', builder.binary('shl', 'u32', one, lane), one);
  return scalar(builder.unary('popc', 'u32', builder.binary('and', 'u32', mask, below)));
}

export function sizeOfGroup({ builder }: Context, mask: Register | undefined): Value {
  return mask === undefined
    ? unknownValue(types.uint, 'size of a coalesced group')
    : scalar(builder.unary('popc', 'u32', mask));
}

/** `group.shfl(value, 0)`: from the lowest lane of the mask. Other ranks are lanes that only a search finds. */
export function shuffleFromFirst(call: BuiltinCall, mask: Register | undefined): Value {
  const { builder } = call.ctx;
  const [value, rank] = [call.value(0), call.value(1)];
  const isFirst = rank.kind === 'scalar' && builder.constantValue(rank.register) === 0;
  if (mask === undefined || !isFirst) return unknownValue(value.type, 'value of another member of a coalesced group');
  const zero = builder.constant('u32', 0);
  const lowest = builder.binary('and', 'u32', mask, builder.binary('sub', 'u32', zero, mask));
  const lane = builder.binary('sub', 'u32', builder.constant('u32', 31), builder.unary('clz', 'u32', lowest));
  return shuffle(call.ctx, 'shuffle', value, scalar(lane), undefined, call.node);
}
