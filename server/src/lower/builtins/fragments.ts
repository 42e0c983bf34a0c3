/**
 * wmma fragments of 16 × 16 × 16. Which lane touches which address is not documented; it was read off machine code (nvcc 13.0,
 * sm_90) and counters (H200: wmma_gemm.cu:19-23, 48-53): lane l is at row l / 4 and at element pair l % 4 of each of four 8 × 8
 * quarters. Operands of 2 bytes come from global memory by four 4-byte loads, from shared memory by one matrix load of
 * four quarters (lane l gives the address of row l % 16, half l / 16); accumulators laid out by rows go by four accesses of two
 * elements. Anything else is there with its reason.
 */
import type { Register, ScalarType } from '../../program/program';
import { accessSite, objectOfAddress } from '../access-sites';
import type { Context } from '../context';
import { convertRegister } from '../conversions';
import { alignOf, type Type, types } from '../types';
import type { MemoryPlace } from '../values';
import type { BuiltinCall, BuiltinFunction } from './functions';

const REASON = 'the lane layout of these wmma fragments is not known';

const fragmentAccess =
  (operation: 'load' | 'store', pointerIndex: number): BuiltinFunction =>
  (call) => {
    const { ctx, node } = call;
    const pointer = call.value(pointerIndex);
    const element: Type = pointer.type.kind === 'pointer' ? pointer.type.to : types.half;
    const bytes = alignOf(element);
    const leading = call.value(2);
    if (pointer.kind === 'scalar' && leading.kind === 'scalar' && isKnown(call, bytes)) {
      const pitch = convertRegister(ctx, leading.register, ctx.builder.typeOf(leading.register), 'i64');
      const object = objectOfAddress(ctx, pointer.register);
      const isShared = object !== undefined && ctx.builder.objects[object].space === 'shared';
      const place: MemoryPlace = {
        kind: 'memory',
        address: pointer.register,
        offset: 0,
        node,
        object,
        isVolatile: true,
      };
      const access = accessSite(ctx, place, operation, pointer.register);
      if (operation === 'load' && isShared && call.args.length === 3) wholeMatrix(ctx, pointer.register, pitch, access);
      else quarters(ctx, operation, pointer.register, pitch, bytes, access);
      return { kind: 'void', type: types.void };
    }
    const object = pointer.kind === 'scalar' ? objectOfAddress(ctx, pointer.register) : undefined;
    const address = ctx.builder.unknown('i64', pointer.kind === 'unknown' ? pointer.reason : REASON);
    const place: MemoryPlace = { kind: 'memory', address, offset: 0, node, object, isVolatile: true };
    const access = accessSite(ctx, place, operation, address);
    emitAccess(ctx, operation, bytes === 2 ? 'u16' : bytes === 1 ? 'u8' : 'u32', 1, address, 0, access);
    return { kind: 'void', type: types.void };
  };

/** Operands of 2 bytes; accumulators (with a layout as fourth argument) of 2 or 4 bytes, by rows. */
function isKnown(call: BuiltinCall, bytes: number): boolean {
  const layout = call.node.arguments[3];
  if (call.args.length < 4) return bytes === 2;
  return (bytes === 2 || bytes === 4) && layout?.kind === 'name' && layout.name.parts.at(-1)?.name === 'mem_row_major';
}

/** base + row · pitch + column, all in bytes */
function addressOf(ctx: Context, base: Register, row: Register, pitchBytes: Register, column: Register): Register {
  const b = ctx.builder;
  const wide = (r: Register) => b.convert('u32', 'i64', r);
  return b.binary(
    'add',
    'i64',
    base,
    b.binary('add', 'i64', b.binary('mul', 'i64', wide(row), pitchBytes), wide(column)),
  );
}

function lane(ctx: Context, fn: 'div' | 'rem', by: number): Register {
  const id = ctx.builder.input('u32', { kind: 'laneId' }, 'laneId');
  return ctx.builder.binary(fn, 'u32', id, ctx.builder.constant('u32', by));
}

const times = (ctx: Context, r: Register, factor: number): Register =>
  ctx.builder.binary('mul', 'u32', r, ctx.builder.constant('u32', factor));

function wholeMatrix(ctx: Context, base: Register, pitch: Register, access: number): void {
  const b = ctx.builder;
  const pitchBytes = b.binary('mul', 'i64', pitch, b.constant('i64', 2));
  const address = addressOf(ctx, base, lane(ctx, 'rem', 16), pitchBytes, times(ctx, lane(ctx, 'div', 16), 16));
  b.emit({ op: 'matrix', direction: 'load', matrices: 4, dst: [], address, access });
}

function quarters(
  ctx: Context,
  operation: 'load' | 'store',
  base: Register,
  pitch: Register,
  bytes: number,
  access: number,
): void {
  const b = ctx.builder;
  const pitchBytes = b.binary('mul', 'i64', pitch, b.constant('i64', bytes));
  const upper = addressOf(ctx, base, lane(ctx, 'div', 4), pitchBytes, times(ctx, lane(ctx, 'rem', 4), 2 * bytes));
  const lower = b.binary('add', 'i64', upper, b.binary('mul', 'i64', pitchBytes, b.constant('i64', 8)));
  for (const address of [upper, lower])
    for (const offset of [0, 8 * bytes])
      emitAccess(ctx, operation, bytes === 4 ? 'u32' : 'u16', 2, address, offset, access);
}

function emitAccess(
  ctx: Context,
  operation: 'load' | 'store',
  type: ScalarType,
  count: number,
  address: Register,
  offset: number,
  access: number,
): void {
  const b = ctx.builder;
  if (operation === 'load') {
    const dst = Array.from({ length: count }, () => b.register(type, 'temporary'));
    b.emit({ op: 'load', type, dst, address, offset, access });
  } else {
    const values = Array.from({ length: count }, () => b.unknown(type, REASON));
    b.emit({ op: 'store', type, values, address, offset, access });
  }
}

export const fragmentFunctions: Record<string, BuiltinFunction> = {
  load_matrix_sync: fragmentAccess('load', 1),
  store_matrix_sync: fragmentAccess('store', 0),
};
