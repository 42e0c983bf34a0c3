/**
 * Host loops. They are run while their condition is known and the budget lasts; a loop that changes nothing a launch
 * could see is cut short, and what it wrote is unknown behind it.
 */
import { anywhere, assignedBy } from '../parse/anywhere';
import type { DoStatement, ForStatement, RangeForStatement, WhileStatement } from '../parse/ast';
import { forgetChosen } from './assignment';
import { forgetBehind } from './call';
import { convert } from './conversion';
import { bindNames } from './declaration';
import { evaluate } from './expression';
import { blurFurther, forMany, runMany } from './growth';
import { autoType, type HostType, withoutReference } from './host-type';
import { sizeOf } from './layout';
import { blur, cellAt, makeCell, named, smudge, store, watch, write } from './memory';
import { resolveType } from './resolve-type';
import { childScope, type Scope } from './scope';
import { budgets, type HostState } from './state';
import { type Completion, evaluateCondition, lookInto, runEscapable, runStatement } from './statement';
import { estimateTrip, type Trip } from './trip';
import { unknownOf } from './unknown-of';
import { rootOf } from './unseen';
import {
  type Buffer,
  type Cell,
  number,
  type StructValue,
  truth,
  typeOf,
  unknown,
  unknownFrom,
  type Value,
} from './value';

type LoopStatement = ForStatement | WhileStatement | DoStatement;

interface Loop {
  readonly state: HostState;
  readonly statement: LoopStatement;
  readonly scope: Scope;
  readonly hasLaunch: boolean;
  readonly stepsAtStart: number;
}

/** Rounds that bring no new launch before a loop of launches is taken as steady. */
const steadyRounds = 3;

/** Runs a for, while or do loop in a scope of its own. */
export const runLoop = (state: HostState, statement: LoopStatement, scope: Scope): Completion =>
  runEscapable(state, () => runAllRounds(state, statement, scope));

function runAllRounds(state: HostState, statement: LoopStatement, scope: Scope): Completion {
  if (statement.kind === 'for' && statement.initializer) runStatement(state, statement.initializer, scope);
  const hasLaunch = state.recorder?.holds(statement.first, statement.last) ?? false;
  const loop: Loop = { state, statement, scope, hasLaunch, stepsAtStart: state.steps };
  const outerDoubt = state.doubtful;
  state.doubtful = false;
  const leave = hasLaunch ? state.recorder?.enterLoop() : undefined;
  const { result, before } = watch(state, () => runRounds(loop));
  if (state.doubtful) blur(state, before, 'a loop may end early');
  state.doubtful = outerDoubt;
  leave?.();
  return result;
}

function runRounds(loop: Loop): Completion {
  const { state, statement, scope } = loop;
  let quiet = 0;
  for (let round = 0; ; round++) {
    if (round > 0 || statement.kind !== 'do') {
      const holds = conditionHolds(loop);
      if (state.leaving) return state.leaving;
      if (holds === false) {
        if (round === 0) lookInto(state, statement.body, scope);
        return 'next';
      }
      if (holds === undefined) return round === 0 ? runDoubtfulRound(loop) : endDoubtfully(loop);
    }
    const trip = round === 0 ? estimateTrip(state, statement, scope) : undefined;
    const isBlind = state.blind > 0;
    if (trip && !loop.hasLaunch && trip.count > (isBlind ? budgets.blindRounds : budgets.quietRounds))
      return cutShort(loop, trip);
    const seen = state.recorder?.count ?? 0;
    const completion = runRound(loop, round);
    if (completion === 'break') return 'next';
    if (completion !== 'next' && completion !== 'continue') return completion;
    quiet = (state.recorder?.count ?? 0) === seen ? quiet + 1 : 0;
    const used = loop.stepsAtStart - state.steps;
    const isSteady = loop.hasLaunch && quiet >= steadyRounds;
    const most = loop.hasLaunch ? state.stepsOfLoop : isBlind ? budgets.blindLoop : budgets.quietLoop;
    if (isSteady || used > most) {
      return cutShort(loop, estimateTrip(state, statement, scope));
    }
  }
}

