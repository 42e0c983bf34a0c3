/**
 * A round that stands for many. What it changes is unknown behind them, but for numbers that grow by the same in every round:
 * counters, and the sizes of containers that the loop fills.
 */
import { convertNumber } from './arithmetic';
import { blur, forget, type Outcome, watch, write } from './memory';
import type { HostState } from './state';
import type { Completion } from './statement';
import { type Cell, type NumberValue, number, sameValue, type Value } from './value';

/** A number that a round changes by `by`. */
export interface Growth {
  readonly cell: Cell;
  readonly from: NumberValue;
  readonly by: number;
}

/** Runs a round that stands for others too, and returns the old value of what it wrote. */
export function forMany<T>(state: HostState, round: () => T): { readonly result: T; readonly before: Outcome } {
  state.uncertain++;
  state.blind++;
  const watched = watch(state, round);
  state.blind--;
  state.uncertain--;
  return watched;
}

/**
 * Runs `count` rounds by one of them. What grew in it is set to its value before the last round, everything else it wrote
 * is unknown, and another round has to make it grow by the same. Returns what did, at its value behind all rounds.
 * @param hasWays other rounds may go other ways
 */
export function runMany(
  state: HostState,
  count: number | undefined,
  round: () => Completion,
  reason: string,
  hasWays = false,
): readonly Growth[] {
  const { result, before } = forMany(state, round);
  const goesOn = result === 'next' || result === 'continue';
  const growing = goesOn && count !== undefined ? [...before].flatMap(([cell, old]) => growthOf(cell, old, count)) : [];
  blur(state, before, reason);
  if (count === undefined || growing.length === 0) {
    if (hasWays) blurFurther(state, before, round, reason);
    return [];
  }
  for (const { cell, from, by } of growing) write(state, cell, number(from.value + by * (count - 1), from.of));
  const last = forMany(state, round);
  const steady = growing.filter(({ cell, from, by }) =>
    sameValue(cell.value, number(from.value + by * count, from.of)),
  );
  const ends = steady.map(({ cell }) => cell.value);
  blur(state, last.before, reason);
  for (const { cell } of growing) if (cell.value.kind === 'number') forget(state, cell, reason);
  if (hasWays) blurFurther(state, last.before, round, reason);
  steady.forEach(({ cell }, index) => {
    write(state, cell, ends[index]);
  });
  return steady;
}

/** Rounds that are tried beside the first. */
const MOST_FURTHER = 3;

/**
 * The first round took the way that what it found led it. What it has changed may lead the next another way, where other things are
 * changed: these are unknown behind the loop too (a search that goes back counts its solutions in few of its rounds).
 */
export function blurFurther(state: HostState, first: Outcome, round: () => Completion, reason: string): void {
  let changed = first;
  for (let more = 0; more < MOST_FURTHER && hasChanged(changed); more++) {
    changed = forMany(state, round).before;
    blur(state, changed, reason);
  }
}

/** Something is unknown now that was not. */
const hasChanged = (before: Outcome): boolean =>
  [...before].some(([cell, old]) => cell.value.kind === 'unknown' && old.kind !== 'unknown');

function growthOf(cell: Cell, old: Value, count: number): Growth[] {
  const now = cell.value;
  if (old.kind !== 'number' || now.kind !== 'number' || old.of !== now.of) return [];
  const by = now.value - old.value;
  const end = old.value + by * count;
  // floating-point sums round, integers wrap
  const isExact = Number.isSafeInteger(old.value) && Number.isSafeInteger(by) && convertNumber(end, old.of) === end;
  return isExact && by !== 0 ? [{ cell, from: old, by }] : [];
}
