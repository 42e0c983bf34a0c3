import assert from 'node:assert/strict';
import { LexCache } from '../../../server/src/preprocess/lex-cache';
import { type Headers, preprocessText, spelled } from './preprocess-text';

/** The main text with the headers comes down to the tokens; `notes` are parts of the notes' messages. */
function check(text: string, headers: Headers, expected: string, notes: string[] = []): void {
  const result = preprocessText(text, headers);
  assert.equal(spelled(result), expected);
  assert.equal(result.notes.length, notes.length);
  notes.forEach((note, index) => {
    assert.ok(result.notes[index].message.includes(note), result.notes[index].message);
  });
}

describe('#include', () => {
  it('reads a header in place, and its macros', () => {
    check('a\n#include "h"\nN', { h: '#define N 1\nb' }, 'a b 1');
  });

  it('takes quoted, angled and computed names', () => {
    check(
      '#include <a/b.h>\n#include "c.h"\n#define H <d.h>\n#include H\n#define Q "e.h"\n#include Q',
      { 'a/b.h': '1', 'c.h': '2', 'd.h': '3', 'e.h': '4' },
      '1 2 3 4',
    );
  });

  it('skips what is not to be had: system headers silently', () => {
    check('#include <cstdio>\n#include "mine.h"\na', {}, 'a', ['mine.h was not found']);
  });

  it('says when no file is named', () => check('#include\n#include 7\na', {}, 'a', ['names no file', 'names no file']));

  it('reads a file with #pragma once, or with a guard, once', () => {
    const headers = {
      once: '#pragma once\n1',
      guard: '// text\n#ifndef G\n#define G\n2\n#endif\n',
      other: '#if !defined(O)\n#define O\n3\n#endif',
      none: '#ifndef X\n#endif\n4',
    };
    const all = '#include "once"\n#include "guard"\n#include "other"\n#include "none"\n';
    check(all + all, headers, '1 2 3 4 4');
  });

  it('tells in which file each token stands', () => {
    const { tokens } = preprocessText('a\n#include "h"\nb\n#include "h"', { h: 'c' });
    assert.deepEqual([...tokens.file], [0, 1, 0, 1, 0]);
    assert.deepEqual(
      tokens.files.map((file) => file.path),
      ['main.cu', 'h'],
    );
  });

  it('ends a condition with its file', () => {
    check('#include "h"\na', { h: '#if 0\nb' }, 'a', ['has no #endif']);
    check('#if 1\n#include "h"\na\n#endif', { h: '#endif' }, 'a', ['no #if before']);
  });

  it('gives the same with a cache, whatever was read before', () => {
    const lexCache = new LexCache();
    const header = '#define F(x) x + N\n#define N 1\n';
    const text = '#include "h"\nF(a) \\\n F(b) // warplens: c\n';
    const first = preprocessText(text, { h: header }, { lexCache });
    assert.deepEqual(preprocessText(text, { h: header }, { lexCache }), first);
    assert.deepEqual(preprocessText(text, { h: header }), first);
    assert.equal(spelled(preprocessText(text, { h: '#define F(x) [x]' }, { lexCache })), '[ a ] [ b ]');
  });

  it('forgets the files not used for longest when the cache is full', () => {
    const lexCache = new LexCache(100, 2000);
    for (let round = 0; round < 300; round++) {
      const text = `int name_${round}_a, name_${round}_b, name_${round}_c, name_${round}_d, name_${round}_e, name_${round}_f;`;
      const result = preprocessText(text, {}, { path: `file${round}`, lexCache });
      assert.equal(spelled(result).replaceAll(' ', ''), text.replaceAll(' ', ''));
    }
    assert.ok(lexCache.spellings.count < 2100);
  });
});
