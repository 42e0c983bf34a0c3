/** Template headers and explicit instantiations. */

import { startsDeclarationAlways, startsDefinition } from './anchors';
import type { Declaration, Expression, TemplateArgument, TemplateParameter } from './ast';
import {
  atConstrainedParameter,
  constraintOnParameter,
  parseConcept,
  parseConceptName,
  parseRequiresClause,
} from './constraints';
import { parseDeclaration, unknownDeclaration } from './declarations';
import { parseDeclarator } from './declarators';
import { parseAssignment } from './expressions';
import { nameOfToken } from './failures';
import { Name, Scope } from './names';
import type { Parser } from './parser';
import { skipDeclaration } from './recovery';
import { closesAngles } from './scan';
import { type DeclarationPlace, TemplateHead } from './template-head';
import { parseSpecifiers, parseTypeId } from './types';

/** A declaration that begins with `template`. */
export function parseTemplate(p: Parser, place: DeclarationPlace, into: Declaration[], outer?: TemplateHead): void {
  const first = outer?.first ?? p.pos;
  if (!p.enterLevel()) {
    skipDeclaration(p, p.pos + 1);
    unknownDeclaration(p, into, first, 'nested too deeply');
  } else parseTemplateRest(p, place, into, first, outer);
  p.leaveLevel();
}

function parseTemplateRest(
  p: Parser,
  place: DeclarationPlace,
  into: Declaration[],
  first: number,
  outer: TemplateHead | undefined,
): void {
  p.next();
  if (!p.at('<')) {
    parseInstantiation(p, place, into, first);
    return;
  }
  const stop = unclosedHeaderEnd(p);
  if (stop >= 0) {
    p.jump(stop);
    unknownDeclaration(p, into, first, 'the template parameters are not closed');
    return;
  }
  const scope = p.scope;
  p.scope = new Scope(scope, 'template');
  const { parameters, constraints } = parseTemplateParameters(p);
  while (p.at('requires')) constraints.push(parseRequiresClause(p));
  const all = [...(outer?.constraints ?? []), ...constraints];
  const head = new TemplateHead(first, [...(outer?.parameters ?? []), ...parameters], all.length > 0 ? all : undefined);
  if (p.at('template')) parseTemplate(p, place, into, head);
  else if (p.at('concept')) declareConcept(p, into, head);
  else parseDeclaration(p, place, into, head);
  p.scope = scope;
}

/** `template void f<4>(int);`. With a body it is a plain declaration with a stray `template`. */
function parseInstantiation(p: Parser, place: DeclarationPlace, into: Declaration[], first: number): void {
  const inner: Declaration[] = [];
  parseDeclaration(p, place, inner);
  for (const declaration of inner) {
    if (!isInstance(declaration)) into.push(declaration);
    else into.push({ kind: 'instantiation', declaration, first, last: Math.max(declaration.last, first) });
  }
}

function isInstance(declaration: Declaration): boolean {
  if (declaration.kind === 'function') return declaration.body === undefined;
  if (declaration.kind === 'record') return declaration.members === undefined;
  return declaration.kind === 'variable';
}

/**
 * If the list at the parser's `<` is never closed, the token to go on at: where a line begins a definition. -1 if all
 * is well.
 */
function unclosedHeaderEnd(p: Parser): number {
  let depth = 0;
  let i = p.pos;
  for (; i < p.limit; i++) {
    const text = p.text[i];
    if (text === '<') depth++;
    else if (closesAngles(text)) depth -= text.length;
    else if (text === ';' || text === '{' || text === '}' || text === '__global__') break;
    else if (text === 'template' && startsDeclarationAlways(p.tokens, i, true)) break;
    else if (text === '(' || text === '[') i = p.afterGroup(i) - 1;
    if (depth <= 0) return -1;
  }
  for (let start = p.pos + 1; start < i; start++) {
    if (p.startsLine(start) && startsDefinition(p.tokens, p.classes, start) !== 'no') return start;
  }
  return i;
}

export interface TemplateParameterList {
  readonly parameters: TemplateParameter[];
  /** What concepts in front of them say. */
  readonly constraints: Expression[];
}

