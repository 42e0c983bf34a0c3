/** Which branches NVVM makes selections of. */
import type { BinaryOp, Instruction, RegisterInfo, ScalarType, UnaryOp } from './program';

/** What NVVM makes without a branch: of one side, of both. */
const LONGEST_FOLDED_SIDE = 5;
const LONGEST_FOLDED = 8;

/**
 * Whether NVVM itself makes a selection of a branch: up to five instructions a side, eight in both, none that is dear or a function. What else becomes
 * one does so in the assembler, which merges shared loads across it and nothing else (PTX of 180 kernels, nvcc 13.0: sums and products of
 * floats and integers, one and two values, with and without `else`).
 */
export function isFolded(registers: readonly RegisterInfo[], sides: readonly (readonly Instruction[])[]): boolean {
  const costs = sides.map(costOf);
  return (
    costs.every((cost) => cost <= LONGEST_FOLDED_SIDE) &&
    costs.reduce((sum, cost) => sum + cost, 0) <= LONGEST_FOLDED &&
    sides.every((side) => side.every((i) => isCheap(registers, i)))
  );
}

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

const isFloat = (type: ScalarType): boolean => type === 'f32' || type === 'f64' || type === 'f16' || type === 'bf16';

/** A product, a shift or a mask to the compiler. */
function isByPowerOfTwo({ value }: RegisterInfo, type: ScalarType): boolean {
  return value !== undefined && value > 0 && Number.isInteger(Math.log2(value)) && (isFloat(type) || type[0] === 'u');
}

/** Copies of values are none to the compiler. */
export const costOf = (instructions: readonly Instruction[]): number =>
  instructions.filter((i) => i.op !== 'unary' || i.fn !== 'mov').length;
