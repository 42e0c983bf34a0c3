/** Whether constraints hold for types, and which of two demands more. What cannot be decided is undefined. */
import { type Answer, combined, every } from '../parse/answer';
import type { Expression, NameExpression, Parameter, Requirement, RequiresExpression } from '../parse/ast';
import { allOf, type Formula } from '../parse/subsumption';
import { neverMade } from './builtins/type-questions';
import { unevaluated } from './casts';
import { constantOf } from './constants';
import type { Context } from './context';
import { lookupQualified } from './lookup';
import { forEachElement, namesIn } from './packs';
import { argumentKey } from './records';
import { evaluateArguments, inScope, isFailure, resolveType } from './resolve-type';
import { type Entity, Scope } from './scope';
import { bindTemplateParameters } from './templates';
import { parameterType, type TemplateValue, type Type, types, withoutReference } from './types';
import { isValid, typeOfExpression } from './validity';
import type { Value } from './values';

export interface Constrained {
  readonly constraints?: readonly Expression[];
}

/** Whether all that stands in front of or behind a declaration holds. */
export function areFulfilled(ctx: Context, { constraints }: Constrained, scope: Scope): Answer {
  if (!constraints) return true;
  if (ctx.templateDepth > ctx.budget.templateDepth) return undefined;
  ctx.templateDepth++;
  try {
    return every(constraints, (constraint) => holds(ctx, constraint, scope));
  } finally {
    ctx.templateDepth--;
  }
}

function holds(ctx: Context, node: Expression, scope: Scope): Answer {
  switch (node.kind) {
    case 'binary': {
      if (node.operator !== '&&' && node.operator !== '||') return atomHolds(ctx, node, scope);
      return combined(node.operator, holds(ctx, node.left, scope), () => holds(ctx, node.right, scope));
    }
    case 'fold': {
      if (node.operator !== '&&' && node.operator !== '||') return atomHolds(ctx, node, scope);
      const answers = forEachElement(ctx, node.pack, scope, (inner) => holds(ctx, node.pack, inner));
      const isAll = node.operator === '&&';
      if (!answers || answers.includes(!isAll)) return answers && !isAll;
      return answers.includes(undefined) ? undefined : isAll;
    }
    case 'requires':
      return isFulfilled(ctx, node, scope);
    case 'name': {
      const concept = conceptNamed(ctx, node, scope);
      return concept ? conceptHolds(ctx, concept, argumentsOf(ctx, node, scope)) : atomHolds(ctx, node, scope);
    }
    default:
      return atomHolds(ctx, node, scope);
  }
}

/** Where it is not valid it does not hold. */
function atomHolds(ctx: Context, node: Expression, scope: Scope): Answer {
  return inScope(ctx, scope, () => {
    if (isValid(ctx, node) === false) return false;
    const value = unevaluated(ctx, () => constantOf(ctx, node));
    return value === undefined ? undefined : value !== 0;
  });
}

// ---- concepts ----

type Concept = Entity & { kind: 'global' };

function conceptNamed(ctx: Context, { name }: NameExpression, scope: Scope): Concept | undefined {
  const entity = lookupQualified(ctx, scope, name);
  return entity?.kind === 'global' && entity.declaration.isConcept ? entity : undefined;
}

const argumentsOf = (ctx: Context, { name }: NameExpression, scope: Scope): readonly TemplateValue[] =>
  evaluateArguments(ctx, name.parts.at(-1)?.templateArguments ?? [], scope);

/** Whether a concept holds for arguments. */
export function conceptHolds(ctx: Context, concept: Concept, args: readonly TemplateValue[]): Answer {
  const { initializer } = concept.declaration;
  if (args.some((a) => a.kind === 'type' && isFailure(a.type))) return false;
  if (initializer?.form !== 'assign' || ctx.templateDepth > ctx.budget.templateDepth) return undefined;
  ctx.templateDepth++;
  try {
    return holds(ctx, initializer.value, bound(ctx, concept, args));
  } finally {
    ctx.templateDepth--;
  }
}

