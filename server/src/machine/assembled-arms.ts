/**
 * Arms that ptxas has computed by all lanes, under a predicate: what both load is loaded once then, in whatever order and between whatever else
 * they do it. They are few instructions that only compute and load, and meet again right behind. Evidence: the machine code of 130 kernels whose
 * last case and default compute two to forty sums, products, quotients and roots of one to twelve elements each, nvcc 13.0: up to 18 operations
 * of both, 20 never, nor with a store, an atomic, a branch or what has a slow path (quotients, roots). Loads cost nothing.
 */
import type { Block, Instruction, Program } from '../program/program';
import { hasSlowPath, isPure } from './pure';

const MOST_OPERATIONS = 18;

type Arm = Pick<Block, 'instructions' | 'terminator'>;

export function isForAllLanes(program: Program, first: Arm, second: Arm): boolean {
  const a = first.terminator;
  const b = second.terminator;
  if (a.kind !== 'jump' || b.kind !== 'jump' || a.target !== b.target) return false;
  const arms = [first, second];
  if (!arms.every(({ instructions }) => instructions.every((i) => i.op === 'load' || isPlain(i)))) return false;
  return arms.reduce((sum, { instructions }) => sum + operationsOf(program, instructions), 0) <= MOST_OPERATIONS;
}

/** Whether its code has no branches. */
const isPlain = (i: Instruction): boolean => isPure(i) && !hasSlowPath(i);

/** Operations on what was loaded; a product that is added to is none of its own. */
function operationsOf({ registers }: Program, instructions: readonly Instruction[]): number {
  const products = new Set<number>();
  let count = 0;
  for (const i of instructions) {
    if (i.op === 'fma') count++;
    if (i.op !== 'binary' || registers[i.dst].value !== undefined) continue;
    if (!/^(f|bf)/.test(i.type)) continue;
    const isFused = (i.fn === 'add' || i.fn === 'sub') && (products.has(i.a) || products.has(i.b));
    if (!isFused) count++;
    if (i.fn === 'mul') products.add(i.dst);
  }
  return count;
}
