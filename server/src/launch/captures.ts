/** What a lambda of the host captures. */
import type { LambdaExpression } from '../parse/ast';
import { localVariable, ownValue, type Scope } from './scope';
import type { Cell, LambdaValue } from './value';
import { walk } from './walk';

/** `[=]`: numbers and pointers as they are now; what is larger is taken to stay as it is. */
export function captureNumbers(expression: LambdaExpression, scope: Scope, captures: Map<string, Cell>): void {
  for (const name of namesIn(expression)) {
    const cell = captures.has(name) ? undefined : localVariable(scope, name);
    if (cell?.value.kind === 'number' || cell?.value.kind === 'pointer')
      captures.set(name, { ...cell, buffer: undefined });
  }
}

/** Captures of a lambda; those of a default capture are the variables its body names. */
export function capturesOf({ expression, captures, scope }: LambdaValue): ReadonlyMap<string, Cell> {
  if (!expression.defaultCapture) return captures;
  const all = new Map(captures);
  for (const name of namesIn(expression)) {
    const cell = all.has(name) ? undefined : variableAround(scope, name);
    if (cell) all.set(name, cell);
  }
  return all;
}

function variableAround(scope: Scope, name: string): Cell | undefined {
  for (let at: Scope | undefined = scope; at && !at.symbols; at = at.parent) {
    const cell = ownValue(at, name);
    if (cell) return cell;
  }
  return undefined;
}

const namesOfLambdas = new WeakMap<LambdaExpression, ReadonlySet<string>>();

function namesIn(expression: LambdaExpression): ReadonlySet<string> {
  let names = namesOfLambdas.get(expression);
  if (!names) {
    const found = new Set<string>();
    walk(expression.body, { name: ({ name }) => name.parts.length === 1 && found.add(name.parts[0].name) });
    namesOfLambdas.set(expression, (names = found));
  }
  return names;
}
