/** Integer and floating-point arithmetic, comparisons, selections. PTX ISA 9.0, 9.7.1 to 9.7.6. */

import { type BinaryOp, isFloat, type Register, type ScalarType, type UnaryOp } from '../program/program';
import { ptxComparisons } from './comparisons';
import type { Context } from './context';
import type { FlatInstruction } from './flatten';
import type { Operand } from './module';
import { bitsOf, irType, typeOf, typesOf, unsigned } from './types';

export type Handler = (ctx: Context, instruction: FlatInstruction) => void;

/** The type an instruction computes in; packed halves have none. */
function computeType(ctx: Context, { opcode, operands }: FlatInstruction): ScalarType | undefined {
  const type = irType(typeOf(opcode.parts));
  if (type === undefined) ctx.writeUnknown(operands[0], `${opcode.text}: packed values are not computed`);
  return type;
}

function unary(fn: UnaryOp): Handler {
  return (ctx, instruction) => {
    const type = computeType(ctx, instruction);
    if (type === undefined) return;
    const [dst, a] = instruction.operands;
    ctx.write(dst, ctx.builder.unary(fn, type, ctx.read(a, type)));
  };
}

/** popc, clz …: the result is 32 bits wide whatever the operand's width. */
function counting(fn: UnaryOp): Handler {
  return (ctx, { opcode, operands }) => {
    const type = unsigned(irType(typeOf(opcode.parts)) ?? 'u32');
    const count = ctx.builder.unary(fn, type, ctx.read(operands[1], type));
    ctx.write(operands[0], ctx.builder.convert(type, 'u32', count));
  };
}

function binary(fn: BinaryOp): Handler {
  return (ctx, instruction) => {
    const type = computeType(ctx, instruction);
    if (type === undefined) return;
    const [dst, a, b] = instruction.operands;
    ctx.write(
      dst,
      saturated(ctx, instruction, type, ctx.builder.binary(fn, type, ctx.read(a, type), ctx.read(b, type))),
    );
  };
}

/** add, sub with carry in and out as well. */
function sum(fn: 'add' | 'sub', withCarry: boolean): Handler {
  const plain = binary(fn);
  return (ctx, instruction) => {
    const { parts } = instruction.opcode;
    const makesCarry = parts.includes('cc');
    if (!withCarry && !makesCarry) {
      plain(ctx, instruction);
      return;
    }
    const type = unsigned(irType(typeOf(parts)) ?? 'u32');
    const [dst, a, b] = instruction.operands;
    const result = addCarry(ctx, fn, type, ctx.read(a, type), ctx.read(b, type), withCarry, makesCarry);
    ctx.write(dst, result);
  };
}

function addCarry(
  ctx: Context,
  fn: 'add' | 'sub',
  type: ScalarType,
  a: Register,
  b: Register,
  withCarry: boolean,
  makesCarry: boolean,
): Register {
  const { builder } = ctx;
  const first = builder.binary(fn, type, a, b);
  const overflow = (before: Register, by: Register, after: Register) =>
    fn === 'add' ? builder.compare('lt', type, after, before) : builder.compare('lt', type, before, by);
  let carry = overflow(a, b, first);
  let result = first;
  if (withCarry) {
    const incoming = builder.convert('u32', type, ctx.carry ?? builder.unknown('u32', 'carry of another block'));
    result = builder.binary(fn, type, first, incoming);
    carry = builder.binary('or', 'pred', carry, overflow(first, incoming, result));
  }
  if (makesCarry) ctx.carry = builder.convert('pred', 'u32', carry);
  return result;
}

/** .sat of floats: between 0 and 1. */
function saturated(ctx: Context, { opcode }: FlatInstruction, type: ScalarType, value: Register): Register {
  if (!opcode.parts.includes('sat') || !isFloat(type)) return value;
  const atLeast = ctx.builder.binary('max', type, value, ctx.constant(type, 0));
  return ctx.builder.binary('min', type, atLeast, ctx.constant(type, 1));
}

const wider: Partial<Record<ScalarType, ScalarType>> = { u16: 'u32', i16: 'i32', u32: 'u64', i32: 'i64' };

/** a · b: low, high or whole. */
function product(
  ctx: Context,
  { opcode, operands }: FlatInstruction,
): { type: ScalarType; value: Register } | undefined {
  const { builder } = ctx;
  const type = irType(typeOf(opcode.parts));
  if (type === undefined) return undefined;
  const [, a, b] = operands;
  if (opcode.parts.includes('wide')) {
    const whole = wider[type] ?? 'i64';
    const widen = (operand: Operand | undefined) => builder.convert(type, whole, ctx.read(operand, type));
    return { type: whole, value: builder.binary('mul', whole, widen(a), widen(b)) };
  }
  const fn = opcode.parts.includes('hi') ? 'mulhi' : 'mul';
  return { type, value: builder.binary(fn, type, ctx.read(a, type), ctx.read(b, type)) };
}

const multiply: Handler = (ctx, instruction) => {
  const result = product(ctx, instruction);
  const [dst] = instruction.operands;
  if (!result) ctx.writeUnknown(dst, `${instruction.opcode.text}: packed values are not computed`);
  else ctx.write(dst, saturated(ctx, instruction, result.type, result.value));
};

