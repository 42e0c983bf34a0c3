/** Types: the specifiers of a declaration with their type, and type-ids. */
import type { BuiltinTypeName, Expression, QualifiedName, TypeNode } from './ast';
import { canonicalBuiltin } from './builtin-types';
import { parseAbstractDeclarator, parsePointerOperators } from './declarators';
import { parseEnum } from './enums';
import { parseExpression } from './expressions';
import { Name } from './names';
import type { Parser } from './parser';
import { parseQualifiedName } from './qualified-names';
import { parseRecord } from './records';
import { scanName, scanType, textAt } from './scan';
import { isAttributeWord, parseSpecifier, SpecifierSet } from './specifiers';
import { isDecltype, Word } from './words';

/** Where a run of specifiers stands; it decides what an undeclared name in it can be. */
export type SpecifierPlace = 'namespace' | 'record' | 'block' | 'parameter' | 'type';

export interface DeclarationSpecifiers {
  readonly first: number;
  readonly set: SpecifierSet;
  /** undefined: none, as for constructors. */
  readonly type: TypeNode | undefined;
}

/** What the type words and qualifiers of a run add up to. */
interface TypeDraft {
  words: string[] | undefined;
  type: TypeNode | undefined;
  isConst: boolean;
  isVolatile: boolean;
  first: number;
}

/** Reads declaration specifiers up to the declarator. */
export function parseSpecifiers(p: Parser, place: SpecifierPlace, set = new SpecifierSet()): DeclarationSpecifiers {
  const first = p.pos;
  if (!p.enterLevel()) {
    p.leaveLevel();
    return { first, set, type: tooDeep(p, first) };
  }
  const type = parseSpecifierSequence(p, place, set);
  p.leaveLevel();
  return { first, set, type };
}

function parseSpecifierSequence(p: Parser, place: SpecifierPlace, set: SpecifierSet): TypeNode | undefined {
  const first = p.pos;
  const draft: TypeDraft = { words: undefined, type: undefined, isConst: false, isVolatile: false, first: -1 };
  while (!p.atEnd) {
    const word = p.word;
    if (word & Word.specifier || p.at('[')) {
      if (p.pos > first && p.startsLine(p.pos) && beginsNext(p, place, set, draft)) break;
      if (!parseSpecifier(p, set)) break;
    } else if (word & Word.qualifier) {
      readQualifier(p, draft, set);
    } else if (word & Word.typeWord) {
      if (draft.type || !readTypeWord(p, draft)) break;
    } else if (!hasType(draft) && word & Word.recordKey) {
      startType(p, draft);
      draft.type = p.at('enum') ? parseEnum(p, set) : parseRecord(p, set);
    } else if (p.at('auto') && draft.type?.kind === 'named' && !draft.words) {
      // `Concept auto x`
      draft.type = { ...draft.type, kind: 'auto', concept: draft.type.name, last: p.pos };
      p.next();
    } else if (hasType(draft)) {
      if (!atMacroBeforeDeclarator(p, place)) break;
      skipMacro(p);
    } else if (!parseTypeOrMacro(p, draft, place)) break;
  }
  return finishType(p, draft);
}

/** Whether the specifier at a line's start begins the next declaration, this one being broken off. */
function beginsNext(p: Parser, place: SpecifierPlace, set: SpecifierSet, draft: TypeDraft): boolean {
  if (p.at('__global__')) return (place !== 'namespace' && place !== 'type') || set.value.isGlobal || hasType(draft);
  return hasType(draft) && !isAttributeWord(p.tok) && typeFollows(p, p.pos);
}

function hasType(draft: TypeDraft): boolean {
  return draft.type !== undefined || draft.words !== undefined;
}

function startType(p: Parser, draft: TypeDraft): void {
  if (draft.first < 0) draft.first = p.pos;
}

