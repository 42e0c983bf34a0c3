/** Template headers, explicit instantiations and constraints. */

import { startsDeclarationAlways, startsDefinition } from './anchors';
import type { Declaration, TemplateArgument, TemplateParameter } from './ast';
import { parseDeclaration, unknownDeclaration } from './declarations';
import { parseDeclarator } from './declarators';
import { parseAssignment } from './expressions';
import { nameOfToken } from './failures';
import { Name, Scope } from './names';
import type { Parser } from './parser';
import { skipDeclaration } from './recovery';
import { closesAngles, scanName, textAt } from './scan';
import { type DeclarationPlace, TemplateHead } from './template-head';
import { parseSpecifiers, parseTypeId } from './types';
import { Word } from './words';

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
  const parameters = parseTemplateParameters(p);
  while (p.at('requires')) skipRequiresClause(p);
  const head = new TemplateHead(first, [...(outer?.parameters ?? []), ...parameters]);
  if (p.at('template')) parseTemplate(p, place, into, head);
  else if (p.at('concept')) parseConcept(p, into, first);
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

/** `<typename T, int N = 4, template <class> class C, typename... Ts>`; declares the names in the current scope. */
export function parseTemplateParameters(p: Parser): TemplateParameter[] {
  const list: TemplateParameter[] = [];
  const outer = p.inAngles;
  p.inAngles = true;
  p.next();
  if (!p.enterLevel()) {
    p.report(p.pos, p.pos, 'nested too deeply');
    p.skipToGroupEnd();
  }
  while (!p.atEnd && !closesAngles(p.tok)) {
    const before = p.pos;
    list.push(parseTemplateParameter(p));
    if (p.pos === before || !p.eat(',')) break;
  }
  p.leaveLevel();
  p.inAngles = outer;
  if (closesAngles(p.tok)) p.splitToken(1);
  else p.report(p.pos, p.pos, `the template parameters are not closed before ${nameOfToken(p)}`);
  return list;
}

function parseTemplateParameter(p: Parser): TemplateParameter {
  if (p.at('template')) return parseTemplateTemplateParameter(p);
  if (isTypeParameter(p)) return parseTypeParameter(p);
  const first = p.pos;
  if (isConstrained(p)) {
    // `Concept T`, `Concept<int> auto N`
    p.jump(scanName(p, p.pos, 'type').end >> 2);
    return finishTypeParameter(p, first);
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

function isConstrained(p: Parser): boolean {
  if (!p.atName && !p.at('::')) return false;
  const name = scanName(p, p.pos, 'type');
  if (name.end < 0 || name.end & 3) return false;
  return (name.bits & Name.concept) !== 0 && (p.isName(name.end >> 2) || textAt(p, name.end) === '...');
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

function parseConcept(p: Parser, into: Declaration[], first: number): void {
  p.next();
  if (p.atName) p.scope.parent?.declare(p.tok, Name.concept | Name.template | Name.value);
  while (!p.atEnd && !p.at(';')) {
    if (p.at('(') || p.at('{') || p.at('[')) p.skipGroup();
    else p.next();
  }
  p.eat(';');
  into.push({ kind: 'unknownDeclaration', reason: 'concepts are not followed', first, last: p.last });
}

/** Steps over `requires A<T> && (B || C)`: constraints only choose between overloads. */
export function skipRequiresClause(p: Parser): void {
  p.next();
  for (;;) {
    while (p.at('!') || p.at('not')) p.next();
    if (p.at('(')) p.skipGroup();
    else if (p.at('requires')) {
      p.next();
      if (p.at('(')) p.skipGroup();
      if (p.at('{')) p.skipGroup();
    } else if (p.atName || p.at('::')) {
      const { end } = scanName(p, p.pos, 'type');
      if (end < 0) return;
      p.jump(end >> 2);
      if (end & 3) p.splitToken(end & 3);
      if (p.at('(')) p.skipGroup();
    } else if (p.word & Word.keyword && (p.at('true') || p.at('false'))) p.next();
    else return;
    if (!p.at('&&') && !p.at('||')) return;
    p.next();
  }
}
