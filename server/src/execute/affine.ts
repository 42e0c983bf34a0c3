/**
 * Proof that a period of a loop repeats. While the period is executed, every value gets the amount by which it will be
 * larger in the next period (its delta), by rules that are exact as long as no branch turns, no integer wraps and no
 * division steps over a multiple; each rule tells for how many further periods that is so. What has no rule ends the proof.
 */

import type { BinaryOp, CompareOp, Instruction, Program, Register, ScalarType } from '../program/program';
import { bytesOf } from '../program/program';
import { extremeOf, fewestUnchanged, passesUnchanged, ranges } from './affine-ranges';
import { numberOf } from './conversion';
import type { Frame } from './mask';
import { type Geometry, isFloat, isUnknownIn, KNOWN, type LaneValue, laneOf, MIXED, UNKNOWN } from './value';

/** The same for all lanes, or by lane. */
export type Delta = number | Float64Array;

/** A period is at most this many passes long. */
export const LONGEST_PERIOD = 128;

export function greatestCommonDivisor(a: number, b: number): number {
  let [x, y] = [Math.abs(a), Math.abs(b)];
  while (y !== 0) [x, y] = [y, x % y];
  return x;
}

/** What the proofs of one execution, of which there is one at a time, have by register: programs are large, and few registers move in a loop. */
export class ProofScratch {
  readonly deltas: Delta[];
  /** The proof that a delta is of; it is 0 where that is another. */
  readonly generations: Int32Array;
  generation = 0;

  constructor({ registers }: Program) {
    this.deltas = registers.map(() => 0);
    this.generations = new Int32Array(registers.length);
  }
}

export class Proof {
  /** Further periods for which everything stays as it is. */
  periods = Number.POSITIVE_INFINITY;
  /** The proof failed; a period longer by the factor may succeed (0: no idea). */
  failed = false;
  factor = 1;
  /** The accesses repeat only in a period longer by this factor. */
  required = 1;
  constructor(
    private readonly program: Program,
    private readonly values: readonly LaneValue[],
    private readonly geometry: Geometry,
    private readonly scratch: ProofScratch,
  ) {
    scratch.generation++;
  }

  delta(register: Register): Delta {
    const { generations, deltas, generation } = this.scratch;
    return generations[register] === generation ? deltas[register] : 0;
  }

  setDelta(register: Register, delta: Delta): void {
    const { generations, deltas, generation } = this.scratch;
    if (generations[register] !== generation) {
      if (delta === 0) return;
      generations[register] = generation;
    }
    deltas[register] = delta;
  }

  fail(factor = 0): void {
    this.failed = true;
    this.suggest(factor);
  }

  /** Something repeats only in a period longer by the factor. */
  require(factor: number): void {
    this.required = (this.required * factor) / greatestCommonDivisor(this.required, factor);
  }

  /** A period longer by the factor would need no limit here. */
  private suggest(factor: number): void {
    if (factor === 0 || this.factor === 0) {
      this.factor = this.factor === 1 ? 0 : this.factor;
      return;
    }
    this.factor = (this.factor * factor) / greatestCommonDivisor(this.factor, factor);
  }

  limit(periods: number): void {
    if (periods < this.periods) this.periods = Math.max(0, periods);
  }

  /** Deltas of the results, from the operands as they are before the instruction is executed. */
  before(instruction: Instruction, frame: Frame): Delta | undefined {
    if (this.failed) return undefined;
    switch (instruction.op) {
      case 'unary':
        return this.unary(instruction.fn, instruction.a, frame);
      case 'convert': {
        if (this.isConstant(instruction.a)) return 0;
        if (isFloat(instruction.from) || isFloat(instruction.type) || instruction.type === 'pred') return this.noRule();
        return this.delta(instruction.a);
      }
      case 'binary':
        return this.binary(instruction.fn, instruction.type, instruction.a, instruction.b, frame);
      case 'compare':
        return this.compare(instruction.fn, instruction.type, instruction.a, instruction.b, frame);
      case 'select': {
        const { p, a, b } = instruction;
        return this.each(frame, [p, a, b], (lane) => {
          if (isUnknownIn(this.values[p], lane)) return 0;
          const taken = laneOf(this.values[p], lane) !== 0 ? a : b;
          return isUnknownIn(this.values[taken], lane) ? 0 : this.at(taken, lane);
        });
      }
      case 'fma':
        if (this.isConstant(instruction.a) && this.isConstant(instruction.b) && this.isConstant(instruction.c))
          return 0;
        if (isFloat(instruction.type)) return this.noRule();
        return this.each(frame, [instruction.a, instruction.b, instruction.c], (lane) => {
          if (this.isUnknown(instruction.a, lane) || this.isUnknown(instruction.b, lane)) return 0;
          if (this.isUnknown(instruction.c, lane)) return 0;
          return this.product(instruction.type, instruction.a, instruction.b, lane) + this.at(instruction.c, lane);
        });
      case 'lane':
        return this.acrossLanes(instruction, frame);
      default:
        return 0;
    }
  }