function readQualifier(p: Parser, draft: TypeDraft, set: SpecifierSet): void {
  startType(p, draft);
  if (p.at('const') || p.at('__const')) draft.isConst = true;
  else if (p.at('volatile') || p.at('__volatile__')) draft.isVolatile = true;
  else set.change().isRestrict = true;
  p.next();
}

/** Adds a type word; false if it makes no type together with those before it. */
function readTypeWord(p: Parser, draft: TypeDraft): boolean {
  startType(p, draft);
  if (draft.words && !canonicalBuiltin([...draft.words, p.tok])) return false;
  draft.words ??= [];
  draft.words.push(p.tok);
  p.next();
  return true;
}

function finishType(p: Parser, draft: TypeDraft): TypeNode | undefined {
  const { isConst, isVolatile } = draft;
  const range = { first: draft.first, last: Math.max(draft.first, p.last), isConst, isVolatile };
  if (draft.words) {
    const name = canonicalBuiltin(draft.words);
    if (name) return { kind: 'builtin', name, ...range };
    return { kind: 'unknown', reason: `'${draft.words.join(' ')}' is no type`, ...range };
  }
  if (!draft.type) return undefined;
  if (!isConst && !isVolatile) return draft.type;
  return {
    ...draft.type,
    first: Math.min(draft.first, draft.type.first),
    last: Math.max(p.last, draft.type.last),
    isConst,
    isVolatile,
  };
}

/** A type that is no keyword (`T`, `std::vector<int>`, `auto`, `decltype(x)`), or an undeclared macro in front of one. */
function parseTypeOrMacro(p: Parser, draft: TypeDraft, place: SpecifierPlace): boolean {
  const first = p.pos;
  switch (p.tok) {
    case 'auto':
      startType(p, draft);
      p.next();
      draft.type = { kind: 'auto', first, last: first, isConst: false, isVolatile: false };
      return true;
    case 'decltype':
    case '__decltype':
    case '__typeof__':
    case '__typeof':
    case 'typeof':
      startType(p, draft);
      draft.type = parseDecltype(p);
      return true;
    case 'typename':
      startType(p, draft);
      p.next();
      if (isDecltype(p.tok)) {
        draft.type = { ...parseDecltype(p), first };
        return true;
      }
      if (!p.atName && !p.at('::')) {
        draft.type = unknownType(p, first, "a type's name should follow 'typename'");
        return true;
      }
      draft.type = namedType(p, first);
      return true;
    case '::':
      if (!p.isName(p.pos + 1) || p.peek(2) === '*') return false;
      break;
    default:
      if (!p.atName || (p.at('main') && p.peek(1) === '(')) return false;
  }
  if (place !== 'parameter' && place !== 'type' && atNameWithoutType(p)) return false;
  if (atMacroSpecifier(p, place)) {
    skipMacro(p);
    return true;
  }
  startType(p, draft);
  draft.type = namedType(p, first);
  return true;
}

function namedType(p: Parser, first: number): TypeNode {
  const { name } = parseQualifiedName(p, 'sureType');
  return { kind: 'named', name, first, last: p.last, isConst: false, isVolatile: false };
}

function parseDecltype(p: Parser): TypeNode {
  const first = p.pos;
  p.next();
  if (!p.at('(')) return unknownType(p, first, "'(' should follow 'decltype'");
  if (p.peek(1) === 'auto') {
    p.skipGroup();
    return { kind: 'auto', first, last: p.last, isConst: false, isVolatile: false };
  }
  const holdsType = surelyHoldsType(p);
  const group = p.enter();
  if (holdsType) {
    const named = parseTypeId(p);
    p.leave(group);
    return { ...named, first, last: p.last };
  }
  const expression = parseExpression(p);
  p.leave(group);
  const isTypeof = p.text[first].includes('typeof');
  const type: TypeNode = {
    kind: 'decltype',
    expression,
    isTypeof,
    first,
    last: p.last,
    isConst: false,
    isVolatile: false,
  };
  if (!p.at('::') || !p.isName(p.pos + 1)) return type;
  const name = parseNameWithin(p, first, expression);
  return { kind: 'named', name, first, last: p.last, isConst: false, isVolatile: false };
}

