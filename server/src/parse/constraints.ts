/** Constraints: requires-clauses, requires-expressions, concepts, and the parameters that they stand in front of. */
import type {
  Expression,
  NameExpression,
  NamePart,
  Parameter,
  QualifiedName,
  Requirement,
  RequiresExpression,
  TemplateArgument,
  TemplateParameter,
  TypeNode,
  VariableDeclaration,
} from './ast';
import { parseAssignment, parseExpression } from './expressions';
import { nameOfToken, unknownExpression } from './failures';
import { Name, Scope } from './names';
import { declareParameters, parseParameters } from './parameters';
import type { Parser } from './parser';
import { parseQualifiedName } from './qualified-names';
import { scanName, textAt } from './scan';
import { SpecifierSet } from './specifiers';
import type { TemplateHead } from './template-head';
import { parseTypeId } from './types';

/** Concepts of the standard library, whose headers are not read. */
const standardConcepts: ReadonlySet<string> = new Set(
  (
    'same_as derived_from convertible_to common_reference_with common_with integral signed_integral unsigned_integral ' +
    'floating_point assignable_from swappable swappable_with destructible constructible_from default_initializable ' +
    'move_constructible copy_constructible equality_comparable equality_comparable_with totally_ordered ' +
    'totally_ordered_with three_way_comparable three_way_comparable_with movable copyable semiregular regular invocable ' +
    'regular_invocable predicate relation equivalence_relation strict_weak_order input_iterator output_iterator ' +
    'input_or_output_iterator forward_iterator bidirectional_iterator random_access_iterator contiguous_iterator ' +
    'sentinel_for sized_sentinel_for indirectly_readable indirectly_writable weakly_incrementable incrementable range ' +
    'sized_range view input_range output_range forward_range bidirectional_range random_access_range contiguous_range ' +
    'common_range viewable_range borrowed_range'
  ).split(' '),
);

/** Where the name of a concept at the parser's place ends, in tokens; -1 if none stands there. */
export function endOfConcept(p: Parser): number {
  if (!p.atName && !p.at('::')) return -1;
  const name = scanName(p, p.pos, 'type');
  if (name.end < 0 || name.end & 3) return -1;
  const end = name.end >> 2;
  return (name.bits & Name.concept) !== 0 || isStandardConcept(p, end) ? end : -1;
}

/** `std::integral`, `std::convertible_to<int>` */
function isStandardConcept(p: Parser, end: number): boolean {
  const isStandard = p.at('std') || (p.at('cuda') && p.peek(2) === 'std') || p.at('ranges');
  if (!isStandard || p.peek(1) !== '::') return false;
  let at = p.pos;
  while (at + 2 < end && p.textAt(at + 1) === '::') at += 2;
  return standardConcepts.has(p.textAt(at));
}

/** Whether `Concept T` or `Concept... Ts` stands in a list of template parameters. */
export function atConstrainedParameter(p: Parser): boolean {
  const end = endOfConcept(p);
  return end >= 0 && (p.isName(end) || textAt(p, end * 4) === '...');
}

/** Reads the concept in front of what it constrains. */
export const parseConceptName = (p: Parser): QualifiedName => parseQualifiedName(p, 'sureType').name;

/** `Concept<A> T` says `Concept<T, A>`. */
export function constraintOn(subject: TemplateArgument, concept: QualifiedName): NameExpression {
  const { first, last } = concept;
  const parts = concept.parts.map((part, i): NamePart => {
    if (i < concept.parts.length - 1) return part;
    return { ...part, templateArguments: [subject, ...(part.templateArguments ?? [])] };
  });
  return { kind: 'name', name: { ...concept, parts }, first, last };
}

/** What a concept in front of a parameter says of it; of a pack it says it of each. */
export function constraintOnParameter(name: string, pack: boolean, concept: QualifiedName): Expression {
  const { first, last } = concept;
  const of: QualifiedName = { first, last, global: false, parts: [{ name }] };
  const type: TypeNode = { kind: 'named', name: of, first, last, isConst: false, isVolatile: false };
  const each = constraintOn({ type, pack: false, first, last }, concept);
  return pack ? { kind: 'fold', operator: '&&', pack: each, left: false, first, last } : each;
}

/** `requires A<T> && (B || C)`: the expression behind the word. */
export function parseRequiresClause(p: Parser): Expression {
  p.next();
  return parseChain(p, '||');
}

function parseChain(p: Parser, operator: '||' | '&&'): Expression {
  const operand = () => (operator === '||' ? parseChain(p, '&&') : parsePrimaryConstraint(p));
  let left = operand();
  while (p.at(operator) || p.at(operator === '||' ? 'or' : 'and')) {
    p.next();
    const right = operand();
    left = { kind: 'binary', operator, left, right, first: left.first, last: p.last };
  }
  return left;
}

