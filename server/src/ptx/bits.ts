/** Logic, shifts, bit fields, permutations, moves and conversions. PTX ISA 9.0, 9.7.1, 9.7.8 and 9.7.9. */

import { type BinaryOp, isFloat, type Register, type ScalarType } from '../program/program';
import type { Handler } from './arithmetic';
import type { Context } from './context';
import type { FlatInstruction } from './flatten';
import type { Operand } from './module';
import { bitsOf, irType, isSameForm, signed, typeOf, typesOf, unsigned } from './types';

function logic(fn: 'and' | 'or' | 'xor'): Handler {
  return (ctx, { opcode, operands }) => {
    const type = irType(typeOf(opcode.parts)) ?? 'i32';
    const [dst, a, b] = operands;
    ctx.write(dst, ctx.builder.binary(fn, type, ctx.read(a, type), ctx.read(b, type)));
  };
}

const not: Handler = (ctx, { opcode, operands }) => {
  const type = irType(typeOf(opcode.parts)) ?? 'i32';
  const value = ctx.read(operands[1], type);
  ctx.write(operands[0], ctx.builder.unary(type === 'pred' ? 'lognot' : 'bitnot', type, value));
};

const logicalNot: Handler = (ctx, { opcode, operands }) => {
  const type = irType(typeOf(opcode.parts)) ?? 'i32';
  const isZero = ctx.builder.compare('eq', type, ctx.read(operands[1], type), ctx.constant(type, 0));
  ctx.write(operands[0], ctx.builder.convert('pred', type, isZero));
};

const reverse: Handler = (ctx, { opcode, operands }) => {
  const type = unsigned(irType(typeOf(opcode.parts)) ?? 'u32');
  ctx.write(operands[0], ctx.builder.unary('brev', type, ctx.read(operands[1], type)));
};

/** shl: counts above the width give 0; shr of signed types fills with the sign. */
const shiftLeft: Handler = (ctx, { opcode, operands }) => {
  const type = irType(typeOf(opcode.parts)) ?? 'i32';
  ctx.write(operands[0], ctx.builder.binary('shl', type, ctx.read(operands[1], type), count(ctx, operands[2], type)));
};

const shiftRight: Handler = (ctx, instruction) => {
  const { opcode, operands } = instruction;
  const special = highPart(ctx, instruction) ?? quotient(ctx, instruction);
  if (special !== undefined) {
    ctx.write(operands[0], special);
    return;
  }
  const name = typeOf(opcode.parts) ?? 'b32';
  const type = irType(name) ?? 'i32';
  const shifted = name.startsWith('b') ? unsigned(type) : type;
  ctx.write(
    operands[0],
    ctx.builder.binary('shr', shifted, ctx.read(operands[1], shifted), count(ctx, operands[2], shifted)),
  );
};

/** The count of a shift, in the form its operation takes. */
function count(ctx: Context, operand: Operand | undefined, type: ScalarType): Register {
  const value = ctx.read(operand, 'u32');
  return bitsOf[type] === 32 ? value : ctx.builder.convert('u32', type, value);
}

/** A constant operand, also one that was moved into a register. */
function constantOf(ctx: Context, operand: Operand | undefined): bigint | undefined {
  if (operand?.kind === 'integer') return operand.value;
  if (operand?.kind !== 'register') return undefined;
  const definition = single(ctx, operand);
  if (definition?.opcode.base !== 'mov') return undefined;
  const [, value] = definition.operands;
  return value?.kind === 'integer' ? value.value : undefined;
}

/** The one instruction that assigns a register. */
function single(ctx: Context, operand: Operand | undefined): FlatInstruction | undefined {
  if (operand?.kind !== 'register' || ctx.assignments.isSingle[operand.register] === 0) return undefined;
  return ctx.assignments.definition[operand.register];
}

/**
 * (a · b) >> k with k ≥ 32 of 32-bit factors, as division by a constant is compiled: the product is beyond 2^53, but its
 * high half is not.
 */
