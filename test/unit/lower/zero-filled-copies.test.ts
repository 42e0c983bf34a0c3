/** Asynchronous copies that fill a part with zeros: the toolkit's function makes one of its own for each number of zeros. */
import { check } from '../analysis/check-accesses';

describe('__pipeline_memcpy_async with zeros', () => {
  it('is two copies where lanes differ: one reads, the other does not', () => {
    check(`
__global__ void k(const float* x) {
  __shared__ float tile[64];
  bool inside = threadIdx.x >= 2 && threadIdx.x < 20;
  __pipeline_memcpy_async(tile + threadIdx.x, inside ? x + threadIdx.x : x, 4, inside ? 0 : 4);
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global load x2 1.5/1.5 sectors
}
int main() { float* x; cudaMalloc(&x, 4096); k<<<1, 32>>>(x); }`);
  });

  it('is one where none are zero', () => {
    check(`
__global__ void k(const float* x) {
  __shared__ float tile[64];
  __pipeline_memcpy_async(tile + threadIdx.x, x + threadIdx.x, 4, 0);
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global load x1 4/4 sectors
}
int main() { float* x; cudaMalloc(&x, 4096); k<<<1, 32>>>(x); }`);
  });
});
