/** Execution of host statements. A condition that is not known runs both sides and keeps what they agree on. */
import type {
  CompoundStatement,
  Handler,
  IfStatement,
  Statement,
  TryStatement,
  VariableDeclaration,
} from '../parse/ast';
import { declareAll, declareLocal } from './declaration';
import { evaluate } from './expression';
import { fromList } from './initialise';
import { forgetRepeated, jumpTarget } from './jumps';
import { runLoop, runRangeLoop } from './loop';
import { apply, applyEither, forget, type Outcome, settleLeft, tryOut, watch } from './memory';
import { locate, read } from './place';
import { childScope, type Scope } from './scope';
import { type HostState, step } from './state';
import { isSupposed, runSupposed, runSupposing, type Supposition, suppositionOf } from './supposed';
import { runSwitch } from './switch';
import { truth, unknown, type Value } from './value';

/** exit: the program ends here, so a person would not look at this way. stop: the budget is used up. */
export type Completion = 'next' | 'break' | 'continue' | 'return' | 'goto' | 'exit' | 'stop';

/** Runs a function's body; exit() inside of it reaches the caller's statement. */
export function runFunctionBody(state: HostState, body: CompoundStatement, scope: Scope): void {
  const completion = runList(state, body.body, childScope(scope), body.last);
  // A function that may have returned before does not end the program for sure.
  const { left, mayReturn } = state.frame;
  if (completion === 'exit' && !mayReturn) state.leaving = 'exit';
  else if (left.length > 0) settleLeft(state, left, completion === 'exit');
}

/** Runs the body of a lambda. */
export function runLambdaBody(state: HostState, body: CompoundStatement, scope: Scope): void {
  runFunctionBody(state, body, scope);
}

/** Runs statements one after another. `last`: the token that closes them. */
export function runList(state: HostState, list: readonly Statement[], scope: Scope, last: number): Completion {
  for (let index = 0; index < list.length; index++) {
    const statement = list[index];
    const completion = runStatement(state, statement, scope);
    if (state.frame.mayJump) forgetRepeated(state, list, index, scope);
    if (completion === 'next') continue;
    if (completion === 'goto') {
      const target = jumpTarget(state, list, index, scope);
      if (target === undefined) return 'goto';
      index = target;
      continue;
    }
    const mayLeave = completion === 'exit' || (completion === 'return' && state.frame.isEntry);
    const next = list[index + 1];
    // `if (argc < 2) return 1;` does not keep us from the launches behind it.
    const goesOn = mayLeave && next && state.recorder?.holdsUnseen(next.first, last);
    if (!goesOn) return completion;
    if (state.uncertain === 0) state.pastExit = true;
  }
  return 'next';
}

/** Runs one statement in a scope. */
export function runStatement(state: HostState, statement: Statement, scope: Scope): Completion {
  if (!step(state)) return 'stop';
  const completion = runKind(state, statement, scope);
  const { leaving } = state;
  if (!leaving) return completion;
  state.leaving = undefined;
  return leaving;
}

function runKind(state: HostState, statement: Statement, scope: Scope): Completion {
  switch (statement.kind) {
    case 'compound':
      return runList(state, statement.body, childScope(scope), statement.last);
    case 'declaration':
      declareAll(state, statement.declarations, scope);
      return 'next';
    case 'expression':
      evaluate(state, statement.expression, scope);
      return 'next';
    case 'if':
      return runIf(state, statement, childScope(scope));
    case 'for':
    case 'while':
    case 'do':
      return runLoop(state, statement, childScope(scope));
    case 'rangeFor':
      return runRangeLoop(state, statement, childScope(scope));
    case 'switch':
      return runSwitch(state, statement, childScope(scope));
    case 'break':
    case 'continue':
      return statement.kind;
    case 'return':
      state.frame.mayReturn = true;
      if (statement.value) state.frame.returns.push(returned(state, statement.value, scope));
      return 'return';
    case 'try':
      return runTry(state, statement, scope);
    case 'goto':
      state.frame.jump = statement.label;
      return 'goto';
    default:
      return 'next';
  }
}

