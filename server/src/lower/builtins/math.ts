/** Mathematical functions by name: f-suffixed, double, and the fast __ forms. */
import type { BinaryOp, LibraryBranches, UnaryOp } from '../../program/program';
import { convertRegister, convertValue } from '../conversions';
import { arithmeticType, isFloat, scalarOf, type Type, types, unqualified } from '../types';
import { unknownValue, type Value } from '../values';
import { extremeOf } from './extremes';
import type { BuiltinCall } from './functions';
import { loadCoefficients } from './trigonometry';

const unary: Record<string, UnaryOp> = {
  sqrt: 'sqrt',
  rsqrt: 'rsqrt',
  exp: 'exp',
  exp2: 'exp2',
  exp10: 'exp10',
  log: 'log',
  log2: 'log2',
  log10: 'log10',
  sin: 'sin',
  cos: 'cos',
  tan: 'tan',
  asin: 'asin',
  acos: 'acos',
  atan: 'atan',
  sinh: 'sinh',
  cosh: 'cosh',
  tanh: 'tanh',
  erf: 'erf',
  cbrt: 'cbrt',
  floor: 'floor',
  ceil: 'ceil',
  round: 'round',
  rint: 'rint',
  nearbyint: 'rint',
  trunc: 'trunc',
  fabs: 'abs',
  frcp_rn: 'rcp',
  fsqrt_rn: 'sqrt',
  frsqrt_rn: 'rsqrt',
};

const binary: Record<string, BinaryOp> = {
  pow: 'pow',
  fmod: 'fmod',
  atan2: 'atan2',
  hypot: 'hypot',
  copysign: 'copysign',
  fmin: 'min',
  fmax: 'max',
  fadd_rn: 'add',
  fsub_rn: 'sub',
  fmul_rn: 'mul',
  fdiv_rn: 'div',
  fdividef: 'div',
  fdivide: 'div',
  dadd_rn: 'add',
  dsub_rn: 'sub',
  dmul_rn: 'mul',
  ddiv_rn: 'div',
};

const integerUnary: Record<string, { fn: UnaryOp; wide: boolean }> = {
  __popc: { fn: 'popc', wide: false },
  __popcll: { fn: 'popc', wide: true },
  __clz: { fn: 'clz', wide: false },
  __clzll: { fn: 'clz', wide: true },
  __ffs: { fn: 'ffs', wide: false },
  __ffsll: { fn: 'ffs', wide: true },
  __brev: { fn: 'brev', wide: false },
  __brevll: { fn: 'brev', wide: true },
};

/** Functions whose value depends on data anyway: the result is unknown, of the operand's type. */
const opaque = new Set([
  'lgamma',
  'tgamma',
  'erfc',
  'erfinv',
  'expm1',
  'log1p',
  'normcdf',
  'j0',
  'j1',
  'cospi',
  'sinpi',
  'ldexp',
  'norm3d',
  'rnorm3d',
  'asinh',
  'acosh',
  'atanh',
  'saturate',
  'remainder',
  'fdim',
  'scalbn',
  'logb',
  'ilogb',
  'erfcx',
  'rhypot',
  'norm4d',
  'h2exp',
  'hexp',
  'hlog',
  'hsqrt',
  'hrsqrt',
  'hrcp',
  'h2sqrt',
  'htanh',
  'fast_tanh',
  'tanh_approx',
]);

/**
 * Functions whose code has branches once it is inlined. Evidence (nvcc 13.0, PTX and machine code of 41 functions, each between neighbouring loads): none of them
 * lets NVVM make a vector of the loads around it; shared loads become one in the machine code all the same where the branches are short. (sin and cos of a
 * double are calls where they branch.)
 */
const branching: Readonly<Record<string, Readonly<Record<string, LibraryBranches>>>> = {
  f32: {
    ...all('long', ['sin', 'cos', 'tan', 'pow', 'fmod', 'atan2']),
    ...all('short', ['atan', 'log', 'log2', 'log10', 'erf']),
  },
  f64: {
    ...all('long', ['tan', 'atan', 'sinh', 'pow', 'fmod', 'atan2']),
    ...all('short', ['asin', 'acos', 'cosh', 'tanh', 'exp', 'exp2', 'exp10', 'log', 'log2', 'log10', 'cbrt']),
  },
};

function all(branches: LibraryBranches, names: readonly string[]): Record<string, LibraryBranches> {
  return Object.fromEntries(names.map((name) => [name, branches]));
}

/** Of full precision, whatever their names begin with. */
const precise = /^(?:sqrtf?|__(?:f|d)(?:sqrt|rcp|div)_r[nzud])$/;

/** The other forms with two underscores are fast and have none. */
function branchesOf(name: string, key: string, scalar: string): LibraryBranches | undefined {
  if (precise.test(name) && (scalar === 'f32' || scalar === 'f64')) return 'assembled';
  return name.startsWith('__') ? undefined : branching[scalar]?.[key];
}

