/** Statements. */

import { parseAsm } from './asm';
import type {
  CompoundStatement,
  Declaration,
  Expression,
  Handler,
  IfStatement,
  Statement,
  SwitchStatement,
  VariableDeclaration,
} from './ast';
import { parseDeclaration } from './declarations';
import { atDeclaration } from './disambiguate';
import { parseExpression } from './expressions';
import { nameOfToken } from './failures';
import { parseInitializerClause } from './initializers';
import { parseDo, parseFor, parseWhile } from './loops';
import { Scope } from './names';
import { declareParameters, parseParameters } from './parameters';
import { maxChain, type Parser } from './parser';
import { parseDeferredBodies } from './records';
import { skipStatement } from './recovery';
import { parseSimpleStatement, unknownStatement } from './simple-statements';
import { SpecifierSet, skipAttributes } from './specifiers';

/** `{ … }` with a scope of its own. */
export function parseCompound(p: Parser): CompoundStatement {
  const first = p.pos;
  const outer = p.scope;
  p.scope = new Scope(outer, 'block');
  const body: Statement[] = [];
  const deep = !p.enterLevel();
  const group = p.enter();
  if (deep) {
    p.jump(p.limit);
    body.push(unknownStatement(p, first + 1, 'nested too deeply'));
  }
  while (!p.atEnd) {
    const before = p.pos;
    body.push(parseStatement(p));
    if (p.pos === before) {
      p.next();
      body[body.length - 1] = unknownStatement(p, before, `'${p.text[before]}' begins no statement`);
    }
  }
  p.leave(group);
  p.leaveLevel();
  p.scope = outer;
  return { kind: 'compound', body, first, last: p.last };
}

const statementParsers: ReadonlyMap<string, (p: Parser) => Statement> = new Map<string, (p: Parser) => Statement>([
  ['{', parseCompound],
  [';', parseEmpty],
  ['if', parseIf],
  ['for', parseFor],
  ['while', parseWhile],
  ['do', parseDo],
  ['switch', parseSwitch],
  ['case', parseCase],
  ['default', parseCase],
  ['break', parseJump],
  ['continue', parseJump],
  ['return', parseReturn],
  ['co_return', parseReturn],
  ['goto', parseGoto],
  ['asm', parseAsm],
  ['__asm__', parseAsm],
  ['__asm', parseAsm],
  ['try', parseTry],
  ['else', parseStrayElse],
]);

/** One statement. A label counts as a statement of its own; the one it labels follows. */
export function parseStatement(p: Parser): Statement {
  if (!p.enterLevel()) {
    p.leaveLevel();
    const first = p.pos;
    p.jump(p.limit);
    return unknownStatement(p, first, 'nested too deeply');
  }
  const result = dispatch(p);
  p.leaveLevel();
  return result;
}

function dispatch(p: Parser): Statement {
  if (p.atName) {
    if (p.peek(1) === ':' && p.peek(2) !== ':') return parseLabel(p);
  } else {
    if (p.at('[') || p.at('__attribute__')) skipAttributes(p, new SpecifierSet());
    const parser = statementParsers.get(p.tok);
    if (parser) return parser(p);
    if (p.at('#')) return parseExpandedPragma(p);
  }
  return atDeclaration(p) ? parseDeclarationStatement(p) : parseSimpleStatement(p);
}

/** A statement where the grammar wants one: labels in front of it are joined with it to a block. */
export function parseSubStatement(p: Parser): Statement {
  const first = p.pos;
  if (p.atEnd) return unknownStatement(p, first, 'a statement is missing here');
  const body: Statement[] = [];
  for (;;) {
    const statement = parseStatement(p);
    body.push(statement);
    if ((statement.kind !== 'label' && statement.kind !== 'case') || p.atEnd) break;
  }
  return body.length === 1 ? body[0] : { kind: 'compound', body, first, last: p.last };
}

/** `#pragma unroll` out of a macro: no directive to the standard, but nvcc takes it. It ends with the macro's line. */
function parseExpandedPragma(p: Parser): Statement {
  const first = p.pos;
  p.next();
  const words: string[] = [];
  while (!p.atEnd && !p.startsLine(p.pos) && !p.at('for') && !p.at('while') && !p.at('do')) {
    words.push(p.tok);
    p.next();
  }
  if (words[0] === 'pragma') p.pragmas.set(p.pos, words.slice(1).join(' '));
  else p.report(first, Math.max(first, p.last), "'#' begins no statement");
  return { kind: 'empty', first, last: Math.max(first, p.last) };
}