/** `typeof(T)`: whether a type stands in the parentheses, and no name that may be a value's. */
function surelyHoldsType(p: Parser): boolean {
  const outer = p.limit;
  p.limit = Math.min(outer, p.brackets.end[p.pos]);
  const { end, sure } = scanType(p, p.pos + 1);
  const holds = sure && end === p.limit * 4;
  p.limit = outer;
  return holds;
}

/** `::a::b` behind a decltype. */
function parseNameWithin(p: Parser, first: number, scopeOf: Expression): QualifiedName {
  p.next();
  const { name } = parseQualifiedName(p, 'type', true);
  return { ...name, scopeOf, first };
}

/** An unknown type at the parser's place, noted as damage. */
export function unknownType(p: Parser, first: number, reason: string): TypeNode {
  p.report(first, Math.max(first, p.last), reason);
  return { kind: 'unknown', reason, first, last: Math.max(first, p.last), isConst: false, isVolatile: false };
}

/** A constructor's, destructor's or conversion operator's name: a declarator without type. */
function atNameWithoutType(p: Parser): boolean {
  const name = p.tok;
  const ofRecord = recordScopeName(p) === name;
  if (p.peek(1) === '(' && ofRecord) return !isNestedDeclarator(p, p.pos + 1);
  const scanned = scanName(p, p.pos, 'type');
  if (ofRecord && p.peek(1) === '<' && textAt(p, scanned.end) === '(') return true;
  if (scanned.end & 3) return false;
  const end = scanned.end >> 2;
  const next = p.textAt(end);
  if (next === '::') return p.textAt(end + 1) === '~' || (p.textAt(end + 1) === 'operator' && isConversion(p, end + 2));
  if (next !== '(' || end < p.pos + 3 || p.textAt(end - 2) !== '::') return false;
  const last = p.textAt(end - 1);
  // a::A<int>::A( names A's constructor
  for (let i = end - 3; i >= p.pos; i--) if (p.isName(i) && p.text[i] === last && p.text[i + 1] !== '(') return true;
  return false;
}

function isConversion(p: Parser, index: number): boolean {
  return (p.wordAt(index) & (Word.typeWord | Word.qualifier | Word.name)) !== 0;
}

/** `A (*f)(int)`: a member of the record's own type, no constructor. */
function isNestedDeclarator(p: Parser, open: number): boolean {
  return p.textAt(open + 1) === '*' && p.textAt(p.afterGroup(open)) === '(';
}

/** Name of the record in whose body the parser stands. */
export function recordScopeName(p: Parser): string | undefined {
  let scope: typeof p.scope | undefined = p.scope;
  while (scope && scope.kind === 'template') scope = scope.parent;
  return scope?.kind === 'record' ? scope.recordName : undefined;
}

/**
 * Whether the undeclared name at the parser's place is a macro rather than a type: `FOO_API void f()`,
 * `INLINE float4 g()`, `BOUNDS(256) void k()`.
 */
function atMacroSpecifier(p: Parser, place: SpecifierPlace): boolean {
  if (p.peek(1) === '(')
    return p.lookup(p.tok) === undefined && place === 'namespace' && typeFollows(p, p.afterGroup(p.pos + 1));
  if (p.lookup(p.tok) !== undefined || p.peek(1) === '::') return false;
  return typeFollows(p, p.pos + 1);
}

