/** Shared addresses as PTX sees them: 32-bit offsets into the shared window, where C++ pointers are generic. */
import { addressWindows } from '../program/addresses';
import type { Register } from '../program/program';
import type { Context } from './context';
import type { Value } from './values';

/** What `cvta.to.shared` gives for a generic address. */
export function toSharedOffset(ctx: Context, address: Register): Register {
  return ctx.builder.binary('sub', 'i64', address, ctx.builder.constant('i64', addressWindows.shared));
}

/** The generic address that an operand of a shared instruction means: offsets are moved into the window, pointers kept. */
export function sharedPointer(ctx: Context, value: Value, otherwise: string): Register {
  const { builder } = ctx;
  if (value.kind !== 'scalar') return builder.unknown('i64', value.kind === 'unknown' ? value.reason : otherwise);
  const wide = builder.convert(builder.typeOf(value.register), 'i64', value.register);
  if (value.type.kind === 'pointer') return wide;
  return builder.binary('add', 'i64', wide, builder.constant('i64', addressWindows.shared));
}
