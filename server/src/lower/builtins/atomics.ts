/** Atomic functions. How the machine carries them out decides how they are counted. */
import { type Atomic, type AtomicClass, atomicClassOf, isSwapLoop } from '../../hardware/atomic-class';
import { type AtomicInstruction, bytesOf, type Register } from '../../program/program';
import { accessSite, objectOfAddress } from '../access-sites';
import type { Context } from '../context';
import { convertValue } from '../conversions';
import { isFloat, scalarOf, sizeOf, types, unqualified } from '../types';
import { type MemoryPlace, unknownValue, type Value } from '../values';
import type { BuiltinCall, BuiltinFunction } from './functions';

const names: Record<string, AtomicInstruction['fn']> = {
  Add: 'add',
  Sub: 'sub',
  Min: 'min',
  Max: 'max',
  And: 'and',
  Or: 'or',
  Xor: 'xor',
  Inc: 'inc',
  Dec: 'dec',
  Exch: 'exch',
  CAS: 'cas',
};

/** By what PTX calls them. */
export const atomicFunctionOf: Readonly<Record<string, AtomicInstruction['fn'] | undefined>> = Object.fromEntries(
  Object.values(names).map((fn) => [fn, fn]),
);

const atomic =
  (fn: AtomicInstruction['fn']): BuiltinFunction =>
  (call) => {
    const { ctx, node } = call;
    const pointer = call.value(0);
    const target = pointer.type.kind === 'pointer' ? unqualified(pointer.type.to) : undefined;
    if (!target) return unknownValue({ kind: 'unknown', reason: call.name }, `operand of ${call.name}`);
    if (pointer.kind === 'placePointer') return unknownValue(target, 'atomic on a local variable');
    const scalar = scalarOf(target) ?? (sizeOf(target) === 8 ? 'u64' : 'u32');
    const value = operand(call, fn === 'cas' ? 2 : 1, target);
    const compare = fn === 'cas' ? operand(call, 1, target) : undefined;
    const address =
      pointer.kind === 'scalar'
        ? pointer.register
        : ctx.builder.unknown('i64', pointer.kind === 'unknown' ? pointer.reason : 'address');
    const split = ctx.builder.splitAddress(address);
    const place: MemoryPlace = { kind: 'memory', address, offset: 0, node };
    const resultUsed = !call.discarded;
    const object = objectOfAddress(ctx, split.register);
    const space = object === undefined ? 'generic' : ctx.builder.objects[object].space;
    const mayBeShared = space === 'shared' || space === 'generic';
    const kind = atomicClass(
      ctx,
      { fn, bytes: bytesOf[scalar], isFloat: isFloat(scalar), mayBeShared },
      value,
      resultUsed,
    );
    const access = accessSite(ctx, place, 'atomic', split.register, { atomic: kind, resultUsed });
    if (isSwapLoop(kind) && mayBeShared) loadOfLoop(call, place, split, scalar, kind);
    const dst = resultUsed ? ctx.builder.register(scalar, 'temporary') : undefined;
    ctx.builder.emit({
      op: 'atomic',
      fn,
      type: scalar,
      dst,
      address: split.register,
      offset: split.offset,
      value,
      compare,
      access,
    });
    return dst === undefined ? { kind: 'void', type: types.void } : { kind: 'scalar', type: target, register: dst };
  };

/**
 * A loop loads and swaps, and its loads stand on the same line (H200: atomics_mix.cu:34). Where only the
 * machine passes find out that it is another space, they drop it (infer-objects.ts).
 */
function loadOfLoop(
  call: BuiltinCall,
  place: MemoryPlace,
  at: { readonly register: number; readonly offset: number },
  type: AtomicInstruction['type'],
  atomic: AtomicClass,
): void {
  const { builder } = call.ctx;
  const access = accessSite(call.ctx, { ...place, isVolatile: true }, 'load', at.register, { atomic });
  const dst = [builder.register(type, 'temporary')];
  builder.emit({ op: 'load', type, dst, address: at.register, offset: at.offset, access });
}

function operand(call: BuiltinCall, index: number, type: Value['type']): number {
  const value = convertValue(call.ctx, call.value(index), type, call.node);
  return value.kind === 'scalar'
    ? value.register
    : call.ctx.builder.unknown(scalarOf(type) ?? 'u32', 'operand of an atomic');
}

/** `atomicAdd(&s[i], 1)` with the same constant in every lane becomes a population count (measured on 9.0). */
export function atomicClass(
  { builder }: Context,
  atomic: Omit<Atomic, 'isConstant'>,
  value: Register,
  resultUsed: boolean,
): AtomicClass {
  return atomicClassOf({ ...atomic, isConstant: builder.constantValue(value) !== undefined && !resultUsed });
}

export const atomicFunctions: Record<string, BuiltinFunction> = Object.fromEntries(
  Object.entries(names).flatMap(([name, fn]) =>
    ['', '_block', '_system'].map((scope) => [`atomic${name}${scope}`, atomic(fn)] as const),
  ),
);