function bound(ctx: Context, { declaration, scope }: Concept, args: readonly TemplateValue[]): Scope {
  const inner = new Scope(scope, declaration.name ?? 'concept');
  bindTemplateParameters(ctx, inner, declaration.templateParameters ?? [], args);
  return inner;
}

/** Where concepts are named their definitions stand. */
function formulaOf(ctx: Context, node: Expression, scope: Scope): Formula {
  if (node.kind === 'binary' && (node.operator === '&&' || node.operator === '||')) {
    const [left, right] = [formulaOf(ctx, node.left, scope), formulaOf(ctx, node.right, scope)];
    return { kind: node.operator === '&&' ? 'and' : 'or', left, right };
  }
  const concept = node.kind === 'name' ? conceptNamed(ctx, node, scope) : undefined;
  const definition = concept?.declaration.initializer;
  if (
    node.kind === 'name' &&
    concept &&
    definition?.form === 'assign' &&
    ctx.templateDepth < ctx.budget.templateDepth
  ) {
    ctx.templateDepth++;
    const formula = formulaOf(ctx, definition.value, bound(ctx, concept, argumentsOf(ctx, node, scope)));
    ctx.templateDepth--;
    return formula;
  }
  // what the names in it stand for tells atoms of one concept apart
  const about = [...namesIn(node)].sort().map((name) => {
    const entity = scope.own(name);
    return entity?.kind === 'template' ? `${name}=${argumentKey(entity.value)}` : '';
  });
  return { kind: 'atom', key: `${node.first}:${about.join(';')}` };
}

/** All that a declaration demands, its concepts spelled out. */
export const demandsOf = (ctx: Context, { constraints = [] }: Constrained, scope: Scope): Formula | undefined =>
  allOf(constraints.map((constraint) => formulaOf(ctx, constraint, scope)));

// ---- requires-expressions ----

/** Whether all that a requires-expression asks for is there. */
export function isFulfilled(ctx: Context, node: RequiresExpression, scope: Scope): Answer {
  const inner = withParameters(ctx, node.parameters, scope);
  return inner !== undefined && every(node.requirements, (requirement) => hasRequired(ctx, requirement, inner));
}

/** A scope in which parameters stand for values that are never made; undefined where the type of one does not exist. */
export function withParameters(ctx: Context, parameters: readonly Parameter[], scope: Scope): Scope | undefined {
  const inner = new Scope(scope, 'parameters');
  return parameters.every((parameter) => declareParameter(ctx, parameter, inner)) ? inner : undefined;
}

/** False where its type does not exist. */
function declareParameter(ctx: Context, parameter: Parameter, scope: Scope): boolean {
  const { name, pack } = parameter;
  const typesOf = pack
    ? forEachElement(ctx, parameter.type, scope, (inner) => resolveType(ctx, parameter.type, inner))
    : [resolveType(ctx, parameter.type, scope)];
  if (typesOf?.some(isFailure)) return false;
  const values = unevaluated(ctx, () => typesOf?.map((type) => neverMade(ctx, withoutReference(parameterType(type)))));
  const value: Value | undefined = pack ? { kind: 'pack', type: types.void, elements: values ?? [] } : values?.[0];
  if (name && value) scope.define(name, { kind: 'value', value });
  return true;
}

function hasRequired(ctx: Context, { condition, type, expression: node, result }: Requirement, scope: Scope): Answer {
  if (condition) return holds(ctx, condition, scope);
  if (type) {
    const resolved = resolveType(ctx, type, scope);
    return isFailure(resolved) ? false : resolved.kind === 'unknown' ? undefined : true;
  }
  if (!node) return undefined;
  const isThere = inScope(ctx, scope, () => isValid(ctx, node));
  if (!result || isThere === false) return isThere;
  const entity = lookupQualified(ctx, scope, result);
  if (entity?.kind !== 'global' || !entity.declaration.isConcept) return undefined;
  const given: Type = inScope(ctx, scope, () => typeOfExpression(ctx, node));
  if (withoutReference(given).kind === 'unknown') return undefined;
  const further = evaluateArguments(ctx, result.parts.at(-1)?.templateArguments ?? [], scope);
  const answer = conceptHolds(ctx, entity, [{ kind: 'type', type: given }, ...further]);
  return answer === false ? false : isThere && answer;
}
