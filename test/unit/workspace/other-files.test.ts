/** Kernels whose launch, or what it passes, stands in another file of the workspace. */
import assert from 'node:assert/strict';
import * as path from 'node:path';
import { analyzeFile } from '../../../server/src/analysis/analyze';
import { UnitReader } from '../../../server/src/workspace/units';
import { temporaryFolder } from '../../host/bundle';

/**
 * Analyses one file of a folder and compares its launches with `kernel <<<grid, block>>> file:line`, and `assumed` where a figure
 * rests on something that no file says. `open`: unsaved texts.
 */
function check(
  files: Readonly<Record<string, string>>,
  file: string,
  expected: readonly string[],
  open: Readonly<Record<string, string>> = {},
): void {
  const { folder, remove } = temporaryFolder(files);
  try {
    const unsaved = new Map(Object.entries(open).map(([name, text]) => [path.join(folder, name), text]));
    const units = new UnitReader(unsaved, assert.fail);
    const options = { computeCapability: '9.0', defines: new Map(), assume: new Map() };
    const text = open[file] ?? files[file];
    const report = analyzeFile(
      units.request(path.join(folder, file), text, options, { folders: [folder], includePaths: [] }),
    );
    const launches = report.kernels.flatMap(({ name, launches }) =>
      launches.map(({ grid, block, location, accesses }) => {
        const at = location ? ` ${path.relative(folder, location.file)}:${location.line}` : '';
        const assumed = accesses.some(({ certainty }) => certainty !== 'exact') ? ' assumed' : '';
        return `${name} <<<${grid.join()}, ${block.join()}>>>${at}${assumed}`;
      }),
    );
    assert.deepEqual(launches, expected);
  } finally {
    remove();
  }
}

const fill = `__global__ void fill(float* a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] = 0; }\n`;
const wrapper = `${fill}void fillAll(float* a, int n) { fill<<<(n + 127) / 128, 128>>>(a, n); }`;
const main = (statements: string) => `int main() { float* d; cudaMalloc(&d, 1 << 20); ${statements} }`;

