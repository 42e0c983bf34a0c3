/** What the texts of `lower/library` use for all that they do not say: values that are not known, and writes of such values. */

import { groupOf } from '../builtin-types';
import { textOf } from '../context';
import { number } from '../expressions';
import { types, withoutReference } from '../types';
import { useValues } from '../unknown-calls';
import { unknownValue, type Value } from '../values';
import { emitAsyncCopy } from './async-copy';
import type { BuiltinCall, BuiltinFunction } from './functions';
import { unknownOf } from './opaque';

/** Lanes of a warp: larger tiles go through shared memory. */
const WARP = 32;

/** `result of BlockReduce(storage).Sum` */
function reasonOf({ ctx, name }: BuiltinCall): string {
  const call = ctx.libraryCall;
  const callee = call && 'callee' in call ? (call.callee as BuiltinCall['node']['callee']) : undefined;
  return `result of ${callee ? textOf(ctx.unit.tokens, callee, 60) : name}`;
}

const useAll = (call: BuiltinCall): void =>
  useValues(
    call.ctx,
    call.args.map((_, i) => call.value(i)),
  );

/** __warplens_unknown<T>(what it is computed from …) */
const unknown: BuiltinFunction = (call) => {
  useAll(call);
  const type = call.callee.templateArguments?.[0];
  const reason = reasonOf(call);
  if (type?.kind !== 'type') return unknownValue({ kind: 'unknown', reason }, reason);
  return unknownOf(call, type.type, reason);
};

/** __warplens_change(a, b …): reads each and writes something computed from it */
const change: BuiltinFunction = (call) => {
  const reason = reasonOf(call);
  for (const place of call.args) {
    if (place.kind !== 'place') continue;
    useValues(call.ctx, [wholeValue(call, place)]);
    call.assign(place, unknownOf(call, withoutReference(place.type), reason));
  }
  return { kind: 'void', type: { kind: 'void' } };
};

/** Arrays as wholes, not as pointers. */
function wholeValue(call: BuiltinCall, place: Value & { kind: 'place' }): Value {
  return withoutReference(place.type).kind === 'array' ? place : call.read(place);
}

const use: BuiltinFunction = (call) => {
  useAll(call);
  return { kind: 'void', type: { kind: 'void' } };
};

/** __warplens_open_copy(to, from): a copy that is there, whose addresses are not known */
const openCopy: BuiltinFunction = (call) => {
  const open: Value = unknownValue(
    { kind: 'unknown', reason: 'copy' },
    'how the library divides this copy is not known',
  );
  emitAsyncCopy(call.ctx, call.node, open, open, 16);
  return { kind: 'void', type: { kind: 'void' } };
};

/** __warplens_tile_size(group): lanes of a tile that lies in a warp, 0 of all other groups */
const tileSize: BuiltinFunction = ({ ctx, args }) => {
  const group = args[0] && groupOf(args[0].type);
  const size = group?.group === 'tile' ? (group.tileSize ?? WARP) : 0;
  return number(ctx, types.int, size > WARP ? 0 : size);
};

export const libraryFunctions: Record<string, BuiltinFunction> = {
  __warplens_unknown: unknown,
  __warplens_change: change,
  __warplens_use: use,
  __warplens_open_copy: openCopy,
  __warplens_tile_size: tileSize,
};
