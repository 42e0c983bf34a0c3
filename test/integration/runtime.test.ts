/** The Node that the editor brings is another than the one that builds and tests. */
import * as assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as path from 'node:path';

describe("the editor's own Node", () => {
  it('runs the analysis and complains about none of the flags that V8 is told', () => {
    const cli = path.resolve(__dirname, '..', '..', 'cli.js');
    const env = { ...process.env, ELECTRON_RUN_AS_NODE: '1' };
    const { stderr, status } = spawnSync(process.execPath, [cli, '--version'], { encoding: 'utf8', env });
    assert.deepEqual({ status, stderr }, { status: 0, stderr: '' }, `V8 ${process.versions.v8}`);
  });
});
