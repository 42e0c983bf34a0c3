/**
 * What a way says of a variable that chose it: in `case 128:` of `switch (threads)` threads is 128, whatever this call was handed. Blocks and grids were made of
 * it before, so the function is run again from its start with that value, and what it launches in that way is recorded.
 */
import { anywhere, assignedBy } from '../parse/anywhere';
import type { Expression, Statement } from '../parse/ast';
import { convert } from './conversion';
import { evaluate } from './expression';
import { makeCell, named, tryOut } from './memory';
import { lastName, localVariable, type Scope } from './scope';
import { budgets, type HostState } from './state';
import { type Cell, sameValue, type Value } from './value';

export interface Supposition {
  readonly name: string;
  readonly value: Value;
}

/** A running function that can be run once more. */
export interface Rerun {
  /** Its variables whose values are supposed already. */
  readonly supposed: ReadonlyMap<string, Value>;
  run(supposed: ReadonlyMap<string, Value>): void;
}

export const nothingSupposed: ReadonlyMap<string, Value> = new Map();

/** The tokens of a way. */
interface Way {
  readonly first: number;
  readonly last: number;
}

/**
 * `x`, a variable of the running function, has a value in the way that a label or a comparison leads to. Asked only of ways with launches that nobody has
 * seen, and where the variable is supposed already; a label is evaluated once more here, so it may do nothing.
 */
export function supposition(
  state: HostState,
  variable: Expression,
  label: Expression | undefined,
  scope: Scope,
  { first, last }: Way,
): Supposition | undefined {
  const { rerun } = state.frame;
  if (!rerun || !label || variable.kind !== 'name' || variable.name.parts.length !== 1) return undefined;
  const name = lastName(variable.name);
  if (!rerun.supposed.has(name) && !state.recorder?.holdsUnseen(first, last)) return undefined;
  if (!localVariable(scope, name) || anywhere(label, doesSomething)) return undefined;
  const value = evaluate(state, label, scope);
  return value.kind === 'number' ? { name, value } : undefined;
}

const doesSomething = (node: Expression | Statement): boolean => node.kind === 'call' || assignedBy(node) !== undefined;

/** Of the way that a condition `x == 128` leads to. */
export function suppositionOf(
  state: HostState,
  condition: Expression,
  scope: Scope,
  way: Way,
): Supposition | undefined {
  if (condition.kind !== 'binary' || condition.operator !== '==') return undefined;
  const { left, right } = condition;
  return supposition(state, left, right, scope, way) ?? supposition(state, right, left, scope, way);
}

/** Whether the function runs for this way: no other needs to be looked into. */
export function isSupposed({ frame }: HostState, { name, value }: Supposition): boolean {
  const given = frame.rerun?.supposed.get(name);
  return given !== undefined && sameValue(given, value);
}

/**
 * Records what the function launches in a way that nobody has seen, if it comes there with the value that the way supposes.
 * @returns whether all of the way's launches are known now
 */
export function runSupposing(state: HostState, supposed: Supposition | undefined, { first, last }: Way): boolean {
  const { recorder, frame } = state;
  const { rerun } = frame;
  if (!supposed || !rerun || rerun.supposed.has(supposed.name)) return false;
  if (!recorder?.holdsUnseen(first, last) || recorder.isMuted) return false;
  if (state.depth >= budgets.callDepth || state.reruns >= budgets.reruns) return false;
  const { leaving, doubtful, referred, thrown } = state;
  const endMute = recorder.mute();
  state.reruns++;
  state.depth++;
  state.uncertain++;
  tryOut(state, () => rerun.run(new Map([...rerun.supposed, [supposed.name, supposed.value]])));
  state.uncertain--;
  state.depth--;
  endMute();
  Object.assign(state, { leaving, doubtful, referred, thrown });
  return !recorder.holdsUnseen(first, last);
}

/** Runs the way for which its function was run again: what it launches counts. */
export function runSupposed<T>(state: HostState, supposed: Supposition | undefined, run: () => T): T {
  if (!supposed || !state.recorder || !isSupposed(state, supposed)) return run();
  const endHearing = state.recorder.hear();
  const result = run();
  endHearing();
  return result;
}

/** A parameter or a variable at its declaration, with the value that is supposed of it. */
export function asSupposed(state: HostState, cell: Cell, supposed: ReadonlyMap<string, Value> | undefined): Cell {
  const value = cell.name === undefined ? undefined : supposed?.get(cell.name);
  if (!value) return cell;
  const own = makeCell(value, { type: cell.type, name: cell.name, depth: cell.depth });
  own.value = named(state, own, convert(state, value, cell.type));
  return own;
}