/** Functions of several numbers, which read each as it is evaluated. */
export function takesNumbers(name: string): boolean {
  if (name in specials) return name !== 'swap';
  const base = name.replace(/^__/, '');
  return base in binary || (base.endsWith('f') && base.slice(0, -1) in binary);
}

export function mathFunction(call: BuiltinCall): Value | undefined {
  return special(call) ?? table(call);
}

function table(call: BuiltinCall): Value | undefined {
  const { ctx, name } = call;
  const integer = integerUnary[name];
  if (integer) return bitFunction(call, integer);
  const base = name.replace(/^__/, '');
  const isFloatName =
    base.endsWith('f') &&
    (unary[base.slice(0, -1)] !== undefined ||
      binary[base.slice(0, -1)] !== undefined ||
      opaque.has(base.slice(0, -1)));
  const key = isFloatName ? base.slice(0, -1) : base;
  const u = unary[key];
  const b = binary[key];
  if (!u && !b && !opaque.has(key)) return undefined;
  const first = call.value(0);
  const type = resultType(first.type, isFloatName, b ? call.value(1).type : undefined);
  const scalar = scalarOf(type) ?? 'f32';
  const x = convertValue(ctx, first, type, call.node);
  if (scalar === 'f64' && x.kind === 'scalar') loadCoefficients(call, key, x.register);
  if (!u && !b) return { kind: 'scalar', type, register: ctx.builder.unknown(scalar, `result of ${name}`) };
  if (x.kind !== 'scalar') return unknownValue(type, x.kind === 'unknown' ? x.reason : `argument of ${name}`);
  const branches = branchesOf(name, key, scalar);
  if (u) return { kind: 'scalar', type, register: ctx.builder.unary(u, scalar, x.register, undefined, branches) };
  const y = convertValue(ctx, call.value(1), type, call.node);
  if (y.kind !== 'scalar' || !b) return unknownValue(type, y.kind === 'unknown' ? y.reason : `argument of ${name}`);
  return { kind: 'scalar', type, register: ctx.builder.binary(b, scalar, x.register, y.register, branches) };
}

function resultType(first: Type, isFloatName: boolean, second: Type | undefined): Type {
  if (isFloatName) return types.float;
  const plain = unqualified(first.kind === 'reference' ? first.to : first);
  const scalar = scalarOf(plain);
  if (second && scalar && scalarOf(second)) {
    const common = arithmeticType(plain, unqualified(second));
    const s = scalarOf(common);
    return s && isFloat(s) ? common : types.double;
  }
  return scalar && isFloat(scalar) ? plain : types.double;
}

function bitFunction(call: BuiltinCall, entry: { fn: UnaryOp; wide: boolean }): Value {
  const { ctx } = call;
  const scalar = entry.wide ? 'u64' : 'u32';
  const x = convertValue(ctx, call.value(0), entry.wide ? types.ulonglong : types.uint, call.node);
  if (x.kind !== 'scalar') return unknownValue(types.int, x.kind === 'unknown' ? x.reason : 'operand');
  const result = ctx.builder.unary(entry.fn, scalar, x.register);
  const type = entry.fn === 'brev' ? (entry.wide ? types.ulonglong : types.uint) : types.int;
  return { kind: 'scalar', type, register: convertRegister(ctx, result, scalar, scalarOf(type) ?? 'i32') };
}

const specials: Record<string, (call: BuiltinCall) => Value> = {
  min: (c) => minMax(c, 'min'),
  max: (c) => minMax(c, 'max'),
  umin: (c) => minMax(c, 'min'),
  umax: (c) => minMax(c, 'max'),
  abs: absolute,
  labs: absolute,
  llabs: absolute,
  fma: fused,
  fmaf: fused,
  __fmaf_rn: fused,
  __fma_rn: fused,
  __mul24: (c) => product(c, types.int),
  __umul24: (c) => product(c, types.uint),
  __mulhi: (c) => high(c, types.int),
  __umulhi: (c) => high(c, types.uint),
  __mul64hi: (c) => high(c, types.longlong),
  __umul64hi: (c) => high(c, types.ulonglong),
  isnan: (c) => test(c, 'isnan'),
  isinf: (c) => test(c, 'isinf'),
  swap: swapValues,
  ...wholeNumbers('lround', 'round', types.long),
  ...wholeNumbers('llround', 'round', types.longlong),
  ...wholeNumbers('lrint', 'rint', types.long),
  ...wholeNumbers('llrint', 'rint', types.longlong),
};

