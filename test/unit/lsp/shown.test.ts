/** Hover, lens, quick fix and panel data: all from one report. */
import * as assert from 'node:assert/strict';
import { codeActions } from '../../../server/src/lsp/code-action';
import { codeLenses } from '../../../server/src/lsp/code-lens';
import { hoverAt } from '../../../server/src/lsp/hover';
import { uriOfPath } from '../../../server/src/lsp/positions';
import { simulateResult } from '../../../server/src/lsp/simulate';
import { conflicting, path, positionOf, reportOf, uri } from './reports';

const report = reportOf(conflicting);
const columnRead = positionOf(conflicting, 'tile[threadIdx.x]');

function hover(text: string, part: string, computeCapability = '9.0', nth = 0): string {
  const source = { report: reportOf(text, computeCapability), computeCapability };
  const found = hoverAt(source, path, positionOf(text, part, nth));
  return found === null ? '' : (found.contents as { value: string }).value;
}

describe('hover', () => {
  it('shows figures, picture, certainty and launch of an access', () => {
    const text = hover(conflicting, 'tile[threadIdx.x]');
    assert.match(text, /\*\*32-way bank conflict\*\* — shared load of `tile`, 4 bytes a lane, capability 9\.0/);
    assert.match(text, /32 requests, 1,024 wavefronts, ideal 32 \(3\.1 %\)/);
    assert.match(text, /lane {3}0 {2}1 {2}2/);
    assert.match(text, /bank 0: 32 different words for lanes 0–31/);
    assert.match(text, /Exact/);
    assert.match(text, /grid 1, block 32 × 32, launched in line 9/);
  });
  it('pictures sectors for global memory', () => {
    const text = hover(conflicting, 'out[threadIdx.y');
    assert.match(text, /\*\*Coalesced\*\* — global store of `out`/);
    assert.match(text, /4 pieces of 32 bytes: 128 bytes moved/);
  });
  it('counts by the capability asked for', () => {
    assert.match(hover(conflicting.replaceAll('32', '16'), 'tile[threadIdx.x]', '1.3'), /16-way bank conflict/);
  });
  it('tells occupancy, limiter and estimated registers on the name and on the launch', () => {
    for (const nth of [0, 1]) {
      const text = hover(conflicting, 'columns', '9.0', nth);
      assert.match(text, /grid 1, block 32 × 32 \(1024 threads, 32 warps\)/);
      assert.match(text, /\*\*100 % occupancy\*\*: 2 blocks, 64 of 64 warps a multiprocessor, limited by warps/);
      assert.match(text, /registers a thread \(estimated, \d+ to \d+\), 4,096 bytes of shared memory/);
    }
  });
  it('says why a figure is not known', () => {
    const text =
      '__global__ void f(float *a, int *index) { a[index[threadIdx.x]] = 1.0f; }\nvoid g(float *a, int *i) { f<<<1, 32>>>(a, i); }\n';
    assert.match(hover(text, 'a[index'), /\*\*Not known\*\*[\s\S]*Unknown: .+/);
  });
  it('tells the register limit that __launch_bounds__ sets, for the capability chosen', () => {
    const bounded = (bounds: string, threads = 256) =>
      `__global__ void __launch_bounds__(${bounds}) k(float *a) { a[threadIdx.x] = 1.0f; }\nvoid f(float *a) { k<<<64, ${threads}>>>(a); }\n`;
    const onBounds = (bounds: string, cc = '9.0', threads = 256) => hover(bounded(bounds, threads), 'bounds__', cc);
    assert.match(
      onBounds('256, 8'),
      /`__launch_bounds__\(256, 8\)`\*\* of `k`[\s\S]*At least 8 blocks of 256 threads a multiprocessor: \*\*at most 32 registers a thread\*\*. With so many it holds 8 blocks, 100 % occupancy/,
    );
    assert.match(onBounds('256, 8'), /Registers a thread by blocks a multiprocessor: 1: 255, 2: 128, 3: 80, 4: 64,/);
    assert.match(onBounds('1024'), /One block has to fit: \*\*at most 64 registers/);
    assert.match(onBounds('256'), /this bound takes none away/);
    assert.match(onBounds('256, 8', '7.5'), /the compiler ignores the second argument[\s\S]*at most 255 registers/);
    assert.match(onBounds('2048'), /A block has at most 1,024 threads on 9\.0/);
    assert.match(
      onBounds('256', '9.0', 128),
      /The launch in line 2 has 128 threads a block; `__launch_bounds__\(128\)`/,
    );
    assert.match(onBounds('128', '9.0', 256), /has 256 threads a block and fails/);
  });
  it('is silent elsewhere', () => {
    assert.equal(hover(conflicting, '__syncthreads'), '');
  });
});

