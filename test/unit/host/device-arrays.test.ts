/** Arrays of the device with initial values, as kernels find them. */
import { check } from './check-contents';

describe('arrays of the device in the run of the host', () => {
  it('tables of letters that kernels read', () => {
    check(`
__constant__ char base[] = "ACGT";
__device__ const char digits[] = "0123456789abcdef";
__global__ void hex(const unsigned char* in, char* out) {
  static const int order[4] = {1, 0, 3, 2};
  const char letters[] = "0123456789abcdef";
  unsigned char c = in[threadIdx.x];
  out[order[threadIdx.x] * 3] = letters[c >> 4];
  out[order[threadIdx.x] * 3 + 1] = digits[c & 15];
  out[order[threadIdx.x] * 3 + 2] = base[threadIdx.x];
}
__global__ void k(const char* out, int* seen) { seen[out[threadIdx.x]] = 1; }
int main() {
  unsigned char h[4] = {0x4f, 0x10, 0xab, 0x2c}, *d;
  char* out;
  cudaMalloc(&d, 4); cudaMalloc(&out, 12);
  cudaMemcpy(d, h, 4, cudaMemcpyHostToDevice);
  hex<<<1, 4>>>(d, out);
  int* seen;
  cudaMalloc(&seen, 4096);
  k<<<1, 6>>>(out, seen); //= out: 49 48 67 52 102 65
}`);
  });

  it('a static array of a kernel is none of the variables of the same name', () => {
    check(`
__device__ int order[4];
__global__ void turn(int* out) {
  static const int order[4] = {1, 0, 3, 2};
  out[threadIdx.x] = order[threadIdx.x];
}
__global__ void copy(int* out) { out[threadIdx.x] = order[threadIdx.x]; }
__global__ void k(const int* out, int* seen) { seen[out[threadIdx.x]] = 1; }
int main() {
  int h[4] = {9, 8, 7, 6}, *out, *seen;
  cudaMemcpyToSymbol(order, h, sizeof(h));
  cudaMalloc(&out, 16); cudaMalloc(&seen, 4096);
  turn<<<1, 4>>>(out);
  k<<<1, 4>>>(out, seen); //= out: 1 0 3 2
  copy<<<1, 4>>>(out);
  k<<<1, 4>>>(out, seen); //= out: 9 8 7 6
}`);
  });

  it('a static array that kernels may change is not what it is initialised with', () => {
    check(`
__global__ void turn(int* out) {
  static int order[4] = {1, 0, 3, 2};
  out[threadIdx.x] = order[threadIdx.x];
  order[threadIdx.x] += 1;
}
__global__ void k(const int* out, int* seen) { seen[out[threadIdx.x]] = 1; }
int main() {
  int *out, *seen;
  cudaMalloc(&out, 16); cudaMalloc(&seen, 4096);
  turn<<<1, 4>>>(out);
  turn<<<1, 4>>>(out);
  k<<<1, 4>>>(out, seen); //= out: ?
}`);
  });
});
