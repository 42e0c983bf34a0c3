/** Inline assembly whose accesses stand under a predicate of their own. */
import { check } from '../analysis/check-accesses';

/** A statement with what is expected of it. */
const told = (statement: string, ...expected: readonly string[]): string =>
  [`  ${statement}`, ...expected.map((each) => `//${'^'.repeat(statement.length)} ${each}`)].join('\n');

const launch = '// warplens: block=64 grid=1 n=16';

describe('a guard in inline assembly', () => {
  it('turns lanes of an asynchronous copy off, whose addresses are told by their numbers', () => {
    check(`
${launch}
__global__ void k(const int4* in, int n, float* o) {
  __shared__ int4 s[64];
  unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&s[threadIdx.x]));
${told(`asm volatile("{ .reg .pred on; setp.ne.b32 on, %0, 0; @on cp.async.ca.shared.global [%1], [%2], %3; }" :: "r"((int)(threadIdx.x < 32)), "r"(at), "l"(in + threadIdx.x), "n"(16));`, 'global load x1 16/16 sectors', 'shared store x1 4/4 wavefronts')}
  o[threadIdx.x] = s[threadIdx.x].x;
}`);
  });

  it('keeps what was moved to the register before', () => {
    check(`
${launch}
__global__ void k(const int* in, int n, float* o) {
  int r;
${told(`asm volatile("{ .reg .pred p; setp.lt.s32 p, %2, %3; mov.b32 %0, 4; @!p ld.global.b32 %0, [%1]; }" : "=r"(r) : "l"(in + threadIdx.x), "r"((int)threadIdx.x), "r"(64));`, 'no access')}
  o[threadIdx.x * r] = 1;
//^^^^^^^^^^^^^^^^^^ global store 16/4 sectors
}`);
  });

  it('holds for stores and atomics', () => {
    check(`
${launch}
__global__ void k(int* out, int n) {
${told(`asm volatile("{ .reg .pred p; setp.ge.u32 p, %1, 32; @p st.global.b32 [%0], %1; }" :: "l"(out + threadIdx.x), "r"(threadIdx.x));`, 'global store x1')}
${told(`asm volatile("{ .reg .pred p; setp.eq.u32 p, %1, 3; @p red.global.add.u32 [%0], %1; }" :: "l"(out), "r"(threadIdx.x));`, 'global atomic x1 1 lanes')}
}`);
  });
});
