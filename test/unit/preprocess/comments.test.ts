import assert from 'node:assert/strict';
import { placeOf, preprocessText } from './preprocess-text';

/** The comments to Warplens of a text: keyword, text, and the token that follows. */
function commentsOf(text: string): string[] {
  const { comments, tokens } = preprocessText(text);
  return comments.map(({ keyword, text, beforeToken }) => `${keyword} | ${text} | ${tokens.text[beforeToken]}`);
}

describe('comments to Warplens', () => {
  it('collects them with the token that follows', () => {
    assert.deepEqual(commentsOf('a; // warplens: n = 3\n/* warplens: block 32 */ b'), [
      'warplens | n = 3 | b',
      'warplens | block 32 | b',
    ]);
    assert.deepEqual(commentsOf('// warplens-ignore-next-line bank-conflict\na; // warplens-ignore: all'), [
      'warplens-ignore-next-line | bank-conflict | a',
      'warplens-ignore | all | ',
    ]);
  });

  it('collects only those that begin so', () => {
    assert.deepEqual(commentsOf('// see warplens: no\n// warplensed\n// Warplens: no\n"// warplens: no"'), []);
    assert.deepEqual(commentsOf('/// warplens: yes\na'), ['warplens | yes | a']);
  });

  it('tells prose from an annotation by the colon', () => {
    const { comments } = preprocessText('// warplens is fine\n// warplens : n=1');
    assert.deepEqual(
      comments.map((comment) => comment.hasColon),
      [false, true],
    );
  });

  it('gives the range of the comment', () => {
    const text = 'a \\\n /* warplens: x\n y */ b';
    const [{ start, end, text: content }] = preprocessText(text).comments;
    assert.equal(text.slice(start, end), '/* warplens: x\n y */');
    assert.equal(content, 'x\n y');
  });

  it('collects them behind directives and within calls, not in groups that are not read', () => {
    assert.deepEqual(
      commentsOf('#define A 1 // warplens: a\n#if 0\n// warplens: b\n#else\n// warplens: c\n#endif\n// warplens: d\nx'),
      ['warplens | a | x', 'warplens | c | x', 'warplens | d | x'],
    );
    assert.deepEqual(commentsOf('#define ID(x) x\na ID(b\n// warplens: w\n c) d'), ['warplens | w | b']);
  });
});

/** The pragmas of a text: as written, argument, and the token that follows. */
function pragmasOf(text: string): string[] {
  const { pragmas, tokens, notes } = preprocessText(text);
  assert.deepEqual(notes, []);
  return pragmas.map(({ text, argument, beforeToken }) => `${text} | ${argument} | ${tokens.text[beforeToken]}`);
}

describe('pragmas', () => {
  it('keeps unroll in all its forms', () => {
    assert.deepEqual(pragmasOf('#pragma unroll\nfor (;;);\n#pragma unroll 4\nwhile (1);\n# pragma unroll(N + 1)\ndo'), [
      'unroll |  | for',
      'unroll 4 | 4 | while',
      'unroll(N + 1) | N + 1 | do',
    ]);
    assert.deepEqual(pragmasOf('#pragma nounroll\nfor'), ['nounroll |  | for']);
  });

  it('expands macros in it', () =>
    assert.deepEqual(pragmasOf('#define N 8\n#pragma unroll N\nfor'), ['unroll 8 | 8 | for']));

  it('keeps _Pragma, in macros too', () => {
    assert.deepEqual(pragmasOf('_Pragma("unroll 2") for'), ['unroll 2 | 2 | for']);
    assert.deepEqual(pragmasOf('#define UNROLL(n) _Pragma(#n)\n#define LOOP UNROLL(unroll (3)) for\nLOOP (;;)'), [
      'unroll (3) | 3 | for',
    ]);
  });

  it('leaves no token of a pragma behind, and keeps no other', () => {
    const result = preprocessText(
      '#define P _Pragma("omp parallel") x\n#pragma nv_diag_suppress 1\nP _Pragma("once") y',
    );
    assert.deepEqual(result.tokens.text, ['x', 'y', '']);
    assert.deepEqual(result.pragmas, []);
  });

  it('places a pragma at its directive, or at the macro call', () => {
    const text = '#define UNROLL _Pragma("unroll")\n#pragma unroll 4 // four\nUNROLL for';
    const result = preprocessText(text);
    assert.deepEqual(
      result.pragmas.map(({ start, end }) => text.slice(start, end)),
      ['#pragma unroll 4', 'UNROLL'],
    );
    assert.equal(placeOf(result, 0), 'for');
  });
});
