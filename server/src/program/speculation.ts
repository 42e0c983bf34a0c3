/** Which branches NVVM makes selections of. */
import { writesOf } from './operands';
import {
  type BinaryOp,
  type Instruction,
  isFloat,
  type Register,
  type RegisterInfo,
  type ScalarType,
  type SourcePlace,
  type UnaryOp,
} from './program';

/** Instructions that NVVM computes on one side without a branch, besides one for each result, and results. */
const LONGEST_FOLDED_SIDE = 4;
const MOST_RESULTS = 3;

/**
 * Whether NVVM itself makes a selection of a branch: of one side with one result up to five instructions, six and seven with two and three results, of two sides
 * four each; none that is dear or a function. What else becomes one does so in the assembler, which merges shared loads across it and nothing else
 * (PTX of 240 kernels, nvcc 13.0: sums and products of floats and integers, one to four values, with and without `else`).
 */
export function isFolded(registers: readonly RegisterInfo[], sides: readonly (readonly Instruction[])[]): boolean {
  const computing = sides.filter((side) => costOf(side) > 0).length;
  return sides.every((side) => {
    const results = Math.max(1, resultsOf(registers, side));
    const limit = LONGEST_FOLDED_SIDE + results - (computing > 1 ? 1 : 0);
    return results <= MOST_RESULTS && costOf(side) <= limit && side.every((i) => isCheap(registers, i));
  });
}

/** Variables that a side assigns. */
function resultsOf(registers: readonly RegisterInfo[], side: readonly Instruction[]): number {
  const results = new Set<Register>();
  for (const i of side) for (const r of writesOf(i)) if (registers[r].role === 'variable') results.add(r);
  return results.size;
}

/** Functions to the front end, if one instruction in the end: NVVM inlines them later than it first looks at branches. */
const functions: ReadonlySet<UnaryOp | BinaryOp> = new Set(['min', 'max', 'abs', 'popc', 'clz', 'lowWord', 'highWord']);

/** Whether a side calls a function, of the toolkit's or the user's, in what the unit says at `call`. */
export const callsFunction = (
  registers: readonly RegisterInfo[],
  side: readonly Instruction[],
  call: SourcePlace | undefined,
): boolean =>
  side.some(
    (i) =>
      ((i.op === 'unary' || i.op === 'binary') && functions.has(i.fn)) ||
      writesOf(i).some((r) => registers[r].call?.first !== call?.first),
  );

const cheapUnary: ReadonlySet<UnaryOp> = new Set([
  'mov',
  'neg',
  'bitnot',
  'lognot',
  'popc',
  'clz',
  'bitcast',
  'lowWord',
  'highWord',
]);
const dearBinary: ReadonlySet<BinaryOp> = new Set(['mulhi', 'pow', 'fmod', 'atan2', 'hypot']);

function isCheap(registers: readonly RegisterInfo[], i: Instruction): boolean {
  switch (i.op) {
    case 'unary':
      return cheapUnary.has(i.fn) || (i.fn === 'abs' && !isFloat(i.type));
    case 'convert':
      return (!isFloat(i.from) || isFloat(i.type)) && !/f16/.test(i.from + i.type);
    case 'binary':
      if (i.fn === 'div' || i.fn === 'rem') return isByPowerOfTwo(registers[i.b], i.type);
      return !dearBinary.has(i.fn) && !(isFloat(i.type) && (i.fn === 'min' || i.fn === 'max'));
    case 'fma':
      return false;
    default:
      return true;
  }
}

/** A product, a shift or a mask to the compiler. */
function isByPowerOfTwo({ value }: RegisterInfo, type: ScalarType): boolean {
  return value !== undefined && value > 0 && Number.isInteger(Math.log2(value)) && (isFloat(type) || type[0] === 'u');
}

/** Copies of values are none to the compiler. */
export const costOf = (instructions: readonly Instruction[]): number =>
  instructions.filter((i) => i.op !== 'unary' || i.fn !== 'mov').length;