function highPart(ctx: Context, { opcode, operands }: FlatInstruction): Register | undefined {
  const source = single(ctx, operands[1]);
  const by = constantOf(ctx, operands[2]);
  if (source?.opcode.base !== 'mul' || !source.opcode.parts.includes('wide') || by === undefined) return undefined;
  const type = irType(typeOf(source.opcode.parts));
  const result = irType(typeOf(opcode.parts));
  if ((type !== 'u32' && type !== 'i32') || by < 32n || by > 63n || (result !== 'i64' && result !== 'u64'))
    return undefined;
  const isLogical = type === 'u32' || !opcode.parts.includes('s64');
  if (isLogical && type === 'i32') return undefined;
  const { builder } = ctx;
  const [, a, b] = source.operands;
  const high = builder.binary('mulhi', type, ctx.read(a, type), ctx.read(b, type));
  const shifted = builder.binary('shr', type, high, ctx.constant(type, by - 32n));
  return builder.convert(type, result, shifted);
}

/**
 * mulhi(x, magic) >> k of 64 bits: division by the constant that the magic number stands for. The magic number itself
 * cannot be held, the quotient can. Hacker's Delight, 10-9: magic = ⌈2^(64+k) / d⌉.
 */
function quotient(ctx: Context, { opcode, operands }: FlatInstruction): Register | undefined {
  const source = single(ctx, operands[1]);
  const by = constantOf(ctx, operands[2]);
  if (source?.opcode.base !== 'mul' || !source.opcode.parts.includes('hi') || by === undefined || by > 62n)
    return undefined;
  if (opcode.parts.includes('s64') !== source.opcode.parts.includes('s64')) return undefined;
  return quotientOf(ctx, source, by);
}

export function quotientOf(ctx: Context, source: FlatInstruction, by: bigint): Register | undefined {
  const name = typeOf(source.opcode.parts);
  if (name !== 'u64' && name !== 's64') return undefined;
  const [, x, factor] = source.operands;
  const given = constantOf(ctx, factor);
  if (given === undefined) return undefined;
  const magic = BigInt.asUintN(64, given);
  if (magic < 1n << 53n || (name === 's64' && magic >= 1n << 63n)) return undefined;
  const power = 1n << (64n + by);
  const divisor = power / magic;
  // ⌈2^(64+k) / d⌉ · d is at most d - 1 above the power
  const rest = magic * divisor - power;
  const isDivisor = rest === 0n || (magic * (divisor + 1n) - power > 0n && magic * (divisor + 1n) - power <= 1n << by);
  const d = rest === 0n ? divisor : divisor + 1n;
  const candidates = [divisor, divisor + 1n].filter((each) => {
    const error = magic * each - power;
    return each > 1n && error >= 0n && error <= 1n << by;
  });
  const chosen = candidates[0] ?? (isDivisor ? d : undefined);
  if (chosen === undefined || chosen > 1n << 52n) return undefined;
  const { builder } = ctx;
  const type: ScalarType = name === 'u64' ? 'u64' : 'i64';
  const value = ctx.read(x, type);
  const by_ = ctx.constant(type, chosen);
  if (type === 'u64') return builder.binary('div', type, value, by_);
  // floor: the compiled code adds the sign afterwards
  const isNegative = builder.compare('lt', type, value, ctx.constant(type, 0));
  const lowered = builder.binary('sub', type, value, ctx.constant(type, chosen - 1n));
  return builder.binary('div', type, builder.select(type, isNegative, lowered, value), by_);
}

