import assert from 'node:assert/strict';
import { Effort } from '../../../server/src/analysis/effort';
import { programFrom } from '../program/program-text';

const program = (effort: number) => ({ ...programFrom('a:\nexit'), effort });

describe('what a file may cost', () => {
  it('one kernel with many instances leaves the next its share', () => {
    const effort = new Effort(2);
    effort.kernel(20);
    let instances = 0;
    while (instances < 20 && (instances === 0 || !effort.isLoweringSpent)) {
      effort.chargeProgram(program(5_000));
      instances++;
    }
    assert.ok(instances > 1 && instances < 20);
    effort.kernel(1);
    assert.equal(effort.isLoweringSpent, false);
    assert.ok(effort.lowering().instructions >= 20_000);
  });

  it('who waits longer has larger kernels lowered, as long as there is time', () => {
    const [editor, patient, late] = [new Effort(1), new Effort(1, 64), new Effort(1, 64, () => true)];
    for (const effort of [editor, patient, late]) effort.kernel(1);
    const [short, long, hurried] = [editor, patient, late].map((effort) => effort.lowering());
    assert.equal(long.instructions, 2 * short.instructions);
    assert.equal(long.steps, 2 * short.steps);
    assert.deepEqual(hurried, short);
  });

  it('every kernel gets something, however much the ones before it used', () => {
    const effort = new Effort(3);
    for (let kernel = 0; kernel < 3; kernel++) {
      const { warpInstructions } = effort.kernel(1).budget(true);
      assert.ok(warpInstructions >= 8_000);
      assert.ok(effort.lowering().instructions >= 8_000);
      effort.chargeProgram(program(1_000_000));
      effort.charge(100_000_000);
    }
  });

  it('what a kernel leaves over goes to the later ones', () => {
    const [sparing, wasteful] = [new Effort(2), new Effort(2)];
    sparing.kernel(1);
    wasteful.kernel(1);
    wasteful.charge(580_000);
    assert.ok(sparing.kernel(1).budget(true).warpInstructions > wasteful.kernel(1).budget(true).warpInstructions);
  });

  it('kernels that are looked at late have an editor’s effort', () => {
    let isLate = false;
    const patient = new Effort(3, 64, () => isLate);
    const early = patient.kernel(1).budget(true);
    isLate = true;
    const late = patient.kernel(1).budget(true);
    assert.deepEqual(late, new Effort(2).kernel(1).budget(true));
    assert.ok(early.warpInstructions > 50 * late.warpInstructions);
  });
});
