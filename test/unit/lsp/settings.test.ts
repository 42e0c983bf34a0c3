import * as assert from 'node:assert/strict';
import * as path from 'node:path';
import { readSettings, workspaceOf } from '../../../server/src/lsp/settings';

const folder = path.resolve('/project');

describe('settings', () => {
  it('have defaults, whatever they are given', () => {
    for (const nothing of [undefined, null, 3, 'x', [], {}]) {
      const { enable, codeLens, options, problems } = readSettings(nothing);
      assert.deepEqual([enable, codeLens, options.computeCapability, problems.length], [true, true, '9.0', 0]);
    }
  });
  it('are read', () => {
    const { options, enable, codeLens, includePaths } = readSettings({
      enable: false,
      computeCapability: '8.6',
      device: '',
      block: [32, 8],
      grid: [],
      dynamicSharedBytes: null,
      registersPerThread: 40,
      assume: { n: 4096 },
      programArguments: '4096 "two words"',
      defines: ['A', 'B=2'],
      includePaths: ['include'],
      codeLens: { enable: false },
    });
    assert.deepEqual([enable, codeLens, includePaths], [false, false, ['include']]);
    assert.deepEqual(options, {
      computeCapability: '8.6',
      device: undefined,
      block: [32, 8, 1],
      grid: undefined,
      dynamicSharedBytes: undefined,
      registersPerThread: 40,
      assume: new Map([['n', 4096]]),
      programArguments: ['4096', 'two words'],
      defines: new Map([
        ['A', '1'],
        ['B', '2'],
      ]),
    });
  });
  it('may leave the capability to the build', () => {
    const { followsBuild, options, problems } = readSettings({ computeCapability: 'auto' });
    assert.deepEqual([followsBuild, options.computeCapability, problems], [true, '9.0', []]);
  });
  it('that make no sense are told in one line each, and the default is used', () => {
    const wrong = {
      computeCapability: '7.7',
      block: [0],
      registersPerThread: -1,
      assume: { n: 'x' },
      defines: 'A',
      device: 3,
    };
    const { options, problems } = readSettings(wrong);
    assert.equal(problems.length, 6);
    for (const problem of problems) assert.match(problem, /^warplens\.\w+.*: /);
    assert.deepEqual([options.computeCapability, options.block, options.assume.size], ['9.0', undefined, 0]);
  });
  it('name folders relative to the workspace folder that holds the file', () => {
    const settings = readSettings({
      includePaths: ['include', path.resolve('/abs')],
      compileCommands: 'out/commands.json',
    });
    const other = path.resolve('/other');
    assert.deepEqual(workspaceOf(settings, path.join(folder, 'a.cu'), [other, folder]), {
      folders: [other, folder],
      includePaths: [path.join(folder, 'include'), path.resolve('/abs')],
      compileCommands: path.join(folder, 'out/commands.json'),
    });
  });
});
