/**
 * The table behind sines and cosines of doubles: eight coefficients of a polynomial for each of two kinds of quadrants, in global memory, of which a call reads
 * six, 16 bytes at a time. Evidence (nvcc 13.0, PTX of 100 functions of the mathematical library): sin, cos, sinpi and cospi of a double and what calls them
 * do so wherever the operand is not a constant; sincos, tan, exp, pow and all of the rest have their coefficients in the code. What reduces operands beyond
 * 2^31 (of floats beyond 10^5) by a local array stands behind a branch that is hardly ever taken and is left out.
 */

import type { Node } from '../../parse/ast';
import type { Register } from '../../program/program';
import { type Context, placeOf } from '../context';
import { emitLoad } from '../loads-and-stores';
import { types } from '../types';
import { useValues } from '../unknown-calls';
import type { BuiltinCall } from './functions';

const ROW_BYTES = 64;
const LOADS = 3;

/** Operands a quadrant apart, and how many quadrants further the function begins. */
const functions: Readonly<Record<string, { readonly perQuadrant: number; readonly ahead: number }>> = {
  sin: { perQuadrant: 2 / Math.PI, ahead: 0 },
  cos: { perQuadrant: 2 / Math.PI, ahead: 1 },
  sinpi: { perQuadrant: 2, ahead: 0 },
  cospi: { perQuadrant: 2, ahead: 1 },
};

const tables = new WeakMap<Context, number>();

function tableOf(ctx: Context, node: Node): number {
  let table = tables.get(ctx);
  if (table === undefined) {
    table = ctx.builder.object({
      name: 'coefficients of sin and cos',
      space: 'global',
      bytes: 2 * ROW_BYTES,
      alignment: 16,
      isDynamic: false,
      dimensions: [],
      elementBytes: 8,
      elementType: 'double',
      place: placeOf(ctx, node),
    });
    tables.set(ctx, table);
  }
  return table;
}

/** Loads what the function of a double reads of the table; nothing for the others. */
export function loadCoefficients({ ctx, node }: BuiltinCall, name: string, operand: Register): void {
  const found = Object.hasOwn(functions, name) ? functions[name] : undefined;
  const b = ctx.builder;
  if (!found || ctx.unit.isHost || b.constantValue(operand) !== undefined) return;
  const quadrants = b.unary('rint', 'f64', b.binary('mul', 'f64', operand, b.constant('f64', found.perQuadrant)));
  const quadrant = b.binary('add', 'i32', b.convert('f64', 'i32', quadrants), b.constant('i32', found.ahead));
  const row = b.convert('i32', 'i64', b.binary('and', 'i32', quadrant, b.constant('i32', 1)));
  const object = tableOf(ctx, node);
  const table = b.objects[object].register;
  const address = b.binary('add', 'i64', table, b.binary('mul', 'i64', row, b.constant('i64', ROW_BYTES)));
  const read: Register[] = [];
  for (let k = 0; k < LOADS; k++) {
    const pair = [b.register('f64', 'temporary'), b.register('f64', 'temporary')];
    emitLoad(ctx, { kind: 'memory', address, offset: 16 * k, node, object, readOnly: true }, 'f64', pair);
    read.push(...pair);
  }
  useValues(
    ctx,
    read.map((register) => ({ kind: 'scalar', type: types.double, register })),
  );
}
