import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { nearestArchitecture } from '../../../server/src/compiler/architecture';
import { compileKernels, compileToPtx } from '../../../server/src/compiler/compile';
import { firstError } from '../../../server/src/compiler/errors';
import { findCompiler } from '../../../server/src/compiler/find-compiler';
import { type FindNvcc, type Folders, findNvcc } from '../../../server/src/compiler/find-nvcc';
import { clangFlags, featureSuffix, usableFlags } from '../../../server/src/compiler/flags';
import { parseResources } from '../../../server/src/compiler/resources';

/** A disk with these files and nothing else. */
function diskOf(files: readonly string[]): Folders {
  const separator = /[/\\]/;
  return {
    isFile: (file) => files.includes(file),
    names: (folder) => [
      ...new Set(
        files.flatMap((file) => (file.startsWith(folder) ? [file.slice(folder.length + 1).split(separator)[0]] : [])),
      ),
    ],
  };
}

describe('Finding nvcc', () => {
  type Asked = Pick<FindNvcc, 'configured'> & { environment?: FindNvcc['environment'] };
  const check =
    (platform: NodeJS.Platform, files: readonly string[], asked: Asked, expected: string | undefined) => () =>
      assert.equal(findNvcc({ environment: {}, ...asked, platform, folders: diskOf(files) }), expected);

  const kit = '/kit/bin/nvcc';
  it('as configured: the program', check('linux', [kit], { configured: kit }, kit));
  it('as configured: the toolkit', check('linux', [kit], { configured: '/kit' }, kit));
  it(
    'a configured path that is wrong is not replaced by another',
    check('linux', [kit], { configured: '/elsewhere', environment: { CUDA_HOME: '/kit' } }, undefined),
  );
  it(
    'CUDA_HOME before PATH',
    check('linux', [kit, '/path/nvcc'], { environment: { CUDA_HOME: '/kit', PATH: '/path' } }, kit),
  );
  it(
    'PATH before the usual folders',
    check('linux', ['/usr/local/cuda/bin/nvcc', kit], { environment: { PATH: '/nowhere::/kit/bin' } }, kit),
  );
  const linux = ['/usr/local/cuda-12.8/bin/nvcc', '/usr/local/cuda-13.0/bin/nvcc', '/usr/local/cuda-9.2/bin/nvcc'];
  it('Linux: the newest', check('linux', linux, {}, '/usr/local/cuda-13.0/bin/nvcc'));
  it(
    'Linux: what the system chose before the newest',
    check('linux', [...linux, '/usr/local/cuda/bin/nvcc'], {}, '/usr/local/cuda/bin/nvcc'),
  );
  const hpc = '/opt/nvidia/hpc_sdk/Linux_x86_64/25.7/cuda/bin/nvcc';
  it('Linux: the HPC SDK', check('linux', [hpc], {}, hpc));
  it(
    'Linux: Debian',
    check('linux', ['/usr/lib/nvidia-cuda-toolkit/bin/nvcc'], {}, '/usr/lib/nvidia-cuda-toolkit/bin/nvcc'),
  );
  const windows = 'C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA';
  const installed = ['v9.0', 'v12.8', 'v12.10'].map((version) => `${windows}\\${version}\\bin\\nvcc.exe`);
  it('Windows: the newest', check('win32', installed, {}, installed[2]));
  it(
    'Windows: CUDA_PATH, which the installer sets',
    check('win32', installed, { environment: { CUDA_PATH: `${windows}\\v12.8` } }, installed[1]),
  );
  it(
    'Windows: Path, and another drive for programs',
    check('win32', ['D:\\kit\\nvcc.exe'], { environment: { Path: 'C:\\Windows;D:\\kit' } }, 'D:\\kit\\nvcc.exe'),
  );
  it(
    'macOS: the last toolkits',
    check('darwin', ['/Developer/NVIDIA/CUDA-10.2/bin/nvcc'], {}, '/Developer/NVIDIA/CUDA-10.2/bin/nvcc'),
  );
  it('macOS: none', check('darwin', [], { environment: { PATH: '/usr/bin:/bin' } }, undefined));
  it('the real disk', () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'warplens-test-'));
    const file = path.join(folder, 'nvcc');
    fs.writeFileSync(file, '');
    assert.equal(findNvcc({ environment: { PATH: folder }, platform: 'linux' }), file);
    fs.rmSync(folder, { recursive: true });
  });
});

