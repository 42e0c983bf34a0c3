/** Unknown nodes: what stands in the tree for text that was not understood. */
import type { UnknownExpression } from './ast';
import type { Parser } from './parser';

/** An unknown expression from `first` up to where the parser stands; counted as damage and noted. */
export function unknownExpression(p: Parser, first: number, reason: string): UnknownExpression {
  const last = Math.max(first, p.last);
  p.report(first, last, reason);
  return { kind: 'unknown', reason, first, last };
}

/** How a token is called in a message. */
export function nameOfToken(p: Parser): string {
  return p.atEnd ? 'the end' : `'${p.tok}'`;
}

/** Moves to the next comma of the current group, or its end. */
export function skipToComma(p: Parser): void {
  while (!p.atEnd && !p.at(',')) {
    if (p.at('(') || p.at('[') || p.at('{')) p.skipGroup();
    else p.next();
  }
}
