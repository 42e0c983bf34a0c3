/** Macro definitions: what `#define` means, compiled once, and the table of those in force. */

import type { Directive, LexedFile } from './lexed-file';
import { Fixed, type Spellings } from './spellings';
import { type MacroDefinition, TokenFlag, TokenKind } from './token';

/** A token while macros are expanded. Immutable and shared. */
export interface Lexeme {
  readonly kind: number;
  readonly spelling: number;
  /** `TokenFlag.spaceBefore` and `neverExpand` count here. */
  readonly flags: number;
  /** Its own range, if the token is to keep it; -1: it stands where the outermost macro call stands. */
  readonly start: number;
  readonly end: number;
}

/** Flag of a lexeme: the name of a macro met within its own expansion, which is not expanded any more, wherever it goes. */
export const neverExpand = 0x80;

export const ItemKind = {
  token: 0,
  parameter: 1,
  /** `#parameter` */
  stringified: 2,
  /** `__VA_OPT__( … )` */
  optional: 3,
  /** `#__VA_OPT__( … )` */
  stringifiedOptional: 4,
  /** The comma of `, ## __VA_ARGS__`: it goes where no variable argument is given (GNU). */
  optionalComma: 5,
} as const;

/** One piece of a macro's body. */
export interface BodyItem {
  readonly kind: number;
  /** The token itself, or the one that names the parameter or operator (for its spacing). */
  readonly token: Lexeme;
  /** Parameter index of `parameter` and `stringified`. */
  readonly parameter: number;
  /** Content of the two `optional` kinds. */
  readonly items: readonly BodyItem[];
  /** `##` follows. */
  joinsNext: boolean;
  /** Operand of `##`: a parameter's argument goes in unexpanded. */
  raw: boolean;
}

/** What a `#define` line says; shared by all units that read the file. */
export interface MacroBody {
  readonly name: number;
  /** Spellings of the parameters; undefined for an object-like macro. The last one of a variadic macro takes the rest. */
  readonly parameters: readonly number[] | undefined;
  readonly variadic: boolean;
  readonly items: readonly BodyItem[];
  /** The body as tokens, if it has neither parameters in it nor `##`. */
  readonly plain: readonly Lexeme[] | undefined;
  /** Token range of the definition: from the name to the end of the line. */
  readonly start: number;
  readonly end: number;
  /** The replacement list as written. */
  readonly tokens: readonly Lexeme[];
}

/** Names that the preprocessor itself replaces. */
export type BuiltinMacro =
  | 'line'
  | 'file'
  | 'baseFile'
  | 'counter'
  | 'includeLevel'
  | 'date'
  | 'time'
  | 'pragma'
  /** `defined` and the like: they mean something in `#if` only */
  | 'defined'
  | 'hasInclude'
  | 'hasFeature';

export interface Macro {
  readonly body: MacroBody;
  readonly builtin: BuiltinMacro | undefined;
  /** Index of the file with the definition, or -1. */
  readonly file: number;
  /** Its expansion is being read: the name is not expanded now. */
  disabled: boolean;
  /** An object-like macro whose expansion ran over the budget: it will again. */
  isBomb?: boolean;
}

const builtinNames: ReadonlyMap<string, BuiltinMacro> = new Map([
  ['__LINE__', 'line'],
  ['__FILE__', 'file'],
  ['__BASE_FILE__', 'baseFile'],
  ['__COUNTER__', 'counter'],
  ['__INCLUDE_LEVEL__', 'includeLevel'],
  ['__DATE__', 'date'],
  ['__TIME__', 'time'],
  ['_Pragma', 'pragma'],
  ['defined', 'defined'],
  ['__has_include', 'hasInclude'],
  ['__has_include_next', 'hasInclude'],
  ['__has_attribute', 'hasFeature'],
  ['__has_cpp_attribute', 'hasFeature'],
  ['__has_builtin', 'hasFeature'],
  ['__has_feature', 'hasFeature'],
  ['__has_extension', 'hasFeature'],
]);

