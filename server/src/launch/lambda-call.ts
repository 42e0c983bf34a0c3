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
import { bindParameters } from './template-binding';
import { type BoundArgument, type LambdaValue, typeOf, unknown, type Value } from './value';

/**
 * Runs a lambda with arguments; its captures are the variables of the scope it was made in.
 * @param templateArguments as `f.operator()<4>()` gives them
 */
export function callLambda(
  state: HostState,
  lambda: LambdaValue,
  list: readonly HostArgument[],
  templateArguments: readonly BoundArgument[] = [],
): Value {
  if (!step(state) || state.depth >= budgets.callDepth) return unknown('the calls are nested too deeply');
  const { expression } = lambda;
  const scope = childScope(childScope(lambda.scope, { values: new Map(lambda.captures) }));
  state.depth++;
  bindLambdaTemplate(state, lambda, list, templateArguments, scope);
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
  const frame: Frame = { name: state.frame.name, returns: [], isEntry: false, left: [], escaped: [], mayReturn: false };
  const outer = state.frame;
  state.frame = frame;
  runLambdaBody(state, expression.body, scope);
  state.frame = outer;
  state.depth--;
  return frameResult(state, frame);
}

function bindLambdaTemplate(
  state: HostState,
  { expression }: LambdaValue,
  list: readonly HostArgument[],
  given: readonly BoundArgument[],
  scope: Scope,
): void {
  const parameters = expression.templateParameters ?? [];
  if (parameters.length === 0) return;
  const names = new Set(parameters.map((parameter) => parameter.name ?? ''));
  const deduced = new Map<string, BoundArgument>();
  for (const [index, parameter] of expression.parameters.entries()) {
    const type = list[index] && typeOf(list[index].value);
    if (type) deduceType(state, parameter.type, type, names, deduced);
  }
  bindParameters(state, parameters, given, scope, deduced);
}