function parseEmpty(p: Parser): Statement {
  p.next();
  return { kind: 'empty', first: p.last, last: p.last };
}

/** Runs a statement's parser in a scope of its own, for what its header declares. */
export function withScope<T>(p: Parser, body: () => T): T {
  return p.within(new Scope(p.scope, 'block'), body);
}

/** Declarations with their `;`. */
export function parseDeclarationStatement(p: Parser): Statement {
  const first = p.pos;
  const declarations = parseBlockDeclarations(p);
  const last = declarations.at(-1);
  // functions, aliases and the like take their `;` themselves
  if (p.eat(';') || last?.kind !== 'variable' || p.text[p.last] === ';') {
    return { kind: 'declaration', declarations, first, last: Math.max(first, p.last) };
  }
  if (p.atEnd || p.startsLine(p.pos)) {
    p.report(p.last, p.last, "';' is missing behind this declaration");
    return { kind: 'declaration', declarations, first, last: Math.max(first, p.last) };
  }
  const found = nameOfToken(p);
  skipStatement(p, p.pos);
  return unknownStatement(p, first, `${found} was not expected in this declaration`);
}

/** Declarations of one statement; for variables the `;` is left. */
export function parseBlockDeclarations(p: Parser): Declaration[] {
  const declarations: Declaration[] = [];
  parseDeclaration(p, 'block', declarations);
  parseDeferredBodies(p);
  return declarations;
}

/** `(init; condition)` or `(T x = e)` of if, switch and while. */
export function parseCondition(p: Parser): { initializer?: Statement; condition: Expression | VariableDeclaration } {
  const open = p.pos;
  if (!p.at('(')) {
    p.report(open, open, `'(' is missing before ${nameOfToken(p)}`);
    return { condition: { kind: 'unknown', reason: 'the condition is missing', first: open, last: open } };
  }
  const group = p.enter();
  let initializer: Statement | undefined;
  let part = parseConditionPart(p);
  if (p.at(';')) {
    initializer = asStatement(p, part, open + 1);
    p.next();
    part = parseConditionPart(p);
  }
  p.leave(group);
  const condition = Array.isArray(part) ? part[0] : part;
  return { initializer, condition: conditionOf(p, condition, open) };
}

function parseConditionPart(p: Parser): Expression | Declaration[] | undefined {
  if (p.at(';')) return undefined;
  if (!atDeclaration(p)) return parseExpression(p);
  return parseBlockDeclarations(p);
}

function asStatement(p: Parser, part: Expression | Declaration[] | undefined, first: number): Statement {
  if (part === undefined) return { kind: 'empty', first, last: first };
  if (Array.isArray(part)) return { kind: 'declaration', declarations: part, first, last: Math.max(first, p.last) };
  return { kind: 'expression', expression: part, first, last: Math.max(first, p.last) };
}

function conditionOf(
  p: Parser,
  part: Expression | Declaration | undefined,
  open: number,
): Expression | VariableDeclaration {
  if (part?.kind === 'variable') return part;
  if (part && !isDeclaration(part)) return part;
  p.report(open, open, 'the condition is missing');
  return { kind: 'unknown', reason: 'the condition is missing', first: open, last: open };
}

const declarationKinds = new Set(
  'function record enum alias namespace using staticAssert instantiation unknownDeclaration variable'.split(' '),
);

function isDeclaration(node: Expression | Declaration): node is Declaration {
  return declarationKinds.has(node.kind);
}

interface IfHead {
  readonly first: number;
  readonly isConstexpr: boolean;
  readonly initializer?: Statement;
  readonly condition: Expression | VariableDeclaration;
  readonly then: Statement;
}

/** A chain of else-ifs is read by a loop: it may be long. */
function parseIf(p: Parser): Statement {
  const outer = p.scope;
  const heads: IfHead[] = [];
  let otherwise: Statement | undefined;
  for (;;) {
    heads.push(parseIfHead(p));
    if (!p.eat('else')) break;
    if (!p.at('if')) {
      otherwise = parseSubStatement(p);
      break;
    }
    if (heads.length >= maxChain) {
      const { pos } = p;
      p.jump(p.limit);
      otherwise = unknownStatement(p, pos, `more than ${maxChain} conditions in one chain`);
      break;
    }
  }
  p.scope = outer;
  const { last } = p;
  for (const head of heads.reverse()) {
    const statement: IfStatement = { kind: 'if', ...head, else: otherwise, last };
    otherwise = statement;
  }
  return otherwise ?? { kind: 'empty', first: last, last };
}

