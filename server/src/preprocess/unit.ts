/** What is known while one translation unit is read: the parts of the preprocessor share it. */

import { Expander, type ExpansionHost } from './expansion';
import { headerOf } from './includes';
import { LexCache } from './lex-cache';
import type { LexedFile } from './lexed-file';
import { type BuiltinMacro, type Lexeme, MacroTable } from './macro';
import { TokenOutput } from './output';
import { lineIndex } from './positions';
import type { Spellings } from './spellings';
import {
  type Pragma,
  type PreprocessBudget,
  type PreprocessNote,
  type PreprocessOptions,
  type SourceFile,
  TokenFlag,
  TokenKind,
  type WarplensComment,
} from './token';

export const defaultBudget: PreprocessBudget = {
  tokens: 2_000_000,
  expansionTokens: 100_000,
  includeDepth: 64,
  includedFiles: 2_000,
};

/** Notes of one unit; what comes after them would not be read. */
const maximumNotes = 200;
/** Calls that may run over the full budget, and further ones over the small one, before the next smaller one is given. */
const fullOverruns = 2;
const smallOverruns = 100;
const smallAllowance = 500;
const leastAllowance = 50;

/** An `#if` that is open. */
export interface Conditional {
  /** Range of the directive. */
  readonly start: number;
  readonly end: number;
}

/** A file that is being read. */
export class Frame {
  /** Next token. */
  index = 0;
  /** Next directive, comment and problem not yet passed. */
  directive = 0;
  comment = 0;
  problem = 0;
  readonly conditionals: Conditional[] = [];

  constructor(
    readonly lexed: LexedFile,
    readonly path: string,
    /** Index into the unit's files; -1 for the predefined macros. */
    readonly file: number,
  ) {}

  /** Whether the next token is the `#` of a directive. */
  get atDirective(): boolean {
    return this.lexed.directives[this.directive]?.hash === this.index;
  }
}

/** Place in a file that notes and `__LINE__` refer to. */
export interface Site {
  readonly file: number;
  readonly start: number;
  readonly end: number;
}

export class Unit implements ExpansionHost {
  readonly budget: PreprocessBudget;
  readonly cache: LexCache;
  readonly spellings: Spellings;
  readonly macros: MacroTable;
  readonly output: TokenOutput;
  readonly expander: Expander;
  readonly files: SourceFile[] = [];
  readonly frames: Frame[] = [];
  readonly comments: WarplensComment[] = [];
  readonly pragmas: Pragma[] = [];
  readonly notes: PreprocessNote[] = [];
  /** Paths of files that said `#pragma once`. */
  readonly once = new Set<string>();
  includedFiles = 0;
  /** Raw tokens of the included files, repeats counted. */
  includedTokens = 0;
  /** The call or directive being worked on. */
  site: Site = { file: 0, start: 0, end: 0 };
  /** Raw tokens looked at for the ends of macro calls that have none. */
  scannedInVain = 0;
  private readonly noted = new Set<string>();
  private overruns = 0;
  private counter = 0;

  constructor(readonly options: PreprocessOptions) {
    this.budget = { ...defaultBudget, ...options.budget };
    this.cache = options.lexCache ?? new LexCache();
    this.cache.trim();
    this.spellings = this.cache.spellings;
    this.macros = new MacroTable(this.spellings);
    const expected = this.cache.expectedTokens.get(options.path) ?? options.text.length >> 2;
    this.output = new TokenOutput(expected + 1000);
    this.expander = new Expander(this);
  }

  get frame(): Frame | undefined {
    return this.frames.at(-1);
  }

  /** Begins to read a file; its tokens come before the rest of the files that are being read. */
  open(lexed: LexedFile, path: string): void {
    const known = this.files.findIndex((file) => file.path === path && file.text === lexed.text);
    const file = known >= 0 ? known : this.files.length;
    if (known < 0) this.files.push({ path, text: lexed.text, lineStarts: lexed.lineStarts });
    this.macros.reserve(this.spellings.count);
    this.frames.push(new Frame(lexed, path, file));
  }

  /** Ends the innermost file. */
  close(): void {
    const frame = this.frames.pop();
    if (frame === undefined) return;
    this.flushComments(frame, frame.lexed.count, this.output.count);
    this.flushProblems(frame, frame.lexed.count + 1);
    for (const { start, end } of frame.conditionals) {
      this.note(
        { file: frame.file, start, end },
        'This condition has no #endif: it is taken to end with the file. Add #endif.',
      );
    }
  }

  note(site: Site, message: string): void {
    if (site.file < 0 || this.notes.length >= maximumNotes) return;
    const key = `${site.file}:${site.start}:${message}`;
    if (this.noted.has(key)) return;
    this.noted.add(key);
    this.notes.push({ ...site, message });
  }

