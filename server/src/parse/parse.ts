/** The parser's entry: tokens of a translation unit to its syntax tree. */
import type { TokenStream } from '../preprocess/token';
import type { Declaration, TranslationUnit } from './ast';
import { matchBrackets } from './brackets';
import { parseDeclarations } from './declarations';
import { withEarlierDefaults } from './earlier-defaults';
import { typeEvidence } from './evidence';
import { Parser, type UnrollPragma } from './parser';
import { classifyWords } from './words';

/**
 * Parses a translation unit. Never throws: what is not understood becomes unknown nodes with a reason, as small as brackets and
 * line beginnings allow, and is listed in `notes`.
 *
 * @param pragmas loop pragmas (`unroll 4`), each with the token it stands in front of
 */
export function parse(tokens: TokenStream, pragmas: readonly UnrollPragma[]): TranslationUnit {
  const classes = classifyWords(tokens);
  const p = new Parser(tokens, classes, matchBrackets(tokens, classes), pragmas);
  p.typeEvidence = typeEvidence(tokens, classes);
  const declarations: Declaration[] = [];
  parseDeclarations(p, 'namespace', declarations);
  return { declarations: withEarlierDefaults(declarations), notes: p.notes };
}
