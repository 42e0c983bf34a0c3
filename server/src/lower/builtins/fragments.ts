/** wmma: which lane touches which address is not documented, so the accesses are there, with that reason. */
import { accessSite, objectOfAddress } from '../access-sites';
import { alignOf, type Type, types } from '../types';
import type { MemoryPlace } from '../values';
import type { BuiltinFunction } from './functions';

const REASON = 'the lane layout of wmma fragments is not documented';

const fragmentAccess =
  (operation: 'load' | 'store', pointerIndex: number): BuiltinFunction =>
  (call) => {
    const { ctx, node } = call;
    const pointer = call.value(pointerIndex);
    const element: Type = pointer.type.kind === 'pointer' ? pointer.type.to : types.half;
    const object = pointer.kind === 'scalar' ? objectOfAddress(ctx, pointer.register) : undefined;
    const address = ctx.builder.unknown('i64', pointer.kind === 'unknown' ? pointer.reason : REASON);
    const place: MemoryPlace = { kind: 'memory', address, offset: 0, node, object, isVolatile: true };
    const access = accessSite(ctx, place, operation, address);
    const type = alignOf(element) === 2 ? 'u16' : alignOf(element) === 1 ? 'u8' : 'u32';
    if (operation === 'load') {
      const dst = [ctx.builder.register(type, 'temporary')];
      ctx.builder.emit({ op: 'load', type, dst, address, offset: 0, access });
    } else {
      const values = [ctx.builder.unknown(type, REASON)];
      ctx.builder.emit({ op: 'store', type, values, address, offset: 0, access });
    }
    return { kind: 'void', type: types.void };
  };

export const fragmentFunctions: Record<string, BuiltinFunction> = {
  load_matrix_sync: fragmentAccess('load', 1),
  store_matrix_sync: fragmentAccess('store', 0),
};
