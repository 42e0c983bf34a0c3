/** Expression statements, and macros of unread headers that stand where statements do. */
import type { Statement, UnknownStatement } from './ast';
import { parseExpression } from './expressions';
import { nameOfToken } from './failures';
import type { Parser } from './parser';
import { skipStatement } from './recovery';
import { Word } from './words';

/** An unknown statement from `first` up to where the parser stands; counted as damage and noted. */
export function unknownStatement(p: Parser, first: number, reason: string): UnknownStatement {
  const last = Math.max(first, p.last);
  p.report(first, last, reason);
  return { kind: 'unknownStatement', reason, first, last };
}

/** An expression with its `;`. */
export function parseSimpleStatement(p: Parser): Statement {
  const first = p.pos;
  const macro = p.atName ? parseMacroStatement(p) : undefined;
  if (macro) return macro;
  const damage = p.damage;
  const expression = parseExpression(p);
  if (p.eat(';')) return { kind: 'expression', expression, first, last: Math.max(first, p.last) };
  const reads = p.damage === damage && p.pos > first;
  if (reads && (p.atEnd || p.startsLine(p.pos))) {
    p.report(p.last, p.last, `';' is missing before ${nameOfToken(p)}`);
    return { kind: 'expression', expression, first, last: Math.max(first, p.last) };
  }
  const found = nameOfToken(p);
  skipStatement(p, p.pos === first ? first : p.pos);
  return unknownStatement(p, first, `${found} was not expected in this statement`);
}

const statementBits = Word.statement | Word.typeWord | Word.specifier | Word.qualifier;

/**
 * An undeclared macro used as a statement without `;` (`SYNC`, `CHECK(x)`), in front of one (`UNROLL for …`), or as the head of a
 * block (`LOOP(i, n) { … }`). undefined if the statement is an ordinary one.
 */
function parseMacroStatement(p: Parser): Statement | undefined {
  const first = p.pos;
  const name = p.tok;
  const hasArguments = p.peek(1) === '(';
  const after = hasArguments ? p.afterGroup(first + 1) : first + 1;
  const next = p.textAt(after);
  if (next === ';' || p.lookup(name)) return undefined;
  if (next === '{') {
    p.next();
    if (hasArguments) p.skipGroup();
    return unknownStatement(p, first, `'${name}' is declared nowhere that could be read: a macro in front of a block`);
  }
  const beforeStatement = (p.wordAt(after) & statementBits) !== 0;
  const endsLine = next === '' || (after < p.limit && p.startsLine(after) && beginsStatement(p, after));
  if (!beforeStatement && !endsLine) return undefined;
  if (!hasArguments && next === '') return undefined;
  if (hasArguments) {
    const expression = parseExpression(p);
    return { kind: 'expression', expression, first, last: Math.max(first, p.last) };
  }
  p.next();
  return { kind: 'empty', first, last: first };
}

/** Whether the token at a line's start begins a statement rather than going on with the last one. */
function beginsStatement(p: Parser, index: number): boolean {
  if (p.isName(index)) return true;
  const text = p.textAt(index);
  return (
    text === '}' ||
    text === '{' ||
    text === '*' ||
    text === '++' ||
    text === '--' ||
    (p.wordAt(index) & Word.keyword) !== 0
  );
}
