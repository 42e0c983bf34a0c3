/** How often loops are written out whose number of passes is known only at run time (pass-cost.ts; PTX of nvcc 13.0). */
import assert from 'node:assert/strict';
import { findKernels } from '../../../server/src/analysis/kernels';
import { createUnitContext, lowerKernel } from '../../../server/src/lower/lower-kernel';
import { types } from '../../../server/src/lower/types';
import { parse } from '../../../server/src/parse/parse';
import { predefinedMacros } from '../../../server/src/preprocess/predefined';
import { preprocess } from '../../../server/src/preprocess/preprocess';

/** How many copies of `a[j]` a pass of the loop makes: the rest of the passes is one more. */
function copies(body: string, pragma = ''): number {
  const text = `__device__ float half(float x, float y) { float d = x - y; return d * d + x; }
    __device__ float4 operator*(float4 a, float4 b) { return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w); }
    template <int U> __global__ void k(const float* __restrict__ a, float* __restrict__ y, int n, float r) {
    float s = 0, acc[4] = {};
    ${pragma}
    for (int j = 0; j < n; j++) { float v = a[j]; ${body} }
    y[threadIdx.x] = s + acc[0] + acc[1] + acc[2] + acc[3]; }`;
  const source = preprocess({ path: 'k.cu', text, defines: predefinedMacros('9.0'), include: () => undefined });
  const tree = parse(source.tokens, source.pragmas);
  const unit = createUnitContext(tree, source.tokens);
  const [{ declaration, scope }] = findKernels(tree, unit.scope);
  const { blocks, accesses } = lowerKernel(unit, {
    declaration,
    scope,
    templateArguments: [{ kind: 'number', value: 4, type: types.int }],
  });
  const read = (first: number, last: number) => source.tokens.text.slice(first, last + 1).join('');
  const loads = blocks.flatMap(({ instructions }) =>
    instructions.filter(
      (i) => i.op === 'load' && read(accesses[i.access].place.first, accesses[i.access].place.last) === 'a[j]',
    ),
  );
  return Math.max(1, loads.length - 1);
}

/** A statement, where `#` is its number; with how many of them there are four copies, no four any more, two, and no two any more. */
const limits: readonly (readonly [string, number, number, number, number])[] = [
  ['s = s * v + #;', 22, 24, 40, 48],
  ['s = s / (v + #);', 8, 10, 16, 18],
  ['s += sqrtf(v + #);', 14, 16, 28, 32],
  ['s += __expf(v + #);', 10, 12, 22, 24],
  ['s += expf(v + #);', 3, 4, 6, 8],
  ['s += tanhf(v + #);', 2, 3, 4, 5],
  ['if (v > #) s += r;', 14, 16, 28, 32],
  ['s = fmaxf(s, v - #);', 22, 24, 40, 48],
  ['y[j * 32 + #] = v + #;', 8, 10, 16, 18],
  ['s += v * a[(j * 8 + #) & 255];', 6, 8, 14, 16],
  ['s += half(v, r + #);', 11, 12, 22, 23],
  ['acc[# & 3] += v * (r + #);', 23, 24, 44, 48],
  ['s += __ldg(&a[j * n + #]) * v;', 7, 8, 14, 15],
];

describe('an arm that arguments of templates rule out', () => {
  const much = Array.from({ length: 40 }, (_, k) => `s = s / (v + ${k + 1});`).join(' ');

  it('costs a pass nothing', () => {
    assert.equal(copies(`s += v; if (U == 8) { ${much} }`), 4);
    assert.equal(copies(`if constexpr (U != 8) s += v; else { ${much} }`), 4);
  });

  it('is told too where the pass names the number itself', () => {
    assert.equal(copies('for (int d = 0; d < U; d++) { float t = a[j * U + d] - r; s += t * t; }'), 4);
    assert.equal(copies('for (int d = 0; d < 2 * U; d++) { float t = a[j * U + d] - r; s += t * t; }'), 2);
  });

  it('costs what it does where it is the one that stays', () =>
    assert.equal(copies(`s += v; if (U < 8) { ${much} }`), 1));
});

describe('loops with passes counted at run time', () => {
  for (const pragma of ['', '#pragma unroll\n'])
    for (const [statement, four, notFour, two, notTwo] of limits) {
      const body = (count: number) =>
        Array.from({ length: count }, (_, k) => statement.replaceAll('#', String(k + 1))).join(' ');
      it(`${pragma ? 'asked to, ' : ''}are written out by what a pass costs: ${statement}`, () => {
        assert.equal(copies(body(four), pragma), 4);
        assert.equal(copies(body(notFour), pragma), 2);
        assert.equal(copies(body(two), pragma), 2);
        assert.equal(copies(body(notTwo), pragma), 1);
      });
    }

  it('count loops of known length with all that they compute', () => {
    for (const [passes, expected] of [
      [6, 4],
      [7, 2],
      [11, 2],
      [12, 1],
    ])
      assert.equal(copies(`for (int k = 0; k < ${passes}; k++) { float d = v - a[k * n + j]; s += d * d; }`), expected);
  });

  it('are not looked at for ever', () => {
    const loops =
      'for (int A = 0; A < 64; A++) for (int B = 0; B < 64; B++) for (int C = 0; C < 64; C++) for (int D = 0; D < 64; D++) for (int E = 0; E < 64; E++) s += v;';
    const before = performance.now();
    copies(loops);
    assert.ok(performance.now() - before < 3000);
  });

  it('counts an operation on vectors as one on each of their numbers', () => {
    const products = (n: number) => `float4 q = make_float4(v, r, v, r); ${'q = q * q; '.repeat(n)} s += q.x;`;
    assert.deepEqual(
      [6, 9, 14, 20, 24].map((n) => copies(products(n))),
      [4, 4, 2, 2, 1],
    );
  });
});
