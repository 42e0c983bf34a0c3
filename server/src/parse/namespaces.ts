import type { Declaration, NamespaceDeclaration } from './ast';
import { parseDeclarations } from './declarations';
import { declarationScope, Name, Scope } from './names';
import type { Parser } from './parser';
import { atQualifiedName, parseQualifiedName } from './qualified-names';
import { resolveName } from './records';
import { atLikelyDeclaration, skipDeclaration } from './recovery';
import { SpecifierSet, skipAttributes } from './specifiers';

/** `namespace a::b { … }`, `namespace a = b;`; the parser stands at `namespace`. */
export function parseNamespace(p: Parser, into: Declaration[], isInline: boolean): void {
  const first = isInline ? p.pos - 1 : p.pos;
  p.next();
  skipAttributes(p, new SpecifierSet());
  const names: { name: string; isInline: boolean }[] = [];
  while (p.atName) {
    names.push({ name: p.tok, isInline });
    p.next();
    skipAttributes(p, new SpecifierSet());
    if (!p.at('::')) {
      // an undeclared macro behind the name: `namespace a MACRO {`
      if (p.atName && !p.startsLine(p.pos)) continue;
      break;
    }
    p.next();
    isInline = p.eat('inline');
  }
  if (p.at('=') && names.length === 1) {
    parseNamespaceAlias(p, into, names[0].name, first);
    return;
  }
  if (!p.at('{')) {
    if (!atLikelyDeclaration(p)) skipDeclaration(p, p.pos);
    p.report(first, Math.max(first, p.last), "the namespace's '{' is missing");
    into.push({
      kind: 'unknownDeclaration',
      reason: "the namespace's '{' is missing",
      first,
      last: Math.max(first, p.last),
    });
    return;
  }
  if (names.length === 0) names.push({ name: '', isInline });
  into.push(parseBody(p, names, first));
}

function parseNamespaceAlias(p: Parser, into: Declaration[], name: string, first: number): void {
  p.next();
  const alias = atQualifiedName(p) ? parseQualifiedName(p, 'type').name : undefined;
  const target = alias && resolveName(p, alias);
  p.scope.declare(name, Name.namespace, target?.scope);
  into.push({ kind: 'namespace', name, isInline: false, members: [], alias, first, last: p.last });
  p.eat(';');
}

function parseBody(
  p: Parser,
  names: readonly { name: string; isInline: boolean }[],
  first: number,
): NamespaceDeclaration {
  const outer = p.scope;
  for (const { name, isInline } of names) p.scope = enterNamespace(declarationScope(p.scope), name, isInline);
  const members: Declaration[] = [];
  const group = p.enter();
  parseDeclarations(p, 'namespace', members);
  p.scope = outer;
  p.leave(group);
  let content: readonly Declaration[] = members;
  let result: NamespaceDeclaration | undefined;
  for (const { name, isInline } of [...names].reverse()) {
    result = { kind: 'namespace', name, isInline, members: content, first, last: p.last };
    content = [result];
  }
  return result ?? { kind: 'namespace', name: '', isInline: false, members, first, last: p.last };
}

/** The scope of a namespace, the same one each time it is opened. */
function enterNamespace(outer: Scope, name: string, isInline: boolean): Scope {
  if (name === '') {
    const scope = new Scope(outer, 'namespace');
    outer.open(scope);
    return scope;
  }
  const entry = outer.declare(name, Name.namespace);
  entry.scope ??= new Scope(outer, 'namespace');
  if (isInline) outer.open(entry.scope);
  return entry.scope;
}
