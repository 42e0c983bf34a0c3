import type { MacroBody } from './macro';

/** The raw tokens of one file: no macro expanded, no directive obeyed. It depends on nothing but the text. */
export interface LexedFile {
  /** The text without a byte-order mark. */
  readonly text: string;
  readonly lineStarts: Int32Array;
  /** Number of tokens; there is no endOfFile token here. */
  readonly count: number;
  readonly kind: Uint8Array;
  readonly flags: Uint8Array;
  /** Number of the token's text in the table of spellings. */
  readonly spelling: Int32Array;
  readonly start: Int32Array;
  readonly end: Int32Array;
  /** Directives in the order of the text. */
  readonly directives: readonly Directive[];
  readonly comments: readonly LexedComment[];
  readonly problems: readonly LexicalProblem[];
  /** Spelling of the macro that guards the whole file against repeated inclusion, or -1. */
  readonly guard: number;
  /** Compiled `#define` lines by the token index of their `#`, filled on first use. */
  readonly compiledMacros: Map<number, MacroBody>;
}

export interface Directive {
  /** Token index of the `#`. */
  readonly hash: number;
  /** Spelling of the directive's name, or -1 for a null directive or one without a name. */
  readonly name: number;
  /** Token index behind the directive's line. */
  readonly end: number;
}

export interface LexedComment {
  readonly start: number;
  readonly end: number;
  readonly keyword: string;
  readonly hasColon: boolean;
  readonly text: string;
  /** Index of the next token. */
  readonly token: number;
}

export interface LexicalProblem {
  /** Token it belongs to; the number of tokens for something at the end of the file. */
  readonly token: number;
  readonly start: number;
  readonly end: number;
  readonly message: string;
}
