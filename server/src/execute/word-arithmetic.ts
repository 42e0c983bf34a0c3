/** Arithmetic on 64-bit integers in instructions of 32 bits, as compilers make it for machines that have no wider ones. */
import type {
  BinaryOp,
  CompareOp,
  Instruction,
  Register,
  RegisterInfo,
  ScalarType,
  UnaryOp,
  Words,
} from '../program/program';

export type Pair = Words;

export const isSigned = (type: ScalarType): boolean => type.startsWith('i');

const WORD = 32;
/** Bits of a digit of a long division. */
const DIGIT = 16;
const INTEGERS = /^[iu](?:8|16|32|64)$/;

export class WordArithmetic {
  private readonly constants = new Map<string, Register>();

  /** @param registers of the program, to which new ones are added @param emit takes the instructions */
  constructor(
    private readonly registers: RegisterInfo[],
    private readonly emit: (instruction: Instruction) => void,
  ) {}

  register(type: ScalarType, role: RegisterInfo['role'] = 'temporary'): Register {
    this.registers.push({ type, role });
    return this.registers.length - 1;
  }

  constant(value: bigint): Pair {
    const half = (bits: bigint) => this.number('u32', Number(BigInt.asUintN(WORD, bits)));
    return { low: half(value), high: half(value >> BigInt(WORD)) };
  }

  private number(type: ScalarType, value: number): Register {
    const key = `${type} ${value}`;
    let register = this.constants.get(key);
    if (register === undefined) {
      this.registers.push({ type, role: 'constant', value });
      this.constants.set(key, (register = this.registers.length - 1));
    }
    return register;
  }

  move(dst: Register, a: Register, type: ScalarType): void {
    this.emit({ op: 'unary', fn: 'mov', type, dst, a });
  }

  assign(to: Pair, from: Pair): void {
    this.move(to.low, from.low, 'u32');
    this.move(to.high, from.high, 'u32');
  }

  /** The number that two halves are: known where a double holds it. */
  join(dst: Register, { low, high }: Pair, type: ScalarType): void {
    const upper = this.wide('shl', type, this.converted(high, 'i32', type), this.number('u32', WORD));
    this.emit({ op: 'binary', fn: 'add', type, dst, a: upper, b: this.converted(low, 'u32', type) });
  }

  split(register: Register): Pair {
    const { type } = this.registers[register];
    if (type !== 'i64' && type !== 'u64') return this.splitShort(register, type);
    const upper = this.wide('shr', 'u64', register, this.number('u32', WORD));
    return { low: this.converted(register, type, 'u32'), high: this.converted(upper, 'u64', 'u32') };
  }

  /** An operand that is narrower than its instruction. */
  private splitShort(register: Register, type: ScalarType): Pair {
    const low = this.converted(register, type, 'u32');
    return {
      low,
      high: isSigned(type) ? this.word('shr', low, this.number('u32', WORD - 1), 'i32') : this.number('u32', 0),
    };
  }

  /** A count of bits. */
  narrow(register: Register): Register {
    const { type } = this.registers[register];
    return type === 'u32' || type === 'i32' ? register : this.converted(register, type, 'u32');
  }

  private converted(a: Register, from: ScalarType, type: ScalarType): Register {
    if (from === type) return a;
    const dst = this.register(type);
    this.emit({ op: 'convert', from, type, dst, a });
    return dst;
  }

  private wide(fn: BinaryOp, type: ScalarType, a: Register, b: Register): Register {
    const dst = this.register(type);
    this.emit({ op: 'binary', fn, type, dst, a, b });
    return dst;
  }

  private word(fn: BinaryOp, a: Register, b: Register, type: ScalarType = 'u32'): Register {
    return this.wide(fn, type, a, b);
  }

  unary(fn: UnaryOp, a: Register): Register {
    const dst = this.register('u32');
    this.emit({ op: 'unary', fn, type: 'u32', dst, a });
    return dst;
  }