describe('code lens', () => {
  const title = (text: string) => codeLenses(reportOf(text), uri)[0]?.command?.title;
  it('sums up occupancy, conflict and efficiency', () => {
    assert.equal(title(conflicting), '100 % occupancy · 32-way conflict · 100 % of global bytes used · Simulate');
    assert.match(title(conflicting.replace('[32][32]', '[32][33]')) ?? '', /no bank conflicts/);
  });
  it('names the steps that are near, of what is known for certain', () => {
    const near = (floats: number) =>
      title(`__global__ void k(float *a) { __shared__ float s[${floats}]; s[threadIdx.x] = a[0]; __syncthreads(); a[threadIdx.x] = s[${floats - 1} - threadIdx.x]; }
void f(float *a) { k<<<64, 128>>>(a); }`) ?? '';
    // 228 KB hold five blocks of 45,568 bytes and the reserved 1 KB
    assert.match(near(12288), /^25 % occupancy · 3\.5 KB less shared memory: 5 blocks · /);
    assert.match(near(11264), / · 640 bytes more shared memory: 4 blocks · /);
    assert.doesNotMatch(near(1024), /shared memory|register/);
  });
  it('says when the launch is assumed', () => {
    assert.match(title(conflicting.replace(/void run.*/, '')) ?? '', /launch assumed · Simulate$/);
  });
  it('stands over the kernel’s name and runs the simulation', () => {
    const [lens] = codeLenses(report, uri);
    assert.deepEqual(lens.range.start, positionOf(conflicting, 'columns'));
    assert.deepEqual(lens.command?.arguments, [uri, 'columns']);
  });
});

describe('quick fix', () => {
  const at = { start: columnRead, end: columnRead };
  it('pads the array, with the figures before and after', () => {
    const [fix, ...more] = codeActions(report, path, at, uriOfPath);
    assert.deepEqual(more, []);
    assert.equal(fix.title, 'Pad tile to [32][33] (1,024 → 32 wavefronts)');
    const edits = fix.edit?.changes?.[uri] ?? [];
    assert.equal(applied(conflicting, edits), conflicting.replace('[32][32]', '[32][33]'));
  });
  it('is offered at its finding only', () => {
    const elsewhere = positionOf(conflicting, '__syncthreads');
    assert.deepEqual(codeActions(report, path, { start: elsewhere, end: elsewhere }, uriOfPath), []);
    assert.deepEqual(codeActions(report, '/project/other.cu', at, uriOfPath), []);
  });
});

interface Edit {
  readonly range: { start: { line: number; character: number }; end: { line: number; character: number } };
  readonly newText: string;
}

function applied(text: string, edits: readonly Edit[]): string {
  const lines = text.split('\n');
  for (const { range, newText } of edits) {
    const line = lines[range.start.line];
    lines[range.start.line] = line.slice(0, range.start.character) + newText + line.slice(range.end.character);
  }
  return lines.join('\n');
}

describe('the panel’s data', () => {
  const result = (params: object) =>
    simulateResult({ report, computeCapability: '9.0' }, { uri, ...params }, path, uriOfPath);
  it('is the kernel by name or at the cursor', () => {
    assert.equal(result({ kernel: 'columns' }).kernel?.name, 'columns');
    assert.equal(result({ line: 5 }).kernel?.name, 'columns');
    assert.equal(result({ kernel: 'gone' }).kernel, undefined);
    assert.deepEqual(result({ line: 0 }).files, { [path]: uri });
  });
});

describe('hover on a launch that estimated registers would fail', () => {
  it('says that it may', () => {
    const many = `__global__ void k(float *a, int n) {
  float v[64];
  for (int i = 0; i < 64; i++) v[i] = a[i * n + threadIdx.x];
  for (int p = 0; p < n; p++) for (int i = 0; i < 64; i++) v[i] = v[i] * v[(i + 7) % 64] + p;
  for (int i = 0; i < 64; i++) a[i * n + threadIdx.x] = v[i];
}
void f(float *a) { k<<<64, 1024>>>(a, 1024); }
`;
    const text = hover(many, 'k(float');
    assert.match(
      text,
      /\*\*The launch may fail\*\* \(registers are estimated\): [\d,]+ registers per block, at most 65,536/,
    );
    assert.doesNotMatch(text, /\*\*The launch fails\*\*/);
  });
});
