/** What the program of the host asks its device, as an H100 answers. */
import { check } from './check-contents';

describe('answers of the device in the run of main', () => {
  it('members, attributes, and the two questions about occupancy', () =>
    check(`
__global__ void k(int* a, int n) {}
int main() {
  cudaDeviceProp prop;
  cudaGetDeviceProperties(&prop, 0);
  int most, resident, grid, block;
  cudaDeviceGetAttribute(&most, cudaDevAttrMaxGridDimY, 0);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, k, 512, 40000);
  cudaOccupancyMaxPotentialBlockSize(&grid, &block, k, 0, 0);
  int h[6] = {prop.multiProcessorCount, prop.maxThreadsDim[2], most, resident, grid, block};
  int* d;
  cudaMalloc(&d, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  k<<<1, 32>>>(d, prop.major); //= a: 132 64 65535 4 264 1024, n: 9
}
`));

  it('its memory, in more than 32 bits', () =>
    check(`
__global__ void k(int n, int m) {}
int main() {
  cudaDeviceProp prop;
  cudaGetDeviceProperties(&prop, 0);
  int side = (int)floor(pow(prop.totalGlobalMem / (2.0 * sizeof(float)), 1.0 / 3.0));
  k<<<1, 32>>>(side > 500 ? 500 : side, (int)(prop.totalGlobalMem >> 30)); //= n: 500, m: 80
}
`));

  it('the block whose shared memory is a function of it, and what blocks leave each other (asked of an H200)', () =>
    check(`
__global__ void k(int a, int b, int c, int d, size_t e) {}
int bytesOf(int threads) { return threads * 256; }
int main() {
  int grid, block, blocks, threads;
  size_t left;
  cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, k, [](int n) { return n * 128; });
  cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(&blocks, &threads, k, bytesOf, 0, 0);
  cudaOccupancyAvailableDynamicSMemPerBlock(&left, k, 7, 256);
  k<<<1, 32>>>(grid, block, blocks, threads, left); //= a: 660, b: 352, c: 1188, d: 96, e: 33280
}
`));
});
