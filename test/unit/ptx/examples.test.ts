import assert from 'node:assert/strict';
import * as path from 'node:path';
import { compileToPtx } from '../../../server/src/compiler/compile';
import { findNvcc } from '../../../server/src/compiler/find-nvcc';
import type { Program } from '../../../server/src/program/program';
import { verifyProgram } from '../../../server/src/program/verify';
import { assembledProgram } from '../../../server/src/ptx/assemble';
import { findEntry } from '../../../server/src/ptx/find-entry';
import { lowerPtx } from '../../../server/src/ptx/lower';
import type { PtxModule } from '../../../server/src/ptx/module';
import { entriesOf, parsePtx } from '../../../server/src/ptx/parse';
import { type Launch, run } from './run';

const nvcc = findNvcc({ environment: process.env, platform: process.platform });
const examples = path.resolve(__dirname, '..', '..', '..', 'examples');

/** Sums over all accesses of a space and operation. */
function totals(program: Program, launch: Launch, space: string, operation: string) {
  const sum = { actual: 0, ideal: 0 };
  for (const counts of run(program, launch).accesses) {
    if (counts.space !== space || program.accesses[counts.access].operation !== operation) continue;
    sum.actual += space === 'shared' ? counts.wavefronts : counts.sectors;
    sum.ideal += space === 'shared' ? counts.idealWavefronts : counts.idealSectors;
  }
  return sum;
}

describe('PTX of the examples', function () {
  this.timeout(120_000);
  const modules = new Map<string, PtxModule>();
  before(async function () {
    if (nvcc === undefined) {
      console.log('    nvcc is not installed: skipped');
      this.skip();
    }
    for (const name of ['transpose', 'reduction', 'matmul', 'stencil', 'histogram', 'particles']) {
      const compiled = await compileToPtx({
        nvcc,
        file: path.join(examples, `${name}.cu`),
        flags: ['-O3'],
        capability: '9.0',
      });
      assert.ok('ptx' in compiled, JSON.stringify(compiled));
      modules.set(name, parsePtx(compiled.ptx));
    }
  });
  const program = (file: string, kernel: string): Program => {
    const module = modules.get(file);
    const entry = module && findEntry(module, kernel, []);
    assert.ok(module && entry, `${kernel} has no entry`);
    return assembledProgram(lowerPtx(module, entry.name));
  };
  const launch: Launch = { block: [32, 8, 1], grid: [4, 4, 1], parameters: [undefined, undefined, 128] };

  it('all kernels lower to sound programs without anything left out', () => {
    for (const module of modules.values()) {
      assert.deepEqual(module.problems, []);
      for (const { name } of entriesOf(module)) {
        const lowered = lowerPtx(module, name);
        assert.deepEqual([verifyProgram(lowered), lowered.skipped], [[], []], name);
      }
    }
  });
  it('transposeTiled reads its tile 32-way', () => {
    const { actual, ideal } = totals(program('transpose', 'transposeTiled'), launch, 'shared', 'load');
    assert.equal(actual / ideal, 32);
  });
  it('transposePadded reads its tile without conflicts', () => {
    const { actual, ideal } = totals(program('transpose', 'transposePadded'), launch, 'shared', 'load');
    assert.equal(actual / ideal, 1);
  });
  it('transposeNaive moves eight times the sectors on one side', () => {
    const naive = program('transpose', 'transposeNaive');
    const ratios = ['load', 'store'].map((operation) => {
      const { actual, ideal } = totals(naive, launch, 'global', operation);
      return actual / ideal;
    });
    assert.deepEqual(
      ratios.sort((a, b) => a - b),
      [1, 8],
    );
  });
  it('every access stands on a line of the example', () => {
    for (const [name, module] of modules) {
      for (const entry of entriesOf(module)) {
        for (const { place } of lowerPtx(module, entry.name).accesses) {
          assert.equal(path.basename(place.location?.file ?? ''), `${name}.cu`);
          assert.ok((place.location?.line ?? 0) > 0);
        }
      }
    }
  });
});
