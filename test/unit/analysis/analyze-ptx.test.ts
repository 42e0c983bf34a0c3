/** PTX files on their own: kernels and findings at the lines of the PTX. */
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { analyzeFile } from '../../../server/src/analysis/analyze';
import type { AnalysisOptions } from '../../../server/src/analysis/request';
import type { FileReport } from '../../../server/src/report/report';

const several = fs.readFileSync(path.join(__dirname, 'compiled', 'several.ptx'), 'utf8');

function analyse(text: string, more: Partial<AnalysisOptions> = {}): FileReport {
  const options = { computeCapability: '9.0', defines: new Map(), assume: new Map(), ...more };
  return analyzeFile({ path: 'kernel.ptx', text, options, include: () => undefined });
}

/** `line: expression, space operation excess-way x requests` of every access. */
function accesses(text: string, more: Partial<AnalysisOptions> = {}): string[] {
  return analyse(text, more).kernels.flatMap((k) =>
    k.launches.flatMap((l) =>
      l.accesses.map((a) => {
        const excess = a.space === 'shared' ? a.wavefronts / a.idealWavefronts : a.sectors / a.idealSectors;
        return `${a.line}: ${a.expression.replace(/\s+/g, ' ')}, ${a.space} ${a.operation} ${excess}-way x${a.requests}`;
      }),
    ),
  );
}

/** A kernel with a strided load, as a compiler without line numbers writes it. */
const strided = (directives = '') => `.version 8.0
.target sm_90
.address_size 64
.visible .entry strided(.param .u64 p, .param .u32 n)
${directives}
{
  .reg .b32 %r<4>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 8;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r2, [%rd3];
  st.global.u32 [%rd3], %r2;
  ret;
}
`;

describe('A PTX file', () => {
  it('accesses stand at their instructions', () => {
    assert.deepEqual(accesses(strided(), { block: [64, 1, 1], grid: [2, 1, 1] }), [
      '12: ld.global.u32 %r2, [%rd3], global load 2-way x4',
      '13: st.global.u32 [%rd3], %r2, global store 2-way x4',
    ]);
  });
  it('kernels have their names and lines, and say where they come from', () => {
    const found = analyse(several).kernels.map((k) => [k.name, k.templateArguments.join(), k.line, k.origin]);
    assert.deepEqual(
      found.map(([name, values, , origin]) => [name, values, origin]),
      [
        ['halves', '', 'ptx'],
        ['rows', '', 'ptx'],
        ['columns', '3', 'ptx'],
      ],
    );
    for (const [name, , line] of found)
      assert.match(several.split('\n')[Number(line) - 1], new RegExp(`entry .*${name}`));
  });
  it('a finding names the line of the source', () => {
    const conflict = analyse(several, { block: [32, 32, 1] }).diagnostics.find((d) => /^32-way.*write/.test(d.message));
    assert.match(several.split('\n')[(conflict?.line ?? 0) - 1], /^\tst\.shared/);
    const source = conflict?.related.find((each) => each.message === 'made from this line');
    assert.deepEqual([source?.file, source?.line], ['/home/me/several.cu', 19]);
  });
  it('copies of an unrolled loop are one access', () => {
    const shared = accesses(several, { kernel: 'rows', block: [32, 1, 1], grid: [1, 1, 1] }).filter((each) =>
      /shared load/.test(each),
    );
    assert.equal(shared.length, 2);
  });
  it('a kernel by its name', () => {
    assert.deepEqual(
      analyse(several, { kernel: 'rows' }).kernels.map((k) => k.name),
      ['rows'],
    );
    assert.deepEqual(
      analyse(several, { kernel: '_Z4rowsPKfPf' }).kernels.map((k) => k.name),
      ['rows'],
    );
  });
  it('the block it requires, its bound, an option before both', () => {
    const block = (directives: string, more = {}) => {
      const [launch] = analyse(strided(directives), more).kernels[0].launches;
      return `${launch.block.join()} ${launch.origin}`;
    };
    assert.equal(block('.reqntid 32, 4, 1'), '32,4,1 launch-bounds');
    assert.equal(block('.maxntid 128, 1, 1'), '128,1,1 launch-bounds');
    assert.equal(block('.reqntid 128', { block: [64, 1, 1] }), '64,1,1 setting');
    assert.equal(block(''), '256,1,1 assumed');
  });
  it('a text of another kind has a note and no kernel', () => {
    const { kernels, notes } = analyse('hello\n');
    assert.equal(kernels.length, 0);
    assert.equal(notes[0].message, 'no kernel was found in this PTX');
  });
  it('cut off anywhere: an answer all the same', () => {
    for (let end = 0; end < several.length; end += 97) assert.ok(analyse(several.slice(0, end), { block: [32, 1, 1] }));
  });
});
