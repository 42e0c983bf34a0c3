/** Mends of launches: each is applied here and has to remove its finding and leave the work as it was. */
import assert from 'node:assert/strict';
import type { Finding } from '../../../server/src/report/report';
import { analyse } from '../analysis/check-accesses';

function applied(text: string, { fixes: [fix] }: Finding): string {
  const lines = text.split('\n');
  for (const { line, column, endColumn, newText } of fix.edits)
    lines[line - 1] = lines[line - 1].slice(0, column - 1) + newText + lines[line - 1].slice(endColumn - 1);
  return lines.join('\n');
}

const findings = (text: string, rule: string) => analyse(text).diagnostics.filter((d) => d.rule === rule);

/** The title of the mend, which is applied and tried; undefined where none is offered. */
function mend(text: string, rule: string): string | undefined {
  const [finding] = findings(text, rule);
  assert.ok(finding, 'there is a finding');
  if (finding.fixes.length === 0) return undefined;
  assert.deepEqual(findings(applied(text, finding), rule), []);
  return finding.fixes[0].title;
}

const scale = (guard: string, host: string) => `
#define SIZE 200
const int N = 100000;
__global__ void scale(float* a) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  ${guard} a[i] = 2 * a[i];
}
${host}`;
const grid = (block: string) => `(N + ${block} - 1) / ${block}`;

describe('mend of a block size', () => {
  const check = (guard: string, host: string) => mend(scale(guard, host), 'block-not-multiple-of-warp');
  const guard = 'if (i < N)';

  it('edits the constant that block and grid are made of', () => {
    const host = `int main() { const int block = 200; scale<<<${grid('block')}, block>>>(0); }`;
    assert.equal(check(guard, host), 'Make block 224');
    assert.equal(check(guard, `int main() { scale<<<${grid('SIZE')}, SIZE>>>(0); }`), 'Make SIZE 224');
    assert.equal(check(guard, `int main() { scale << <${grid('SIZE')}, SIZE >> > (0); }`), 'Make SIZE 224');
    assert.equal(check(guard, `int main() { dim3 b(200); scale<<<${grid('b.x')}, b>>>(0); }`), 'Make b 224');
  });

  it('is none where the grid does not follow, or lanes would do what none did before', () => {
    const host = 'int main() { const int block = 200; scale<<<500, block>>>(0); }';
    assert.equal(check('', host), undefined);
    assert.equal(check('', `int main() { const int block = 200; scale<<<${grid('block')}, block>>>(0); }`), undefined);
  });

  it('is none where the number stands for itself, or comes from elsewhere', () => {
    assert.equal(check(guard, 'int main() { scale<<<500, 200>>>(0); }'), undefined);
    assert.equal(
      check(guard, `int main() { const int block = 2 * 100; scale<<<${grid('block')}, block>>>(0); }`),
      undefined,
    );
  });

  it('is none where a shared array has the old size', () => {
    const text = `
const int B = 200, N = 100000;
__global__ void k(float* a) {
  __shared__ float s[200];
  s[threadIdx.x] = a[0];
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) a[i] = s[0];
}
int main() { k<<<${grid('B')}, B>>>(0); }`;
    assert.equal(mend(text, 'block-not-multiple-of-warp'), undefined);
  });
});

describe('mend of launch bounds', () => {
  const bounded = (bounds: string, threads = 256) => `
#define MANY 128
__global__ void __launch_bounds__(${bounds}) k(float* a) { a[threadIdx.x] = 1; }
int main() { k<<<4, ${threads}>>>(0); }`;
  const check = (bounds: string, threads?: number) => mend(bounded(bounds, threads), 'launch-exceeds-limits');

  it('raises the number to what is launched', () => {
    assert.equal(check('128'), 'Bound k to 256 threads a block');
    assert.equal(check('128, 4'), 'Bound k to 256 threads a block');
  });

  it('is none for a name, and for a block that no bound allows', () => {
    assert.equal(check('MANY'), undefined);
    assert.equal(check('128', 2048), undefined);
  });
});
