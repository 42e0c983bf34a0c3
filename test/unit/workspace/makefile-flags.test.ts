import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { Makefiles, makefileFlags } from '../../../server/src/workspace/makefile-flags';

/** The macros of a Makefile's text, as `NAME=value`. */
function check(text: string, ...expected: string[]): void {
  assert.deepEqual(
    [...makefileFlags(text, '/p').defines].map(([name, value]) => `${name}=${value}`),
    expected,
  );
}

describe('Makefile flags', () => {
  it('are the literal words behind variables of flags', () => {
    check('CFLAGS := $(EXTRA) -DINT -O3 -DN=4\n', 'INT=1', 'N=4');
    check('NVCC_FLAGS = -arch=sm_80 \\\n  -DTILE=32 # -DOLD\n', 'TILE=32');
    check('override DEFINES += -DA\nexport CPPFLAGS ?= -D B=2\n', 'A=1', 'B=2');
  });
  it('of conditionals, recipes and other variables do not count', () => {
    check('ifeq ($(DEBUG),yes)\nCFLAGS += -DDEBUG\nelse\nCFLAGS += -DNDEBUG\nendif\nCFLAGS += -DX\n', 'X=1');
    check('all:\n\tnvcc -DRECIPE main.cu\nTARGET = -DNO\n');
    check('CFLAGS = -D$(NAME) -DV=$(V)\n');
  });
  it('come from the nearest Makefile, within the workspace', () => {
    const root = fs.mkdtempSync(path.join(os.tmpdir(), 'makefile-'));
    try {
      fs.mkdirSync(path.join(root, 'a', 'src'), { recursive: true });
      fs.writeFileSync(path.join(root, 'Makefile'), 'CFLAGS = -DOUTER -Iinclude');
      fs.writeFileSync(path.join(root, 'a', 'Makefile'), 'CFLAGS = -DINNER');
      const makefiles = new Makefiles();
      const of = (file: string, folder = root) => makefiles.flagsFor(path.join(root, file), [folder]);
      assert.deepEqual([...of('a/src/k.cu').defines.keys()], ['INNER']);
      assert.deepEqual(of('k.cu').includePaths, [path.join(root, 'include')]);
      assert.equal(of('a/src/k.cu', path.join(root, 'a', 'src')).defines.size, 0);
    } finally {
      fs.rmSync(root, { recursive: true });
    }
  });
});