function multiplyAdd(withCarry: boolean): Handler {
  return (ctx, instruction) => {
    const { parts } = instruction.opcode;
    const [dst, a, b, c] = instruction.operands;
    const type = irType(typeOf(parts));
    if (type !== undefined && isFloat(type)) {
      ctx.write(dst, ctx.builder.fma(type, ctx.read(a, type), ctx.read(b, type), ctx.read(c, type)));
      return;
    }
    const result = product(ctx, instruction);
    if (!result) {
      ctx.writeUnknown(dst, `${instruction.opcode.text}: packed values are not computed`);
      return;
    }
    const isChain = withCarry || parts.includes('cc');
    const addend = ctx.read(c, result.type);
    ctx.write(
      dst,
      isChain
        ? addCarry(ctx, 'add', unsigned(result.type), result.value, addend, withCarry, parts.includes('cc'))
        : ctx.builder.binary('add', result.type, result.value, addend),
    );
  };
}

/** mul24, mad24: of the low 24 bits. */
function multiply24(adds: boolean): Handler {
  return (ctx, { opcode, operands }) => {
    const { builder } = ctx;
    const type = irType(typeOf(opcode.parts)) ?? 'u32';
    const low = (operand: Operand | undefined) => {
      const value = ctx.read(operand, type);
      if (type === 'u32') return builder.binary('and', type, value, ctx.constant(type, 0xffffff));
      const eight = ctx.constant('u32', 8);
      return builder.binary('shr', type, builder.binary('shl', type, value, eight), eight);
    };
    const wide = type === 'u32' ? 'u64' : 'i64';
    const whole = builder.binary(
      'mul',
      wide,
      builder.convert(type, wide, low(operands[1])),
      builder.convert(type, wide, low(operands[2])),
    );
    const shifted = opcode.parts.includes('hi') ? builder.binary('shr', wide, whole, ctx.constant('u32', 16)) : whole;
    const result = builder.convert(wide, type, shifted);
    ctx.write(operands[0], adds ? builder.binary('add', type, result, ctx.read(operands[3], type)) : result);
  };
}

const sumOfDifferences: Handler = (ctx, { opcode, operands }) => {
  const { builder } = ctx;
  const type = irType(typeOf(opcode.parts)) ?? 'i32';
  const [a, b, c] = [1, 2, 3].map((index) => ctx.read(operands[index], type));
  const larger = builder.binary('max', type, a, b);
  const smaller = builder.binary('min', type, a, b);
  ctx.write(operands[0], builder.binary('add', type, builder.binary('sub', type, larger, smaller), c));
};

/** dp4a, dp2a: sums of products of bytes. */
function dotProduct(count: 2 | 4): Handler {
  return (ctx, { opcode, operands }) => {
    const { builder } = ctx;
    const [first, second] = typesOf(opcode.parts).map((type) => irType(type) ?? 'i32');
    const from = opcode.parts.includes('hi') ? 2 : 0;
    const part = (operand: Operand | undefined, type: ScalarType, index: number, bits: number) => {
      const value = ctx.read(operand, type);
      const raised = builder.binary('shl', type, value, ctx.constant('u32', 32 - bits * (index + 1)));
      return builder.binary('shr', type, raised, ctx.constant('u32', 32 - bits));
    };
    let total = ctx.read(operands[3], 'i32');
    for (let i = 0; i < count; i++) {
      const a = part(operands[1], first ?? 'i32', i, 32 / count);
      const b = part(operands[2], second ?? 'i32', i + from, 8);
      total = builder.binary('add', 'i32', total, builder.binary('mul', 'i32', a, b));
    }
    ctx.write(operands[0], total);
  };
}

/** The comparison of setp and set, with its boolean combination. */
function comparison(ctx: Context, { opcode, operands }: FlatInstruction): Register | undefined {
  const { builder } = ctx;
  const { parts } = opcode;
  const name = parts[1];
  const type = irType(typesOf(parts).at(-1));
  if (type === undefined) return undefined;
  const [, left, right, with_] = operands;
  const compareType = ['lo', 'ls', 'hi', 'hs'].includes(name) ? unsigned(type) : type;
  const a = ctx.read(left, compareType);
  const b = ctx.read(right, compareType);
  let result: Register;
  if (name === 'num' || name === 'nan') {
    const some = builder.binary('or', 'pred', builder.unary('isnan', type, a), builder.unary('isnan', type, b));
    result = name === 'nan' ? some : builder.unary('lognot', 'pred', some);
  } else {
    const fn = ptxComparisons[name];
    if (fn === undefined) return undefined;
    result = builder.compare(fn, compareType, a, b);
  }
  const combination = parts.find((part) => part === 'and' || part === 'or' || part === 'xor');
  if (combination === undefined || with_ === undefined) return result;
  return builder.binary(combination as BinaryOp, 'pred', result, ctx.read(with_, 'pred'));
}

