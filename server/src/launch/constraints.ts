/** Whether constraints hold for host types; what cannot be decided is undefined. */
import { type Answer, combined, every } from '../parse/answer';
import type { Expression, NameExpression, Requirement, TypeNode } from '../parse/ast';
import { allOf, type Formula } from '../parse/subsumption';
import { evaluate } from './expression';
import { argumentName, type HostType, withoutReference } from './host-type';
import { layoutOf } from './layout';
import { conceptNamed, memberOf } from './lookup';
import { bindArguments, resolveType } from './resolve-type';
import { childScope, lastName, type Scope, type VariableSymbol } from './scope';
import type { HostState } from './state';
import { bindParameters } from './template-binding';
import { traitAnswer } from './type-traits';
import { type BoundArgument, truth } from './value';

/** Concepts that lead to one another are followed as deep as this. */
const MOST_CONCEPTS = 16;

export function areFulfilled(state: HostState, constraints: readonly Expression[], scope: Scope): Answer {
  return every(constraints, (constraint) => holds(state, constraint, scope, 0));
}

function holds(state: HostState, node: Expression, scope: Scope, depth: number): Answer {
  switch (node.kind) {
    case 'binary': {
      if (node.operator !== '&&' && node.operator !== '||') return atomHolds(state, node, scope);
      const { operator, left, right } = node;
      return combined(operator, holds(state, left, scope, depth), () => holds(state, right, scope, depth));
    }
    case 'requires':
      return every(node.requirements, (requirement) => hasRequired(state, node.parameters, requirement, scope, depth));
    case 'name':
      return nameHolds(state, node, scope, depth);
    case 'fold':
      return undefined;
    default:
      return atomHolds(state, node, scope);
  }
}

function atomHolds(state: HostState, node: Expression, scope: Scope): Answer {
  return truth(evaluate(state, node, scope));
}

function nameHolds(state: HostState, node: NameExpression, scope: Scope, depth: number): Answer {
  const concept = conceptNamed(state, node.name, scope);
  const args = bindArguments(state, node.name.parts.at(-1)?.templateArguments ?? [], scope);
  if (concept) return conceptHolds(state, concept, args, depth);
  return standardConcept(lastName(node.name), args) ?? atomHolds(state, node, scope);
}

export function conceptHolds(
  state: HostState,
  concept: VariableSymbol,
  args: readonly BoundArgument[],
  depth = 0,
): Answer {
  const { initializer } = concept.declaration;
  if (initializer?.form !== 'assign' || depth >= MOST_CONCEPTS) return undefined;
  return holds(state, initializer.value, bound(state, concept, args), depth + 1);
}

function bound(state: HostState, { declaration, scope }: VariableSymbol, args: readonly BoundArgument[]): Scope {
  const inner = childScope(scope);
  bindParameters(state, declaration.templateParameters ?? [], args, inner);
  return inner;
}

/** Concepts that are a trait by another name. */
const traits: Readonly<Record<string, string | undefined>> = {
  same_as: 'is_same',
  integral: 'is_integral',
  floating_point: 'is_floating_point',
};

/** Those of the standard library, as far as traits are known. */
export function standardConcept(name: string, args: readonly BoundArgument[]): Answer {
  const types = args.flatMap((argument) => (argument.kind === 'type' ? [argument.type] : []));
  if (types.length === 0 || types.length < args.length) return undefined;
  const trait = traits[name];
  if (trait) return traitAnswer(trait, types);
  if (name !== 'signed_integral' && name !== 'unsigned_integral') return undefined;
  const isSigned = traitAnswer(name === 'signed_integral' ? 'is_signed' : 'is_unsigned', types);
  return every([traitAnswer('is_integral', types), isSigned], (answer) => answer);
}

// ---- requires-expressions ----

type Parameters = readonly { readonly name?: string; readonly type: TypeNode }[];

function hasRequired(
  state: HostState,
  parameters: Parameters,
  { condition, type, expression, result }: Requirement,
  scope: Scope,
  depth: number,
): Answer {
  if (condition) return holds(state, condition, scope, depth);
  if (type) return doesExist(state, type, scope);
  const isThere = expression && hasMember(state, parameters, expression, scope);
  // what its type fulfils is not looked at
  return result && isThere ? undefined : isThere;
}

/** `typename T::value_type` */
function doesExist(state: HostState, node: TypeNode, scope: Scope): Answer {
  if (node.kind !== 'named' || node.name.parts.length !== 2) return undefined;
  const [{ name }, member] = node.name.parts;
  return isMember(state, typeNamed(name, scope), member.name);
}

function typeNamed(name: string, from: Scope): HostType | undefined {
  for (let scope: Scope | undefined = from; scope; scope = scope.parent) {
    const type = scope.types.get(name);
    if (type) return withoutReference(type);
  }
  return undefined;
}

/** `t.size()`, `t.size` of a parameter: whether there is such a member, of whatever it is given. */
function hasMember(state: HostState, parameters: Parameters, node: Expression, scope: Scope): Answer {
  const isCall = node.kind === 'call';
  const member = isCall ? node.callee : node;
  if (member.kind !== 'member' || member.object.kind !== 'name') return undefined;
  const object = lastName(member.object.name);
  const parameter = parameters.find(({ name }) => name === object);
  const type = parameter && withoutReference(resolveType(state, parameter.type, scope));
  const has = isMember(state, type, lastName(member.name));
  // which of several it is, and whether it takes what it is given, is not looked at
  return has && isCall && node.arguments.length > 0 ? undefined : has;
}

function isMember(state: HostState, type: HostType | undefined, name: string): Answer {
  if (type?.kind === 'arithmetic' || type?.kind === 'pointer') return false;
  if (type?.kind !== 'record') return undefined;
  const { fields, bases } = layoutOf(state, type);
  if (fields.some((field) => field.name === name) || memberOf(state, type, name)) return true;
  return bases.length < type.declaration.bases.length ? undefined : false;
}

// ---- order ----

/** All that is demanded, concepts spelled out. */
export const demandsOf = (
  state: HostState,
  constraints: readonly Expression[] | undefined,
  scope: Scope,
): Formula | undefined => allOf((constraints ?? []).map((constraint) => formulaOf(state, constraint, scope, 0)));

function formulaOf(state: HostState, node: Expression, scope: Scope, depth: number): Formula {
  if (node.kind === 'binary' && (node.operator === '&&' || node.operator === '||')) {
    const [left, right] = [node.left, node.right].map((side) => formulaOf(state, side, scope, depth));
    return { kind: node.operator === '&&' ? 'and' : 'or', left, right };
  }
  if (node.kind !== 'name') return { kind: 'atom', key: `${node.first}` };
  const concept = depth < MOST_CONCEPTS ? conceptNamed(state, node.name, scope) : undefined;
  const args = bindArguments(state, node.name.parts.at(-1)?.templateArguments ?? [], scope);
  const definition = concept?.declaration.initializer;
  if (concept && definition?.form === 'assign')
    return formulaOf(state, definition.value, bound(state, concept, args), depth + 1);
  const name = lastName(node.name);
  const about = args.map(argumentName).join(', ');
  // a concept of the library is the same wherever it is named, any other name is its own place's
  return { kind: 'atom', key: standardConcept(name, args) === undefined ? `${node.first}` : `${name}<${about}>` };
}
