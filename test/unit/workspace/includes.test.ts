import * as assert from 'node:assert/strict';
import * as path from 'node:path';
import { includeReader } from '../../../server/src/workspace/includes';
import { cudaFile, filesUnder, HeaderIndex } from '../../../server/src/workspace/source-tree';
import { TextCache } from '../../../server/src/workspace/text-files';
import { temporaryFolder } from '../../host/bundle';

describe('includes', () => {
  let folder: string;
  let remove: () => void;
  before(() => {
    ({ folder, remove } = temporaryFolder({
      'src/main.cu': '',
      'src/near.h': 'near',
      'src/sub/both.h': 'beside',
      'include/both.h': 'in the include path',
      'include/lib/deep.cuh': 'deep',
      'other/lib/deep.cuh': 'far away',
      'src/lib/hidden.cuh': 'hidden',
      'node_modules/x/skipped.cuh': 'never',
      'toolkit/cuda_runtime.h': 'runtime',
      'toolkit/vector.h': 'toolkit',
    }));
  });
  after(() => remove());

  function check(
    written: string,
    from: string,
    expected: string | undefined,
    includePaths: readonly string[] = [],
  ): void {
    const read = includeReader({
      open: new Map([[path.join(folder, 'src/open.h'), 'unsaved']]),
      includePaths: includePaths.map((each) => path.join(folder, each)),
      headers: new HeaderIndex([folder]),
      texts: new TextCache(),
    });
    const found = read(written.slice(1, -1), written.startsWith('"'), path.join(folder, from));
    assert.equal(found?.text, expected);
  }

  it('finds a quoted header beside the file that includes it', () => {
    check('"near.h"', 'src/main.cu', 'near');
    check('"sub/both.h"', 'src/main.cu', 'beside');
    check('"../near.h"', 'src/sub/both.h', 'near');
  });
  it('looks in the include paths, for angle brackets there only', () => {
    check('<both.h>', 'src/sub/x.cu', 'in the include path', ['include']);
    check('"both.h"', 'src/sub/x.cu', 'beside', ['include']);
  });
  it('finds a header anywhere in the workspace by the end of its path, the nearest one', () => {
    check('<lib/hidden.cuh>', 'src/main.cu', 'hidden');
    check('"lib/deep.cuh"', 'other/x.cu', 'far away');
    check('"lib/deep.cuh"', 'include/x.cu', 'deep');
    check('"skipped.cuh"', 'src/main.cu', undefined);
  });
  it('takes the text of an open document first', () => {
    check('"open.h"', 'src/main.cu', 'unsaved');
  });
  it('leaves the toolkit’s own headers alone', () => {
    check('<vector.h>', 'src/main.cu', 'toolkit', []);
    const read = includeReader({
      open: new Map(),
      includePaths: [path.join(folder, 'toolkit')],
      texts: new TextCache(),
    });
    assert.equal(read('vector.h', false, path.join(folder, 'src/main.cu')), undefined);
  });
  it('keeps paths relative where the includer’s is, and tells what was read', () => {
    const used: string[] = [];
    const read = includeReader({
      open: new Map(),
      includePaths: [],
      texts: new TextCache(),
      used: (file) => used.push(file),
    });
    const from = path.relative('.', path.join(folder, 'src/main.cu'));
    assert.equal(read('near.h', true, from)?.path, path.join(path.dirname(from), 'near.h'));
    assert.deepEqual(used, [path.join(folder, 'src/near.h')]);
  });
  it('walks folders in order, without those that hold no sources', () => {
    const found = [...filesUnder(folder, cudaFile)].map((file) => path.relative(folder, file));
    assert.deepEqual(
      found,
      ['include/lib/deep.cuh', 'other/lib/deep.cuh', 'src/main.cu', 'src/lib/hidden.cuh'].map(path.normalize),
    );
  });
});