  /** Notes the deltas of a result once it is computed. */
  after(register: Register, delta: Delta, frame: Frame): void {
    if (this.failed) return;
    const { type } = this.program.registers[register];
    const value = this.values[register];
    const range = ranges[type];
    let result = delta;
    if (delta !== 0 && range !== undefined && value.unknown !== UNKNOWN) {
      result = this.withinRange(register, delta, type === 'u64' ? 'i64' : type, range, frame);
    }
    if (!frame.full) this.mergeDelta(register, result, frame);
    else this.setDelta(register, result);
  }

  /** Limits the periods so that no lane of a result leaves the range of its type. */
  private withinRange(
    register: Register,
    delta: Delta,
    type: ScalarType,
    range: readonly [number, number],
    frame: Frame,
  ): Delta {
    const value = this.values[register];
    const width = range[1] - range[0] + 1;
    // Sums of narrow integers wrap: the step is the one of least magnitude that gives the same.
    const unwrapped = (step: number) =>
      width <= 2 ** 32 && Math.abs(step) > width / 2 ? step - Math.round(step / width) * width : step;
    const room = (step: number, now: number) =>
      Math.floor(step > 0 ? (range[1] - now) / step : (range[0] - now) / step);
    if (typeof delta === 'number' && value.unknown === KNOWN) {
      if (Math.abs(delta) > Number.MAX_SAFE_INTEGER) this.fail();
      const step = unwrapped(delta);
      if (step !== 0) this.limit(room(step, extremeOf(value, type, step > 0, frame)));
      return step;
    }
    const number = numberOf(type);
    const rule = (lane: number) => {
      const step = unwrapped(typeof delta === 'number' ? delta : delta[lane]);
      if (step === 0 || isUnknownIn(value, lane)) return 0;
      if (Math.abs(step) > Number.MAX_SAFE_INTEGER) return Number.NaN;
      this.limit(room(step, number(laneOf(value, lane))));
      return step;
    };
    return this.each(frame, [register], rule, delta);
  }

  private mergeDelta(register: Register, delta: Delta, frame: Frame): void {
    const old = this.delta(register);
    if (typeof old === 'number' && old === delta) return;
    const merged = typeof old === 'number' ? new Float64Array(this.geometry.lanes).fill(old) : old.slice();
    for (let lane = frame.lo; lane < frame.hi; lane++) {
      if (frame.mask.lanes[lane] !== 0) merged[lane] = typeof delta === 'number' ? delta : delta[lane];
    }
    this.setDelta(register, merged);
  }

  isConstant(register: Register): boolean {
    return this.delta(register) === 0;
  }

  at(register: Register, lane: number): number {
    const delta = this.delta(register);
    return typeof delta === 'number' ? delta : delta[lane];
  }

  private noRule(): undefined {
    this.fail();
    return undefined;
  }

  private isUnknown(register: Register, lane: number): boolean {
    return isUnknownIn(this.values[register], lane);
  }

  /** Asks a rule for every active lane, or once where all lanes agree; NaN fails. */
  private each(frame: Frame, registers: readonly Register[], rule: (lane: number) => number, other: Delta = 0): Delta {
    const { lanes } = frame.mask;
    const isUniform =
      typeof other === 'number' &&
      registers.every((register) => {
        const value = this.values[register];
        return (
          typeof this.delta(register) === 'number' &&
          value.unknown !== MIXED &&
          (value.uniform || value.unknown === UNKNOWN)
        );
      });
    if (isUniform) {
      let lane = frame.lo;
      while (lanes[lane] === 0 && lane < frame.hi - 1) lane++;
      const delta = rule(lane);
      if (Number.isNaN(delta)) this.fail();
      return delta;
    }
    const result = new Float64Array(this.geometry.lanes);
    let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (let lane = frame.lo; lane < frame.hi; lane++) {
      if (lanes[lane] === 0) continue;
      const delta = rule(lane);
      if (Number.isNaN(delta)) {
        this.fail();
        return 0;
      }
      result[lane] = delta;
      if (delta < least) least = delta;
      if (delta > most) most = delta;
    }
    return least === most ? least : result;
  }

  private unary(fn: string, a: Register, frame: Frame): Delta | undefined {
    if (this.isConstant(a)) return 0;
    const { type } = this.program.registers[a];
    if (fn === 'mov') return this.delta(a);
    if ((fn === 'neg' || fn === 'bitnot') && !isFloat(type) && type !== 'pred') {
      return this.each(frame, [a], (lane) => 0 - this.at(a, lane));
    }
    return this.noRule();
  }

