import * as assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { runWithKeptCode } from '../../../server/src/worker/code-cache';
import { temporaryFolder } from '../../host/bundle';

describe('code that is kept of a bundle', () => {
  let folder: string;
  let remove: () => void;
  let program: string;
  let kept: string;
  beforeEach(() => {
    const bundle = "const path = require('node:path'); globalThis.wasRun = [path.basename(__filename), 6 * 7];";
    const made = temporaryFolder({ 'bundle.js': bundle });
    ({ folder, remove } = made);
    program = path.join(folder, 'bundle.js');
    kept = path.join(folder, 'kept', 'code');
  });
  afterEach(() => {
    Reflect.deleteProperty(globalThis, 'wasRun');
    remove();
  });

  /** Runs the bundle; true if what was kept has served. */
  function serves(): boolean {
    const keep = runWithKeptCode(program, kept);
    assert.deepEqual(Reflect.get(globalThis, 'wasRun'), ['bundle.js', 42]);
    keep?.();
    return keep === undefined;
  }
  const files = (): string[] => fs.readdirSync(kept);
  const onlyFile = (): string => path.join(kept, files()[0]);

  it('serves the next start', () => {
    assert.deepEqual([serves(), serves(), serves()], [false, true, true]);
    assert.equal(files().length, 1);
  });

  it('is made anew where it is damaged, short or empty', () => {
    serves();
    const whole = fs.readFileSync(onlyFile());
    const flipped = Buffer.from(whole);
    flipped[whole.length - 20] ^= 1;
    for (const damaged of [flipped, whole.subarray(0, 100), Buffer.alloc(0)]) {
      fs.writeFileSync(onlyFile(), damaged);
      assert.deepEqual([serves(), serves()], [false, true]);
    }
  });

  it('of another version is not used, and taken away', () => {
    serves();
    fs.appendFileSync(program, '// 2');
    assert.deepEqual([serves(), serves()], [false, true]);
    assert.equal(files().length, 1);
  });

  it('is missed by nobody where it cannot be written', () => {
    fs.writeFileSync(path.join(folder, 'kept'), 'a file where the folder should be');
    assert.deepEqual([serves(), serves()], [false, false]);
  });
});
