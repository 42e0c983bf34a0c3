/** Names that are used like types although nobody declares them: their headers were not read. */
import { TokenFlag, type TokenStream } from '../preprocess/token';
import { Word } from './words';

/**
 * Names in places where only a type makes sense: `Name x;`, `const Name&`, `static_cast<Name>`. A hint for `(Name)(x)` and
 * `Name(x)` in the same unit, never stronger than a declaration.
 */
export function typeEvidence(tokens: TokenStream, classes: Uint16Array): ReadonlySet<string> {
  const { text, flags, count } = tokens;
  const found = new Set<string>();
  for (let i = 1; i + 2 < count; i++) {
    if (!(classes[i] & Word.name)) continue;
    const next = text[i + 1];
    const previous = text[i - 1];
    if (classes[i + 1] & Word.name) {
      if (!(flags[i + 1] & TokenFlag.lineStart) && startsPlace.has(previous) && endsPlace.has(text[i + 2]))
        found.add(text[i]);
    } else if (previous === 'const') {
      if (next === '&' || next === '*') found.add(text[i]);
    } else if (previous === '<' && (next === '>' || next === '*') && i >= 2 && text[i - 2].endsWith('_cast'))
      found.add(text[i]);
    else if (next === '*' && (previous === '(' || previous === ',') && text[i + 2] === ')') found.add(text[i]);
  }
  return found;
}

const startsPlace = new Set([';', '{', '}', '(', ',', 'const', 'static', 'constexpr', '__shared__', 'volatile']);
const endsPlace = new Set([';', '=', ',', ')', '[', '{', '(']);