/** The macros in force, by the spelling of their names. */
export class MacroTable {
  private readonly bySpelling = new Map<number, Macro>();
  private marks: Uint8Array;

  constructor(private readonly spellings: Spellings) {
    this.marks = new Uint8Array(spellings.count + 1024);
    for (const [name, builtin] of builtinNames) {
      const spelling = spellings.intern(name);
      const body = {
        name: spelling,
        parameters: undefined,
        variadic: false,
        items: [],
        plain: [],
        start: 0,
        end: 0,
        tokens: [],
      };
      this.define({ body, builtin, file: -1, disabled: false });
    }
  }

  /** 1 at the spelling of every macro. May be shorter than the table of spellings: what lies behind is no macro. */
  get isMacro(): Uint8Array {
    return this.marks;
  }

  get(spelling: number): Macro | undefined {
    return this.marks[spelling] === 1 ? this.bySpelling.get(spelling) : undefined;
  }

  define(macro: Macro): void {
    const { name } = macro.body;
    if (name >= this.marks.length) this.reserve(Math.max(name + 1, this.spellings.count) * 2);
    this.marks[name] = 1;
    this.bySpelling.set(name, macro);
  }

  undefine(spelling: number): void {
    if (this.bySpelling.delete(spelling)) this.marks[spelling] = 0;
  }

  /** Makes `isMacro` at least so long, so that hot loops read inside of it. */
  reserve(length: number): void {
    if (length <= this.marks.length) return;
    const marks = new Uint8Array(length + (length >> 1));
    marks.set(this.marks);
    this.marks = marks;
  }

  /** All macros that a `#define` or the host has defined, as plain data. */
  definitions(): Map<string, MacroDefinition> {
    const { texts } = this.spellings;
    const result = new Map<string, MacroDefinition>();
    for (const { body, builtin, file } of this.bySpelling.values()) {
      if (builtin) continue;
      const name = texts[body.name];
      result.set(name, {
        name,
        parameters: body.parameters?.map((parameter) => texts[parameter]),
        variadic: body.variadic,
        body: body.tokens.map((token) => texts[token.spelling]),
        definition: file < 0 ? undefined : { file, start: body.start, end: body.end },
      });
    }
    return result;
  }
}

/** Reads a `#define` line; a string says what is wrong with it. */
export function compileMacro(file: LexedFile, directive: Directive): MacroBody | string {
  const nameAt = directive.hash + 2;
  if (nameAt >= directive.end || file.kind[nameAt] !== TokenKind.identifier) {
    return 'This #define names no macro: write #define NAME text.';
  }
  let bodyAt = nameAt + 1;
  let parameters: number[] | undefined;
  let variadic = false;
  const touches = bodyAt < directive.end && !(file.flags[bodyAt] & TokenFlag.spaceBefore);
  if (touches && file.spelling[bodyAt] === Fixed.leftParenthesis) {
    const list = readParameters(file, bodyAt + 1, directive.end);
    if (list === undefined) return 'The parameters of this macro are malformed: write #define NAME(a, b, ...) text.';
    ({ parameters, variadic, next: bodyAt } = list);
  }
  const tokens = bodyLexemes(file, bodyAt, directive.end);
  const items = compileItems(tokens, parameters, variadic);
  const isPlain = items.every((item) => item.kind === ItemKind.token && !item.joinsNext);
  return {
    name: file.spelling[nameAt],
    parameters,
    variadic,
    items,
    plain: isPlain ? tokens : undefined,
    start: file.start[nameAt],
    end: file.end[directive.end - 1],
    tokens,
  };
}

