/** Mathematical functions on host numbers. */

import type { BuiltinTypeName } from '../parse/ast';
import { arithmeticTypes, commonType, promote } from './arithmetic';
import type { Builtin } from './builtins';
import { type NumberValue, number, typeOf, unknown, unknownFrom, type Value } from './value';

/** Functions of floating types; the suffixed forms (ceilf) work in float. */
const floatFunctions: Readonly<Record<string, (...x: number[]) => number>> = {
  ceil: Math.ceil,
  floor: Math.floor,
  round: (x) => Math.sign(x) * Math.round(Math.abs(x)),
  trunc: Math.trunc,
  rint: roundHalfEven,
  nearbyint: roundHalfEven,
  sqrt: Math.sqrt,
  cbrt: Math.cbrt,
  pow: Math.pow,
  exp: Math.exp,
  exp2: (x) => 2 ** x,
  log: Math.log,
  log2: Math.log2,
  log10: Math.log10,
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  asin: Math.asin,
  acos: Math.acos,
  atan: Math.atan,
  atan2: Math.atan2,
  tanh: Math.tanh,
  fabs: Math.abs,
  fmod: (x, y) => x % y,
  // C gives the other number where one is none
  fmin: (x, y) => (Number.isNaN(x) ? y : Number.isNaN(y) ? x : Math.min(x, y)),
  fmax: (x, y) => (Number.isNaN(x) ? y : Number.isNaN(y) ? x : Math.max(x, y)),
  hypot: Math.hypot,
  ldexp: (x, n) => x * 2 ** n,
};

function roundHalfEven(x: number): number {
  const low = Math.floor(x);
  if (x - low !== 0.5) return Math.round(x);
  return low % 2 === 0 ? low : low + 1;
}

function floatBuiltin(compute: (...x: number[]) => number, fixed?: BuiltinTypeName): Builtin {
  return ({ values }) => {
    const of = fixed ?? floatTypeOf(values);
    const type = { kind: 'arithmetic', name: of } as const;
    const numbers = values.filter((value): value is NumberValue => value.kind === 'number');
    if (numbers.length === 0 || numbers.length < values.length) return unknownFrom(values, 'not a number', type);
    const result = compute(...numbers.map((value) => value.value));
    return number(of === 'float' ? Math.fround(result) : result, of);
  };
}

/** float only if all arguments are. */
function floatTypeOf(values: readonly Value[]): BuiltinTypeName {
  const isFloat = (value: Value) => {
    const type = typeOf(value);
    return type?.kind === 'arithmetic' && type.name === 'float';
  };
  return values.length > 0 && values.every(isFloat) ? 'float' : 'double';
}

/** Functions that keep the arguments' common type. */
function commonBuiltin(choose: (a: number, b: number) => number): Builtin {
  return ({ values }) => {
    const list = values.length === 1 ? listElements(values[0]) : values.slice(0, 2);
    const numbers = list.filter((value): value is NumberValue => value.kind === 'number');
    if (numbers.length < list.length || numbers.length === 0) return bounded(list);
    return numbers.reduce((a, b) => {
      const of = a.of === b.of ? a.of : commonType(a.of, b.of);
      return number(choose(a.value, b.value), of);
    });
  };
}

/** std::max({a, b, c}) */
function listElements(value: Value): readonly Value[] {
  if (value.kind !== 'array') return [value];
  return [...value.buffer.cells.values()].map((cell) => cell.value);
}

function bounded(values: readonly Value[]): Value {
  const types = values.map(typeOf);
  const [a, b] = types;
  const isCommon = a?.kind === 'arithmetic' && b?.kind === 'arithmetic';
  return unknownFrom(values, 'not a number', isCommon ? { kind: 'arithmetic', name: commonType(a.name, b.name) } : a);
}

const absolute: Builtin = ({ values }) => {
  const [value] = values;
  if (value?.kind !== 'number') return unknownFrom(values, 'not a number', value && typeOf(value));
  return number(Math.abs(value.value), promote(value.of));
};

/** Integer functions of a whole number; undefined outside of their domain. */
const integerFunctions: Readonly<Record<string, (x: number) => number | undefined>> = {
  __builtin_popcount: (x) => bits(x).replaceAll('0', '').length,
  __popc: (x) => bits(x).replaceAll('0', '').length,
  __builtin_clz: (x) => (x === 0 ? undefined : Math.clz32(x)),
  __clz: (x) => Math.clz32(x),
  __builtin_ctz: (x) => (x === 0 ? undefined : 31 - Math.clz32(x & -x)),
};

function bits(x: number): string {
  return (x >>> 0).toString(2);
}

function integerBuiltin(compute: (x: number) => number | undefined): Builtin {
  return ({ values }) => {
    const [value] = values;
    const type = { kind: 'arithmetic', name: 'int' } as const;
    if (value?.kind !== 'number') return unknownFrom(values, 'not a number', type);
    const result = compute(value.value);
    return result === undefined ? unknown('not defined for 0', { type }) : number(result);
  };
}

/** std::bit_ceil and std::bit_floor keep the type. */
function powerOfTwo(compute: (x: number) => number): Builtin {
  return ({ values }) => {
    const [value] = values;
    if (value?.kind !== 'number' || arithmeticTypes[value.of].floating)
      return unknownFrom(values, 'not a whole number');
    return number(value.value < 1 ? 1 : compute(value.value), value.of);
  };
}

export const mathBuiltins: readonly (readonly [string, Builtin])[] = [
  ...Object.entries(floatFunctions).flatMap(([name, compute]): [string, Builtin][] => [
    [name, floatBuiltin(compute)],
    [`${name}f`, floatBuiltin(compute, 'float')],
    // of long double, which is a double here
    [`${name}l`, floatBuiltin(compute, 'double')],
  ]),
  ['min', commonBuiltin(Math.min)],
  ['max', commonBuiltin(Math.max)],
  ['MIN', commonBuiltin(Math.min)],
  ['MAX', commonBuiltin(Math.max)],
  ['abs', absolute],
  ['labs', absolute],
  ...Object.entries(integerFunctions).map(([name, compute]): [string, Builtin] => [name, integerBuiltin(compute)]),
  ['bit_ceil', powerOfTwo((x) => 2 ** Math.ceil(Math.log2(x)))],
  ['bit_floor', powerOfTwo((x) => 2 ** Math.floor(Math.log2(x)))],
];