/** `<typename T, int N = 4, template <class> class C, typename... Ts>`; declares the names in the current scope. */
export function parseTemplateParameters(p: Parser): TemplateParameterList {
  const parameters: TemplateParameter[] = [];
  const constraints: Expression[] = [];
  const outer = p.inAngles;
  p.inAngles = true;
  p.next();
  if (!p.enterLevel()) {
    p.report(p.pos, p.pos, 'nested too deeply');
    p.skipToGroupEnd();
  }
  while (!p.atEnd && !closesAngles(p.tok)) {
    const before = p.pos;
    parameters.push(parseTemplateParameter(p, constraints));
    if (p.pos === before || !p.eat(',')) break;
  }
  p.leaveLevel();
  p.inAngles = outer;
  if (closesAngles(p.tok)) p.splitToken(1);
  else p.report(p.pos, p.pos, `the template parameters are not closed before ${nameOfToken(p)}`);
  return { parameters, constraints };
}

function parseTemplateParameter(p: Parser, constraints: Expression[]): TemplateParameter {
  if (p.at('template')) return parseTemplateTemplateParameter(p);
  if (isTypeParameter(p)) return parseTypeParameter(p);
  const first = p.pos;
  if (atConstrainedParameter(p)) {
    const concept = parseConceptName(p);
    const parameter = finishTypeParameter(p, first);
    if (parameter.name) constraints.push(constraintOnParameter(parameter.name, parameter.pack, concept));
    return parameter;
  }
  const { type } = parseSpecifiers(p, 'parameter');
  if (!type) {
    p.report(p.pos, p.pos, `a template parameter was expected before ${nameOfToken(p)}`);
    return { kind: 'value', first, last: Math.max(first, p.last), pack: false };
  }
  const declarator = parseDeclarator(p, type, 'parameter');
  const name = declarator.name?.parts.at(-1)?.name;
  if (name) p.scope.declare(name, Name.value | (declarator.pack ? Name.pack : 0));
  let fallback: TemplateArgument | undefined;
  if (p.eat('=')) {
    const expression = parseAssignment(p);
    fallback = { expression, pack: false, first: expression.first, last: expression.last };
  }
  const { pack } = declarator;
  return { kind: 'value', name, type: declarator.type, default: fallback, pack, first, last: p.last };
}

/** `typename T`, `class`, `class... Ts`, but not `typename T::type N`. */
function isTypeParameter(p: Parser): boolean {
  if (!p.at('typename') && !p.at('class')) return false;
  const after = p.isName(p.pos + 1) ? p.peek(2) : p.peek(1);
  return after === '' || after === ',' || after === '=' || after === '...' || closesAngles(after);
}

function parseTypeParameter(p: Parser): TemplateParameter {
  const first = p.pos;
  p.next();
  return finishTypeParameter(p, first);
}

function finishTypeParameter(p: Parser, first: number): TemplateParameter {
  const pack = p.eat('...');
  let name: string | undefined;
  if (p.atName) {
    name = p.tok;
    p.next();
    p.scope.declare(name, Name.type | (pack ? Name.pack : 0));
  }
  let fallback: TemplateArgument | undefined;
  if (p.eat('=')) {
    const type = parseTypeId(p);
    fallback = { type, pack: false, first: type.first, last: type.last };
  }
  return { kind: 'type', name, pack, default: fallback, first, last: p.last };
}

function parseTemplateTemplateParameter(p: Parser): TemplateParameter {
  const first = p.pos;
  const scope = p.scope;
  p.next();
  p.scope = new Scope(scope, 'template');
  if (p.at('<')) parseTemplateParameters(p);
  p.scope = scope;
  if (p.at('class') || p.at('typename')) p.next();
  const pack = p.eat('...');
  let name: string | undefined;
  if (p.atName) {
    name = p.tok;
    p.next();
    p.scope.declare(name, Name.type | Name.template | (pack ? Name.pack : 0));
  }
  let fallback: TemplateArgument | undefined;
  if (p.eat('=')) {
    const type = parseTypeId(p);
    fallback = { type, pack: false, first: type.first, last: type.last };
  }
  return { kind: 'template', name, pack, default: fallback, first, last: p.last };
}

function declareConcept(p: Parser, into: Declaration[], head: TemplateHead): void {
  const concept = parseConcept(p, head);
  while (!p.atEnd && !p.at(';')) {
    if (p.at('(') || p.at('{') || p.at('[')) p.skipGroup();
    else p.next();
  }
  p.eat(';');
  const { first } = head;
  into.push(
    concept ?? { kind: 'unknownDeclaration', reason: 'a concept that was not understood', first, last: p.last },
  );
}
