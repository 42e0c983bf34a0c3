/** What is known of each branch before execution. */

import { forEachBit } from '../program/backward-flow';
import { type ControlFlow, EXIT, reachableWithout } from '../program/control-flow';
import { hasBit, setBit } from '../program/liveness';
import { addressesOf } from '../program/operands';
import type { Program, Register } from '../program/program';
import type { Reconvergence } from '../program/reconvergence';
import { divergentRegisters } from '../program/uniformity';
import type { Analysis } from './decode';
import { isEvenChance, rareSide, type Side, seldomSide } from './rare-side';

export interface BranchPlan {
  /** Where the sides meet. */
  readonly meets: number;
  /** Outermost loop that the side leaves, -1 for none. */
  readonly leavesTrue: number;
  readonly leavesFalse: number;
}

/** What matters only when the condition is not known in some lane. */
export interface UnknownBranchPlan {
  /** The side that leads to a return without any memory access, of a branch that leaves no loop. */
  readonly returns?: 'true' | 'false';
  /** One side leads to returns only, by way of memory accesses. */
  readonly isFinal: boolean;
  /** The side that leaves a loop has accesses before it meets the others. */
  readonly leavingHasAccesses: boolean;
  /** The side that leaves a loop returns, while another way out of the loop goes on behind it. */
  readonly leavesForGood: boolean;
  /**
   * Variables assigned between the branch (or on the side that leaves a loop) and the meeting point whose values are
   * looked at on the other side or after it.
   */
  readonly assigned: readonly Register[];
  /** Variables assigned on the side that leaves a loop whose values are looked at behind the loop. */
  readonly carriedOut: readonly Register[];
  /** Lanes of a warp may take different sides, and few of them one of the two. */
  readonly isOfEachLane: boolean;
  /** The side that is taken rarely, by the form of the condition, of a branch that leaves no loop. */
  readonly rare?: Side;
  /** The side that few of the lanes take where each asks for itself. */
  readonly seldom?: Side;
}

export function branchPlan(
  program: Program,
  flow: ControlFlow,
  points: Reconvergence,
  block: number,
): BranchPlan | undefined {
  const { terminator } = program.blocks[block];
  if (terminator.kind !== 'branch') return undefined;
  return {
    meets: points.point[block],
    leavesTrue: outermostLeft(flow, block, terminator.ifTrue),
    leavesFalse: outermostLeft(flow, block, terminator.ifFalse),
  };
}

/** The plan of a branch, made when it is first asked for and remembered as long as the program is. */
export function unknownBranchPlan(analysis: Analysis, block: number, plan: BranchPlan): UnknownBranchPlan {
  let known = analysis.unknownBranches.get(block);
  if (!known) analysis.unknownBranches.set(block, (known = makePlan(analysis, block, plan)));
  return known;
}

/** Variables assigned in a loop that are looked at behind it, remembered as the plans are. */
export function variablesOfLoop(analysis: Analysis, loop: number): readonly Register[] {
  let known = analysis.loopVariables.get(loop);
  if (!known) {
    const { blocks } = analysis.flow.loops[loop];
    analysis.loopVariables.set(loop, (known = assignedIn(analysis, blocks, [analysis.points.loopEnd[loop]])));
  }
  return known;
}

function makePlan(analysis: Analysis, block: number, plan: BranchPlan): UnknownBranchPlan {
  const { points } = analysis;
  const { terminator } = analysis.program.blocks[block];
  const { successors } = analysis.flow;
  const sides = terminator.kind === 'branch' ? [terminator.ifTrue, terminator.ifFalse] : [];
  const leaving = Math.max(plan.leavesTrue, plan.leavesFalse);
  if (leaving >= 0) {
    const [exit, stay] = plan.leavesTrue >= 0 ? [sides[0], sides[1]] : [sides[1], sides[0]];
    const region = reachableWithout(successors, exit, points.loopEnd[leaving]);
    const leavingHasAccesses = region.some((inside) => hasAccess(analysis, inside));
    const end = points.loopEnd[leaving];
    const leavesForGood = end !== EXIT && exit !== end && leadsToReturnsOnly(analysis, region, end);
    const assigned = assignedIn(analysis, region, [stay]);
    const carriedOut = assignedIn(analysis, region, [end]);
    return { isFinal: false, leavingHasAccesses, leavesForGood, assigned, carriedOut, isOfEachLane: true };
  }
  const regions = sides.map((side) => reachableWithout(successors, side, plan.meets));
  const isFinal = regions.map((region) => leadsToReturnsOnly(analysis, region, plan.meets));
  // `a < 0 || b`: where either side leads, what the first condition says tells nothing
  const isShared = regions[0]?.some((inside) => inside !== EXIT && regions[1]?.includes(inside)) === true;
  const returns = regions.map((region, i) => isFinal[i] && !region.some((inside) => hasAccess(analysis, inside)));
  return {
    returns: returns[0] ? 'true' : returns[1] ? 'false' : undefined,
    isFinal: isFinal[0] || isFinal[1],
    leavingHasAccesses: false,
    leavesForGood: false,
    carriedOut: [],
    assigned: assignedIn(analysis, regions.flat(), [plan.meets, sides[1]]),
    isOfEachLane: isOfEachLane(analysis.program, block),
    rare: isShared ? undefined : rareSide(analysis.program, block),
    seldom: isShared ? undefined : seldomSide(analysis.program, block),
  };
}

function isOfEachLane(program: Program, block: number): boolean {
  const { terminator } = program.blocks[block];
  if (terminator.kind !== 'branch' || divergentRegisters(program)[terminator.condition] === 0) return false;
  return !isEvenChance(program, block);
}

/** The variables assigned in any of the blocks whose values are looked at from any of the places on. */
function assignedIn(analysis: Analysis, blocks: readonly number[], places: readonly number[]): Register[] {
  const { live } = analysis;
  const looked = new Int32Array(live.words);
  for (const place of places) {
    if (place === EXIT) continue;
    for (let word = 0; word < looked.length; word++) looked[word] |= live.liveIn[place][word];
  }
  // Plans of large kernels join thousands of blocks with thousands of variables, few of which are looked at.
  const assigned = new Int32Array(live.words);
  for (const block of blocks)
    if (block !== EXIT) for (const bit of live.assignedBits[block]) if (hasBit(looked, bit)) setBit(assigned, bit);
  const registers: Register[] = [];
  forEachBit(assigned, (bit) => registers.push(live.registers[bit]));
  return registers;
}

function hasAccess(analysis: Analysis, block: number): boolean {
  return analysis.program.blocks[block].instructions.some((instruction) => addressesOf(instruction).length > 0);
}

/** Whether the blocks lead to returns and never to the meeting point. */
function leadsToReturnsOnly(analysis: Analysis, blocks: readonly number[], meets: number): boolean {
  const { successors } = analysis.flow;
  return blocks.length > 0 && (meets === EXIT || blocks.every((block) => !successors[block].includes(meets)));
}

function outermostLeft(flow: ControlFlow, block: number, target: number): number {
  const { loops, loopOf } = flow;
  let left = -1;
  for (let loop = loopOf[block]; loop >= 0 && loops[loop].contains[target] === 0; loop = loops[loop].parent)
    left = loop;
  return left;
}