function conditionHolds(loop: Loop): boolean | undefined {
  const { statement, state, scope } = loop;
  if (!statement.condition) return true;
  return truth(evaluateCondition(state, statement.condition, scope));
}

function runRound(loop: Loop, round: number): Completion {
  const { state, statement, scope } = loop;
  if (loop.hasLaunch) state.recorder?.setRound(round);
  const completion = runStatement(state, statement.body, childScope(scope));
  if ((completion === 'next' || completion === 'continue') && statement.kind === 'for' && statement.increment) {
    evaluate(state, statement.increment, scope);
  }
  return completion;
}

/** The condition is not known: one round, whose changes may have happened any number of times. */
function runDoubtfulRound(loop: Loop): Completion {
  const { state } = loop;
  const reason = 'it changes in a loop of unknown length';
  const { result, before } = forMany(state, () => runRound(loop, 0));
  blur(state, before, reason);
  if (hasWays(loop)) blurFurther(state, before, () => blindRound(loop, undefined), reason);
  return result === 'stop' ? 'stop' : 'next';
}

/** The condition stopped being known after some rounds. */
function endDoubtfully(loop: Loop): Completion {
  const { state, statement } = loop;
  state.doubtful = true;
  if (loop.hasLaunch) state.recorder?.goOn(statement.first, statement.last);
  // later rounds may go ways that the first did not
  if (hasWays(loop))
    runMany(state, undefined, () => blindRound(loop, undefined), 'it changes in a loop of unknown length', true);
  return 'next';
}

/**
 * Ends a long loop: one round with its variable unknown shows what else it writes (all of that is unknown then, but for
 * what grows steadily), and where it launches, the last round is run too.
 */
function cutShort(loop: Loop, trip: Trip | undefined): Completion {
  const { state } = loop;
  const reason = 'it changes in a long loop';
  const grown = runMany(state, trip?.count, () => blindRound(loop, trip), reason, hasWays(loop));
  if (!trip) return 'next';
  if (loop.hasLaunch && trip.last !== undefined) {
    store(state, trip.variable, number(trip.last, trip.of));
    for (const { cell, from, by } of grown) write(state, cell, number(from.value + by * (trip.count - 1), from.of));
    const { before: atEnd } = watch(state, () => runRound(loop, trip.count - 1));
    blur(state, atEnd, reason);
    for (const { cell, from, by } of grown) write(state, cell, number(from.value + by * trip.count, from.of));
  }
  trip.finish(state);
  return 'next';
}

const branching = new WeakMap<LoopStatement, boolean>();

/** Whether rounds may go different ways. Those of loops that launch are run as far as they matter; within a blind round the loop around it has more. */
function hasWays({ statement, hasLaunch, state }: Loop): boolean {
  if (hasLaunch || state.blind > 0) return false;
  let known = branching.get(statement);
  if (known === undefined) {
    known = anywhere(statement.body, ({ kind }) => kind === 'if' || kind === 'switch');
    branching.set(statement, known);
  }
  return known;
}

function blindRound(loop: Loop, trip: Trip | undefined): Completion {
  const { state, hasLaunch } = loop;
  const resume = hasLaunch ? state.recorder?.mute() : undefined;
  if (trip) store(state, trip.variable, unknown('a loop variable', { type: trip.variable.type }));
  const completion = runRound(loop, 0);
  resume?.();
  return completion;
}

// ---- range for ------------------------------------------------------------------------------------------------------

/** Runs `for (x : range)` over a container or array whose length is known, else once. */
export const runRangeLoop = (state: HostState, statement: RangeForStatement, scope: Scope): Completion =>
  runEscapable(state, () => runAllElements(state, statement, scope));

