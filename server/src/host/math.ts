/** Functions of numbers that WebAssembly has no instruction for. */
import { bitcast, conversion } from '../execute/conversion';

function gaussError(x: number): number {
  // W. J. Cody's rational form would be exact to the last bit; a series and a continued fraction are enough for data
  const a = Math.abs(x);
  if (a > 6) return Math.sign(x);
  if (a < 3) {
    let term = x;
    let sum = x;
    for (let n = 1; n < 60 && Math.abs(term) > 1e-17 * Math.abs(sum); n++) {
      term *= (-x * x) / n;
      sum += term / (2 * n + 1);
    }
    return (2 / Math.sqrt(Math.PI)) * sum;
  }
  let fraction = 0;
  for (let n = 40; n > 0; n--) fraction = n / 2 / (a + fraction);
  return Math.sign(x) * (1 - Math.exp(-a * a) / (Math.sqrt(Math.PI) * (a + fraction)));
}

const halfBits = bitcast('f16', 'u16').scalar;
const bfloatBits = bitcast('bf16', 'u16').scalar;
const roundHalf = conversion('f64', 'f16').scalar;
const roundBfloat = conversion('f64', 'bf16').scalar;

function reverse32(x: number): number {
  let out = 0;
  for (let i = 0; i < 32; i++) out |= ((x >>> i) & 1) << (31 - i);
  return out;
}

function reverse64(x: bigint): bigint {
  let out = 0n;
  for (let i = 0n; i < 64n; i++) out |= ((x >> i) & 1n) << (63n - i);
  return out;
}

/** Half away from zero. */
const round = (x: number): number => (Math.abs(x) < 2 ** 52 ? Math.sign(x) * Math.floor(Math.abs(x) + 0.5) : x);

const u32 = (x: number): number => x >>> 0;
const u64 = (x: bigint): bigint => BigInt.asUintN(64, x);

/** By the names that host/generate.ts imports. */
export const hostMath: Readonly<Record<string, unknown>> = {
  rsqrt: (x: number) => 1 / Math.sqrt(x),
  rcp: (x: number) => 1 / x,
  exp: Math.exp,
  exp2: (x: number) => 2 ** x,
  exp10: (x: number) => 10 ** x,
  log: Math.log,
  log2: Math.log2,
  log10: Math.log10,
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  asin: Math.asin,
  acos: Math.acos,
  atan: Math.atan,
  sinh: Math.sinh,
  cosh: Math.cosh,
  tanh: Math.tanh,
  erf: gaussError,
  cbrt: Math.cbrt,
  round,
  roundHalf,
  roundBfloat,
  pow: (a: number, b: number) => a ** b,
  fmod: (a: number, b: number) => a % b,
  atan2: Math.atan2,
  hypot: Math.hypot,
  abs32: (x: number) => (x < 0 ? -x : x),
  ffs32: (x: number) => (x === 0 ? 0 : 32 - Math.clz32(x & -x)),
  brev32: reverse32,
  abs64: (x: bigint) => (x < 0n ? -x : x),
  ffs64: (x: bigint) => {
    if (x === 0n) return 0n;
    let at = 1n;
    while (((x >> (at - 1n)) & 1n) === 0n) at++;
    return at;
  },
  brev64: reverse64,
  mulhiS64: (a: bigint, b: bigint) => (a * b) >> 64n,
  mulhiU64: (a: bigint, b: bigint) => (u64(a) * u64(b)) >> 64n,
  minS64: (a: bigint, b: bigint) => (a < b ? a : b),
  maxS64: (a: bigint, b: bigint) => (a > b ? a : b),
  minU64: (a: bigint, b: bigint) => (u64(a) < u64(b) ? a : b),
  maxU64: (a: bigint, b: bigint) => (u64(a) > u64(b) ? a : b),
  mulhiS32: (a: number, b: number) => Number((BigInt(a) * BigInt(b)) >> 32n),
  mulhiU32: (a: number, b: number) => Number(BigInt.asIntN(32, (BigInt(u32(a)) * BigInt(u32(b))) >> 32n)),
  minS32: Math.min,
  maxS32: Math.max,
  minU32: (a: number, b: number) => (u32(a) < u32(b) ? a : b),
  maxU32: (a: number, b: number) => (u32(a) > u32(b) ? a : b),
  fromHalf: bitcast('u16', 'f16').scalar,
  toHalf: (x: number) => halfBits(roundHalf(x)),
  fromBfloat: bitcast('u16', 'bf16').scalar,
  toBfloat: (x: number) => bfloatBits(roundBfloat(x)),
};
