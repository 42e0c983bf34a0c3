/** A file is compiled again after every save: what the compiler made of unedited kernels is mostly what it was. */
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { createAnalyzer } from '../../../server/src/analysis/analyze';
import { PreparedCompilation } from '../../../server/src/analysis/compilation';
import { parseUnit } from '../../../server/src/analysis/parsed-unit';
import type { Compilation } from '../../../server/src/analysis/request';
import type { MachineAccess } from '../../../server/src/cubin/machine-access';
import { LexCache } from '../../../server/src/preprocess/lex-cache';
import { analyse } from './check-accesses';

const folder = path.join(__dirname, 'compiled');
const text = fs.readFileSync(path.join(folder, 'several.cu'), 'utf8');
const ptx = fs.readFileSync(path.join(folder, 'several.ptx'), 'utf8');
const options = { computeCapability: '9.0', defines: new Map(), assume: new Map() };

/** The PTX with the source's lines from `first` on moved down. */
const moved = (by: number, first = 1, of = ptx): string =>
  of.replace(/((?:\.loc\s+|inlined_at )1 )(\d+)/g, (_, head, line) => `${head}${+line >= first ? +line + by : line}`);

/** Kernels of the second compilation of which the compiler made something else than of the first's. */
function anew(first: Omit<Compilation, 'id'>, second: Omit<Compilation, 'id'>): string {
  let prepared: PreparedCompilation | undefined;
  const names: string[] = [];
  for (const [id, given] of Object.entries({ first, second })) {
    const unit = parseUnit({ path: 'several.cu', text: given.text, options, include: () => undefined }, new LexCache());
    prepared = new PreparedCompilation('several.cu', { id, ...given }, unit, prepared);
    for (const { name, declaration } of unit.kernels)
      if (prepared.idOf(name, unit.fingerprints.of(declaration)) === 'second') names.push(name);
  }
  return names.join();
}

describe('A file that is compiled again', () => {
  it('as it was', () => assert.equal(anew({ text, ptx }, { text, ptx }), ''));
  it('with lines above', () => assert.equal(anew({ text, ptx }, { text: `\n\n${text}`, ptx: moved(2) }), ''));
  it('with lines between its kernels', () => {
    const apart = text.replace('__global__ void rows', '// new\n__global__ void rows');
    assert.equal(anew({ text, ptx }, { text: apart, ptx: moved(1, 41) }), '');
  });
  it('with labels and file-local names numbered anew', () => {
    const named = (number: string) =>
      ptx.replaceAll('_ZZ4rowsPKfPfE1s', `_ZN32_INTERNAL_${number}_4_t_cu__Z1aPi4rowsE1s`);
    const other = named('5db1e46c').replaceAll('$L__BB1_', '$L__BB7_').replaceAll('$L__BB2_', '$L__BB8_');
    assert.equal(anew({ text, ptx: named('87c6e66b') }, { text, ptx: other }), '');
  });
  it('after an edit of one kernel', () => {
    const edited = text.replace('sum + in', 'sum - in');
    assert.equal(anew({ text, ptx }, { text: edited, ptx: ptx.replace('add.f32', 'sub.f32') }), 'rows');
  });
  it('by a compiler that makes something else of it', () => {
    const other = ptx.replace(/(_Z6halves[\s\S]*?)\[%rd6\+256\]/, '$1[%rd6+128]');
    assert.notEqual(other, ptx);
    assert.equal(anew({ text, ptx }, { text, ptx: other }), 'halves');
  });
  it('with a statement on two lines', () => {
    const broken = text.replace('__hadd2(p[2', '__hadd2(\n        p[2');
    assert.equal(anew({ text, ptx }, { text: broken, ptx: moved(1, 37) }), 'halves');
  });
  it('with a branch to elsewhere', () => {
    const loop = (target: string) =>
      ptx.replace(/(_Z6halves[\s\S]*?)\tret;/, `$1$L__a:\n$L__b:\n\tbra $L__${target};\n`);
    assert.equal(anew({ text, ptx: loop('a') }, { text, ptx: loop('b') }), 'halves');
  });
  it('with another variable of the file', () => {
    const using = (bytes: number) =>
      `${ptx.replace('.visible', `.const .align 4 .b8 other[${bytes}];\n.visible`)}`.replace(
        'ld.global.u32 \t%r2, [%rd4];',
        'ld.const.u32 %r2, [other];',
      );
    assert.equal(anew({ text, ptx: using(4) }, { text, ptx: using(8) }), 'halves');
  });
  it('of which the assembler makes something else', () => {
    const lines = ptx.split('\n');
    const load = lines.findIndex((line) => line.includes('ld.global')) + 1;
    const made = (ptxLine: number, line: number, bytes: number): ReadonlyMap<string, readonly MachineAccess[]> => {
      const place = [{ file: '/build/several.cu', line }];
      const access = { offset: 16, operation: 'load', space: 'global', bytes, isPredicated: false } as const;
      return new Map([['_Z6halvesP7__half2', [{ ...access, ptxLine, lines: place }]]]);
    };
    const before = { text, ptx, machine: made(load, 36, 4) };
    const again = { text: `\n${text}`, ptx: `\n${moved(1)}` };
    assert.equal(anew(before, { ...again, machine: made(load + 1, 37, 4) }), '');
    assert.equal(anew(before, { ...again, machine: made(load + 1, 37, 8) }), 'halves');
    assert.equal(anew(before, { ...again, machine: made(load + 2, 37, 4) }), 'halves');
    assert.equal(anew(before, { ...again, machine: made(load + 1, 35, 4) }), 'halves');
  });
  it('has the figures of one that is compiled for the first time', () => {
    const analyzer = createAnalyzer();
    const edited = `\n${text.replace('p[2 * threadIdx.x]', 'p[4 * threadIdx.x]')}`;
    const asked: [string, Compilation][] = [
      [text, { id: '1', text, ptx }],
      [edited, { id: '1', text, ptx }],
      [edited, { id: '2', text: edited, ptx: moved(1).replace('shl.b32 \t%r5, %r4, 1', 'shl.b32 \t%r5, %r4, 2') }],
      [`\n${edited}`, { id: '3', text: `\n${edited}`, ptx: moved(2) }],
    ];
    for (const [each, compilation] of asked) {
      const request = { path: 'several.cu', text: each, options, include: () => undefined, compilation };
      assert.deepEqual(analyzer.analyze(request), analyse(each, { path: 'several.cu', compilation }));
    }
  });
});
