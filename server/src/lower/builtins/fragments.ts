/**
 * wmma fragments: which lane moves what is a table (hardware/matrix-fragments.ts). Anything else is there with its reason.
 */
import {
  type Fragment,
  type FragmentMoves,
  type LaneMove,
  laneMoves,
  type MatrixLoad,
  matrixLoads,
  movesOf,
} from '../../hardware/matrix-fragments';
import type { Register, ScalarType } from '../../program/program';
import { accessSite, objectOfAddress } from '../access-sites';
import type { Context } from '../context';
import { convertRegister } from '../conversions';
import { alignOf, type TemplateValue, type Type, types } from '../types';
import type { MemoryPlace } from '../values';
import type { BuiltinCall, BuiltinFunction } from './functions';

const REASON = 'the lane layout of these wmma fragments is not known';

const typeOfBytes: Readonly<Record<number, ScalarType>> = { 1: 'u8', 2: 'u16', 4: 'u32' };

const fragmentAccess =
  (operation: 'load' | 'store', pointerIndex: number): BuiltinFunction =>
  (call) => {
    const { ctx, node } = call;
    const pointer = call.value(pointerIndex);
    const element: Type = pointer.type.kind === 'pointer' ? pointer.type.to : types.half;
    const bytes = alignOf(element);
    const leading = call.value(2);
    const fragment = fragmentOf(call, 1 - pointerIndex, bytes);
    const moves = fragment && movesOf(fragment);
    if (pointer.kind === 'scalar' && leading.kind === 'scalar' && moves) {
      const pitch = convertRegister(ctx, leading.register, ctx.builder.typeOf(leading.register), 'i64');
      const pitchBytes = ctx.builder.binary('mul', 'i64', pitch, ctx.builder.constant('i64', bytes));
      const object = objectOfAddress(ctx, pointer.register);
      const place: MemoryPlace = {
        kind: 'memory',
        address: pointer.register,
        offset: 0,
        node,
        object,
        isVolatile: true,
      };
      const access = accessSite(ctx, place, operation, pointer.register);
      const isShared = object !== undefined && ctx.builder.objects[object].space === 'shared';
      const work = { operation, base: pointer.register, pitchBytes, bytes, access };
      if (moves.isMatrixLoad && isShared) for (const load of matrixLoads(moves)) wholeMatrices(ctx, work, load);
      else moveElements(ctx, work, moves);
      return { kind: 'void', type: types.void };
    }
    const object = pointer.kind === 'scalar' ? objectOfAddress(ctx, pointer.register) : undefined;
    const address = ctx.builder.unknown('i64', pointer.kind === 'unknown' ? pointer.reason : REASON);
    const place: MemoryPlace = { kind: 'memory', address, offset: 0, node, object, isVolatile: true };
    const access = accessSite(ctx, place, operation, address);
    emitAccess(ctx, operation, typeOfBytes[bytes] ?? 'u32', 1, address, 0, access);
    return { kind: 'void', type: types.void };
  };

const uses: Readonly<Record<string, Fragment['use']>> = { matrix_a: 'a', matrix_b: 'b', accumulator: 'accumulator' };

/** What the type of the fragment says: its use, its shape, and of operands how they lie; of accumulators the call says that. */
function fragmentOf(call: BuiltinCall, index: number, bytes: number): Fragment | undefined {
  const { type } = call.args[index];
  const [use, m, n, k, , layout] = (type.kind === 'record' && type.record.templateArguments) || [];
  if (m?.kind !== 'number' || n?.kind !== 'number' || k?.kind !== 'number') return undefined;
  const known = uses[recordName(use)];
  const order = known === 'accumulator' ? orderOfCall(call) : recordName(layout);
  if (known === undefined || !/^(mem_)?(row|col)_major$/.test(order)) return undefined;
  return { use: known, m: m.value, n: n.value, k: k.value, isByRows: order.includes('row'), bytes };
}

const recordName = (value: TemplateValue | undefined): string =>
  value?.kind === 'type' && value.type.kind === 'record' ? value.type.record.name : '';

/** 'mem_row_major' */
function orderOfCall({ node }: BuiltinCall): string {
  const layout = node.arguments[3];
  return layout?.kind === 'name' ? (layout.name.parts.at(-1)?.name ?? '') : '';
}

interface FragmentWork {
  readonly operation: 'load' | 'store';
  readonly base: Register;
  /** Bytes from one row to the next. */
  readonly pitchBytes: Register;
  /** Of an element. */
  readonly bytes: number;
  readonly access: number;
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

const plus = (ctx: Context, r: Register, by: number): Register =>
  ctx.builder.binary('add', 'u32', r, ctx.builder.constant('u32', by));

function wholeMatrices(
  ctx: Context,
  { base, pitchBytes, bytes, access }: FragmentWork,
  { matrices, period, row, column }: MatrixLoad,
): void {
  const first = plus(ctx, times(ctx, lane(ctx, 'div', period), 8 * bytes), column * bytes);
  const address = addressOf(ctx, base, plus(ctx, lane(ctx, 'rem', period), row), pitchBytes, first);
  ctx.builder.emit({ op: 'matrix', direction: 'load', matrices, dst: [], address, access });
}

/** Rows of tiles are a fixed distance below the first one; tiles of one row have one address: so neighbours are seen to be such. */
function moveElements(ctx: Context, work: FragmentWork, moves: FragmentMoves): void {
  const { operation, pitchBytes, bytes, access } = work;
  const b = ctx.builder;
  for (const move of laneMoves(moves)) {
    const top = addressOfLane(ctx, work, move);
    const below = () => b.binary('mul', 'i64', pitchBytes, b.constant('i64', move.row));
    const address = move.row === 0 ? top : b.binary('add', 'i64', top, below());
    emitAccess(ctx, operation, typeOfBytes[bytes] ?? 'u32', move.count, address, move.column * bytes, access);
  }
}

function addressOfLane(
  ctx: Context,
  { base, pitchBytes, bytes }: FragmentWork,
  { isAcross, step }: LaneMove,
): Register {
  const quarter = lane(ctx, 'div', 4);
  const inQuad = lane(ctx, 'rem', 4);
  if (isAcross) return addressOf(ctx, base, times(ctx, inQuad, step), pitchBytes, times(ctx, quarter, bytes));
  return addressOf(ctx, base, quarter, pitchBytes, times(ctx, inQuad, step * bytes));
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