describe('nvcc or clang', () => {
  type Asked = Pick<FindNvcc, 'configured'> & { environment?: FindNvcc['environment']; platform?: NodeJS.Platform };
  const check = (files: readonly string[], asked: Asked, expected: string | undefined) => () => {
    const found = findCompiler({ environment: {}, platform: 'linux', ...asked, folders: diskOf(files) });
    const said = found && ('reason' in found ? found.reason : `${found.kind} ${found.program}`);
    assert.equal(said, expected);
  };
  const nvcc = '/kit/bin/nvcc';
  const headers = '/kit/include/cuda_runtime.h';
  const clang = '/usr/bin/clang++-18';
  const environment = { CUDA_HOME: '/kit', PATH: '/usr/bin' };

  it('nvcc before clang', check([nvcc, headers, clang], { environment }, `nvcc ${nvcc}`));
  it('clang where there are headers and no nvcc', check([headers, clang], { environment }, `clang ${clang}`));
  it('no clang without headers', check([clang], { environment }, undefined));
  it('clang by name', check([nvcc, headers, clang], { configured: 'clang', environment }, `clang ${clang}`));
  it('clang by path', check([nvcc, headers, clang], { configured: clang, environment }, `clang ${clang}`));
  it(
    'the newest clang, a plain one before it',
    check([headers, '/usr/bin/clang++-14', clang], { configured: 'clang', environment }, `clang ${clang}`),
  );
  it(
    'the clang that the system chose',
    check([headers, '/usr/bin/clang++', clang], { configured: 'clang', environment }, 'clang /usr/bin/clang++'),
  );
  it(
    'clang of Windows, with the toolkit that its installer names',
    check(
      ['C:\\kit\\include\\cuda_runtime.h', 'C:\\LLVM\\bin\\clang++.exe'],
      { configured: 'clang', platform: 'win32', environment: { CUDA_PATH: 'C:\\kit', Path: 'C:\\LLVM\\bin' } },
      'clang C:\\LLVM\\bin\\clang++.exe',
    ),
  );
  it(
    'a clang that is asked for needs headers',
    check(
      [clang],
      { configured: 'clang', environment },
      'clang: clang needs the headers of a CUDA toolkit, and none was found (CUDA_HOME)',
    ),
  );
  it('a clang that is not there', check([headers], { configured: clang, environment }, `no clang at ${clang}`));
  it(
    'a folder of that name is no clang',
    check(['/opt/clang/bin/nvcc'], { configured: '/opt/clang/bin/nvcc' }, 'nvcc /opt/clang/bin/nvcc'),
  );
});

describe('Architectures', () => {
  const check = (wanted: number, expected: number) => () =>
    assert.equal(nearestArchitecture(wanted, [75, 80, 86, 90, 100]), expected);
  it('itself', check(86, 86));
  it('the newest before', check(89, 86));
  it('the oldest when all are newer', check(52, 75));
});

describe('Flags', () => {
  const check = (flags: string, expected: string) => () =>
    assert.equal(usableFlags(flags.split(' ')).join(' '), expected);
  it(
    'outputs, architectures and sources go',
    check('-O3 -c -o a.o -gencode arch=compute_80,code=sm_80 -arch=sm_80 a.cu', '-O3'),
  );
  it(
    'what the text means stays',
    check(
      '-I inc -DN=4 -std=c++17 -Xcompiler -fPIC --extended-lambda',
      '-I inc -DN=4 -std=c++17 -Xcompiler -fPIC --extended-lambda',
    ),
  );
  it('debug code would be another program', check('-G -g -use_fast_math', '-use_fast_math'));
  it('features of an architecture are asked for where the build asks for them', () => {
    const suffix = (flags: string) => featureSuffix(flags.split(' '), 90);
    assert.deepEqual(
      ['-arch=sm_90a', '-gencode arch=compute_90a,code=sm_90a', '-arch=sm_90', '-arch=sm_100a', ''].map(suffix),
      ['a', 'a', '', '', ''],
    );
  });
  it('a forced include is no source', check('-include config.c a.cu', '-include config.c'));

  const checkClang = (flags: string, expected: string) => () =>
    assert.equal(clangFlags(flags.split(' ')).join(' '), expected);
  it(
    'of nvcc’s flags clang gets what the text means',
    checkClang(
      '-O2 -I inc -DN=4 -std=c++17 -Xcompiler -fPIC --extended-lambda -use_fast_math -fmad=false -maxrregcount=32 a.cu',
      '-O2 -I inc -DN=4 -std=c++17 -ffast-math -ffp-contract=off',
    ),
  );
  it(
    'of its own all but the architecture and the outputs',
    checkClang(
      '-x cuda --cuda-gpu-arch=sm_80 --cuda-path=/kit -fno-exceptions -isystem inc -c -o a.o a.cu',
      '--cuda-path=/kit -fno-exceptions -isystem inc',
    ),
  );
});

