/**
 * What the assembler (ptxas) still changes between PTX and machine code, as far as it changes what the profiler counts.
 * Vector loads of shared memory shrink to the elements that are used already at lowering (memory.ts).
 */

import { mergeNeighbours } from '../machine/merge-neighbours';
import type { Program } from '../program/program';

/**
 * Neighbouring shared accesses of a block become one of 8 or 16 bytes (H200: sgemm_ladder.cu:58 and :102, flashForward in
 * attention.cu:83, merging_neighbours.cu:20); the rules are those of the source tier, whose evidence is the same code.
 */
export function assembledProgram(program: Program): Program {
  return mergeNeighbours(program);
}
