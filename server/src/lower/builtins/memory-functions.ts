/** Loads and stores that are written as functions: __ldg and its kin, __stcs, memcpy of small objects. */

import { callValue } from '../calls';
import { placeOf } from '../context';
import { emitFence } from '../fences';
import { readStorage, writeStorage } from '../places';
import { dereference } from '../pointers';
import { sharedPointer, toSharedOffset } from '../shared-window';
import { scalarOf, sizeOf, type TemplateValue, typeKey, types, unqualified } from '../types';
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

/** `memcpy(&x, &y, sizeof x)`: from or to memory the library's bytes, else an assignment; of local variables of different types, of the bits. */
const copy: BuiltinFunction = (call) => {
  const target = asDeclared(call.value(0));
  const source = asDeclared(call.value(1));
  if (copyBytes(call, target, source)) return target;
  const to = dereference(call.ctx, target, call.node);
  const from = dereference(call.ctx, source, call.node);
  if (to.kind !== 'place' || from.kind !== 'place' || to.type.kind === 'void') return target;
  if (target.kind === 'placePointer' && source.kind === 'placePointer') {
    const isOther = typeKey(unqualified(to.type)) !== typeKey(unqualified(from.type));
    const isPart = target.target.bytes !== undefined || source.target.bytes !== undefined;
    const isApart = isOther || isPart || source.target.elements.length > 1;
    const elements = isApart ? elementsCopied(call, target.target) : undefined;
    const unit = target.target.bytes === undefined ? target.target.elementType : types.uchar;
    const bits = elements?.map((_, k) => viewOf(call.ctx, source.target, unit, k));
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

/** A `void *` to a local variable as the pointer that the variable's type makes it. */
function asDeclared(pointer: Value): Value {
  if (pointer.kind !== 'placePointer' || pointer.type.kind !== 'pointer' || pointer.type.to.kind !== 'void')
    return pointer;
  return { ...pointer, type: { ...pointer.type, to: pointer.target.elementType } };
}

/** Up to so many bytes of memory are written out. */
const FEW_BYTES = 16;
/** More of a local variable are not seen one by one. */
const MOST_BYTES = 512;

/** Copies from or to memory; false where neither is in it, or a local variable cannot be seen as bytes. */
function copyBytes(call: BuiltinCall, target: Value, source: Value): boolean {
  if (call.ctx.unit.isHost) return false;
  const count = constantArgument(call, 2);
  if (target.kind === 'scalar' && source.kind === 'scalar') {
    if (count !== undefined && count > 0 && count <= FEW_BYTES) return callLibrary(call, 'copyFew', count);
    return callLibrary(call, 'copyBytes');
  }
  const [pointer, name] = target.kind === 'scalar' ? [source, 'copyOut'] : [target, 'copyIn'];
  if (pointer.kind !== 'placePointer' || (target.kind !== 'scalar' && source.kind !== 'scalar')) return false;
  return count !== undefined && isWhole(pointer.target, count) && callLibrary(call, name, count);
}

/** Whether a local variable is so many bytes, of elements that are seen as bytes one by one. */
function isWhole({ elements, index, bytes: behind = 0, elementType }: RegisterTarget, bytes: number): boolean {
  const size = sizeOf(elementType);
  return Boolean(size) && bytes > 0 && bytes <= MOST_BYTES && elements.length - index >= (behind + bytes) / (size ?? 1);
}

/** Calls a function of the library with what this one was given. */
function callLibrary({ ctx, args, node }: BuiltinCall, name: string, size?: number): boolean {
  const scope = ctx.unit.scope.parent?.own('__warplens');
  const found = scope?.kind === 'namespace' ? scope.scope.own(name) : undefined;
  if (found?.kind !== 'functions') return false;
  const { declarations, scope: declared } = found;
  const templateArguments: TemplateValue[] | undefined =
    size === undefined ? undefined : [{ kind: 'number', value: size, type: types.ulong }];
  const callee: Value = {
    kind: 'functions',
    type: { kind: 'function' },
    declarations,
    scope: declared,
    templateArguments,
  };
  callValue(ctx, callee, size === undefined ? args : args.slice(0, 2), node);
  return true;
}

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

/** The elements of a local variable that memcpy writes, one at least; of one that it begins inside of, the bytes. */
function elementsCopied(call: BuiltinCall, target: RegisterTarget): readonly Storage[] {
  const { elements, index, elementType } = target;
  const size = sizeOf(elementType) ?? 1;
  const bytes = constantArgument(call, 2) ?? size;
  if (target.bytes !== undefined) {
    const parts = Array.from({ length: Math.min(bytes, MOST_BYTES) }, (_, k) =>
      viewOf(call.ctx, target, types.uchar, k),
    );
    return parts.filter((part) => part !== undefined);
  }
  return elements.slice(index, index + Math.max(1, Math.floor(bytes / size)));
}

function constantArgument(call: BuiltinCall, index: number): number | undefined {
  const value = call.value(index);
  return value.kind === 'scalar' ? call.ctx.builder.constantValue(value.register) : undefined;
}

/** `memset(p, 0, n)`: of a local variable zeros in its registers, of memory the stores of the library's loop. */
const set: BuiltinFunction = (call) => {
  const target = call.value(0);
  if (target.kind === 'placePointer') {
    setLocal(call, target.target);
    return target;
  }
  callLibrary(call, 'setBytes');
  return target;
};

/** Elements that the bytes cover as wholes become zero, or a value that is not known; the rest stays. */
function setLocal(call: BuiltinCall, target: RegisterTarget): void {
  const count = constantArgument(call, 2) ?? Number.POSITIVE_INFINITY;
  const size = sizeOf(target.elementType) ?? 1;
  const { bytes: behind = 0 } = target;
  for (const [i, element] of target.elements.slice(target.index).entries()) {
    if (i * size >= behind + count) break;
    const isCovered = i * size >= behind && (i + 1) * size <= behind + count;
    const isZero = constantArgument(call, 1) === 0 && isCovered;
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
