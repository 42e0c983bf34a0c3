/** What a character can begin or continue in C++ text. */

export const CharacterClass = {
  other: 0,
  space: 1,
  newline: 2,
  identifier: 3,
  digit: 4,
  punctuator: 5,
  doubleQuote: 6,
  singleQuote: 7,
} as const;

function fillClasses(): Uint8Array {
  const classes = new Uint8Array(128);
  const put = (characters: string, value: number) => {
    for (const character of characters) classes[character.charCodeAt(0)] = value;
  };
  // NUL, vertical tab and form feed separate tokens and mean nothing else
  put(' \t\v\f\0', CharacterClass.space);
  put('\n\r', CharacterClass.newline);
  // `$` is an identifier character to GCC, Clang and NVCC
  put('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$', CharacterClass.identifier);
  put('0123456789', CharacterClass.digit);
  put('{}[]();:?.~!+-*/%^&|=<>,#', CharacterClass.punctuator);
  put('"', CharacterClass.doubleQuote);
  put("'", CharacterClass.singleQuote);
  return classes;
}

/** Class of every ASCII character. */
export const asciiClasses: Uint8Array = fillClasses();

const identifierPart = /[\p{XID_Continue}\p{Emoji_Presentation}]/u;
const wideSpace = /[\u0085\u00a0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000\ufeff]/;

/** Class of the UTF-16 unit at `position` where that unit is not ASCII; both halves of a surrogate pair get the same. */
export function wideClass(text: string, position: number): number {
  const unit = text.charCodeAt(position);
  const isTrail = unit >= 0xdc00 && unit < 0xe000 && position > 0;
  const lead = isTrail ? text.charCodeAt(position - 1) : 0;
  const code = text.codePointAt(lead >= 0xd800 && lead < 0xdc00 ? position - 1 : position) ?? unit;
  const character = String.fromCodePoint(code);
  if (identifierPart.test(character)) return CharacterClass.identifier;
  return wideSpace.test(character) ? CharacterClass.space : CharacterClass.other;
}

/** Class of the character at `position`; `other` behind the end. */
export function classAt(text: string, position: number): number {
  const code = text.charCodeAt(position);
  if (code < 128) return asciiClasses[code];
  return position < text.length ? wideClass(text, position) : CharacterClass.other;
}

/** Whether the character at `position` continues an identifier. */
export function continuesIdentifier(text: string, position: number): boolean {
  const value = classAt(text, position);
  return value === CharacterClass.identifier || value === CharacterClass.digit;
}