function readParameters(
  file: LexedFile,
  from: number,
  end: number,
): { parameters: number[]; variadic: boolean; next: number } | undefined {
  const parameters: number[] = [];
  let variadic = false;
  let at = from;
  if (at < end && file.spelling[at] === Fixed.rightParenthesis) return { parameters, variadic, next: at + 1 };
  while (at < end && !variadic) {
    if (file.spelling[at] === Fixed.ellipsis) {
      parameters.push(Fixed.vaArgs);
      variadic = true;
      at++;
    } else if (file.kind[at] === TokenKind.identifier) {
      parameters.push(file.spelling[at++]);
      if (at < end && file.spelling[at] === Fixed.ellipsis) {
        variadic = true; // `args...`: GNU's name for the variable arguments
        at++;
      }
    } else return undefined;
    if (at >= end) return undefined;
    if (file.spelling[at] === Fixed.rightParenthesis) return { parameters, variadic, next: at + 1 };
    if (file.spelling[at++] !== Fixed.comma) return undefined;
  }
  return undefined;
}

function bodyLexemes(file: LexedFile, from: number, end: number): Lexeme[] {
  const lexemes: Lexeme[] = [];
  for (let index = from; index < end; index++) {
    // space before the first token of the body is no part of it
    const flags = index === from ? 0 : file.flags[index] & TokenFlag.spaceBefore;
    lexemes.push({ kind: file.kind[index], spelling: file.spelling[index], flags, start: -1, end: -1 });
  }
  return lexemes;
}

function compileItems(
  tokens: readonly Lexeme[],
  parameters: readonly number[] | undefined,
  variadic: boolean,
  isWithinOptional = false,
): BodyItem[] {
  const items: BodyItem[] = [];
  const parameterOf = (token: Lexeme | undefined) =>
    token !== undefined && token.kind === TokenKind.identifier ? (parameters?.indexOf(token.spelling) ?? -1) : -1;
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index];
    const last = items[items.length - 1];
    if (token.spelling === Fixed.hashHash && last !== undefined && index + 1 < tokens.length) {
      last.joinsNext = true;
      last.raw = true;
      continue;
    }
    const item = {
      kind: ItemKind.token as number,
      token,
      parameter: -1,
      items: [] as BodyItem[],
      joinsNext: false,
      raw: false,
    };
    const hashed = token.spelling === Fixed.hash && parameters !== undefined && index + 1 < tokens.length;
    const subject = hashed ? tokens[index + 1] : token;
    // __VA_OPT__ does not nest
    const optionalEnd = variadic && !isWithinOptional ? optionalEndAt(tokens, hashed ? index + 1 : index) : -1;
    if (optionalEnd >= 0) {
      const open = hashed ? index + 2 : index + 1;
      item.kind = hashed ? ItemKind.stringifiedOptional : ItemKind.optional;
      item.items = compileItems(tokens.slice(open + 1, optionalEnd), parameters, variadic, true);
      index = optionalEnd;
    } else if (parameterOf(subject) >= 0) {
      item.kind = hashed ? ItemKind.stringified : ItemKind.parameter;
      item.parameter = parameterOf(subject);
      if (hashed) index++;
    }
    if (last?.joinsNext) {
      item.raw = true;
      const isRest = variadic && item.kind === ItemKind.parameter && item.parameter === (parameters?.length ?? 0) - 1;
      if (isRest && last.token.spelling === Fixed.comma && last.kind === ItemKind.token) {
        items[items.length - 1] = { ...last, kind: ItemKind.optionalComma, joinsNext: false };
      }
    }
    items.push(item);
  }
  return items;
}

/** Index of the `)` that closes `__VA_OPT__(` at `at`, or -1. */
function optionalEndAt(tokens: readonly Lexeme[], at: number): number {
  if (tokens[at]?.spelling !== Fixed.vaOpt || tokens[at + 1]?.spelling !== Fixed.leftParenthesis) return -1;
  let depth = 0;
  for (let index = at + 1; index < tokens.length; index++) {
    if (tokens[index].spelling === Fixed.leftParenthesis) depth++;
    else if (tokens[index].spelling === Fixed.rightParenthesis && --depth === 0) return index;
  }
  return -1;
}
