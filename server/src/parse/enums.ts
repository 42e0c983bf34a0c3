import type { EnumDeclaration, Expression, TypeNode } from './ast';
import { parseAssignment } from './expressions';
import { declarationScope, Name, Scope } from './names';
import type { Parser } from './parser';
import { atQualifiedName, parseQualifiedName } from './qualified-names';
import { type SpecifierSet, skipAttributes } from './specifiers';
import { parseConversionType } from './types';

/** `enum class A : int { x, y = 2 }`, `enum A` as a type. */
export function parseEnum(p: Parser, set: SpecifierSet): TypeNode {
  const first = p.pos;
  p.next();
  const isScoped = p.at('class') || p.at('struct');
  if (isScoped) p.next();
  skipAttributes(p, set);
  const name = atQualifiedName(p) ? parseQualifiedName(p, 'type').name : undefined;
  const underlying = p.at(':') ? parseUnderlying(p) : undefined;
  const plain = name?.parts.length === 1 ? name.parts[0].name : undefined;
  const members = new Scope(undefined, 'namespace');
  const outer = declarationScope(p.scope);
  if (plain && (p.at('{') || p.at(';'))) outer.declare(plain, Name.type, members);
  const enumerators = p.at('{') ? parseEnumerators(p, members, isScoped ? undefined : outer) : undefined;
  const range = { first, last: p.last };
  if (!enumerators && name && !p.at(';')) return { kind: 'named', name, ...range, isConst: false, isVolatile: false };
  const enumeration: EnumDeclaration = { kind: 'enum', name, isScoped, underlying, enumerators, ...range };
  return { kind: 'enum', enumeration, ...range, isConst: false, isVolatile: false };
}

function parseUnderlying(p: Parser): TypeNode {
  p.next();
  return parseConversionType(p);
}

function parseEnumerators(p: Parser, members: Scope, outer: Scope | undefined) {
  const list: { name: string; value?: Expression }[] = [];
  const group = p.enter();
  while (!p.atEnd && p.atName) {
    const name = p.tok;
    p.next();
    // attributes of an enumerator
    while (p.at('[')) p.skipGroup();
    const value = p.eat('=') ? parseAssignment(p) : undefined;
    list.push(value ? { name, value } : { name });
    members.declare(name, Name.value);
    outer?.declare(name, Name.value);
    if (!p.eat(',')) break;
  }
  p.leave(group);
  return list;
}
