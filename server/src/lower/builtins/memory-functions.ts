/** Loads and stores that are written as functions: __ldg and its kin, __stcs, memcpy of small objects. */

import { callValue } from '../calls';
import { placeOf } from '../context';
import { emitFence } from '../fences';
import { readStorage, writeStorage } from '../places';
import { dereference } from '../pointers';
import { sharedPointer, toSharedOffset } from '../shared-window';
import { scalarOf, sizeOf, typeKey, types, unqualified } from '../types';
import { type RegisterTarget, type Storage, unknownValue, type Value } from '../values';
import { viewOf } from '../views';
import type { BuiltinCall, BuiltinFunction } from './functions';

function load(call: BuiltinCall, readOnly: boolean): Value {
  const pointer = call.value(0);
  const place = dereference(call.ctx, pointer, call.node);
  if (place.kind !== 'place') return place;
  emitFence(call.ctx, 'code');
  const marked: Value =
    place.place.kind === 'memory'
      ? { ...place, place: { ...place.place, readOnly, isAssembly: true, node: call.node } }
      : place;
  return call.read(marked);
}

const readOnlyLoad: BuiltinFunction = (call) => load(call, true);
const plainLoad: BuiltinFunction = (call) => load(call, false);

const store: BuiltinFunction = (call) => {
  const place = dereference(call.ctx, call.value(0), call.node);
  emitFence(call.ctx, 'code');
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
  if (target.kind === 'placePointer' && source.kind === 'placePointer') {
    const isOther = typeKey(unqualified(to.type)) !== typeKey(unqualified(from.type));
    const elements = isOther || source.target.elements.length > 1 ? elementsCopied(call, target.target) : undefined;
    const bits = elements?.map((_, k) => viewOf(call.ctx, source.target, target.target.elementType, k));
    if (elements && bits?.every((each) => each !== undefined)) {
      const values = bits.map((each) => readStorage(call.ctx, each));
      const isRead = firstRegister(source.target) < firstRegister(target.target);
      for (const [k, value] of values.entries()) {
        if (isRead) markRead(call, value);
        writeStorage(call.ctx, elements[k], value, call.node);
      }
      return target;
    }
  }
  call.assign(to, call.read(from));
  return target;
};

/** Registers are made as variables are declared. */
function firstRegister({ elements, index }: RegisterTarget): number {
  let storage: Storage | undefined = elements[index];
  while (storage?.kind === 'aggregate') storage = storage.elements[0];
  return storage?.kind === 'scalar' ? storage.register : -1;
}

/** Of two variables the compiler keeps the one in registers first that was declared last: its bits are read where the other is copied (place-reinterpreted.ts). */
function markRead(call: BuiltinCall, value: Value): void {
  if (value.kind === 'aggregate') for (const part of value.elements) markRead(call, part);
  else if (value.kind === 'scalar') call.ctx.builder.readAt(value.register, () => placeOf(call.ctx, call.node));
}

/** The elements of a local variable that memcpy writes: one at least. */
function elementsCopied(call: BuiltinCall, { elements, index, elementType }: RegisterTarget): readonly Storage[] {
  const size = sizeOf(elementType) ?? 1;
  const bytes = constantArgument(call, 2) ?? size;
  return elements.slice(index, index + Math.max(1, Math.floor(bytes / size)));
}

function constantArgument(call: BuiltinCall, index: number): number | undefined {
  const value = call.value(index);
  return value.kind === 'scalar' ? call.ctx.builder.constantValue(value.register) : undefined;
}

/** `memset(p, 0, n)`: of a local variable zeros in its registers, of memory the stores of the library's loop. */
const set: BuiltinFunction = (call) => {
  const { ctx, node } = call;
  const target = call.value(0);
  if (target.kind === 'placePointer') {
    setLocal(call, target.target);
    return target;
  }
  const scope = ctx.unit.scope.parent?.own('__warplens');
  const loop = scope?.kind === 'namespace' ? scope.scope.own('setBytes') : undefined;
  if (loop?.kind === 'functions') {
    const { declarations, scope: declared } = loop;
    callValue(ctx, { kind: 'functions', type: { kind: 'function' }, declarations, scope: declared }, call.args, node);
  }
  return target;
};

/** Elements that the bytes cover as wholes become zero, or a value that is not known; the rest stays. */
function setLocal(call: BuiltinCall, target: RegisterTarget): void {
  const count = constantArgument(call, 2) ?? Number.POSITIVE_INFINITY;
  const size = sizeOf(target.elementType) ?? 1;
  for (const [i, element] of target.elements.slice(target.index).entries()) {
    if (i * size >= count) break;
    const isZero = constantArgument(call, 1) === 0 && (i + 1) * size <= count;
    fill(call, element, isZero);
  }
}

function fill(call: BuiltinCall, storage: Storage, isZero: boolean): void {
  const { ctx, node } = call;
  if (storage.kind === 'aggregate') for (const element of storage.elements) fill(call, element, isZero);
  else if (storage.kind !== 'fixed') {
    const scalar = scalarOf(storage.type) ?? 'i32';
    const register = isZero ? ctx.builder.constant(scalar, 0) : ctx.builder.unknown(scalar, 'bytes that memset writes');
    writeStorage(ctx, storage, { kind: 'scalar', type: storage.type, register }, node);
  }
}

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
  memset: set,
  __builtin_memset: set,
  memcpy: copy,
  __builtin_memcpy: copy,
  __cvta_generic_to_shared: sharedAddress,
  __cvta_generic_to_global: sameAddress,
  __cvta_global_to_generic: sameAddress,
  __cvta_shared_to_generic: genericAddress,
};