/** Where something is thrown, or the program ends, in between, what the body and its handlers may have written is not known. */
function runTry(state: HostState, { body, handlers }: TryStatement, scope: Scope): Completion {
  if (handlers.length === 0) return runStatement(state, body, scope);
  const returns = state.frame.returns.length;
  // a person would look at launches behind what is thrown
  const isCaught = !state.recorder?.holdsUnseen(body.first, body.last);
  if (isCaught) state.tries++;
  const { thrown } = state;
  const { result, outcome } = tryOut(state, () => runStatement(state, body, scope));
  if (isCaught) state.tries--;
  for (const handler of handlers) lookInto(state, handler.body, scope);
  if (result !== 'exit') {
    apply(state, outcome);
    if (isCaught && state.thrown > thrown) blurHandlers(state, handlers, scope);
    return result;
  }
  state.frame.returns.length = returns;
  const caught = tryWay(state, () => runHandlers(state, handlers, outcome, scope));
  if (caught.completion === 'return') state.frame.returns.push(unknown('what a handler returns'));
  blurOutcome(state, outcome);
  blurOutcome(state, caught.outcome);
  return caught.completion;
}

/** Something may have been thrown: what the handlers write is not known, whatever they were left by. */
function blurHandlers(state: HostState, handlers: readonly Handler[], scope: Scope): void {
  const returns = state.frame.returns.length;
  const { outcome } = tryWay(state, () => runAny(state, handlers, scope));
  state.frame.returns.length = returns;
  blurOutcome(state, outcome);
}

/** Which of them takes it is not known. */
function runHandlers(state: HostState, handlers: readonly Handler[], thrown: Outcome, scope: Scope): Completion {
  blurOutcome(state, thrown);
  const [only, ...others] = handlers;
  return others.length === 0 ? runStatement(state, only.body, childScope(scope)) : runAny(state, handlers, scope);
}

function runAny(state: HostState, handlers: readonly Handler[], scope: Scope): Completion {
  return join(
    state,
    handlers.map(({ body }) => tryWay(state, () => runStatement(state, body, childScope(scope)))),
  );
}

/** Cells that a way wrote before it was left somewhere. */
function blurOutcome(state: HostState, outcome: Outcome): void {
  for (const cell of outcome.keys()) forget(state, cell, 'written where something is thrown');
}

/** `return {a, b};` takes the type of the function. */
function returned(state: HostState, value: Parameters<typeof evaluate>[1], scope: Scope): Value {
  const type = state.frame.resultType;
  if (type?.kind === 'reference' && value.kind !== 'initList') {
    const place = locate(state, value, scope);
    state.frame.referred = place.kind === 'cell' ? place.cell : undefined;
    return read(place);
  }
  return value.kind === 'initList' && type ? fromList(state, value, type, scope) : evaluate(state, value, scope);
}

/** Value of a condition, which may declare a variable. */
export function evaluateCondition(state: HostState, condition: IfStatement['condition'], scope: Scope): Value {
  if (condition.kind !== 'variable') return evaluate(state, condition, scope);
  declareLocal(state, condition satisfies VariableDeclaration, scope);
  return (condition.name && scope.values.get(condition.name)?.value) || unknown('a condition');
}

function runIf(state: HostState, statement: IfStatement, scope: Scope): Completion {
  if (statement.initializer) runStatement(state, statement.initializer, scope);
  const { condition } = statement;
  const holds = truth(evaluateCondition(state, condition, scope));
  if (state.leaving) return state.leaving;
  const supposed = condition.kind === 'variable' ? undefined : suppositionOf(state, condition, scope, statement.then);
  if (holds === undefined) return runBoth(state, statement, supposed, scope);
  const [chosen, other] = holds ? [statement.then, statement.else] : [statement.else, statement.then];
  const isChosen = holds && supposed !== undefined && isSupposed(state, supposed);
  if (other && !isChosen) lookInto(state, other, scope, holds ? undefined : supposed);
  if (!chosen) return 'next';
  if (isChosen) return runSupposed(state, supposed, () => runUnlessExit(state, chosen, undefined, scope));
  return runUnlessExit(state, chosen, other, scope);
}

/** A way that ends the program is undone: the other one is what a person would run. */
function runUnlessExit(state: HostState, chosen: Statement, other: Statement | undefined, scope: Scope): Completion {
  if (!state.exits.mayExit(chosen.first, chosen.last)) return runStatement(state, chosen, childScope(scope));
  const returns = state.frame.returns.length;
  const { result, before } = watch(state, () => runStatement(state, chosen, childScope(scope)));
  if (result !== 'exit' || state.tries > 0) return result;
  if (state.uncertain === 0) state.pastExit = true;
  apply(state, before);
  state.frame.returns.length = returns;
  if (!other) return 'next';
  return runStatement(state, other, childScope(scope));
}

/** Runs a way that is not taken only for the launches in it that nobody has seen, and undoes it. */
export function lookInto(state: HostState, statement: Statement, scope: Scope, supposed?: Supposition): void {
  lookIntoWay(state, supposed, statement, () => runStatement(state, statement, childScope(scope)));
}

