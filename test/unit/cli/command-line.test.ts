/** The program `warplens` as it ships: output, exit statuses, one-line errors. */
import * as assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import type { CheckReport } from '../../../server/src/report/report';
import { bundledPrograms, temporaryFolder } from '../../host/bundle';
import { conflicting } from '../lsp/reports';

interface Run {
  readonly status: number | null;
  readonly out: string;
  readonly err: string;
}

describe('warplens', () => {
  let program: string;
  let folder: string;
  let remove: () => void;

  before(() => {
    program = path.join(bundledPrograms(), 'cli.js');
    ({ folder, remove } = temporaryFolder({
      'columns.cu': conflicting,
      'more/padded.cuh': conflicting.replace('[32][32]', '[32][33]'),
      'more/notes.txt': 'not CUDA',
      'node_modules/x.cu': conflicting,
      'binary.bin': Buffer.from([0, 1, 2, 3]),
      'large.bin': Buffer.alloc(20 * 1024 * 1024, 'x'),
      'side.cu': `#include "side.h"\n${conflicting.replace('[32][32]', '[32][SIDE]')}`,
      'include/side.h': '#ifndef SIDE\n#define SIDE 33\n#endif\n',
      'empty/readme.md': '',
      'node_modules/instances.cu': `template <int STEP> __global__ void copy(float *p) { p[threadIdx.x * STEP] = 0; }
int main() { float *p; copy<1><<<1, 32>>>(p); copy<8><<<1, 32>>>(p); copy<1><<<1, 64>>>(p); }
`,
    }));
  });
  after(() => remove());

  function run(args: readonly string[], input = ''): Run {
    const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
      cwd: folder,
      input,
      encoding: 'utf8',
      maxBuffer: 256 * 1024 * 1024,
    });
    return { status, out: stdout, err: stderr };
  }
  function json(...args: string[]): CheckReport {
    return JSON.parse(run(['check', '--format', 'json', ...args]).out);
  }
  /** Wrong usage or unreadable input: status 2 and one line on standard error. */
  function refuses(args: readonly string[], reason: RegExp): void {
    const { status, err } = run(args);
    assert.equal(status, 2, err);
    assert.match(err, /^warplens: [^\n]+\n$/);
    assert.match(err, reason);
  }

  describe('check', () => {
    it('prints findings with the source and carets under it', () => {
      const { status, out } = run(['check', 'columns.cu']);
      assert.equal(status, 0);
      const [first, source, carets] = out.split('\n');
      assert.match(first, /^columns\.cu:6:43: warning: 32-way bank conflict: .* \[shared-bank-conflict\]$/);
      assert.equal(source, '    6 |     out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];');
      assert.equal(carets.trim(), `| ${' '.repeat(42)}^${'~'.repeat('tile[threadIdx.x][threadIdx.y]'.length - 1)}`);
      assert.match(out, /fix: Pad tile to \[32\]\[33\] \(1,024 → 32 wavefronts\)/);
      assert.match(out, /\n1 warning in 1 file, 1 kernel, 3 accesses, compute capability 9\.0\n$/);
      assert.ok(!out.includes('\u001b'), 'no colour where nobody sees it');
    });
    it('takes the PTX of a compiler that is named, and the source’s result where that fails', () => {
      const compiled = path.join(__dirname, '..', 'analysis', 'compiled');
      const kit = temporaryFolder({
        'nvcc.sh': `#!/bin/sh
case "$*" in *--list-gpu-arch*) echo compute_90; exit 0;; esac
while [ $# -gt 1 ]; do [ "$1" = --keep-dir ] && keep="$2"; shift; done
case "$1" in *several.cu) cp "${path.join(compiled, 'several.ptx')}" "$keep/several.ptx";; *) echo "$1(1): error: no" >&2; exit 2;; esac
`,
      });
      const nvcc = path.join(kit.folder, 'nvcc.sh');
      fs.chmodSync(nvcc, 0o755);
      const check = (file: string) => run(['check', file, '--format', 'json', '--compiler', nvcc]);
      const origins = ({ out }: Run) => (JSON.parse(out) as CheckReport).files[0].kernels.map((k) => k.origin);
      const good = check(path.join(compiled, 'several.cu'));
      assert.deepEqual(origins(good), ['ptx', 'ptx', 'ptx'], good.err);
      const bad = check('columns.cu');
      assert.deepEqual([bad.status, origins(bad)], [0, ['source']]);
      assert.match(bad.err, /^warplens: columns\.cu: not compiled: .*error: no\n$/);
      kit.remove();
    });
    it('checks PTX on its own', () => {
      const file = path.join(__dirname, '..', 'analysis', 'compiled', 'several.ptx');
      const { status, out } = run(['check', file, '--block', '32,32', '--compiler', 'off']);
      assert.equal(status, 0);
      assert.match(out, /several\.ptx:\d+:2: warning: 32-way bank conflict/);
      const simulated = run(['simulate', file, '--kernel', 'rows', '--block', '32', '--compiler', 'off']);
      assert.match(simulated.out, /st\.shared\.f32/);
    });
    it('exits by --fail-on', () => {
      for (const [level, status] of [
        ['error', 0],
        ['warning', 1],
        ['information', 1],
        ['never', 0],
      ] as const) {
        assert.equal(run(['check', 'columns.cu', '--fail-on', level]).status, status, level);
      }
      assert.equal(run(['check', 'more/padded.cuh', '--fail-on', 'information']).status, 0);
    });
    it('writes the JSON of the contract', () => {
      const { schemaVersion, tool, computeCapability, files } = json('columns.cu', '--cc', '8.6');
      assert.deepEqual([schemaVersion, tool.name, computeCapability], [1, 'warplens', '8.6']);
      assert.equal(files[0].path, 'columns.cu');
      const [launch] = files[0].kernels[0].launches;
      assert.deepEqual([launch.grid, launch.block, launch.origin], [[1, 1, 1], [32, 32, 1], 'launch-site']);
      const read = launch.accesses.find(({ operation, space }) => space === 'shared' && operation === 'load');
      assert.deepEqual([read?.requests, read?.wavefronts, read?.idealWavefronts], [32, 1024, 32]);
      const [{ rule, severity, line, kernel, fixes }] = files[0].diagnostics;
      assert.deepEqual([rule, severity, line, kernel], ['shared-bank-conflict', 'warning', 6, 'columns']);
      assert.deepEqual(fixes[0].after, { wavefronts: 32, idealWavefronts: 32 });
    });
    it('tells the instances of a kernel apart', () => {
      const { kernels } = json('--compiler', 'off', 'node_modules/instances.cu').files[0];
      const shown = kernels.map(({ name, templateArguments, launches }) => [
        name,
        ...templateArguments,
        launches.length,
      ]);
      assert.deepEqual(shown, [
        ['copy', '1', 2],
        ['copy', '8', 1],
      ]);
    });

    it('searches folders, and tells every capability apart', () => {
      assert.deepEqual(
        json('.').files.map(({ path: file }) => file),
        ['columns.cu', 'side.cu', path.normalize('more/padded.cuh')],
      );
      const reports = json('columns.cu', '--cc', '1.3', '--cc', '9.0') as unknown as CheckReport[];
      assert.deepEqual(
        reports.map(({ computeCapability }) => computeCapability),
        ['1.3', '9.0'],
      );
    });
    it('takes include folders and macros', () => {
      const found = (...args: string[]) =>
        json('side.cu', ...args).files[0].diagnostics.filter(({ rule }) => rule === 'shared-bank-conflict').length;
      assert.equal(found('-I', 'include'), 0);
      assert.equal(found('-I', 'include', '-D', 'SIDE=32'), 1);
      assert.equal(found('-Iinclude', '-DSIDE=32'), 1);
    });
    it('writes SARIF and workflow commands', () => {
      const log = JSON.parse(run(['check', 'columns.cu', '--format', 'sarif']).out);
      const [result] = log.runs[0].results;
      assert.deepEqual([log.version, result.ruleId, result.level], ['2.1.0', 'shared-bank-conflict', 'warning']);
      assert.deepEqual(result.locations[0].physicalLocation.artifactLocation, {
        uri: 'columns.cu',
        uriBaseId: '%SRCROOT%',
      });
      assert.equal(result.fixes[0].artifactChanges[0].replacements[0].insertedContent.text, '33');
      const { out } = run(['check', 'columns.cu', '--format', 'github']);
      assert.match(
        out,
        /^::warning file=columns\.cu,line=6,endLine=6,col=43,endColumn=73,title=shared-bank-conflict::32-way bank conflict: /,
      );
    });
    it('reports the other files when one cannot be read', () => {
      const { status, out, err } = run(['check', 'binary.bin', 'columns.cu', 'none.cu']);
      assert.equal(status, 2);
      assert.match(out, /32-way bank conflict/);
      assert.deepEqual(err.trim().split('\n'), [
        'warplens: none.cu: does not exist',
        'warplens: binary.bin: is a binary file',
      ]);
    });
    it('answers the same on several threads, in the order of the files', () => {
      const args = ['check', '--cc', '9.0', '--cc', '7.0', '--format', 'json', '-I', 'include', '.', 'side.cu'];
      const one = run([...args, '--threads', '1']);
      const three = run([...args, '--threads', '3']);
      assert.deepEqual(three, one);
      const [{ files }] = JSON.parse(three.out) as CheckReport[];
      assert.ok(files.length >= 3);
    });
    it('names the file whose analysis fails on a thread, and reports the others', () => {
      const beside = path.join(folder, 'programs');
      fs.mkdirSync(beside);
      for (const name of ['cli.js', 'worker.js'])
        fs.copyFileSync(path.join(bundledPrograms(), name), path.join(beside, name));
      // a worker that ends at one of the files, as one does that needs too much memory
      const worker = fs.readFileSync(path.join(beside, 'worker.js'), 'utf8');
      const ends = `require('node:worker_threads').parentPort.on('message', ({ job }) => {
        if (job && job.path === 'side.cu') process.exit(1);
      });\n`;
      fs.writeFileSync(path.join(beside, 'worker.js'), ends + worker);
      const args = [
        path.join(beside, 'cli.js'),
        'check',
        '--threads',
        '2',
        '--format',
        'json',
        'side.cu',
        'columns.cu',
      ];
      const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
      assert.equal(status, 2);
      assert.match(stderr, /warplens: side\.cu: the analysis failed: its worker ended\n$/);
      const { files } = JSON.parse(stdout) as CheckReport;
      assert.deepEqual(
        files.map(({ path }) => path),
        ['columns.cu'],
      );
    });
    it('refuses what it cannot use, in one line', () => {
      refuses(['check'], /missing required argument/);
      refuses(['check', 'none.cu'], /none\.cu: does not exist/);
      refuses(['check', 'large.bin'], /large\.bin: has 20 MB/);
      refuses(['check', 'empty'], /empty: no \.cu or \.cuh file/);
      refuses(['check', 'columns.cu', '--cc', '9.9'], /'9\.9' is invalid.*12\.1/);
      refuses(['check', 'columns.cu', '--block', '32,0'], /positive whole numbers/);
      refuses(['check', 'columns.cu', '--assume', 'n'], /<name>=<number>/);
      refuses(['check', 'columns.cu', '--registers', '1.5'], /whole number/);
      refuses(['check', 'columns.cu', '--format', 'xml'], /Allowed choices/);
      refuses(['check', 'columns.cu', '--compile-commands', 'none.json'], /none\.json: does not exist/);
      refuses(['check', 'columns.cu', '--nonsense'], /unknown option/);
      refuses(['nonsense'], /unknown command/);
    });
  });

  describe('simulate', () => {
    it('prints every access of a kernel', () => {
      const { status, out } = run(['simulate', 'columns.cu', '--kernel', 'columns']);
      assert.equal(status, 0);
      assert.match(
        out,
        /6:43 +tile\[threadIdx\.x\]\[threadIdx\.y\] +shared load +4 +32 +1,024 wavefronts +32 +3\.1 % +exact/,
      );
      assert.equal(
        JSON.parse(run(['simulate', 'columns.cu', '--kernel', 'columns', '--format', 'json']).out).files.length,
        1,
      );
    });
    it('names the kernels there are', () => {
      refuses(['simulate', 'columns.cu', '--kernel', 'rows'], /no kernel rows; its kernels are columns/);
      refuses(['simulate', 'columns.cu'], /--kernel/);
    });
  });

  describe('batches', () => {
    it('answer a line for a line, wrong ones too', () => {
      const access = '{"cc":"9.0","space":"shared","operation":"load","bytes":4,"addresses":[0,128,256]}';
      const { out, status } = run(['pattern', '--batch'], `${access}\nnonsense\n\n${access}`);
      const lines = out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      assert.equal(status, 0);
      assert.deepEqual([lines.length, lines[0].wavefronts, lines[2].wavefronts], [3, 3, 3]);
      assert.match(lines[1].error, /not JSON/);
    });
    it('reach their reader whole through a pipe', () => {
      const line = '{"cc":"9.0","threads":256,"registers":40,"shared":4096}\n';
      const { out } = run(['occupancy', '--batch'], line.repeat(20_000));
      assert.equal(out.split('\n').length, 20_001);
      assert.equal(JSON.parse(`${out.trimEnd().split('\n').at(-1)}`).blocksPerSm, 6);
    });
    it('are asked for', () => {
      refuses(['pattern'], /--batch/);
      refuses(['occupancy', '--cc', '9.0'], /--threads/);
      assert.equal(
        JSON.parse(run(['occupancy', '--cc', '9.0', '--threads', '256', '--registers', '40']).out).blocksPerSm,
        6,
      );
    });
  });

  it('prints help and version', () => {
    assert.equal(run(['--version']).out, '0.0.0-test\n');
    for (const args of [['--help'], ['check', '--help']]) assert.equal(run(args).status, 0);
  });
});
