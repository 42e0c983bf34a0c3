/** A program whose arms are changed, with what is asked of it for that. */
import type { ControlFlow } from '../program/control-flow';
import type { Program } from '../program/program';
import { divergentRegisters } from '../program/uniformity';
import type { Work } from './arm-plans';
import { FixedVariables } from './fixed-variables';
import { severalConditions } from './joins';
import { LoopAddresses } from './loop-addresses';
import { countReads } from './read-counts';

/** Copies of what is changed; where loops end, sums and conversions are for who looks into addresses. */
export function workOn(
  program: Program,
  flow: ControlFlow,
  joins: Work['joins'],
): Omit<Work, 'endsLoop' | 'readsOfSums' | 'sources'> {
  return {
    program: { ...program, accesses: [...program.accesses] },
    flow,
    addresses: new LoopAddresses(program, flow),
    given: new FixedVariables(program, flow),
    divergent: divergentRegisters(program),
    joins,
    isOfSeveralConditions: severalConditions(program),
    blocks: program.blocks.map((b) => ({ instructions: [...b.instructions], terminator: b.terminator })),
    registers: [...program.registers],
    reads: countReads(program),
  };
}
