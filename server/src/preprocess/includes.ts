/** `#include` and what it depends on: the name of the header, guards, budgets. */

import type { Directive } from './lexed-file';
import type { Lexeme } from './macro';
import { type PreprocessBudget, TokenFlag, TokenKind } from './token';
import type { Frame, Site, Unit } from './unit';

/** Obeys an `#include`: opens the file, unless it is not to be had, has been read and guards itself, or a budget ends. */
export function include(unit: Unit, frame: Frame, directive: Directive, site: Site): void {
  const outer = unit.site;
  unit.site = site;
  const header = headerOf(unit, unit.lexemes(frame.lexed, directive.hash + 2, directive.end));
  unit.site = outer;
  if (header === undefined) {
    unit.note(site, 'This #include names no file: write #include "name" or #include <name>.');
    return;
  }
  const found = unit.options.include(header.name, header.quoted, frame.path);
  if (found === undefined) {
    if (header.quoted) {
      const message = `${header.name} was not found: what it defines is unknown here. Add its folder to the include paths.`;
      unit.note(site, message);
    }
    return;
  }
  if (unit.once.has(found.path)) return;
  const lexed = unit.cache.lex(found.path, found.text);
  if (lexed.guard >= 0 && unit.macros.get(lexed.guard) !== undefined) return;
  const excess = overBudget(unit, lexed.count);
  if (excess !== undefined) {
    unit.note(site, excess);
    return;
  }
  unit.includedFiles++;
  unit.includedTokens += lexed.count;
  unit.open(lexed, found.path);
}

/** Why a file of so many tokens is not read any more. */
function overBudget(unit: Unit, tokens: number): string | undefined {
  const { includeDepth, includedFiles, tokens: tokenLimit }: PreprocessBudget = unit.budget;
  if (unit.frames.length > includeDepth) {
    return `Includes nest deeper than ${includeDepth}: this one is skipped. Look for a file that includes itself.`;
  }
  if (unit.includedFiles >= includedFiles) {
    return `More than ${includedFiles} files are included: this one is skipped.`;
  }
  if (unit.includedTokens + tokens > tokenLimit) {
    return `The included files have more than ${tokenLimit} tokens: this one is skipped.`;
  }
  return undefined;
}

/** The header that tokens name, `"a.h"` or `<a.h>`, written so or by macros. */
export function headerOf(unit: Unit, tokens: readonly Lexeme[]): { name: string; quoted: boolean } | undefined {
  const { texts } = unit.spellings;
  const written = headerText(texts, tokens) ?? headerText(texts, unit.expandLine(tokens, unit.site, false));
  if (written === undefined) return undefined;
  return { name: written.slice(1, -1).trim(), quoted: written[0] === '"' };
}

function headerText(texts: readonly string[], tokens: readonly Lexeme[]): string | undefined {
  const first = tokens[0];
  if (first === undefined) return undefined;
  const firstText = texts[first.spelling];
  if (first.kind === TokenKind.string) return /^"[^"]+"$|^<[^>]+>$/.test(firstText) ? firstText : undefined;
  if (firstText !== '<') return undefined;
  let text = '';
  for (const { spelling, flags } of tokens) {
    if (texts[spelling] === '>') return text.length > 1 ? `${text}>` : undefined;
    if (text.length > 1 && flags & TokenFlag.spaceBefore) text += ' ';
    text += texts[spelling];
  }
  return undefined;
}
