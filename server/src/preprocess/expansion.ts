/**
 * Macro expansion with rescanning. A macro is disabled while its own expansion is being read, and its name met meanwhile
 * is marked for good (C++ [cpp.rescan]); where the standard leaves a choice (a call that begins in an expansion and ends
 * behind it) this does what GCC does, because nvcc hands the text to GCC.
 *
 * Expansions are kept on an explicit stack. Only arguments are expanded by recursion, to a fixed depth.
 */

import { type BuiltinMacro, type Lexeme, type Macro, type MacroTable, neverExpand } from './macro';
import { Fixed, type Spellings } from './spellings';
import { respaced, substitute } from './substitution';
import { TokenKind } from './token';

/** The text behind the outermost macro name: where a call continues when the expansion read so far ends in a name. */
export interface TokenSource {
  /** Whether the next token is `(`. */
  opensCall(): boolean;
  /** Whether the rest of the text closes a call of which `depth` parentheses are open. */
  closesCall(depth: number): boolean;
  /** The next token; undefined at the end of the file. */
  take(): Lexeme | undefined;
}

/** What the expansion asks of the unit. */
export interface ExpansionHost {
  readonly spellings: Spellings;
  readonly macros: MacroTable;
  /** Value of a macro that the preprocessor itself replaces, or undefined if it stays as it is. */
  builtinValue(builtin: BuiltinMacro): { kind: number; text: string } | undefined;
  /** Answers `__has_include` for the tokens of its parentheses. */
  hasInclude(operand: readonly Lexeme[]): boolean;
  /** Reports something about the call that is being expanded. */
  noteCall(message: string): void;
}

/** Nesting of calls within arguments; each level is a few frames of the JavaScript stack. */
const deepestArgument = 200;
/** Steps of work for every token that a call may produce: reading, collecting arguments, substituting. */
const stepsPerToken = 4;

export class Expander {
  private exhausted = false;
  private remaining = 0;
  private depth = 0;
  private inCondition = false;

  constructor(private readonly host: ExpansionHost) {}

  get spellings(): Spellings {
    return this.host.spellings;
  }

  /**
   * Expands a piece of text on its own, with a budget of its own, also while another expansion is under way (a directive
   * among the arguments of a call).
   * @param tokenLimit tokens it may produce; the work on the way is bounded by a multiple of that
   * @param inCondition `defined` and `__has_include` are answered
   * @returns undefined if it was over budget
   */
  run(input: readonly Lexeme[], tokenLimit: number, inCondition: boolean, source?: TokenSource): Lexeme[] | undefined {
    const outer = {
      exhausted: this.exhausted,
      remaining: this.remaining,
      depth: this.depth,
      inCondition: this.inCondition,
    };
    this.exhausted = false;
    this.remaining = tokenLimit * stepsPerToken;
    this.depth = 0;
    this.inCondition = inCondition;
    const result = this.expand(input, source);
    const isOver = this.exhausted || result.length > tokenLimit;
    Object.assign(this, outer);
    return isOver ? undefined : result;
  }

  spend(amount: number): boolean {
    this.remaining -= amount;
    if (this.remaining < 0) this.exhausted = true;
    return !this.exhausted;
  }

  badPaste(left: string, right: string): void {
    this.host.noteCall(`${left} ## ${right} makes no token: both are kept. Join names or numbers.`);
  }

  private expand(input: readonly Lexeme[], source: TokenSource | undefined): Lexeme[] {
    const result: Lexeme[] = [];
    if (this.depth >= deepestArgument) this.exhausted = true;
    if (this.exhausted) return result;
    this.depth++;
    const { macros } = this.host;
    const reader = new ExpansionReader(input, source);
    for (let token = reader.next(); token !== undefined && this.spend(1); token = reader.next()) {
      const macro = token.kind === TokenKind.identifier ? macros.get(token.spelling) : undefined;
      if (macro === undefined || token.flags & neverExpand) result.push(token);
      else if (macro.disabled) result.push({ ...token, flags: token.flags | neverExpand });
      else this.replace(token, macro, reader, result);
    }
    reader.release();
    this.depth--;
    return result;
  }

