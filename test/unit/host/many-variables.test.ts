/** Programs of the host with more variables than a function may have of its own: the others are the module's. */
import { check } from './check-contents';

const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
const each = (count: number, line: (i: number) => string): string => numbers(count).map(line).join('\n');

const around = (declarations: string, main: string, told: string): string => `
${declarations}
__global__ void look(const int* a, int* out) { out[a[threadIdx.x] & 1023] = 1; }
int main(int argc, char** argv) {
  int start = argc + 2;
  int values[4] = {0, 0, 0, 0};
  ${main}
  int *a, *out;
  cudaMalloc(&a, sizeof(values));
  cudaMalloc(&out, 4096);
  cudaMemcpy(a, values, sizeof(values), cudaMemcpyHostToDevice);
  look<<<1, 4>>>(a, out); //= a: ${told}
}`;

describe('many variables of the host', () => {
  it('of loops in loops: 600 that the outer one changes, 100 that the inner one does', () => {
    check(
      around(
        '',
        `${each(600, (i) => `int outer${i} = start + ${i};`)}
  ${each(100, (i) => `int inner${i} = ${i};`)}
  for (int round = 0; round < 3; round++) {
    ${each(600, (i) => `outer${i} += round * ${i};`)}
    for (int step = 0; step < 5; step++) {
      ${each(100, (i) => `inner${i} += outer${i} + step;`)}
    }
  }
  ${each(600, (i) => `values[0] += outer${i};`)}
  ${each(100, (i) => `values[1] ^= inner${i};`)}
  values[2] = outer599;
  values[3] = inner99;`,
        `${expectedSum()} ${expectedXor()} ${3 + 599 + 3 * 599} ${innerOf(99)}`,
      ),
    );
  });

  it('of one block: a structure of 200 members that is copied', () => {
    check(
      around(
        `struct Settings { ${each(200, (i) => `int m${i};`)} };`,
        `Settings a;
  ${each(200, (i) => `a.m${i} = start * ${i};`)}
  Settings b = a;
  Settings c;
  a.m7 = 1;
  c = b;
  values[0] = b.m7;
  values[1] = c.m199;
  values[2] = a.m7;
  ${each(200, (i) => `values[3] += c.m${i};`)}`,
        `21 597 1 ${(3 * 199 * 200) / 2}`,
      ),
    );
  });
});

/** `start` is 3; the outer variables after round r: 3 + i + i × (0 + … + r). */
function innerOf(i: number): number {
  let inner = i;
  for (const rounds of [0, 1, 3]) inner += 5 * (3 + i + i * rounds) + 10;
  return inner;
}
function expectedSum(): number {
  return numbers(600).reduce((sum, i) => sum + 3 + i + 3 * i, 0);
}
function expectedXor(): number {
  return numbers(100).reduce((all, i) => all ^ innerOf(i), 0);
}
