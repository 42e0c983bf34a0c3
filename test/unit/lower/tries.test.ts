/** A kernel is lowered again where that is needed; what a try is not needed for any more it does not do. */
import assert from 'node:assert/strict';
import { findKernels } from '../../../server/src/analysis/kernels';
import { createUnitContext, lowerKernel } from '../../../server/src/lower/lower-kernel';
import { parse } from '../../../server/src/parse/parse';
import { predefinedMacros } from '../../../server/src/preprocess/predefined';
import { preprocess } from '../../../server/src/preprocess/preprocess';
import type { Program } from '../../../server/src/program/program';

function lowered(body: string): { program: Program; size: number; effort: number; tries: number } {
  const text = `__global__ void k(float* out, const float* in, int n) { ${body} }`;
  const source = preprocess({ path: 'k.cu', text, defines: predefinedMacros('9.0'), include: () => undefined });
  const tree = parse(source.tokens, source.pragmas);
  const unit = createUnitContext(tree, source.tokens);
  const [{ declaration, scope }] = findKernels(tree, unit.scope);
  let tries = 0;
  // a try begins with the kernel's template parameters
  const counted = new Proxy(declaration, {
    get: (of, key) => {
      if (key === 'templateParameters') tries++;
      return Reflect.get(of, key);
    },
  });
  const program = lowerKernel(unit, { declaration: counted, scope, templateArguments: [] });
  const size = program.blocks.reduce((sum, { instructions }) => sum + instructions.length, 0);
  return { program, size, effort: program.effort ?? 0, tries };
}

const local = ({ objects }: Program): string[] => objects.filter((o) => o.space === 'local').map((o) => o.name);

const long = (passes: number, statement: string): string =>
  `#pragma unroll
for (int i = 0; i < ${passes}; i++) { ${statement} }
`;

describe('a kernel that is lowered again', () => {
  const work = `\n${long(900, 'sum += in[i * n] * in[i + n * threadIdx.x];')}`;

  it('is not lowered to its end where an array has asked for memory', () => {
    const { program, size, effort } = lowered(
      `float a[8], sum = 0; a[n] = in[0]; sum += a[n + 1]; ${work} out[0] = sum;`,
    );
    assert.deepEqual(local(program), ['a']);
    assert.ok(size > 4000 && effort < 1.5 * size, `${effort} of ${size}`);
  });

  it('is lowered until no array asks for memory, however far they are apart', () => {
    const { program } = lowered(`float a[8], b[8], sum = 0; a[n] = in[0]; sum += a[n + 1]; ${work}
      b[n] = sum; sum += b[n + 1]; ${work} out[0] = sum;`);
    assert.deepEqual(local(program).sort(), ['a', 'b']);
  });

  it('is left early where two passes of a loop tell that it will not fit, and has its loops then', () => {
    const inner = `
#pragma unroll
      for (int j = 0; j < 80; j++) sum += in[(threadIdx.x * j + i) % n];`;
    const { program, effort } = lowered(`float sum = 0;\n${long(250, inner)} out[0] = sum;`);
    assert.deepEqual(program.skipped, []);
    assert.ok(effort < 10_000, `${effort}`);
  });

  it('is left in the first pass of a loop around, where the loop in it tells how long that will be', () => {
    const inner = `
#pragma unroll
      for (int j = 0; j < 200; j++) sum += in[(threadIdx.x * j + i) % n];`;
    const { program, effort } = lowered(`float sum = 0;\n${long(250, inner)} out[0] = sum;`);
    assert.deepEqual(program.skipped, []);
    assert.ok(effort < 200, `${effort}`);
  });

  it('keeps a triangle that fits, whose first pass is its longest', () => {
    const inner = `
#pragma unroll
      for (int j = i; j < 90; j++) sum += in[(threadIdx.x * j + i) % n];`;
    const { program, size } = lowered(`float sum = 0;\n${long(90, inner)} out[0] = sum;`);
    assert.deepEqual(program.skipped, []);
    assert.ok(size > 4000, `${size}`);
  });

  it('is not lowered with its loops where it is too large without any', () => {
    const straight = Array.from({ length: 4000 }, (_, i) => `out[${i} * n + threadIdx.x] = in[n * ${i + 5}] * n;`);
    const { program, tries } = lowered(`${straight.join('\n')}${long(4, 'out[i] = in[i * n];')}`);
    assert.equal(program.skipped.length, 1);
    assert.equal(tries, 1);
  });

  it('keeps all of a loop that fits, though its passes differ', () => {
    const { program, size } = lowered(
      `float sum = 0; ${long(100, 'if (i < 2) { sum += in[n] + in[2 * n] * in[3 * n] / in[5 * n]; }')} out[0] = sum;`,
    );
    assert.deepEqual(program.skipped, []);
    assert.ok(size < 1000);
  });

  it('is none because of a loop that calls a large lambda: that one is not written out (machine code: 16 loads for 62 passes)', () => {
    const { size, tries } = lowered(`
      float sum[2][2] = {};
      auto pass = [&](int at) {
        for (int i = 0; i < 8; i++)
          for (int m = 0; m < 2; m++)
            for (int c = 0; c < 2; c++) sum[m][c] += in[at * 512 + i * 64 + m * 32 + threadIdx.x * 2] * n / (c + 3);
      };
      for (int s = 0; s < 62; s++) pass(s);
      for (int m = 0; m < 4; m++) out[m * 64 + threadIdx.x] = sum[m / 2][m % 2];`);
    assert.equal(tries, 1);
    assert.ok(size < 400, `${size} instructions`);
  });
});