function runAllElements(state: HostState, statement: RangeForStatement, scope: Scope): Completion {
  const range = evaluate(state, statement.range, scope);
  if (statement.range.kind === 'conditional' && writesElements(statement)) forgetChosen(state, statement.range, scope);
  const elements = elementsOf(state, range);
  const hasLaunch = state.recorder?.holds(statement.first, statement.last) ?? false;
  const leave = hasLaunch ? state.recorder?.enterLoop() : undefined;
  const outerDoubt = state.doubtful;
  state.doubtful = false;
  let result = 'next' as Completion;
  const { before } = watch(state, () => {
    if (elements) result = runElements(state, statement, elements, scope);
    else
      runMany(
        state,
        lengthOf(range),
        () => {
          result = runUnknownElement(state, statement, range, scope);
          return result;
        },
        'it changes in a loop of unknown length',
      );
  });
  if (state.doubtful) blur(state, before, 'it changes in a loop of unknown length');
  state.doubtful = outerDoubt;
  if (range.kind === 'struct' && writesElements(statement)) forgetWithin(state, range);
  leave?.();
  return !elements && result !== 'stop' ? 'next' : result;
}

/** Whether a loop assigns to what it calls the elements, which may be references whatever they are declared as. */
function writesElements({ variable, body }: RangeForStatement): boolean {
  const names = new Set([...(variable.name ? [variable.name] : []), ...(variable.bindings ?? [])]);
  return anywhere(body, (node) => {
    const target = assignedBy(node);
    const root = target && rootOf(target);
    return root !== undefined && names.has(root);
  });
}

/** What an object of the user's that is gone through refers to: containers, what pointers lead to. */
function forgetWithin(state: HostState, range: StructValue): void {
  for (const cell of range.fields.values()) {
    if (cell.value.kind === 'container') smudge(state, cell.value.buffer);
    else forgetBehind(state, cell.value);
  }
}

function lengthOf(range: Value): number | undefined {
  if (range.kind === 'array') return range.length;
  const size = range.kind === 'container' ? range.size.value : undefined;
  return size?.kind === 'number' ? size.value : undefined;
}

type Element = () => Cell;

function elementsOf(state: HostState, range: Value): readonly Element[] | undefined {
  const length = lengthOf(range);
  if (length === undefined || (range.kind !== 'array' && range.kind !== 'container')) return undefined;
  return cellsOf(state, range.buffer, range.kind === 'array' ? range.offset : 0, range.element, length);
}

function cellsOf(
  state: HostState,
  buffer: Buffer,
  offset: number,
  type: HostType,
  count: number,
): readonly Element[] | undefined {
  if (count > budgets.quietRounds) return undefined;
  const size = sizeOf(state, type) ?? 1;
  return Array.from({ length: count }, (_, index) => () => cellAt(state, buffer, offset + index * size, type));
}

function runElements(
  state: HostState,
  statement: RangeForStatement,
  elements: readonly Element[],
  scope: Scope,
): Completion {
  for (const [round, element] of elements.entries()) {
    state.recorder?.setRound(round);
    const inner = childScope(scope);
    const { name = '', bindings } = statement.variable;
    const type = resolveType(state, statement.variable.type, scope);
    const source = element();
    const isCopy = type.kind !== 'reference';
    if (bindings) bindNames(state, bindings, isCopy ? convert(state, source.value, type) : source.value, inner);
    else if (!isCopy) inner.values.set(name, source);
    else inner.values.set(name, makeCell(convert(state, source.value, type), { type, name, depth: state.depth }));
    const completion = runStatement(state, statement.body, inner);
    if (completion === 'break') return 'next';
    if (completion !== 'next' && completion !== 'continue') return completion;
  }
  return 'next';
}

function runUnknownElement(state: HostState, statement: RangeForStatement, range: Value, scope: Scope): Completion {
  const inner = childScope(scope);
  const { name = '', bindings } = statement.variable;
  const declared = withoutReference(resolveType(state, statement.variable.type, scope));
  const type = declared.kind === 'auto' ? (elementType(range) ?? autoType) : declared;
  const cell = makeCell(unknownFrom([range], 'an element'), { type, name, depth: state.depth });
  cell.value = type.kind === 'auto' ? named(state, cell, cell.value) : unknownOf(state, type, name, 'parameter');
  if (bindings) bindNames(state, bindings, cell.value, inner);
  else inner.values.set(name, cell);
  return runStatement(state, statement.body, inner);
}

function elementType(range: Value) {
  if (range.kind === 'container' || range.kind === 'array') return range.element;
  const type = typeOf(range);
  return type?.kind === 'container' ? type.element : undefined;
}
