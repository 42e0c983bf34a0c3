/** The first step: from the text of a file to the tokens that the compiler's parser would see. */

import { followDirective } from './directives';
import { FileSource } from './file-source';
import type { Lexeme, Macro } from './macro';
import { isPragmaOperator, keepPragmaOperator } from './pragmas';
import { Fixed } from './spellings';
import { type PreprocessOptions, type PreprocessResult, TokenFlag, TokenKind } from './token';
import { Frame, lexemeAt, type Site, Unit } from './unit';

/**
 * Preprocesses one translation unit as a C++17 compiler does: directives obeyed, includes read through the host,
 * macros expanded. Every token has the place in the text that a user would point at.
 *
 * Takes any text and never throws; what is malformed or over budget is reported in `notes` and read around. The stream
 * always ends in one endOfFile token, at the end of the main file.
 */
export function preprocess(options: PreprocessOptions): PreprocessResult {
  const unit = new Unit(options);
  readDefines(unit);
  const main = unit.cache.lex(options.path, options.text);
  unit.open(main, options.path);
  readAll(unit);
  const end = main.text.length;
  unit.cache.expectedTokens.set(options.path, unit.output.count);
  unit.output.push(TokenKind.endOfFile, '', 0, 0, end, end, -1);
  const { macros } = unit;
  let definitions: PreprocessResult['macros'] | undefined;
  return {
    tokens: unit.output.finish(unit.files),
    comments: unit.comments,
    pragmas: unit.pragmas,
    notes: unit.notes,
    // few ask for them: built at the first question
    get macros() {
      definitions ??= macros.definitions();
      return definitions;
    },
  };
}

/** The predefined macros as a text of #define lines, which the cache remembers like any file. */
function readDefines(unit: Unit): void {
  let text = '';
  for (const [name, value] of unit.options.defines) text += `#define ${name} ${value.replace(/[\r\n]+/g, ' ')}\n`;
  const lexed = unit.cache.lex('<predefined>', text);
  unit.macros.reserve(unit.spellings.count);
  unit.frames.push(new Frame(lexed, '<predefined>', -1));
  readAll(unit);
}

function readAll(unit: Unit): void {
  for (let frame = unit.frame; frame !== undefined; frame = unit.frame) {
    if (unit.output.count >= unit.budget.tokens) {
      const at = frame.lexed.start[frame.index] ?? 0;
      const message = `The file with its headers has more than ${unit.budget.tokens} tokens: the rest is not read.`;
      unit.note({ file: frame.file, start: at, end: at }, message);
      unit.frames.length = 0;
    } else if (frame.index >= frame.lexed.count) unit.close();
    else readStretch(unit, frame);
  }
}

/** Reads on to the next thing that is no plain token: a directive, a comment for us, a macro, the end of the file. */
function readStretch(unit: Unit, frame: Frame): void {
  const { lexed } = frame;
  unit.flushComments(frame, frame.index, unit.output.count);
  if (frame.atDirective) {
    followDirective(unit, frame);
    return;
  }
  const stop = Math.min(
    lexed.count,
    lexed.directives[frame.directive]?.hash ?? lexed.count,
    lexed.comments[frame.comment]?.token ?? lexed.count,
    frame.index + unit.budget.tokens - unit.output.count,
  );
  copyPlainTokens(unit, frame, stop);
  if (frame.index < stop) readMacro(unit, frame);
  unit.flushProblems(frame, frame.index);
}

/** Copies tokens up to `stop` or to the first macro name. The hot loop: it touches typed arrays only. */
function copyPlainTokens(unit: Unit, frame: Frame, stop: number): void {
  const { kind, spelling } = frame.lexed;
  const { isMacro } = unit.macros;
  let to = frame.index;
  while (to < stop && !(isMacro[spelling[to]] === 1 && kind[to] === TokenKind.identifier)) to++;
  copyTokens(unit, frame, to);
}

/** Copies the tokens up to `to` as they are. */
function copyTokens(unit: Unit, frame: Frame, to: number): void {
  const { output } = unit;
  const { texts } = unit.spellings;
  const { kind, flags, spelling, start, end } = frame.lexed;
  const from = frame.index;
  output.reserve(to - from);
  let at = output.count;
  for (let index = from; index < to; index++, at++) {
    output.kind[at] = kind[index];
    output.flags[at] = flags[index];
    output.file[at] = frame.file;
    output.start[at] = start[index];
    output.end[at] = end[index];
    output.expansion[at] = -1;
    output.text[at] = texts[spelling[index]];
  }
  output.count = at;
  frame.index = to;
}