  private product(type: ScalarType, a: Register, b: Register, lane: number): number {
    const [da, db] = [this.at(a, lane), this.at(b, lane)];
    if (da === 0 && db === 0) return 0;
    if (da !== 0 && db !== 0) return Number.NaN;
    const number = numberOf(type === 'u64' ? 'i64' : type);
    return da === 0 ? db * number(laneOf(this.values[a], lane)) : da * number(laneOf(this.values[b], lane));
  }

  private binary(fn: BinaryOp, type: ScalarType, a: Register, b: Register, frame: Frame): Delta | undefined {
    if (this.isConstant(a) && this.isConstant(b)) return 0;
    if (isFloat(type) || type === 'pred') return this.noRule();
    const same = this.sameInAllLanes(fn, type, a, b);
    if (same !== undefined) return same;
    const rule = this.ruleOf(fn, type, a, b);
    if (!rule) return this.noRule();
    return this.each(frame, [a, b], (lane) => {
      if (!this.isUnknown(a, lane) && !this.isUnknown(b, lane)) return rule(lane);
      return this.staysUnknown(fn, a, b, lane) ? 0 : Number.NaN;
    });
  }

  /** The delta of a sum or of a product with a scalar, where operands are known and move alike in all lanes. */
  private sameInAllLanes(fn: BinaryOp, type: ScalarType, a: Register, b: Register): number | undefined {
    const [da, db] = [this.delta(a), this.delta(b)];
    const [x, y] = [this.values[a], this.values[b]];
    if (typeof da !== 'number' || typeof db !== 'number' || (x.unknown | y.unknown) !== KNOWN) return undefined;
    if (fn === 'add') return da + db;
    if (fn === 'sub') return da - db;
    const number = numberOf(type === 'u64' ? 'i64' : type);
    if (fn === 'mul' && db === 0 && y.uniform) return da * number(y.scalar);
    if (fn === 'mul' && da === 0 && x.uniform) return db * number(x.scalar);
    const isShift = fn === 'shl' && db === 0 && y.uniform && y.scalar >= 0 && y.scalar < 8 * bytesOf[type];
    return isShift ? da * 2 ** y.scalar : undefined;
  }

  /** x & 0 is known although x is not: an operand that moves may come to that value, or leave it. */
  private staysUnknown(fn: BinaryOp, a: Register, b: Register, lane: number): boolean {
    const absorbing = fn === 'mul' || fn === 'and' ? 0 : fn === 'or' ? -1 : undefined;
    const known = isUnknownIn(this.values[a], lane) ? b : a;
    const step = this.at(known, lane);
    if (absorbing === undefined || step === 0 || isUnknownIn(this.values[known], lane)) return true;
    const difference = laneOf(this.values[known], lane) - absorbing;
    this.limit(passesUnchanged('eq', difference, step));
    return difference !== 0;
  }

  private ruleOf(fn: BinaryOp, type: ScalarType, a: Register, b: Register): ((lane: number) => number) | undefined {
    const number = numberOf(type);
    const x = (lane: number) => number(laneOf(this.values[a], lane));
    const y = (lane: number) => number(laneOf(this.values[b], lane));
    const dx = (lane: number) => this.at(a, lane);
    const dy = (lane: number) => this.at(b, lane);
    switch (fn) {
      case 'add':
        return (lane) => dx(lane) + dy(lane);
      case 'sub':
        return (lane) => dx(lane) - dy(lane);
      case 'mul':
        return (lane) => this.product(type, a, b, lane);
      case 'shl':
        return (lane) => {
          const count = laneOf(this.values[b], lane);
          return dy(lane) !== 0 ? Number.NaN : count >= 0 && count < 8 * bytesOf[type] ? dx(lane) * 2 ** count : 0;
        };
      case 'shr':
        return (lane) => {
          const count = laneOf(this.values[b], lane);
          if (dy(lane) !== 0 || count < 0 || count >= 8 * bytesOf[type]) return Number.NaN;
          this.keepSign(type, a, a, lane);
          return this.quotient(x(lane), dx(lane), 2 ** count).quotient;
        };
      case 'div':
      case 'rem':
        return (lane) => {
          const divisor = y(lane);
          if (dx(lane) === 0 && dy(lane) === 0) return 0;
          // Truncating division is flooring division where nothing is negative.
          if (dy(lane) !== 0 || divisor <= 0 || x(lane) < 0 || x(lane) > Number.MAX_SAFE_INTEGER) return Number.NaN;
          if (dx(lane) < 0) this.limit(Math.floor(x(lane) / -dx(lane)));
          const parts = this.quotient(x(lane), dx(lane), divisor);
          return fn === 'div' ? parts.quotient : parts.remainder;
        };
      case 'and':
      case 'or':
      case 'xor':
        return (lane) => {
          if (dx(lane) !== 0 && dy(lane) !== 0) return Number.NaN;
          const [held, other] = [laneOf(this.values[a], lane), laneOf(this.values[b], lane)];
          return dy(lane) === 0 ? this.bits(fn, held, dx(lane), other) : this.bits(fn, other, dy(lane), held);
        };
      case 'min':
      case 'max':
        return (lane) => {
          const [d, step] = [x(lane) - y(lane), dx(lane) - dy(lane)];
          const takesFirst = fn === 'min' ? d < 0 || (d === 0 && step <= 0) : d > 0 || (d === 0 && step >= 0);
          this.keepSign(type, a, b, lane);
          // The difference may come to zero, but not change its sign.
          if (d > 0 && step < 0) this.limit(Math.floor(d / -step));
          if (d < 0 && step > 0) this.limit(Math.floor(-d / step));
          return takesFirst ? dx(lane) : dy(lane);
        };
      default:
        return undefined;
    }
  }

