/** Values taken apart into pieces of equal size, and put together of them: the first piece has the lowest bits. */
import { bytesOf, type Instruction, type Register, type RegisterInfo, type ScalarType } from '../program/program';

/** By bytes: the integer that holds as many bits. */
const words: Readonly<Record<number, ScalarType>> = { 1: 'u8', 2: 'u16', 4: 'u32', 8: 'u64' };

/** What is made, and the registers that it needs. */
export class BitPieces {
  readonly instructions: Instruction[] = [];

  /** @param registers grows by those that are needed */
  constructor(private readonly registers: RegisterInfo[]) {}

  /** The pieces of a value. @param type of a piece, an unsigned integer no larger than the value's type */
  split(value: Register, from: ScalarType, type: ScalarType): Register[] {
    const word = words[bytesOf[from]];
    const whole = this.bitcast(value, from, word);
    return Array.from({ length: bytesOf[from] / bytesOf[type] }, (_, k) =>
      this.converted(this.shifted(whole, word, 'shr', k * 8 * bytesOf[type]), word, type),
    );
  }

  /** Makes a value of pieces. */
  join(pieces: readonly Register[], type: ScalarType, dst: Register, to: ScalarType): void {
    const word = words[bytesOf[to]];
    const whole = pieces
      .map((piece, k) => this.shifted(this.converted(piece, type, word), word, 'shl', k * 8 * bytesOf[type]))
      .reduce((a, b) => this.made(word, (dst) => ({ op: 'binary', fn: 'or', type: word, dst, a, b })));
    this.instructions.push({ op: 'unary', fn: 'bitcast', type: to, from: word, dst, a: whole });
  }

  private bitcast(a: Register, from: ScalarType, type: ScalarType): Register {
    return from === type ? a : this.made(type, (dst) => ({ op: 'unary', fn: 'bitcast', type, from, dst, a }));
  }

  private converted(a: Register, from: ScalarType, type: ScalarType): Register {
    return from === type ? a : this.made(type, (dst) => ({ op: 'convert', from, type, dst, a }));
  }

  private shifted(a: Register, type: ScalarType, fn: 'shl' | 'shr', bits: number): Register {
    if (bits === 0) return a;
    const b = this.registers.push({ type, role: 'constant', value: bits }) - 1;
    return this.made(type, (dst) => ({ op: 'binary', fn, type, dst, a, b }));
  }

  private made(type: ScalarType, instruction: (dst: Register) => Instruction): Register {
    const dst = this.registers.push({ type, role: 'temporary' }) - 1;
    this.instructions.push(instruction(dst));
    return dst;
  }
}
