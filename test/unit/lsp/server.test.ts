/** The server as it ships, spoken to over its protocol. */
import * as assert from 'node:assert/strict';
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { CodeAction, CodeLens, Hover } from 'vscode-languageserver-protocol';
import type { CapabilityChoice, SimulateResult } from '../../../server/src/lsp/protocol';
import { bundledPrograms, temporaryFolder } from '../../host/bundle';
import { LanguageServer } from '../../host/language-server';
import { conflicting, positionOf } from './reports';

describe('the server', () => {
  let server: LanguageServer;
  let folder: string;
  let remove: () => void;
  let files = 0;

  before(async () => {
    ({ folder, remove } = temporaryFolder({ 'size.h': '#define SIDE 32\n' }));
    const program = path.join(bundledPrograms(), 'server.js');
    const settings = { assume: { n: 64 } };
    const started = await LanguageServer.start({ program, folder, settings });
    server = started.server;
    const { capabilities } = started.initialized;
    assert.equal(capabilities.positionEncoding, 'utf-16');
    assert.equal(capabilities.hoverProvider, true);
  });
  after(async () => {
    await server.stop();
    remove();
  });

  const uriOf = (name: string) => pathToFileURL(path.join(folder, name)).href;
  /** Opens a text as a new file and waits for its diagnostics. */
  async function opened(text: string): Promise<{ uri: string; messages: string[] }> {
    const uri = uriOf(`file${files++}.cu`);
    await server.open(uri, text);
    const { diagnostics } = await server.diagnostics(uri, 1);
    return { uri, messages: diagnostics.map(({ message }) => `${message}`) };
  }
  async function messagesOf(uri: string, version: number): Promise<string[]> {
    return (await server.diagnostics(uri, version)).diagnostics.map(({ message }) => `${message}`);
  }

  it('answers everything about a conflict', async () => {
    const { uri, messages } = await opened(conflicting);
    assert.match(messages.join(), /^32-way bank conflict/);
    const textDocument = { uri };
    const position = positionOf(conflicting, 'tile[threadIdx.x]');
    const hover = await server.connection.sendRequest<Hover>('textDocument/hover', { textDocument, position });
    assert.match((hover.contents as { value: string }).value, /32-way bank conflict/);
    const lenses = await server.connection.sendRequest<CodeLens[]>('textDocument/codeLens', { textDocument });
    assert.match(lenses[0].command?.title ?? '', /32-way conflict · .*Simulate$/);
    const range = { start: position, end: position };
    const params = { textDocument, range, context: { diagnostics: [] } };
    const [fix] = await server.connection.sendRequest<CodeAction[]>('textDocument/codeAction', params);
    assert.match(fix.title, /Pad tile/);
    const result = await server.connection.sendRequest<SimulateResult>('warplens/simulate', {
      uri,
      line: position.line,
    });
    assert.equal(result.kernel?.name, 'columns');
  });

  it('answers for the latest text after a burst of edits', async () => {
    const { uri } = await opened(conflicting);
    for (let version = 2; version <= 30; version++) {
      const width = version % 2 === 0 ? 33 : 32;
      void server.change(uri, version, conflicting.replace('[32][32]', `[32][${width}]`));
    }
    assert.deepEqual(await messagesOf(uri, 30), []);
    await server.change(uri, 31, conflicting);
    assert.match((await messagesOf(uri, 31)).join(), /32-way/);
  });

  it('reads headers, and analyses again when an open one changes', async () => {
    const text = `#include "size.h"\n${conflicting.replace('[32][32]', '[SIDE][SIDE]')}`;
    const { uri, messages } = await opened(text);
    assert.match(messages.join(), /32-way bank conflict/);
    await server.open(uriOf('size.h'), '#define SIDE 33\n');
    await server.publishedWhere(
      (params) => params.uri === uri && params.diagnostics.length === 0 && isLatest(params.uri, params),
    );
    await server.close(uriOf('size.h'));
  });
  const isLatest = (uri: string, params: object) => server.published.findLast((each) => each.uri === uri) === params;

  it('shows what it knows of the first kernels of a new document while it looks at the others', async () => {
    // each of another shape, so that none is known from the one before
    const kernel = (n: number) => conflicting.replace('columns', `columns${n}`).replace('{', `{ int own${n} = ${n};`);
    const text = Array.from({ length: 40 }, (_, n) => kernel(n)).join('\n');
    const uri = uriOf(`file${files++}.cu`);
    await server.open(uri, text);
    const whole = await server.diagnostics(uri, 1);
    const [first] = server.published.filter((params) => params.uri === uri);
    assert.equal(whole.diagnostics.length, 40);
    assert.ok(first.diagnostics.length > 0 && first.diagnostics.length < 40, `${first.diagnostics.length}`);
    const told = new Set(whole.diagnostics.map(({ range }) => range.start.line));
    for (const { range } of first.diagnostics) assert.ok(told.has(range.start.line));
    // an edit keeps what is shown until the whole answer is there
    const before = server.published.length;
    await server.change(uri, 2, `${text}\n#define LATER 1\n`);
    await server.diagnostics(uri, 2);
    for (const { diagnostics } of server.published.slice(before)) assert.equal(diagnostics.length, 40);
  });

  it('shows nothing for a closed document', async () => {
    const { uri } = await opened(conflicting);
    await server.close(uri);
    await server.publishedWhere((params) => params.uri === uri && params.diagnostics.length === 0);
  });

  it('offers every capability, the newest first', async () => {
    const choices = await server.connection.sendRequest<CapabilityChoice[]>('warplens/capabilities');
    const names = choices.map(({ computeCapability }) => computeCapability);
    assert.deepEqual([names[0], names.at(-1), names.length], ['12.1', '1.0', 30]);
    assert.ok(
      choices.find(({ computeCapability }) => computeCapability === '9.0')?.devices.some((name) => /H100/.test(name)),
    );
  });

  it('stays up with half-typed, empty, odd and hostile texts', async () => {
    const nested = `__global__ void f(int *a) { a[${'('.repeat(20_000)}0${')'.repeat(20_000)}] = 1; }`;
    const bombs = Array.from({ length: 30 }, (_, n) => `#define X${n + 1} X${n} X${n}`).join('\n');
    const texts = [
      '',
      '\ufeff',
      '\0\u0001\u0002\uffff',
      '__global__ void f(',
      '__global__ void f(float *a) { for (int i = 0; i <',
      conflicting.replaceAll('\n', '\r\n'),
      conflicting.replace('tile', 'täfelchen'),
      nested,
      `#define X0 1\n${bombs}\n__global__ void f(int *a) { a[0] = X30; }\n`,
      `#include "${'file'}${files + 9}.cu"\n__global__ void f() {}\n`,
      '__device__ int f(int n) { return f(n + 1); }\n__global__ void g(int *a) { a[f(0)] = 1; }\nvoid h(int *a) { g<<<1, 32>>>(a); }\n',
      '__global__ void g(int *a) { for (;;) a[0] = 1; }\nvoid h(int *a) { g<<<1, 32>>>(a); }\n',
      '__global__ void g(int *a) { a[0] = 1; }\nvoid h(int *a) { g<<<0, -1>>>(a); g<<<1, 100000>>>(a); }\n',
      'template <int N> __device__ int f() { return f<N + 1>(); }\n__global__ void g(int *a) { a[f<0>()] = 1; }\nvoid h(int *a) { g<<<1, 32>>>(a); }\n',
    ];
    for (const text of texts) await opened(text);
    const { messages } = await opened(conflicting);
    assert.match(messages.join(), /32-way/);
  }).timeout(60_000);

  it('answers requests about unknown documents with nothing', async () => {
    const textDocument = { uri: uriOf('never-opened.cu') };
    const position = { line: 0, character: 0 };
    assert.equal(await server.connection.sendRequest('textDocument/hover', { textDocument, position }), null);
    assert.deepEqual(await server.connection.sendRequest('textDocument/codeLens', { textDocument }), []);
    assert.equal(await server.connection.sendRequest('warplens/simulate', { uri: textDocument.uri }), null);
  });
});

describe('the server, told to follow the build', () => {
  it('analyses for the capability of compile_commands.json', async () => {
    const { folder, remove } = temporaryFolder({
      'a.cu': conflicting,
      'compile_commands.json': '[{"directory": ".", "file": "a.cu", "command": "nvcc -arch=sm_86 -c a.cu"}]',
    });
    const program = path.join(bundledPrograms(), 'server.js');
    const settings = { assume: { n: 64 }, computeCapability: 'auto' };
    const { server } = await LanguageServer.start({ program, folder, settings });
    try {
      const uri = pathToFileURL(path.join(folder, 'a.cu')).href;
      await server.open(uri, conflicting);
      await server.diagnostics(uri, 1);
      const position = positionOf(conflicting, 'tile[threadIdx.x]');
      const hover = await server.connection.sendRequest<Hover>('textDocument/hover', {
        textDocument: { uri },
        position,
      });
      assert.match((hover.contents as { value: string }).value, /capability 8\.6/);
    } finally {
      await server.stop();
      remove();
    }
  });
});