  private compared(fn: CompareOp, a: Register, b: Register, type: ScalarType = 'u32'): Register {
    const dst = this.register('pred');
    this.emit({ op: 'compare', fn, type, dst, a, b });
    return dst;
  }

  private chosen(p: Register, a: Register, b: Register, type: ScalarType = 'u32'): Register {
    const dst = this.register(type);
    this.emit({ op: 'select', type, dst, p, a, b });
    return dst;
  }

  byHalves(fn: 'and' | 'or' | 'xor', a: Pair, b: Pair): Pair {
    return { low: this.word(fn, a.low, b.low), high: this.word(fn, a.high, b.high) };
  }

  select(p: Register, a: Pair, b: Pair): Pair {
    return { low: this.chosen(p, a.low, b.low), high: this.chosen(p, a.high, b.high) };
  }

  /** 1 where the sum of words was more than a word holds. */
  private carry(sum: Register, addend: Register): Register {
    return this.chosen(this.compared('lt', sum, addend), this.number('u32', 1), this.number('u32', 0));
  }

  add(a: Pair, b: Pair): Pair {
    const low = this.word('add', a.low, b.low);
    const high = this.word('add', this.word('add', a.high, b.high), this.carry(low, a.low));
    return { low, high };
  }

  subtract(a: Pair, b: Pair): Pair {
    const low = this.word('sub', a.low, b.low);
    const high = this.word('sub', this.word('sub', a.high, b.high), this.carry(a.low, b.low));
    return { low, high };
  }

  private product(a: Register, b: Register): Pair {
    return { low: this.word('mul', a, b), high: this.word('mulhi', a, b) };
  }

  multiply(a: Pair, b: Pair): Pair {
    const { low, high } = this.product(a.low, b.low);
    const crossed = this.word('add', this.word('mul', a.low, b.high), this.word('mul', a.high, b.low));
    return { low, high: this.word('add', high, crossed) };
  }

  /** The upper 64 bits of an unsigned product of 128. */
  multiplyHigh(a: Pair, b: Pair): Pair {
    const zero = this.number('u32', 0);
    const alone = (low: Register): Pair => ({ low, high: zero });
    const first = this.add(this.product(a.low, b.high), alone(this.product(a.low, b.low).high));
    const second = this.add(this.product(a.high, b.low), alone(first.low));
    return this.add(this.add(this.product(a.high, b.high), alone(first.high)), alone(second.high));
  }

  /** Counts of 32 and more give 0, as in PTX: what a shift by `count - 32` or `32 - count` gives is 0 where that is negative, so all three parts are joined. */
  shiftLeft({ low, high }: Pair, count: Register): Pair {
    const word = this.number('u32', WORD);
    const over = this.word('shl', low, this.word('sub', count, word));
    const across = this.word('shr', low, this.word('sub', word, count));
    return {
      low: this.word('shl', low, count),
      high: this.word('or', this.word('or', this.word('shl', high, count), across), over),
    };
  }

  shiftRight({ low, high }: Pair, count: Register, signed: boolean): Pair {
    const word = this.number('u32', WORD);
    const across = this.word('shl', high, this.word('sub', word, count));
    const near = this.word('or', this.word('shr', low, count), across);
    const over = this.word('shr', high, this.word('sub', count, word), signed ? 'i32' : 'u32');
    return {
      low: this.chosen(this.compared('lt', count, word), near, over),
      high: this.word('shr', high, count, signed ? 'i32' : 'u32'),
    };
  }

  compare(fn: CompareOp, a: Pair, b: Pair, signed: boolean): Register {
    const low = this.compared(fn, a.low, b.low);
    const high = this.compared(fn, a.high, b.high, signed ? 'i32' : 'u32');
    // where the upper halves are equal the lower ones decide, for all six
    return this.chosen(this.compared('eq', a.high, b.high), low, high, 'pred');
  }

