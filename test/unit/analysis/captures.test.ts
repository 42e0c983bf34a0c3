/** Lambdas of the host that a kernel calls: what they captured is the kernel's, as any argument is. */
import { check } from './check-accesses';

const view = `
template <class T> struct View {
  T* data = nullptr;
  int pitch = 0;
  __host__ __device__ T& operator()(int i, int j) const { return data[i + j * pitch]; }
};
template <class T> View<T> allocated(int pitch) {
  View<T> v;
  cudaMalloc(&v.data, 64 * pitch * sizeof(T));
  v.pitch = pitch;
  return v;
}
template <class L> __global__ void launched(L body) { body(); }
template <class F> void forEach(int n, F f) {
  launched<<<n / 256, 256>>>([=] __device__ () {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) f(i % 32, i / 32);
  });
}`;

describe('captures of lambdas that kernels call', () => {
  it('may be of instances of class templates', () => {
    check(`${view}
int main() {
  auto const a = allocated<double>(32);
  forEach(1024, [=] __device__ (int i, int j) {
    a(i, j) = 1;
//  ^^^^^^^ global store 8/8 sectors
  });
}`);
  });

  it('lead to arrays of such instances', () => {
    check(`${view}
int main() {
  const View<float>* views;
  cudaMalloc(&views, 8 * sizeof(View<float>));
  forEach(1024, [=] __device__ (int i, int j) {
    float* row = views[j].data;
//               ^^^^^^^^^^^^^ global load 1/1 sectors
    row[0] = i;
  });
}`);
  });

  it('tell instances apart that one lambda of a function template is', () => {
    check(`${view}
int main() {
  auto const a = allocated<float>(32);
  auto const b = allocated<float>(96);
  forEach(1024, [=] __device__ (int i, int j) {
    a(i, j) = 1;
//  ^^^^^^^ global store 4/4 sectors
  });
  forEach(512, [=] __device__ (int i, int j) {
    b(3 * i, j) = 2;
//  ^^^^^^^^^^^ global store 12/4 sectors
  });
}`);
  });

  it('may be computed in the brackets', () => {
    check(`${view}
int main() {
  float* out;
  cudaMalloc(&out, 4096 * 4);
  const int n = 2;
  forEach(1024, [out, step = n + 1] __device__ (int i, int j) {
    out[step * i] = 1;
//  ^^^^^^^^^^^^^ global store 12/4 sectors
  });
}`);
  });

  it('are what the run of main has made of them', () => {
    check(`${view}
int main() {
  std::vector<int> h(1024);
  for (int i = 0; i < 1024; i++) h[i] = 8 * i;
  int *index, *out;
  cudaMalloc(&index, 1024 * sizeof(int));
  cudaMalloc(&out, 8 * 1024 * sizeof(int));
  cudaMemcpy(index, h.data(), 1024 * sizeof(int), cudaMemcpyHostToDevice);
  forEach(1024, [=] __device__ (int i, int j) {
    out[index[i]] = 1;
//  ^^^^^^^^^^^^^ global store 32/4 sectors assumed
  });
}`);
  });

  it('that the text leaves open are those of the run', () => {
    check(`${view}
int main() {
  std::vector<int> widths;
  for (int w = 1; w < 3; w++) widths.push_back(w);
  auto const a = allocated<float>(widths.back());
  forEach(1024, [=] __device__ (int i, int j) {
    a(0, i) = 1;
//  ^^^^^^^ global store 8/4 sectors
  });
}`);
  });
});
