/** Host switches: the known case, or each case once. */
import type { CaseStatement, Statement, SwitchStatement } from '../parse/ast';
import { evaluate } from './expression';
import { apply, tryOut, watch } from './memory';
import { childScope, type Scope } from './scope';
import type { HostState } from './state';
import { type Completion, evaluateCondition, join, runEscapable, runList, runStatement, tryWay } from './statement';
import type { Value } from './value';

interface Cases {
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
  return runEscapable(state, () => runCases(state, { body, value, scope: inner, last }));
}

function runCases(state: HostState, { body, value, scope: inner, last }: Cases): Completion {
  if (value.kind !== 'number') return runAllCases(state, body, inner, last);
  const start = chosenCase(state, body, value, inner);
  for (const other of caseStarts(body)) if (other !== start) lookIntoCase(state, body, other, inner, last);
  if (start === undefined) return 'next';
  const returns = state.frame.returns.length;
  const { result, before } = watch(state, () => runList(state, body.slice(start), inner, last));
  if (result !== 'exit') return withoutBreak(result);
  // `default: usage(); exit(1);`: which case is meant is not known then.
  apply(state, before);
  state.frame.returns.length = returns;
  return runAllCases(state, body, inner, last);
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

function runAllCases(state: HostState, body: readonly Statement[], scope: Scope, last: number): Completion {
  const starts = caseStarts(body);
  const ways = starts.map((start) =>
    tryWay(state, () => withoutBreak(runList(state, body.slice(start), childScope(scope), last))),
  );
  const hasDefault = body.some((statement) => statement.kind === 'case' && !statement.value);
  if (!hasDefault && starts.length === 0) return 'next';
  const all = hasDefault ? ways : [...ways, { completion: 'next' as const, outcome: new Map() }];
  return join(state, all);
}

/** A case that is not chosen is run for the launches in it that nobody has seen. */
function lookIntoCase(state: HostState, body: readonly Statement[], start: number, scope: Scope, last: number): void {
  const recorder = state.recorder;
  const next = body.findIndex(
    (statement, index) => index > start && statement.kind === 'case' && body[index - 1].kind !== 'case',
  );
  const end = next > 0 ? body[next - 1].last : last;
  if (!recorder?.holdsUnseen(body[start].first, end)) return;
  const returns = state.frame.returns.length;
  const left = state.frame.left.length;
  const escaped = state.frame.escaped.length;
  recorder.speculation++;
  state.uncertain++;
  tryOut(state, () => runList(state, body.slice(start), childScope(scope), last));
  state.uncertain--;
  recorder.speculation--;
  state.frame.returns.length = returns;
  state.frame.left.length = left;
  state.frame.escaped.length = escaped;
}
