/**
 * 64-bit integers that a double does not hold (hashes, generators of random numbers, keys that carry an index in their low half): the same program
 * with two registers of 32 bits for each of them. What reads them as one number still has the register of 64 bits, which is known where it fits
 * into a double. Accesses, branches and blocks stay as they are.
 */
import { aliasClasses } from '../program/aliasing';
import { readsOf, writesOf } from '../program/operands';
import type { Instruction, Program, Register, RegisterInfo, ScalarType } from '../program/program';
import { isSigned, type Pair, WordArithmetic } from './word-arithmetic';

const known = new WeakMap<Program, Program>();

/** Made once for each program; the program itself where nothing in it can become so large. */
export function asWordPairs(program: Program): Program {
  let paired = known.get(program);
  if (!paired) known.set(program, (paired = new WordPairs(program).program()));
  return paired;
}

const isLong = (type: ScalarType): boolean => type === 'i64' || type === 'u64';

type Unary = Instruction & { op: 'unary' };
type Binary = Instruction & { op: 'binary' };

/** Operations whose result is as large as an operand, or larger. */
const carrying = new Set([
  'add',
  'sub',
  'mul',
  'div',
  'and',
  'or',
  'xor',
  'shl',
  'shr',
  'min',
  'max',
  'mov',
  'neg',
  'bitnot',
  'brev',
]);
/** Of a mask. */
const countsBits = new Set(['popc', 'clz', 'ffs']);
/** Factors and shifts of addresses: what they give is no larger than memory. */
const MOST_FACTOR = 2 ** 20;
const MOST_SHIFT = 20;
/** Divisors below need two steps of a long division, others four. */
const SHORT_DIVISOR = 2 ** 21;

class WordPairs {
  private readonly registers: RegisterInfo[];
  private readonly pairs = new Map<Register, Pair>();
  /** By access: 1 where 64-bit numbers in memory are moved as words, as all that may touch the same bytes do. */
  private readonly inWords: Uint8Array;
  private code: Instruction[] = [];
  private readonly words: WordArithmetic;
  /** Powers of two with an exponent that the program computes, or too large for a double (`1ull << 63`), by what holds them: the exponents. */
  private readonly exponents = new Map<Register, Register>();

  constructor(private readonly original: Program) {
    this.registers = [...original.registers];
    this.inWords = new Uint8Array(original.accesses.length);
    this.words = new WordArithmetic(this.registers, (i) => this.code.push(i));
  }

  program(): Program {
    const large = this.largeRegisters();
    if (large.size === 0) return this.original;
    for (const register of large) {
      const { role } = this.registers[register];
      this.pairs.set(register, { low: this.words.register('u32', role), high: this.words.register('u32', role) });
    }
    const blocks = this.original.blocks.map((block) => {
      this.code = [];
      for (const i of block.instructions) this.rewrite(i);
      return { ...block, instructions: this.code };
    });
    return { ...this.original, registers: this.registers, blocks };
  }

  /** Registers of 64 bits that may hold more than a double does: what begins large, and what is made of it. */
  private largeRegisters(): Set<Register> {
    const large = new Set<Register>();
    const all = this.original.blocks.flatMap(({ instructions }) => instructions);
    for (const i of all)
      if (i.op === 'binary' && i.fn === 'shl' && isLong(i.type) && this.valueOf(i.a) === 1 && this.isTemporary(i.dst))
        this.exponents.set(i.dst, i.b);
    const add = (r: Register) => {
      if (isLong(this.registers[r].type)) large.add(r);
    };
    for (const i of all) if (this.beginsLarge(i)) writesOf(i).forEach(add);
    const halved = this.halvedRegisters(all);
    let hasMore = true;
    while (hasMore) {
      const before = large.size;
      const asked = halved.size;
      for (const i of all) if (this.passesOn(i) && readsOf(i).some((r) => large.has(r))) writesOf(i).forEach(add);
      hasMore = large.size !== before;
      for (const i of all) {
        if (!isMove(i) || !isLong(i.type)) continue;
        const isLarge =
          writesOf(i).some((r) => halved.has(r)) || (i.op !== 'load' && valuesOf(i).some((r) => large.has(r)));
        if (isLarge && this.inWords[i.access] === 0) {
          this.moveInWords(i.access);
          hasMore = true;
        }
        if (this.inWords[i.access] === 1) writesOf(i).forEach(add);
        // what is stored there is asked for in halves where it comes from
        if (this.inWords[i.access] === 1 && i.op !== 'load') for (const r of valuesOf(i)) halved.add(r);
      }
      throughCopies(all, halved);
      hasMore ||= large.size !== before || halved.size !== asked;
    }
    return large;
  }

