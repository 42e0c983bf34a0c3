import assert from 'node:assert/strict';
import fc from 'fast-check';
import { type PreprocessResult, TokenFlag, TokenKind } from '../../../server/src/preprocess/token';
import { preprocessText } from './preprocess-text';

/** What holds for any text. */
function checkInvariants(result: PreprocessResult): void {
  const { tokens } = result;
  const { count, kind, text, flags, file, start, end, expansion, expansions, files } = tokens;
  assert.equal(text.length, count);
  assert.equal(kind.indexOf(TokenKind.endOfFile), count - 1);
  let reached = 0;
  for (let index = 0; index < count; index++) {
    const source = files[file[index]].text;
    assert.ok(0 <= start[index] && start[index] <= end[index] && end[index] <= source.length);
    const isOfMacro = (flags[index] & TokenFlag.fromMacro) !== 0;
    assert.equal(isOfMacro, expansion[index] >= 0 && expansion[index] < expansions.length);
    if (isOfMacro || file[index] !== 0) continue;
    assert.ok(start[index] >= reached, 'tokens of the main file in order');
    reached = end[index];
    // a token is spelled as written, but for line continuations
    const written = source.slice(start[index], end[index]);
    if (!written.includes('\\')) assert.equal(text[index], written);
  }
  for (const { beforeToken } of [...result.comments, ...result.pragmas]) assert.ok(beforeToken < count);
  for (const note of result.notes) assert.ok(note.start <= note.end && note.end <= files[note.file].text.length);
  for (const [name, definition] of result.macros) assert.equal(name, definition.name);
}

const byte = fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code));
const pieces = fc.constantFrom(
  ...[
    'A',
    'B',
    'F',
    'G',
    'x',
    '1',
    "1'0",
    '.5e',
    '(',
    ')',
    '(',
    ')',
    ',',
    '#',
    '##',
    '...',
    '<<<',
    '>>>',
    '\n',
    '\n',
    ' ',
    '\\\n',
    '\\',
  ],
  ...[
    '"',
    "'",
    'R"(',
    ')"',
    '/*',
    '*/',
    '//',
    '// warplens: n=1\n',
    '\n#if ',
    '\n#ifdef A\n',
    '\n#elif ',
    '\n#else\n',
    '\n#endif\n',
  ],
  ...[
    '\n#define A ',
    '\n#define F(x, ...) ',
    '\n#define G(x) ',
    '\n#undef A\n',
    '\n#include "h"\n',
    '\n#include <',
    '\n#pragma unroll ',
  ],
  ...[
    'F(',
    'G(',
    'F(A, B)',
    'G(G)',
    '#x',
    'x ## x',
    '__VA_ARGS__',
    '__VA_OPT__(',
    ', ## __VA_ARGS__',
    '_Pragma("unroll 2")',
    '_Pragma(',
  ],
  ...[
    'defined ',
    '__has_include(',
    '__LINE__',
    '__COUNTER__',
    '&&',
    '?',
    ':',
    '/ 0',
    '-',
    '\0',
    '\ufeff',
    '\r\n',
    '\ud83d',
    'é',
  ],
);
const soup = fc.array(pieces, { maxLength: 60 }).map((parts) => parts.join(''));

describe('any text', () => {
  it('of random bytes is read', () => {
    fc.assert(
      fc.property(fc.array(byte, { maxLength: 200 }), (bytes) => checkInvariants(preprocessText(bytes.join('')))),
      {
        numRuns: 300,
      },
    );
  });

  it('of random macros is read', () => {
    fc.assert(
      fc.property(soup, soup, (text, header) => checkInvariants(preprocessText(text, { h: header }))),
      { numRuns: 1500 },
    );
  });

  it('of plain words and numbers comes through as written', () => {
    const word = fc.stringMatching(/^([a-z]{1,6}|[0-9]{1,4}|[-+*/=<>]|[{}();])$/);
    fc.assert(
      fc.property(fc.array(word, { maxLength: 40 }), (words) => {
        assert.deepEqual(preprocessText(words.join(' ')).tokens.text, [...words, '']);
      }),
    );
  });

  it('is expanded as by textual substitution where macros are constants', () => {
    const values = fc.array(fc.integer({ min: 0, max: 99 }), { minLength: 3, maxLength: 3 });
    const uses = fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 20 });
    fc.assert(
      fc.property(values, uses, (constants, indices) => {
        const defines = constants.map((value, index) => `#define C${index} ${value}\n`).join('');
        const { tokens } = preprocessText(`${defines}${indices.map((index) => `C${index}`).join('\n')}`);
        assert.deepEqual(
          tokens.text.slice(0, -1),
          indices.map((index) => String(constants[index])),
        );
      }),
    );
  });
});