  /** Steps of ⌊x / divisor⌋ and of the remainder, for x that moves by `step`. */
  private quotient(x: number, step: number, divisor: number): { quotient: number; remainder: number } {
    if (step % divisor === 0) return { quotient: step / divisor, remainder: 0 };
    const low = x - Math.floor(x / divisor) * divisor;
    this.limit(Math.floor(step > 0 ? (divisor - 1 - low) / step : low / -step));
    this.suggest(divisor / greatestCommonDivisor(step, divisor));
    return { quotient: 0, remainder: step };
  }

  /** Step of a bit operation of x, which moves, with a value that does not. */
  private bits(fn: 'and' | 'or' | 'xor', x: number, step: number, other: number): number {
    if (step === 0) return 0;
    if (other < 0) {
      // x & -2^j clears the low bits.
      const unit = -other;
      if (fn !== 'and' || unit % 1 !== 0 || !isPowerOfTwo(unit)) return Number.NaN;
      return this.quotient(x, step, unit).quotient * unit;
    }
    const unit = 2 ** Math.ceil(Math.log2(other + 1));
    if (fn === 'and' && unit === other + 1) return this.quotient(x, step, unit).remainder;
    if (step % unit === 0) return fn === 'and' ? 0 : step;
    this.fail(unit / greatestCommonDivisor(step, unit));
    return 0;
  }

  /** Unsigned 64-bit values are held signed: those that pass zero change their place in the order. */
  private keepSign(type: ScalarType, a: Register, b: Register, lane: number): void {
    if (type !== 'u64') return;
    for (const register of [a, b]) {
      const [now, step] = [laneOf(this.values[register], lane), this.at(register, lane)];
      if (now >= 0 && step < 0) this.limit(Math.floor(now / -step));
      if (now < 0 && step > 0) this.limit(Math.ceil(-now / step) - 1);
    }
  }

  private compare(fn: CompareOp, type: ScalarType, a: Register, b: Register, frame: Frame): Delta | undefined {
    if (this.isConstant(a) && this.isConstant(b)) return 0;
    if (isFloat(type)) return this.noRule();
    const number = numberOf(type);
    const [x, y] = [this.values[a], this.values[b]];
    const [dx, dy] = [this.delta(a), this.delta(b)];
    const moveAlike = typeof dx === 'number' && typeof dy === 'number' && (x.unknown | y.unknown) === KNOWN;
    if (moveAlike && dx === dy && type !== 'u64') return 0;
    if ((x.unknown | y.unknown) === KNOWN && type !== 'u64') {
      this.limit(fewestUnchanged(fn, type, x, dx, y, dy, frame));
      return 0;
    }
    return this.each(frame, [a, b], (lane) => {
      if (this.isUnknown(a, lane) || this.isUnknown(b, lane)) return 0;
      const difference = number(laneOf(this.values[a], lane)) - number(laneOf(this.values[b], lane));
      this.keepSign(type, a, b, lane);
      this.limit(passesUnchanged(fn, difference, this.at(a, lane) - this.at(b, lane)));
      return 0;
    });
  }

  private acrossLanes(instruction: Extract<Instruction, { op: 'lane' }>, frame: Frame): Delta | undefined {
    const { a, b, width } = instruction;
    const isMoving = (register: Register | undefined) => register !== undefined && !this.isConstant(register);
    if (isMoving(b) || isMoving(width)) return this.noRule();
    if (a === undefined || this.isConstant(a)) return 0;
    const delta = this.delta(a);
    if (!instruction.fn.startsWith('shuffle')) return this.noRule();
    if (typeof delta === 'number') return delta;
    const first = delta[frame.lo];
    for (let lane = frame.lo; lane < frame.hi; lane++) {
      if (frame.mask.lanes[lane] !== 0 && delta[lane] !== first) return this.noRule();
    }
    return first;
  }
}

function isPowerOfTwo(x: number): boolean {
  return x >= 1 && Number.isInteger(Math.log2(x));
}
