import type { BinaryOp, Register, RegisterInfo, ScalarType } from './program';

/**
 * What the compiler knows of terms that come together (nvcc 13.0, sm_90, loads of two neighbours of a shared array, machine code of 110 kernels):
 * multiples of one sum are one multiple of it (`tx * 17 + tx`, `y * 17 + y` with y = 16 - tx); others are as long as a positive power of two
 * comes out and nothing else is in them (`t[tx][tx]` with rows of 15, 7 or 3, `(tx + 2) * 17 - tx`), and of no other is it known that its
 * factor is even: `t[16 - tx][tx]` with rows of 17 steps by 64 bytes, and its neighbours are not merged.
 */

/** Σ factor·register + constant. Registers are stable ones (never reassigned), in ascending order; lists, as there is a form for nearly every register. */
export interface Linear {
  readonly registers: readonly Register[];
  /** By place in `registers`; none is zero. */
  readonly factors: readonly number[];
  readonly constant: number;
  /** By place: powers of two that the compiler knows the terms to be multiples of, where it knows less than the factors tell. */
  readonly grains?: readonly number[];
}

const integer = new Set<ScalarType>(['i32', 'u32', 'i64', 'u64']);
const isWord = (type: ScalarType): boolean => type === 'i64' || type === 'u64';
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

  private readonly isBase = (register: Register): boolean => {
    const { role, type } = this.registers[register];
    return role === 'input' && isWord(type);
  };

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
    const sum = sumOf(left, right, sign, left.constant + sign * right.constant, this.isBase);
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

  /** A number with bits set that it does not have. */
  setBits(dst: Register, a: Register, bits: number): void {
    const form = this.of(a);
    if (form) this.set(dst, { ...form, constant: form.constant + bits });
  }

  private add(dst: Register, a: Register, b: Register, sign: number): void {
    const fa = this.of(a);
    const fb = this.of(b);
    if (!fa || !fb) return;
    const constant = fa.constant + sign * fb.constant;
    // what another constant is added to keeps its terms
    if (fb.registers.length === 0) this.set(dst, { ...fa, constant });
    else this.set(dst, sumOf(fa, fb, sign, constant, this.isBase));
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
    if (!form || (isWord(from) && !isWord(to) && form.registers.some(this.isLong))) return;
    const widens = from === 'i32' || from === 'i64' || from === 'u64' || to === 'i32' || to === 'u32';
    if (widens || this.isBounded(form)) this.set(dst, from === 'u32' && to === 'i32' ? asSigned(form) : form);
  }

  /** Computed or loaded with 64 bits: cut to 32 it is another number, for which the compiler reads the low half only. */
  private readonly isLong = (register: Register): boolean => {
    const { role, type } = this.registers[register];
    return role === 'temporary' && isWord(type);
  };

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

function scaled({ registers, factors, constant, grains }: Linear, factor: number): Linear {
  if (factor === 0) return { registers: none, factors: none, constant: constant * factor };
  return {
    registers,
    factors: factors.map((f) => f * factor),
    constant: constant * factor,
    grains: grains?.map((grain) => grain * lowestBit(factor)),
  };
}

/** The largest power of two that divides a number other than zero. */
export function lowestBit(factor: number): number {
  let bit = 1;
  for (let rest = Math.abs(factor); rest % 2 === 0; rest /= 2) bit *= 2;
  return bit;
}

const grainOf = ({ factors, grains }: Linear, k: number): number => grains?.[k] ?? lowestBit(factors[k]);

/** Whether one is a multiple of the other. @param isBase added to the one: the address of an array, which leaves constants open */
function areMultiples(a: Linear, b: Linear, isBase?: (register: Register) => boolean): boolean {
  const terms = a.registers.map((register, k) => ({ register, factor: a.factors[k] }));
  const own = isBase ? terms.filter(({ register }) => !isBase(register)) : terms;
  if (own.length !== b.registers.length || own.length === 0) return false;
  const [{ factor }] = own;
  const isSame = (k: number) =>
    own[k].register === b.registers[k] && own[k].factor * b.factors[0] === factor * b.factors[k];
  const areConstants = isBase !== undefined || a.constant * b.factors[0] === factor * b.constant;
  return areConstants && own.every((_, k) => isSame(k));
}

const isPowerOfTwo = (n: number): boolean => n > 0 && lowestBit(n) === n;

/** The terms of a and those of b times the sign, by register. */
function sumOf(a: Linear, b: Linear, sign: number, constant: number, isBase: (register: Register) => boolean): Linear {
  const registers: Register[] = [];
  const factors: number[] = [];
  const together: number[] = [];
  let grains: number[] | undefined;
  for (let i = 0, k = 0; i < a.registers.length || k < b.registers.length; ) {
    const first = i < a.registers.length ? a.registers[i] : Number.POSITIVE_INFINITY;
    const second = k < b.registers.length ? b.registers[k] : Number.POSITIVE_INFINITY;
    const left = first <= second ? i++ : -1;
    const right = second <= first ? k++ : -1;
    const factor = (left < 0 ? 0 : a.factors[left]) + (right < 0 ? 0 : sign * b.factors[right]);
    if (factor === 0) continue;
    if (first === second || a.grains || b.grains) {
      grains ??= factors.map(lowestBit);
      if (first === second) together.push(registers.length);
    }
    grains?.push(
      Math.min(left < 0 ? lowestBit(factor) : grainOf(a, left), right < 0 ? lowestBit(factor) : grainOf(b, right)),
    );
    registers.push(Math.min(first, second));
    factors.push(factor);
  }
  if (!grains) return { registers, factors, constant };
  const others = registers.filter((register) => !isBase(register)).length;
  for (const at of together) {
    const isKnown = isPowerOfTwo(factors[at]) ? others === 1 || areMultiples(a, b, isBase) : areMultiples(a, b);
    if (isKnown) grains[at] = lowestBit(factors[at]);
  }
  return grains.every((grain, k) => grain >= lowestBit(factors[k]))
    ? { registers, factors, constant }
    : { registers, factors, constant, grains };
}
