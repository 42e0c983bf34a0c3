/** One step of macro replacement: the body of a macro with the arguments put in, `#` and `##` applied. */

import { lex } from './lexer';
import { type BodyItem, ItemKind, type Lexeme, type MacroBody } from './macro';
import { Fixed, type Spellings } from './spellings';
import { TokenFlag, TokenKind } from './token';

/** The arguments of one call. */
export interface CallArguments {
  /** Tokens of the argument as written. */
  raw(parameter: number): readonly Lexeme[];
  /** Tokens of the argument with its macros expanded. */
  expanded(parameter: number): readonly Lexeme[];
}

/** What substitution needs of the preprocessor. */
export interface SubstitutionHost {
  readonly spellings: Spellings;
  /** Charges work to the budget; false when it is used up. */
  spend(amount: number): boolean;
  /** Tells that two tokens do not join to one. */
  badPaste(left: string, right: string): void;
}

/** Texts longer than this come from no honest `#` or `##`: making one uses the budget up. */
const longestText = 1 << 16;

/**
 * Tokens of a macro's body for one call. They are not rescanned here. The result is cut short when the budget ends.
 */
export function substitute(body: MacroBody, call: CallArguments, host: SubstitutionHost): Lexeme[] {
  return substituteItems(body.items, body, call, host);
}

function substituteItems(
  items: readonly BodyItem[],
  body: MacroBody,
  call: CallArguments,
  host: SubstitutionHost,
): Lexeme[] {
  const result: Lexeme[] = [];
  let joining = false;
  let leftIsEmpty = false;
  for (const item of items) {
    const produced = tokensOf(item, body, call, host);
    if (!host.spend(produced.length + 1)) return result;
    let from = 0;
    if (joining && !leftIsEmpty && produced.length > 0) {
      paste(result, produced[0], host);
      from = 1;
    }
    for (let index = from; index < produced.length; index++) result.push(produced[index]);
    // an empty operand of ## stands for nothing: what was on its left goes on to the next ##
    if (item.joinsNext) leftIsEmpty = produced.length === 0 && (!joining || leftIsEmpty);
    joining = item.joinsNext;
  }
  return result;
}

function tokensOf(item: BodyItem, body: MacroBody, call: CallArguments, host: SubstitutionHost): readonly Lexeme[] {
  const rest = (body.parameters?.length ?? 0) - 1;
  switch (item.kind) {
    case ItemKind.parameter:
      return withSpacing(item.raw ? call.raw(item.parameter) : call.expanded(item.parameter), item.token.flags);
    case ItemKind.stringified:
      return [stringify(call.raw(item.parameter), item.token.flags, host)];
    case ItemKind.optionalComma:
      return call.raw(rest).length > 0 ? [item.token] : [];
    case ItemKind.optional:
      if (call.expanded(rest).length === 0) return [];
      return withSpacing(substituteItems(item.items, body, call, host), item.token.flags);
    case ItemKind.stringifiedOptional: {
      const content = call.expanded(rest).length === 0 ? [] : substituteItems(item.items, body, call, host);
      return [stringify(content, item.token.flags, host)];
    }
    default:
      return [item.token];
  }
}

/** The tokens with the space before the first as the body has it before the parameter. */
function withSpacing(tokens: readonly Lexeme[], flags: number): readonly Lexeme[] {
  const first = tokens[0];
  if (first === undefined || (first.flags & TokenFlag.spaceBefore) === (flags & TokenFlag.spaceBefore)) return tokens;
  const copy = tokens.slice();
  copy[0] = respaced(first, flags);
  return copy;
}

/** The token with the spacing of other flags. */
export function respaced(token: Lexeme, flags: number): Lexeme {
  const space = flags & TokenFlag.spaceBefore;
  if ((token.flags & TokenFlag.spaceBefore) === space) return token;
  return { ...token, flags: (token.flags & ~TokenFlag.spaceBefore) | space };
}

/** Texts of tokens in a row, one blank wherever white space was. */
export function spell(tokens: readonly Lexeme[], spellings: Spellings): string {
  let text = '';
  for (const token of tokens) {
    if (text !== '' && token.flags & TokenFlag.spaceBefore) text += ' ';
    text += spellings.texts[token.spelling];
  }
  return text;
}

function stringify(tokens: readonly Lexeme[], flags: number, host: SubstitutionHost): Lexeme {
  let text = '';
  for (const token of tokens) {
    if (text !== '' && token.flags & TokenFlag.spaceBefore) text += ' ';
    const written = host.spellings.texts[token.spelling];
    const isLiteral = token.kind === TokenKind.string || token.kind === TokenKind.character;
    text += isLiteral ? written.replace(/["\\]/g, '\\$&').replace(/\n/g, '\\n') : written;
    if (!host.spend(costOf(text.length, written.length))) break;
  }
  return {
    kind: TokenKind.string,
    spelling: host.spellings.intern(`"${text}"`),
    flags: flags & TokenFlag.spaceBefore,
    start: -1,
    end: -1,
  };
}

/** Work of adding so many characters to a text that is then so long. */
function costOf(length: number, added: number): number {
  return length > longestText ? Number.POSITIVE_INFINITY : 1 + (added >> 3);
}

/** Joins `right` to the last token of the list. */
function paste(list: Lexeme[], right: Lexeme, host: SubstitutionHost): void {
  const left = list[list.length - 1];
  if (left === undefined) {
    list.push(right);
    return;
  }
  const { texts } = host.spellings;
  const text = texts[left.spelling] + texts[right.spelling];
  if (!host.spend(costOf(text.length, text.length))) return;
  const kind = joinedKind(left, right, text, host.spellings);
  if (kind < 0) {
    host.badPaste(texts[left.spelling], texts[right.spelling]);
    list.push(right);
    return;
  }
  const flags = left.flags & TokenFlag.spaceBefore;
  list[list.length - 1] = { kind, spelling: host.spellings.intern(text), flags, start: -1, end: -1 };
}

/** Kind of the token that two tokens join to, or -1 if they do not make one. */
function joinedKind(left: Lexeme, right: Lexeme, text: string, spellings: Spellings): number {
  if (left.kind === TokenKind.identifier && right.kind === TokenKind.identifier) return TokenKind.identifier;
  if (left.spelling === Fixed.empty || right.spelling === Fixed.empty) return -1;
  const joined = lex(text, spellings);
  return joined.count === 1 && joined.end[0] === text.length && joined.start[0] === 0 ? joined.kind[0] : -1;
}