/** Whether a type and a declarator's name follow, so that what stands before them is no type. */
function typeFollows(p: Parser, index: number): boolean {
  const word = p.wordAt(index);
  if (word & Word.typeWord || word & Word.recordKey) return true;
  if (word & Word.qualifier) {
    // `T const x` against `MACRO const int x`
    const after = p.wordAt(index + 1);
    if (after & (Word.typeWord | Word.recordKey)) return true;
    return (after & Word.name) !== 0 && typeFollows(p, index + 1);
  }
  if (word & Word.specifier) {
    let at = index;
    while (p.wordAt(at) & Word.specifier) at = p.textAt(at + 1) === '(' ? p.afterGroup(at + 1) : at + 1;
    return typeFollows(p, at) || p.textAt(at) === 'auto' || p.textAt(at) === 'typename';
  }
  if (p.textAt(index) === 'auto' || p.textAt(index) === 'typename') return true;
  if (!p.isName(index) && p.textAt(index) !== '::') return false;
  const name = scanName(p, index, 'type');
  if (name.end < 0) return false;
  const next = textAt(p, name.end);
  const at = name.end >> 2;
  if (p.isName(at) || p.wordAt(at) & Word.qualifier) return true;
  return (next === '*' || next === '&') && (name.bits & Name.type) !== 0 && !name.plain === false;
}

/** An undeclared macro between type and declarator: `void MACRO f(`, `int MACRO(8) x`. */
function atMacroBeforeDeclarator(p: Parser, place: SpecifierPlace): boolean {
  if (!p.atName || place === 'type') return false;
  const next = p.pos + 1;
  if (p.isName(next)) return !p.startsLine(next) || looksLikeMacro(p.tok);
  if (place !== 'namespace' && place !== 'record')
    return (p.wordAt(next) & (Word.qualifier | Word.typeWord)) !== 0 && looksLikeMacro(p.tok);
  if (p.wordAt(next) & (Word.specifier | Word.qualifier | Word.typeWord)) {
    if (isAttributeWord(p.textAt(next))) return false;
    return !p.startsLine(next) || looksLikeMacro(p.tok);
  }
  return (
    p.textAt(next) === '(' &&
    looksLikeMacro(p.tok) &&
    p.isName(p.afterGroup(next)) &&
    p.textAt(p.afterGroup(next) + 1) === '('
  );
}

/** Spelled as macros usually are. */
export function looksLikeMacro(name: string): boolean {
  return /^_*[A-Z][A-Z0-9_]*$/.test(name) || name.startsWith('__');
}

function skipMacro(p: Parser): void {
  p.next();
  if (p.at('(')) p.skipGroup();
}

/** Reads a type-id: specifiers and an abstract declarator. Always returns a type. */
export function parseTypeId(p: Parser): TypeNode {
  const first = p.pos;
  const { type } = parseSpecifiers(p, 'type');
  return type ? parseAbstractDeclarator(p, type) : unknownType(p, first, 'a type was expected here');
}

function tooDeep(p: Parser, first: number): TypeNode {
  p.skipToGroupEnd();
  return unknownType(p, first, 'nested too deeply');
}

/** The type of a conversion operator or of `new`: specifiers with `*` and `&` only. */
export function parseConversionType(p: Parser): TypeNode {
  const first = p.pos;
  const { type } = parseSpecifiers(p, 'type');
  if (!type) return unknownType(p, first, 'a type was expected here');
  return parsePointerOperators(p, type).type;
}

/** A type that consists of one keyword or name, as in `float(x)` or `T{}`. */
export function parseSimpleType(p: Parser): TypeNode {
  const first = p.pos;
  if (p.word & Word.typeWord) {
    const words: string[] = [];
    while (p.word & Word.typeWord) {
      words.push(p.tok);
      p.next();
    }
    const name: BuiltinTypeName | undefined = canonicalBuiltin(words);
    const range = { first, last: p.last, isConst: false, isVolatile: false };
    return name
      ? { kind: 'builtin', name, ...range }
      : { kind: 'unknown', reason: `'${words.join(' ')}' is no type`, ...range };
  }
  if (isDecltype(p.tok)) return parseDecltype(p);
  if (p.at('auto')) {
    p.next();
    return { kind: 'auto', first, last: first, isConst: false, isVolatile: false };
  }
  if (p.eat('typename') && isDecltype(p.tok)) return { ...parseDecltype(p), first };
  return namedType(p, first);
}