  noteCall(message: string): void {
    this.note(this.site, message);
  }

  /** Hands on the comments before a token of the file; they belong to the output token `beforeToken`. */
  flushComments(frame: Frame, before: number, beforeToken: number): void {
    const { comments } = frame.lexed;
    for (; frame.comment < comments.length && comments[frame.comment].token <= before; frame.comment++) {
      const { start, end, keyword, hasColon, text } = comments[frame.comment];
      this.comments.push({ file: frame.file, start, end, keyword, hasColon, text, beforeToken });
    }
  }

  /** Reports what is malformed in the tokens before one of the file. */
  flushProblems(frame: Frame, before: number): void {
    const { problems } = frame.lexed;
    for (; frame.problem < problems.length && problems[frame.problem].token < before; frame.problem++) {
      const { start, end, message } = problems[frame.problem];
      this.note({ file: frame.file, start, end }, message);
    }
  }

  /** Goes on behind text that is not to be read: its comments and problems count for nothing. */
  skipTo(frame: Frame, index: number): void {
    const { comments, directives, problems } = frame.lexed;
    frame.index = index;
    while (frame.directive < directives.length && directives[frame.directive].hash < index) frame.directive++;
    while (frame.comment < comments.length && comments[frame.comment].token <= index) frame.comment++;
    while (frame.problem < problems.length && problems[frame.problem].token < index) frame.problem++;
  }

  /** Token range of the file as lexemes that do not keep their places. */
  lexemes(lexed: LexedFile, from: number, to: number): Lexeme[] {
    const result: Lexeme[] = [];
    for (let index = from; index < to; index++) result.push(lexemeAt(lexed, index, false));
    return result;
  }

  /**
   * Expands the tokens of a directive's line. Over budget it is reported, and nothing is left.
   * @param inCondition `defined` and `__has_include` are answered
   */
  expandLine(tokens: readonly Lexeme[], site: Site, inCondition: boolean): Lexeme[] {
    const outer = this.site;
    this.site = site;
    const result = this.expander.run(tokens, this.allowance, inCondition);
    if (result === undefined) {
      this.overrun();
      this.noteCall(
        `The macros of this line expand to more than ${this.budget.expansionTokens} tokens: it is ignored.`,
      );
    }
    this.site = outer;
    return result ?? [];
  }

  /**
   * Tokens that the next expansion may produce: less once others have run over, so that a thousand bombs end soon. One
   * macro that runs over always is not tried again, and takes nothing from the others.
   */
  get allowance(): number {
    const { expansionTokens } = this.budget;
    if (this.overruns < fullOverruns) return expansionTokens;
    return Math.min(expansionTokens, this.overruns < smallOverruns ? smallAllowance : leastAllowance);
  }

  /** Remembers that an expansion ran over. */
  overrun(): void {
    this.overruns++;
  }

  builtinValue(builtin: BuiltinMacro): { kind: number; text: string } | undefined {
    const number = (value: number) => ({ kind: TokenKind.number, text: String(value) });
    const string = (value: string) => ({ kind: TokenKind.string, text: `"${value.replace(/["\\]/g, '\\$&')}"` });
    switch (builtin) {
      case 'line': {
        const file = this.files[this.site.file];
        return number(file ? lineIndex(file.lineStarts, this.site.start) + 1 : 0);
      }
      case 'file':
        return string(this.files[this.site.file]?.path ?? '');
      case 'baseFile':
        return string(this.options.path);
      case 'counter':
        return number(this.counter++);
      case 'includeLevel':
        return number(this.frames.length - 1);
      // the same text gives the same result on any day
      case 'date':
        return string('Jan  1 1970');
      case 'time':
        return string('00:00:00');
      default:
        return undefined;
    }
  }

  hasInclude(operand: readonly Lexeme[]): boolean {
    const header = headerOf(this, operand);
    if (header === undefined) return false;
    return this.options.include(header.name, header.quoted, this.frame?.path ?? '') !== undefined;
  }
}

/**
 * A token of a file as a lexeme.
 * @param keepsPlace whether it is to stand at its own range rather than at the macro call's
 */
export function lexemeAt(lexed: LexedFile, index: number, keepsPlace: boolean): Lexeme {
  // a line break is white space where tokens are spelled in a row
  const flags = lexed.flags[index] === 0 ? 0 : TokenFlag.spaceBefore;
  const start = keepsPlace ? lexed.start[index] : -1;
  return { kind: lexed.kind[index], spelling: lexed.spelling[index], flags, start, end: lexed.end[index] };
}
