/**
 * An integer atomic on one address of the whole warp is done by one lane for all: the lanes vote or reduce first. Evidence
 * (nvcc 13.0, sm_90, machine code of 16 small kernels; H200: atomics_mix.cu:9, 18-20, 50, 54):
 *
 * - the address must be provably uniform: a parameter, &c[blockIdx.x], &c[in[0]], a shared variable; &c[threadIdx.x / 32] is
 *   not taken for uniform, though it is;
 * - 32-bit add and sub, whether the result is used or not; min, max, and, or, xor where it is not;
 * - 64-bit add of a constant;
 * - not: float, exchange, compare-and-swap, inc and dec, other 64-bit ones.
 */
import type { AccessSite, AtomicInstruction, Block, Program } from '../program/program';
import { divergentRegisters } from '../program/uniformity';

export function aggregateAtomics(program: Program): Program {
  if (!program.blocks.some((b) => b.instructions.some((i) => i.op === 'atomic'))) return program;
  const divergent = divergentRegisters(program);
  const accesses: AccessSite[] = [...program.accesses];
  const blocks = program.blocks.map(
    (block): Block => ({
      ...block,
      instructions: block.instructions.map((i) => {
        if (i.op !== 'atomic' || divergent[i.address] === 1 || !isAggregated(program, i)) return i;
        accesses.push({ ...program.accesses[i.access], atomic: 'aggregated' });
        return { ...i, access: accesses.length - 1 };
      }),
    }),
  );
  return { ...program, blocks, accesses };
}

const whenUnused = new Set<AtomicInstruction['fn']>(['min', 'max', 'and', 'or', 'xor']);

function isAggregated(program: Program, i: AtomicInstruction): boolean {
  const isSum = i.fn === 'add' || i.fn === 'sub';
  if (i.type === 'i32' || i.type === 'u32') return isSum || (whenUnused.has(i.fn) && i.dst === undefined);
  if (i.type === 'i64' || i.type === 'u64') return isSum && program.registers[i.value].role === 'constant';
  return false;
}
