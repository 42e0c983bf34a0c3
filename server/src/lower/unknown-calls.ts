/** Calls that cannot be followed: what they use and what they may change. */
import type * as ast from '../parse/ast';
import { type Context, skipCall } from './context';
import { changeByUnknown } from './host/memory';
import { rvalue, writeStorage } from './places';
import { scalarOf, withoutReference } from './types';
import { type Storage, unknownValue, type Value } from './values';

/** A call that cannot be followed: its result is unknown, and so is what it may write. */
export function unknownCall(
  ctx: Context,
  node: ast.CallExpression,
  args: readonly Value[],
  reason: string,
  parameters?: readonly ast.Parameter[],
): Value {
  skipCall(ctx, node, reason);
  const values = args.filter(
    (a) => a.kind === 'scalar' || a.kind === 'aggregate' || (a.kind === 'place' && scalarOf(withoutReference(a.type))),
  );
  useValues(
    ctx,
    values.map((a) => rvalue(ctx, a, node)),
  );
  invalidate(ctx, args, reason);
  if (ctx.unit.isHost) changeByUnknown(ctx, args, node, parameters);
  return unknownValue({ kind: 'unknown', reason }, reason);
}

/** Keeps what the values were made from: something uses them, though its result is not known. */
export function useValues(ctx: Context, values: readonly Value[]): void {
  const reads = registersOf(ctx, values);
  if (reads.length > 0) ctx.builder.emit({ op: 'work', unit: 'other', count: 1, reads });
}

/** What numbers and the members of records are in, constants aside. */
export function registersOf(ctx: Context, values: readonly Value[]): number[] {
  const registers = (value: Value): number[] =>
    value.kind === 'scalar' ? [value.register] : value.kind === 'aggregate' ? value.elements.flatMap(registers) : [];
  return values.flatMap(registers).filter((r) => ctx.builder.constantValue(r) === undefined);
}

/** Variables in registers that a pointer is passed to: by its address, or as an array. */
function storagesOf(argument: Value): readonly Storage[] {
  if (argument.kind === 'placePointer') return argument.target.elements;
  const isArray = argument.kind === 'place' && argument.place.kind === 'storage' && argument.type.kind === 'array';
  return isArray && !argument.type.isConst ? [argument.place.storage] : [];
}

/** Arguments that a function we do not know may change. */
export function invalidate(ctx: Context, args: readonly Value[], reason: string): void {
  for (const argument of args) {
    for (const s of storagesOf(argument)) writeStorage(ctx, s, unknownValue(s.type, reason), { first: 0, last: 0 });
  }
}