/** Functions that round to an integer, by name: of what they are given, and of a float. */
function wholeNumbers(name: string, fn: UnaryOp, type: Type): Record<string, (call: BuiltinCall) => Value> {
  const rounded = (call: BuiltinCall, isFloatName: boolean): Value => {
    const { ctx, node } = call;
    const from = resultType(call.value(0).type, isFloatName, undefined);
    const x = convertValue(ctx, call.value(0), from, node);
    if (x.kind !== 'scalar') return unknownValue(type, x.kind === 'unknown' ? x.reason : `argument of ${call.name}`);
    const whole = ctx.builder.unary(fn, scalarOf(from) ?? 'f64', x.register);
    return convertValue(ctx, { kind: 'scalar', type: from, register: whole }, type, node);
  };
  return { [name]: (call) => rounded(call, false), [`${name}f`]: (call) => rounded(call, true) };
}

function special(call: BuiltinCall): Value | undefined {
  return Object.hasOwn(specials, call.name) ? specials[call.name](call) : undefined;
}

function minMax(call: BuiltinCall, fn: 'min' | 'max'): Value {
  const ofObjects = extremeOf(call, fn);
  if (ofObjects) return ofObjects;
  const list = call.value(0);
  if (call.args.length === 1 && list.kind === 'aggregate' && list.elements.length > 0)
    return list.elements.reduce((a, b) => lesserOrGreater(call, fn, a, b));
  return lesserOrGreater(call, fn, list, call.value(1));
}

function lesserOrGreater(call: BuiltinCall, fn: BinaryOp, a: Value, b: Value): Value {
  const { ctx, node } = call;
  if (a.kind !== 'scalar' || b.kind !== 'scalar')
    return unknownValue(
      a.type,
      a.kind === 'unknown' ? a.reason : b.kind === 'unknown' ? b.reason : `argument of ${call.name}`,
    );
  const type = scalarOf(a.type) === scalarOf(b.type) ? unqualified(a.type) : arithmeticType(a.type, b.type);
  const x = convertValue(ctx, a, type, node);
  const y = convertValue(ctx, b, type, node);
  if (x.kind !== 'scalar' || y.kind !== 'scalar') return unknownValue(type, `argument of ${call.name}`);
  return { kind: 'scalar', type, register: ctx.builder.binary(fn, scalarOf(type) ?? 'i32', x.register, y.register) };
}

function absolute(call: BuiltinCall): Value {
  const x = call.value(0);
  if (x.kind !== 'scalar') return unknownValue(x.type, x.kind === 'unknown' ? x.reason : 'argument of abs');
  return {
    kind: 'scalar',
    type: unqualified(x.type),
    register: call.ctx.builder.unary('abs', call.ctx.builder.typeOf(x.register), x.register),
  };
}

function fused(call: BuiltinCall): Value {
  const { ctx, node } = call;
  const type =
    call.name.startsWith('fmaf') || call.name.includes('fmaf')
      ? types.float
      : resultType(call.value(0).type, false, undefined);
  const parts = [0, 1, 2].map((i) => convertValue(ctx, call.value(i), type, node));
  const registers = parts.map((p) =>
    p.kind === 'scalar' ? p.register : ctx.builder.unknown(scalarOf(type) ?? 'f32', 'argument of fma'),
  );
  return {
    kind: 'scalar',
    type,
    register: ctx.builder.fma(scalarOf(type) ?? 'f32', registers[0], registers[1], registers[2]),
  };
}

function integerPair(call: BuiltinCall, type: Type): readonly [number, number] {
  const scalar = scalarOf(type) ?? 'i32';
  const one = (i: number) => {
    const v = convertValue(call.ctx, call.value(i), type, call.node);
    return v.kind === 'scalar' ? v.register : call.ctx.builder.unknown(scalar, 'argument');
  };
  return [one(0), one(1)];
}

function product(call: BuiltinCall, type: Type): Value {
  const [a, b] = integerPair(call, type);
  return { kind: 'scalar', type, register: call.ctx.builder.binary('mul', scalarOf(type) ?? 'i32', a, b) };
}

function high(call: BuiltinCall, type: Type): Value {
  const [a, b] = integerPair(call, type);
  return { kind: 'scalar', type, register: call.ctx.builder.binary('mulhi', scalarOf(type) ?? 'i32', a, b) };
}

function test(call: BuiltinCall, fn: 'isnan' | 'isinf'): Value {
  const x = call.value(0);
  if (x.kind !== 'scalar') return unknownValue(types.bool, `argument of ${fn}`);
  return {
    kind: 'scalar',
    type: types.bool,
    register: call.ctx.builder.unary(fn, call.ctx.builder.typeOf(x.register), x.register),
  };
}

function swapValues(call: BuiltinCall): Value {
  const [a, b] = call.args;
  const x = call.value(0);
  const y = call.value(1);
  if (a?.kind === 'place') call.assign(a, y);
  if (b?.kind === 'place') call.assign(b, x);
  return { kind: 'void', type: types.void };
}
