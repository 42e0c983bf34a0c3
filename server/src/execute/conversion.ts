/** Value conversions with C++ semantics, and reinterpretation of bits. */

import { bytesOf, type ScalarType } from '../program/program';
import { type FloatType, isFloatType, roundings } from './floating';
import { narrowedLoop, roundedLoop } from './floating-loops';
import { isNarrow, wrapTo } from './integer32';
import { TOO_LARGE } from './integer64';
import type { LaneCodeName } from './lane-code';
import { type Unary, unary } from './operation';
import { isFloat, type Lanes32, type Lanes64 } from './value';

const OUT_OF_RANGE = 'floating-point value out of the range of the integer type';

function widenLoop(d: Lanes64, x: Lanes32, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = x[i];
  return 0;
}
function widenUnsignedLoop(d: Lanes64, x: Lanes32, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = x[i] >>> 0;
  return 0;
}
function truncateLoop(d: Lanes32, x: Lanes64, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = x[i];
  return 0;
}
function copyLoop32(d: Lanes32, x: Lanes32, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = x[i];
  return 0;
}
function copyLoop64(d: Lanes64, x: Lanes64, lo: number, hi: number): number {
  for (let i = lo; i < hi; i++) d[i] = x[i];
  return 0;
}

const copy32 = unary((x) => x, copyLoop32, undefined, 'copy32');
const copy64 = unary((x) => x, copyLoop64, undefined, 'copy64');
const widen = unary((x) => x, widenLoop, undefined, 'widen');
const widenUnsigned = unary((x) => x >>> 0, widenUnsignedLoop, undefined, 'widenUnsigned');
const truncate = unary((x) => x | 0, truncateLoop, undefined, 'lowWord');

/** The same value in the same type. */
export function copyOf(type: ScalarType): Unary {
  return isNarrow(type) ? copy32 : copy64;
}

const ranges: Partial<Record<ScalarType, readonly [number, number]>> = {
  i8: [-128, 127],
  u8: [0, 255],
  i16: [-32768, 32767],
  u16: [0, 65535],
  i32: [-(2 ** 31), 2 ** 31 - 1],
  u32: [0, 2 ** 32 - 1],
  i64: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  u64: [0, Number.MAX_SAFE_INTEGER],
};

/** What wraps words to a type. */
const wraps: Partial<Record<ScalarType, LaneCodeName>> = {
  i8: 'lowByteSigned',
  u8: 'lowByte',
  i16: 'lowHalfSigned',
  u16: 'lowHalf',
};

/** The number that the held form of an integer stands for; rounded where a u64 is beyond 2^53. */
export function numberOf(type: ScalarType): (x: number) => number {
  if (type === 'u32') return (x) => x >>> 0;
  if (type === 'u64') return (x) => (x < 0 ? x + 2 ** 64 : x + 0);
  return (x) => x + 0;
}

/** The held form of a number that is a value of the type; NaN where it cannot be held. */
export function heldForm(type: ScalarType, value: number): number {
  if (type === 'u32') return value | 0;
  if ((type === 'i64' || type === 'u64') && !Number.isSafeInteger(value)) return Number.NaN;
  return value;
}

export function conversion(from: ScalarType, to: ScalarType): Unary {
  if (to === 'pred')
    return unary((x) => (x !== 0 ? 1 : 0), undefined, undefined, isNarrow(from) ? 'isSet32' : undefined);
  if (isFloatType(to)) return toFloat(from, to);
  if (isFloat(from)) return floatToInteger(to);
  if (isNarrow(to)) {
    const wrap = wrapTo(to);
    if (bytesOf[to] === 4) return isNarrow(from) ? copy32 : truncate;
    return unary((x) => wrap(x | 0), undefined, undefined, isNarrow(from) ? wraps[to] : undefined);
  }
  if (from === 'u32') return widenUnsigned;
  return isNarrow(from) ? widen : copy64;
}

