/** Functions: what follows their parameters, bodies included. */
import type { Declaration, Expression, FunctionDeclaration, QualifiedName, TypeNode } from './ast';
import { parseRequiresClause, spelledOut } from './constraints';
import type { Declarator } from './declarators';
import { nameOfToken } from './failures';
import { parseCallArguments, parseInitList } from './initializers';
import { declarationScope, Name, Scope } from './names';
import { declareParameters } from './parameters';
import type { Parser } from './parser';
import { parseQualifiedName } from './qualified-names';
import { parseDeferredBodies, resolveName } from './records';
import { atLikelyDeclaration, skipDeclaration } from './recovery';
import { closesAngles } from './scan';
import { mergeSpecifiers } from './specifier-merge';
import { parseSpecifier, type SpecifierSet } from './specifiers';
import { parseCompound } from './statements';
import type { DeclarationPlace, TemplateHead } from './template-head';
import { parseTypeId, recordScopeName } from './types';
import { Word } from './words';

/** What the name of a deduction guide begins with; the class's follows. */
export const GUIDE = '__guide_';

interface FunctionHead {
  readonly first: number;
  readonly set: SpecifierSet;
  readonly declarator: Declarator;
  readonly head: TemplateHead | undefined;
  /** false: no type was written (constructors, `main`) */
  readonly typed: boolean;
}

type MutableFunction = { -readonly [K in keyof FunctionDeclaration]: FunctionDeclaration[K] };

/** A function from behind its parameters to its `;` or body. */
export function parseFunction(p: Parser, place: DeclarationPlace, into: Declaration[], head: FunctionHead): void {
  const { declarator, first } = head;
  const given = declarator.name && !head.typed ? withoutInjectedArguments(p, declarator.name) : declarator.name;
  const name = given ?? guideName(p, head);
  if (!name) {
    skipDeclaration(p, p.pos);
    p.report(first, p.last, "the function's name is missing");
    into.push({ kind: 'unknownDeclaration', reason: "the function's name is missing", first, last: p.last });
    return;
  }
  const damage = p.damage;
  declareFunction(p, head, name);
  const outer = p.scope;
  p.scope = functionScope(p, name);
  const { parameters, invented, constraints: ofAutos } = spelledOut(declarator.parameters ?? []);
  declareParameters(p, parameters);
  const constraints = [...(head.head?.constraints ?? []), ...ofAutos];
  const result = parseTrailer(p, head, constraints) ?? resultType(head);
  const declaration: MutableFunction = {
    kind: 'function',
    name,
    nameToken: declarator.nameToken,
    specifiers: mergeSpecifiers(head.set, declarator),
    templateParameters: invented.length > 0 ? [...(head.head?.parameters ?? []), ...invented] : head.head?.parameters,
    result,
    parameters,
    isVariadic: declarator.isVariadic,
    isConst: declarator.isConst,
    body: undefined,
    mentions: new Set(),
    broken: false,
    first,
    last: p.last,
  };
  if (constraints.length > 0) declaration.constraints = constraints;
  if (head.set.isFriend) declaration.isFriend = true;
  parseDefinition(p, place, declaration, head);
  p.scope = outer;
  declaration.last = Math.max(first, p.last);
  declaration.mentions = mentionsOf(p, first, declaration.last);
  if (p.damage > damage) declaration.broken = true;
  into.push(declaration);
}

/** `Range(T*, int) -> Range<T>;` guides the deduction of a class's arguments: it is kept as a function of a name that no one writes. */
function guideName(p: Parser, { typed, declarator }: FunctionHead): QualifiedName | undefined {
  const { type } = declarator;
  if (!typed || !p.at('->') || type.kind !== 'named') return undefined;
  const { name } = type;
  return { ...name, parts: [{ name: GUIDE + (name.parts.at(-1)?.name ?? '') }] };
}

