/** Which blocks of the host's program are those of functions that call themselves (program/host-program.ts). */
import { reachableWithout } from '../program/control-flow';
import type { Instruction, Program } from '../program/program';

/** What is no such function's. */
export const MAIN = -1;

type Successors = readonly (readonly number[])[];

/** The blocks of a function, those of functions that it calls from outside included. */
export function blocksOf(program: Program, successors: Successors, index: number): number[] {
  const { entry, exit } = functionAt(program, index);
  return [...reachableWithout(successors, entry, exit), exit];
}

/** By block: the innermost function that it belongs to. */
export function functionsOf(program: Program, successors: Successors): Int32Array {
  const owner = new Int32Array(program.blocks.length).fill(MAIN);
  // inner ones come later
  program.functions?.forEach((_, index) => {
    for (const block of blocksOf(program, successors, index)) owner[block] = index;
  });
  return owner;
}

/** Blocks of all functions that instructions of these blocks call once more. */
export function calledIn(program: Program, successors: Successors, blocks: readonly number[]): number[] {
  if (!program.functions?.length) return [];
  const found = new Set<number>();
  const called: number[] = [];
  for (let open = blocks; open.length > 0; ) {
    const next: number[] = [];
    for (const block of open)
      for (const instruction of program.blocks[block].instructions) {
        if (!isRecurse(instruction) || found.has(instruction.callee)) continue;
        found.add(instruction.callee);
        next.push(...blocksOf(program, successors, instruction.callee));
      }
    called.push(...next);
    open = next;
  }
  return called;
}

export function functionAt(program: Program, index: number): { readonly entry: number; readonly exit: number } {
  const found = program.functions?.[index];
  if (!found) throw new Error(`the program has no function ${index}`);
  return found;
}

export const isRecurse = (i: Instruction): i is Instruction & { readonly op: 'host'; readonly callee: number } =>
  i.op === 'host' && i.fn === 'recurse' && i.callee !== undefined;
