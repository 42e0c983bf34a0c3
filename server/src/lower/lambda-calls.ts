/** Calls of lambdas: those of the program's own text, and of classes that are made of them. */

import type * as ast from '../parse/ast';
import { subobject } from './bases';
import { bindParameter } from './bound-values';
import { atCall, bindPack, inlineBody, withCall } from './calls';
import type { Context } from './context';
import { expression } from './expressions';
import { scopeOfKept } from './host/closures';
import { callLambdaItself } from './host/recursion';
import { conversionCost } from './overloads';
import { rvalue } from './places';
import { inScope, resolveType } from './resolve-type';
import { Scope } from './scope';
import { bindTemplateParameters, deduceArguments } from './templates';
import { parameterType, type RecordInfo, type Type, withoutReference } from './types';
import { unknownValue, type Value } from './values';

export function callLambda(
  ctx: Context,
  callee: Value & { kind: 'lambda' },
  args: readonly Value[],
  node: ast.Node,
): Value {
  return callLambdaItself(ctx, callee, [], args, node, (_, given) => inlineLambda(ctx, callee, given, node));
}

/** Inlines a lambda. */
export function inlineLambda(
  ctx: Context,
  callee: Value & { kind: 'lambda' },
  args: readonly Value[],
  node: ast.Node,
): Value {
  if (ctx.callDepth >= ctx.budget.callDepth)
    return unknownValue({ kind: 'unknown', reason: 'lambda' }, 'lambda nested too deeply to follow');
  const { lambda } = callee;
  const scope = new Scope(callee.scope, 'lambda');
  const { length: locals } = ctx.locals;
  return withCall(ctx, undefined, node, false, () => {
    ctx.scope = callee.scope;
    for (const capture of lambda.captures) {
      if (capture.initializer)
        scope.define(capture.name, { kind: 'value', value: rvalue(ctx, expression(ctx, capture.initializer), node) });
    }
    if (lambda.templateParameters) {
      const argumentTypes = args.map((a) => a.type);
      const deduced = deduceArguments(ctx, lambda, callee.templateArguments ?? [], argumentTypes, callee.scope);
      bindTemplateParameters(ctx, scope, lambda.templateParameters, deduced);
    }
    for (const [i, parameter] of lambda.parameters.entries()) {
      const value = args[i];
      if (parameter.pack) {
        bindPack(ctx, scope, parameter, args.slice(i), node);
        break;
      }
      if (!parameter.name || !value) continue;
      const type = parameterType(resolveType(ctx, parameter.type, scope));
      const plain: Type = type.kind === 'unknown' ? withoutReference(value.type) : type;
      bindParameter(
        ctx,
        scope,
        parameter,
        parameter.name,
        parameter.type.kind === 'reference'
          ? { kind: 'reference', to: withoutReference(plain), isRvalue: parameter.type.rvalue }
          : plain,
        value,
        node,
      );
    }
    const result: Type = lambda.result ? resolveType(ctx, lambda.result, scope) : { kind: 'unknown', reason: 'auto' };
    return atCall(inlineBody(ctx, lambda.body, new Scope(scope, 'body'), result, undefined, locals), node);
  });
}

/** Of a class that is made of lambdas (`struct overloaded : F...`) the one that takes the arguments; none where two of them seem to. */
export function lambdaBase(
  ctx: Context,
  object: Value,
  record: RecordInfo,
  args: readonly Value[],
  node: ast.Node,
): Value | undefined {
  const rated = record.fields.flatMap((field) => {
    const lambda = field.isBase && field.type.kind === 'callable' ? field.type.of.lambda : undefined;
    if (lambda?.parameters.length !== args.length) return [];
    const part = subobject(object, field);
    if (!part) return [];
    const value = rvalue(ctx, part, node);
    // its names mean what they mean where it is written
    const scope = value.kind === 'lambda' ? value.scope : (scopeOfKept(ctx, lambda) ?? ctx.scope);
    const costs = lambda.parameters.map(({ type }, i) =>
      conversionCost(args[i].type, parameterType(inScope(ctx, scope, () => resolveType(ctx, type)))),
    );
    if (costs.some((cost) => cost === undefined)) return [];
    return [{ value, cost: costs.reduce<number>((sum, each) => sum + (each ?? 0), 0) }];
  });
  const least = Math.min(...rated.map(({ cost }) => cost));
  const [best, ...others] = rated.filter(({ cost }) => cost === least);
  return others.length === 0 ? best?.value : undefined;
}
