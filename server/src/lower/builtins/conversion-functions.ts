/** Conversions and bit casts by name, and arithmetic on half types. */
import type { Node } from '../../parse/ast';
import { type Context, placeOf } from '../context';
import { convertValue } from '../conversions';
import { binaryOnValues } from '../operators';
import { scalarOf, type Type, types, vectorTypes } from '../types';
import { unknownValue, type Value } from '../values';
import type { BuiltinFunction } from './functions';

const to =
  (type: Type): BuiltinFunction =>
  (call) =>
    mapParts(call.ctx, call.value(0), type, call.node);

/** Converts every part of a value to a scalar type. */
function mapParts(ctx: Context, value: Value, type: Type, node: Node): Value {
  if (value.kind === 'aggregate') return unknownValue(type, 'conversion of a vector to a number');
  return convertValue(ctx, value, type, node);
}

const bits =
  (type: Type): BuiltinFunction =>
  ({ ctx, value, node }) => {
    const x = value(0);
    const target = scalarOf(type) ?? 'i32';
    if (x.kind !== 'scalar') return unknownValue(type, x.kind === 'unknown' ? x.reason : 'bit pattern');
    const from = ctx.builder.typeOf(x.register);
    const register = ctx.builder.unary('bitcast', target, x.register, from);
    ctx.builder.readAt(register, () => placeOf(ctx, node));
    return { kind: 'scalar', type, register };
  };

const vector = (name: string): Type => vectorTypes.get(name) ?? unknownVector(name);
const unknownVector = (name: string): Type => ({ kind: 'unknown', reason: name });

/** Two-element vector from numbers: __floats2half2_rn(a, b), __float2half2_rn(a) */
const pair =
  (name: string): BuiltinFunction =>
  (call) => {
    const type = vector(name);
    if (type.kind !== 'record') return unknownValue(type, name);
    const parts = call.args.flatMap((_, i) => {
      const v = call.value(i);
      return v.kind === 'aggregate' ? v.elements : [v];
    });
    const elements = type.record.fields.map((f, i) => convertValue(call.ctx, parts[i] ?? parts[0], f.type, call.node));
    return { kind: 'aggregate', type, elements };
  };

const element =
  (index: number, type: Type): BuiltinFunction =>
  (call) => {
    const v = call.value(0);
    const part = v.kind === 'aggregate' ? v.elements[index] : undefined;
    return part
      ? convertValue(call.ctx, part, type, call.node)
      : unknownValue(type, 'element of a vector that could not be followed');
  };

const arithmetic =
  (operator: string): BuiltinFunction =>
  (call) =>
    binaryOnValues(call.ctx, operator, call.value(0), call.value(1), call.node);

const fused: BuiltinFunction = (call) =>
  binaryOnValues(
    call.ctx,
    '+',
    binaryOnValues(call.ctx, '*', call.value(0), call.value(1), call.node),
    call.value(2),
    call.node,
  );

const roundings = ['', '_rn', '_rz', '_rd', '_ru'];
const scalars: readonly (readonly [string, Type])[] = [
  ['float', types.float],
  ['double', types.double],
  ['int', types.int],
  ['uint', types.uint],
  ['ll', types.longlong],
  ['ull', types.ulonglong],
  ['half', types.half],
  ['bfloat16', types.bfloat16],
  ['short', types.short],
  ['ushort', types.ushort],
];

/** __float2half_rn, __int2float_rz, … */
const conversions = scalars.flatMap(([from]) =>
  scalars.flatMap(([target, type]) => roundings.map((r) => [`__${from}2${target}${r}`, to(type)] as const)),
);

const halfArithmetic: readonly (readonly [string, string])[] = [
  ['add', '+'],
  ['sub', '-'],
  ['mul', '*'],
  ['div', '/'],
];

export const conversionFunctions: Record<string, BuiltinFunction> = {
  ...Object.fromEntries(conversions),
  ...Object.fromEntries(
    halfArithmetic.flatMap(([name, operator]) =>
      ['', '2'].flatMap((n) => ['', '_rn', '_sat'].map((r) => [`__h${name}${n}${r}`, arithmetic(operator)] as const)),
    ),
  ),
  __hfma: fused,
  __hfma2: fused,
  __float_as_int: bits(types.int),
  __float_as_uint: bits(types.uint),
  __int_as_float: bits(types.float),
  __uint_as_float: bits(types.float),
  __double_as_longlong: bits(types.longlong),
  __longlong_as_double: bits(types.double),
  __half_as_ushort: bits(types.ushort),
  __half_as_short: bits(types.short),
  __ushort_as_half: bits(types.half),
  __short_as_half: bits(types.half),
  __floats2half2_rn: pair('half2'),
  __float2half2_rn: pair('half2'),
  __halves2half2: pair('half2'),
  __half2half2: pair('half2'),
  __float22half2_rn: pair('half2'),
  __half22float2: pair('float2'),
  __floats2bfloat162_rn: pair('nv_bfloat162'),
  __float2bfloat162_rn: pair('nv_bfloat162'),
  __float22bfloat162_rn: pair('nv_bfloat162'),
  __bfloat1622float2: pair('float2'),
  __low2float: element(0, types.float),
  __high2float: element(1, types.float),
  __low2half: element(0, types.half),
  __high2half: element(1, types.half),
};
