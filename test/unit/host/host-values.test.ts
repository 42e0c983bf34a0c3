/** The programs of test/host-values: no value is told that is wrong, and those marked with `//=` are all told. */
import assert from 'node:assert/strict';
import { hostPrograms, scoreOfRun, scoreOfText, shownBy } from '../../../scripts/host-values';

describe('values of host programs', () => {
  for (const name of hostPrograms())
    it(name, () => {
      for (const shown of shownBy(name)) {
        const [run, text] = [scoreOfRun(shown), scoreOfText(shown)];
        const expected = `line ${shown.line}: ${shown.expected.join(' ')}`;
        assert.equal(run.wrong, 0, `${expected}, by the run ${shown.run.join(' ')}`);
        assert.equal(text.wrong, 0, `${expected}, by the text ${shown.text.join(' ')}`);
        if (shown.isWhole) assert.equal(run.unknown, 0, `${expected} is not told`);
      }
    });
});
