/** Arithmetic types by the words that spell them. */
import type { BuiltinTypeName } from './ast';

const bases: ReadonlyMap<string, BuiltinTypeName> = new Map([
  ['void', 'void'],
  ['bool', 'bool'],
  ['_Bool', 'bool'],
  ['float', 'float'],
  ['wchar_t', 'wchar_t'],
  ['char8_t', 'char8_t'],
  ['char16_t', 'char16_t'],
  ['char32_t', 'char32_t'],
]);

/** The type that type words in any order spell (`long unsigned int long`); undefined if they spell none. */
export function canonicalBuiltin(words: readonly string[]): BuiltinTypeName | undefined {
  if (words.length === 1) {
    const base = bases.get(words[0]);
    if (base) return base;
  }
  let unsigned = 0;
  let signed = 0;
  let longs = 0;
  let shorts = 0;
  const rest: string[] = [];
  for (const word of words) {
    if (word === 'unsigned') unsigned++;
    else if (word === 'signed' || word === '__signed__') signed++;
    else if (word === 'long') longs++;
    else if (word === 'short') shorts++;
    else if (word === '__int64') longs += 2;
    else if (word !== 'int') rest.push(word);
  }
  if (rest.length > 1 || unsigned + signed > 1) return undefined;
  const base = rest[0];
  if (base === 'double') return longs === 1 ? 'long double' : longs === 0 ? 'double' : undefined;
  if (base === 'char') return unsigned ? 'unsigned char' : signed ? 'signed char' : 'char';
  if (base === '__int128') return unsigned ? 'unsigned __int128' : '__int128';
  if (base !== undefined) return undefined;
  const name = shorts ? 'short' : longs >= 2 ? 'long long' : longs === 1 ? 'long' : 'int';
  return unsigned ? `unsigned ${name}` : name;
}