/** lop3: any function of three bits, as the terms of its truth table. */
const logic3: Handler = (ctx, { operands }) => {
  const { builder } = ctx;
  const [dst, a, b, c, table] = operands;
  const lut = Number(constantOf(ctx, table) ?? 0n) & 255;
  const inputs = [a, b, c].map((operand) => ctx.read(operand, 'i32'));
  const result = dst?.kind === 'pair' ? dst.first : dst;
  const of = (fn: BinaryOp, x: Register, y: Register) => builder.binary(fn, 'i32', x, y);
  const known: Readonly<Record<number, () => Register>> = {
    128: () => of('and', of('and', inputs[0], inputs[1]), inputs[2]),
    254: () => of('or', of('or', inputs[0], inputs[1]), inputs[2]),
    150: () => of('xor', of('xor', inputs[0], inputs[1]), inputs[2]),
    248: () => of('or', inputs[0], of('and', inputs[1], inputs[2])),
    234: () => of('or', of('and', inputs[0], inputs[1]), inputs[2]),
    106: () => of('xor', of('and', inputs[0], inputs[1]), inputs[2]),
    120: () => of('xor', inputs[0], of('and', inputs[1], inputs[2])),
  };
  ctx.write(result, known[lut]?.() ?? terms(ctx, inputs, lut));
  if (dst?.kind === 'pair') ctx.writeUnknown(dst.second, 'predicate of lop3');
};

function terms(ctx: Context, inputs: readonly Register[], lut: number): Register {
  const { builder } = ctx;
  let result = ctx.constant('i32', 0);
  for (let term = 0; term < 8; term++) {
    if ((lut & (1 << term)) === 0) continue;
    // Bit 7 of the table is a = b = c = 1.
    const factors = inputs.map((input, index) => (term & (4 >> index) ? input : builder.unary('bitnot', 'i32', input)));
    const all = factors.reduce((x, y) => builder.binary('and', 'i32', x, y));
    result = builder.binary('or', 'i32', result, all);
  }
  return result;
}

/** shf.l: the upper half of [b, a] << n; shf.r: the lower half of [b, a] >> n. */
const funnelShift: Handler = (ctx, { opcode, operands }) => {
  const { builder } = ctx;
  const [dst, a, b, c] = operands;
  const given = ctx.read(c, 'u32');
  const isWrapped = opcode.parts.includes('wrap');
  const n = isWrapped
    ? builder.binary('and', 'u32', given, ctx.constant('u32', 31))
    : builder.binary('min', 'u32', given, ctx.constant('u32', 32));
  const rest = builder.binary('sub', 'u32', ctx.constant('u32', 32), n);
  const low = ctx.read(a, 'u32');
  const high = ctx.read(b, 'u32');
  const isLeft = opcode.parts.includes('l');
  const first = isLeft ? builder.binary('shl', 'u32', high, n) : builder.binary('shl', 'u32', high, rest);
  const second = isLeft ? builder.binary('shr', 'u32', low, rest) : builder.binary('shr', 'u32', low, n);
  ctx.write(dst, builder.binary('or', 'u32', first, second));
};

/** bfe: `length` bits from `start`. */
const extractField: Handler = (ctx, { opcode, operands }) => {
  const { builder } = ctx;
  const [dst, a, start, length] = operands;
  const type = irType(typeOf(opcode.parts)) ?? 'u32';
  const bits = bitsOf[type];
  const value = ctx.read(a, type);
  const at = byteOf(ctx, start, type);
  const size = byteOf(ctx, length, type);
  if (type === 'u32' || type === 'u64') {
    const shifted = builder.binary('shr', type, value, at);
    ctx.write(dst, builder.binary('and', type, shifted, lowMask(ctx, size, type)));
    return;
  }
  const width = ctx.constant(type, bits);
  const zero = ctx.constant(type, 0);
  const above = builder.binary(
    'max',
    type,
    zero,
    builder.binary('sub', type, width, builder.binary('add', type, at, size)),
  );
  const raised = builder.binary('shl', type, value, above);
  ctx.write(dst, builder.binary('shr', type, raised, builder.binary('sub', type, width, size)));
};

/** bfi: a into b at `start`, `length` bits. */
const insertField: Handler = (ctx, { opcode, operands }) => {
  const { builder } = ctx;
  const [dst, a, b, start, length] = operands;
  const type = unsigned(irType(typeOf(opcode.parts)) ?? 'u32');
  const at = byteOf(ctx, start, type);
  const mask = builder.binary('shl', type, lowMask(ctx, byteOf(ctx, length, type), type), at);
  const inserted = builder.binary('and', type, builder.binary('shl', type, ctx.read(a, type), at), mask);
  const kept = builder.binary('and', type, ctx.read(b, type), builder.unary('bitnot', type, mask));
  ctx.write(dst, builder.binary('or', type, kept, inserted));
};

