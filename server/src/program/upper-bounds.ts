/** Constants that registers never exceed, as far as the program says so itself: `min(n, 16)`, `n & 15`, `n < 16 ? n : 16`. */
import type { BinaryOp, CompareOp, Register } from './program';

export class UpperBounds {
  private readonly bounds = new Map<Register, number>();
  /** Of comparisons with a constant: the register and the constant that it is at least or at most. */
  private readonly compared = new Map<Register, { readonly register: Register; readonly isBelow: boolean }>();

  /** The largest value of a register; undefined where nothing limits it. */
  of(register: Register): number | undefined {
    return this.bounds.get(register);
  }

  /** @param constant the value of the operand that is one */
  binary(dst: Register, fn: BinaryOp, constant: number): void {
    if (fn === 'min' || (fn === 'and' && constant >= 0)) this.bounds.set(dst, constant);
  }

  compare(dst: Register, fn: CompareOp, a: Register): void {
    if (fn === 'eq' || fn === 'ne') return;
    this.compared.set(dst, { register: a, isBelow: fn === 'lt' || fn === 'le' });
  }

  /** `p ? a : b`, with the values of `a` and `b` where they are constants */
  select(dst: Register, p: Register, a: Register, b: Register, ca: number | undefined, cb: number | undefined): void {
    const test = this.compared.get(p);
    if (test?.isBelow && test.register === a && cb !== undefined) this.bounds.set(dst, cb);
    if (test && !test.isBelow && test.register === b && ca !== undefined) this.bounds.set(dst, ca);
  }

  /** A value made wider or of another sign. */
  copy(dst: Register, from: Register): void {
    const bound = this.bounds.get(from);
    if (bound !== undefined) this.bounds.set(dst, bound);
  }
}