describe('launches in other files', () => {
  it('a wrapper is called with known sizes from a C++ file that sees its declaration', () => {
    const files = {
      'fill.h': 'void fillAll(float* a, int n);',
      'fill.cu': `#include "fill.h"\n${wrapper}`,
      'main.cpp': `#include "fill.h"\n${main('fillAll(d, 1000);')}`,
    };
    check(files, 'fill.cu', ['fill <<<8,1,1, 128,1,1>>> fill.cu:3']);
  });
  it('the kernel itself is launched elsewhere', () => {
    const files = {
      'fill.cu': fill,
      'main.cu': `extern __global__ void fill(float* a, int n);\n${main('fill<<<4, 64>>>(d, 256);')}`,
    };
    check(files, 'fill.cu', ['fill <<<4,1,1, 64,1,1>>> main.cu:2']);
  });
  it('a shape is handed in from another file', () => {
    const files = {
      'fill.cu': `${fill}void run(float* a, int n, dim3 grid, dim3 block) { fill<<<grid, block>>>(a, n); }`,
      'main.cu': `void run(float* a, int n, dim3 grid, dim3 block);\n${main('dim3 b(32, 4); run(d, 128, dim3(2), b);')}`,
    };
    check(files, 'fill.cu', ['fill <<<2,1,1, 32,4,1>>> fill.cu:2']);
  });
  it('callers of callers are followed to main', () => {
    const files = {
      'fill.cu': wrapper,
      'solve.cpp': 'void fillAll(float* a, int n); void solve(float* a) { fillAll(a, 512); }',
      'main.cpp': `void solve(float*);\n${main('solve(d);')}`,
    };
    check(files, 'fill.cu', ['fill <<<4,1,1, 128,1,1>>> fill.cu:2']);
  });
  it('callers stand beside what calls the file', () => {
    const files = {
      'kernels/fill.cu': wrapper,
      'src/solve.h': 'struct Solver { void run(float* a); };',
      'src/solve.cu':
        '#include "solve.h"\nvoid fillAll(float* a, int n);\nvoid Solver::run(float* a) { fillAll(a, 512); }',
      'src/main.cu': `#include "solve.h"\n${main('Solver solver; solver.run(d);')}`,
    };
    check(files, 'kernels/fill.cu', ['fill <<<4,1,1, 128,1,1>>> kernels/fill.cu:2']);
  });
  it('methods of a class that a header declares', () => {
    const files = {
      'filler.h': 'struct Filler { int n; void run(float* a); };',
      'filler.cu': `#include "filler.h"\n${fill}void Filler::run(float* a) { fill<<<n / 64, 64>>>(a, n); }`,
      'main.cpp': `#include "filler.h"\n${main('Filler f; f.n = 640; f.run(d);')}`,
    };
    check(files, 'filler.cu', ['fill <<<10,1,1, 64,1,1>>> filler.cu:3']);
  });
  it('a function of the same name in another program is none of its callers', () => {
    const files = {
      'one/fill.cu': wrapper,
      'one/main.cpp': `void fillAll(float*, int);\n${main('fillAll(d, 256);')}`,
      'two/fill.cpp': 'void fillAll(float* a, int n) {}',
      'two/main.cpp': `void fillAll(float*, int);\n${main('fillAll(d, 4096);')}`,
    };
    check(files, 'one/fill.cu', ['fill <<<2,1,1, 128,1,1>>> one/fill.cu:2']);
  });
  it('a file that only happens to use the name declares nothing of the kind', () => {
    const files = { 'fill.cu': wrapper, 'main.cpp': main('Painter p; p.fillAll(d, 256);') };
    check(files, 'fill.cu', ['fill <<<8,1,1, 128,1,1>>> fill.cu:2 assumed']);
  });
  it('a program with a main of its own is complete', () => {
    const files = {
      'fill.cu': `${wrapper}\n${main('fillAll(d, 256);')}`,
      'other.cpp': `void fillAll(float*, int);\n${main('fillAll(d, 4096);')}`,
    };
    check(files, 'fill.cu', ['fill <<<2,1,1, 128,1,1>>> fill.cu:2']);
  });
  it('unsaved text of the other file counts', () => {
    const files = { 'fill.cu': wrapper, 'main.cpp': `void fillAll(float*, int);\n${main('fillAll(d, 256);')}` };
    const open = { 'main.cpp': files['main.cpp'].replace('256', '384') };
    check(files, 'fill.cu', ['fill <<<3,1,1, 128,1,1>>> fill.cu:2'], open);
  });
});

describe('headers with kernels', () => {
  const header =
    'template <class T> __global__ void strided(T* a) { a[(blockIdx.x * BLOCK + threadIdx.x) * STEP] = T(); }';
  const user = `#define BLOCK 64\n#define STEP 2\n#include "strided.cuh"\n${main('strided<<<3, BLOCK>>>(d);')}`;
  it('are understood from the file that includes them', () => {
    check({ 'strided.cuh': header, 'main.cu': user }, 'strided.cuh', ['strided <<<3,1,1, 64,1,1>>> main.cu:4']);
  });
  it('by way of another header, in their unsaved text', () => {
    const files = {
      'lib/strided.cuh': header,
      'lib/all.cuh': '#pragma once\n#include "strided.cuh"',
      'main.cu': user.replace('strided.cuh', 'lib/all.cuh'),
    };
    const open = { 'lib/strided.cuh': `${fill}${header}` };
    const launches = ['fill <<<4,1,1, 256,1,1>>> assumed', 'strided <<<3,1,1, 64,1,1>>> main.cu:4'];
    check(files, 'lib/strided.cuh', launches, open);
  });
  it('on their own where the conditions of that file leave them out', () => {
    const files = { 'fill.cuh': fill, 'main.cu': `#if 0\n#include "fill.cuh"\n#endif\nint main() {}` };
    check(files, 'fill.cuh', ['fill <<<4,1,1, 256,1,1>>> assumed']);
  });
});
