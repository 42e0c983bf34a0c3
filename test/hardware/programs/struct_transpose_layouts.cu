// Transposing arrays of small structs and converting between AoS and SoA, with layout policies.
#include <cuda_runtime.h>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

struct cplx { float re, im; };                     // 4-byte aligned on purpose
struct alignas(8) cplx_aligned { float re, im; };

struct Plain {
  template <int T> static constexpr int pitch = T;
  static __device__ int col(int, int c) { return c; }
};
struct Padded {
  template <int T> static constexpr int pitch = T + 1;
  static __device__ int col(int, int c) { return c; }
};
struct Swizzled {
  template <int T> static constexpr int pitch = T;
  static __device__ int col(int r, int c) { return c ^ r; }
};

template <class Elem>
__global__ void transpose_direct(const Elem* __restrict__ in, Elem* __restrict__ out, int rows, int cols) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  const int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < rows && c < cols) out[c * rows + r] = in[r * cols + c];
}

template <class Elem, class Layout, int T = 32, int Rows = 8>
__global__ void transpose_tiled(const Elem* __restrict__ in, Elem* __restrict__ out, int rows, int cols) {
  constexpr int P = Layout::template pitch<T>;
  __shared__ Elem tile[T * P];
  const int x = blockIdx.x * T + threadIdx.x;
  const int y = blockIdx.y * T + threadIdx.y;
#pragma unroll
  for (int j = 0; j < T; j += Rows)
    if (x < cols && y + j < rows) {
      const int r = threadIdx.y + j;
      tile[r * P + Layout::col(r, threadIdx.x)] = in[(y + j) * cols + x];
    }
  __syncthreads();
  const int ox = blockIdx.y * T + threadIdx.x;
  const int oy = blockIdx.x * T + threadIdx.y;
#pragma unroll
  for (int j = 0; j < T; j += Rows)
    if (ox < rows && oy + j < cols) {
      const int c = threadIdx.y + j;
      out[(oy + j) * rows + ox] = tile[threadIdx.x * P + Layout::col(threadIdx.x, c)];
    }
}

struct Planes { float *x, *y, *z; };

// xyzxyz... -> three planes; block loads 3*B floats contiguously, then reads with stride 3 from shared
template <int B>
__global__ void __launch_bounds__(B) aos_to_soa(const float3* __restrict__ in, Planes out, int n) {
  __shared__ float s[3 * B];
  const float* flat = reinterpret_cast<const float*>(in);
  const int base = blockIdx.x * B;
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    const int e = k * B + threadIdx.x;
    if (3 * base + e < 3 * n) s[e] = flat[3 * base + e];
  }
  __syncthreads();
  const int i = base + threadIdx.x;
  if (i < n) {
    out.x[i] = s[3 * threadIdx.x];
    out.y[i] = s[3 * threadIdx.x + 1];
    out.z[i] = s[3 * threadIdx.x + 2];
  }
}

// the lazy way back: 12-byte strided stores
__global__ void soa_to_aos(Planes in, float3* out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    out[i] = make_float3(in.x[i], in.y[i], in.z[i]);
}

template <class T> struct DeviceFree { void operator()(T* p) const { cudaFree(p); } };
template <class T> using DevPtr = std::unique_ptr<T[], DeviceFree<T>>;
template <class T> DevPtr<T> dev_alloc(size_t n) {
  T* p = nullptr;
  cudaMalloc(&p, n * sizeof(T));
  cudaMemset(p, 0, n * sizeof(T));
  return DevPtr<T>(p);
}

template <class Elem> bool same_transposed(const std::vector<Elem>& in, const Elem* dOut, int rows, int cols) {
  std::vector<Elem> got(in.size());
  if (cudaMemcpy(got.data(), dOut, got.size() * sizeof(Elem), cudaMemcpyDeviceToHost) != cudaSuccess) return false;
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < cols; ++c)
      if (std::memcmp(&got[size_t(c) * rows + r], &in[size_t(r) * cols + c], sizeof(Elem))) return false;
  return true;
}

int main() {
  constexpr int rows = 1000, cols = 1504, n = 700001;
  uint64_t state = 0x9e3779b97f4a7c15ull;
  auto next = [&state]() {
    state ^= state << 13; state ^= state >> 7; state ^= state << 17;
    return static_cast<float>(state >> 40) * (1.0f / 16777216.0f);
  };
  std::vector<cplx> hc(size_t(rows) * cols);
  std::vector<cplx_aligned> ha(hc.size());
  for (size_t i = 0; i < hc.size(); ++i) { hc[i] = {next(), next()}; ha[i] = {hc[i].re, hc[i].im}; }
  std::vector<float3> hv(n);
  for (auto& v : hv) v = make_float3(next(), next(), next());

  auto dc = dev_alloc<cplx>(hc.size()), dct = dev_alloc<cplx>(hc.size());
  auto da = dev_alloc<cplx_aligned>(ha.size()), dat = dev_alloc<cplx_aligned>(ha.size());
  auto dv = dev_alloc<float3>(n), dw = dev_alloc<float3>(n);
  auto planes = dev_alloc<float>(3 * size_t(n));
  cudaMemcpy(dc.get(), hc.data(), hc.size() * sizeof(cplx), cudaMemcpyHostToDevice);
  cudaMemcpy(da.get(), ha.data(), ha.size() * sizeof(cplx_aligned), cudaMemcpyHostToDevice);
  cudaMemcpy(dv.get(), hv.data(), n * sizeof(float3), cudaMemcpyHostToDevice);

  const dim3 block(32, 8), direct((cols + 31) / 32, (rows + 7) / 8), tiles((cols + 31) / 32, (rows + 31) / 32);
  bool ok = true;
  transpose_direct<cplx><<<direct, block>>>(dc.get(), dct.get(), rows, cols);
  ok &= same_transposed(hc, dct.get(), rows, cols);
  cudaMemset(dct.get(), 0, hc.size() * sizeof(cplx));
  transpose_tiled<cplx, Plain><<<tiles, block>>>(dc.get(), dct.get(), rows, cols);
  ok &= same_transposed(hc, dct.get(), rows, cols);
  transpose_tiled<cplx_aligned, Padded><<<tiles, block>>>(da.get(), dat.get(), rows, cols);
  ok &= same_transposed(ha, dat.get(), rows, cols);
  cudaMemset(dat.get(), 0, ha.size() * sizeof(cplx_aligned));
  transpose_tiled<cplx_aligned, Swizzled><<<tiles, block>>>(da.get(), dat.get(), rows, cols);
  ok &= same_transposed(ha, dat.get(), rows, cols);

  const Planes p{planes.get(), planes.get() + n, planes.get() + 2 * size_t(n)};
  constexpr int B = 256;
  aos_to_soa<B><<<(n + B - 1) / B, B>>>(dv.get(), p, n);
  soa_to_aos<<<528, 256>>>(p, dw.get(), n);
  std::vector<float> hp(3 * size_t(n));
  std::vector<float3> hw(n);
  ok &= cudaMemcpy(hp.data(), planes.get(), hp.size() * sizeof(float), cudaMemcpyDeviceToHost) == cudaSuccess;
  ok &= cudaMemcpy(hw.data(), dw.get(), n * sizeof(float3), cudaMemcpyDeviceToHost) == cudaSuccess;
  for (int i = 0; i < n && ok; ++i)
    ok = hp[i] == hv[i].x && hp[n + i] == hv[i].y && hp[2 * size_t(n) + i] == hv[i].z &&
         std::memcmp(&hw[i], &hv[i], sizeof(float3)) == 0;
  std::printf("%s\n", ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
