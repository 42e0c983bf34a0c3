/** `new` in a kernel. */
import type * as ast from '../parse/ast';
import { heapAddress } from '../program/heap';
import { callArguments } from './calls';
import { construct } from './construct';
import type { Context } from './context';
import { convertValue } from './conversions';
import { expression } from './expressions';
import { hasObjects, placeGiven } from './host/new-objects';
import { assign, rvalue } from './places';
import { resolveType } from './resolve-type';
import { sizeOf, type Type, types } from './types';
import { unknownValue, type Value } from './values';

/** `new T[n]`, `new T(…)`: the address of what is made there; of arrays whose elements are constructed it is not known. */
export function newOnDevice(ctx: Context, node: ast.NewExpression): Value {
  const type = resolveType(ctx, node.type);
  const element = type.kind === 'array' ? type.of : type;
  const pointer: Type = { kind: 'pointer', to: element };
  const size = sizeOf(element);
  const isArray = type.kind === 'array';
  if (size === undefined || (isArray && hasObjects(element))) return unknownValue(pointer, 'memory from new');
  const register = placeGiven(ctx, node) ?? heapAddress(ctx.builder, bytesOf(ctx, node, size));
  if (!isArray) initialise(ctx, node, element, register);
  return { kind: 'scalar', type: pointer, register };
}

/** Numbers and records without constructors are left as they are where nothing is given. */
function initialise(ctx: Context, node: ast.NewExpression, type: Type, address: number): void {
  if (node.arguments.length === 0 && !hasObjects(type)) return;
  const value = construct(ctx, type, callArguments(ctx, node.arguments), node, false);
  assign(ctx, { kind: 'memory', address, offset: 0, node }, type, value, node);
}

/** As many elements as are asked for; one where it is no array. */
function bytesOf(ctx: Context, { type }: ast.NewExpression, size: number): number {
  const { builder } = ctx;
  const each = builder.constant('i64', size);
  if (type.kind !== 'array') return each;
  const count =
    type.size && convertValue(ctx, rvalue(ctx, expression(ctx, type.size), type.size), types.long, type.size);
  if (count?.kind !== 'scalar') return builder.unknown('i64', 'size of what new makes');
  return builder.binary('mul', 'i64', count.register, each);
}