/** `A<T>(int)` in the body of A: a constructor, whose name is A. */
function withoutInjectedArguments(p: Parser, name: QualifiedName): QualifiedName {
  const [part] = name.parts;
  if (name.parts.length !== 1 || part.name !== recordScopeName(p)) return name;
  return { ...name, parts: [{ name: part.name }] };
}

function resultType(head: FunctionHead): TypeNode {
  const { declarator } = head;
  if (declarator.conversion) return declarator.conversion;
  if (!head.typed && declarator.name?.parts.at(-1)?.name === 'main') {
    const at = declarator.nameToken;
    return { kind: 'builtin', name: 'int', first: at, last: at, isConst: false, isVolatile: false };
  }
  return declarator.type;
}

function declareFunction(p: Parser, head: FunctionHead, name: QualifiedName): void {
  if (name.parts.length !== 1 || head.set.isFriend) return;
  const plain = name.parts[0].name;
  const scope = declarationScope(p.scope);
  if (scope.recordName === plain) return;
  scope.declare(plain, Name.value | (head.head ? Name.template : 0));
}

/** The scope of a function's parameters: inside its record or namespace, if the name says so. */
function functionScope(p: Parser, name: QualifiedName): Scope {
  const scope = new Scope(p.scope, 'block');
  if (name.parts.length < 2) return scope;
  const owner = resolveName(p, { ...name, parts: name.parts.slice(0, -1) })?.scope;
  if (!owner) return scope;
  const between = new Scope(p.scope, 'block');
  // outermost last: what the record's own scopes see, it sees too
  for (let around: Scope | undefined = owner; around && around !== p.globalScope; around = around.parent)
    between.open(around);
  return new Scope(between, 'block');
}

/** Qualifiers, attributes, trailing result. */
function parseTrailer(p: Parser, head: FunctionHead, constraints: Expression[]): TypeNode | undefined {
  let result: TypeNode | undefined;
  for (;;) {
    if (p.at('->')) {
      p.next();
      result = parseTypeId(p);
    } else if (p.at('requires')) constraints.push(parseRequiresClause(p));
    else if (p.at('const') || p.at('volatile') || p.at('&') || p.at('&&')) p.next();
    else if (p.at('noexcept') || p.at('throw')) {
      p.next();
      if (p.at('(')) p.skipGroup();
    } else if ((p.word & Word.specifier || p.at('[')) && !(p.startsLine(p.pos) && startsNext(p))) {
      if (!parseSpecifier(p, head.set)) return result;
    } else if (p.atName && isTrailingMacro(p)) {
      p.next();
      if (p.at('(')) p.skipGroup();
    } else return result;
  }
}

