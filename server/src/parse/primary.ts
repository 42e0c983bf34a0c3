/** Operands: literals, names, parentheses, casts by keyword, lambdas. */
import { TokenKind } from '../preprocess/token';
import type { CastExpression, Expression, QualifiedName, StringLiteral, TypeNode } from './ast';
import { parseRequiresExpression } from './constraints';
import { parseExpression, parseUnary } from './expressions';
import { nameOfToken, unknownExpression } from './failures';
import { parseCallArguments, parseInitList } from './initializers';
import { parseLambda } from './lambdas';
import { type NumberLiteral, readCharacter, readString } from './literals';
import { Name } from './names';
import { parseNew } from './new';
import type { Parser } from './parser';
import { parseQualifiedName } from './qualified-names';
import { closesAngles, scanTypeSpecifier, textAt } from './scan';
import { parseOffsetof, parseSizeof } from './sizeof';
import { parseCompound } from './statements';
import { parseSimpleType, parseTypeId } from './types';
import { operatorSymbols, Word } from './words';

/** An operand without postfix operators. What is none becomes an unknown node and uses no token. */
export function parsePrimary(p: Parser): Expression {
  switch (p.kindAt(p.pos)) {
    case TokenKind.number:
      return parseNumber(p);
    case TokenKind.string:
      return parseStrings(p);
    case TokenKind.character:
      return parseCharacter(p);
    case TokenKind.identifier:
      return p.atName ? parseName(p) : parseKeyword(p);
    case TokenKind.punctuator:
      return parsePunctuator(p);
    default:
      return unknownExpression(p, p.pos, `an expression was expected before ${nameOfToken(p)}`);
  }
}

function parseNumber(p: Parser): Expression {
  const first = p.pos;
  const literal = p.numberAt(first);
  p.next();
  if (!literal) return unknownExpression(p, first, `'${p.text[first]}' is no number`);
  const suffix = ownSuffix.exec(p.text[first]);
  if (suffix) return callOfSuffix(literal, suffix[0], first);
  if (literal.kind === 'integer')
    return { kind: 'integer', value: literal.value, type: literal.type, first, last: first };
  return { kind: 'float', value: literal.value, type: literal.type, first, last: first };
}

