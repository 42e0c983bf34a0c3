/**
 * Low bits of integers that follow from their linear form: what a loop variable leaves when divided by the step of its loop is the same
 * in every pass, so that in the copies of a body that is written out `stage & 1` is a constant, and so are the addresses made of it. As in
 * NVVM (PTX of 17 small kernels, nvcc 13.0: loops with constant and open bounds, upwards and downwards, `&` and `%`, whole and by pragma).
 */
import type { Linear } from './linear';
import type { BinaryOp, Register, RegisterInfo, ScalarType } from './program';

/** The values that a register may have: remainder, remainder + modulus, … */
export interface Cycle {
  readonly modulus: number;
  readonly remainder: number;
  readonly isNonNegative: boolean;
}

export class LowBits {
  private readonly cycles = new Map<Register, Cycle>();

  constructor(private readonly registers: readonly RegisterInfo[]) {}

  know(register: Register, cycle: Cycle): void {
    this.cycles.set(register, cycle);
  }

  /** `a & by` or `a % by`, where the bits that matter are the same for all values. */
  fold(fn: BinaryOp, type: ScalarType, a: Linear | undefined, by: number | undefined): number | undefined {
    if (a === undefined || by === undefined || by <= 0 || by >= 2 ** 31) return undefined;
    if (fn === 'and') {
      const bits = this.remainder(a, 2 ** (32 - Math.clz32(by)));
      return bits === undefined ? undefined : bits & by;
    }
    if (fn !== 'rem' || !Number.isInteger(Math.log2(by))) return undefined;
    return type === 'u32' || type === 'u64' || this.isNonNegative(a) ? this.remainder(a, by) : undefined;
  }

  /** Whether the low bits of `a` are others than those of a number in all its values: a test for equality is decided then. */
  isNever(a: Linear | undefined, number: number | undefined): boolean {
    if (a === undefined || number === undefined || a.registers.length === 0) return false;
    let modulus = 2 ** 30;
    for (let k = 0; k < a.registers.length; k++) {
      const step = a.factors[k] * (this.cycles.get(a.registers[k])?.modulus ?? 1);
      if (!Number.isSafeInteger(step)) return false;
      while (step % modulus !== 0) modulus /= 2;
    }
    const bits = this.remainder(a, modulus);
    return bits !== undefined && bits !== ((number % modulus) + modulus) % modulus;
  }

  /** The lowest bits of a number as far as they are zero in all its values. */
  lowZeros(a: Linear | undefined): number {
    let modulus = 2 ** 30;
    while (a && modulus > 1 && this.remainder(a, modulus) !== 0) modulus /= 2;
    return a ? modulus - 1 : 0;
  }

  /** Of a division by a power of two, which wrapping around leaves as it is. */
  private remainder({ registers, factors, constant }: Linear, modulus: number): number | undefined {
    let sum = constant;
    for (let k = 0; k < registers.length; k++) {
      const factor = factors[k];
      const cycle = this.cycles.get(registers[k]);
      if ((factor * (cycle?.modulus ?? 1)) % modulus !== 0) return undefined;
      sum += factor * (cycle?.remainder ?? 0);
    }
    return ((sum % modulus) + modulus) % modulus;
  }

  private isNonNegative({ registers, factors, constant }: Linear): boolean {
    if (constant < 0) return false;
    for (let k = 0; k < registers.length; k++) {
      const register = registers[k];
      const isIndex = /^(threadIdx|blockIdx)/.test(this.registers[register].name ?? '');
      if (factors[k] < 0 || !(this.cycles.get(register)?.isNonNegative ?? isIndex)) return false;
    }
    return true;
  }
}
