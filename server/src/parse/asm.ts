/** Inline assembly. */
import { TokenKind } from '../preprocess/token';
import type { AsmOperand, AsmStatement, Statement } from './ast';
import { parseExpression } from './expressions';
import { nameOfToken } from './failures';
import { readString } from './literals';
import type { Parser } from './parser';
import { unknownStatement } from './simple-statements';
import { expectSemicolon } from './statements';

/** `asm volatile ("…" : outputs : inputs : clobbers);` */
export function parseAsm(p: Parser): Statement {
  const first = p.pos;
  let isVolatile = false;
  p.next();
  while (/^(?:volatile|__volatile__|__volatile|goto|inline|__inline__)$/.test(p.tok)) {
    if (p.tok.includes('volatile')) isVolatile = true;
    p.next();
  }
  if (!p.at('(')) return unknownStatement(p, first, `'(' is missing before ${nameOfToken(p)}`);
  const group = p.enter();
  const template = parseText(p);
  const sections = new Sections(p);
  const outputs = sections.read(parseOperands);
  const inputs = sections.read(parseOperands);
  const clobbers = sections.read(parseClobbers);
  sections.read(skipLabels);
  p.leave(group);
  expectSemicolon(p);
  const statement: AsmStatement = { kind: 'asm', isVolatile, template, outputs, inputs, clobbers, first, last: p.last };
  return statement;
}

/** The parts between colons; `::` is one token and two colons. */
class Sections {
  private pending = 0;

  constructor(private readonly p: Parser) {}

  /** The next section's items; none if it is missing or between the colons of a `::`. */
  read<T>(items: (p: Parser) => T[]): T[] {
    if (this.pending > 0) this.pending--;
    else if (this.p.at(':') || this.p.at('::')) {
      this.pending = this.p.tok.length - 1;
      this.p.next();
    } else return [];
    return this.pending > 0 ? [] : items(this.p);
  }
}

/** String literals, also with macros of unread headers between them. */
function parseText(p: Parser): string {
  let text = '';
  for (;;) {
    if (p.kindAt(p.pos) === TokenKind.string) text += readString(p.tok);
    else if (!p.atName) return text;
    p.next();
    if (p.at('(') && p.isName(p.pos - 1)) p.skipGroup();
  }
}

/** `[name] "=r"(x), "r"(y)`. An empty section stays empty. */
function parseOperands(p: Parser): AsmOperand[] {
  const operands: AsmOperand[] = [];
  while (p.at('[') || p.kindAt(p.pos) === TokenKind.string || p.atName) {
    if (p.at('[')) p.skipGroup();
    const constraint = parseConstraint(p);
    if (!p.at('(')) break;
    const group = p.enter();
    operands.push({ constraint, expression: parseExpression(p) });
    p.leave(group);
    // nvcc takes operands without a comma between them as well
    p.eat(',');
  }
  return operands;
}

/** The labels of `asm goto`. */
function skipLabels(p: Parser): never[] {
  p.jump(p.limit);
  return [];
}

function parseConstraint(p: Parser): string {
  let text = '';
  while (p.kindAt(p.pos) === TokenKind.string || p.atName) {
    if (!p.atName) text += readString(p.tok);
    p.next();
  }
  return text;
}

function parseClobbers(p: Parser): string[] {
  const clobbers: string[] = [];
  while (p.kindAt(p.pos) === TokenKind.string) {
    clobbers.push(parseText(p));
    if (!p.eat(',')) break;
  }
  return clobbers;
}
