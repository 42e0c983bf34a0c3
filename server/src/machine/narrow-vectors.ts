/**
 * A vector load of which some elements are not needed becomes what the rest needs. Evidence (nvcc 13.0, sm_90, machine code of
 * one kernel for each set of members): of a float4 {x} is 4 bytes, {x,y} and {z,w} are 8, {x,z}, {y,z}, {x,w}, {y,w} two of
 * 4, any three are 16; H200: bank_strides.cu:64 reads .y and .z of a float4 by two 4-byte loads. Of a vector with elements of
 * one or two bytes a single element is read alone, more as the smallest aligned word that covers them (uchar4 {x,z}: 4 bytes,
 * ushort4 {x,y}: 4, {x,z}: 8).
 */
import {
  type Block,
  bytesOf,
  type Instruction,
  type LoadInstruction,
  type Program,
  type Register,
} from '../program/program';
import { neededRegisters } from './dead-code';

export function narrowVectors(program: Program): Program {
  const hasVectors = program.blocks.some(({ instructions }) => instructions.some((i) => isVectorLoad(program, i)));
  if (!hasVectors) return program;
  const needed = neededRegisters(program);
  const isPartlyNeeded = (i: Instruction): boolean => isVectorLoad(program, i) && i.dst.some((d) => !needed[d]);
  const blocks = program.blocks.map((block): Block => {
    if (!block.instructions.some(isPartlyNeeded)) return block;
    const instructions = block.instructions.flatMap((i): readonly Instruction[] =>
      i.op === 'load' && isPartlyNeeded(i) ? narrowed(i, (register) => needed[register] === 1) : [i],
    );
    return { ...block, instructions };
  });
  return { ...program, blocks };
}

function isVectorLoad(program: Program, i: Instruction): i is LoadInstruction {
  return i.op === 'load' && i.dst.length > 1 && !program.accesses[i.access].isVolatile;
}

/** The loads that give the needed elements of a vector load. */
export function narrowed(load: LoadInstruction, isNeeded: (register: Register) => boolean): LoadInstruction[] {
  const used = load.dst.flatMap((d, k) => (isNeeded(d) ? [k] : []));
  const size = bytesOf[load.type];
  if (used.length === 0) return [];
  if (used.length === 1) return [part(load, used[0], 1)];
  if (size < 4) return [coveringPart(load, used)];
  if (used.length >= 3 || used.length === load.dst.length) return [load];
  const isPair = used[1] === used[0] + 1 && used[0] % 2 === 0;
  return isPair ? [part(load, used[0], 2)] : used.map((k) => part(load, k, 1));
}

/** The smallest power of two of elements, aligned to itself, that holds all that is used. */
function coveringPart(load: LoadInstruction, used: readonly number[]): LoadInstruction {
  const last = used[used.length - 1];
  let count = 1;
  while (Math.floor(used[0] / count) !== Math.floor(last / count)) count *= 2;
  const first = Math.floor(used[0] / count) * count;
  return part(load, first, Math.min(count, load.dst.length - first));
}

function part(load: LoadInstruction, first: number, count: number): LoadInstruction {
  const skipped = first * bytesOf[load.type];
  return {
    ...load,
    dst: load.dst.slice(first, first + count),
    offset: load.offset + skipped,
    aligned: load.aligned && {
      modulus: load.aligned.modulus,
      remainder: (load.aligned.remainder + skipped) % load.aligned.modulus,
    },
  };
}
