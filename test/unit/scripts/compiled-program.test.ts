import assert from 'node:assert/strict';
import { definesIn, definesOf } from '../../../scripts/compiled-program';

const check = (found: ReadonlyMap<string, string>, expected: Record<string, string>): void =>
  assert.deepEqual(Object.fromEntries(found), expected);

describe('macros of recorded programs', () => {
  it('of the flags that all files were compiled with', () =>
    check(definesIn(['-O3', '-DBLOCK=64', '-DFAST', '-Iinclude']), { BLOCK: '64', FAST: '1' }));
  it('of a first line', () => check(definesOf('// nvcc: -std=c++17 -DN=8\nint n = N;'), { N: '8' }));
  it('none', () => check(definesOf('int n;\n// nvcc: -DN=8'), {}));
});
