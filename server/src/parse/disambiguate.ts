/** Whether a statement is a declaration, decided by looking ahead. */
import { Name } from './names';
import type { Parser } from './parser';
import { type Cursor, isValueOnly, memberPointerEnd, scanName, scanTypeSpecifier, textAt } from './scan';
import { looksLikeMacro } from './types';
import { isDecltype, Word } from './words';

/** Whether the parser stands at a declaration rather than at an expression. */
export function atDeclaration(p: Parser): boolean {
  const word = p.word;
  if (word & (Word.specifier | Word.recordKey)) return true;
  if (word & Word.declaration) return true;
  if (word & Word.qualifier) return true;
  if (word & Word.typeWord) return typeWordsDeclare(p);
  if (p.at('auto')) return p.peek(1) !== '(' && p.peek(1) !== '{';
  if (p.at('typename') || isDecltype(p.tok)) {
    const type = scanTypeSpecifier(p, p.pos);
    return type.end >= 0 && declaratorFollows(p, type.end, true, false);
  }
  if (p.atName || p.at('::')) return nameDeclares(p);
  return false;
}

/** `int x`, but not `int(x)` or `float{}`. */
function typeWordsDeclare(p: Parser): boolean {
  let i = p.pos;
  while (p.wordAt(i) & (Word.typeWord | Word.qualifier)) i++;
  const next = p.textAt(i);
  if (next === '(') return groupDeclares(p, i);
  return next !== '{' && next !== ')' && next !== ',';
}

/** `T (*f)(int)`, `T (C::*f)(int)`, `T (&a)[3]`: a parenthesis behind a type that belongs to a declarator. */
function groupDeclares(p: Parser, open: number): boolean {
  const inside = p.textAt(open + 1);
  const after = p.textAt(p.afterGroup(open));
  const ofMember = memberPointerEnd(p, open + 1);
  if (ofMember > open + 1) return after === '(' && p.isName(ofMember);
  if (inside !== '*' && inside !== '&') return false;
  return (after === '(' || after === '[') && p.isName(open + 2);
}

function nameDeclares(p: Parser): boolean {
  const name = scanName(p, p.pos, 'type');
  if (name.end < 0) return false;
  const at = name.end >> 2;
  const isType = (name.bits & Name.type) !== 0;
  if (isValueOnly(name.bits) && name.plain) return valueHidesType(p, at);
  if (name.end & 3) return false;
  // an undeclared macro in front of a declaration: `MY_SHARED float x[4]`
  if (!isType && name.plain && name.bits === 0 && macroBeforeDeclaration(p, at)) return true;
  return declaratorFollows(p, name.end, isType, name.bits === 0 && name.plain);
}

/** `stat stat;`: a type hidden by a value of the same name, or one the table has wrong. */
function valueHidesType(p: Parser, at: number): boolean {
  if (!p.isName(at) || p.startsLine(at)) return false;
  return /^[;=,[]$/.test(p.textAt(at + 1));
}

function macroBeforeDeclaration(p: Parser, at: number): boolean {
  const word = p.wordAt(at);
  if (word & (Word.typeWord | Word.specifier | Word.recordKey))
    return !p.startsLine(at) || (word & Word.statement) === 0;
  if (word & Word.qualifier) return true;
  return p.textAt(at) === 'auto' || p.textAt(at) === 'typename';
}

/** Whether a declarator follows a type. `isType`: it is known to be one; `isUnknown`: a plain name nobody declared. */
function declaratorFollows(p: Parser, cursor: Cursor, isType: boolean, isUnknown: boolean): boolean {
  let at = cursor >> 2;
  if (cursor & 3) return false;
  const text = textAt(p, cursor);
  if (p.isName(at)) return namedVariableFollows(p, at, isUnknown && looksLikeMacro(p.text[at - 1]));
  if (text === 'operator') return true;
  if (p.wordAt(at) & Word.qualifier) return true;
  if (p.wordAt(at) & (Word.typeWord | Word.specifier)) return true;
  if (text === '(') return isType && groupDeclares(p, at);
  if (text !== '*' && text !== '&' && text !== '&&') return false;
  let stars = 0;
  while (/^(?:\*|&&?)$/.test(p.textAt(at)) || p.wordAt(at) & Word.qualifier) {
    if (p.wordAt(at) & Word.qualifier) return true;
    stars++;
    at++;
  }
  if (p.textAt(at) === '(') return isType;
  if (p.textAt(at) === '[') return isType && text !== '*';
  if (!p.isName(at)) return false;
  if (isType) return true;
  const after = p.textAt(at + 1);
  // `a && f(x);` is an expression, `T&& x = …` is not
  if (text === '&&') return after === '=' || after === ':';
  return stars > 1 || /^[=;,[({:)]$/.test(after) || after === '';
}

/** Behind a type: a variable's name; behind an undeclared macro on a line of its own it may begin the next statement. */
function namedVariableFollows(p: Parser, at: number, isMacro: boolean): boolean {
  return !isMacro || !p.startsLine(at);
}
