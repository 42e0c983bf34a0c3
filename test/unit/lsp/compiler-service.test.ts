/** The compiler in the background, with programs that stand for nvcc. */
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';
import { CompilerService } from '../../../server/src/lsp/compiler-service';
import { readSettings } from '../../../server/src/lsp/settings';
import type { CompilerAnswer } from '../../../server/src/worker/worker-messages';
import { temporaryFolder } from '../../host/bundle';
import { fakeNvcc, runsOf } from '../../host/fake-nvcc';

const kernel = '__global__ void k(int* p) { *p = 1; }\n';

describe('the compiler service', function () {
  this.timeout(30_000);
  if (process.platform === 'win32') return;
  let folder: string;
  let remove: () => void;
  let service: CompilerService | undefined;
  let answers: [string, CompilerAnswer | undefined][];
  let states: string[];
  let log: string[];

  beforeEach(() => {
    ({ folder, remove } = temporaryFolder({ 'a.cu': kernel, 'b.cu': kernel, 'host.cpp': 'int main() {}' }));
    [answers, states, log] = [[], [], []];
  });
  afterEach(() => {
    service?.dispose();
    remove();
  });

  const uriOf = (name: string) => pathToFileURL(path.join(folder, name)).href;

  /** A service with an nvcc that does as the script says. */
  function start(
    script: string,
    more: { settings?: object; isTrusted?: boolean; limitMs?: number; text?: string } = {},
  ) {
    const settings = readSettings({ compiler: fakeNvcc(folder, script), ...more.settings });
    service = new CompilerService({
      settingsFor: async () => settings,
      folders: () => [folder],
      isTrusted: () => more.isTrusted ?? true,
      textOf: () => more.text,
      compiled: (uri, answer) => void answers.push([path.basename(uri), answer]),
      status: (uri, state, message) =>
        void states.push(`${path.basename(uri)} ${state}${message ? `: ${message}` : ''}`),
      log: (line) => void log.push(line),
      limitMs: more.limitMs,
    });
    return service;
  }

  async function until(what: string, passes: () => boolean): Promise<void> {
    const deadline = Date.now() + 15_000;
    while (!passes()) {
      if (Date.now() > deadline) assert.fail(`${what}: ${JSON.stringify({ states, log, runs: runsOf(folder) })}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  const settled = (name: string) =>
    until(`${name} settled`, () => states.some((s) => new RegExp(`^${name} (compiled|failed|none)`).test(s)));

  const writesPtx = 'echo "// ptx of $source" > "$keep/a.ptx"';

  it('compiles what is saved', async () => {
    start(writesPtx).saved(uriOf('a.cu'));
    await settled('a.cu');
    const [[name, answer]] = answers;
    assert.deepEqual([name, answer?.computeCapability, answer?.compilation.text], ['a.cu', '9.0', kernel]);
    assert.match(answer?.compilation.ptx ?? '', /^\/\/ ptx of .*a\.cu\n$/);
    assert.deepEqual(states, ['a.cu compiling', 'a.cu compiled']);
  });
  it('starts nothing where nobody says that the workspace is trusted', async () => {
    start(writesPtx, { isTrusted: false }).saved(uriOf('a.cu'));
    await settled('a.cu');
    assert.deepEqual([states, runsOf(folder), answers], [['a.cu none'], [], []]);
  });
  it('starts nothing when switched off, and for a file without kernels', async () => {
    start(writesPtx, { settings: { compiler: 'off' } }).saved(uriOf('a.cu'));
    await settled('a.cu');
    start(writesPtx).saved(uriOf('host.cpp'));
    await settled('host.cpp');
    assert.deepEqual(runsOf(folder), []);
  });
  it('a burst of saves is one run', async () => {
    const made = start(writesPtx);
    for (let i = 0; i < 10; i++) made.saved(uriOf('a.cu'));
    await settled('a.cu');
    assert.equal(runsOf(folder).filter((line) => line.startsWith('start')).length, 1);
  });
  it('one at a time', async () => {
    const made = start(`sleep 0.2; ${writesPtx}`);
    made.saved(uriOf('a.cu'));
    made.saved(uriOf('b.cu'));
    await settled('a.cu');
    await settled('b.cu');
    assert.deepEqual(
      runsOf(folder).map((line) => line.split(' ')[0]),
      ['start', 'end', 'start', 'end'],
    );
  });
  it('a newer save ends the run for the older text', async () => {
    const made = start(`if grep -q slow "$source"; then sleep 60; fi; ${writesPtx}`);
    fs.writeFileSync(path.join(folder, 'a.cu'), `${kernel}// slow\n`);
    made.saved(uriOf('a.cu'));
    await until('the first run', () => runsOf(folder).length > 0);
    fs.writeFileSync(path.join(folder, 'a.cu'), kernel);
    made.saved(uriOf('a.cu'));
    await settled('a.cu');
    assert.deepEqual(
      answers.map(([, answer]) => answer?.compilation.text),
      [kernel],
    );
    assert.deepEqual(log, []);
  });
  it('an error is said once, and the earlier answer stays', async () => {
    const made = start(`if grep -q bad "$source"; then echo "a.cu(2): error: bad" >&2; exit 2; fi; ${writesPtx}`);
    made.saved(uriOf('a.cu'));
    await settled('a.cu');
    fs.writeFileSync(path.join(folder, 'a.cu'), `${kernel}bad\n`);
    for (let times = 1; times <= 2; times++) {
      made.saved(uriOf('a.cu'));
      await until('failure', () => states.filter((s) => s.startsWith('a.cu failed')).length === times);
    }
    assert.equal(answers.length, 1);
    assert.deepEqual(log, ['a.cu was not compiled: a.cu(2): error: bad']);
    assert.equal(states.at(-1), 'a.cu failed: a.cu(2): error: bad');
  });
  it('hangs: ended in time', async () => {
    start('sleep 60', { limitMs: 500 }).saved(uriOf('a.cu'));
    await settled('a.cu');
    assert.match(states.at(-1) ?? '', /failed: nvcc took longer than/);
  });
  it('prints 10 MB: one short line', async () => {
    start('head -c 10000000 /dev/zero | tr "\\0" "x" >&2; exit 1').saved(uriOf('a.cu'));
    await settled('a.cu');
    assert.ok(log[0].length < 500);
  });
  it('is not there: said once', async () => {
    const made = start('', { settings: { compiler: '/nowhere/nvcc' } });
    for (const name of ['a.cu', 'b.cu']) {
      made.saved(uriOf(name));
      await settled(name);
    }
    assert.deepEqual(log, ['warplens.compiler: no nvcc at /nowhere/nvcc']);
  });
  it('flags of the build and of the settings', async () => {
    const command = {
      directory: folder,
      file: 'a.cu',
      command: 'nvcc -std=c++20 -maxrregcount=40 -Iinc -DA=2 -o a.o -c a.cu',
    };
    fs.writeFileSync(path.join(folder, 'compile_commands.json'), JSON.stringify([command]));
    start(writesPtx, { settings: { compilerFlags: ['-use_fast_math'] } }).saved(uriOf('a.cu'));
    await settled('a.cu');
    const [run] = runsOf(folder);
    for (const flag of [
      '-std=c++20',
      '-maxrregcount=40',
      `-I ${path.join(folder, 'inc')}`,
      '-DA=2',
      '-use_fast_math',
      '-arch=sm_90',
    ])
      assert.ok(run.includes(flag), `${flag} in ${run}`);
    assert.ok(!run.includes('a.o'));
  });
  it('a capability that the toolkit lacks: the nearest, and said so', async () => {
    start(writesPtx, { settings: { computeCapability: '12.0' } }).saved(uriOf('a.cu'));
    await settled('a.cu');
    assert.equal(states.at(-1), 'a.cu compiled: the toolkit has no 12.0: compiled for 9.0');
    assert.equal(answers[0][1]?.computeCapability, '12.0');
  });
  it('unsaved text, where that is asked for', async () => {
    const text = `${kernel}// unsaved\n`;
    const made = start('cat "$source" > "$keep/a.ptx"', { text, settings: { compileUnsaved: true } });
    await made.edited(uriOf('a.cu'));
    await settled('a.cu');
    assert.deepEqual([answers[0][1]?.compilation.text, answers[0][1]?.compilation.ptx], [text, text]);
  });
  it('an edit alone starts nothing otherwise', async () => {
    await start(writesPtx).edited(uriOf('a.cu'));
    await new Promise((resolve) => setTimeout(resolve, 1_300));
    assert.deepEqual(runsOf(folder), []);
  });
  it('a document that is closed has no answer any more', async () => {
    const made = start(writesPtx);
    made.saved(uriOf('a.cu'));
    await settled('a.cu');
    made.forget(uriOf('a.cu'));
    assert.deepEqual(answers.at(-1), ['a.cu', undefined]);
  });
});
