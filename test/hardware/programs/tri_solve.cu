// Tridiagonal systems: thread per system (strided layouts), parallel cyclic reduction in shared memory, Thomas with registers.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

template <typename Real, bool Interleaved>
__global__ void thomas(const Real* __restrict__ a, const Real* __restrict__ b, const Real* __restrict__ c, Real* __restrict__ d,
                       Real* __restrict__ cp, int n, int systems) {
  int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= systems) return;
  auto at = [=](int i) { return Interleaved ? i * systems + s : s * n + i; };
  Real beta = b[at(0)];
  d[at(0)] /= beta;
  cp[at(0)] = c[at(0)] / beta;
  for (int i = 1; i < n; ++i) {
    Real m = b[at(i)] - a[at(i)] * cp[at(i - 1)];
    cp[at(i)] = c[at(i)] / m;
    d[at(i)] = (d[at(i)] - a[at(i)] * d[at(i - 1)]) / m;
  }
  for (int i = n - 2; i >= 0; --i) d[at(i)] -= cp[at(i)] * d[at(i + 1)];
}

template <int N>
__global__ void pcr(const float* a, const float* b, const float* c, const float* d, float* x) {
  __shared__ float sa[N], sb[N], sc[N], sd[N];
  const int i = threadIdx.x, g = blockIdx.x * N + i;
  sa[i] = a[g];
  sb[i] = b[g];
  sc[i] = c[g];
  sd[i] = d[g];
  __syncthreads();
  for (int step = 1; step < N; step *= 2) {
    int l = i - step, r = i + step;
    float na = 0, nc = 0, nb = sb[i], nd = sd[i];
    if (l >= 0) {
      float k = sa[i] / sb[l];
      nb -= sc[l] * k;
      nd -= sd[l] * k;
      na = -sa[l] * k;
    }
    if (r < N) {
      float k = sc[i] / sb[r];
      nb -= sa[r] * k;
      nd -= sd[r] * k;
      nc = -sc[r] * k;
    }
    __syncthreads();
    sa[i] = na; sb[i] = nb; sc[i] = nc; sd[i] = nd;
    __syncthreads();
  }
  x[g] = sd[i] / sb[i];
}

__global__ void cyclic_reduction(const float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ c,
                                 const float* __restrict__ d, float* __restrict__ x, int n) {
  extern __shared__ float s[];
  float *sa = s, *sb = s + n, *sc = s + 2 * n, *sd = s + 3 * n, *sx = s + 4 * n;
  int t = threadIdx.x, g = blockIdx.x * n;
  sa[t] = a[g + t]; sa[t + blockDim.x] = a[g + t + blockDim.x];
  sb[t] = b[g + t]; sb[t + blockDim.x] = b[g + t + blockDim.x];
  sc[t] = c[g + t]; sc[t + blockDim.x] = c[g + t + blockDim.x];
  sd[t] = d[g + t]; sd[t + blockDim.x] = d[g + t + blockDim.x];
  __syncthreads();
  int stride = 1, threads = n / 2;
  for (int j = 1; j < n / 2; j *= 2) {
    stride *= 2;
    threads /= 2;
    if (t < threads * 2) {
      int i = stride * t + stride - 1;
      int l = i - stride / 2, r = i + stride / 2;
      if (r >= n) r = n - 1;
      if (i < n) {
        float k1 = sa[i] / sb[l], k2 = sc[i] / sb[r];
        if (i == r) k2 = 0;
        sb[i] = sb[i] - sc[l] * k1 - sa[r] * k2;
        sd[i] = sd[i] - sd[l] * k1 - sd[r] * k2;
        sa[i] = -sa[l] * k1;
        sc[i] = -sc[r] * k2;
      }
    }
    __syncthreads();
  }
  if (t < 2) {
    int p = n / 2 - 1, q = n - 1;
    float det = sb[p] * sb[q] - sc[p] * sa[q];
    sx[p] = (sb[q] * sd[p] - sc[p] * sd[q]) / det;
    sx[q] = (sd[q] * sb[p] - sd[p] * sa[q]) / det;
  }
  __syncthreads();
  x[g + t] = sx[t];
  x[g + t + blockDim.x] = sx[t + blockDim.x];
}

int main(int argc, char** argv) {
  const int n = 128, systems = argc > 1 ? atoi(argv[1]) : 100;
  std::vector<float> h(n * systems), dg(n * systems, 4.f);
  for (int i = 0; i < n * systems; ++i) h[i] = i % n == 0 ? 0.f : -1.f;
  float *a, *b, *c, *d, *cp, *x;
  size_t bytes = h.size() * sizeof(float);
  cudaMalloc(&a, bytes); cudaMalloc(&b, bytes); cudaMalloc(&c, bytes);
  cudaMalloc(&d, bytes); cudaMalloc(&cp, bytes); cudaMalloc(&x, bytes);
  cudaMemcpy(a, h.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(c, h.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(b, dg.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(d, dg.data(), bytes, cudaMemcpyHostToDevice);
  pcr<n><<<systems, n>>>(a, b, c, d, x);
  cyclic_reduction<<<systems, n / 2, 5 * n * sizeof(float)>>>(a, b, c, d, x, n);
  thomas<float, false><<<(systems + 31) / 32, 32>>>(a, b, c, d, cp, n, systems);
  thomas<float, true><<<(systems + 31) / 32, 32>>>(a, b, c, d, cp, n, systems);
  cudaMemcpy(h.data(), x, bytes, cudaMemcpyDeviceToHost);
  printf("%f\n", h[3]);
  return 0;
}
