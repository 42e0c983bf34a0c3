/** Host switches: the known case, or each case once. */
import type { CaseStatement, Statement, SwitchStatement } from '../parse/ast';
import { evaluate } from './expression';
import { apply, watch } from './memory';
import { childScope, type Scope } from './scope';
import type { HostState } from './state';
import {
  type Completion,
  evaluateCondition,
  join,
  lookIntoWay,
  runEscapable,
  runList,
  runStatement,
  tryWay,
} from './statement';
import { isSupposed, runSupposed, runSupposing, type Supposition, supposition } from './supposed';
import type { Value } from './value';

interface Cases {
  readonly condition: SwitchStatement['condition'];
  readonly body: readonly Statement[];
  readonly value: Value;
  readonly scope: Scope;
  readonly last: number;
}

/** Runs a switch in a scope of its own. */
export function runSwitch(state: HostState, statement: SwitchStatement, scope: Scope): Completion {
  if (statement.initializer) runStatement(state, statement.initializer, scope);
  const value = evaluateCondition(state, statement.condition, scope);
  if (state.leaving) return state.leaving;
  const body = statement.body.kind === 'compound' ? statement.body.body : [statement.body];
  const inner = childScope(scope);
  const last = statement.body.last;
  const { condition } = statement;
  return runEscapable(state, () => runCases(state, { condition, body, value, scope: inner, last }));
}

function runCases(state: HostState, cases: Cases): Completion {
  const { body, value, scope: inner, last } = cases;
  if (value.kind !== 'number') return runAllCases(state, cases);
  const start = chosenCase(state, body, value, inner);
  const chosen = start === undefined ? undefined : suppositionAt(state, cases, start);
  if (!chosen || !isSupposed(state, chosen))
    for (const other of caseStarts(body)) if (other !== start) lookIntoCase(state, cases, other);
  if (start === undefined) return 'next';
  const returns = state.frame.returns.length;
  const run = () => runSupposed(state, chosen, () => runList(state, body.slice(start), inner, last));
  const { result, before } = watch(state, run);
  if (result !== 'exit') return withoutBreak(result);
  // `default: usage(); exit(1);`: which case is meant is not known then.
  apply(state, before);
  state.frame.returns.length = returns;
  return runAllCases(state, cases);
}

/** What holds of the variable in a case. */
function suppositionAt(state: HostState, cases: Cases, start: number): Supposition | undefined {
  const { condition, body, scope } = cases;
  const label = body[start];
  if (condition.kind === 'variable' || label.kind !== 'case' || label.to) return undefined;
  return supposition(state, condition, label.value, scope, wayOf(cases, start));
}

/** The tokens from a case to the next one. */
function wayOf({ body, last }: Cases, start: number): { readonly first: number; readonly last: number } {
  const next = body.findIndex(
    (statement, index) => index > start && statement.kind === 'case' && body[index - 1].kind !== 'case',
  );
  return { first: body[start].first, last: next > 0 ? body[next - 1].last : last };
}

function withoutBreak(completion: Completion): Completion {
  return completion === 'break' ? 'next' : completion;
}

/** Indices of the labels that begin a group of cases. */
function caseStarts(body: readonly Statement[]): number[] {
  return [...body.keys()].filter((index) => body[index].kind === 'case' && body[index - 1]?.kind !== 'case');
}

function chosenCase(
  state: HostState,
  body: readonly Statement[],
  value: Value & { kind: 'number' },
  scope: Scope,
): number | undefined {
  let otherwise: number | undefined;
  for (const [index, statement] of body.entries()) {
    if (statement.kind !== 'case') continue;
    if (!statement.value) otherwise = index;
    else if (matches(state, statement, value, scope)) return index;
  }
  return otherwise;
}

function matches(state: HostState, label: CaseStatement, value: Value & { kind: 'number' }, scope: Scope): boolean {
  const from = label.value && evaluate(state, label.value, scope);
  const to = label.to && evaluate(state, label.to, scope);
  if (from?.kind !== 'number') return false;
  return to?.kind === 'number' ? value.value >= from.value && value.value <= to.value : value.value === from.value;
}

function runAllCases(state: HostState, cases: Cases): Completion {
  const { body, scope, last } = cases;
  const starts = caseStarts(body);
  const ways = starts.map((start) => {
    const isSeen = runSupposing(state, suppositionAt(state, cases, start), wayOf(cases, start));
    const endMute = isSeen ? state.recorder?.mute() : undefined;
    const way = tryWay(state, () => withoutBreak(runList(state, body.slice(start), childScope(scope), last)));
    endMute?.();
    return way;
  });
  const hasDefault = body.some((statement) => statement.kind === 'case' && !statement.value);
  if (!hasDefault && starts.length === 0) return 'next';
  const all = hasDefault ? ways : [...ways, { completion: 'next' as const, outcome: new Map() }];
  return join(state, all);
}

/** A case that is not chosen is run for the launches in it that nobody has seen. */
function lookIntoCase(state: HostState, cases: Cases, start: number): void {
  const { body, scope, last } = cases;
  const way = wayOf(cases, start);
  lookIntoWay(state, suppositionAt(state, cases, start), way, () =>
    runList(state, body.slice(start), childScope(scope), last),
  );
}
