/** Loops, with what `#pragma unroll` in front of them says. */
import type { Expression, ForStatement, RangeForStatement, Statement, VariableDeclaration } from './ast';
import { atDeclaration } from './disambiguate';
import { parseExpression } from './expressions';
import { nameOfToken } from './failures';
import { parseInitializerClause } from './initializers';
import type { Parser } from './parser';
import { unknownStatement } from './simple-statements';
import { expectSemicolon, parseBlockDeclarations, parseCondition, parseSubStatement, withScope } from './statements';
import { unrollAt } from './unroll';

/** `for (…; …; …)` and `for (x : list)`. */
export function parseFor(p: Parser): Statement {
  const first = p.pos;
  const unroll = unrollAt(p, first);
  p.next();
  if (!p.at('(')) return unknownStatement(p, first, `'(' is missing before ${nameOfToken(p)}`);
  return withScope(p, (): ForStatement | RangeForStatement => {
    const header = parseForHeader(p);
    const body = parseSubStatement(p);
    if (header.range) {
      const { variable, range } = header.range;
      return { kind: 'rangeFor', unroll, variable, range, body, first, last: p.last };
    }
    const { initializer, condition, increment } = header;
    return { kind: 'for', unroll, initializer, condition, increment, body, first, last: p.last };
  });
}

interface ForHeader {
  readonly range?: { readonly variable: VariableDeclaration; readonly range: Expression };
  readonly initializer?: Statement;
  readonly condition?: Expression | VariableDeclaration;
  readonly increment?: Expression;
}

function parseForHeader(p: Parser): ForHeader {
  const group = p.enter();
  const header = parseForParts(p);
  p.leave(group);
  return header;
}

function parseForParts(p: Parser): ForHeader {
  let initializer = parseInitializer(p);
  let variable = rangeVariable(p, initializer);
  if (p.at(';')) p.next();
  // C++20: `for (init; x : list)`
  if (!variable && atDeclaration(p)) {
    const second = parseInitializer(p);
    variable = rangeVariable(p, second);
    if (!variable) {
      const declared = second?.kind === 'declaration' ? second.declarations[0] : undefined;
      const condition = declared?.kind === 'variable' ? declared : undefined;
      return { initializer, condition, increment: parseIncrement(p) };
    }
    if (initializer?.kind === 'empty') initializer = undefined;
  }
  if (variable) {
    p.next();
    return { range: { variable, range: parseInitializerClause(p) } };
  }
  const condition = p.at(';') || p.atEnd ? undefined : parseExpression(p);
  return { initializer, condition, increment: parseIncrement(p) };
}

function parseIncrement(p: Parser): Expression | undefined {
  if (p.atEnd) {
    p.report(p.last, p.last, "the loop's header is not finished");
    return undefined;
  }
  if (!p.eat(';')) return undefined;
  return p.atEnd ? undefined : parseExpression(p);
}

function parseInitializer(p: Parser): Statement | undefined {
  const first = p.pos;
  if (p.at(';')) return undefined;
  if (!atDeclaration(p)) {
    const expression = parseExpression(p);
    return { kind: 'expression', expression, first, last: Math.max(first, p.last) };
  }
  const declarations = parseBlockDeclarations(p);
  return { kind: 'declaration', declarations, first, last: Math.max(first, p.last) };
}

function rangeVariable(p: Parser, initializer: Statement | undefined): VariableDeclaration | undefined {
  if (!p.at(':') || initializer?.kind !== 'declaration') return undefined;
  const declaration = initializer.declarations[0];
  return declaration?.kind === 'variable' ? declaration : undefined;
}

export function parseWhile(p: Parser): Statement {
  const first = p.pos;
  const unroll = unrollAt(p, first);
  p.next();
  return withScope(p, () => {
    const { condition } = parseCondition(p);
    const body = parseSubStatement(p);
    return { kind: 'while' as const, unroll, condition, body, first, last: p.last };
  });
}

export function parseDo(p: Parser): Statement {
  const first = p.pos;
  const unroll = unrollAt(p, first);
  p.next();
  const body = withScope(p, () => parseSubStatement(p));
  if (!p.eat('while') || !p.at('(')) return unknownStatement(p, first, "the 'while' of this 'do' is missing");
  const group = p.enter();
  const condition = parseExpression(p);
  p.leave(group);
  expectSemicolon(p);
  return { kind: 'do', unroll, body, condition, first, last: p.last };
}