/** Positions and lengths are taken from the low byte. */
function byteOf(ctx: Context, operand: Operand | undefined, type: ScalarType): Register {
  const byte = ctx.builder.binary('and', 'u32', ctx.read(operand, 'u32'), ctx.constant('u32', 255));
  return bitsOf[type] === 32 ? byte : ctx.builder.convert('u32', type, byte);
}

/** 2^n - 1; all ones from the width on. */
function lowMask(ctx: Context, n: Register, type: ScalarType): Register {
  const one = ctx.constant(type, 1);
  return ctx.builder.binary('sub', type, ctx.builder.binary('shl', type, one, n), one);
}

/** bfind: position of the highest bit (that differs from the sign), -1 for none. */
const findBit: Handler = (ctx, { opcode, operands }) => {
  const { builder } = ctx;
  const type = irType(typeOf(opcode.parts)) ?? 'u32';
  let value = ctx.read(operands[1], type);
  if (type === 'i32' || type === 'i64') {
    const isNegative = builder.compare('lt', type, value, ctx.constant(type, 0));
    value = builder.select(type, isNegative, builder.unary('bitnot', type, value), value);
  }
  const bare = unsigned(type);
  const zeros = builder.convert(bare, 'i32', builder.unary('clz', bare, value));
  if (!opcode.parts.includes('shiftamt')) {
    ctx.write(operands[0], builder.binary('sub', 'i32', ctx.constant('i32', bitsOf[type] - 1), zeros));
    return;
  }
  const isNone = builder.compare('eq', 'i32', zeros, ctx.constant('i32', bitsOf[type]));
  ctx.write(operands[0], builder.select('i32', isNone, ctx.constant('i32', -1), zeros));
};

const bitMask: Handler = (ctx, { operands }) => {
  const { builder } = ctx;
  const [dst, a, b] = operands;
  ctx.write(dst, builder.binary('shl', 'u32', lowMask(ctx, ctx.read(b, 'u32'), 'u32'), ctx.read(a, 'u32')));
};

const extend: Handler = (ctx, { opcode, operands }) => {
  const { builder } = ctx;
  const type = irType(typeOf(opcode.parts)) ?? 'i32';
  const above = builder.binary('sub', 'u32', ctx.constant('u32', 32), ctx.read(operands[2], 'u32'));
  ctx.write(
    operands[0],
    builder.binary('shr', type, builder.binary('shl', type, ctx.read(operands[1], type), above), above),
  );
};

/** prmt with a constant selector in the default mode: every byte of the result is one of the eight, or its sign. */
const permute: Handler = (ctx, { opcode, operands }) => {
  const { builder } = ctx;
  const [dst, a, b, selector] = operands;
  const selected = constantOf(ctx, selector);
  if (selected === undefined || opcode.parts.length > 2) {
    ctx.writeUnknown(dst, `${opcode.text} with a selector known at run time only`);
    return;
  }
  let result = ctx.constant('u32', 0);
  for (let i = 0; i < 4; i++) {
    const pick = Number((selected >> BigInt(4 * i)) & 15n);
    const isSign = (pick & 8) !== 0;
    const from = (pick & 4) !== 0 ? b : a;
    const at = 8 * (pick & 3);
    const type: ScalarType = isSign ? 'i32' : 'u32';
    const raised = builder.binary('shl', type, ctx.read(from, type), ctx.constant(type, 24 - at));
    const byte = builder.binary('shr', type, raised, ctx.constant(type, isSign ? 31 : 24));
    const masked = builder.binary('and', 'u32', byte, ctx.constant('u32', 255));
    result = builder.binary('or', 'u32', result, builder.binary('shl', 'u32', masked, ctx.constant('u32', 8 * i)));
  }
  ctx.write(dst, result);
};

