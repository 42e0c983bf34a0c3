import assert from 'node:assert/strict';
import { lex } from '../../../server/src/preprocess/lexer';
import { Spellings } from '../../../server/src/preprocess/spellings';
import { TokenFlag, TokenKind } from '../../../server/src/preprocess/token';

const letters: Record<number, string> = {
  [TokenKind.identifier]: 'i',
  [TokenKind.number]: 'n',
  [TokenKind.string]: 's',
  [TokenKind.character]: 'c',
  [TokenKind.punctuator]: 'p',
  [TokenKind.unknown]: '?',
};

function read(text: string) {
  const spellings = new Spellings();
  const file = lex(text, spellings);
  const texts = Array.from(file.spelling, (id) => spellings.texts[id]);
  return { file, texts, kinds: Array.from(file.kind, (kind) => letters[kind]).join('') };
}

/** The tokens, with a letter for the kind of each. */
function check(text: string, expected: string[], kinds: string): void {
  const { texts, kinds: read_ } = read(text);
  assert.deepEqual(texts, expected);
  assert.equal(read_, kinds);
}

describe('lexer', () => {
  it('takes the longest punctuator', () => {
    check('a->*b.*c<=>d...e::f', ['a', '->*', 'b', '.*', 'c', '<=>', 'd', '...', 'e', '::', 'f'], 'ipipipipipi');
    check('x+++++y', ['x', '++', '++', '+', 'y'], 'ipppi');
    check('a<<=b>>=c', ['a', '<<=', 'b', '>>=', 'c'], 'ipipi');
  });

  it('takes <<< and >>> as one token, and >> where only two stand', () => {
    check('k<<<g,b>>>(p)', ['k', '<<<', 'g', ',', 'b', '>>>', '(', 'p', ')'], 'ipipippip');
    check('A<B<int>> c', ['A', '<', 'B', '<', 'int', '>>', 'c'], 'ipipipi');
  });

  it('reads numbers with separators, exponents and suffixes', () => {
    check(
      "1'000'000u 0x1p-3f .5e+10 1.f 0b10'01 12_km",
      ["1'000'000u", '0x1p-3f', '.5e+10', '1.f', "0b10'01", '12_km'],
      'nnnnnn',
    );
    check('1+2 a.b 3...4', ['1', '+', '2', 'a', '.', 'b', '3...4'], 'npnipin');
  });

  it('reads strings and characters with prefixes and suffixes', () => {
    check(`L"a" u8"b" U'c' "d"_x "e"s`, ['L"a"', 'u8"b"', "U'c'", '"d"_x', '"e"s'], 'sscss');
    check(String.raw`"a\"b" '\''`, [String.raw`"a\"b"`, String.raw`'\''`], 'sc');
  });

  it('keeps a macro name that touches a string apart', () => {
    check('"%"PRIu64"\\n"', ['"%"', 'PRIu64', '"\\n"'], 'sis');
  });

  it('reads raw strings over lines and with delimiters', () => {
    check('R"(a"b\n//)" u8R"x()")x"', ['R"(a"b\n//)"', 'u8R"x()")x"'], 'ss');
  });

  it('splices lines anywhere, but not in raw strings', () => {
    check('ab\\\ncd +\\\r\n= "x\\\ny" // gone \\\n gone too\nz', ['abcd', '+=', '"xy"', 'z'], 'ipsi');
    check('a\\\n R"(\\\n)" b', ['a', 'R"(\\\n)"', 'b'], 'isi');
  });

  it('splices a line behind two backslashes, as nvcc does, but behind no more', () => {
    check('f(a, \\\\\n  b) \\\\ \r\nc', ['f', '(', 'a', ',', 'b', ')', 'c'], 'ipipipi');
    check('a \\\\ b', ['a', '\\', '\\', 'b'], 'i??i');
    check('a \\\\\\\nb', ['a', '\\', 'b'], 'i?i');
  });

  it('places tokens of spliced text in the text as written', () => {
    const text = 'x\\\n  ab\\\ncd R"(\\\n)" e';
    const { file } = read(text);
    const places = Array.from(file.start, (start, index) => text.slice(start, file.end[index]));
    assert.deepEqual(places, ['x', 'ab\\\ncd', 'R"(\\\n)"', 'e']);
  });

  it('marks the first token of a line, and white space before a token', () => {
    const { file } = read('a b\n  c/**/d e(');
    const { lineStart, spaceBefore } = TokenFlag;
    assert.deepEqual([...file.flags], [lineStart, spaceBefore, lineStart | spaceBefore, spaceBefore, spaceBefore, 0]);
  });

  it('reads names in any script', () => check('größe + 变量 + 𝑥', ['größe', '+', '变量', '+', '𝑥'], 'ipipi'));

  it('makes a token of its own of what belongs to no token', () =>
    check('a @ ` \\ \u0001', ['a', '@', '`', '\\', '\u0001'], 'i????'));

  it('reads the path of an include as one token', () => {
    check("#include <a//b'c.h> // d", ['#', 'include', "<a//b'c.h>"], 'pis');
    check('x include <a', ['x', 'include', '<', 'a'], 'iipi');
  });

  it('ends a string that is not closed with its line, and says so', () => {
    const { file, texts } = read('"abc\nint x; /* open');
    assert.deepEqual(texts, ['"abc', 'int', 'x', ';']);
    assert.deepEqual(
      file.problems.map(({ start, end }) => [start, end]),
      [
        [0, 4],
        [12, 19],
      ],
    );
  });
});
