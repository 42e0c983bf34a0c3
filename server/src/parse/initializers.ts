/** Initialisers and lists of arguments. */
import type { Expression, InitListExpression, VariableInitializer } from './ast';
import { parseAssignment } from './expressions';
import { nameOfToken, skipToComma, unknownExpression } from './failures';
import type { Parser } from './parser';
import { scanType, textAt } from './scan';
import { Word } from './words';

/** An expression or a braced list. */
export function parseInitializerClause(p: Parser): Expression {
  return p.at('{') ? parseInitList(p) : parseAssignment(p);
}

/** What may follow a declared name: `= value`, `(a, b)`, `{a, b}`. */
export function parseVariableInitializer(p: Parser): VariableInitializer | undefined {
  if (p.at('=')) {
    p.next();
    return { form: 'assign', value: parseInitializerClause(p) };
  }
  if (p.at('(')) return { form: 'call', arguments: parseCallArguments(p) };
  if (p.at('{')) return { form: 'braces', list: parseInitList(p) };
  return undefined;
}

/** `{a, .x = b, {c}}`. */
export function parseInitList(p: Parser): InitListExpression {
  const first = p.pos;
  const elements: { designator?: string; value: Expression }[] = [];
  const deep = !p.enterLevel();
  const group = p.enter();
  if (deep) {
    p.jump(p.limit);
    elements.push({ value: unknownExpression(p, first + 1, 'nested too deeply') });
  }
  while (!p.atEnd) {
    const designator = parseDesignator(p);
    const value = parseArgument(p);
    elements.push(designator === undefined ? { value } : { designator, value });
    if (!p.eat(',')) break;
  }
  p.leave(group);
  p.leaveLevel();
  return { kind: 'initList', elements, first, last: p.last };
}

/** `.x =`, `.x{`, `[3] =`, and the GNU form `x:`. */
function parseDesignator(p: Parser): string | undefined {
  if (p.at('.') && p.isName(p.pos + 1)) {
    p.next();
    const name = p.tok;
    p.next();
    p.eat('=');
    return name;
  }
  if (p.at('[') && p.brackets.matched[p.pos] && p.textAt(p.afterGroup(p.pos)) === '=') {
    const text = p.text.slice(p.pos + 1, p.brackets.end[p.pos]).join(' ');
    p.skipGroup();
    p.next();
    return `[${text}]`;
  }
  return undefined;
}

/** `(a, b)`, also with packs and braced lists. */
export function parseCallArguments(p: Parser): Expression[] {
  const list: Expression[] = [];
  const group = p.enter();
  while (!p.atEnd) {
    list.push(parseArgument(p));
    if (!p.eat(',')) break;
  }
  p.leave(group);
  return list;
}

/** One argument or list element up to its comma; what is left over makes it unknown. */
function parseArgument(p: Parser): Expression {
  const first = p.pos;
  if (startsType(p)) {
    p.jump(scanType(p, first).end >> 2);
    return unknownExpression(p, first, 'a type stands here as an argument, as macros and built-ins take them');
  }
  const damage = p.damage;
  const value = parseInitializerClause(p);
  if (p.at('...')) {
    p.next();
    return { kind: 'packExpansion', operand: value, first, last: p.last };
  }
  if (p.atEnd || p.at(',')) return value;
  const found = nameOfToken(p);
  skipToComma(p);
  const last = p.last;
  if (p.damage === damage) p.report(first, last, `${found} was not expected here`);
  return { kind: 'unknown', reason: `${found} was not expected here`, first, last };
}

/** Whether a type alone makes up the argument: `va_arg(list, int)`, `MACRO(float*, x)`. */
function startsType(p: Parser): boolean {
  if (!(p.word & (Word.typeWord | Word.qualifier)) && !p.at('typename') && !(p.word & Word.recordKey)) return false;
  const { end } = scanType(p, p.pos);
  if (end < 0 || end & 3) return false;
  if (p.text[(end >> 2) - 1] === ')') return false; // float(x)
  const after = textAt(p, end);
  return after === '' || after === ',';
}