/** mov: copies, packs {a, b} into one register and takes one apart. */
const move: Handler = (ctx, instruction) => {
  const { opcode, operands } = instruction;
  const [dst, source] = operands;
  const type = irType(typeOf(opcode.parts));
  const words = wordsOf(ctx, instruction);
  if (words) words();
  else if (dst?.kind === 'vector') unpack(ctx, dst.elements, source, typeOf(opcode.parts) ?? 'b32');
  else if (source?.kind === 'vector') ctx.write(dst, pack(ctx, source.elements, typeOf(opcode.parts) ?? 'b32'));
  else if (type === undefined) ctx.writeUnknown(dst, `${opcode.text} is not computed`);
  else ctx.write(dst, ctx.read(source, type));
};

/**
 * A double taken apart or made of two words: exp, log, pow and division of doubles work on exponents so. As an integer of 64 bits its
 * bits could mostly not be held.
 */
function wordsOf(ctx: Context, { opcode, operands: [dst, source] }: FlatInstruction): (() => void) | undefined {
  const { builder } = ctx;
  if (typeOf(opcode.parts) !== 'b64') return undefined;
  if (dst?.kind === 'vector' && dst.elements.length === 2 && ctx.holdsDouble(source))
    return () => {
      const value = ctx.read(source, 'f64');
      const [low, high] = dst.elements;
      if (low.kind === 'register')
        ctx.write(low, builder.convert('f64', 'u32', builder.unary('lowWord', 'f64', value)));
      if (high.kind === 'register')
        ctx.write(high, builder.convert('f64', 'u32', builder.unary('highWord', 'f64', value)));
    };
  if (source?.kind === 'vector' && source.elements.length === 2 && ctx.holdsDouble(dst))
    return () => {
      const [low, high] = source.elements.map((each) => builder.convert('u32', 'f64', ctx.read(each, 'u32')));
      ctx.write(dst, builder.binary('words', 'f64', low, high));
    };
  return undefined;
}

const wholeTypes: Readonly<Record<string, ScalarType>> = { b16: 'u16', b32: 'u32', b64: 'u64', u64: 'u64', f64: 'u64' };

function unpack(ctx: Context, elements: readonly Operand[], source: Operand | undefined, name: string): void {
  const { builder } = ctx;
  const whole = wholeTypes[name];
  if (whole === undefined) {
    for (const element of elements) ctx.writeUnknown(element, `parts of a ${name}`);
    return;
  }
  const bits = bitsOf[whole] / elements.length;
  const part: ScalarType = bits === 32 ? 'u32' : bits === 16 ? 'u16' : 'u8';
  const value = ctx.read(source, whole);
  elements.forEach((element, index) => {
    if (element.kind !== 'register') return;
    const shifted = index === 0 ? value : builder.binary('shr', whole, value, ctx.constant(whole, index * bits));
    ctx.write(element, builder.convert(whole, part, shifted));
  });
}

function pack(ctx: Context, elements: readonly Operand[], name: string): Register {
  const { builder } = ctx;
  const whole = wholeTypes[name];
  if (whole === undefined) return builder.unknown('i64', `${name} of several parts`);
  const bits = bitsOf[whole] / elements.length;
  const part: ScalarType = bits === 32 ? 'u32' : bits === 16 ? 'u16' : 'u8';
  let result: Register | undefined;
  elements.forEach((element, index) => {
    const wide = builder.convert(part, whole, ctx.read(element, part));
    const placed = index === 0 ? wide : builder.binary('shl', whole, wide, ctx.constant(whole, index * bits));
    result = result === undefined ? placed : builder.binary('or', whole, result, placed);
  });
  return result ?? builder.unknown(whole, 'empty vector');
}

const roundings: Readonly<Record<string, 'trunc' | 'rint' | 'floor' | 'ceil'>> = {
  rzi: 'trunc',
  rni: 'rint',
  rmi: 'floor',
  rpi: 'ceil',
};

