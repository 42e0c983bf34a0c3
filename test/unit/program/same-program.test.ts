import { strict as assert } from 'node:assert';
import type { Program } from '../../../server/src/program/program';
import { isSameProgram } from '../../../server/src/program/same-program';

const place = (first: number) => ({ first, last: first, call: { first: 7, last: 9 } });
const program = (value: number, line = 3): Program => ({
  kernel: 'scale',
  registers: [
    { type: 'i32', role: 'constant', value },
    { type: 'i32', role: 'temporary', call: place(1) },
    { type: 'i32', role: 'temporary', call: place(1) },
  ],
  blocks: [
    { instructions: [{ op: 'binary', fn: 'add', type: 'i32', dst: 1, a: 0, b: 0 }], terminator: { kind: 'exit' } },
  ],
  inputs: [],
  objects: [],
  accesses: [],
  branches: [],
  skipped: [{ place: place(line), reason: 'not understood' }],
});

describe('equal programs', () => {
  it('are told from others by every instruction, register and place', () => {
    assert.ok(isSameProgram(program(4), program(4)));
    assert.ok(!isSameProgram(program(4), program(5)));
    assert.ok(!isSameProgram(program(4), program(4, 8)));
    assert.ok(!isSameProgram(program(4), { ...program(4), sharedGranule: 16 }));
    assert.ok(!isSameProgram(program(0), program(-0)));
    assert.ok(isSameProgram(program(Number.NaN), program(Number.NaN)));
  });
});
