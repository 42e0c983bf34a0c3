/** Loads and stores that are written as functions: __ldg and its kin, __stcs, memcpy of small objects. */

import { readStorage, writeStorage } from '../places';
import { dereference } from '../pointers';
import { sharedPointer, toSharedOffset } from '../shared-window';
import { typeKey, types, unqualified } from '../types';
import { unknownValue, type Value } from '../values';
import { viewOf } from '../views';
import type { BuiltinCall, BuiltinFunction } from './functions';

function load(call: BuiltinCall, readOnly: boolean): Value {
  const pointer = call.value(0);
  const place = dereference(call.ctx, pointer, call.node);
  if (place.kind !== 'place') return place;
  const marked: Value =
    place.place.kind === 'memory' ? { ...place, place: { ...place.place, readOnly, node: call.node } } : place;
  return call.read(marked);
}

const readOnlyLoad: BuiltinFunction = (call) => load(call, true);
const plainLoad: BuiltinFunction = (call) => load(call, false);

const store: BuiltinFunction = (call) => {
  const place = dereference(call.ctx, call.value(0), call.node);
  call.assign(place, call.value(1));
  return { kind: 'void', type: types.void };
};

/** `memcpy(&x, &y, sizeof x)`: an assignment; of local variables of different types, of the bits. */
const copy: BuiltinFunction = (call) => {
  const target = call.value(0);
  const source = call.value(1);
  const to = dereference(call.ctx, target, call.node);
  const from = dereference(call.ctx, source, call.node);
  if (to.kind !== 'place' || from.kind !== 'place' || to.type.kind === 'void') return target;
  const isOther = typeKey(unqualified(to.type)) !== typeKey(unqualified(from.type));
  const bits =
    isOther && target.kind === 'placePointer' && source.kind === 'placePointer'
      ? viewOf(call.ctx, source.target, to.type, 0)
      : undefined;
  if (bits && to.place.kind === 'storage')
    writeStorage(call.ctx, to.place.storage, readStorage(call.ctx, bits), call.node);
  else call.assign(to, call.read(from));
  return target;
};

/** `__cvta_generic_to_shared(p)`: an offset into the shared window, so that it fits into 32 bits. */
const sharedAddress: BuiltinFunction = (call) => {
  const pointer = call.value(0);
  if (pointer.kind !== 'scalar') return unknownValue(types.ulong, 'address of a local variable');
  return { kind: 'scalar', type: types.ulong, register: toSharedOffset(call.ctx, pointer.register) };
};

const genericAddress: BuiltinFunction = (call) => ({
  kind: 'scalar',
  type: { kind: 'pointer', to: types.void },
  register: sharedPointer(call.ctx, call.value(0), 'address of a local variable'),
});

const sameAddress: BuiltinFunction = (call) => {
  const pointer = call.value(0);
  return pointer.kind === 'scalar' ? { ...pointer, type: types.ulong } : pointer;
};

export const memoryFunctions: Record<string, BuiltinFunction> = {
  __ldg: readOnlyLoad,
  __ldca: plainLoad,
  __ldcg: plainLoad,
  __ldcs: plainLoad,
  __ldlu: plainLoad,
  __ldcv: plainLoad,
  __stwb: store,
  __stcg: store,
  __stcs: store,
  __stwt: store,
  memcpy: copy,
  __builtin_memcpy: copy,
  __cvta_generic_to_shared: sharedAddress,
  __cvta_generic_to_global: sameAddress,
  __cvta_global_to_generic: sameAddress,
  __cvta_shared_to_generic: genericAddress,
};