  private moveInWords(access: number): void {
    const classes = aliasClasses(this.original);
    const touched = classes.aliasing[classes.of[access]];
    for (let other = 0; other < this.inWords.length; other++)
      if (touched.includes(classes.of[other])) this.inWords[other] = 1;
  }

  /** Whether what an instruction makes of a large number is large. */
  private passesOn(i: Instruction): boolean {
    if (i.op === 'binary' && i.fn === 'rem') return isLong(i.type) && this.exponents.has(i.b);
    if (i.op === 'unary' || i.op === 'binary') return isLong(i.type) && carrying.has(i.fn);
    if (i.op === 'lane') return i.fn.startsWith('shuffle');
    if (i.op === 'convert') return isLong(i.from) && isLong(i.type);
    return i.op === 'select' || (i.op === 'fma' && isLong(i.type));
  }

  /** Numbers of which halves are asked for, as of a key that holds an index, that are compared, or whose bits are mixed, counted or looked for. */
  private halvedRegisters(all: readonly Instruction[]): Set<Register> {
    const halved = new Set<Register>();
    for (const i of all) {
      if (i.op === 'unary' && countsBits.has(i.fn) && isLong(this.registers[i.a].type)) halved.add(i.a);
      if (i.op === 'compare' && isLong(i.type)) for (const r of readsOf(i)) halved.add(r);
      if (i.op !== 'binary' || !isLong(i.type)) continue;
      const isHalved = i.fn === 'shr' && (this.valueOf(i.b) ?? 0) > MOST_SHIFT;
      const isMixed = i.fn === 'xor' || (i.fn === 'mul' && this.hasConstant(i) && this.beginsLarge(i));
      if (isHalved || isMixed) for (const r of readsOf(i)) halved.add(r);
    }
    throughCopies(all, halved);
    return halved;
  }

  private beginsLarge(i: Instruction): boolean {
    if (i.op === 'unary') return isLong(i.type) && (i.fn === 'bitnot' || i.fn === 'brev');
    if (i.op === 'fma') return isLong(i.type) && this.isLargeProduct(i.a, i.b);
    if (i.op !== 'binary' || !isLong(i.type)) return false;
    if (i.fn === 'mul') return this.isLargeProduct(i.a, i.b);
    if (i.fn === 'mulhi') return i.type === 'u64';
    if (i.fn === 'shl') {
      const [number, by] = [this.valueOf(i.a) ?? 0, this.valueOf(i.b) ?? Number.POSITIVE_INFINITY];
      return by > MOST_SHIFT || Math.abs(number) * 2 ** by > Number.MAX_SAFE_INTEGER;
    }
    return i.fn === 'xor';
  }

  private hasConstant({ a, b }: Binary): boolean {
    return this.valueOf(a) !== undefined || this.valueOf(b) !== undefined;
  }

  private isLargeProduct(a: Register, b: Register): boolean {
    const factor = this.valueOf(a) ?? this.valueOf(b);
    return factor === undefined || Math.abs(factor) > MOST_FACTOR;
  }

  private isTemporary(register: Register): boolean {
    return this.original.registers[register].role === 'temporary';
  }

  private valueOf(register: Register): number | undefined {
    const { role, value } = this.original.registers[register];
    return role === 'constant' ? value : undefined;
  }

