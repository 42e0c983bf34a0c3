/** Declarations of namespaces, records and blocks. */

import { TokenKind } from '../preprocess/token';
import { parseAliasDeclaration, parseTypedefs, parseUsing } from './aliases';
import type { Declaration, RecordDeclaration, TypeNode } from './ast';
import { parseDeclarator } from './declarators';
import { nameOfToken } from './failures';
import { parseFunction } from './functions';
import { parseNamespace } from './namespaces';
import type { Parser } from './parser';
import { parseDeferredBodies } from './records';
import { atLikelyDeclaration, skipDeclaration } from './recovery';
import { SpecifierSet, skipAttributes } from './specifiers';
import type { DeclarationPlace, TemplateHead } from './template-head';
import { parseTemplate } from './templates';
import { type DeclarationSpecifiers, parseSpecifiers } from './types';
import { parseVariables } from './variables';

/** Reads one declaration with its `;` or body and adds what it declares. Uses at least one token unless at a stray one. */
export function parseDeclaration(p: Parser, place: DeclarationPlace, into: Declaration[], head?: TemplateHead): void {
  if (!p.enterLevel()) {
    const first = p.pos;
    skipDeclaration(p, first);
    unknownDeclaration(p, into, first, 'nested too deeply');
  } else dispatch(p, place, into, head);
  p.leaveLevel();
}

function dispatch(p: Parser, place: DeclarationPlace, into: Declaration[], head: TemplateHead | undefined): void {
  switch (p.tok) {
    case ';':
      p.next();
      return;
    case 'template':
      parseTemplate(p, place, into);
      return;
    case 'namespace':
      parseNamespace(p, into, false);
      return;
    case 'using':
      if (p.isName(p.pos + 1) && (p.peek(2) === '=' || p.peek(2) === '[' || p.peek(2) === '__attribute__'))
        parseAliasDeclaration(p, into, head);
      else parseUsing(p, into);
      return;
    case 'static_assert':
    case '_Static_assert':
      parseStaticAssert(p, into);
      return;
    case 'asm':
    case '__asm__':
    case 'export':
      skipUnmodelled(p, into);
      return;
    case 'inline':
      if (p.peek(1) === 'namespace') {
        p.next();
        parseNamespace(p, into, true);
        return;
      }
      break;
    case 'extern':
      if (p.peek(1) === 'template') {
        // an instance that stands elsewhere
        p.next();
        parseTemplate(p, place, into);
        return;
      }
      if (p.peek(2) === '{' && p.kindAt(p.pos + 1) === TokenKind.string) {
        p.next();
        p.next();
        parseBlockOfDeclarations(p, place, into);
        return;
      }
      break;
    default:
      if (place === 'namespace' && p.atName && parseMacro(p, into)) return;
  }
  parseSimpleDeclaration(p, place, into, head);
}

/** `{ … }` whose declarations belong to the surroundings: a linkage block, a macro in place of `namespace x`. */
function parseBlockOfDeclarations(p: Parser, place: DeclarationPlace, into: Declaration[]): void {
  const group = p.enter();
  parseDeclarations(p, place, into);
  p.leave(group);
}

/** Declarations up to the end of the current group. */
export function parseDeclarations(p: Parser, place: DeclarationPlace, into: Declaration[]): void {
  while (!p.atEnd) {
    const before = p.pos;
    const isCloser = p.at('}') || p.at(')') || p.at(']');
    if (!isCloser) parseDeclaration(p, place, into);
    parseDeferredBodies(p);
    if (p.pos === before) {
      const reason = isCloser ? `this '${p.tok}' closes nothing` : `${nameOfToken(p)} begins no declaration`;
      p.next();
      unknownDeclaration(p, into, before, reason);
    }
  }
}

export function unknownDeclaration(p: Parser, into: Declaration[], first: number, reason: string): void {
  const last = Math.max(first, p.last);
  p.report(first, last, reason);
  into.push({ kind: 'unknownDeclaration', reason, first, last });
}

function parseStaticAssert(p: Parser, into: Declaration[]): void {
  const first = p.pos;
  p.next();
  if (p.at('(')) p.skipGroup();
  p.eat(';');
  into.push({ kind: 'staticAssert', first, last: p.last });
}

function skipUnmodelled(p: Parser, into: Declaration[]): void {
  const first = p.pos;
  skipDeclaration(p, first);
  unknownDeclaration(p, into, first, `'${p.text[first]}' is not followed here`);
}