/** A specifier at a line's start behind a parameter list begins the next declaration unless it is an attribute. */
function startsNext(p: Parser): boolean {
  return !/^(?:__attribute__|__launch_bounds__|__maxnreg__|__cluster_dims__|\[)$/.test(p.tok);
}

/** `override`, `final`, or a macro of an unread header in their place. */
function isTrailingMacro(p: Parser): boolean {
  if (p.at('override') || p.at('final')) return true;
  const after = p.peek(1) === '(' ? p.afterGroup(p.pos + 1) : p.pos + 1;
  const next = p.textAt(after);
  return (
    next === '{' ||
    next === ';' ||
    next === '->' ||
    next === ':' ||
    next === '=' ||
    (p.isName(after) && !p.startsLine(p.pos))
  );
}

function parseDefinition(p: Parser, place: DeclarationPlace, into: MutableFunction, head: FunctionHead): void {
  if (p.at('=')) {
    // = 0, = default, = delete("reason")
    p.next();
    p.next();
    if (p.at('(')) p.skipGroup();
  }
  const isTry = p.at('try');
  if (isTry) p.next();
  if (p.at(':') || p.at('{')) {
    if (place === 'record') deferDefinition(p, into);
    else parseBody(p, into);
    while (isTry && p.at('catch')) {
      p.next();
      if (p.at('(')) p.skipGroup();
      if (p.at('{')) p.skipGroup();
    }
    return;
  }
  if (p.eat(';')) return;
  if (p.at(',')) {
    // `int f(), g();`: the others are not kept
    skipDeclaration(p, p.pos);
    return;
  }
  into.broken = true;
  const kind = head.set.value.isGlobal ? 'kernel' : 'function';
  p.report(head.declarator.nameToken, p.last, `a body or ';' of this ${kind} is missing before ${nameOfToken(p)}`);
  if (!p.atEnd && !p.startsLine(p.pos) && !atLikelyDeclaration(p)) skipDeclaration(p, p.pos);
}

/** A method's body waits until its record is complete: it may use members declared further down. */
function deferDefinition(p: Parser, into: MutableFunction): void {
  const { pos, scope, limit } = p;
  p.deferred.push(() => {
    const saved = { pos: p.pos, split: p.split, scope: p.scope, limit: p.limit, depth: p.depth };
    p.scope = scope;
    p.limit = limit;
    p.jump(pos);
    parseBody(p, into);
    p.scope = saved.scope;
    p.limit = saved.limit;
    p.depth = saved.depth;
    p.jump(saved.pos);
    if (saved.split > 0) p.splitToken(saved.split);
  });
  skipBody(p);
}

/** Steps over member initialisers and body. */
function skipBody(p: Parser): void {
  while (!p.atEnd && !p.at('{')) {
    if (p.at('(') || p.at('[')) p.jump(Math.max(p.afterGroup(p.pos), p.pos + 1));
    else if (p.at(';')) return;
    else {
      p.next();
      // member{value}: the brace belongs to the initialiser
      if (p.at('{') && (p.isName(p.pos - 1) || closesAngles(p.textAt(p.pos - 1))) && initializerFollows(p)) {
        p.jump(Math.max(p.afterGroup(p.pos), p.pos + 1));
      }
    }
  }
  if (p.at('{')) p.jump(Math.max(p.afterGroup(p.pos), p.pos + 1));
}

function initializerFollows(p: Parser): boolean {
  const after = p.textAt(p.afterGroup(p.pos));
  return after === ',' || after === '{' || after === '...';
}

function parseBody(p: Parser, into: MutableFunction): void {
  const { damage, recordDepth } = p;
  p.recordDepth = 0;
  const waiting = p.deferred;
  p.deferred = [];
  if (p.at(':')) into.initializers = parseMemberInitializers(p);
  if (p.at('{')) into.body = parseCompound(p);
  else p.report(into.nameToken, into.nameToken, "the function's body is missing");
  parseDeferredBodies(p);
  p.recordDepth = recordDepth;
  p.deferred = waiting;
  if (p.damage > damage) into.broken = true;
}

function parseMemberInitializers(p: Parser): FunctionDeclaration['initializers'] {
  const list: { member: QualifiedName; arguments: readonly Expression[]; pack: boolean }[] = [];
  p.next();
  while (p.atName || p.at('::')) {
    const { name } = parseQualifiedName(p, 'type');
    let values: readonly Expression[] = [];
    if (p.at('(')) values = parseCallArguments(p);
    else if (p.at('{')) values = [parseInitList(p)];
    list.push({ member: name, arguments: values, pack: p.eat('...') });
    if (!p.eat(',')) break;
  }
  if (!p.at('{')) {
    p.report(p.pos, p.pos, 'the member initialisers were not understood');
    while (!p.atEnd && !p.at('{')) p.next();
  }
  return list;
}

/** Identifiers of a range that are no keywords. */
function mentionsOf(p: Parser, first: number, last: number): Set<string> {
  const names = new Set<string>();
  const { classes, text } = p;
  for (let i = first; i <= last; i++) if (classes[i] & Word.name) names.add(text[i]);
  return names;
}
