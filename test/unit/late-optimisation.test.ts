import * as assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { lateFlags } from '../../server/src/late-optimisation';

describe('what V8 is told', () => {
  it('nothing that this version does not know', () => {
    const { stderr, status } = spawnSync(process.execPath, [...lateFlags(process.versions.v8), '-e', '0'], {
      encoding: 'utf8',
    });
    assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
  });
  it('something in every version of Node from 20 on that was tried', () => {
    for (const version of ['11.3.244.8-node.33', '12.4.254.21-node.57', '13.6.233.17-node.53', '14.6.202.34-node.34']) {
      assert.notEqual(lateFlags(version).length, 0, version);
    }
  });
  it('nothing where it was not tried', () => {
    assert.deepEqual(lateFlags('99.1.0'), []);
  });
});
