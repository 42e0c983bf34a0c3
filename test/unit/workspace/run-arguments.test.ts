/** What programs are started with, as Makefiles and scripts beside them say. */
import assert from 'node:assert/strict';
import * as path from 'node:path';
import { analyzeFile } from '../../../server/src/analysis/analyze';
import { parseUnit } from '../../../server/src/analysis/parsed-unit';
import { findLaunches } from '../../../server/src/launch/find-launches';
import { LexCache } from '../../../server/src/preprocess/lex-cache';
import { commandOfMakefile, commandOfScript } from '../../../server/src/workspace/run-arguments';
import { UnitReader } from '../../../server/src/workspace/units';
import { temporaryFolder } from '../../host/bundle';

/** The command of a Makefile's text as `program: arguments`, or 'none'. */
const makefile = (text: string, expected: string): void => assert.equal(shown(commandOfMakefile(text)), expected);
const script = (text: string, expected: string): void => assert.equal(shown(commandOfScript(text)), expected);

const shown = (command: ReturnType<typeof commandOfMakefile>): string =>
  command ? `${command.program}: ${command.arguments.join(' ')}`.trim() : 'none';

/** Shapes and figures of the launches of a file: `grid x block, sectors`. */
function check(
  files: Readonly<Record<string, string>>,
  file: string,
  expected: readonly string[],
  given?: string[],
): void {
  const { folder, remove } = temporaryFolder(files);
  try {
    const options = { computeCapability: '9.0', defines: new Map(), assume: new Map(), programArguments: given };
    const units = new UnitReader(new Map(), assert.fail);
    const where = { folders: [folder], includePaths: [] };
    const { kernels } = analyzeFile(units.request(path.join(folder, file), files[file], options, where));
    assert.deepEqual(
      kernels.flatMap(({ launches, startedWith }) =>
        launches.map(
          ({ grid, block, accesses: [first] }) =>
            `${grid[0]} x ${block[0]}, ${first.sectors} ${first.certainty}${startedWith?.file ? ` by ${path.basename(startedWith.file)}` : ''}`,
        ),
      ),
      expected,
    );
  } finally {
    remove();
  }
}

describe('the command that starts a program', () => {
  it('is in the rule "run" of a Makefile', () => {
    makefile(
      'program = main\nLAUNCHER =\nrun: $(program)\n\t$(LAUNCHER) ./$(program) 1000 -n 3 > out.txt\n',
      'main: 1000 -n 3',
    );
    makefile('N := 64\nall: x\nrun: all\n\t@./x $(N) "two words" # as measured\n', 'x: 64 two words');
    makefile('run:\n\tcd build && ./x 7; echo done\n', 'x: 7');
    makefile('run:\n\t./a 1\n\t./a 2\n', 'a: 1');
  });
  it('is none where nobody says, or where a word is not known', () => {
    makefile('all:\n\t./x 1\n', 'none');
    makefile('run:\n\t./x $(SIZE)\n', 'none');
    makefile('run:\n\techo ./x 1\n', 'none');
    makefile('run := 3\n', 'none');
  });
  it('is in a script', () => {
    script('#!/bin/sh\n# starts it\nexport A=1\n./x 5 6 | tee log\n', 'x: 5 6');
    script('nvcc x.cu -o x\n', 'none');
  });
});

describe('arguments of a program', () => {
  const options = { computeCapability: '9.0', defines: new Map(), assume: new Map() };
  const main = (name = 'main') => `#include <cstdlib>
#include <string>
__global__ void k(float* a, int n, int stride) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i * stride] = 1; }
int ${name}(int argc, char** argv) {
  if (argc != 3) return 1;
  const int n = atoi(argv[1]), stride = std::stoi(argv[2]);
  float* d; cudaMalloc(&d, n * stride * 4);
  k<<<(n + 63) / 64, 64>>>(d, n, stride);
}`;
  const rule = 'run: x\n\t./x 1000 2\n';
  it('are those of the Makefile beside it, and tell shapes and strides', () =>
    check({ 'main.cu': main(), Makefile: rule }, 'main.cu', ['16 x 64, 250 exact by Makefile']));
  it('may be many, read one after the other', () => {
    const text = `#include <cstdlib>
#include <cstring>
__global__ void k(float* a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] = 1; }
int main(int argc, char** argv) {
  int nx = 500, ny = 300, steps = 2, isQuiet = 0;
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "-x")) nx = atoi(argv[++i]);
    else if (!strcmp(argv[i], "-y")) ny = atoi(argv[++i]);
    else if (!strcmp(argv[i], "--steps")) steps = atoi(argv[++i]);
    else if (!strcmp(argv[i], "--quiet")) isQuiet = 1;
    else return 1;
  }
  float* d; cudaMalloc(&d, nx * ny * 4);
  k<<<ny, nx>>>(d, nx * ny);
}`;
    const given = '-x 64 -y 290 --steps 7 --quiet -x 96'.split(' ');
    check({ 'main.cu': text }, 'main.cu', ['290 x 96, 3480 exact'], given);
    // by the text alone
    const { tree, source } = parseUnit({ path: 'main.cu', text, options, include: () => undefined }, new LexCache());
    const [found] = findLaunches(tree, source.tokens, source.comments, { assume: new Map(), programArguments: given });
    assert.deepEqual(found.grid[0], { kind: 'number', value: 290, type: 'unsigned int' });
  });
  it('are those of the Makefile two folders above', () =>
    check({ 'src/app/main.cu': main(), Makefile: rule }, 'src/app/main.cu', ['16 x 64, 250 exact by Makefile']));
  it('are those of a script', () =>
    check({ 'main.cu': main(), 'run.sh': './main 128 8' }, 'main.cu', ['2 x 64, 128 exact by run.sh']));
  it('are what is set before all', () =>
    check({ 'main.cu': main(), Makefile: rule }, 'main.cu', ['1 x 64, 8 exact'], ['64', '1']));
  it('are not those of another program in the folder', () =>
    check({ 'main.cu': main(), 'x.cu': main(), Makefile: rule }, 'main.cu', ['16 x 64, 1024 assumed']));
  it('reach the run of the host, whose loops and texts rest on them', () => {
    const text = `#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
__global__ void k(const int* at, float* a) { a[at[threadIdx.x]] = 1; }
int main(int argc, char** argv) {
  int step = 1, n = 32;
  for (int i = 1; i + 1 < argc; i++) if (!strcmp(argv[i], "-s")) step = std::stoi(std::string(argv[++i]));
  std::vector<int> h; for (int i = 0; i < n; i++) h.push_back(i * step);
  int* d; cudaMalloc(&d, n * 4); cudaMemcpy(d, h.data(), n * 4, cudaMemcpyHostToDevice);
  float* a; cudaMalloc(&a, 1 << 20);
  k<<<1, 32>>>(d, a);
}`;
    const store = (arguments_: string[], sectors: number) => {
      const options = { computeCapability: '9.0', defines: new Map(), assume: new Map(), programArguments: arguments_ };
      const { kernels } = analyzeFile({ path: 'm.cu', text, options, include: () => undefined });
      assert.equal(kernels[0].launches[0].accesses.find((a) => a.operation === 'store')?.sectors, sectors);
    };
    store(['-v', '-s', '8'], 32);
    store(['-s', '2'], 8);
    store([], 4);
  });
});
