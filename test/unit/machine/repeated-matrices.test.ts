/** `ldmatrix` of the same rows, as the machine code of nvcc 13.0 for sm_90 has it. */
import { checkLines } from './check-lines';

const macro = (name: string, kind: string): string =>
  `#define ${name}(rows) { unsigned a, b; asm volatile("ldmatrix.sync.aligned.m8n8.x2${kind}.shared.b16 {%0,%1}, [%2];" : "=r"(a), "=r"(b) : "r"(rows)); x += (a ^ b) * 3; }`;
const macros = `${macro('TWO', '')}\n${macro('TURNED', '.trans')}`;

/** The rows have been loaded in front of it. */
const checkBehind = (body: string, expected: string): void =>
  checkLines(
    `k(const uint4 *p, unsigned *d) {
  __shared__ uint4 s[64];
  __shared__ unsigned other[32];
  int i = threadIdx.x;
  s[i] = p[i];
  s[i + 32] = p[i + 32];
  __syncthreads();
  unsigned rows = (unsigned)__cvta_generic_to_shared(s + i), x = 0;
  TWO(rows) //= shared load 1 x 16 bytes
  ${body} //= ${expected}
  d[i] = x;
}`,
    macros,
  );

describe('matrices of the same rows', () => {
  it('are loaded once', () => {
    checkBehind('TWO(rows)', 'none');
    checkBehind('x += __shfl_xor_sync(~0u, x, 1); TWO(rows)', 'none');
    checkBehind('d[i + 64] = x; TWO(rows)', 'global store 1 x 4 bytes');
    checkBehind('for (int k = 0; k < 4; k++) { TWO(rows) TWO(rows + 512) }', 'shared load 1 x 16 bytes');
  });

  it('are loaded again where shared memory may have changed', () => {
    checkBehind('other[i] = x; TWO(rows) x += other[i];', 'shared load 1 x 16 bytes, shared store 1 x 4 bytes');
    checkBehind('__syncthreads(); TWO(rows)', 'shared load 1 x 16 bytes');
    checkBehind('__syncwarp(); TWO(rows)', 'shared load 1 x 16 bytes');
  });

  it('are loaded again in another way', () => checkBehind('TURNED(rows)', 'shared load 1 x 16 bytes'));
});