describe('Messages of ptxas', () => {
  it('registers, stack, spills and shared memory of every kernel', () => {
    const kernels = parseResources(`ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z1aPf' for 'sm_90'
ptxas info    : Function properties for _Z1aPf
    40 bytes stack frame, 36 bytes spill stores, 44 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 40 bytes cumulative stack size, 4224 bytes smem, 372 bytes cmem[0]
ptxas info    : Compiling entry function '_Z1bPf' for 'sm_90'
ptxas info    : Function properties for _Z1bPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers, 1024+16 bytes smem, 360 bytes cmem[0], 8 bytes cmem[2]
ptxas info    : Function properties for helper
    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads`);
    const figures = kernels.map((k) => [
      k.mangled,
      k.registers,
      k.stackBytes,
      k.spillStoreBytes,
      k.spillLoadBytes,
      k.sharedBytes,
      k.constantBytes,
      k.barriers,
    ]);
    assert.deepEqual(figures, [
      ['_Z1aPf', 255, 40, 36, 44, 4224, 372, 1],
      ['_Z1bPf', 12, 0, 0, 0, 1040, 368, 0],
    ]);
  });
  it('the first error', () => {
    assert.equal(firstError('note: x\na.cu(3): error: expected a ";"\nb'), 'a.cu(3): error: expected a ";"');
    assert.equal(firstError('\n'), undefined);
  });
});

