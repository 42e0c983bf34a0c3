import type { BinaryOp, Register, RegisterInfo, ScalarType } from './program';

/** Σ factor·register + constant. Registers are stable ones (never reassigned), in ascending order; lists, as there is a form for nearly every register. */
export interface Linear {
  readonly registers: readonly Register[];
  /** By place in `registers`; none is zero. */
  readonly factors: readonly number[];
  readonly constant: number;
}

const integer = new Set<ScalarType>(['i32', 'u32', 'i64', 'u64']);
const MAX_TERMS = 12;
const none: readonly number[] = [];
const once: readonly number[] = [1];

/**
 * Linear forms of integer registers. As the compiler does, signed 32-bit arithmetic is taken not to overflow (that would be
 * undefined), so that `(long)(i + 1)` is `(long)i + 1`; unsigned 32-bit sums keep their form only within 32 bits, unless
 * they are built from thread and block indices alone, whose ranges are known.
 */
export class LinearForms {
  private readonly forms = new Map<Register, Linear>();
  constructor(private readonly registers: readonly RegisterInfo[]) {}

  /** The form of a register; one that nothing is known of is its own term. */
  of(register: Register): Linear | undefined {
    const info = this.registers[register];
    if (!integer.has(info.type)) return undefined;
    if (info.role === 'constant') return { registers: none, factors: none, constant: info.value ?? 0 };
    const known = this.forms.get(register);
    if (known) return known;
    if (info.role === 'variable') return undefined;
    const own: Linear = { registers: [register], factors: once, constant: 0 };
    this.forms.set(register, own);
    return own;
  }

  /**
   * What a sum of one type comes to if its terms cancel: `(i + 2) - 1` is `i + 1`, `(i + s) - s` is `i`.
   * @returns the register and what is added to it; undefined when it stays a sum
   */
  simplerSum(fn: 'add' | 'sub', type: ScalarType, a: Register, b: Register): [Register, number] | undefined {
    const fa = this.known(a);
    const fb = this.known(b);
    if (!fa && !fb) return undefined;
    const left = fa ?? this.of(a);
    const right = fb ?? this.of(b);
    if (!left || !right || left.registers.length + right.registers.length > 3) return undefined;
    const sign = fn === 'add' ? 1 : -1;
    const sum = sumOf(left, right, sign, left.constant + sign * right.constant);
    if (sum.registers.length !== 1 || sum.factors[0] !== 1 || Math.abs(sum.constant) >= 2 ** 31) return undefined;
    const [register] = sum.registers;
    return this.registers[register].type === type ? [register, sum.constant] : undefined;
  }

  /** The form of what was computed. */
  private known(register: Register): Linear | undefined {
    const form = this.forms.get(register);
    return form && (form.registers.length !== 1 || form.registers[0] !== register) ? form : undefined;
  }

  scale(dst: Register, a: Register, factor: number): void {
    const form = this.of(a);
    if (form) this.set(dst, scaled(form, factor));
  }

  binary(dst: Register, fn: BinaryOp, type: ScalarType, a: Register, b: Register): void {
    if (!integer.has(type)) return;
    if (fn === 'add' || fn === 'sub') this.add(dst, a, b, fn === 'add' ? 1 : -1);
    else if (fn === 'mul' || fn === 'shl') this.multiply(dst, fn, a, b);
  }

  private add(dst: Register, a: Register, b: Register, sign: number): void {
    const fa = this.of(a);
    const fb = this.of(b);
    if (!fa || !fb) return;
    const constant = fa.constant + sign * fb.constant;
    // what another constant is added to keeps its terms
    if (fb.registers.length === 0) this.set(dst, { registers: fa.registers, factors: fa.factors, constant });
    else this.set(dst, sumOf(fa, fb, sign, constant));
  }

  private multiply(dst: Register, fn: 'mul' | 'shl', a: Register, b: Register): void {
    const factorOf = (r: Register) => (this.registers[r].role === 'constant' ? this.registers[r].value : undefined);
    const fb = factorOf(b);
    if (fn === 'shl') {
      if (fb !== undefined && fb >= 0 && fb < 31) this.scale(dst, a, 2 ** fb);
      return;
    }
    if (fb !== undefined) this.scale(dst, a, fb);
    else {
      const fa = factorOf(a);
      if (fa !== undefined) this.scale(dst, b, fa);
    }
  }

  convert(dst: Register, a: Register, from: ScalarType, to: ScalarType): void {
    if (!integer.has(from) || !integer.has(to)) return;
    const form = this.of(a);
    if (!form) return;
    const widens = from === 'i32' || from === 'i64' || from === 'u64' || to === 'i32' || to === 'u32';
    if (widens || this.isBounded(form)) this.set(dst, from === 'u32' && to === 'i32' ? asSigned(form) : form);
  }

  /** Thread and block indices with non-negative small factors cannot wrap in practice. */
  private isBounded(form: Linear): boolean {
    for (let k = 0; k < form.registers.length; k++) {
      const register = form.registers[k];
      const factor = form.factors[k];
      if (this.registers[register].role !== 'input' || factor < 0 || factor > 4096) return false;
      if (this.registers[register].name?.startsWith('threadIdx') !== true) return false;
    }
    return form.constant >= 0;
  }

  private set(dst: Register, form: Linear): void {
    if (this.registers[dst].role === 'constant' || form.registers.length > MAX_TERMS) return;
    if (!Number.isSafeInteger(form.constant)) return;
    this.forms.set(dst, form);
  }
}

/** Sums of 32 bits that were unsigned: 4294967295 more is one less. */
function asSigned(form: Linear): Linear {
  const constant = form.constant | 0;
  return constant === form.constant ? form : { ...form, constant };
}

function scaled({ registers, factors, constant }: Linear, factor: number): Linear {
  if (factor === 0) return { registers: none, factors: none, constant: constant * factor };
  return { registers, factors: factors.map((f) => f * factor), constant: constant * factor };
}

/** The terms of a and those of b times the sign, by register. */
function sumOf(a: Linear, b: Linear, sign: number, constant: number): Linear {
  const registers: Register[] = [];
  const factors: number[] = [];
  for (let i = 0, k = 0; i < a.registers.length || k < b.registers.length; ) {
    const first = i < a.registers.length ? a.registers[i] : Number.POSITIVE_INFINITY;
    const second = k < b.registers.length ? b.registers[k] : Number.POSITIVE_INFINITY;
    const factor = (first <= second ? a.factors[i++] : 0) + (second <= first ? sign * b.factors[k++] : 0);
    if (factor === 0) continue;
    registers.push(Math.min(first, second));
    factors.push(factor);
  }
  return { registers, factors, constant };
}
