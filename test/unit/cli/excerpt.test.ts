import * as assert from 'node:assert/strict';
import { excerpt } from '../../../server/src/cli/excerpt';

/** The excerpt of a one-line text for the part of it that stands between brackets. */
function check(marked: string, expected: readonly [source: string, carets: string]): void {
  const from = marked.indexOf('«');
  const line = marked.replace(/[«»]/g, '');
  const range = { line: 1, column: from + 1, endLine: 1, endColumn: marked.indexOf('»') };
  const lines = excerpt([line], range, (text) => text).map((each) => each.slice(8));
  assert.deepEqual(lines, expected);
}

describe('an excerpt', () => {
  it('has carets under the range', () => {
    check('a[«index»] = 1;', ['a[index] = 1;', '  ^~~~~']);
    check('«a» = 1;', ['a = 1;', '^']);
  });
  it('keeps tabs, so that the carets stand right in every terminal', () => {
    check('\ta\t«b»;', ['\ta\tb;', '\t \t^']);
  });
  it('cuts long lines around the range', () => {
    const [source, carets] = excerpt(
      [`${'x'.repeat(500)}target;`],
      { line: 1, column: 501, endLine: 1, endColumn: 507 },
      (text) => text,
    );
    assert.ok(source.length < 200);
    assert.equal(source.slice(carets.indexOf('^'), carets.lastIndexOf('~') + 1), 'target');
  });
  it('marks to the end of the line when the range goes on', () => {
    const lines = excerpt(['ab\r', 'cd'], { line: 1, column: 2, endLine: 2, endColumn: 2 }, (text) => text);
    assert.deepEqual(lines, ['    1 | ab', '      |  ^']);
  });
  it('is empty where there is no such line', () => {
    assert.deepEqual(
      excerpt(['a'], { line: 7, column: 1, endLine: 7, endColumn: 2 }, (text) => text),
      [],
    );
  });
});
