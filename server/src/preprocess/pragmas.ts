/** Pragmas that matter to the analysis, as data beside the tokens. */

import { lex } from './lexer';
import type { Lexeme } from './macro';
import { Fixed } from './spellings';
import { spell } from './substitution';
import { TokenKind } from './token';
import type { Site, Unit } from './unit';

/**
 * Keeps a pragma for the token that comes next, if it is one that matters. Macros in it are expanded, which nvcc 13 does
 * not do: it refuses a macro there, so that nothing changes for code that compiles.
 * @param tokens what follows the word `pragma`
 */
export function keepPragma(unit: Unit, tokens: readonly Lexeme[], site: Site): void {
  const name = tokens[0]?.spelling;
  if (name !== Fixed.unroll && name !== Fixed.nounroll && name !== Fixed.pack) return;
  const rest = unit.expandLine(tokens.slice(1), site, false);
  const isEnclosed = rest[0]?.spelling === Fixed.leftParenthesis && rest.at(-1)?.spelling === Fixed.rightParenthesis;
  unit.pragmas.push({
    beforeToken: unit.output.count,
    text: spell([tokens[0], ...rest], unit.spellings),
    argument: spell(isEnclosed ? rest.slice(1, -1) : rest, unit.spellings),
    ...site,
  });
}

/** Keeps what `_Pragma("…")` says; the argument is its string literal. */
export function keepPragmaOperator(unit: Unit, literal: string, site: Site): void {
  const content = literal.slice(literal.indexOf('"') + 1, -1).replace(/\\(["\\])/g, '$1');
  const lexed = lex(content, unit.spellings);
  unit.macros.reserve(unit.spellings.count);
  keepPragma(unit, unit.lexemes(lexed, 0, lexed.count), site);
}

/** Whether `_Pragma ( "…" )` begins at `index` of a list of tokens, given their kinds and spellings. */
export function isPragmaOperator(
  index: number,
  count: number,
  kindAt: (index: number) => number,
  spellingAt: (index: number) => number,
): boolean {
  return (
    index + 3 < count &&
    spellingAt(index + 1) === Fixed.leftParenthesis &&
    kindAt(index + 2) === TokenKind.string &&
    spellingAt(index + 3) === Fixed.rightParenthesis
  );
}
