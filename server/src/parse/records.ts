/** Records: struct, class, union. */
import type { Declaration, QualifiedName, RecordDeclaration, TypeNode } from './ast';
import { parseDeclaration } from './declarations';
import { declarationScope, Name, type NameEntry, Scope } from './names';
import type { Parser } from './parser';
import { atQualifiedName, parseQualifiedName } from './qualified-names';
import { recoverAt } from './recovery';
import { type SpecifierSet, skipAttributes } from './specifiers';
import { looksLikeMacro, parseSpecifiers } from './types';
import { Word } from './words';

/** `struct A : B { … }` as a definition, `struct A;` as a declaration, `struct A` as a type. */
export function parseRecord(p: Parser, set: SpecifierSet): TypeNode {
  const first = p.pos;
  const key = p.tok as RecordDeclaration['key'];
  p.next();
  skipAttributes(p, set);
  skipMacros(p, set);
  const parsed = atQualifiedName(p) ? parseQualifiedName(p, 'type') : undefined;
  skipAttributes(p, set);
  if (p.at('final')) p.next();
  const name = parsed?.name;
  const isDefinition = p.at('{') || p.at(':');
  if (!isDefinition && (!p.at(';') || !name)) {
    if (name) return { kind: 'named', name, first, last: p.last, isConst: false, isVolatile: false };
    p.report(first, p.last, `a name or '{' should follow '${key}'`);
    return {
      kind: 'unknown',
      reason: 'a record without name or body',
      first,
      last: p.last,
      isConst: false,
      isVolatile: false,
    };
  }
  const entry = declareRecordName(p, name, set.isFriend);
  const scope = recordScope(p, name, entry);
  const bases = p.at(':') ? parseBases(p, scope) : [];
  const members = p.at('{') ? parseMembers(p, scope) : undefined;
  if (members) skipAttributes(p, set);
  if (!name && key === 'union') openIntoOuter(p, scope);
  const range = { first, last: p.last };
  const packing = p.packing.at(first);
  const record: RecordDeclaration = {
    kind: 'record',
    key,
    name,
    specifiers: set.value,
    packing,
    bases,
    members,
    ...range,
  };
  return { kind: 'record', record, ...range, isConst: false, isVolatile: false };
}

/** An undeclared macro between `struct` and the name: `struct FOO_API A {`. In `typedef struct NODE_T Node;` there is none. */
function skipMacros(p: Parser, { isTypedef }: SpecifierSet): void {
  while (p.atName && (p.isName(p.pos + 1) || p.wordAt(p.pos + 1) & Word.specifier)) {
    const isNamed = isTypedef && (p.peek(2) === ';' || p.peek(2) === ',' || p.peek(2) === '[');
    if (isNamed || (p.lookup(p.tok)?.bits ?? 0) & Name.type) return;
    const after = p.peek(2);
    // `struct timespec now{};`, of a header that is not there
    const isValue = after === '{' && p.peek(3) === '}' && !looksLikeMacro(p.tok);
    const defines = !isValue && (after === '{' || after === ':' || after === '<' || after === 'final');
    if (p.peek(1) === 'final' || !(defines || (looksLikeMacro(p.tok) && p.tok.includes('_')))) return;
    p.next();
  }
  if (p.atName && p.peek(1) === '(' && p.isName(p.afterGroup(p.pos + 1)) && looksLikeMacro(p.tok)) {
    p.next();
    p.skipGroup();
  }
}

function declareRecordName(p: Parser, name: QualifiedName | undefined, isFriend: boolean): NameEntry | undefined {
  if (!name || isFriend || name.parts.length !== 1) return undefined;
  const bits = Name.type | (p.scope.kind === 'template' ? Name.template : 0);
  return declarationScope(p.scope).declare(name.parts[0].name, bits);
}

/** The scope of a record's members. A specialisation's members join those of its template: they are mostly the same. */
function recordScope(p: Parser, name: QualifiedName | undefined, entry: NameEntry | undefined): Scope {
  const scope = new Scope(p.scope, 'record');
  scope.recordName = name?.parts.at(-1)?.name;
  if (scope.recordName && !entry) scope.declare(scope.recordName, Name.type);
  if (entry) {
    if (entry.scope) scope.open(entry.scope);
    else entry.scope = scope;
  }
  return scope;
}

/** Members of an anonymous union are names of the record around it. */
function openIntoOuter(p: Parser, scope: Scope): void {
  declarationScope(p.scope).open(scope);
}

function parseBases(p: Parser, scope: Scope): RecordDeclaration['bases'] {
  const bases: { type: TypeNode; isVirtual: boolean }[] = [];
  p.next();
  while (!p.atEnd && !p.at('{')) {
    let isVirtual = false;
    while (/^(?:public|private|protected|virtual)$/.test(p.tok)) {
      if (p.at('virtual')) isVirtual = true;
      p.next();
    }
    const before = p.pos;
    const { type } = parseSpecifiers(p, 'type');
    if (!type || p.pos === before) break;
    const { first, last } = type;
    const isPack = p.eat('...');
    bases.push({
      type: isPack ? { kind: 'packExpansion', of: type, isConst: false, isVolatile: false, first, last } : type,
      isVirtual,
    });
    openBase(p, scope, type);
    if (!p.eat(',')) break;
  }
  if (!p.at('{')) {
    p.report(p.pos, p.pos, 'the base classes were not understood');
    while (!p.atEnd && !p.at('{') && !p.at(';')) p.next();
  }
  return bases;
}

function openBase(p: Parser, scope: Scope, type: TypeNode): void {
  if (type.kind !== 'named') return;
  const entry = resolveName(p, type.name);
  if (entry?.scope) scope.open(entry.scope);
}

/** The entry of a qualified name as far as the table has it. */
export function resolveName(p: Parser, name: QualifiedName): NameEntry | undefined {
  let entry: NameEntry | undefined;
  let start = 0;
  if (name.global) entry = { bits: Name.namespace, scope: p.globalScope };
  else {
    if (name.parts.length === 0) return undefined;
    entry = p.lookup(name.parts[0].name);
    start = 1;
  }
  for (const part of name.parts.slice(start)) entry = entry?.scope?.member(part.name);
  return entry;
}

function parseMembers(p: Parser, scope: Scope): Declaration[] {
  const members: Declaration[] = [];
  const outer = p.scope;
  const group = p.enter();
  p.scope = scope;
  p.recordDepth++;
  if (p.enterLevel()) {
    while (!p.atEnd) {
      const before = p.pos;
      if (p.at(';')) p.next();
      else if (/^(?:public|private|protected)$/.test(p.tok)) skipAccess(p);
      else parseDeclaration(p, 'record', members);
      if (p.pos === before) recoverAt(p, members);
    }
  } else {
    p.report(p.pos, p.limit - 1, 'nested too deeply');
    p.jump(p.limit);
  }
  p.leaveLevel();
  p.recordDepth--;
  p.scope = outer;
  p.leave(group);
  return members;
}

function skipAccess(p: Parser): void {
  p.next();
  if (p.atName && p.peek(1) === ':') p.next();
  p.eat(':');
}

/** Parses the bodies of methods that waited for their record to be complete. */
export function parseDeferredBodies(p: Parser): void {
  while (p.recordDepth === 0 && p.deferred.length > 0) {
    const waiting = p.deferred;
    p.deferred = [];
    for (const body of waiting) body();
  }
}
