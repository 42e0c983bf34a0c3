/** Where the counters of a block lie in one array of doubles, so that they can be added and compared as a whole. */

import type { MemorySpace, Program } from '../program/program';
import type { Witness } from './execution';

export const spaces: readonly MemorySpace[] = ['shared', 'global', 'constant', 'local', 'texture'];
export const spaceNumber: Readonly<Record<MemorySpace, number>> = {
  shared: 0,
  global: 1,
  constant: 2,
  local: 3,
  texture: 4,
};

/** Fields of an access, in order. */
export const field = {
  requests: 0,
  activeLanes: 1,
  wavefronts: 2,
  idealWavefronts: 3,
  sectors: 4,
  idealSectors: 5,
  transactions: 6,
  unknownRequests: 7,
} as const;
export const ACCESS_FIELDS = 8;
/** executed, divergent, unknown */
export const BRANCH_FIELDS = 3;

export interface CounterLayout {
  readonly blocks: number;
  /** Warp executions of block b are at b, lane executions at lanes + b. */
  readonly lanes: number;
  /** Counters of branch i start at branches + 3 i. */
  readonly branches: number;
  /** Counters of accesses start here: eight for each access in each space, in the order in which they are first made (AccessNotes.at). */
  readonly accesses: number;
  /** Room for all that may be counted. */
  readonly size: number;
  /** End of what was counted so far: behind it all is zero. An access is made in one space mostly, so this is a fifth of the size. */
  used: number;
}

export function counterLayout(program: Program): CounterLayout {
  const blocks = program.blocks.length;
  const branches = 2 * blocks;
  const accesses = branches + BRANCH_FIELDS * program.branches.length;
  const size = accesses + ACCESS_FIELDS * spaces.length * program.accesses.length;
  return { blocks, lanes: blocks, branches, accesses, size, used: accesses };
}

/** What is noted about an access in a space besides its counters. */
export interface AccessNotes {
  /** Where its counters start. */
  readonly at: number;
  bytesPerLane: number;
  unknownReason: number;
  speculative: number;
  worstExcess: number;
  witness?: Witness;
}
