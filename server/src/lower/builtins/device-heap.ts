/** `malloc` in a kernel; what it gives is in `program/heap.ts`. */
import { heapAddress } from '../../program/heap';
import { convertValue } from '../conversions';
import { types } from '../types';
import type { BuiltinFunction } from './functions';

const allocation: BuiltinFunction = ({ ctx, value, node }) => {
  const size = convertValue(ctx, value(0), types.long, node);
  const bytes = size.kind === 'scalar' ? size.register : ctx.builder.unknown('i64', 'size of an allocation');
  return { kind: 'scalar', type: { kind: 'pointer', to: types.void }, register: heapAddress(ctx.builder, bytes) };
};

export const heapFunctions: Readonly<Record<string, BuiltinFunction>> = { malloc: allocation };
