/**
 * Integers of which their operations say between which numbers they lie: `threadIdx.x & 31`, `threadIdx.x / 32 + 1`. What the launch gives is
 * taken to be any number, indices of threads too: the compiler asks nothing of them where it counts passes (PTX of 19 loops that start at one).
 */
import type { BinaryOp, Register, RegisterInfo, ScalarType } from './program';

export interface Interval {
  readonly least: number;
  readonly most: number;
}

const MOST_SIGNED = 2 ** 31 - 1;
const MOST_UNSIGNED = 2 ** 32 - 1;

export class Intervals {
  private readonly known = new Map<Register, Interval>();

  constructor(private readonly registers: readonly RegisterInfo[]) {}

  /** Undefined where it may be any number. */
  of(register: Register): Interval | undefined {
    const { role, value } = this.registers[register];
    return role === 'constant' && value !== undefined ? { least: value, most: value } : this.known.get(register);
  }

  convert(dst: Register, type: ScalarType, a: Register): void {
    this.know(dst, type, this.of(a));
  }

  binary(dst: Register, fn: BinaryOp, type: ScalarType, a: Register, b: Register): void {
    if (type === 'i32' || type === 'u32') this.know(dst, type, this.ofResult(fn, type, a, b));
  }

  private know(dst: Register, type: ScalarType, interval: Interval | undefined): void {
    const [least, most] = type === 'u32' ? [0, MOST_UNSIGNED] : [-MOST_SIGNED - 1, MOST_SIGNED];
    if (interval && (type === 'i32' || type === 'u32') && interval.least >= least && interval.most <= most)
      this.known.set(dst, interval);
  }

  private ofResult(fn: BinaryOp, type: 'i32' | 'u32', a: Register, b: Register): Interval | undefined {
    const [one, other] = [this.of(a), this.of(b)];
    if (fn === 'and') return notNegative([one, other].filter((each) => each !== undefined && each.least >= 0));
    if (fn === 'add') return one && other && { least: one.least + other.least, most: one.most + other.most };
    const by = this.registers[b].value;
    const operand = one ?? (type === 'u32' ? { least: 0, most: MOST_UNSIGNED } : undefined);
    if (by === undefined || by < 0 || !operand || operand.least < 0) return undefined;
    const changed = byConstant[fn];
    return changed && (by > 0 || fn !== 'div') ? changed(operand, by) : undefined;
  }
}

/** The smallest of those that a mask lets through. */
const notNegative = (intervals: readonly (Interval | undefined)[]): Interval | undefined =>
  intervals.length === 0 ? undefined : { least: 0, most: Math.min(...intervals.map((each) => each?.most ?? 0)) };

/** Of numbers that are not negative. */
const byConstant: Partial<Record<BinaryOp, (operand: Interval, by: number) => Interval | undefined>> = {
  shr: ({ least, most }, by) => ({ least: Math.floor(least / 2 ** by), most: Math.floor(most / 2 ** by) }),
  shl: ({ least, most }, by) => ({ least: least * 2 ** by, most: most * 2 ** by }),
  div: ({ least, most }, by) => ({ least: Math.floor(least / by), most: Math.floor(most / by) }),
  mul: ({ least, most }, by) => ({ least: least * by, most: most * by }),
  rem: ({ least, most }, by) => (by > 0 ? (most < by ? { least, most } : { least: 0, most: by - 1 }) : undefined),
};