/** The user's, and those of durations. */
const ownSuffix = /_[A-Za-z]\w*$|(?<=^[\d'.]+)(?:ms|us|ns|min|s|h)$/;

/** `48_KiB`: what the user's `operator""_KiB` makes of the number. */
function callOfSuffix(literal: NumberLiteral, suffix: string, at: number): Expression {
  const range = { first: at, last: at };
  const name: QualifiedName = { ...range, global: false, parts: [{ name: `operator""${suffix}` }] };
  const given: Expression =
    literal.kind === 'integer'
      ? { kind: 'integer', value: literal.value, type: 'unsigned long long', ...range }
      : { kind: 'float', value: literal.value, type: 'long double', ...range };
  return { kind: 'call', callee: { kind: 'name', name, ...range }, arguments: [given], ...range };
}

function parseCharacter(p: Parser): Expression {
  const first = p.pos;
  const { value, type } = readCharacter(p.tok);
  p.next();
  return { kind: 'integer', value, type, first, last: first };
}

/** Adjacent string literals; names between them are macros of headers that were not read, and add nothing. */
function parseStrings(p: Parser): Expression {
  const first = p.pos;
  let value = '';
  let suffix = '';
  for (;;) {
    if (p.kindAt(p.pos) === TokenKind.string) {
      value += readString(p.tok);
      suffix = /"(sv?)$/.exec(p.tok)?.[1] ?? suffix;
    } else if (!p.atName) break;
    p.next();
  }
  const literal: StringLiteral = { kind: 'string', value, first, last: p.last };
  return suffix ? objectOfText(literal, suffix) : literal;
}

/** `"abc"s`: what the library's `operator""s` makes of the characters. */
function objectOfText(text: StringLiteral, suffix: string): Expression {
  const range = { first: text.first, last: text.last };
  const name: QualifiedName = { ...range, global: false, parts: [{ name: `operator""${suffix}` }] };
  const length: Expression = { kind: 'integer', value: BigInt(text.value.length), type: 'unsigned long', ...range };
  return { kind: 'call', callee: { kind: 'name', name, ...range }, arguments: [text, length], ...range };
}

/** What may make more of an identifier than a plain name. */
const nameGoesOn = new Set(['::', '<', '(', '{']);

function parseName(p: Parser): Expression {
  const first = p.pos;
  if (p.kindAt(p.pos + 1) === TokenKind.string && p.lookup(p.tok) === undefined) return parseStrings(p);
  if (p.atName && !nameGoesOn.has(p.peek(1))) {
    // the most frequent operand by far
    const name: QualifiedName = { first, last: first, global: false, parts: p.plainParts(p.tok) };
    p.next();
    return { kind: 'name', name, first, last: first };
  }
  if ((p.at('offsetof') || p.at('__builtin_offsetof')) && p.peek(1) === '(' && p.lookup(p.tok) === undefined)
    return parseOffsetof(p);
  const { name, bits } = parseQualifiedName(p, 'expression');
  const asType = (bits & (Name.type | Name.value)) === Name.type;
  if (p.at('(') && asType) {
    const type = namedTypeOf(name);
    return { kind: 'cast', form: 'functional', type, arguments: parseCallArguments(p), first, last: p.last };
  }
  if (p.at('{') && (bits & Name.value) === 0 && p.split === 0) {
    const type = namedTypeOf(name);
    return { kind: 'cast', form: 'braced', type, arguments: [parseInitList(p)], first, last: p.last };
  }
  return { kind: 'name', name, first, last: p.last };
}

function namedTypeOf(name: Extract<TypeNode, { kind: 'named' }>['name']): TypeNode {
  return { kind: 'named', name, first: name.first, last: name.last, isConst: false, isVolatile: false };
}

function parsePunctuator(p: Parser): Expression {
  const first = p.pos;
  switch (p.tok) {
    case '(':
      return parseParenthesised(p);
    case '[':
      return parseLambda(p);
    case '{':
      return parseInitList(p);
    case '::':
      if (p.isName(p.pos + 1) || p.peek(1) === 'operator') return parseName(p);
      if (p.peek(1) === 'new' || p.peek(1) === 'delete') {
        p.next();
        return parseUnary(p);
      }
      break;
    default:
      break;
  }
  return unknownExpression(p, first, `an expression was expected before ${nameOfToken(p)}`);
}

/** `(expression)`, a fold, or a GNU statement expression. */
function parseParenthesised(p: Parser): Expression {
  const first = p.pos;
  const group = p.enter();
  if (p.at('{')) {
    const body = parseCompound(p);
    p.leave(group);
    return { kind: 'block', body, first, last: p.last };
  }
  if (p.at('...')) return parseLeftFold(p, first, group);
  const inner = parseExpression(p);
  p.leave(group);
  // the range of an operand in parentheses includes them; the node is not shared yet
  const range: { first: number; last: number } = inner;
  range.first = first;
  range.last = p.last;
  return inner;
}

function parseLeftFold(p: Parser, first: number, group: ReturnType<Parser['enter']>): Expression {
  p.next();
  const operator = operatorSymbols.get(p.tok) ?? p.tok;
  p.next();
  const pack = parseUnary(p);
  p.leave(group);
  return { kind: 'fold', operator, pack, left: true, first, last: p.last };
}

const castForms: ReadonlyMap<string, CastExpression['form']> = new Map([
  ['static_cast', 'static'],
  ['reinterpret_cast', 'reinterpret'],
  ['const_cast', 'const'],
  ['dynamic_cast', 'dynamic'],
]);

const constants: ReadonlyMap<string, { readonly value: bigint; readonly type: 'bool' | 'nullptr' }> = new Map([
  ['true', { value: 1n, type: 'bool' }],
  ['false', { value: 0n, type: 'bool' }],
  ['nullptr', { value: 0n, type: 'nullptr' }],
]);

function parseKeyword(p: Parser): Expression {
  const first = p.pos;
  const constant = constants.get(p.tok);
  if (constant) {
    p.next();
    return { kind: 'integer', ...constant, first, last: first };
  }
  const form = castForms.get(p.tok);
  if (form) return parseKeywordCast(p, form);
  if (p.word & Word.typeWord) return parseTypeCall(p);
  switch (p.tok) {
    case 'this':
      p.next();
      return { kind: 'this', first, last: first };
    case 'typeid':
      return parseSizeof(p);
    case 'new':
      return parseNew(p);
    case 'operator':
      return parseName(p);
    case 'auto':
    case 'decltype':
    case '__decltype':
    case '__typeof__':
    case '__typeof':
    case 'typeof':
      return parseTypeCall(p);
    case 'typename':
      return parseTypenameCall(p);
    case 'requires':
      return parseRequiresExpression(p);
    case '__extension__':
      p.next();
      return parseUnary(p);
    default:
      return unknownExpression(p, first, `an expression was expected before ${nameOfToken(p)}`);
  }
}

/** `static_cast<T>(e)`. */
function parseKeywordCast(p: Parser, form: CastExpression['form']): Expression {
  const first = p.pos;
  p.next();
  if (!p.at('<')) return unknownExpression(p, first, `'<' should follow '${p.text[first]}'`);
  const outer = p.inAngles;
  p.inAngles = true;
  p.next();
  const type = parseTypeId(p);
  p.inAngles = outer;
  if (!closesAngles(p.tok)) return unknownExpression(p, first, "the cast's type was not understood");
  p.splitToken(1);
  if (!p.at('(')) return unknownExpression(p, first, "the cast's operand is missing");
  const list = parseCallArguments(p);
  return { kind: 'cast', form, type, arguments: list, first, last: p.last };
}

/** `float(x)`, `int{}`, `decltype(a)(b)`, `decltype(a)::value`. */
function parseTypeCall(p: Parser): Expression {
  const first = p.pos;
  const type = parseSimpleType(p);
  return castTo(p, type, first);
}

function parseTypenameCall(p: Parser): Expression {
  const first = p.pos;
  const { end } = scanTypeSpecifier(p, p.pos);
  const after = end < 0 ? '' : textAt(p, end);
  if (after !== '(' && after !== '{') return unknownExpression(p, first, 'a type stands here instead of an expression');
  return castTo(p, parseSimpleType(p), first);
}

function castTo(p: Parser, type: TypeNode, first: number): Expression {
  if (p.at('(')) {
    const list = parseCallArguments(p);
    return { kind: 'cast', form: 'functional', type, arguments: list, first, last: p.last };
  }
  if (p.at('{')) {
    const list = parseInitList(p);
    return { kind: 'cast', form: 'braced', type, arguments: [list], first, last: p.last };
  }
  // decltype(x)::value
  if (type.kind === 'named' && type.name.scopeOf) return { kind: 'name', name: type.name, first, last: p.last };
  return unknownExpression(p, first, `a type stands here instead of an expression, before ${nameOfToken(p)}`);
}
