/** Variables and fields. */
import type { Declaration, TemplateParameter, TypeNode, VariableDeclaration } from './ast';
import { type Declarator, functionTypeOf, parseDeclarator } from './declarators';
import { parseAssignment } from './expressions';
import { nameOfToken } from './failures';
import { parseVariableInitializer } from './initializers';
import { declarationScope, Name } from './names';
import type { Parser } from './parser';
import { resolveName } from './records';
import { atLikelyDeclaration, skipDeclaration } from './recovery';
import { mergeSpecifiers } from './specifier-merge';
import type { SpecifierSet } from './specifiers';
import type { DeclarationPlace, TemplateHead } from './template-head';

interface VariableHead {
  readonly first: number;
  readonly set: SpecifierSet;
  readonly base: TypeNode;
  /** The first declarator, read already. */
  readonly declarator: Declarator;
  readonly head: TemplateHead | undefined;
}

/** Variables of one declaration from behind the first declarator to the `;`. */
export function parseVariables(p: Parser, place: DeclarationPlace, into: Declaration[], head: VariableHead): void {
  let { declarator, first } = head;
  for (;;) {
    into.push(parseVariable(p, place, head, declarator, first));
    if (!p.eat(',')) break;
    first = p.pos;
    declarator = parseDeclarator(p, head.base, place);
    if (!declarator.name && !p.at(':')) break;
  }
  finishDeclaration(p, place, into);
}

function parseVariable(
  p: Parser,
  place: DeclarationPlace,
  head: VariableHead,
  declarator: Declarator,
  first: number,
): VariableDeclaration {
  const bindings = p.at('[') && !declarator.name ? parseBindings(p) : undefined;
  const name = declarator.name?.parts.at(-1)?.name;
  const qualified = (declarator.name?.parts.length ?? 0) > 1;
  declareVariable(p, head, declarator, name, qualified);
  const bitWidth = place === 'record' && p.at(':') ? parseBitWidth(p) : undefined;
  const initializer = qualified ? withinRecord(p, declarator) : parseVariableInitializer(p);
  const templateParameters: readonly TemplateParameter[] | undefined = head.head?.parameters;
  return {
    kind: 'variable',
    name,
    scope: qualified ? declarator.name : undefined,
    nameToken: declarator.nameToken >= 0 ? declarator.nameToken : first,
    type: functionTypeOf(p, declarator),
    specifiers: mergeSpecifiers(head.set, declarator),
    templateParameters,
    constraints: head.head?.constraints,
    templateArguments: qualified ? undefined : declarator.name?.parts[0].templateArguments,
    initializer,
    bitWidth,
    bindings,
    first,
    last: Math.max(first, p.last),
  };
}

function declareVariable(
  p: Parser,
  head: VariableHead,
  declarator: Declarator,
  name: string | undefined,
  qualified: boolean,
): void {
  if (!name || qualified) return;
  const isTemplate = head.head && !declarator.name?.parts[0].templateArguments;
  declarationScope(p.scope).declare(name, Name.value | (isTemplate ? Name.template : 0));
}

/** The initialiser of an out-of-class static member sees the record's names. */
function withinRecord(p: Parser, declarator: Declarator) {
  const { name } = declarator;
  const record = name && resolveName(p, { ...name, parts: name.parts.slice(0, -1) })?.scope;
  return record ? p.within(record, () => parseVariableInitializer(p)) : parseVariableInitializer(p);
}

function parseBitWidth(p: Parser) {
  p.next();
  // a default member initialiser may follow, so no assignment here
  return parseAssignment(p);
}

function parseBindings(p: Parser): string[] {
  const names: string[] = [];
  const group = p.enter();
  while (p.atName) {
    names.push(p.tok);
    p.scope.declare(p.tok, Name.value);
    p.next();
    if (!p.eat(',')) break;
  }
  p.leave(group);
  return names;
}

/** Expects the `;` behind a declaration. */
function finishDeclaration(p: Parser, place: DeclarationPlace, into: Declaration[]): void {
  if (place === 'block') return; // the statement sees to it: `for (T x : list)`, conditions
  if (p.eat(';')) return;
  if (p.atEnd || atLikelyDeclaration(p) || p.startsLine(p.pos)) {
    p.report(p.last, p.last, "';' is missing behind this declaration");
    return;
  }
  const first = p.pos;
  const found = nameOfToken(p);
  skipDeclaration(p, first);
  const reason = `${found} was not expected in this declaration`;
  p.report(first, p.last, reason);
  into.push({ kind: 'unknownDeclaration', reason, first, last: Math.max(first, p.last) });
}

/** `T x = e` or `T x{e}` in a condition; the parser stands behind the specifiers. */
export function parseConditionVariable(
  p: Parser,
  set: SpecifierSet,
  base: TypeNode,
  first: number,
): VariableDeclaration {
  const declarator = parseDeclarator(p, base, 'block');
  return parseVariable(p, 'block', { first, set, base, declarator, head: undefined }, declarator, first);
}
