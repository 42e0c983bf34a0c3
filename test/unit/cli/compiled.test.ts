import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { analyzeFile } from '../../../server/src/analysis/analyze';
import type { AnalysisOptions } from '../../../server/src/analysis/request';
import { compiledKey, compileSources } from '../../../server/src/cli/compiled';
import { capability } from '../../../server/src/hardware/capabilities';
import { launchText } from '../../../server/src/lsp/hover-launch';
import { launchSummary } from '../../../server/src/report/wording';

const text = `template <int N> __global__ void __launch_bounds__(256) k(float* out) { out[threadIdx.x] = N; }
int main() { k<4><<<2000, 256>>>(0); k<8><<<2000, 256>>>(0); }`;

/** Stands for nvcc: knows 9.0, and says what ptxas would of two instances. */
const nvcc = `#!/bin/sh
case "$*" in *--list-gpu-arch*) echo compute_90; exit 0;; esac
echo "$*" > "$(dirname "$0")/arguments"
cat >&2 <<'END'
ptxas info    : Compiling entry function '_Z1kILi8EEvPf' for 'sm_90'
ptxas info    : Function properties for _Z1kILi8EEvPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 80 registers, used 0 barriers
ptxas info    : Compiling entry function '_Z1kILi4EEvPf' for 'sm_90'
ptxas info    : Function properties for _Z1kILi4EEvPf
    96 bytes stack frame, 96 bytes spill stores, 96 bytes spill loads
ptxas info    : Used 40 registers, used 0 barriers
END
`;

const options: AnalysisOptions = { computeCapability: '9.0', defines: new Map([['SIDE', '4']]), assume: new Map() };

describe('Registers from the compiler', () => {
  if (process.platform === 'win32') return;
  let folder = '';
  let compiler = '';
  before(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'compiled-'));
    compiler = path.join(folder, 'nvcc');
    fs.writeFileSync(compiler, nvcc, { mode: 0o755 });
    fs.writeFileSync(path.join(folder, 'a.cu'), text);
  });
  after(() => fs.rmSync(folder, { recursive: true }));

  async function compiled(how: string, changed: Partial<AnalysisOptions> = {}) {
    const file = path.join(folder, 'a.cu');
    const asked = { ...options, ...changed };
    const workspace = { folders: [folder], includePaths: [path.join(folder, 'include')] };
    const complaints: string[] = [];
    const complain = (line: string) => void complaints.push(line);
    const found = await compileSources({
      sources: [{ path: file, text }],
      options: [asked],
      workspace,
      compiler: how,
      complain,
    });
    return { compilation: found.get(compiledKey('9.0', file)), complaints };
  }

  async function report() {
    const { compilation } = await compiled(compiler);
    return analyzeFile({ path: 'a.cu', text, options, include: () => undefined, compilation });
  }

  it('go to the instance they are of', async () => {
    const { kernels } = await report();
    const found = kernels[0].launches.map(({ occupancy }) => [
      occupancy?.registersPerThread,
      occupancy?.registersOrigin,
      occupancy?.compiled?.spillStoreBytes,
      occupancy?.registersRange,
    ]);
    assert.deepEqual(found, [
      [40, 'compiler', 96, undefined],
      [80, 'compiler', 0, undefined],
    ]);
  });

  it('macros and folders of headers are passed on', async () => {
    await compiled(compiler);
    const said = fs.readFileSync(path.join(folder, 'arguments'), 'utf8');
    for (const part of ['-DSIDE=4', '-I ', 'include', '-cubin', '-arch=sm_90']) assert.ok(said.includes(part), said);
  });

  it('are not asked for with off', async () => {
    assert.equal((await compiled('off')).compilation, undefined);
  });
  it('give way to a count that was given', async () => {
    const { compilation } = await compiled(compiler, { registersPerThread: 20 });
    const given = { ...options, registersPerThread: 20 };
    const { kernels } = analyzeFile({ path: 'a.cu', text, options: given, include: () => undefined, compilation });
    assert.equal(kernels[0].launches[0].occupancy?.registersPerThread, 20);
  });

  it('a compiler that was named and fails is complained of', async () => {
    const broken = path.join(folder, 'broken');
    fs.writeFileSync(broken, '#!/bin/sh\necho "a.cu(1): error: no" >&2\nexit 2\n', { mode: 0o755 });
    const { compilation, complaints } = await compiled(broken);
    assert.equal(compilation, undefined);
    assert.equal(complaints.length, 1);
    assert.match(complaints[0], /a\.cu: not compiled: .*error: no/);
  });

  it('the hover says where they come from, the bound, both steps and the waves', async () => {
    const { kernels } = await report();
    const row = capability('9.0');
    assert.ok(row);
    const shown = launchText(kernels[0], kernels[0].launches[0], row);
    for (const part of [
      '40 registers a thread (by the compiler, 192 bytes of spills)',
      '`__launch_bounds__(256)` allows at most 255 registers a thread.',
      'More warps with 8 registers fewer, 40 → 32: 8 blocks instead of 6',
      'Fewer with 1 register more, 40 → 41: 5 blocks instead of 6',
      'waves on a H100 SXM',
    ])
      assert.ok(shown.includes(part), `${part}\nin\n${shown}`);
    assert.equal(launchSummary(kernels[0].launches[0])[0], '75 % occupancy');
  });

  it('an estimate on which the occupancy depends has ≈', () => {
    const many = Array.from({ length: 24 }, (_, i) => `float a${i} = in[i + ${i} * n];`).join(' ');
    const uses = Array.from({ length: 24 }, (_, i) => `in[i + ${i}] = a${i};`).join(' ');
    const estimated = `__global__ void k(float* in, int n) { int i = threadIdx.x; ${many} __syncthreads(); ${uses} }
int main() { k<<<2000, 256>>>(0, 4); }`;
    const { kernels } = analyzeFile({ path: 'a.cu', text: estimated, options, include: () => undefined });
    const [launch] = kernels[0].launches;
    assert.ok(launch.occupancy?.blocksRange, JSON.stringify(launch.occupancy?.registersRange));
    assert.match(launchSummary(launch)[0], /^≈ \d+ % occupancy$/);
  });
});
