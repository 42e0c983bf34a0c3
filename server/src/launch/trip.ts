/** Trip counts of counting loops. */
import type { DoStatement, Expression, ForStatement, WhileStatement } from '../parse/ast';
import { compoundStep } from '../parse/plain-step';
import { evaluate } from './expression';
import { lookup } from './lookup';
import { store } from './memory';
import type { Scope } from './scope';
import type { HostState } from './state';
import { type Cell, type NumberValue, number } from './value';

export interface Trip {
  readonly variable: Cell;
  readonly of: NumberValue['of'];
  /** Rounds still to come. */
  readonly count: number;
  /** Value of the variable in the last round. */
  readonly last?: number;
  /** Sets the variable to its value behind the loop. */
  readonly finish: (state: HostState) => void;
}

/** The rounds still to come of `for (…; i < n; i += s)`; undefined for loops of another form. */
export function estimateTrip(
  state: HostState,
  statement: ForStatement | WhileStatement | DoStatement,
  scope: Scope,
): Trip | undefined {
  if (statement.kind !== 'for' || !statement.increment || statement.condition?.kind !== 'binary') return undefined;
  const step = stepOf(state, statement.increment, scope);
  if (!step || step.by === 0) return undefined;
  const { left, right, operator } = statement.condition;
  const isLeft = isName(left, step.name);
  if (!isLeft && !isName(right, step.name)) return undefined;
  const found = lookup(state, step.name, scope);
  const bound = evaluate(state, isLeft ? right : left, scope);
  if (found?.kind !== 'cell' || found.cell.value.kind !== 'number' || bound.kind !== 'number') return undefined;
  const from = found.cell.value;
  const relation = isLeft ? operator : mirrored[operator];
  const span = spanOf(relation, bound.value - from.value, step.by);
  const count = Math.ceil(span / step.by);
  if (!Number.isFinite(count) || count <= 0) return undefined;
  const end = from.value + count * step.by;
  return {
    variable: found.cell,
    of: from.of,
    count,
    last: end - step.by,
    finish: (at) => store(at, found.cell, number(end, from.of)),
  };
}

const mirrored: Readonly<Record<string, string>> = { '<': '>', '>': '<', '<=': '>=', '>=': '<=', '!=': '!=' };

/** The distance to go; NaN for a relation that does not fit the direction. */
function spanOf(relation: string, distance: number, step: number): number {
  const up = step > 0;
  if (relation === (up ? '<' : '>') || relation === '!=') return distance;
  if (relation === (up ? '<=' : '>=')) return distance + (up ? 1 : -1);
  return Number.NaN;
}

function isName(expression: Expression, name: string): boolean {
  return expression.kind === 'name' && expression.name.parts.length === 1 && expression.name.parts[0].name === name;
}

function stepOf(state: HostState, increment: Expression, scope: Scope): { name: string; by: number } | undefined {
  if (increment.kind === 'unary' && increment.operand.kind === 'name') {
    const by = increment.operator.endsWith('++') ? 1 : increment.operator.endsWith('--') ? -1 : 0;
    return { name: increment.operand.name.parts[0].name, by };
  }
  const node = compoundStep(increment) ?? increment;
  if (node.kind !== 'assign' || node.left.kind !== 'name') return undefined;
  if (node.operator !== '+=' && node.operator !== '-=') return undefined;
  const by = evaluate(state, node.right, scope);
  if (by.kind !== 'number') return undefined;
  return { name: node.left.name.parts[0].name, by: node.operator === '+=' ? by.value : -by.value };
}
