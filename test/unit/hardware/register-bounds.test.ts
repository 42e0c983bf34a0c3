/** What bounds a compiler's registers; the expectations were read off ptxas 13.0 for the same kernel. */
import assert from 'node:assert/strict';
import { capability } from '../../../server/src/hardware/capabilities';
import { type BoundsGiven, compilerBound } from '../../../server/src/hardware/register-bounds';

function check(cc: string, given: BoundsGiven, expected: string): void {
  const row = capability(cc);
  assert.ok(row);
  const bound = compilerBound(row, given);
  const text = bound ? `${bound.registers} by ${bound.by}${bound.ignoresMinBlocks ? ', blocks ignored' : ''}` : 'none';
  assert.equal(text, expected);
}

describe('bounds of registers', () => {
  it('launch bounds: so many that the blocks fit', () => {
    check('9.0', { launchBounds: { maxThreads: 1024 } }, '64 by __launch_bounds__');
    check('9.0', { launchBounds: { maxThreads: 1024, minBlocks: 2 } }, '32 by __launch_bounds__');
    check('8.0', { launchBounds: { maxThreads: 256, minBlocks: 8 } }, '32 by __launch_bounds__');
  });
  it('a minimum of blocks that the multiprocessor cannot hold is ignored, as ptxas warns', () => {
    check('7.5', { launchBounds: { maxThreads: 1024, minBlocks: 2 } }, '64 by __launch_bounds__, blocks ignored');
    check('12.0', { launchBounds: { maxThreads: 256, minBlocks: 8 } }, '255 by __launch_bounds__, blocks ignored');
  });
  it('-maxrregcount holds where the kernel says nothing, from 24 to 255', () => {
    check('9.0', { flag: 35 }, '35 by -maxrregcount');
    check('9.0', { flag: 8 }, '24 by -maxrregcount');
    check('9.0', { flag: 300 }, 'none');
    check('9.0', { flag: 24, launchBounds: { maxThreads: 1024 } }, '64 by __launch_bounds__');
    check('9.0', { flag: 24, maxRegisters: 36 }, '36 by __maxnreg__');
  });
  it('nothing given, nothing bound', () => check('9.0', {}, 'none'));
});
