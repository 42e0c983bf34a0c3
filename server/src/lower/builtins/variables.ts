import type { InputSource } from '../../program/program';
import type { Context } from '../context';
import { type Type, types, vectorTypes } from '../types';
import type { Value } from '../values';

const triples = ['threadIdx', 'blockIdx', 'blockDim', 'gridDim'] as const;

/** What a launch gives: known to no compiler. */
export const launchVariables: ReadonlySet<string> = new Set(triples);

/** threadIdx, blockIdx, blockDim, gridDim, warpSize. */
export function builtinVariable(ctx: Context, name: string): Value | undefined {
  const triple = triples.find((t) => t === name);
  if (triple) return tripleValue(ctx, triple);
  if (name === 'warpSize') return { kind: 'scalar', type: types.int, register: ctx.builder.constant('i32', 32) };
  return undefined;
}

function tripleValue(ctx: Context, kind: (typeof triples)[number]): Value {
  const type = (vectorTypes.get(kind.endsWith('Dim') ? 'dim3' : 'uint3') ?? types.uint) as Type;
  const elements = ([0, 1, 2] as const).map((axis): Value => {
    const source: InputSource = { kind, axis };
    return { kind: 'scalar', type: types.uint, register: ctx.builder.input('u32', source, `${kind}.${'xyz'[axis]}`) };
  });
  return { kind: 'aggregate', type, elements };
}