function toFloat(from: ScalarType, to: FloatType): Unary {
  const round = roundings[to];
  const isWide = to === 'f32' || to === 'f64';
  if (isFloat(from)) {
    // f64 holds every number of the others, f32 those of 16 bits
    if (to === 'f64' || from === to || (to === 'f32' && from !== 'f64')) return copy64;
    return to === 'f32' ? unary(round, narrowedLoop, undefined, 'narrow') : unary(round);
  }
  const number = numberOf(from);
  const scalar = (x: number) => round(number(x));
  if (!isWide || !isNarrow(from)) return unary(scalar);
  if (to === 'f64')
    return unary(
      scalar,
      from === 'u32' ? widenUnsignedLoop : widenLoop,
      undefined,
      from === 'u32' ? 'widenUnsigned' : 'widen',
    );
  return from === 'u32'
    ? unary(scalar, undefined, undefined, 'wordToFloatUnsigned')
    : unary(scalar, roundedLoop, undefined, 'wordToFloat');
}

function floatToInteger(to: ScalarType): Unary {
  const [least, most] = ranges[to] ?? [0, 0];
  return unary(
    (x) => {
      const whole = Math.trunc(x);
      return whole >= least && whole <= most ? heldForm(to, whole + 0) : Number.NaN;
    },
    undefined,
    OUT_OF_RANGE,
    to === 'i32' ? 'floatToWord' : to === 'u32' ? 'floatToWordUnsigned' : undefined,
  );
}

const view = new DataView(new ArrayBuffer(8));

const single = new Float32Array(1);
const singleBits = new Int32Array(single.buffer);

/** The bits of a number that 16 bits hold: those of an f32 with the exponent's other bias, where it is not too small. */
function halfBits(x: number): number {
  single[0] = x;
  const bits = singleBits[0];
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return 0x7e00;
  if (magnitude === 0x7f800000) return sign | 0x7c00;
  if (magnitude < 0x38800000) return sign | (Math.abs(x) * 2 ** 24);
  return sign | ((magnitude - 0x38000000) >> 13);
}

/** By its bits. */
let halves: Float32Array | undefined;

function fromHalfBits(bits: number): number {
  halves ??= Float32Array.from({ length: 0x10000 }, (_, each) => halfOf(each));
  return halves[bits];
}

function halfOf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15));
}

const writers: Readonly<Record<ScalarType, (x: number) => void>> = {
  f32: (x) => view.setFloat32(0, x),
  f64: (x) => view.setFloat64(0, x),
  f16: (x) => view.setUint16(0, halfBits(x)),
  bf16: (x) => view.setFloat32(0, x),
  i64: (x) => view.setBigInt64(0, BigInt(x)),
  u64: (x) => view.setBigInt64(0, BigInt(x)),
  pred: (x) => view.setUint8(0, x),
  i8: (x) => view.setUint8(0, x),
  u8: (x) => view.setUint8(0, x),
  i16: (x) => view.setUint16(0, x),
  u16: (x) => view.setUint16(0, x),
  i32: (x) => view.setInt32(0, x),
  u32: (x) => view.setInt32(0, x),
};

function readBits(type: ScalarType): number {
  switch (type) {
    case 'f32':
      return view.getFloat32(0);
    case 'f64':
      return view.getFloat64(0);
    case 'f16':
      return fromHalfBits(view.getUint16(0));
    case 'bf16':
      view.setUint16(2, 0);
      return view.getFloat32(0);
    case 'i64':
    case 'u64': {
      const value = Number(view.getBigInt64(0));
      return Number.isSafeInteger(value) ? value : Number.NaN;
    }
    case 'pred':
    case 'u8':
      return view.getUint8(0);
    case 'i8':
      return view.getInt8(0);
    case 'i16':
      return view.getInt16(0);
    case 'u16':
      return view.getUint16(0);
    case 'i32':
    case 'u32':
      return view.getInt32(0);
  }
}

/** The same bits as another type of the same width. */
export function bitcast(from: ScalarType, to: ScalarType): Unary {
  if (from === to) return copyOf(to);
  if (isNarrow(from) && isNarrow(to) && bytesOf[to] === 4) return copy32;
  const scalar = (x: number) => {
    writers[from](x);
    return readBits(to);
  };
  const isOfWords = bytesOf[from] === 4 && bytesOf[to] === 4;
  const code = !isOfWords ? undefined : from === 'f32' ? 'bitsOfFloat' : to === 'f32' ? 'floatOfBits' : undefined;
  return unary(scalar, undefined, isFloat(to) ? undefined : TOO_LARGE, code);
}