describe('A compiler that misbehaves', function () {
  this.timeout(30_000);
  let folder: string;
  let source: string;
  before(function () {
    if (process.platform === 'win32') this.skip();
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'warplens-test-'));
    source = path.join(folder, 'a.cu');
    fs.writeFileSync(source, '__global__ void k() {}');
  });
  after(() => {
    if (folder) fs.rmSync(folder, { recursive: true });
  });

  /** An nvcc that is a shell script; it answers the question for its architectures. */
  const fake = (script: string) => {
    const file = path.join(fs.mkdtempSync(path.join(folder, 'kit-')), 'nvcc');
    const architectures = 'if [ "$1" = --list-gpu-arch ]; then echo compute_80; exit 0; fi';
    fs.writeFileSync(
      file,
      `#!/bin/sh\n${architectures}\nwhile [ $# -gt 1 ]; do [ "$1" = -o ] && out="$2"; shift; done\n${script}\n`,
      { mode: 0o755 },
    );
    return file;
  };
  const compile = (nvcc: string, more: { signal?: AbortSignal; milliseconds?: number; capability?: string } = {}) =>
    compileToPtx({ nvcc, file: source, flags: [], capability: '8.0', ...more });

  it('succeeds', async () => {
    const compiled = await compile(fake('echo ".version 8.0" > "$out"'));
    assert.deepEqual(compiled, { ptx: '.version 8.0\n', notes: [] });
  });
  it('has not the capability: said in a note', async () => {
    const compiled = await compile(fake('echo > "$out"'), { capability: '9.0' });
    assert.deepEqual('notes' in compiled && compiled.notes, ['the toolkit has no 9.0: compiled for 8.0']);
  });
  it('fails: its first error', async () => {
    const nvcc = fake('echo "a.cu(1): warning: w" >&2; echo "a.cu(2): error: bad" >&2; exit 2');
    assert.deepEqual(await compile(nvcc), { error: 'a.cu(2): error: bad' });
  });
  it('fails without a word', async () => {
    assert.deepEqual(await compile(fake('exit 7')), { error: 'nvcc ended with status 7' });
  });
  it('says that all is well and writes nothing', async () => {
    assert.deepEqual(await compile(fake('exit 0')), { error: 'the compiler wrote no PTX' });
  });
  it('hangs, with a child that hangs too', async () => {
    const start = Date.now();
    const compiled = await compile(fake('sleep 60 & sleep 60'), { milliseconds: 500 });
    assert.match('error' in compiled ? compiled.error : '', /took longer than/);
    assert.ok(Date.now() - start < 10_000);
  });
  for (const how of ['process.exit(0)', "process.kill(process.pid, 'SIGTERM')"]) {
    it(`is ended with the process that started it, and what it started: ${how}`, async () => {
      const told = path.join(folder, `pid-${how.length}`);
      const nvcc = fake(`sleep 60 & echo $! > ${told}; sleep 60`);
      const module = path.resolve(__dirname, '../../../server/src/compiler/run-program.ts');
      const script = `require(${JSON.stringify(module)}).runProgram(${JSON.stringify(nvcc)},
        { arguments: ['a.cu'], folder: ${JSON.stringify(folder)}, milliseconds: 60000, outputLimit: 100 });
        const wait = () => require('fs').existsSync(${JSON.stringify(told)}) ? setTimeout(() => ${how}, 200) : setTimeout(wait, 50);
        wait();`;
      const root = path.resolve(__dirname, '../../..');
      spawnSync(process.execPath, ['--require', 'tsx/cjs', '-e', script], { cwd: root, timeout: 20_000 });
      const grandchild = Number(fs.readFileSync(told, 'utf8'));
      const isAlive = () => {
        try {
          process.kill(grandchild, 0);
          return !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${grandchild}/status`, 'utf8'));
        } catch {
          return false;
        }
      };
      for (let wait = 0; wait < 50 && isAlive(); wait++) await new Promise((resolve) => setTimeout(resolve, 100));
      assert.equal(isAlive(), false);
    });
  }
  it('prints without end', async () => {
    const compiled = await compile(fake('head -c 30000000 /dev/zero | tr "\\0" "x"; exit 1'));
    assert.ok('error' in compiled && compiled.error.length < 400);
  });
  it('is cancelled', async () => {
    const cancel = new AbortController();
    const compiled = compile(fake('sleep 60'), { signal: cancel.signal });
    setTimeout(() => cancel.abort(), 300);
    assert.deepEqual(await compiled, { error: 'cancelled', isCancelled: true });
  });
  it('does not exist', async () => {
    assert.match(JSON.stringify(await compile(path.join(folder, 'none'))), /cannot be started/);
  });
  it('leaves nothing behind', async () => {
    // a folder of its own: other tests of the same moment make theirs in the common one
    const own = fs.mkdtempSync(path.join(folder, 'tmp-'));
    const names = ['TMPDIR', 'TEMP', 'TMP'] as const;
    const before = names.map((name) => process.env[name]);
    for (const name of names) process.env[name] = own;
    try {
      const nvcc = fake(`ls ${own} > ${folder}/seen; exit 1`);
      await compile(nvcc);
    } finally {
      names.forEach((name, n) => {
        if (before[n] === undefined) delete process.env[name];
        else process.env[name] = before[n];
      });
    }
    assert.match(fs.readFileSync(path.join(folder, 'seen'), 'utf8'), /^warplens-/);
    assert.deepEqual(fs.readdirSync(own), []);
  });
  it('unsaved text is compiled in place of the file, and errors name the file', async () => {
    const nvcc = fake('for last; do :; done; if [ "$1" ]; then echo "$1(1): error: $(cat "$1")" >&2; fi; exit 1');
    const compiled = await compileToPtx({ nvcc, file: source, text: 'unsaved', flags: [], capability: '8.0' });
    assert.deepEqual(compiled, { error: `${source}(1): error: unsaved` });
  });
});

describe('PTX and registers in one run', function () {
  this.timeout(60_000);
  const nvcc = findNvcc({ environment: process.env, platform: process.platform });
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'warplens-test-'));
  after(() => fs.rmSync(folder, { recursive: true }));
  before(function () {
    if (nvcc !== undefined) return;
    console.log('    nvcc is not installed: skipped');
    this.skip();
  });
  const compile = (file: string, more: { text?: string } = {}) =>
    compileKernels({ nvcc: nvcc ?? '', file, flags: [], capability: '9.0', ...more });

  it('of the transpose example', async () => {
    const file = path.resolve(__dirname, '..', '..', '..', 'examples', 'transpose.cu');
    const compiled = await compile(file);
    assert.ok('notes' in compiled, JSON.stringify(compiled));
    const tiled = compiled.kernels?.find((kernel) => kernel.name.startsWith('transposeTiled('));
    assert.equal(tiled?.sharedBytes, 32 * 32 * 4);
    assert.ok(tiled.registers >= 8 && tiled.registers <= 64);
    assert.match(compiled.ptx ?? '', /\.entry _Z14transposeTiled.*\.loc/s);
  });
  it('what the assembler refuses still has its PTX, and the reason', async () => {
    const file = path.join(folder, 'big.cu');
    fs.writeFileSync(file, '__global__ void k(int* p) { __shared__ int a[99999]; a[*p] = 1; *p = a[p[1]]; }');
    const compiled = await compile(file);
    assert.ok('notes' in compiled, JSON.stringify(compiled));
    assert.equal(compiled.kernels, undefined);
    assert.match(compiled.notes.join(), /too much shared data/);
    assert.match(compiled.ptx ?? '', /\.entry _Z1kPi/);
  });
  it('of unsaved text, placed in the file it is of', async () => {
    const file = path.join(folder, 'unsaved.cu');
    const compiled = await compile(file, { text: '__global__ void k(int* p) { *p = 1; }' });
    assert.match('ptx' in compiled ? (compiled.ptx ?? '') : '', new RegExp(`\\.file\\s+1 "${file}"`));
  });
  it('registers of a PTX file', async () => {
    const file = path.resolve(__dirname, '..', 'analysis', 'compiled', 'several.ptx');
    const compiled = await compile(file);
    assert.ok('notes' in compiled, JSON.stringify(compiled));
    assert.deepEqual(compiled.kernels?.map((kernel) => kernel.mangled).sort(), [
      '_Z4rowsPKfPf',
      '_Z6halvesP7__half2',
      '_Z7columnsILi3EEvPKfS1_Pfi',
    ]);
  });
});
