/**
 * A number that is loaded, widened and shifted so far that only its own bits are left, as the upper half of a key is, is widened by the load itself, at the
 * line of that: `unsigned b = p[i]; key = ((unsigned long long)b << 32) | i;` loads at the second line. Its upper bits may be anything, and a load
 * that NVVM extends so bears the line of the extension. Evidence (PTX of 24 kernels, nvcc 13.0; H100: gps_correlator_bank.cu:115): 32 bits as the upper half of 64,
 * 16 or 8 bits at the upper end of 32, floats whose bits are asked for, from shared memory too, in a loop or behind a condition that becomes a selection. Not where
 * the number is used as it is as well, nor where other bits of the wide number are; read-only data (`const __restrict__`) is loaded by an instruction of its own.
 * Nor where two numbers of 16 bits make a word (word-halves.ts), so that nothing is widened; two of 32 bits or of eight do not.
 */
import {
  bytesOf,
  type Instruction,
  type LoadInstruction,
  type Program,
  type Register,
  type SourcePlace,
} from '../program/program';
import { withChargedLoads } from './charged-loads';
import { isReadOnly } from './memory-overlap';
import { statementOf } from './place-behind';
import { countReads } from './read-counts';
import { halvesOfWords } from './word-halves';

type Convert = Extract<Instruction, { op: 'convert' }>;

export function placeExtended(program: Program): Program {
  const shifted = shiftedOut(program);
  if (shifted.size === 0) return program;
  const counts = countReads(program);
  const charged = new Map<LoadInstruction, SourcePlace>();
  for (const { instructions } of program.blocks)
    for (const [load, { dst }] of widenedIn(program, instructions, shifted, counts)) {
      const place = statementOf(program.registers[dst]);
      if (place) charged.set(load, place);
    }
  return withChargedLoads(program, charged);
}

/** By register that was widened and is shifted: how often it is shifted so far that nothing of what was added is left. */
function shiftedOut(program: Program): Map<Register, number> {
  const { blocks, registers } = program;
  const widened = new Map<Register, Convert>();
  const shifted = new Map<Register, number>();
  for (const { instructions } of blocks) for (const i of instructions) if (widens(i)) widened.set(i.dst, i);
  if (widened.size === 0) return shifted;
  const halves = halvesOfWords(program);
  for (const { instructions } of blocks)
    for (const i of instructions) {
      const by = i.op === 'binary' && i.fn === 'shl' ? widened.get(i.a) : undefined;
      if (i.op !== 'binary' || !by) continue;
      const { role, value = 0 } = registers[i.b];
      if (halves.has(i.a)) continue;
      if (role === 'constant' && value >= 8 * (bytesOf[by.type] - bytesOf[by.from]))
        shifted.set(i.a, (shifted.get(i.a) ?? 0) + 1);
    }
  return shifted;
}

const isInteger = (type: string): boolean => /^[iu]\d/.test(type);

const widens = (i: Instruction): i is Convert =>
  i.op === 'convert' && isInteger(i.from) && isInteger(i.type) && bytesOf[i.type] > bytesOf[i.from];

/** Loads of a block of which only what is shifted out is used, and what widens them. */
function widenedIn(
  program: Program,
  instructions: readonly Instruction[],
  shifted: ReadonlyMap<Register, number>,
  counts: readonly number[],
): Map<LoadInstruction, Convert> {
  const loads = new Map<Register, LoadInstruction>();
  const found = new Map<LoadInstruction, Convert>();
  for (const i of instructions) {
    if (i.op === 'load' && i.dst.length === 1 && isPlain(program, i)) loads.set(i.dst[0], i);
    else if (keepsBits(i) && counts[i.a] === 1) {
      const load = loads.get(i.a);
      if (load) loads.set(i.dst, load);
    } else if (widens(i) && counts[i.a] === 1 && shifted.get(i.dst) === counts[i.dst]) {
      const load = loads.get(i.a);
      if (load && bytesOf[load.type] === bytesOf[i.from]) found.set(load, i);
    }
  }
  return found;
}

type Keeping = Extract<Instruction, { op: 'convert' | 'unary' }>;

/** `(unsigned)b`, `__float_as_uint(x)` */
const keepsBits = (i: Instruction): i is Keeping =>
  i.op === 'convert'
    ? isInteger(i.from) && isInteger(i.type) && bytesOf[i.type] === bytesOf[i.from]
    : i.op === 'unary' && (i.fn === 'bitcast' || i.fn === 'mov');

function isPlain(program: Program, { access }: LoadInstruction): boolean {
  const site = program.accesses[access];
  return !site.isVolatile && !site.isAssembly && !isReadOnly(site, program);
}
