/** Atomics on 64-bit integers that a double does not hold, from their halves. */
import type { AtomicInstruction } from '../program/program';
import type { Decoder } from './decode';
import { isUnknownIn, type LaneValue, laneOf } from './value';

const WORD = 32n;

/** The two halves of a number, as words of any sign. */
export type Halves = readonly [low: number, high: number];

export interface WordOperands {
  /** The number that is left in memory, from the one found there, in a lane; undefined where an operand is not known. */
  readonly update: (old: Halves, lane: number) => Halves | undefined;
  /** What holds the number found there, low half first. */
  readonly dst: readonly [number, number];
}

/** Undefined for an atomic that has none in halves, or of a kind that nobody makes of 64 bits. */
export function wordOperands(decoder: Decoder, instruction: AtomicInstruction): WordOperands | undefined {
  const { words } = instruction;
  const operation = words && operationOf(instruction);
  if (!words || !operation) return undefined;
  const { values } = decoder;
  const value = [values[words.value.low], values[words.value.high]] as const;
  const compare = words.compare ? ([values[words.compare.low], values[words.compare.high]] as const) : value;
  return {
    dst: [words.dst.low, words.dst.high],
    update: (old, lane) => {
      if ([...value, ...compare].some((half) => isUnknownIn(half, lane))) return undefined;
      return halvesOf(operation(wholeOf(old), wholeAt(value, lane), wholeAt(compare, lane)));
    },
  };
}

const wholeOf = ([low, high]: Halves): bigint => (BigInt(high >>> 0) << WORD) | BigInt(low >>> 0);
const wholeAt = ([low, high]: readonly [LaneValue, LaneValue], lane: number): bigint =>
  wholeOf([laneOf(low, lane), laneOf(high, lane)]);
const halvesOf = (value: bigint): Halves => [
  Number(BigInt.asIntN(32, value)),
  Number(BigInt.asIntN(32, value >> WORD)),
];

function operationOf({
  fn,
  type,
}: AtomicInstruction): ((old: bigint, value: bigint, compare: bigint) => bigint) | undefined {
  const number = (bits: bigint): bigint => (type === 'i64' ? BigInt.asIntN(64, bits) : bits);
  switch (fn) {
    case 'add':
      return (old, value) => old + value;
    case 'sub':
      return (old, value) => old - value;
    case 'and':
      return (old, value) => old & value;
    case 'or':
      return (old, value) => old | value;
    case 'xor':
      return (old, value) => old ^ value;
    case 'exch':
      return (_, value) => value;
    case 'cas':
      return (old, value, compare) => (old === compare ? value : old);
    case 'min':
      return (old, value) => (number(value) < number(old) ? value : old);
    case 'max':
      return (old, value) => (number(value) > number(old) ? value : old);
    default:
      return undefined;
  }
}
