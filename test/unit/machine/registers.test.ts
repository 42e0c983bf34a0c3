import assert from 'node:assert/strict';
import { findKernels } from '../../../server/src/analysis/kernels';
import { capability } from '../../../server/src/hardware/capabilities';
import { createUnitContext, lowerKernel } from '../../../server/src/lower/lower-kernel';
import { machineProgram } from '../../../server/src/machine/machine';
import { estimateRegisters, registersAtFullOccupancy } from '../../../server/src/machine/registers';
import { parse } from '../../../server/src/parse/parse';
import { predefinedMacros } from '../../../server/src/preprocess/predefined';
import { preprocess } from '../../../server/src/preprocess/preprocess';

function limitsOf(cc: string) {
  const row = capability(cc);
  assert.ok(row);
  return row.limits;
}

function estimate(body: string, cc = '9.0', bound?: number) {
  const text = `__global__ void k(float* out, const float* __restrict__ in, int n, int stride) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; ${body} }`;
  const source = preprocess({ path: 'k.cu', text, defines: predefinedMacros(cc), include: () => undefined });
  const tree = parse(source.tokens, source.pragmas);
  const unit = createUnitContext(tree, source.tokens);
  const [{ declaration, scope }] = findKernels(tree, unit.scope);
  const program = machineProgram(lowerKernel(unit, { declaration, scope, templateArguments: [] }));
  return estimateRegisters(program, limitsOf(cc), bound);
}

const many = (count: number) =>
  `float a[${count}]; ${Array.from({ length: count }, (_, i) => `a[${i}] = in[i + ${i} * n];`).join(' ')}
   __syncthreads(); ${Array.from({ length: count }, (_, i) => `out[i + ${i} * n] = a[${i}];`).join(' ')}`;

describe('estimated registers', () => {
  it('of full occupancy follow from the limits of the capability', () => {
    const expected = { '7.0': 32, '7.5': 64, '8.0': 32, '8.6': 40, '9.0': 32, '12.0': 40 };
    for (const [cc, count] of Object.entries(expected)) assert.equal(registersAtFullOccupancy(limitsOf(cc)), count, cc);
  });

  it('are few for a copy, and within its range', () => {
    const { registers, range } = estimate('if (i < n) out[i] = in[i];');
    assert.ok(registers >= 8 && registers <= 14, String(registers));
    assert.ok(range[0] <= registers && registers <= range[1]);
  });

  it('grow with the values that live at once', () => {
    const counts = [4, 16, 64].map((count) => estimate(many(count)).registers);
    assert.ok(counts[0] < counts[1] && counts[1] < counts[2], counts.join());
    assert.ok(counts[2] >= 64);
  });

  it('overlap the loads of a loop that is written out, up to full occupancy', () => {
    const loop = (step: string) =>
      `float s = 0; for (int k = 0; k < n; k += ${step}) s += in[k * stride + i]; out[i] = s;`;
    const unrolled = estimate(loop('1'));
    assert.ok(unrolled.registers > estimate(loop('blockDim.x')).registers);
    assert.ok(unrolled.registers <= 32);
    assert.ok(estimate(loop('1'), '12.0').registers >= unrolled.registers);
  });

  it('have room for what a function of full precision needs, and none for fast ones', () => {
    // ptxas 13.0 on 9.0: 10, 22, 18, and for the doubles 12, 26, 29
    const of = (expression: string) => estimate(`out[i] = ${expression};`).registers;
    assert.equal(of('__sinf(in[i])'), of('in[i] * 3'));
    assert.ok(of('sinf(in[i])') >= 20 && of('sinf(in[i])') <= 24);
    assert.ok(of('powf(in[i], out[i])') > of('__powf(in[i], out[i])'));
    assert.ok(
      of('pow((double)in[i], 1.5)') > of('(double)in[i] / n') && of('(double)in[i] / n') > of('(double)in[i] * n'),
    );
  });

  it('keep what lives across a call behind those that it may use', () => {
    const plain = estimate(`${many(16)} if (n < 0) out[0] = n;`).registers;
    const calling = estimate(many(16).replace('__syncthreads();', 'if (n < 0) printf("%d", n);')).registers;
    assert.ok(calling >= plain + 8, `${calling} ${plain}`);
  });

  it('stay within launch bounds', () => {
    assert.equal(estimate(many(64), '9.0', 32).registers, 32);
    assert.deepEqual(estimate(many(64), '9.0', 32).range, [32, 32]);
  });

  it('count a double twice', () => {
    const values = (type: string) => {
      const list = Array.from({ length: 24 }, (_, i) => `${type} v${i} = in[i + ${i} * n];`).join(' ');
      const sums = Array.from({ length: 24 }, (_, i) => `out[i + ${i}] = v${i};`).join(' ');
      return estimate(`${list} __syncthreads(); ${sums}`).registers;
    };
    assert.ok(values('double') > values('float') + 12);
  });
});
