/**
 * What V8 compiled of a bundle (bytecode), kept from one start of the editor to the next: reading functions in when they are first
 * called is a tenth of what a fresh server's first answer takes (`npm run bench`). VS Code keeps its own code so.
 */
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import * as path from 'node:path';
import * as vm from 'node:vm';

const NAME = /^code-[0-9a-f]{16}\.bin$/;
const DIGEST_BYTES = 32;

const digest = (data: Buffer | string): Buffer => createHash('sha256').update(data).digest();

/** One file for a bundle's text and a V8: another version of either makes one of its own. */
function nameFor(text: string): string {
  const key = digest(`${process.versions.v8} ${process.arch} ${text}`).toString('hex').slice(0, 16);
  return `code-${key}.bin`;
}

/** What was kept, if it is whole: V8 believes what it is given. */
function read(file: string): Buffer | undefined {
  try {
    const data = fs.readFileSync(file);
    const code = data.subarray(DIGEST_BYTES);
    return digest(code).equals(data.subarray(0, DIGEST_BYTES)) ? code : undefined;
  } catch {
    return undefined;
  }
}

/** Written beside its place and moved there: another window may read or write it at the same time. Nobody misses what cannot be written. */
function write(file: string, code: Buffer): void {
  const folder = path.dirname(file);
  const fresh = `${file}.${process.pid}`;
  try {
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(fresh, Buffer.concat([digest(code), code]));
    fs.renameSync(fresh, file);
    for (const name of fs.readdirSync(folder))
      if (NAME.test(name) && name !== path.basename(file)) fs.rmSync(path.join(folder, name), { force: true });
  } catch {
    removeQuietly(fresh);
  }
}

function removeQuietly(file: string): void {
  try {
    fs.rmSync(file, { force: true });
  } catch {
    // it was never made
  }
}

/**
 * Runs a bundle (CommonJS, with nothing to require but Node's own modules) with the code that was kept of it.
 * @param program path of the bundle; @param folder where code is kept
 * @returns keeps what is compiled by then; undefined where what was kept has served, and need not be made again
 * @throws what the bundle throws, and where it cannot be read
 */
export function runWithKeptCode(program: string, folder: string): (() => void) | undefined {
  const text = fs.readFileSync(program, 'utf8');
  const file = path.join(folder, nameFor(text));
  const cachedData = read(file);
  const wrapped = `(function (exports, require, module, __filename, __dirname) {${text}\n})`;
  const script = new vm.Script(wrapped, { filename: program, cachedData });
  const module = { exports: {} };
  script.runInThisContext()(module.exports, createRequire(program), module, program, path.dirname(program));
  const served = cachedData !== undefined && script.cachedDataRejected === false;
  return served ? undefined : () => write(file, script.createCachedData());
}