  private rewrite(i: Instruction): void {
    if (isMove(i) && isLong(i.type) && this.inWords[i.access] === 1) {
      this.move(i);
      return;
    }
    const written = writesOf(i).filter((r) => this.pairs.has(r));
    const [dst] = written;
    const pair = written.length === 1 ? this.pairOfResult(i) : undefined;
    if (pair) {
      // biome-ignore lint/style/noNonNullAssertion: only registers that have a pair are left in `written`
      this.words.assign(this.pairs.get(dst)!, pair);
      this.words.join(dst, pair, this.registers[dst].type);
      return;
    }
    if (!this.readsHalves(i)) this.code.push(i);
    for (const register of written) {
      const held = this.pairs.get(register);
      if (held) this.words.assign(held, this.words.split(register));
    }
  }

  /** A load or store of 64-bit numbers is one of twice as many words, an atomic has its operands in words as well. */
  private move(i: Move): void {
    const { words } = this;
    if (i.op === 'atomic') {
      const old: Pair = { low: words.register('u32'), high: words.register('u32') };
      const compare = i.compare === undefined ? undefined : this.halves(i.compare);
      const { dst } = i;
      this.code.push({ ...i, dst: undefined, words: { dst: old, value: this.halves(i.value), compare } });
      if (dst !== undefined) this.give(dst, old);
      return;
    }
    if (i.op === 'store') {
      const values = i.values.map((r) => this.halves(r)).flatMap(({ low, high }) => [low, high]);
      this.code.push({ ...i, type: 'u32', values });
      return;
    }
    const loaded = i.dst.map((): Pair => ({ low: words.register('u32'), high: words.register('u32') }));
    this.code.push({ ...i, type: 'u32', dst: loaded.flatMap(({ low, high }) => [low, high]) });
    i.dst.forEach((dst, k) => {
      this.give(dst, loaded[k]);
    });
  }

  private give(dst: Register, pair: Pair): void {
    const held = this.pairs.get(dst);
    if (held) this.words.assign(held, pair);
    this.words.join(dst, pair, this.registers[dst].type);
  }

  /** The halves of an operand: those of a large one, else computed from the number. */
  private halves(register: Register): Pair {
    const value = this.valueOf(register);
    if (value !== undefined) return this.words.constant(BigInt(value));
    return this.pairs.get(register) ?? this.words.split(register);
  }

  /** The halves of what an instruction gives; undefined where it is not made of halves. */
  private pairOfResult(i: Instruction): Pair | undefined {
    const { words } = this;
    switch (i.op) {
      case 'unary':
        return this.unary(i);
      case 'binary':
        return this.binary(i);
      case 'fma':
        return words.add(words.multiply(this.halves(i.a), this.halves(i.b)), this.halves(i.c));
      case 'convert':
        return isLong(i.from) ? this.halves(i.a) : undefined;
      case 'select':
        return words.select(i.p, this.halves(i.a), this.halves(i.b));
      case 'lane': {
        if (i.a === undefined || !i.fn.startsWith('shuffle')) return undefined;
        const a = this.halves(i.a);
        const moved = (half: Register) => {
          const dst = words.register('u32');
          this.code.push({ ...i, type: 'u32', dst, a: half });
          return dst;
        };
        return { low: moved(a.low), high: moved(a.high) };
      }
      default:
        return undefined;
    }
  }

  private unary({ fn, a }: Unary): Pair | undefined {
    const { words } = this;
    switch (fn) {
      case 'mov':
        return this.halves(a);
      case 'neg':
        return words.subtract(words.constant(0n), this.halves(a));
      case 'bitnot':
        return words.byHalves('xor', this.halves(a), words.constant(-1n));
      case 'brev': {
        const { low, high } = this.halves(a);
        return { low: words.unary('brev', high), high: words.unary('brev', low) };
      }
      default:
        return undefined;
    }
  }