function parseIfHead(p: Parser): IfHead {
  const first = p.pos;
  p.next();
  const outer = p.scope;
  p.scope = new Scope(outer, 'block');
  const isConstexpr = p.eat('constexpr');
  if (p.at('!') && p.peek(1) === 'consteval') p.next();
  if (p.at('consteval')) {
    p.report(first, p.pos, "'if consteval' is not followed");
    p.next();
    const condition: Expression = { kind: 'unknown', reason: "'if consteval' is not followed", first, last: p.last };
    const then = parseSubStatement(p);
    return { first, isConstexpr: true, condition, then };
  }
  const { initializer, condition } = parseCondition(p);
  // what the header declares is known in the else branches too; else nothing has to be kept for them
  if (p.scope.isEmpty) p.scope = outer;
  skipAttributes(p, new SpecifierSet());
  const then = withScope(p, () => parseSubStatement(p));
  return { first, isConstexpr, initializer, condition, then };
}

function parseStrayElse(p: Parser): Statement {
  const first = p.pos;
  p.next();
  parseSubStatement(p);
  return unknownStatement(p, first, "this 'else' follows no 'if'");
}

function parseSwitch(p: Parser): Statement {
  const first = p.pos;
  p.next();
  return withScope(p, (): SwitchStatement => {
    const { initializer, condition } = parseCondition(p);
    const body = parseSubStatement(p);
    return { kind: 'switch', initializer, condition, body, first, last: p.last };
  });
}

function parseCase(p: Parser): Statement {
  const first = p.pos;
  const isDefault = p.at('default');
  p.next();
  const value = isDefault ? undefined : parseExpression(p);
  const to = !isDefault && p.eat('...') ? parseExpression(p) : undefined;
  if (!p.eat(':')) p.report(first, p.last, `':' is missing before ${nameOfToken(p)}`);
  return { kind: 'case', value, to, first, last: p.last };
}

function parseLabel(p: Parser): Statement {
  const first = p.pos;
  const label = p.tok;
  p.next();
  p.next();
  return { kind: 'label', label, first, last: p.last };
}

/** Expects a `;`. At a line's end it is only missed; in a line, what is left of the statement is skipped. */
export function expectSemicolon(p: Parser): void {
  if (p.eat(';')) return;
  p.report(p.last, p.last, `';' is missing before ${nameOfToken(p)}`);
  if (!p.atEnd && !p.startsLine(p.pos)) skipStatement(p, p.pos);
}

function parseJump(p: Parser): Statement {
  const first = p.pos;
  const kind = p.at('break') ? 'break' : 'continue';
  p.next();
  expectSemicolon(p);
  return { kind, first, last: p.last };
}

function parseReturn(p: Parser): Statement {
  const first = p.pos;
  p.next();
  const value = p.at(';') || p.atEnd ? undefined : parseReturned(p);
  expectSemicolon(p);
  return { kind: 'return', value, first, last: p.last };
}

function parseReturned(p: Parser): Expression {
  return p.at('{') ? parseInitializerClause(p) : parseExpression(p);
}

function parseGoto(p: Parser): Statement {
  const first = p.pos;
  p.next();
  const label = p.atName ? p.tok : '';
  if (label) p.next();
  else p.report(first, first, "a label should follow 'goto'");
  expectSemicolon(p);
  return { kind: 'goto', label, first, last: p.last };
}

function parseTry(p: Parser): Statement {
  const first = p.pos;
  p.next();
  if (!p.at('{')) return unknownStatement(p, first, "'{' should follow 'try'");
  const body = parseCompound(p);
  const handlers: Handler[] = [];
  while (p.at('catch')) {
    const handler = parseHandler(p);
    if (handler) handlers.push(handler);
  }
  return { kind: 'try', body, handlers, first, last: p.last };
}

function parseHandler(p: Parser): Handler | undefined {
  const first = p.pos;
  const outer = p.scope;
  p.next();
  p.scope = new Scope(outer, 'block');
  const parameters = p.at('(') ? parseParameters(p).parameters : [];
  declareParameters(p, parameters);
  const body = p.at('{') ? parseCompound(p) : undefined;
  p.scope = outer;
  return body && { parameter: parameters.at(0), body, first, last: p.last };
}
