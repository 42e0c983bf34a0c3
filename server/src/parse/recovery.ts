/** Where to go on after something that was not understood. */
import type { Declaration } from './ast';
import type { Parser } from './parser';
import { Word } from './words';

const declarationBits = Word.specifier | Word.typeWord | Word.recordKey | Word.declaration;

/** Whether a new declaration most likely begins at the parser's place: a keyword of declarations begins its line. */
export function atLikelyDeclaration(p: Parser): boolean {
  return p.split === 0 && p.startsLine(p.pos) && (p.word & declarationBits) !== 0;
}

/** Moves behind the next `;` or brace group, or to the line where the next declaration begins. */
export function skipDeclaration(p: Parser, first: number): void {
  while (!p.atEnd) {
    if (p.at(';')) {
      p.next();
      return;
    }
    if (p.pos > first && atLikelyDeclaration(p)) return;
    if (p.at('{')) {
      p.skipGroup();
      p.eat(';');
      return;
    }
    if (p.at('(') || p.at('[')) p.skipGroup();
    else p.next();
  }
}

/** A token nothing could be made of: skips what it begins and leaves an unknown declaration. */
export function recoverAt(p: Parser, into: Declaration[]): void {
  const first = p.pos;
  const reason = p.at('}') ? "this '}' closes nothing" : `'${p.tok}' begins no declaration`;
  if (p.at('}') || p.at(')') || p.at(']')) p.next();
  else skipDeclaration(p, first);
  if (p.pos === first) p.next();
  p.report(first, p.last, reason);
  into.push({ kind: 'unknownDeclaration', reason, first, last: Math.max(first, p.last) });
}

/** Moves behind a statement that was not understood. */
export function skipStatement(p: Parser, first: number): void {
  while (!p.atEnd) {
    if (p.at(';')) {
      p.next();
      return;
    }
    if (p.pos > first && p.startsLine(p.pos) && p.split === 0) {
      if (p.word & (Word.statement | Word.typeWord | Word.specifier) && !p.at('else')) return;
    }
    const isBlock = p.at('{');
    if (isBlock || p.at('(') || p.at('[')) {
      p.skipGroup();
      if (isBlock && p.startsLine(p.pos)) return;
    } else p.next();
  }
}
