/**
 * Numbers of 16 bits that are only read to make words of two of them: `a | ((unsigned)b << 16)`, with `+` and `^` too. NVVM puts these together as they
 * are (`mov.b32 {a, b}`) and widens neither, and ptxas reads both at once from shared memory where they are neighbours, the upper one first too
 * (`s[2 * i + 1] | ((unsigned)s[2 * i] << 16)` is one load of 32 bits). Evidence (nvcc 13.0, sm_90): PTX of 13 kernels, machine code of 24. Not what was cut to 16
 * bits before, nor numbers of 8 bits; `__halves2half2` and its kin are inline assembly.
 */
import { bytesOf, type Instruction, type Program, type Register } from '../program/program';
import { countReads } from './read-counts';

const HALF = 2;
const WORD = 4;

const joins: ReadonlySet<string> = new Set(['or', 'xor', 'add']);

interface Widened {
  /** By zeros. */
  readonly lower: Set<Register>;
  /** Shifted into the upper half. */
  readonly upper: Set<Register>;
}

/** With what they are widened and shifted to. */
export function halvesOfWords(program: Program): ReadonlySet<Register> {
  const found = new Set<Register>();
  const { lower, upper } = widenedIn(program);
  if (upper.size === 0 || lower.size === 0) return found;
  const counts = countReads(program);
  const uses = new Map<Register, number>();
  const use = (r: Register): void => void uses.set(r, (uses.get(r) ?? 0) + 1);
  const isOnlyHalf = (r: Register): boolean => uses.get(r) === counts[r];
  // uses stand behind what they use
  for (const { instructions } of program.blocks.toReversed())
    for (const i of instructions.toReversed())
      if (i.op === 'binary' && joins.has(i.fn)) {
        const [low, high] = lower.has(i.a) ? [i.a, i.b] : [i.b, i.a];
        if (!lower.has(low) || !upper.has(high)) continue;
        use(low);
        use(high);
      } else if (handsOn(i) && isOnlyHalf(i.dst)) {
        found.add(i.dst);
        use(i.a);
      } else if (i.op === 'load' && i.dst.length === 1 && isOnlyHalf(i.dst[0])) found.add(i.dst[0]);
  return found;
}

function widenedIn({ blocks, registers }: Program): Widened {
  const cut = new Set<Register>();
  const widened = new Set<Register>();
  const found: Widened = { lower: new Set(), upper: new Set() };
  for (const { instructions } of blocks)
    for (const i of instructions) {
      if (i.op === 'convert' && bytesOf[i.type] < bytesOf[i.from]) cut.add(i.dst);
      if (widensHalf(i) && !cut.has(i.a)) {
        widened.add(i.dst);
        if (i.from === 'u16') found.lower.add(i.dst);
      }
      if (i.op !== 'binary' || i.fn !== 'shl' || !widened.has(i.a)) continue;
      const { role, value } = registers[i.b];
      if (role === 'constant' && value === 8 * HALF) found.upper.add(i.dst);
    }
  return found;
}

type Convert = Extract<Instruction, { op: 'convert' }>;

const isInteger = (type: string): boolean => /^[iu]\d/.test(type);

const widensHalf = (i: Instruction): i is Convert =>
  i.op === 'convert' && isInteger(i.from) && bytesOf[i.from] === HALF && isInteger(i.type) && bytesOf[i.type] === WORD;

/** Copies, widens or shifts what it is given. */
const handsOn = (i: Instruction): i is Extract<Instruction, { op: 'convert' | 'unary' | 'binary' }> =>
  i.op === 'convert'
    ? isInteger(i.from) && isInteger(i.type)
    : (i.op === 'binary' && i.fn === 'shl') || (i.op === 'unary' && (i.fn === 'bitcast' || i.fn === 'mov'));