/** @param supposed what holds in the way of the variable that chose another */
export function lookIntoWay(
  state: HostState,
  supposed: Supposition | undefined,
  way: { readonly first: number; readonly last: number },
  run: () => Completion,
): void {
  const recorder = state.recorder;
  if (!recorder?.holdsUnseen(way.first, way.last) || recorder.isMuted) return;
  const returns = state.frame.returns.length;
  const left = state.frame.left.length;
  const escaped = state.frame.escaped.length;
  recorder.speculation++;
  state.uncertain++;
  if (!runSupposing(state, supposed, way)) tryOut(state, run);
  state.uncertain--;
  recorder.speculation--;
  state.frame.returns.length = returns;
  state.frame.left.length = left;
  state.frame.escaped.length = escaped;
}

/** Runs what `break` or `continue` leaves: what the ways wrote that did so counts behind it. */
export function runEscapable(state: HostState, run: () => Completion): Completion {
  const { frame } = state;
  const outer = frame.escaped;
  frame.escaped = [];
  const completion = run();
  settleLeft(state, frame.escaped, false);
  frame.escaped = outer;
  return completion;
}

interface Way {
  readonly completion: Completion;
  readonly outcome: Outcome;
}

/** Runs something as one of several ways that may be taken, and undoes it. */
export function tryWay(state: HostState, run: () => Completion): Way {
  state.uncertain++;
  const returns = state.frame.returns.length;
  const left = state.frame.left.length;
  const escaped = state.frame.escaped.length;
  const { result, outcome } = tryOut(state, run);
  if (result === 'exit') {
    state.frame.returns.length = returns;
    state.frame.left.length = left;
    state.frame.escaped.length = escaped;
  }
  state.uncertain--;
  return { completion: result, outcome };
}

function runBoth(
  state: HostState,
  statement: IfStatement,
  supposed: Supposition | undefined,
  scope: Scope,
): Completion {
  const isSeen = runSupposing(state, supposed, statement.then);
  const endMute = isSeen ? state.recorder?.mute() : undefined;
  const then = tryWay(state, () => runStatement(state, statement.then, childScope(scope)));
  endMute?.();
  const otherwise = statement.else;
  const second: Way = otherwise
    ? tryWay(state, () => runStatement(state, otherwise, childScope(scope)))
    : { completion: 'next', outcome: new Map() };
  return join(state, [then, second]);
}

/** What holds behind several ways of which one was taken: those that go on count, unless none does. */
export function join(state: HostState, ways: readonly Way[]): Completion {
  const [first, ...others] = preferred(ways);
  if (!first) return ways[0]?.completion ?? 'next';
  for (const { completion, outcome } of ways) {
    if (completion === first.completion || (completion !== 'break' && completion !== 'continue')) continue;
    if (first.completion === 'next') state.doubtful = true;
    if (outcome.size > 0) state.frame.escaped.push(outcome);
  }
  for (const { completion } of ways)
    if (completion === 'goto' && first.completion !== 'goto' && state.frame.jump !== undefined)
      state.frame.mayJump = new Set([...(state.frame.mayJump ?? []), state.frame.jump]);
  if (first.completion !== 'return') {
    for (const way of ways)
      if (way.completion === 'return') {
        state.frame.mayBeLeft = true;
        if (way.outcome.size > 0) state.frame.left.push(way.outcome);
      }
  }
  if (others.length === 0) apply(state, first.outcome);
  else joinOutcomes(state, [first, ...others]);
  // a jump comes back with what it wrote before
  for (const { completion, outcome } of ways)
    if (completion === 'goto' && first.completion !== 'goto')
      for (const cell of outcome.keys()) forget(state, cell, 'written before a jump');
  return first.completion;
}

/** The ways that go on; else those that stay in the loop, else those that return. */
function preferred(ways: readonly Way[]): readonly Way[] {
  for (const completion of ['next', 'continue', 'break', 'return', 'goto', 'stop'] as const) {
    const list = ways.filter((way) => way.completion === completion);
    if (list.length > 0) return list;
  }
  return [];
}

function joinOutcomes(state: HostState, ways: readonly Way[]): void {
  let outcome = ways[0].outcome;
  for (const way of ways.slice(1, -1)) {
    const before = outcome;
    outcome = tryOut(state, () => applyEither(state, before, way.outcome)).outcome;
  }
  applyEither(state, outcome, ways[ways.length - 1].outcome);
}