const ranges: Partial<Record<ScalarType, readonly [bigint, bigint]>> = {
  i8: [-128n, 127n],
  u8: [0n, 255n],
  i16: [-32768n, 32767n],
  u16: [0n, 65535n],
  i32: [-(1n << 31n), (1n << 31n) - 1n],
  u32: [0n, (1n << 32n) - 1n],
};

/** cvt: between types by value; .sat clamps; .rzi and the like round to whole numbers. */
const convert: Handler = (ctx, instruction) => {
  const { builder } = ctx;
  const { opcode, operands } = instruction;
  const types = typesOf(opcode.parts);
  const to = irType(types[0]);
  const from = irType(types[1]);
  if (types[0] === 'tf32' && from === 'f32') {
    ctx.write(operands[0], roundedToTensor(ctx, ctx.read(operands[1], 'f32')));
    return;
  }
  if (types.length !== 2 || to === undefined || from === undefined || opcode.parts.includes('pack')) {
    ctx.writeUnknown(operands[0], `${opcode.text} is not computed`);
    return;
  }
  let value = ctx.read(operands[1], from);
  const rounding = roundings[opcode.parts[1]];
  if (rounding !== undefined && isFloat(from)) value = builder.unary(rounding, from, value);
  if (opcode.parts.includes('sat')) value = clamped(ctx, value, from, to);
  ctx.write(operands[0], extended(ctx, builder.convert(from, to, value), to));
};

/** The low bits of a mantissa that tf32 does not hold: 23 of f32, 10 of tf32 (PTX ISA, "Alternate floating-point data formats"). */
const TF32_LOST_BITS = 13;

/** The bits of a float rounded to tf32: to the nearest, ties away from zero, as .rna says; .rn differs in ties alone. */
function roundedToTensor(ctx: Context, value: Register): Register {
  const { builder } = ctx;
  const half = builder.binary('add', 'i32', ctx.coerce(value, 'i32'), ctx.constant('i32', 1 << (TF32_LOST_BITS - 1)));
  return builder.binary('and', 'i32', half, ctx.constant('i32', -(1 << TF32_LOST_BITS)));
}

function clamped(ctx: Context, value: Register, from: ScalarType, to: ScalarType): Register {
  const { builder } = ctx;
  const range = isFloat(to) ? ([0n, 1n] as const) : ranges[to];
  if (!range) return value;
  if (!isFloat(from) && bitsOf[from] < bitsOf[to] && (from.startsWith('u') || to.startsWith('i'))) return value;
  // Integers are compared where both ranges fit.
  const type: ScalarType = isFloat(from) ? from : 'i64';
  const wide = isFloat(from) ? value : builder.convert(from, 'i64', value);
  const atLeast = builder.binary('max', type, wide, ctx.constant(type, isFloat(type) ? Number(range[0]) : range[0]));
  const atMost = builder.binary('min', type, atLeast, ctx.constant(type, isFloat(type) ? Number(range[1]) : range[1]));
  return isFloat(from) ? atMost : builder.convert('i64', from === 'u64' ? 'i64' : from, atMost);
}

/** The result of a conversion to a narrow type fills a wider register with its sign. */
function extended(ctx: Context, value: Register, to: ScalarType): Register {
  if (to !== 'i8' && to !== 'i16') return value;
  return ctx.builder.convert(to, 'i32', value);
}

/** cvta: addresses of a space count from 0, generic ones from the space's window. */
export { isSameForm, signed };

export const bits: Readonly<Record<string, Handler>> = {
  and: logic('and'),
  or: logic('or'),
  xor: logic('xor'),
  not,
  cnot: logicalNot,
  lop3: logic3,
  shl: shiftLeft,
  shr: shiftRight,
  shf: funnelShift,
  bfe: extractField,
  bfi: insertField,
  bfind: findBit,
  bmsk: bitMask,
  szext: extend,
  brev: reverse,
  prmt: permute,
  mov: move,
  cvt: convert,
};
