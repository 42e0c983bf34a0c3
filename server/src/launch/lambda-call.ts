/** Calls of lambdas. */
import { convert } from './conversion';
import { deduceType } from './deduction';
import type { HostArgument } from './function-call';
import { frameResult } from './function-call';
import { makeCell, named } from './memory';
import { resolveType } from './resolve-type';
import { childScope, type Scope } from './scope';
import { budgets, type Frame, type HostState, step } from './state';
import { runLambdaBody } from './statement';
import { type BoundArgument, type LambdaValue, typeOf, unknown, type Value } from './value';

/** Runs a lambda with arguments; its captures are the variables of the scope it was made in. */
export function callLambda(state: HostState, lambda: LambdaValue, list: readonly HostArgument[]): Value {
  if (!step(state) || state.depth >= budgets.callDepth) return unknown('the calls are nested too deeply');
  const { expression } = lambda;
  const scope = childScope(childScope(lambda.scope, { values: new Map(lambda.captures) }));
  state.depth++;
  bindLambdaTemplate(state, lambda, list, scope);
  for (const [index, parameter] of expression.parameters.entries()) {
    const argument = list[index];
    if (!parameter.name) continue;
    if (parameter.pack) {
      const elements = list.slice(index).map((rest) => rest.cell ?? makeCell(rest.value));
      scope.values.set(parameter.name, makeCell({ kind: 'pack', elements }));
      break;
    }
    const type = resolveType(state, parameter.type, scope);
    if (type.kind === 'reference' && argument?.cell) {
      scope.values.set(parameter.name, argument.cell);
      continue;
    }
    const given = argument?.value ?? unknown(`${parameter.name} is not known`, { name: parameter.name });
    const cell = makeCell(given, { type, name: parameter.name, depth: state.depth });
    cell.value = named(state, cell, convert(state, given, type));
    scope.values.set(parameter.name, cell);
  }
  const frame: Frame = { name: state.frame.name, returns: [], isEntry: false, left: [], mayReturn: false };
  const outer = state.frame;
  state.frame = frame;
  runLambdaBody(state, expression.body, scope);
  state.frame = outer;
  state.depth--;
  return frameResult(state, frame);
}

function bindLambdaTemplate(state: HostState, lambda: LambdaValue, list: readonly HostArgument[], scope: Scope): void {
  const names = new Set((lambda.expression.templateParameters ?? []).map((parameter) => parameter.name ?? ''));
  if (names.size === 0) return;
  const bound = new Map<string, BoundArgument>();
  for (const [index, parameter] of lambda.expression.parameters.entries()) {
    const type = list[index] && typeOf(list[index].value);
    if (type) deduceType(state, parameter.type, type, names, bound);
  }
  for (const [name, argument] of bound) {
    if (argument.kind === 'type') scope.types.set(name, argument.type);
    if (argument.kind === 'value') scope.values.set(name, makeCell(argument.value, { name }));
  }
}