  private replace(name: Lexeme, macro: Macro, reader: ExpansionReader, result: Lexeme[]): void {
    const { body, builtin } = macro;
    if (builtin !== undefined) {
      result.push(this.builtin(name, builtin, reader));
    } else if (body.parameters === undefined) {
      const tokens = body.plain ?? substitute(body, noArguments, this);
      reader.enter(tokens, macro, name.flags);
    } else if (!reader.opensCall()) {
      result.push(name);
    } else {
      this.call(name, macro, reader, result);
    }
  }

  private call(name: Lexeme, macro: Macro, reader: ExpansionReader, result: Lexeme[]): void {
    const { texts } = this.host.spellings;
    const { body } = macro;
    const scan = reader.closesCall();
    this.spend(scan.steps >> 2);
    if (!scan.closes) {
      if (reader.readsFile) {
        this.host.noteCall(`The call of macro ${texts[body.name]} is not closed: it is not expanded. Add ).`);
      }
      result.push(name);
      return;
    }
    const parameters = body.parameters ?? [];
    const call = this.collect(reader, parameters.length, body.variadic);
    const given = call.starts.length;
    const isEnough = given === parameters.length || (body.variadic && given === parameters.length - 1);
    if (!call.closed || !isEnough) {
      if (call.closed) {
        const wanted = `${body.variadic ? 'at least ' : ''}${body.variadic ? parameters.length - 1 : parameters.length}`;
        const message = `Macro ${texts[body.name]} takes ${wanted} arguments and gets ${given}: it is not expanded.`;
        this.host.noteCall(message);
      }
      result.push(name);
      reader.enter(call.tokens, undefined, -1);
      return;
    }
    const tokens = body.plain ?? substitute(body, this.argumentsOf(call), this);
    reader.enter(tokens, macro, name.flags);
  }

  /** Reads the tokens of a call from its `(` to its `)`. */
  private collect(reader: ExpansionReader, wanted: number, variadic: boolean): Call {
    const tokens: Lexeme[] = [];
    const starts: number[] = [];
    const ends: number[] = [];
    let depth = 0;
    let start = 1;
    for (let token = reader.nextOfCall(); token !== undefined && this.spend(1); token = reader.nextOfCall()) {
      const index = tokens.length;
      tokens.push(token);
      if (token.spelling === Fixed.leftParenthesis) depth++;
      else if (token.spelling === Fixed.rightParenthesis) {
        if (--depth > 0) continue;
        // `f()` gives no argument to a macro without parameters, and one empty argument to any other
        if (wanted > 0 || starts.length > 0 || index > 1) {
          starts.push(start);
          ends.push(index);
        }
        return { tokens, starts, ends, closed: true };
      } else if (depth === 1 && token.spelling === Fixed.comma && !(variadic && starts.length >= wanted - 1)) {
        starts.push(start);
        ends.push(index);
        start = index + 1;
      }
    }
    return { tokens, starts, ends, closed: false };
  }

  private argumentsOf(call: Call) {
    const expanded: Lexeme[][] = [];
    const raw = (parameter: number) => call.tokens.slice(call.starts[parameter] ?? 0, call.ends[parameter] ?? 0);
    return {
      raw,
      expanded: (parameter: number) => (expanded[parameter] ??= this.expand(raw(parameter), undefined)),
    };
  }

  private builtin(name: Lexeme, builtin: BuiltinMacro, reader: ExpansionReader): Lexeme {
    if (builtin === 'defined') return this.inCondition ? this.truth(name, this.isDefined(reader)) : name;
    if (builtin === 'hasInclude' || builtin === 'hasFeature') {
      if (!this.inCondition || !reader.opensCall() || !reader.closesCall().closes) return name;
      const operand = this.collect(reader, 1, true).tokens.slice(1, -1);
      return this.truth(name, builtin === 'hasInclude' && this.host.hasInclude(operand));
    }
    const value = this.host.builtinValue(builtin);
    if (value === undefined) return name;
    return { ...name, kind: value.kind, spelling: this.host.spellings.intern(value.text), start: -1, end: -1 };
  }

