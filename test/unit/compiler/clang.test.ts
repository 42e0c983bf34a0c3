/** clang as a second compiler: its PTX on the examples, where clang and a toolkit's headers are. */
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { analyzeFile } from '../../../server/src/analysis/analyze';
import { compileFile } from '../../../server/src/compiler/compile-file';
import { findCompiler } from '../../../server/src/compiler/find-compiler';
import type { FileReport } from '../../../server/src/report/report';

const compiler = findCompiler({ configured: 'clang', environment: process.env, platform: process.platform });
const examples = path.resolve(__dirname, '..', '..', '..', 'examples');

async function reportOf(example: string): Promise<FileReport> {
  assert.ok(compiler && !('reason' in compiler));
  const file = path.join(examples, `${example}.cu`);
  const text = fs.readFileSync(file, 'utf8');
  const compiled = await compileFile(compiler, { file, flags: ['-O3'], capability: '9.0' });
  assert.ok('notes' in compiled && compiled.ptx, JSON.stringify(compiled).slice(0, 300));
  return analyzeFile({
    path: file,
    text,
    options: { computeCapability: '9.0', defines: new Map(), assume: new Map() },
    include: () => undefined,
    compilation: { id: file, text, ptx: compiled.ptx },
  });
}

/** `12 shared load 32-way` and the like: lines that cost more than they need, as clang's code has them. */
function costly({ kernels }: FileReport, kernel: string): string[] {
  const accesses = kernels.find((k) => k.name === kernel)?.launches[0].accesses ?? [];
  return accesses.flatMap((a) => {
    const excess = a.space === 'shared' ? a.wavefronts / a.idealWavefronts : a.sectors / a.idealSectors;
    return excess >= 1.5 ? [`${a.expression} ${a.space} ${a.operation} ${excess}`] : [];
  });
}

describe('Files compiled with clang', function () {
  this.timeout(120_000);
  before(function () {
    if (compiler && !('reason' in compiler)) return;
    console.log(`    ${compiler ? compiler.reason : 'clang is not installed'}: skipped`);
    this.skip();
  });

  for (const name of ['transpose', 'reduction', 'matmul', 'stencil', 'histogram', 'particles'])
    it(`every kernel of ${name}.cu comes from the PTX, every access stands in the file`, async () => {
      const report = await reportOf(name);
      const places = report.kernels.flatMap((k) =>
        k.launches.flatMap((l) => l.accesses.map((a) => path.basename(a.file))),
      );
      assert.deepEqual([...new Set(places)], [`${name}.cu`]);
      assert.deepEqual(
        report.kernels.map((k) => `${k.name} ${k.origin} ${k.originReason ?? ''}`),
        report.kernels.map((k) => `${k.name} ptx `),
      );
    });
  it('the findings of transpose.cu are what they are with nvcc', async () => {
    const report = await reportOf('transpose');
    assert.deepEqual(costly(report, 'transposeTiled'), ['tile[threadIdx.x][threadIdx.y + j] shared load 32']);
    assert.deepEqual(costly(report, 'transposePadded'), []);
  });
  it('an atomic that clang has in a header stands at the call', async () => {
    const report = await reportOf('histogram');
    const atomics = report.kernels.flatMap((k) =>
      k.launches[0].accesses.flatMap((a) => (a.operation === 'atomic' ? `${k.name}:${a.line} ${a.space}` : [])),
    );
    const lines = fs.readFileSync(path.join(examples, 'histogram.cu'), 'utf8').split('\n');
    for (const each of atomics) assert.match(lines[Number(/:(\d+)/.exec(each)?.[1]) - 1], /atomicAdd/);
    assert.ok(atomics.length >= 2);
  });
});
