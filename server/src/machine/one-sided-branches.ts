/** Branches with one side that does something (`if` without `else`), as the passes see them that make one access of one in front and one inside. */
import type { ControlFlow } from '../program/control-flow';
import type { Block, Program } from '../program/program';

export interface OneSided {
  readonly from: number;
  readonly side: number;
  readonly join: number;
}

/**
 * What a block's branch is, if nothing else comes to its side, nor to where the side comes back.
 * @param blocks of the program, as far as a pass has changed what they hold
 */
export function oneSidedAt(
  program: Program,
  flow: ControlFlow,
  blocks: readonly Block[],
  from: number,
): OneSided | undefined {
  const { terminator } = blocks[from];
  if (terminator.kind !== 'branch' || program.branches[terminator.branch].kind === 'loop') return undefined;
  for (const [side, join] of [
    [terminator.ifTrue, terminator.ifFalse],
    [terminator.ifFalse, terminator.ifTrue],
  ]) {
    const end = blocks[side].terminator;
    if (end.kind !== 'jump' || end.target !== join || side === join || flow.predecessors[side].length !== 1) continue;
    if (flow.predecessors[join].length === 2) return { from, side, join };
  }
  return undefined;
}
