/** Kernels whose results say with which numbers others are launched are executed, though no data lead an access. */
import { check } from './check-contents';

const kernels = `
__global__ void halve(int* count) { if (threadIdx.x == 0) *count = *count / 2; }
__global__ void mark(const float* a, bool* bad, int n) { if (threadIdx.x < n) bad[threadIdx.x] = a[threadIdx.x] < 0; }
__global__ void relax(float* a, float* error) { a[threadIdx.x] *= 0.5f; if (threadIdx.x == 0) *error = a[0]; }
__global__ void k(float* a, int n) { if (threadIdx.x < n) a[threadIdx.x] += 1; }
`;

describe('results that decide', () => {
  it('how many elements are left', () => {
    check(
      `${kernels}
int main() {
  float* a;
  int *count, left = 64;
  cudaMalloc(&a, 256);
  cudaMalloc(&count, 4);
  cudaMemcpy(count, &left, 4, cudaMemcpyHostToDevice);
  while (left > 8) {
    k<<<1, 64>>>(a, left); //= n: 64; n: 32; n: 16
    halve<<<1, 1>>>(count);
    cudaMemcpy(&left, count, 4, cudaMemcpyDeviceToHost);
  }
  k<<<1, 64>>>(a, left); //= n: 8
}`,
      64,
    );
  });

  it('what the host sorts out of memory that both see', () => {
    check(`${kernels}
int main() {
  float* a;
  bool* bad;
  cudaMallocManaged(&a, 256);
  cudaMallocManaged(&bad, 64);
  for (int i = 0; i < 64; i++) a[i] = i % 4 - 1.5f;
  mark<<<1, 64>>>(a, bad, 64);
  cudaDeviceSynchronize();
  std::vector<float> kept;
  for (int i = 0; i < 64; i++) if (!bad[i]) kept.push_back(a[i]);
  k<<<1, 64>>>(a, kept.size()); //= n: 32
}`);
  });

  it('not the passes until something has converged, nor what is multiplied by a result', () => {
    check(`${kernels}
__global__ void scale(float* a, float by) { a[threadIdx.x] *= by; }
int main() {
  float h[64] = {8}, error = 1;
  float *a, *e;
  cudaMalloc(&a, 256);
  cudaMalloc(&e, 4);
  cudaMemcpy(a, h, 256, cudaMemcpyHostToDevice);
  while (error > 0.1f) {
    relax<<<1, 64>>>(a, e);
    cudaMemcpy(&error, e, 4, cudaMemcpyDeviceToHost);
    scale<<<1, 64>>>(a, error); //= by: ?
  }
  k<<<1, 64>>>(a, 64); //= a: ?
}`);
  });
});
