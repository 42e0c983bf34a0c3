/** The directives, each obeyed where it stands. Groups whose condition is false are stepped over at once. */

import { evaluateCondition } from './condition';
import { include } from './includes';
import type { Directive } from './lexed-file';
import { endOfGroup } from './line-structure';
import { compileMacro, type MacroBody } from './macro';
import { keepPragma } from './pragmas';
import { Fixed } from './spellings';
import { TokenKind } from './token';
import type { Frame, Site, Unit } from './unit';

type Handler = (unit: Unit, frame: Frame, directive: Directive, site: Site) => void;

/** By the spelling of the name. What is not here (`#error`, `#warning`, `#line`, …) has no effect on the tokens. */
const handlers: ReadonlyMap<number, Handler> = new Map<number, Handler>([
  [Fixed.define, define],
  [Fixed.undef, (unit, frame, directive) => unit.macros.undefine(nameOf(frame, directive))],
  [Fixed.include, include],
  // the next header of the same name is one of the system's
  [Fixed.includeNext, () => undefined],
  [Fixed.import, include],
  [Fixed.if, beginCondition],
  [Fixed.ifdef, beginCondition],
  [Fixed.ifndef, beginCondition],
  [Fixed.elif, skipRest],
  [Fixed.elifdef, skipRest],
  [Fixed.elifndef, skipRest],
  [Fixed.else, skipRest],
  [Fixed.endif, endCondition],
  [Fixed.pragma, pragma],
]);

/** Obeys the directive that begins at the frame's next token, and goes on behind its line, or behind what it hides. */
export function followDirective(unit: Unit, frame: Frame): void {
  const { lexed } = frame;
  const directive = lexed.directives[frame.directive++];
  frame.index = directive.end;
  // what is malformed in a directive does not matter: #error may hold any text
  while (lexed.problems[frame.problem]?.token < directive.end) frame.problem++;
  const handler = handlers.get(directive.name);
  if (handler === undefined) return;
  const site = { file: frame.file, start: lexed.start[directive.hash], end: lexed.end[directive.end - 1] };
  handler(unit, frame, directive, site);
}

/** Spelling of the name behind a directive, or -1. */
function nameOf(frame: Frame, directive: Directive): number {
  const at = directive.hash + 2;
  return at < directive.end && frame.lexed.kind[at] === TokenKind.identifier ? frame.lexed.spelling[at] : -1;
}

function define(unit: Unit, frame: Frame, directive: Directive, site: Site): void {
  const { compiledMacros } = frame.lexed;
  let body: MacroBody | string | undefined = compiledMacros.get(directive.hash);
  if (body === undefined) {
    body = compileMacro(frame.lexed, directive);
    if (typeof body === 'string') {
      unit.note(site, body);
      return;
    }
    compiledMacros.set(directive.hash, body);
  }
  if (unit.macros.get(body.name)?.builtin === undefined) {
    unit.macros.define({ body, builtin: undefined, file: frame.file, disabled: false });
  }
}

/** Whether the group that a directive begins is to be read; `#else` is as `#elif 1`. */
function isTrue(unit: Unit, frame: Frame, directive: Directive): boolean {
  const { lexed } = frame;
  const { name, hash, end } = directive;
  if (name === Fixed.else) return true;
  if (name !== Fixed.if && name !== Fixed.elif) {
    const isDefined = unit.macros.get(nameOf(frame, directive)) !== undefined;
    return isDefined === (name === Fixed.ifdef || name === Fixed.elifdef);
  }
  const site = { file: frame.file, start: lexed.start[hash], end: lexed.end[end - 1] };
  const tokens = unit.expandLine(unit.lexemes(lexed, hash + 2, end), site, true);
  const value = evaluateCondition(tokens, unit.spellings);
  if (typeof value !== 'string') return value !== 0n;
  unit.note(site, `This condition has no value: ${value}. It is taken as false.`);
  return false;
}

/** An `#if` that somebody is typing: it has no condition yet, and the file has one `#endif` too few. */
function isUnfinished({ lexed }: Frame, { name, hash, end }: Directive): boolean {
  if (name === Fixed.elif || hash + 2 < end) return false;
  const opened = lexed.directives.filter((d) => conditions.has(d.name)).length;
  return opened > lexed.directives.filter((d) => d.name === Fixed.endif).length;
}

const conditions: ReadonlySet<number> = new Set([Fixed.if, Fixed.ifdef, Fixed.ifndef]);

function beginCondition(unit: Unit, frame: Frame, directive: Directive, site: Site): void {
  if (isUnfinished(frame, directive)) {
    unit.note(site, 'This condition is not written yet: it is ignored. Write it and its #endif.');
    return;
  }
  frame.conditionals.push(site);
  const { directives, count } = frame.lexed;
  let current = directive;
  while (!isTrue(unit, frame, current)) {
    const index = endOfGroup(directives, frame.directive, false);
    // without its #endif it is half typed, at least in the file that is being edited: what follows stays
    if (directives[index] === undefined && unit.frames.length === 1) return;
    current = directives[index];
    unit.skipTo(frame, current?.hash ?? count);
    if (current === undefined) return;
    frame.directive = index + 1;
    frame.index = current.end;
    if (current.name !== Fixed.endif) continue;
    frame.conditionals.pop();
    return;
  }
}

/** An `#else` or `#elif` behind a group that was read: all up to the `#endif` is hidden. */
function skipRest(unit: Unit, frame: Frame, _: Directive, site: Site): void {
  if (frame.conditionals.length === 0) {
    unit.note(site, 'This directive has no #if before it: it is ignored. Add #if, or remove it.');
    return;
  }
  const { directives, count } = frame.lexed;
  const index = endOfGroup(directives, frame.directive, true);
  unit.skipTo(frame, directives[index]?.hash ?? count);
}

function endCondition(unit: Unit, frame: Frame, _: Directive, site: Site): void {
  if (frame.conditionals.pop() === undefined) {
    unit.note(site, 'This #endif has no #if before it: it is ignored. Add #if, or remove it.');
  }
}

function pragma(unit: Unit, frame: Frame, directive: Directive, site: Site): void {
  if (nameOf(frame, directive) === Fixed.once) unit.once.add(frame.path);
  else keepPragma(unit, unit.lexemes(frame.lexed, directive.hash + 2, directive.end), site);
}
