/** Launches by functions of the runtime: kernels are given what they are told, and change the memory they are given. */
import { check } from './check-contents';

describe('launches by functions, in the program of the host', () => {
  it('arguments that lie behind a list of pointers', () => {
    check(`
struct Range { int first; int* data; };
__global__ void fill(Range r, int n, float by) { if (threadIdx.x < n) r.data[r.first + threadIdx.x] = 7; }
__global__ void k(const int* a) { if (a[0]) __nanosleep(a[1]); }
int main() {
  int* d;
  cudaMalloc(&d, 16);
  cudaMemset(d, 0, 16);
  Range r{1, d};
  int n = 2;
  float by = 0.5f;
  void* args[] = {&r, &n, &by};
  n = 3;
  cudaLaunchCooperativeKernel((void*)fill, dim3(1), dim3(32), args, 0, 0); //= r.first: 1, n: 3, by: 0.5
  k<<<1, 32>>>(d); //= a: 0 7 7 7
}`);
  });

  it('kernels that are instances, and a configuration in a record', () => {
    check(`
template <int V> __global__ void fill(int* a, int n) { if (threadIdx.x < n) a[threadIdx.x] = V; }
__global__ void k(const int* a) { if (a[0]) __nanosleep(a[1]); }
int main() {
  int* d;
  cudaMalloc(&d, 16);
  cudaMemset(d, 0, 16);
  int n = 2;
  void* args[] = {&d, &n};
  cudaLaunchKernel(reinterpret_cast<const void*>(&fill<5>), 1, 32, args, 0, nullptr); //= n: 2
  k<<<1, 32>>>(d); //= a: 5 5 0 0
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(64);
  cudaLaunchKernelEx(&config, fill<6>, d, 1); //= n: 1
  k<<<1, 32>>>(d); //= a: 6 5 0 0
}`);
  });

  it('what a kernel that is not known may write', () => {
    check(`
__global__ void k(const int* a) { if (a[0]) __nanosleep(a[1]); }
void* chosen();
int main() {
  int* d;
  cudaMalloc(&d, 8);
  cudaMemset(d, 0, 8);
  void* args[] = {&d};
  k<<<1, 32>>>(d); //= a: 0 0
  cudaLaunchKernel(chosen(), 1, 32, args, 0, nullptr);
  k<<<1, 32>>>(d); //= a: ? ?
}`);
  });

  it('what a kernel writes whose blocks wait for each other is not known', () => {
    check(`
namespace cg = cooperative_groups;
__global__ void fill(int* a, int n) { a[threadIdx.x] = n; cg::this_grid().sync(); a[threadIdx.x] += n; }
__global__ void k(const int* a) { if (a[0]) __nanosleep(a[1]); }
int main() {
  int* d;
  cudaMalloc(&d, 128);
  cudaMemset(d, 0, 128);
  int n = 2;
  void* args[] = {&d, &n};
  cudaLaunchCooperativeKernel((void*)fill, dim3(2), dim3(32), args); //= n: 2
  k<<<1, 32>>>(d); //= a: ? ?
}`);
  });

  it('extents that are declared, and only told a member', () => {
    check(`
struct Shape { dim3 grid; int n; };
__global__ void k(unsigned x, unsigned y, unsigned z) { if (x) __nanosleep(y * z); }
Shape global;
int main() {
  dim3 grid;
  grid.x = 3;
  k<<<1, 32>>>(grid.x, grid.y, grid.z); //= x: 3, y: 1, z: 1
  dim3 several[2];
  several[1].y = 4;
  k<<<1, 32>>>(several[1].x, several[1].y, several[1].z); //= x: 1, y: 4, z: 1
  Shape shape;
  shape.grid.x = 5;
  k<<<1, 32>>>(shape.grid.x, shape.grid.y, shape.grid.z); //= x: 5, y: 1, z: 1
  k<<<1, 32>>>(global.grid.x, global.grid.y, global.grid.z); //= x: 1, y: 1, z: 1
  dim3 empty{};
  k<<<1, 32>>>(empty.x, empty.y, empty.z); //= x: 1, y: 1, z: 1
}`);
  });
});