  private binary({ fn, type, a, b }: Binary): Pair | undefined {
    const { words } = this;
    switch (fn) {
      case 'add':
        return words.add(this.halves(a), this.halves(b));
      case 'sub':
        return words.subtract(this.halves(a), this.halves(b));
      case 'mul':
        return words.multiply(this.halves(a), this.halves(b));
      case 'mulhi':
        return type === 'u64' ? words.multiplyHigh(this.halves(a), this.halves(b)) : undefined;
      case 'and':
      case 'or':
      case 'xor':
        return words.byHalves(fn, this.halves(a), this.halves(b));
      case 'shl':
        return words.shiftLeft(this.halves(a), words.narrow(b));
      case 'shr':
        return words.shiftRight(this.halves(a), words.narrow(b), isSigned(type));
      case 'div':
      case 'rem':
        return this.divided(fn, { type, a, b });
      case 'min':
      case 'max': {
        const [x, y] = [this.halves(a), this.halves(b)];
        const isLess = words.compare('lt', x, y, isSigned(type));
        return fn === 'min' ? words.select(isLess, x, y) : words.select(isLess, y, x);
      }
      default:
        return undefined;
    }
  }

  private divided(fn: 'div' | 'rem', { type, a, b }: Pick<Binary, 'type' | 'a' | 'b'>): Pair | undefined {
    const { words } = this;
    const exponent = type === 'u64' ? this.exponents.get(b) : undefined;
    if (exponent !== undefined) {
      if (fn === 'div') return words.shiftRight(this.halves(a), words.narrow(exponent), false);
      return words.byHalves('and', this.halves(a), words.subtract(this.halves(b), words.constant(1n)));
    }
    if (fn === 'rem' || !this.isDivided({ type, a, b })) return undefined;
    return words.quotient(this.halves(a), b, this.isShortDivisor(b));
  }

  private isShortDivisor(by: Register): boolean {
    return (this.valueOf(by) ?? Number.POSITIVE_INFINITY) < SHORT_DIVISOR;
  }

  /** A large number, by one that is none. */
  private isDivided({ type, a, b }: Pick<Binary, 'type' | 'a' | 'b'>): boolean {
    return type === 'u64' && this.pairs.has(a) && !this.pairs.has(b);
  }

  /** Instructions whose result is small although an operand is large. */
  private readsHalves(i: Instruction): boolean {
    if (!readsOf(i).some((r) => this.pairs.has(r))) return false;
    const { words } = this;
    switch (i.op) {
      case 'compare':
        words.move(i.dst, words.compare(i.fn, this.halves(i.a), this.halves(i.b), isSigned(i.type)), 'pred');
        return true;
      case 'convert':
        return words.convert(i.dst, this.halves(i.a), i.from, i.type);
      case 'unary':
        return words.count(i.fn, i.dst, this.halves(i.a), i.type);
      case 'binary':
        if (i.fn !== 'rem' || !this.isDivided(i)) return false;
        words.remainder(i.dst, this.halves(i.a), i.b, this.isShortDivisor(i.b));
        return true;
      default:
        return false;
    }
  }
}

/** Adds the registers that others are copies of. */
function throughCopies(all: readonly Instruction[], registers: Set<Register>): void {
  for (let before = -1; before !== registers.size; ) {
    before = registers.size;
    for (const i of all)
      if (isCopy(i) && writesOf(i).some((r) => registers.has(r))) for (const r of readsOf(i)) registers.add(r);
  }
}

type Move = Extract<Instruction, { op: 'load' | 'store' | 'atomic' }>;

const isMove = (i: Instruction): i is Move => i.op === 'load' || i.op === 'store' || i.op === 'atomic';

const valuesOf = (i: Extract<Move, { op: 'store' | 'atomic' }>): readonly Register[] =>
  i.op === 'store' ? i.values : i.compare === undefined ? [i.value] : [i.value, i.compare];

const isCopy = (i: Instruction): boolean =>
  (i.op === 'unary' && i.fn === 'mov') || i.op === 'select' || (i.op === 'convert' && isLong(i.from) && isLong(i.type));
