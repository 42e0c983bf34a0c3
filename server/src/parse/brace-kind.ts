/** What a brace outside functions opens, told from the tokens in front of it. */
import { TokenKind, type TokenStream } from '../preprocess/token';
import { Word } from './words';

/**
 * `namespace`: declarations follow (a namespace, a linkage block, an unknown macro before a brace). `record`: members
 * follow. `function`: anything whose inside is of no interest to its surroundings: a body, an initialiser, an enum.
 */
export type BraceKind = 'namespace' | 'record' | 'function';

/** Classifies the brace at `opener`; its declaration begins at `head`. */
export function classifyBrace(tokens: TokenStream, classes: Uint16Array, head: number, opener: number): BraceKind {
  const { text, kind } = tokens;
  if (opener === head + 1 && classes[head] & Word.name) return 'namespace';
  if (opener > head && kind[opener - 1] === TokenKind.string && text[opener - 2] === 'extern') return 'namespace';
  for (let i = skipLabels(tokens, head, opener); i < opener; i++) {
    const spelling = text[i];
    if (spelling === 'namespace') return 'namespace';
    if (spelling === 'template' && text[i + 1] === '<') i = skipAngles(tokens, i + 1, opener) - 1;
    else if (spelling === 'enum') return 'function';
    else if (classes[i] & Word.recordKey) return isRecordHead(tokens, classes, i, opener) ? 'record' : 'function';
    else if (spelling === '=') return 'function';
  }
  return 'function';
}

function skipLabels(tokens: TokenStream, head: number, opener: number): number {
  let i = head;
  while (i + 1 < opener && tokens.text[i + 1] === ':' && /^(?:public|private|protected)$/.test(tokens.text[i])) i += 2;
  return i;
}

function skipAngles(tokens: TokenStream, open: number, to: number): number {
  let depth = 0;
  for (let i = open; i < to; i++) {
    const spelling = tokens.text[i];
    if (spelling === '<') depth++;
    else if (spelling === '>') depth--;
    else if (spelling === '>>') depth -= 2;
    else if (spelling === '>>>') depth -= 3;
    if (depth <= 0) return i + 1;
  }
  return to;
}

/** Whether `struct …` runs up to the brace as a record's head, not as the result type of a function. */
function isRecordHead(tokens: TokenStream, classes: Uint16Array, key: number, opener: number): boolean {
  const { text } = tokens;
  let names = 0;
  for (let i = key + 1; i < opener; i++) {
    if (text[i] === ':') return true;
    if (text[i] === '<') {
      i = skipAngles(tokens, i, opener) - 1;
    } else if (text[i] === '(') {
      // a group belongs to an attribute or alignment if a name still follows it; otherwise it is a parameter list
      const attribute = (classes[i - 1] & Word.specifier) !== 0 || names === 0 || text[i + 1] === '(';
      if (!attribute && !nameBefore(tokens, classes, i, opener)) return false;
      i = skipParentheses(tokens, i, opener);
    } else if (text[i] === '*' || text[i] === '&') return false;
    else if (classes[i] & Word.name) names++;
  }
  return true;
}

function skipParentheses(tokens: TokenStream, open: number, to: number): number {
  let depth = 0;
  for (let i = open; i < to; i++) {
    if (tokens.text[i] === '(') depth++;
    else if (tokens.text[i] === ')' && --depth === 0) return i;
  }
  return to;
}

/** Whether a name stands between the parenthesis and the brace. */
function nameBefore(tokens: TokenStream, classes: Uint16Array, open: number, opener: number): boolean {
  for (let i = skipParentheses(tokens, open, opener) + 1; i < opener; i++) {
    if (classes[i] & Word.name && tokens.text[i] !== 'final' && tokens.text[i] !== 'override') return true;
  }
  return false;
}
