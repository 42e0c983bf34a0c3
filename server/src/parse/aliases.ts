/** typedef, using-declarations, alias templates. */
import type { Declaration, TypeNode } from './ast';
import { functionTypeOf, parseDeclarator } from './declarators';
import { declarationScope, Name, type NameEntry } from './names';
import type { Parser } from './parser';
import { parseQualifiedName } from './qualified-names';
import { resolveName } from './records';
import { atLikelyDeclaration, skipDeclaration } from './recovery';
import { SpecifierSet, skipAttributes } from './specifiers';
import type { TemplateHead } from './template-head';
import { parseTypeId } from './types';

/** `typedef int T, *P;` from behind the specifiers. */
export function parseTypedefs(p: Parser, base: TypeNode, into: Declaration[], first: number): void {
  for (;;) {
    const start = p.pos;
    const declarator = parseDeclarator(p, base, 'record');
    const type = functionTypeOf(p, declarator);
    const name = declarator.name?.parts.at(-1)?.name;
    if (!name) {
      p.report(start, Math.max(start, p.last), "the typedef's name is missing");
      if (!atLikelyDeclaration(p)) skipDeclaration(p, start);
      return;
    }
    declareAlias(p, name, type, false);
    if (type.kind === 'record' && !type.record.name) type.record.typedefName ??= name;
    if (type.kind === 'enum' && !type.enumeration.name) type.enumeration.typedefName ??= name;
    into.push({ kind: 'alias', name, type, first, last: p.last });
    if (!p.eat(',')) break;
  }
  if (!p.eat(';')) {
    p.report(p.last, p.last, "';' is missing behind the typedef");
    if (!p.atEnd && !p.startsLine(p.pos)) skipDeclaration(p, p.pos);
  }
}

function declareAlias(p: Parser, name: string, type: TypeNode, isTemplate: boolean): void {
  let target: NameEntry | undefined;
  if (type.kind === 'named') target = resolveName(p, type.name);
  const scope = declarationScope(p.scope);
  const templateBit =
    isTemplate || (target && target.bits & Name.template && type.kind === 'named' && !hasArguments(type))
      ? Name.template
      : 0;
  scope.declare(name, Name.type | templateBit, target?.scope);
}

function hasArguments(type: Extract<TypeNode, { kind: 'named' }>): boolean {
  return type.name.parts.at(-1)?.templateArguments !== undefined;
}

/** `using A = T;`, also as a template. */
export function parseAliasDeclaration(p: Parser, into: Declaration[], head: TemplateHead | undefined): void {
  const first = head?.first ?? p.pos;
  p.next();
  const name = p.tok;
  p.next();
  const attributes = new SpecifierSet();
  skipAttributes(p, attributes);
  p.eat('=');
  const type = parseTypeId(p);
  declareAlias(p, name, type, head !== undefined);
  into.push({ kind: 'alias', name, type, templateParameters: head?.parameters, first, last: p.last });
  if (p.eat(';')) return;
  p.report(p.last, p.last, "';' is missing behind the alias");
  if (!p.atEnd && !p.startsLine(p.pos)) skipDeclaration(p, p.pos);
}

/** `using namespace a;`, `using a::b, c::d;`, `using enum E;`. */
export function parseUsing(p: Parser, into: Declaration[]): void {
  const first = p.pos;
  p.next();
  const isDirective = p.eat('namespace');
  const isEnum = !isDirective && p.eat('enum');
  for (;;) {
    p.eat('typename');
    const start = p.pos;
    const { name } = parseQualifiedName(p, 'type');
    if (name.parts.length === 0 || p.pos === start) {
      p.report(first, Math.max(first, p.last), "a name should follow 'using'");
      break;
    }
    const entry = resolveName(p, name);
    const scope = declarationScope(p.scope);
    if (isDirective || isEnum) {
      if (entry?.scope) scope.open(entry.scope);
    } else if (entry && name.parts.length > 1) {
      scope.declare(name.parts[name.parts.length - 1].name, entry.bits, entry.scope);
    }
    into.push({ kind: 'using', name, isDirective, first, last: p.last });
    p.eat('...');
    if (!p.eat(',')) break;
  }
  if (p.eat(';')) return;
  p.report(p.last, p.last, "';' is missing behind 'using'");
  if (!p.atEnd && !p.startsLine(p.pos)) skipDeclaration(p, p.pos);
}