const setPredicate: Handler = (ctx, instruction) => {
  const [dst] = instruction.operands;
  const result = comparison(ctx, instruction);
  if (result === undefined) {
    ctx.writeUnknown(dst, `${instruction.opcode.text} is not computed`);
  } else if (dst?.kind === 'pair') {
    ctx.write(dst.first, result);
    ctx.write(dst.second, ctx.builder.unary('lognot', 'pred', result));
  } else ctx.write(dst, result);
};

/** set: all bits or 1.0 */
const setValue: Handler = (ctx, instruction) => {
  const [dst] = instruction.operands;
  const result = comparison(ctx, instruction);
  const type = irType(typesOf(instruction.opcode.parts)[0]);
  if (result === undefined || type === undefined) ctx.writeUnknown(dst, `${instruction.opcode.text} is not computed`);
  else
    ctx.write(dst, ctx.builder.select(type, result, ctx.constant(type, isFloat(type) ? 1 : -1), ctx.constant(type, 0)));
};

const selectByPredicate: Handler = (ctx, { opcode, operands }) => {
  const type = irType(typeOf(opcode.parts)) ?? 'i32';
  const [dst, a, b, p] = operands;
  ctx.write(dst, ctx.builder.select(type, ctx.read(p, 'pred'), ctx.read(a, type), ctx.read(b, type)));
};

const selectBySign: Handler = (ctx, { opcode, operands }) => {
  const [first, second] = typesOf(opcode.parts).map((type) => irType(type) ?? 'i32');
  const [dst, a, b, c] = operands;
  const by = second ?? 'i32';
  const isPositive = ctx.builder.compare('ge', by, ctx.read(c, by), ctx.constant(by, 0));
  ctx.write(dst, ctx.builder.select(first, isPositive, ctx.read(a, first), ctx.read(b, first)));
};

/** min, max; three operands from PTX 8.8 on. */
function extreme(fn: 'min' | 'max'): Handler {
  return (ctx, instruction) => {
    const type = computeType(ctx, instruction);
    if (type === undefined) return;
    const [dst, first, ...others] = instruction.operands;
    const result = others.reduce(
      (value, operand) => ctx.builder.binary(fn, type, value, ctx.read(operand, type)),
      ctx.read(first, type),
    );
    ctx.write(dst, result);
  };
}

/** PTX: copysign d, a, b takes the sign of a and the size of b. */
const copySign: Handler = (ctx, { opcode, operands }) => {
  const type = irType(typeOf(opcode.parts)) ?? 'f32';
  ctx.write(
    operands[0],
    ctx.builder.binary('copysign', type, ctx.read(operands[2], type), ctx.read(operands[1], type)),
  );
};

const testProperty: Handler = (ctx, { opcode, operands }) => {
  const { builder } = ctx;
  const type = irType(typeOf(opcode.parts)) ?? 'f32';
  const value = ctx.read(operands[1], type);
  const isNan = () => builder.unary('isnan', type, value);
  const isInfinite = () => builder.unary('isinf', type, value);
  const not = (p: Register) => builder.unary('lognot', 'pred', p);
  switch (opcode.parts[1]) {
    case 'notanumber':
      return ctx.write(operands[0], isNan());
    case 'number':
      return ctx.write(operands[0], not(isNan()));
    case 'infinite':
      return ctx.write(operands[0], isInfinite());
    case 'finite':
      return ctx.write(operands[0], not(builder.binary('or', 'pred', isNan(), isInfinite())));
    default:
      return ctx.writeUnknown(operands[0], `${opcode.text} is not computed`);
  }
};

/** fma.relu and the like are rare: only the plain forms. */
const fused: Handler = (ctx, instruction) => {
  const type = computeType(ctx, instruction);
  if (type === undefined) return;
  const [dst, a, b, c] = instruction.operands;
  const result = ctx.builder.fma(type, ctx.read(a, type), ctx.read(b, type), ctx.read(c, type));
  ctx.write(dst, saturated(ctx, instruction, type, result));
};

export const arithmetic: Readonly<Record<string, Handler>> = {
  add: sum('add', false),
  addc: sum('add', true),
  sub: sum('sub', false),
  subc: sum('sub', true),
  mul: multiply,
  mad: multiplyAdd(false),
  madc: multiplyAdd(true),
  fma: fused,
  mul24: multiply24(false),
  mad24: multiply24(true),
  div: binary('div'),
  rem: binary('rem'),
  abs: unary('abs'),
  neg: unary('neg'),
  min: extreme('min'),
  max: extreme('max'),
  sad: sumOfDifferences,
  dp4a: dotProduct(4),
  dp2a: dotProduct(2),
  popc: counting('popc'),
  clz: counting('clz'),
  setp: setPredicate,
  set: setValue,
  selp: selectByPredicate,
  slct: selectBySign,
  copysign: copySign,
  testp: testProperty,
  rcp: unary('rcp'),
  sqrt: unary('sqrt'),
  rsqrt: unary('rsqrt'),
  sin: unary('sin'),
  cos: unary('cos'),
  lg2: unary('log2'),
  ex2: unary('exp2'),
  tanh: unary('tanh'),
};

/** Bits of the type an operand is read as. */
export function widthOf(type: ScalarType): number {
  return bitsOf[type];
}
