/** Operators and constructors of the builtin vector types (as half2 and the usual helper headers define them). */
import type { Node } from '../../parse/ast';
import type { Context } from '../context';
import { convertValue } from '../conversions';
import { binaryOnValues } from '../operators';
import { vectorTypes } from '../types';
import { unknownValue, type Value } from '../values';

/** Element-wise operator on vectors, or a vector and a number. */
export function vectorOperator(ctx: Context, operator: string, a: Value, b: Value, node: Node): Value {
  const shape = a.kind === 'aggregate' ? a : b;
  // a class that holds an array computes in its own way: bit sets, numbers of many words
  if (shape.kind !== 'aggregate' || shape.elements.some(({ type }) => type.kind === 'array'))
    return unknownValue(a.type, 'operands are no vectors');
  const part = (v: Value, i: number): Value =>
    v.kind === 'aggregate' ? (v.elements[i] ?? unknownValue(v.type, 'vectors of different length')) : v;
  const elements = shape.elements.map((_, i) => binaryOnValues(ctx, operator, part(a, i), part(b, i), node));
  return { ...shape, elements };
}

/** make_float4(x, y, z, w) */
export function makeVector(ctx: Context, name: string, args: readonly Value[], node: Node): Value | undefined {
  const type = vectorTypes.get(name.replace(/^make_/, ''));
  if (type?.kind !== 'record') return undefined;
  const sources = args.flatMap((a) => (a.kind === 'aggregate' ? a.elements : [a]));
  const elements = type.record.fields.map((f, i) => {
    const source = sources[i] ?? (sources.length === 1 ? sources[0] : undefined);
    return source
      ? convertValue(ctx, source, f.type, node)
      : unknownValue(f.type, `argument ${i + 1} of ${name} is missing`);
  });
  return { kind: 'aggregate', type, elements };
}
