/**
 * What the assembler (ptxas) still changes between PTX and machine code, as far as it changes what the profiler counts.
 * Vector loads shrink to the elements that are used already at lowering (memory.ts), and loops are written out there
 * (unrolled-loops.ts).
 */

import { aggregateAtomics } from '../machine/aggregate-atomics';
import { shareExpressions } from '../machine/common-expressions';
import { fetchAhead } from '../machine/fetch-ahead';
import { meetAtSharedBlocks } from '../machine/meet-at-shared-blocks';
import { mergeNeighbours } from '../machine/merge-neighbours';
import type { Program } from '../program/program';
import { gatherLoads } from './gather-loads';
import { mergeAsAssembled } from './merge-as-assembled';

/**
 * Neighbouring shared accesses of a block become one of 8 or 16 bytes (H200: sgemm_ladder.cu:58 and :102, flashForward in
 * attention.cu:83, merging_neighbours.cu:20), with those behind an early exit (convolution_halo.cu:111); an atomic on a uniform
 * address is one lane's (atomics_mix.cu:54). Which ones is read off the machine code where that is at hand; else the rules are
 * those of the source tier. Before that lanes are made to meet in front of what several conditions lead to (`meet-at-shared-blocks.ts`).
 */
export function assembledProgram(program: Program): Program {
  const shared = shareExpressions(meetAtSharedBlocks(program));
  const isAssembled = shared.accesses.some(({ machine }) => machine !== undefined);
  const merged = isAssembled ? mergeAsAssembled(gatherLoads(shared)) : mergeNeighbours(fetchAhead(shared));
  return aggregateAtomics(merged);
}
