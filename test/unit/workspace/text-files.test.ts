import * as assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { decodeSource, readSource, TextCache } from '../../../server/src/workspace/text-files';
import { temporaryFolder } from '../../host/bundle';

function check(bytes: Buffer | string, expected: object): void {
  assert.deepEqual(decodeSource(Buffer.from(bytes)), expected);
}

describe('source text', () => {
  it('is UTF-8, with or without a byte order mark', () => {
    check('int ä;\r\n', { text: 'int ä;\r\n' });
    check('\ufeffint a;', { text: 'int a;' });
    check('', { text: '' });
  });
  it('may be UTF-16 with a mark', () => {
    check(Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('int a;', 'utf16le')]), { text: 'int a;' });
  });
  it('is refused when binary, absent, a folder or too large, with the reason', () => {
    check(Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 0]), { problem: 'is a binary file' });
    const { folder, remove } = temporaryFolder({ 'large.cu': Buffer.alloc(5 * 1024 * 1024, 'a') });
    assert.deepEqual(readSource(path.join(folder, 'none.cu')), { problem: 'does not exist' });
    assert.match(JSON.stringify(readSource(path.join(folder, 'large.cu'))), /has 5 MB; files of up to 4 MB/);
    assert.ok('problem' in readSource(folder));
    remove();
  });
});

describe('the cache of texts', () => {
  it('reads a file again when it has changed, and forgets one that is gone', () => {
    const { folder, remove } = temporaryFolder({ 'a.h': 'one' });
    const file = path.join(folder, 'a.h');
    const cache = new TextCache();
    assert.equal(cache.read(file), 'one');
    fs.writeFileSync(file, 'three');
    assert.equal(cache.read(file), 'three');
    fs.rmSync(file);
    assert.equal(cache.read(file), undefined);
    remove();
  });
  it('keeps no more than it may, and still answers', () => {
    const { folder, remove } = temporaryFolder({ a: 'x'.repeat(60), b: 'y'.repeat(60), c: 'z'.repeat(60) });
    const cache = new TextCache(100);
    for (const name of ['a', 'b', 'c', 'a']) assert.equal(cache.read(path.join(folder, name))?.length, 60);
    remove();
  });
});
