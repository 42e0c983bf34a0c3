/** What inline assembly computes is followed, so that indices made with it are known. */
import assert from 'node:assert/strict';
import { check } from '../analysis/check-accesses';
import { checkLines } from '../machine/check-lines';

function understood(source: string): void {
  for (const kernel of check(source).kernels) assert.deepEqual(kernel.skipped, [], kernel.name);
}

describe('inline assembly that computes', () => {
  it('gives an index as the operators would', () =>
    understood(`
__device__ unsigned swizzled(unsigned row, unsigned column) {
  unsigned result;
  asm("xor.b32 %0, %1, %2;" : "=r"(result) : "r"(row), "r"(column));
  return result;
}
__global__ void turn(const float* in, float* out) {
  __shared__ float tile[32 * 32];
  tile[threadIdx.y * 32 + swizzled(threadIdx.x, threadIdx.y)] = in[threadIdx.y * 32 + threadIdx.x];
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ shared store 1/1 wavefronts
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x * 32 + swizzled(threadIdx.x, threadIdx.y)];
//                                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ shared load 1/1 wavefronts
}
int main() { float *a, *b; turn<<<1, dim3(32, 32)>>>(a, b); }
`));

  it('has registers of its own, guards and special registers', () =>
    understood(`
__global__ void several(float* out) {
  unsigned lane, even = 7;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm("{ .reg .pred odd; .reg .b32 low; and.b32 low, %1, 1; setp.ne.u32 odd, low, 0; @odd sub.u32 %0, %1, 1; @!odd mov.u32 %0, %1; }"
      : "=r"(even) : "r"(lane));
  out[even] = 1.0f;
//^^^^^^^^^ global store 4/4 sectors
  asm("mad.lo.u32 %0, %0, 8, %1;" : "+r"(lane) : "n"(3));
  out[lane] = 2.0f;
//^^^^^^^^^ global store 32/4 sectors
}
int main() { float* o; several<<<1, 32>>>(o); }
`));

  it('rounds to tf32, and what is rounded was loaded', () =>
    understood(`
__device__ unsigned rounded(float x) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return bits;
}
__global__ void halves(const float* in, float* out) {
  out[rounded(1.00048828125f) - 0x3f800000] = in[threadIdx.x * 2];
//                                            ^^^^^^^^^^^^^^^^^^^ global load 8/4 sectors
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 1/1 sectors
  float sum = 0;
  unsigned first = rounded(in[threadIdx.x]);
//                         ^^^^^^^^^^^^^^^ global load 4/4 sectors
  asm volatile("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0,%0,%0,%0}, {%1,%1}, {%1}, {%0,%0,%0,%0};"
      : "+f"(sum) : "r"(first));
  out[threadIdx.x] = sum;
//^^^^^^^^^^^^^^^^ global store 4/4 sectors
}
int main() { float *a, *b; halves<<<1, 32>>>(a, b); }
`));

  it('keeps what it takes where the result is not known', () =>
    understood(`
__global__ void packed(const unsigned* in, const float* old, unsigned* out) {
  unsigned sum;
  float total = old[threadIdx.x];
//              ^^^^^^^^^^^^^^^^ global load 4/4 sectors
  asm("add.rn.bf16x2 %0, %1, %1;" : "=r"(sum) : "r"(in[threadIdx.x * 2]));
//                                                  ^^^^^^^^^^^^^^^^^^^ global load 8/4 sectors
  asm volatile("nothing.known %0, %1;" : "+f"(total) : "r"(sum));
  out[threadIdx.x] = total;
//^^^^^^^^^^^^^^^^ global store 4/4 sectors
}
int main() { unsigned* a; float* b; packed<<<1, 32>>>(a, b, a); }
`));

  it('stores its results with the last operand', () => {
    checkLines(`k(float *out, const float *in, int n) {
  int i = threadIdx.x;
  asm volatile("{ add.f32 %0, %2, %3; mul.f32 %1, %2, %3; }"
    : "=f"(out[i]),     //= none
      "=f"(out[i + n])  //= none
    : "f"(in[i]),       //= global load 1 x 4 bytes
      "f"(in[i + n] +   //= global load 1 x 4 bytes
          1.0f)         //= global store 2 x 4 bytes
  );
}`);
    checkLines(`k(unsigned *out, int n) {
  int i = threadIdx.x;
  asm volatile("{ mov.u32 %0, %%laneid; mov.u32 %1, %%laneid; }"
    : "=r"(out[i]),     //= none
      "=r"(out[i + n])  //= global store 2 x 4 bytes
  );
}`);
  });
});
