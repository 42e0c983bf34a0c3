/** Where the arms of branches meet, and what decides between them. */
import { type ControlFlow, controlFlow, dominates, EXIT } from '../program/control-flow';
import type { Program, Register, SourcePlace } from '../program/program';
import type { Work } from './arm-plans';
import { placeBehind } from './place-behind';
import { threadJumps } from './thread-jumps';

/**
 * By join: the blocks that jump there, blocks without instructions left out. Of a switch or a loop it is no matter. What ends the body of a loop
 * (`if (c) p = l[p]; else p = r[p];`) meets in a block of its own, though nothing is in it.
 */
export function joinsOf(program: Program, flow: ControlFlow): Map<number, readonly number[]> {
  const { blocks, branches } = program;
  const isEmpty = (block: number) =>
    blocks[block].instructions.length === 0 && blocks[block].terminator.kind === 'jump';
  const joins = new Map<number, readonly number[]>();
  for (const block of flow.order) {
    if (flow.loopAtHeader[block] >= 0 || flow.predecessors[block].length < 2) continue;
    if (isEmpty(block) && !isLatch(flow, block)) continue;
    const { terminator } = blocks[flow.dominator[block]];
    const kind = terminator.kind === 'branch' ? branches[terminator.branch].kind : undefined;
    if (kind !== 'if' && kind !== 'conditional') continue;
    const armsOf = (at: number): readonly number[] =>
      flow.predecessors[at].flatMap((arm) =>
        isEmpty(arm) && flow.loopAtHeader[arm] < 0 && flow.predecessors[arm].length > 1 ? armsOf(arm) : [arm],
      );
    const arms = armsOf(block);
    if (arms.every((arm) => blocks[arm].terminator.kind === 'jump')) joins.set(block, arms);
  }
  return joins;
}

/** Whether a block does nothing but lead to the next pass of its loop. */
export const isLatch = (flow: ControlFlow, block: number): boolean =>
  flow.successors[block].some((next) => flow.loops[flow.loopAtHeader[next]]?.contains[block] === 1);

/** Whether warps take one arm as a whole, or a loop is made once for each side of the first condition. */
export function isTakenByAll(work: Work, join: number): boolean {
  const { flow, blocks, divergent } = work;
  const head = flow.dominator[join];
  const conditions = new Map<number, Register>();
  for (const arm of work.joins.get(join) ?? [])
    for (let block = flow.dominator[arm]; block >= 0; block = flow.dominator[block]) {
      const { terminator } = blocks[block];
      const meets = flow.postDominator[block];
      // sides that have met again before the arm decide nothing about it
      const decides = meets === EXIT || !dominates(flow.dominator, meets, arm);
      if (terminator.kind === 'branch' && decides) conditions.set(block, terminator.condition);
      if (block === head) break;
    }
  const first = conditions.get(head);
  const isUniform = (r: Register) => divergent[r] === 0;
  if ([...conditions.values()].every(isUniform)) return true;
  return first !== undefined && isUniform(first) && work.addresses.loopKeeping(join, [first]) !== undefined;
}

/** Whether nothing stands between a join and the next pass of a `for`, whose head comes before the place in the text. */
export function loopEnds(program: Program, flow: ControlFlow): (join: number, first: number) => boolean {
  const behind = new Map<number, SourcePlace | undefined>();
  return (join, first) => {
    if (flow.loopOf[join] < 0) return false;
    // a `while` has no step that would stand behind them
    if (isLatch(flow, join) && program.blocks[join].instructions.length === 0) return false;
    if (!behind.has(join)) behind.set(join, placeBehind(program, flow, join));
    const place = behind.get(join);
    return place !== undefined && place.first < first;
  };
}

/** Whether more than one condition leads to a block, once each part of `a && b` leads on for itself (thread-jumps.ts). */
export function severalConditions(program: Program): (block: number) => boolean {
  if (!program.branches.some(({ kind }) => kind === 'logical')) return () => false;
  let threaded: { readonly program: Program; readonly flow: ControlFlow } | undefined;
  return (block) => {
    if (!threaded) {
      const after = threadJumps(program);
      threaded = { program: after, flow: controlFlow(after) };
    }
    const { blocks } = threaded.program;
    const conditions = threaded.flow.predecessors[block];
    return conditions.length > 1 && conditions.every((each) => blocks[each].terminator.kind === 'branch');
  };
}