function parsePrimaryConstraint(p: Parser): Expression {
  const first = p.pos;
  if (p.at('!') || p.at('not')) {
    p.next();
    const operand = parsePrimaryConstraint(p);
    return { kind: 'unary', operator: '!', operand, first, last: p.last };
  }
  if (p.at('requires')) return parseRequiresExpression(p);
  if (p.at('true') || p.at('false')) {
    const value = p.at('true') ? 1n : 0n;
    p.next();
    return { kind: 'integer', value, type: 'bool', first, last: first };
  }
  if (p.at('(')) {
    const group = p.enter();
    const inner = parseExpression(p);
    p.leave(group);
    return inner;
  }
  if (p.atName || p.at('::')) {
    const name = parseConceptName(p);
    return { kind: 'name', name, first, last: p.last };
  }
  return unknownExpression(p, first, `a constraint was expected before ${nameOfToken(p)}`);
}

/** `requires (T a) { a.size(); typename T::type; { a + a } -> Same<T>; requires C<T>; }` */
export function parseRequiresExpression(p: Parser): RequiresExpression {
  const first = p.pos;
  p.next();
  const outer = p.scope;
  p.scope = new Scope(outer, 'block');
  const parameters = p.at('(') ? parseParameters(p).parameters : [];
  declareParameters(p, parameters);
  const requirements = p.at('{') ? parseRequirements(p) : [];
  p.scope = outer;
  return { kind: 'requires', parameters, requirements, first, last: p.last };
}

function parseRequirements(p: Parser): Requirement[] {
  const requirements: Requirement[] = [];
  const group = p.enter();
  while (!p.atEnd) {
    const before = p.pos;
    requirements.push(parseRequirement(p));
    while (!p.atEnd && !p.at(';')) p.next();
    p.eat(';');
    if (p.pos === before) break;
  }
  p.leave(group);
  return requirements;
}

function parseRequirement(p: Parser): Requirement {
  const first = p.pos;
  if (p.at('requires') && p.peek(1) !== '(' && p.peek(1) !== '{') {
    p.next();
    return { condition: parseAssignment(p), first, last: p.last };
  }
  if (p.at('typename')) return { type: parseTypeId(p), first, last: p.last };
  if (!p.at('{')) return { expression: parseExpression(p), first, last: p.last };
  const group = p.enter();
  const expression = parseExpression(p);
  p.leave(group);
  if (p.at('noexcept')) p.next();
  const result = p.eat('->') ? parseConceptName(p) : undefined;
  return { expression, result, first, last: p.last };
}

/** `concept Name = constraint;` is kept as a variable template of type bool. */
export function parseConcept(p: Parser, head: TemplateHead): VariableDeclaration | undefined {
  p.next();
  if (!p.atName) return undefined;
  const name = p.tok;
  const nameToken = p.pos;
  p.scope.parent?.declare(name, Name.concept | Name.template | Name.value);
  p.next();
  if (!p.eat('=')) return undefined;
  const value = parseAssignment(p);
  const { first } = head;
  const set = new SpecifierSet();
  set.setFlag('isConstexpr');
  const type: TypeNode = {
    kind: 'builtin',
    name: 'bool',
    isConst: true,
    isVolatile: false,
    first: nameToken,
    last: nameToken,
  };
  return {
    kind: 'variable',
    name,
    nameToken,
    type,
    isConcept: true,
    specifiers: set.value,
    templateParameters: head.parameters,
    initializer: { form: 'assign', value },
    first,
    last: p.last,
  };
}

// ---- abbreviated templates ----

/** `int f(auto x, Concept auto y)`: each `auto` is a parameter of a template that no one wrote. */
export function spelledOut(parameters: readonly Parameter[]): {
  readonly parameters: readonly Parameter[];
  readonly invented: readonly TemplateParameter[];
  readonly constraints: readonly Expression[];
} {
  const invented: TemplateParameter[] = [];
  const constraints: Expression[] = [];
  const spelled = parameters.map((parameter, i): Parameter => {
    const { first, last, pack } = parameter;
    const name = `auto#${i}`;
    const type = withName(parameter.type, name);
    if (!type) return parameter;
    invented.push({ kind: 'type', name, pack, first, last });
    const concept = conceptOf(parameter.type);
    if (concept) constraints.push(constraintOnParameter(name, pack, concept));
    return { ...parameter, type };
  });
  return { parameters: invented.length > 0 ? spelled : parameters, invented, constraints };
}

/** The type with a name in the place of its `auto`; undefined where it has none. */
function withName(type: TypeNode, name: string): TypeNode | undefined {
  if (type.kind === 'auto') {
    const { first, last, isConst, isVolatile } = type;
    return { kind: 'named', name: { first, last, global: false, parts: [{ name }] }, first, last, isConst, isVolatile };
  }
  if (type.kind === 'pointer' || type.kind === 'reference') {
    const to = withName(type.to, name);
    return to && { ...type, to };
  }
  if (type.kind !== 'packExpansion') return undefined;
  const of = withName(type.of, name);
  return of && { ...type, of };
}

function conceptOf(type: TypeNode): QualifiedName | undefined {
  if (type.kind === 'pointer' || type.kind === 'reference') return conceptOf(type.to);
  if (type.kind === 'packExpansion') return conceptOf(type.of);
  return type.kind === 'auto' ? type.concept : undefined;
}