/** Reads the macro whose name is the frame's next token. */
function readMacro(unit: Unit, frame: Frame): void {
  const { lexed, index } = frame;
  const macro = unit.macros.get(lexed.spelling[index]);
  if (macro === undefined) return;
  const name = { file: frame.file, start: lexed.start[index], end: lexed.end[index] };
  if (macro.builtin === 'pragma') readPragmaOperator(unit, frame, name);
  else if (macro.body.parameters !== undefined && !callFollows(frame)) copyTokens(unit, frame, index + 1);
  else expandCall(unit, frame, macro, name);
}

function callFollows(frame: Frame): boolean {
  const next = frame.index + 1;
  return next < frame.lexed.count && frame.lexed.spelling[next] === Fixed.leftParenthesis;
}

function readPragmaOperator(unit: Unit, frame: Frame, name: Site): void {
  const { index } = frame;
  const { kind, spelling, end, count } = frame.lexed;
  const isComplete = isPragmaOperator(
    index,
    count,
    (at) => kind[at],
    (at) => spelling[at],
  );
  if (!isComplete) {
    copyTokens(unit, frame, index + 1);
    return;
  }
  frame.index = index + 4;
  keepPragmaOperator(unit, unit.spellings.texts[spelling[index + 2]], { ...name, end: end[index + 3] });
}

/** Expands an outermost macro call, and puts the result where the call stands. */
function expandCall(unit: Unit, frame: Frame, macro: Macro, name: Site): void {
  const { lexed, index, directive } = frame;
  unit.site = name;
  frame.index = index + 1;
  let end = name.end;
  let result: readonly Lexeme[] | undefined = finalTokens(unit, macro);
  if (result === undefined && !macro.isBomb) {
    const source = new FileSource(unit, frame, name.end);
    result = unit.expander.run([lexemeAt(lexed, index, true)], unit.allowance, false, source);
    end = source.end;
  }
  if (result?.[0]?.start === name.start && frame.directive === directive) {
    // the name stays (its arguments do not fit, or it means nothing here): what follows is plain text
    frame.index = index;
    copyTokens(unit, frame, index + 1);
    return;
  }
  const call = { ...name, end };
  if (result === undefined) {
    const text = unit.spellings.texts[macro.body.name];
    const message = `Macro ${text} expands to more than ${unit.allowance} tokens or nests too deeply: it is left as a name.`;
    unit.note(call, message);
    if (!macro.isBomb) unit.overrun();
    macro.isBomb = macro.body.parameters === undefined;
    result = [{ kind: TokenKind.identifier, spelling: macro.body.name, flags: 0, start: -1, end: -1 }];
  }
  const first = unit.output.count;
  emit(unit, result, macro, call, lexed.flags[index]);
  unit.flushComments(frame, frame.index - 1, first);
}

/** The expansion of an object-like macro whose tokens name no macro themselves: most macros are constants. */
function finalTokens(unit: Unit, macro: Macro): readonly Lexeme[] | undefined {
  const { plain, parameters } = macro.body;
  if (plain === undefined || parameters !== undefined || macro.builtin !== undefined) return undefined;
  const { isMacro } = unit.macros;
  for (const { spelling, kind } of plain)
    if (kind === TokenKind.identifier && isMacro[spelling] === 1) return undefined;
  return plain;
}

function emit(unit: Unit, tokens: readonly Lexeme[], macro: Macro, call: Site, nameFlags: number): void {
  const { output } = unit;
  const { texts } = unit.spellings;
  const expansion = output.expansions.length;
  const { body, file } = macro;
  output.expansions.push({
    macro: texts[body.name],
    definition: file < 0 ? undefined : { file, start: body.start, end: body.end },
  });
  output.reserve(tokens.length);
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index];
    if (token.spelling === Fixed.pragmaOperator) {
      if (
        isPragmaOperator(
          index,
          tokens.length,
          (at) => tokens[at].kind,
          (at) => tokens[at].spelling,
        )
      ) {
        keepPragmaOperator(unit, texts[tokens[index + 2].spelling], call);
        index += 3;
        continue;
      }
    }
    const flags = index === 0 ? nameFlags : token.flags & TokenFlag.spaceBefore;
    const start = token.start >= 0 ? token.start : call.start;
    const end = token.start >= 0 ? token.end : call.end;
    output.push(token.kind, texts[token.spelling], flags | TokenFlag.fromMacro, call.file, start, end, expansion);
  }
}
