/** Functions of numbers that WebAssembly has no instruction for. */
import { bitcast, conversion } from '../execute/conversion';
import { binaryFunctions, unaryFunctions } from '../execute/floating';

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

const u32 = (x: number): number => x >>> 0;
const u64 = (x: bigint): bigint => BigInt.asUintN(64, x);

/** By the names of host/imports.ts; floating-point functions are those that kernels are executed with. */
export const hostMath: Readonly<Record<string, unknown>> = {
  ...unaryFunctions,
  ...binaryFunctions,
  roundHalf,
  roundBfloat,
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