  private isDefined(reader: ExpansionReader): boolean {
    const first = reader.next();
    if (first?.spelling !== Fixed.leftParenthesis) return first !== undefined && this.isMacroName(first);
    const name = reader.next();
    reader.next(); // the closing parenthesis
    return name !== undefined && this.isMacroName(name);
  }

  private isMacroName(token: Lexeme): boolean {
    const macro = this.host.macros.get(token.spelling);
    return macro !== undefined && macro.builtin !== 'defined' && macro.builtin !== 'pragma';
  }

  private truth(at: Lexeme, value: boolean): Lexeme {
    return { ...at, kind: TokenKind.number, spelling: value ? Fixed.one : Fixed.zero };
  }
}

/** The tokens of a call, parentheses included, and where in them its arguments begin and end. */
interface Call {
  readonly tokens: Lexeme[];
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  /** The end of the text did not come before the `)`. */
  readonly closed: boolean;
}

const noArguments = { raw: () => [], expanded: () => [] };

/** An expansion that is being read. */
interface Context {
  readonly tokens: readonly Lexeme[];
  index: number;
  /** The macro it comes from, disabled meanwhile. */
  readonly macro: Macro | undefined;
  /** Flags of the name it replaces, whose spacing goes to its first token; -1: none. */
  readonly lead: number;
}

class ExpansionReader {
  private readonly contexts: Context[] = [];

  constructor(
    input: readonly Lexeme[],
    private readonly source: TokenSource | undefined,
  ) {
    this.contexts.push({ tokens: input, index: 0, macro: undefined, lead: -1 });
  }

  /** Whether a call may go on in the file behind the expansion. */
  get readsFile(): boolean {
    return this.source !== undefined;
  }

  enter(tokens: readonly Lexeme[], macro: Macro | undefined, lead: number): void {
    if (macro !== undefined) macro.disabled = true;
    this.contexts.push({ tokens, index: 0, macro, lead });
  }

  /** The next token of the expansions; undefined when all are read. */
  next(): Lexeme | undefined {
    const context = this.current();
    if (context === undefined) return undefined;
    const token = context.tokens[context.index++];
    return context.index === 1 && context.lead >= 0 ? respaced(token, context.lead) : token;
  }

  /** The next token, from the file where the expansions are read. */
  nextOfCall(): Lexeme | undefined {
    return this.next() ?? this.source?.take();
  }

  opensCall(): boolean {
    const context = this.current();
    if (context === undefined) return this.source?.opensCall() ?? false;
    return context.tokens[context.index].spelling === Fixed.leftParenthesis;
  }

  /** Whether the call whose `(` is next is closed in what can be read; and how many tokens that took to find out. */
  closesCall(): { closes: boolean; steps: number } {
    let depth = 0;
    let steps = 0;
    for (let level = this.contexts.length - 1; level >= 0; level--) {
      const { tokens, index } = this.contexts[level];
      for (let at = index; at < tokens.length; at++) {
        steps++;
        if (tokens[at].spelling === Fixed.leftParenthesis) depth++;
        else if (tokens[at].spelling === Fixed.rightParenthesis && --depth === 0) return { closes: true, steps };
      }
    }
    return { closes: this.source?.closesCall(depth) ?? false, steps };
  }

  /** Ends the reading where it is. */
  release(): void {
    for (const { macro } of this.contexts) if (macro !== undefined) macro.disabled = false;
    this.contexts.length = 0;
  }

  /** The innermost expansion with something left in it; those read to their end are left, and their macros usable again. */
  private current(): Context | undefined {
    for (let context = this.contexts.at(-1); context !== undefined; context = this.contexts.at(-1)) {
      if (context.index < context.tokens.length) return context;
      if (context.macro !== undefined) context.macro.disabled = false;
      this.contexts.pop();
    }
    return undefined;
  }
}
