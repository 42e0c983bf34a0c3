import assert from 'node:assert/strict';
import { lineAndColumn } from '../../../server/src/preprocess/positions';
import { TokenFlag, TokenKind } from '../../../server/src/preprocess/token';
import { placeOf, preprocessText } from './preprocess-text';

/** Every token of the text, with the place it stands at. */
function places(text: string): string[] {
  const result = preprocessText(text);
  return result.tokens.text.slice(0, -1).map((token, index) => `${token} @ ${placeOf(result, index)}`);
}

function positionOf(text: string, offset: number): [number, number] {
  const [file] = preprocessText(text).tokens.files;
  const { line, column } = lineAndColumn(file, offset);
  return [line, column];
}

describe('positions', () => {
  it('places what a macro makes at its call', () => {
    assert.deepEqual(places('#define N 4\nint a = N;'), ['int @ int', 'a @ a', '= @ =', '4 @ N', '; @ ;']);
  });

  it('places an argument on the line of the macro name where it is written', () => {
    assert.deepEqual(places('#define NEG(x) -x\nNEG(a[i]);'), [
      '- @ NEG(a[i])',
      'a @ a',
      '[ @ [',
      'i @ i',
      '] @ ]',
      '; @ ;',
    ]);
  });

  it('places an argument on another line at the call', () => {
    assert.deepEqual(places('#define ID(x) x\nID(a,\n  b)'.replace('(x)', '(...)').replace(' x', ' __VA_ARGS__')), [
      'a @ a',
      ', @ ,',
      'b @ ID(a,\n  b)',
    ]);
  });

  it('places arguments through nested calls', () => {
    assert.deepEqual(places('#define F(x) [x]\n#define G(x) F(x)\nG(F(a))'), [
      '[ @ G(F(a))',
      '[ @ G(F(a))',
      'a @ a',
      '] @ G(F(a))',
      '] @ G(F(a))',
    ]);
  });

  it('places what is joined or stringified at the call', () => {
    assert.deepEqual(places('#define J(x, y) x##y #x\nJ(a, b)'), ['ab @ J(a, b)', '"a" @ J(a, b)']);
  });

  it('takes in the whole of a call that goes on behind its macro', () => {
    assert.deepEqual(places('#define F(x) 1\n#define G F\nG (2);'), ['1 @ G (2)', '; @ ;']);
  });

  it('says which tokens are of an expansion, and of which', () => {
    const text = '#define N 4\n#define ID(x) x\na N ID(b)';
    const { tokens } = preprocessText(text);
    assert.deepEqual([...tokens.expansion], [-1, 0, 1, -1]);
    assert.deepEqual(
      Array.from(tokens.flags, (flags) => (flags & TokenFlag.fromMacro) !== 0),
      [false, true, true, false],
    );
    assert.deepEqual(
      tokens.expansions.map((expansion) => expansion.macro),
      ['N', 'ID'],
    );
    const [{ definition }] = tokens.expansions;
    assert.equal(text.slice(definition?.start, definition?.end), 'N 4');
  });

  it('gives predefined macros no place', () => {
    const { tokens } = preprocessText('P', {}, { defines: new Map([['P', '1']]) });
    assert.deepEqual(tokens.expansions, [{ macro: 'P', definition: undefined }]);
  });

  it('removes a byte-order mark and keeps CRLF', () => {
    const { tokens } = preprocessText('\ufeffint a;\r\nb');
    assert.equal(tokens.files[0].text, 'int a;\r\nb');
    assert.deepEqual([...tokens.start], [0, 4, 5, 8, 9]);
  });

  it('ends in one token at the end of the file', () => {
    const { tokens } = preprocessText('a // b');
    assert.equal(tokens.count, 2);
    assert.deepEqual([tokens.kind[1], tokens.start[1], tokens.end[1]], [TokenKind.endOfFile, 6, 6]);
    assert.equal(preprocessText('').tokens.count, 1);
  });

  it('counts lines and columns from 1, for all kinds of line breaks', () => {
    assert.deepEqual(positionOf('a\nbc', 0), [1, 1]);
    assert.deepEqual(positionOf('a\nbc', 3), [2, 2]);
    assert.deepEqual(positionOf('a\r\nb\rc\n\nd', 5), [3, 1]);
    assert.deepEqual(positionOf('a\r\nb\rc\n\nd', 8), [5, 1]);
    assert.deepEqual(positionOf('a\n', 99), [2, 1]);
    assert.deepEqual(positionOf('a\nb', -5), [1, 1]);
  });
});
