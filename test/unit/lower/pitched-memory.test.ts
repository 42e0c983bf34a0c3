/** The runtime's own record of memory in rows, as a kernel takes it by value. */
import { check } from '../analysis/check-accesses';

describe('a pitched pointer of the runtime', () => {
  it('has members that can be followed', () =>
    check(
      `
__global__ void increment(cudaPitchedPtr grid, int width) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  float *row = (float *)((char *)grid.ptr + blockIdx.y * grid.pitch);
  if (x < width) row[x] += 1;
  //             ^^^^^^ global load 4/4 sectors x16
}
int main() {
  cudaPitchedPtr grid;
  cudaMalloc3D(&grid, make_cudaExtent(64 * sizeof(float), 8, 1));
  increment<<<dim3(2, 8), 32>>>(grid, 64);
}
`,
    ));
});
