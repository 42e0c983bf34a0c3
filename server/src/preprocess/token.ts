/**
 * The token stream of one translation unit: what the preprocessor hands to the parser.
 * Kept as parallel arrays (a file with its headers has tens of thousands of tokens), each token with the place a
 * *user* would point at: tokens that come out of a macro stand at the macro call.
 */

import type { LexCache } from './lex-cache';

export const TokenKind = {
  endOfFile: 0,
  identifier: 1, // keywords too: the parser knows which are which
  number: 2,
  string: 3,
  character: 4,
  punctuator: 5, // longest match; '<<<' and '>>>' are one token each ('>>' is split by the parser where templates close)
  unknown: 6, // a byte that belongs to no C++ token
} as const;
export type TokenKind = (typeof TokenKind)[keyof typeof TokenKind];

export const TokenFlag = {
  /** first token of its line in the file */
  lineStart: 1,
  /** white space before it */
  spaceBefore: 2,
  /** produced by a macro expansion: start and end are those of the macro call */
  fromMacro: 4,
} as const;

/** A file as the preprocessor sees it. `path` is whatever the host uses as the file's identity. */
export interface SourceFile {
  readonly path: string;
  /** Text after removal of a byte-order mark; offsets count UTF-16 units in it. CRLF is kept. */
  readonly text: string;
  /** Offset of the first character of every line. */
  readonly lineStarts: Int32Array;
}

export interface TokenStream {
  /** Number of tokens, the closing endOfFile token included. */
  readonly count: number;
  readonly kind: Uint8Array;
  /** Spelling, interned: equal spellings are the same string object. */
  readonly text: readonly string[];
  readonly flags: Uint8Array;
  /** Index into `files`. */
  readonly file: Int32Array;
  /** Range in that file; for a token of a macro expansion the range of the outermost macro call. */
  readonly start: Int32Array;
  readonly end: Int32Array;
  /** For a token of a macro expansion: index into `expansions`, else -1. */
  readonly expansion: Int32Array;
  readonly expansions: readonly MacroExpansion[];
  readonly files: readonly SourceFile[];
}

/** One use of a macro in the text (outermost only). */
export interface MacroExpansion {
  readonly macro: string;
  /** Where the macro is defined; undefined for predefined ones. */
  readonly definition?: { readonly file: number; readonly start: number; readonly end: number };
}

/** A `// warplens: …` comment (or the block-comment form), handed on as data because comments are no tokens. */
export interface WarplensComment {
  readonly file: number;
  readonly start: number;
  readonly end: number;
  /** The leading word: 'warplens', 'warplens-ignore', 'warplens-ignore-next-line', … */
  readonly keyword: string;
  /** Whether a colon follows the keyword; without one the comment may be prose. */
  readonly hasColon: boolean;
  /** The text behind the keyword and its colon, trimmed. */
  readonly text: string;
  /** Index of the first token that follows the comment. */
  readonly beforeToken: number;
}

/** A pragma that matters to the analysis (`unroll`, `nounroll`, `pack`), from `#pragma` or `_Pragma("…")`. */
export interface Pragma {
  /** Index of the first token that follows. */
  readonly beforeToken: number;
  /** The pragma with its macros expanded, spaced as written: 'unroll', 'unroll 4', 'unroll(N)', 'pack(push, 1)'. */
  readonly text: string;
  /** What follows the pragma's name, without enclosing parentheses; '' for none. */
  readonly argument: string;
  readonly file: number;
  /** The directive's range (without its comment), or that of the outermost macro call. */
  readonly start: number;
  readonly end: number;
}

/** Something the preprocessor could not do; analysis goes on without it. */
export interface PreprocessNote {
  readonly file: number;
  readonly start: number;
  readonly end: number;
  readonly message: string;
}

export interface MacroDefinition {
  readonly name: string;
  /** undefined: object-like. */
  readonly parameters?: readonly string[];
  readonly variadic: boolean;
  readonly body: readonly string[];
  /** Where it is defined; undefined for predefined ones. */
  readonly definition?: { readonly file: number; readonly start: number; readonly end: number };
}

export interface PreprocessOptions {
  /** Path of the file to read; the text comes from `readFile`. */
  readonly path: string;
  /** Predefined macros: name to replacement text ('' for empty). The host gives __CUDACC__, __CUDA_ARCH__ and the like. */
  readonly defines: ReadonlyMap<string, string>;
  /**
   * Resolves an include and reads it. `from` is the including file's path. Returns undefined when the file is not to be had
   * (system headers always are not): the include is then skipped, with a note if it was quoted.
   */
  readonly include: (name: string, quoted: boolean, from: string) => { path: string; text: string } | undefined;
  readonly text: string;
  readonly budget?: Partial<PreprocessBudget>;
  /** Keeps what was learned about a file's text from call to call: give the same object each time. */
  readonly lexCache?: LexCache;
}

export interface PreprocessBudget {
  /** Tokens produced for the whole unit. */
  readonly tokens: number;
  /** Tokens one outermost macro call may produce. */
  readonly expansionTokens: number;
  /** Depth of includes. */
  readonly includeDepth: number;
  /** Number of files included, repeats counted. */
  readonly includedFiles: number;
}

export interface PreprocessResult {
  readonly tokens: TokenStream;
  readonly comments: readonly WarplensComment[];
  readonly pragmas: readonly Pragma[];
  readonly notes: readonly PreprocessNote[];
  /** Macros as they stand at the end of the unit. */
  readonly macros: ReadonlyMap<string, MacroDefinition>;
}
