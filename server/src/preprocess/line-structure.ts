import type { Directive } from './lexed-file';
import { Fixed, type Spellings } from './spellings';
import { TokenFlag, TokenKind } from './token';

/** The directives of a file: every `#` that begins a line, with its name and the end of its line. */
export function findDirectives(flags: Uint8Array, spelling: Int32Array, kind: Uint8Array): Directive[] {
  const directives: Directive[] = [];
  for (let hash = 0; hash < flags.length; hash++) {
    if (spelling[hash] !== Fixed.hash || !(flags[hash] & TokenFlag.lineStart)) continue;
    let end = hash + 1;
    while (end < flags.length && !(flags[end] & TokenFlag.lineStart)) end++;
    const named = end > hash + 1 && kind[hash + 1] === TokenKind.identifier;
    directives.push({ hash, name: named ? spelling[hash + 1] : -1, end });
    hash = end - 1;
  }
  return directives;
}

/**
 * Index (from `from` on) of the directive that ends the group just begun: `#elif`, `#else` or `#endif` of the same
 * level, or with `onlyEnd` the `#endif`. The number of directives if there is none.
 */
export function endOfGroup(directives: readonly Directive[], from: number, onlyEnd: boolean): number {
  let depth = 0;
  for (let index = from; index < directives.length; index++) {
    const { name } = directives[index];
    if (isConditionalStart(name)) depth++;
    else if (name === Fixed.endif) {
      if (depth-- === 0) return index;
    } else if (depth === 0 && !onlyEnd && isConditionalElse(name)) return index;
  }
  return directives.length;
}

export function isConditionalStart(name: number): boolean {
  return name === Fixed.if || name === Fixed.ifdef || name === Fixed.ifndef;
}

export function isConditionalElse(name: number): boolean {
  return name === Fixed.else || name === Fixed.elif || name === Fixed.elifdef || name === Fixed.elifndef;
}

/** Spelling of the macro of an include guard that encloses the whole file (`#ifndef X` or `#if !defined(X)`), or -1. */
export function findGuard(
  directives: readonly Directive[],
  spelling: Int32Array,
  kind: Uint8Array,
  spellings: Spellings,
): number {
  const first = directives[0];
  if (first === undefined || first.hash !== 0) return -1;
  const close = endOfGroup(directives, 1, false);
  if (close !== directives.length - 1) return -1;
  const last = directives[close];
  if (last.name !== Fixed.endif || last.end !== spelling.length) return -1;
  if (first.name === Fixed.ifndef) return kind[2] === TokenKind.identifier && first.end > 2 ? spelling[2] : -1;
  if (first.name !== Fixed.if) return -1;
  const condition = Array.from(spelling.subarray(2, first.end), (id) => spellings.texts[id]).join(' ');
  const match = /^! defined (?:\( )?([A-Za-z_]\w*)(?: \))?$/.exec(condition);
  return match ? spellings.intern(match[1]) : -1;
}
