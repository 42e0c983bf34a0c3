/** The server with a compiler at hand: the source's answer at once, the compiler's when it comes, and back on an edit. */
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Hover } from 'vscode-languageserver-protocol';
import type { CompilerParams } from '../../../server/src/lsp/protocol';
import { bundledPrograms, temporaryFolder } from '../../host/bundle';
import { fakeNvcc, runsOf } from '../../host/fake-nvcc';
import { LanguageServer } from '../../host/language-server';
import { positionOf } from './reports';

const compiled = path.join(__dirname, '..', 'analysis', 'compiled');
const text = fs.readFileSync(path.join(compiled, 'several.cu'), 'utf8');
const edited = text.replace('sum * in[threadIdx.x + 32]', 'sum * in[2 * threadIdx.x]');

describe('documents with a compiler', function () {
  this.timeout(30_000);
  if (process.platform === 'win32') return;
  let server: LanguageServer;
  let folder: string;
  let remove: () => void;
  let uri: string;
  const states: CompilerParams[] = [];

  async function start(isTrusted: boolean | undefined, script: string): Promise<void> {
    ({ folder, remove } = temporaryFolder({ 'several.cu': text }));
    states.length = 0;
    uri = pathToFileURL(path.join(folder, 'several.cu')).href;
    const settings = { compiler: fakeNvcc(folder, script) };
    const program = path.join(bundledPrograms(), 'server.js');
    ({ server } = await LanguageServer.start({ program, folder, settings, isTrusted }));
    server.connection.onNotification('warplens/compiler', (params: CompilerParams) => void states.push(params));
    await server.open(uri, text);
  }
  afterEach(async () => {
    await server.stop();
    remove();
  });

  async function lastLineOfHover(present: string, place: string): Promise<string> {
    const params = { textDocument: { uri }, position: positionOf(present, place) };
    const hover = await server.connection.sendRequest<Hover | null>('textDocument/hover', params);
    return (hover?.contents as { value: string } | undefined)?.value.split('\n').at(-1) ?? '';
  }
  /** The last line of the hover on an access, asked for until it passes. */
  async function until(present: string, place: string, wanted: RegExp): Promise<void> {
    const deadline = Date.now() + 20_000;
    for (;;) {
      const line = await lastLineOfHover(present, place);
      if (wanted.test(line)) return;
      if (Date.now() > deadline) assert.fail(`${line}; ${JSON.stringify(states)}; ${server.log.join('; ')}`);
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  }
  const copies = `cp "${path.join(compiled, 'several.ptx')}" "$keep/several.ptx"`;
  const inRows = 's[threadIdx.x * 8 + j]';
  const inHalves = 'p[2 * threadIdx.x]';

  it('the source answers at once, then the compiler; an edited kernel is the source’s until the next save', async () => {
    // the compiler takes as long as the source needs, however busy the machine is
    await start(true, `while [ ! -e "$(dirname "$0")/go" ]; do sleep 0.05; done; ${copies}`);
    await server.diagnostics(uri, 1);
    assert.equal(await lastLineOfHover(text, inRows), 'From the source.');
    fs.writeFileSync(path.join(folder, 'go'), '');
    await until(text, inRows, /^From the PTX/);
    await server.change(uri, 2, edited);
    await until(edited, inRows, /^From the source, not from the compiler: it has changed since it was compiled\.$/);
    await until(edited, inHalves, /^From the PTX/);
    fs.writeFileSync(path.join(folder, 'several.cu'), edited);
    await server.save(uri);
    await until(edited, inRows, /^From the PTX/);
    assert.equal(runsOf(folder).filter((line) => line.startsWith('start')).length, 2);
  });
  it('an untrusted workspace starts nothing, until it is trusted', async () => {
    await start(undefined, copies);
    await server.diagnostics(uri, 1);
    await new Promise((resolve) => setTimeout(resolve, 500));
    assert.deepEqual(runsOf(folder), []);
    await server.connection.sendNotification('warplens/trusted');
    await until(text, inRows, /^From the PTX/);
  });
  it('a compiler that fails leaves the source’s answer, and says why quietly', async () => {
    await start(true, 'echo "several.cu(3): error: no such header" >&2; exit 2');
    const deadline = Date.now() + 20_000;
    while (!states.some(({ state }) => state === 'failed') && Date.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(states.at(-1)?.message, 'several.cu(3): error: no such header');
    await server.diagnostics(uri, 1);
    assert.equal(await lastLineOfHover(text, inRows), 'From the source.');
    assert.match(server.log.join('\n'), /several\.cu was not compiled: several\.cu\(3\): error: no such header/);
  });
});