  /** Conversions of a large number; false for types that are not made of halves. */
  convert(dst: Register, { low, high }: Pair, from: ScalarType, type: ScalarType): boolean {
    if (type === 'f64' || type === 'f32') {
      const upper = this.converted(high, isSigned(from) ? 'i32' : 'u32', 'f64');
      const scaled = this.wide('mul', 'f64', upper, this.number('f64', 2 ** WORD));
      const sum = this.wide('add', 'f64', scaled, this.converted(low, 'u32', 'f64'));
      if (type === 'f64') this.move(dst, sum, 'f64');
      else this.emit({ op: 'convert', from: 'f64', type, dst, a: sum });
      return true;
    }
    if (!INTEGERS.test(type) || type.endsWith('64')) return false;
    if (type === 'u32') this.move(dst, low, 'u32');
    else this.emit({ op: 'convert', from: 'u32', type, dst, a: low });
    return true;
  }

  /** Bits that are set, zeros in front, the place of the lowest bit. */
  count(fn: UnaryOp, dst: Register, { low, high }: Pair, type: ScalarType): boolean {
    if (fn !== 'popc' && fn !== 'clz' && fn !== 'ffs') return false;
    const [lower, upper] = [this.unary(fn, low), this.unary(fn, high)];
    const zero = this.number('u32', 0);
    const sum = (a: Register) => this.word('add', a, this.number('u32', WORD));
    const result =
      fn === 'popc'
        ? this.word('add', lower, upper)
        : fn === 'clz'
          ? this.chosen(this.compared('ne', high, zero), upper, sum(lower))
          : this.chosen(
              this.compared('ne', low, zero),
              lower,
              this.chosen(this.compared('ne', high, zero), sum(upper), zero),
            );
    this.emit({ op: 'convert', from: 'u32', type, dst, a: result });
    return true;
  }

  /**
   * Unsigned, by a number that a double holds: schoolbook, some digits of 16 bits after the other. Known where the divisor is below 2^37, or
   * what is divided is small.
   * @param isBelow the divisor is known to be below 2^21: two digits at a time
   */
  quotient(a: Pair, by: Register, isBelow: boolean): Pair {
    const { quotients } = this.divided(a, by, isBelow);
    const [low, high] = isBelow
      ? [quotients.slice(1), quotients.slice(0, 1)]
      : [quotients.slice(2), quotients.slice(0, 2)];
    const half = (digits: readonly Register[]): Register => {
      const [upper, lower] = digits.map((digit) => this.converted(digit, 'u64', 'u32'));
      if (lower === undefined) return upper;
      return this.word('or', this.word('shl', upper, this.number('u32', DIGIT)), lower);
    };
    return { low: half(low), high: half(high) };
  }

  remainder(dst: Register, a: Pair, by: Register, isBelow: boolean): void {
    this.emit({ op: 'unary', fn: 'mov', type: 'u64', dst, a: this.divided(a, by, isBelow).rest });
  }

  /** Digits of the quotient, from the highest, and what is left. */
  private divided({ low, high }: Pair, by: Register, isBelow: boolean): { quotients: Register[]; rest: Register } {
    const [width, digits] = isBelow
      ? [WORD, [high, low]]
      : [
          DIGIT,
          [high, low].flatMap((half) => [this.word('shr', half, this.number('u32', DIGIT)), this.lowDigit(half)]),
        ];
    const quotients: Register[] = [];
    let rest: Register | undefined;
    for (const digit of digits) {
      const next = this.converted(digit, 'u32', 'u64');
      const dividend: Register =
        rest === undefined
          ? next
          : this.wide('add', 'u64', this.wide('shl', 'u64', rest, this.number('u32', width)), next);
      quotients.push(this.wide('div', 'u64', dividend, by));
      rest = this.wide('rem', 'u64', dividend, by);
    }
    return { quotients, rest: rest ?? by };
  }

  private lowDigit(half: Register): Register {
    return this.word('and', half, this.number('u32', 2 ** DIGIT - 1));
  }
}
