/**
 * What a `switch` with several cases asks has no more than 16 bits where a mask leaves no more, and is read so: `switch (v[i] & 3)` reads two bytes. InstCombine
 * shrinks the condition of a switch to the smallest type that the machine has, and then the load of which nothing else is used. Evidence (PTX of 18 kernels, nvcc
 * 13.0, sm_90; H200: a switch on two bits of an int): masks below 65536, behind `>> s` where all stays within the lower half or where s is 16 or more by whole halves;
 * integers of 32 and 64 bits; not where `if`s ask, nor where both values of one bit have a case (a branch by then), nor with another use of the value.
 */

import {
  bytesOf,
  type Instruction,
  type LoadInstruction,
  type Program,
  type Register,
  type RegisterInfo,
} from '../program/program';
import { isCandidate, onlyReader, type Readers, readersOf } from './narrow-loads';

const BITS = 16;

export function narrowSwitches(program: Program): Program {
  const asked = askedBySwitches(program);
  if (asked.size === 0) return program;
  const readers = readersOf(program);
  const registers: RegisterInfo[] = [...program.registers];
  let isOther = false;
  const blocks = program.blocks.map((block) => {
    const instructions = block.instructions.flatMap((i) => {
      const offset = i.op === 'load' ? halfOf(program, readers, asked, i) : undefined;
      if (i.op !== 'load' || offset === undefined) return [i];
      isOther = true;
      const narrow = registers.push({ type: 'u16', role: 'temporary' }) - 1;
      const widened: Instruction = { op: 'convert', from: 'u16', type: i.type, dst: i.dst[0], a: narrow };
      return [{ ...i, type: 'u16' as const, dst: [narrow], offset: i.offset + offset }, widened];
    });
    return { ...block, instructions };
  });
  return isOther ? { ...program, blocks, registers } : program;
}

/** By value that switches ask: their questions, of which there are several. */
function askedBySwitches({ blocks, branches, registers }: Program): Map<Register, readonly Instruction[]> {
  const asked = new Map<Register, Instruction[]>();
  for (const { instructions, terminator } of blocks) {
    if (terminator.kind !== 'branch' || branches[terminator.branch].kind !== 'switch') continue;
    const question = instructions.findLast((i) => i.op === 'compare' && i.dst === terminator.condition);
    if (question?.op !== 'compare' || question.fn !== 'eq' || registers[question.b].role !== 'constant') continue;
    const questions = asked.get(question.a);
    if (questions) questions.push(question);
    else asked.set(question.a, [question]);
  }
  for (const [value, questions] of asked) if (questions.length < 2) asked.delete(value);
  return asked;
}

/** Where in a load the two bytes begin that a switch asks; undefined where it asks for more, or something else does. */
function halfOf(
  program: Program,
  readers: Readers,
  asked: ReadonlyMap<Register, readonly Instruction[]>,
  load: LoadInstruction,
): number | undefined {
  if (!isCandidate(program, load) || bytesOf[load.type] < 4) return undefined;
  const first = onlyReader(program, readers, load.dst[0]);
  const isShifted = first?.op === 'binary' && first.fn === 'shr' && first.a === load.dst[0];
  const shift = isShifted ? program.registers[first.b].value : 0;
  const masked = isShifted ? onlyReader(program, readers, first.dst) : first;
  if (masked?.op !== 'binary' || shift === undefined || shift < 0) return undefined;
  const mask = maskOf(program, masked);
  const questions = asked.get(masked.dst);
  if (mask === undefined || !questions || readers.get(masked.dst)?.length !== questions.length) return undefined;
  // a case for both values of one bit is a branch
  if (mask <= 0 || mask >= 2 ** BITS || Math.log2(mask + 1) === Math.log2(questions.length)) return undefined;
  const bits = Math.ceil(Math.log2(mask + 1));
  if (shift + bits <= BITS) return 0;
  return shift % BITS === 0 && shift < 8 * bytesOf[load.type] ? shift / 8 : undefined;
}

/** A remainder of an unsigned value by a power of two is one too. */
function maskOf({ registers }: Program, { fn, type, a, b }: Instruction & { op: 'binary' }): number | undefined {
  const by = registers[b].value;
  if (fn === 'and') return by ?? registers[a].value;
  const isMask = fn === 'rem' && type.startsWith('u') && by !== undefined && Number.isInteger(Math.log2(by));
  return isMask ? by - 1 : undefined;
}
