/** Copies from global to shared memory that bypass registers (LDGSTS). */
import type { AsmStatement, CallExpression } from '../../parse/ast';
import { accessSite } from '../access-sites';
import { type Context, LIBRARY_TOKENS } from '../context';
import { convertValue } from '../conversions';
import { sharedPointer } from '../shared-window';
import { types } from '../types';
import type { MemoryPlace, Value } from '../values';
import type { BuiltinCall, BuiltinFunction } from './functions';
import { behindGuard, type Guarded } from './inline-guard';

const voidValue: Value = { kind: 'void', type: types.void };

/**
 * Emits one asynchronous copy of `bytes` a lane.
 * @param isPastL1 cp.async.cg; the toolkit's functions take it for 16 bytes
 * @param reading how many bytes of the source are read, where that is told
 * @param around emits the copy, behind a guard maybe
 */
export function emitAsyncCopy(
  ctx: Context,
  node: AsmStatement | CallExpression,
  destination: Value,
  source: Value,
  bytes: number,
  isPastL1 = bytes === 16,
  reading?: Value,
  around: Guarded = (emit) => emit(),
): void {
  const register = (v: Value) =>
    v.kind === 'scalar'
      ? ctx.builder.convert(ctx.builder.typeOf(v.register), 'i64', v.register)
      : ctx.builder.unknown('i64', v.kind === 'unknown' ? v.reason : 'address of an asynchronous copy');
  const from = register(source);
  const to = sharedPointer(ctx, destination, 'address of an asynchronous copy');
  const isInHeader = node.kind === 'call' && node.first < LIBRARY_TOKENS;
  const place = (address: number): MemoryPlace => ({ kind: 'memory', address, offset: 0, node, isInHeader });
  const loadAccess = accessSite(ctx, { ...place(from), isPastL1 }, 'load', from);
  const storeAccess = accessSite(ctx, { ...place(to), isPastL1 }, 'store', to);
  const read = reading && readBytes(ctx, reading, bytes);
  around(() =>
    ctx.builder.emit({
      op: 'asyncCopy',
      bytes,
      isPastL1,
      source: from,
      destination: to,
      read,
      loadAccess,
      storeAccess,
    }),
  );
}

/** Undefined where it is known that all are read: then the assembler makes a plain copy. */
function readBytes(ctx: Context, reading: Value, bytes: number): number | undefined {
  if (reading.kind !== 'scalar') return ctx.builder.unknown('u32', 'bytes that an asynchronous copy reads');
  return ctx.builder.constantValue(reading.register) === bytes ? undefined : reading.register;
}

/**
 * __pipeline_memcpy_async(shared, global, bytes, zeros): the toolkit's function asks how many bytes are to be zero, and each answer is a copy of its own
 * (PTX; H200: conv2d_opt_lab.cu:147): lanes inside of an image make one, those at its border another, which reads nothing.
 */
const pipelineCopy: BuiltinFunction = (call) => {
  const { ctx, node } = call;
  const { builder } = ctx;
  const size = call.value(2);
  const bytes = size.kind === 'scalar' ? builder.constantValue(size.register) : undefined;
  if (bytes !== 4 && bytes !== 8 && bytes !== 16) return voidValue;
  const [to, from] = [call.value(0), call.value(1)];
  const copy = (reading?: Value, around?: Guarded) =>
    emitAsyncCopy(ctx, node, to, from, bytes, bytes === 16, reading, around);
  const zeros = call.args.length > 3 ? convertValue(ctx, call.value(3), types.uint, node) : undefined;
  if (zeros?.kind !== 'scalar') {
    copy();
    return voidValue;
  }
  const left = builder.binary('sub', 'u32', builder.constant('u32', bytes), zeros.register);
  const isWhole = builder.compare('eq', 'u32', zeros.register, builder.constant('u32', 0));
  copy(undefined, behindGuard(ctx, node, isWhole));
  const reading: Value = { kind: 'scalar', type: types.uint, register: left };
  copy(reading, behindGuard(ctx, node, builder.unary('lognot', 'pred', isWhole)));
  return voidValue;
};

/** cuda::memcpy_async(group, dst, src, …): how it is split over the threads is the library's business */
const groupCopy: BuiltinFunction = (call: BuiltinCall) => {
  call.ctx.builder.skipped.push({
    place: { first: call.node.first, last: call.node.last, call: call.ctx.call },
    reason: 'memcpy_async over a group is not modelled',
  });
  return voidValue;
};

export const asyncFunctions: Record<string, BuiltinFunction> = {
  __pipeline_memcpy_async: pipelineCopy,
  memcpy_async: groupCopy,
};
