/**
 * Bits of integers that are known to be zero: what sets such bits adds to the number (`x = 2 * i; x | 1`, `x ^ 1`), and is linear to the compiler
 * (nvcc 13.0, machine code of 36 kernels: `s[2 * i]` and `s[2 * i | 1]` are read together, also below a mask that the bit is part of, of sums, of loop
 * variables that step by two). Where a mask has only cleared what is set again it is gone before (`(n & ~1) | 1` is `n | 1`, which tells
 * nothing of `n & ~1`, and so is `(n >> 1 << 1) | 1`), and of what a condition chooses nothing is known.
 */
import type { Linear } from './linear';
import type { LowBits } from './low-bits';
import type { BinaryOp, Register, RegisterInfo, ScalarType } from './program';

const ALL = 0xffffffff;
/** Indices of threads are below 1024. */
const MOST_THREADS = 1024;
const threadIndices: ReadonlySet<string | undefined> = new Set(['threadIdx.x', 'threadIdx.y', 'threadIdx.z']);
/** Operations that are looked through. */
const DEEPEST = 8;

interface Definition {
  readonly fn: BinaryOp | 'convert';
  readonly type: ScalarType;
  readonly a: Register;
  readonly b: Register;
}

const followed = new Set<BinaryOp>(['and', 'or', 'xor', 'shl', 'shr', 'mul', 'div']);

export class ZeroBits {
  private readonly definitions = new Map<Register, Definition>();

  constructor(
    private readonly registers: readonly RegisterInfo[],
    private readonly lowBits: LowBits,
    private readonly formOf: (register: Register) => Linear | undefined,
  ) {}

  convert(dst: Register, type: ScalarType, a: Register): void {
    this.definitions.set(dst, { fn: 'convert', type, a, b: a });
  }

  binary(dst: Register, fn: BinaryOp, type: ScalarType, a: Register, b: Register): void {
    if (followed.has(fn)) this.definitions.set(dst, { fn, type, a, b });
  }

  /** Whether setting or turning bits of a register adds them. */
  areAdded(register: Register, bits: number | undefined): boolean {
    if (bits === undefined || !Number.isInteger(bits) || bits <= 0 || bits >= 2 ** 31) return false;
    const masked = this.masked(register);
    const number = masked && (masked.mask | bits) >>> 0 === ALL ? masked.of : register;
    return (this.of(number, 0) & bits) >>> 0 === bits;
  }

  /** What `x & mask` masks, and what shifting to the right and back does, or dividing and multiplying. */
  private masked(register: Register): { of: Register; mask: number } | undefined {
    const definition = this.definitions.get(register);
    if (definition === undefined) return undefined;
    if (definition.fn === 'convert') return this.masked(definition.a);
    const by = this.registers[definition.b].value;
    if (by === undefined) return undefined;
    if (definition.fn === 'and') return { of: definition.a, mask: by };
    const places = placesOf(definition.fn, 'shl', 'mul', by);
    const inner = places > 0 ? this.definitions.get(definition.a) : undefined;
    if (!inner || (inner.fn === 'div' && inner.type !== 'u32')) return undefined;
    return placesOf(inner.fn, 'shr', 'div', this.registers[inner.b].value) === places
      ? { of: inner.a, mask: ALL << places }
      : undefined;
  }

  private of(register: Register, depth: number): number {
    const { role, value, name } = this.registers[register];
    if (role === 'constant') return Number.isSafeInteger(value) ? ~Number(BigInt.asIntN(32, BigInt(value ?? 0))) : 0;
    if (role === 'input') return threadIndices.has(name) ? ~(MOST_THREADS - 1) : 0;
    const low = this.lowBits.lowZeros(this.formOf(register));
    const definition = this.definitions.get(register);
    return definition && depth < DEEPEST ? low | this.ofResult(definition, depth + 1) : low;
  }

  private ofResult({ fn, type, a, b }: Definition, depth: number): number {
    if (fn === 'convert') return this.of(a, depth);
    if (fn === 'and') return this.of(a, depth) | this.of(b, depth);
    if (fn === 'or' || fn === 'xor') return this.of(a, depth) & this.of(b, depth);
    const by = this.registers[b].value;
    if (by === undefined || by < 0 || by > 31) return 0;
    if (fn === 'shl') return (this.of(a, depth) << by) | (2 ** by - 1);
    return fn === 'shr' && type === 'u32' ? (this.of(a, depth) >>> by) | ~(ALL >>> by) : 0;
  }
}

/** By how many places an operation shifts a number, be it written as a product or a quotient. */
function placesOf(fn: string, shift: 'shl' | 'shr', times: 'mul' | 'div', by: number | undefined): number {
  if (by === undefined || by <= 0) return -1;
  if (fn === shift) return by;
  const places = Math.log2(by);
  return fn === times && Number.isInteger(places) ? places : -1;
}
