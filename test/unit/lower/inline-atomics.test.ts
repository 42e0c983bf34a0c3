/** Atomics that a program writes as PTX are those of the functions. */
import assert from 'node:assert/strict';
import { check } from '../analysis/check-accesses';

function understood(source: string): void {
  for (const kernel of check(source).kernels) assert.deepEqual(kernel.skipped, [], kernel.name);
}

describe('atomics in inline assembly', () => {
  it('are counted like the functions they stand for', () =>
    understood(`
__global__ void arrive(unsigned* flags, float* sums) {
  asm volatile("red.release.gpu.global.add.s32 [%0], %1;" ::"l"(flags + threadIdx.x), "r"(threadIdx.x));
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global atomic 4/4 sectors
  asm volatile("red.global.add.f32 [%0+128], %1;" ::"l"(sums + 8 * threadIdx.x), "f"(1.0f));
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global atomic 32/4 sectors
}
int main() { unsigned* f; float* s; arrive<<<1, 32>>>(f, s); }
`));

  it('give what memory held to their outputs', () =>
    understood(`
__global__ void ticket(unsigned* next, float* out) {
  unsigned old;
  asm volatile("atom.add.release.gpu.u32 %0, [%1], %2;" : "=r"(old) : "l"(next + blockIdx.x), "r"(1));
  unsigned before;
  asm volatile("atom.global.cas.b32 %0, [%1], %2, %3;" : "=r"(before) : "l"(next + 64), "r"(0), "r"(old));
  out[threadIdx.x] = 1.0f;
//^^^^^^^^^^^^^^^^ global store 4/4 sectors
}
int main() { unsigned* n; float* o; ticket<<<1, 32>>>(n, o); }
`));
});
