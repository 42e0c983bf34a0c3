/**
 * Numbers in constant memory that the host sets (cudaMemcpyToSymbol). Machine code has them as operands of instructions, like
 * parameters, so that reading one is no access; the launch presets them, or they are assumed as unknown parameters are.
 */
import type { Node } from '../parse/ast';
import type { InputSource, Register } from '../program/program';
import type { Context } from './context';
import { inputValue } from './parameters';
import { addressOf } from './places';
import { sizeOf, type Type, typeKey, unqualified } from './types';
import type { MemoryPlace, Value } from './values';

export interface ConstantSymbol {
  readonly name: string;
  readonly type: Type;
  readonly node: Node;
  /** What was read of it, by path. */
  readonly values: Map<string, Value>;
}

/** Makes the scalars of a constant object inputs; `address` is the object's. Arrays are tables: they stay in memory. */
export function declareSymbol(ctx: Context, address: Register, name: string, type: Type, node: Node): void {
  ctx.symbols.set(address, { name, type, node, values: new Map() });
}

/** The value at a place, when it is a scalar (or a vector of them) of a constant symbol. */
export function symbolValue(ctx: Context, place: MemoryPlace, type: Type): Value | undefined {
  if (ctx.symbols.size === 0 || place.bits) return undefined;
  const { register, offset } = ctx.builder.splitAddress(addressOf(ctx, place));
  const symbol = ctx.symbols.get(register);
  const path = symbol && pathTo(symbol.type, offset, unqualified(type));
  if (!symbol || !path) return undefined;
  const key = path.join('.');
  let value = symbol.values.get(key);
  if (!value) {
    const { node, name } = symbol;
    const within = unqualified(type);
    const source = (names: readonly string[]): InputSource => {
      const member = memberOffset(within, names.slice(path.length + 1));
      return { kind: 'global', path: names, offset: member === undefined ? undefined : offset + member };
    };
    value = inputValue(ctx, { node, source }, within, [name, ...path]);
    symbol.values.set(key, value);
  }
  return value;
}

/** Bytes before the member that a path leads to; undefined where it leads through what has no name. */
function memberOffset(type: Type, path: readonly string[]): number | undefined {
  if (path.length === 0) return 0;
  const field = type.kind === 'record' ? type.record.fields.find((f) => f.name === path[0]) : undefined;
  const rest = field && memberOffset(field.type, path.slice(1));
  return field && rest !== undefined ? field.offset + rest : undefined;
}

/** Members that lead from an object to the one of the wanted type at an offset; no way leads through arrays. */
function pathTo(type: Type, offset: number, wanted: Type): string[] | undefined {
  if (offset === 0 && typeKey(unqualified(type)) === typeKey(wanted)) return [];
  if (type.kind !== 'record') return undefined;
  for (const field of type.record.fields) {
    const within = offset - field.offset;
    if (within < 0 || within >= (sizeOf(field.type) ?? 0)) continue;
    const rest = pathTo(field.type, within, wanted);
    if (rest) return field.isBase || field.isAnonymous ? rest : [field.name, ...rest];
  }
  return undefined;
}
