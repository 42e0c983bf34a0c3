/** Expressions: operators by precedence. Long chains are loops, so that only nesting uses the stack. */
import type { Expression } from './ast';
import { castTypeAhead } from './casts';
import { nameOfToken, unknownExpression } from './failures';
import { containsPack } from './folds';
import { parseInitializerClause } from './initializers';
import { closesLaunch } from './launch-token';
import { maxChain, type Parser } from './parser';
import { parsePostfix } from './postfix';
import { closesAngles } from './scan';
import { parseSizeof } from './sizeof';
import { parseTypeId } from './types';
import { operatorSymbols, PRECEDENCE, Word } from './words';

/** An expression with commas. */
export function parseExpression(p: Parser): Expression {
  let left = parseAssignment(p);
  for (let count = 0; p.at(','); count++) {
    if (count > maxChain) return abandonChain(p, left.first);
    p.next();
    if (p.at('...')) {
      left = parseFoldRest(p, left, ',');
      continue;
    }
    const right = parseAssignment(p);
    left = { kind: 'binary', operator: ',', left, right, first: left.first, last: right.last };
  }
  return left;
}

/** An expression without commas: assignments and conditionals group from the right. */
export function parseAssignment(p: Parser): Expression {
  if (!p.enterLevel()) {
    p.leaveLevel();
    return tooDeep(p);
  }
  let left = parseBinary(p, 1);
  if (p.at('?')) left = parseConditional(p, left);
  if (p.word & Word.assign) {
    const operator = operatorSymbols.get(p.tok) ?? p.tok;
    p.next();
    const right = p.at('...') ? undefined : parseInitializerClause(p);
    left = right
      ? { kind: 'assign', operator, left, right, first: left.first, last: right.last }
      : parseFoldRest(p, left, operator);
  }
  p.leaveLevel();
  return left;
}

function parseConditional(p: Parser, condition: Expression): Expression {
  const outer = p.inAngles;
  p.next();
  p.inAngles = false;
  // GNU: `a ?: b`
  const then = p.at(':') ? condition : parseExpression(p);
  p.inAngles = outer;
  if (!p.eat(':')) return unknownExpression(p, condition.first, `':' of a '?' is missing before ${nameOfToken(p)}`);
  const otherwise = parseAssignment(p);
  return { kind: 'conditional', condition, then, else: otherwise, first: condition.first, last: otherwise.last };
}

/** Binary operators of at least the given precedence. */
export function parseBinary(p: Parser, least: number): Expression {
  return parseBinaryRest(p, parseUnary(p), least);
}

function parseBinaryRest(p: Parser, start: Expression, least: number): Expression {
  let left = start;
  for (let count = 0; ; count++) {
    const precedence = p.classes[p.pos] & PRECEDENCE;
    if (precedence === 0 || precedence < least || p.split > 0 || p.atEnd) return left;
    if (closesAngles(p.tok) && (p.inAngles || closesLaunch(p.text, p.pos))) return left;
    if (count > maxChain) return abandonChain(p, left.first);
    const spelling = p.tok;
    const operator = precedence && spelling > 'Z' ? (operatorSymbols.get(spelling) ?? spelling) : spelling;
    p.next();
    if (p.at('...')) {
      left = parseFoldRest(p, left, operator);
      continue;
    }
    let right = parseUnary(p);
    const following = p.classes[p.pos] & PRECEDENCE;
    if (following > precedence) right = parseBinaryRest(p, right, precedence + 1);
    left = { kind: 'binary', operator, left, right, first: left.first, last: right.last };
  }
}

/** Behind `left op`, at the `...` of a fold expression. */
function parseFoldRest(p: Parser, left: Expression, operator: string): Expression {
  p.next();
  if (!p.atEnd && (operatorSymbols.get(p.tok) ?? p.tok) === operator) {
    p.next();
    const right = parseUnary(p);
    const packOnTheLeft = containsPack(p, left);
    const pack = packOnTheLeft ? left : right;
    const initial = packOnTheLeft ? right : left;
    return { kind: 'fold', operator, pack, initial, left: !packOnTheLeft, first: left.first, last: right.last };
  }
  return { kind: 'fold', operator, pack: left, left: false, first: left.first, last: p.last };
}

/** Thousands of operators in one expression: the tree would be too deep for whoever walks it. */
function abandonChain(p: Parser, first: number): Expression {
  while (!p.atEnd && !p.at(';')) {
    if (p.at('(') || p.at('[') || p.at('{')) p.skipGroup();
    else p.next();
  }
  return unknownExpression(p, first, `an expression of more than ${maxChain} operators`);
}

function tooDeep(p: Parser): Expression {
  const first = p.pos;
  p.skipToGroupEnd();
  return unknownExpression(p, first, 'nested too deeply');
}

type PrefixOperator = '+' | '-' | '!' | '~' | '*' | '&' | '++' | '--';
const prefixOperators: ReadonlyMap<string, PrefixOperator> = new Map<string, PrefixOperator>([
  ['+', '+'],
  ['-', '-'],
  ['!', '!'],
  ['~', '~'],
  ['*', '*'],
  ['&', '&'],
  ['++', '++'],
  ['--', '--'],
  ['not', '!'],
  ['compl', '~'],
  ['bitand', '&'],
]);

/** An operand with its prefix operators and casts. */
export function parseUnary(p: Parser): Expression {
  // the two usual beginnings first
  if (p.atName) return parsePostfix(p);
  const operator = prefixOperators.get(p.tok);
  if (operator === undefined && !p.at('(') && !(p.word & Word.keyword)) return parsePostfix(p);
  if (!p.enterLevel()) {
    p.leaveLevel();
    return tooDeep(p);
  }
  const result = operator ? parsePrefixed(p, operator) : p.at('(') ? parseCastOrPostfix(p) : parseKeywordOperand(p);
  p.leaveLevel();
  return result;
}

function parsePrefixed(p: Parser, operator: PrefixOperator): Expression {
  const first = p.pos;
  p.next();
  const operand = parseUnary(p);
  return { kind: 'unary', operator, operand, first, last: Math.max(first, operand.last) };
}

function parseCastOrPostfix(p: Parser): Expression {
  if (!castTypeAhead(p)) return parsePostfix(p);
  const first = p.pos;
  const group = p.enter();
  const type = parseTypeId(p);
  p.leave(group);
  const operand = p.at('{') ? parseInitializerClause(p) : parseUnary(p);
  return { kind: 'cast', form: 'c', type, arguments: [operand], first, last: operand.last };
}

function parseKeywordOperand(p: Parser): Expression {
  const first = p.pos;
  switch (p.tok) {
    case 'sizeof':
    case 'alignof':
    case '_Alignof':
    case '__alignof__':
      return parseSizeof(p);
    case 'noexcept': {
      p.next();
      const operand = parseUnary(p);
      return { kind: 'unary', operator: 'noexcept', operand, first, last: operand.last };
    }
    case 'delete': {
      p.next();
      if (p.at('[') && p.peek(1) === ']') p.skipGroup();
      const operand = parseUnary(p);
      return { kind: 'unary', operator: 'delete', operand, first, last: operand.last };
    }
    case 'throw': {
      p.next();
      const isAlone = p.atEnd || p.at(';') || p.at(':') || p.at(',');
      const operand = isAlone ? undefined : parseAssignment(p);
      return { kind: 'throw', operand, first, last: p.last };
    }
    case 'co_await':
    case '__extension__':
      p.next();
      return parseUnary(p);
    default:
      return parsePostfix(p);
  }
}