/**
 * Macros of unread headers where a declaration should stand: `MACRO(…)`, `TEST(a, b) {…}`, `BEGIN_NAMESPACE` alone on a line,
 * `MY_NAMESPACE { … }`. False if a declaration stands there after all.
 */
function parseMacro(p: Parser, into: Declaration[]): boolean {
  const first = p.pos;
  const next = p.peek(1);
  if (next === '{') {
    p.next();
    parseBlockOfDeclarations(p, 'namespace', into);
    return true;
  }
  const after = first + 1;
  if (
    after < p.limit &&
    p.startsLine(after) &&
    (next === 'namespace' || next === 'template' || next === 'using' || next === '}')
  ) {
    p.next();
    unknownDeclaration(p, into, first, `'${p.text[first]}' is declared nowhere that could be read`);
    return true;
  }
  if (next !== '(' || p.at('main')) return false;
  const behind = p.afterGroup(after);
  const follows = p.textAt(behind);
  const isCall =
    follows === ';' ||
    follows === '' ||
    follows === '}' ||
    (follows !== '{' && behind < p.limit && p.startsLine(behind));
  if (follows !== '{' && !isCall) return false;
  p.next();
  p.skipGroup();
  if (follows === '{') p.skipGroup();
  else p.eat(';');
  unknownDeclaration(p, into, first, `'${p.text[first]}' is declared nowhere that could be read`);
  return true;
}

function parseSimpleDeclaration(
  p: Parser,
  place: DeclarationPlace,
  into: Declaration[],
  head: TemplateHead | undefined,
): void {
  const first = head?.first ?? p.pos;
  const start = p.pos;
  const set = new SpecifierSet();
  skipAttributes(p, set);
  const specifiers = parseSpecifiers(p, place, set);
  if (p.at(';')) {
    p.next();
    declareType(p, into, specifiers, first, head);
    return;
  }
  const { type } = specifiers;
  if ((type?.kind === 'record' || type?.kind === 'enum') && (p.atEnd || atLikelyDeclaration(p))) {
    p.report(p.last, p.last, "';' is missing behind this type");
    declareType(p, into, specifiers, first, head);
    return;
  }
  if (set.isTypedef) {
    if (type) parseTypedefs(p, type, into, first);
    else giveUp(p, into, first, start);
    return;
  }
  if (!type && !p.atName && !p.at('~') && !p.at('operator') && !p.at('::')) {
    giveUp(p, into, first, start);
    return;
  }
  parseDeclared(p, place, into, head, specifiers, first, start);
}

function parseDeclared(
  p: Parser,
  place: DeclarationPlace,
  into: Declaration[],
  head: TemplateHead | undefined,
  specifiers: DeclarationSpecifiers,
  first: number,
  start: number,
): void {
  const base = specifiers.type ?? voidType(p);
  const declarator = parseDeclarator(p, base, place);
  const { set } = specifiers;
  if (declarator.parameters) {
    parseFunction(p, place, into, { first, set, declarator, head, typed: specifiers.type !== undefined });
    return;
  }
  const isUnnamedMember = place === 'record' && p.at(':');
  const isBinding = p.at('[') && !declarator.name;
  if ((!declarator.name && !isUnnamedMember && !isBinding) || !specifiers.type) {
    giveUp(p, into, first, start);
    return;
  }
  parseVariables(p, place, into, { first, set, base, declarator, head });
}

/** The type in place of a constructor's missing one. */
function voidType(p: Parser): TypeNode {
  return { kind: 'builtin', name: 'void', first: p.pos, last: p.pos, isConst: false, isVolatile: false };
}

/** A declaration that only declares a type: `struct A {…};`, `enum B {…};`. */
function declareType(
  p: Parser,
  into: Declaration[],
  specifiers: DeclarationSpecifiers,
  first: number,
  head: TemplateHead | undefined,
): void {
  const { type, set } = specifiers;
  if (set.isFriend) return;
  if (type?.kind === 'enum') into.push({ ...type.enumeration, first, last: p.last });
  else if (type?.kind === 'record') {
    const record: RecordDeclaration = { ...type.record, specifiers: set.value, first, last: p.last };
    into.push(head ? { ...record, templateParameters: head.parameters, constraints: head.constraints } : record);
  }
}

function giveUp(p: Parser, into: Declaration[], first: number, start: number): void {
  const found = nameOfToken(p);
  if (p.pos === start || !atLikelyDeclaration(p)) skipDeclaration(p, Math.max(p.pos, start));
  if (p.pos === first) return; // the caller steps over the token
  unknownDeclaration(p, into, first, `this declaration was not understood at ${found}`);
}
