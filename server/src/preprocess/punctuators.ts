/** Punctuators of more than one character, longest first for each leading character. CUDA's `<<<` and `>>>` are among them. */
const longPunctuators = [
  ['<<<', '<<=', '<=>', '<<', '<='],
  ['>>>', '>>=', '>>', '>='],
  ['->*', '->', '--', '-='],
  ['...', '.*'],
  ['::'],
  ['##'],
  ['++', '+='],
  ['*='],
  ['/='],
  ['%='],
  ['^='],
  ['&&', '&='],
  ['||', '|='],
  ['==', '='],
  ['!='],
];

const byFirst: (readonly (readonly number[])[])[] = [];
for (const group of longPunctuators) {
  byFirst[group[0].charCodeAt(0)] = group.map((text) => [...text].map((character) => character.charCodeAt(0)));
}
const secondCharacters = new Uint8Array(128);
for (const text of longPunctuators.flat()) if (text.length > 1) secondCharacters[text.charCodeAt(1)] = 1;

/** Length of the longest punctuator at `start`, whose first character is `first`. */
export function punctuatorLength(text: string, start: number, first: number): number {
  const second = text.charCodeAt(start + 1);
  if (!(second < 128 && secondCharacters[second])) return 1;
  const candidates = byFirst[first];
  if (candidates === undefined) return 1;
  for (const candidate of candidates) {
    if (candidate[1] !== second && candidate.length > 1) continue;
    if (candidate.length === 3 && candidate[2] !== text.charCodeAt(start + 2)) continue;
    return candidate.length;
  }
  return 1;
}
