/** `goto`: to a label in the same list of statements or in one around it. */
import { anywhere, assignedBy } from '../parse/anywhere';
import type { Statement } from '../parse/ast';
import { lookup } from './lookup';
import { forget } from './memory';
import { localVariable, type Scope } from './scope';
import type { HostState } from './state';
import { rootOf } from './unseen';

const labelIn = (list: readonly Statement[], label: string | undefined): number =>
  list.findIndex((each) => each.kind === 'label' && each.label === label);

/**
 * Where a list goes on behind a jump out of its statement of that index: at the label, or as if there were no jump, where that leads past launches
 * nobody has seen yet, or back in front of some. Undefined where the label is not in the list.
 */
export function jumpTarget(
  state: HostState,
  list: readonly Statement[],
  index: number,
  scope: Scope,
): number | undefined {
  const { recorder, frame } = state;
  const target = labelIn(list, frame.jump);
  if (target < 0) return undefined;
  if (target > index) {
    if (!recorder?.holdsUnseen(list[index + 1].first, list[target].first)) return target;
    if (state.uncertain === 0) state.pastExit = true;
    return index;
  }
  if (!recorder?.holds(list[target].first, list[index].last)) return target;
  forgetAssigned(state, list.slice(target, index + 1), scope);
  return index;
}

/** What stands between a label and a jump back to it that may be taken is done nobody knows how often. */
export function forgetRepeated(state: HostState, list: readonly Statement[], index: number, scope: Scope): void {
  const { frame } = state;
  const own = [...(frame.mayJump ?? [])].filter((label) => labelIn(list, label) >= 0);
  if (own.length === 0) return;
  frame.mayJump = new Set([...(frame.mayJump ?? [])].filter((label) => !own.includes(label)));
  const target = Math.min(...own.map((label) => labelIn(list, label)));
  if (target <= index) forgetAssigned(state, list.slice(target, index + 1), scope);
}

function forgetAssigned(state: HostState, statements: readonly Statement[], scope: Scope): void {
  anywhere(statements, (node) => {
    const place = assignedBy(node);
    const root = place && rootOf(place);
    const found = root ? (localVariable(scope, root) ?? lookup(state, root, scope)) : undefined;
    const cell = found && ('kind' in found ? (found.kind === 'cell' ? found.cell : undefined) : found);
    if (cell) forget(state, cell, 'it changes as often as a jump is taken');
    return false;
  });
}
