// Stencil suite.
//   2-D: five point Jacobi step on a pitched image - naive, shared tile with halo, float4
//   3-D: star of radius 2 - naive, and 2.5-D blocking (register queue along z, shared tile in xy)
//
// ./stencil_suite_c [width] [height] [nx] [ny] [nz]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

// ======================================================= cuda_helpers.hpp
namespace helpers {
inline void check(cudaError_t e, const char* what, const char* file, int line) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "[%s:%d] %s: %s\n", file, line, what, cudaGetErrorString(e));
  std::exit(2);
}
inline int div_up(int a, int b) { return (a + b - 1) / b; }

class Stopwatch {
 public:
  Stopwatch() { cudaEventCreate(&a_); cudaEventCreate(&b_); }
  ~Stopwatch() { cudaEventDestroy(a_); cudaEventDestroy(b_); }
  template <class F>
  float time(F&& body, int warmup = 1, int reps = 1) {
    for (int i = 0; i < warmup; ++i) body();
    cudaEventRecord(a_);
    for (int i = 0; i < reps; ++i) body();
    cudaEventRecord(b_);
    check(cudaEventSynchronize(b_), "timed region", __FILE__, __LINE__);
    float ms = 0;
    cudaEventElapsedTime(&ms, a_, b_);
    return ms / reps;
  }
 private:
  cudaEvent_t a_, b_;
};
}  // namespace helpers
#define CK(x) helpers::check((x), #x, __FILE__, __LINE__)

// ======================================================= coefficients
constexpr int R3 = 2;                // radius of the 3-D star
__constant__ float c_w2[3];          // centre, horizontal, vertical
__constant__ float c_w3[R3 + 1];     // by distance from the centre

// ======================================================= 2-D kernels
__global__ void jacobi_naive(const float* in, float* out, int w, int h, int pitch) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  const int i = y * pitch + x;
  if (x == 0 || y == 0 || x == w - 1 || y == h - 1) {
    out[i] = in[i];
    return;
  }
  out[i] = c_w2[0] * in[i] + c_w2[1] * (in[i - 1] + in[i + 1]) +
           c_w2[2] * (in[i - pitch] + in[i + pitch]);
}

template <int BX, int BY>
__global__ void jacobi_tile(const float* __restrict__ in, float* __restrict__ out, int w, int h,
                            int pitch) {
  constexpr int TW = BX + 2, TH = BY + 2;
  __shared__ float tile[TH][TW];
  const int x0 = blockIdx.x * BX - 1, y0 = blockIdx.y * BY - 1;
  // cooperative load, coordinates clamped to the image
  for (int k = threadIdx.y * BX + threadIdx.x; k < TW * TH; k += BX * BY) {
    const int gx = min(max(x0 + k % TW, 0), w - 1);
    const int gy = min(max(y0 + k / TW, 0), h - 1);
    tile[k / TW][k % TW] = in[gy * pitch + gx];
  }
  __syncthreads();
  const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  const int x = x0 + tx, y = y0 + ty;
  if (x >= w || y >= h) return;
  float v = tile[ty][tx];
  if (x > 0 && y > 0 && x < w - 1 && y < h - 1)
    v = c_w2[0] * v + c_w2[1] * (tile[ty][tx - 1] + tile[ty][tx + 1]) +
        c_w2[2] * (tile[ty - 1][tx] + tile[ty + 1][tx]);
  out[y * pitch + x] = v;
}

// Four neighbouring columns per thread. Width has to be a multiple of four.
__global__ void jacobi_vec4(const float* __restrict__ in, float* __restrict__ out, int w, int h,
                            int pitch) {
  const int x = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  const float* row = in + y * pitch;
  const float4 m = *reinterpret_cast<const float4*>(row + x);
  float4 r = m;
  if (y > 0 && y < h - 1) {
    const float4 u = *reinterpret_cast<const float4*>(row - pitch + x);
    const float4 d = *reinterpret_cast<const float4*>(row + pitch + x);
    const float left = x > 0 ? row[x - 1] : 0.f;
    const float right = x + 4 < w ? row[x + 4] : 0.f;
    if (x > 0) r.x = c_w2[0] * m.x + c_w2[1] * (left + m.y) + c_w2[2] * (u.x + d.x);
    r.y = c_w2[0] * m.y + c_w2[1] * (m.x + m.z) + c_w2[2] * (u.y + d.y);
    r.z = c_w2[0] * m.z + c_w2[1] * (m.y + m.w) + c_w2[2] * (u.z + d.z);
    if (x + 4 < w) r.w = c_w2[0] * m.w + c_w2[1] * (m.z + right) + c_w2[2] * (u.w + d.w);
  }
  *reinterpret_cast<float4*>(out + y * pitch + x) = r;
}

// ======================================================= 3-D kernels
template <int R>
__global__ void star3d_naive(const float* in, float* out, int nx, int ny, int nz) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= nx || y >= ny || z >= nz) return;
  const int plane = nx * ny;
  const int i = z * plane + y * nx + x;
  float v = in[i];
  if (x >= R && x < nx - R && y >= R && y < ny - R && z >= R && z < nz - R) {
    v *= c_w3[0];
    for (int d = 1; d <= R; ++d)
      v += c_w3[d] * (in[i - d] + in[i + d] + in[i - d * nx] + in[i + d * nx] + in[i - d * plane] +
                      in[i + d * plane]);
  }
  out[i] = v;
}

// Every thread walks along z and keeps 2R+1 values of its column in registers.
template <int R, int BX, int BY>
__global__ void star3d_queue(const float* __restrict__ in, float* __restrict__ out, int nx, int ny,
                             int nz) {
  __shared__ float tile[BY + 2 * R][BX + 2 * R];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int bx0 = blockIdx.x * BX, by0 = blockIdx.y * BY;
  const int x = bx0 + tx, y = by0 + ty;
  const bool inside = x < nx && y < ny;
  const bool interior = x >= R && x < nx - R && y >= R && y < ny - R;
  const int cx = min(x, nx - 1), cy = min(y, ny - 1);
  const int plane = nx * ny;
  const int column = cy * nx + cx;

  float q[2 * R + 1];  // q[R] is the current plane
#pragma unroll
  for (int k = 0; k < 2 * R; ++k) q[k + 1] = in[k * plane + column];
  if (inside)
    for (int z = 0; z < R; ++z) {  // lids
      out[z * plane + column] = in[z * plane + column];
      out[(nz - 1 - z) * plane + column] = in[(nz - 1 - z) * plane + column];
    }
  for (int z = R; z < nz - R; ++z) {
#pragma unroll
    for (int k = 0; k < 2 * R; ++k) q[k] = q[k + 1];
    q[2 * R] = in[(z + R) * plane + column];

    const float* p = in + z * plane;
    __syncthreads();  // the previous plane's tile is done with
    tile[ty + R][tx + R] = q[R];
    if (tx < R) {
      tile[ty + R][tx] = p[cy * nx + max(bx0 + tx - R, 0)];
      tile[ty + R][tx + BX + R] = p[cy * nx + min(bx0 + BX + tx, nx - 1)];
    }
    if (ty < R) {
      tile[ty][tx + R] = p[max(by0 + ty - R, 0) * nx + cx];
      tile[ty + BY + R][tx + R] = p[min(by0 + BY + ty, ny - 1) * nx + cx];
    }
    __syncthreads();
    float v = q[R];
    if (interior) {
      v *= c_w3[0];
#pragma unroll
      for (int d = 1; d <= R; ++d)
        v += c_w3[d] * (tile[ty + R][tx + R - d] + tile[ty + R][tx + R + d] +
                        tile[ty + R - d][tx + R] + tile[ty + R + d][tx + R] + q[R - d] + q[R + d]);
    }
    if (inside) out[z * plane + column] = v;
  }
}

// ======================================================= host
static int differences(const std::vector<float>& a, const std::vector<float>& b) {
  int bad = 0;
  for (size_t i = 0; i < a.size(); ++i) bad += !(std::fabs(a[i] - b[i]) <= 1e-4f);
  return bad;
}

int main(int argc, char** argv) {
  const int w = argc > 1 ? std::atoi(argv[1]) : 2000, h = argc > 2 ? std::atoi(argv[2]) : 1100;
  const int nx = argc > 3 ? std::atoi(argv[3]) : 200, ny = argc > 4 ? std::atoi(argv[4]) : 120;
  const int nz = argc > 5 ? std::atoi(argv[5]) : 64;
  if (w < 4 || w % 4 || h < 3 || nx < 5 || ny < 5 || nz < 5) {
    std::fprintf(stderr, "width must be a multiple of 4 and the grids not tiny\n");
    return 1;
  }
  const float w2[3] = {0.5f, 0.15f, 0.1f}, w3[R3 + 1] = {0.4f, 0.08f, 0.02f};
  CK(cudaMemcpyToSymbol(c_w2, w2, sizeof(w2)));
  CK(cudaMemcpyToSymbol(c_w3, w3, sizeof(w3)));
  helpers::Stopwatch watch;
  int failures = 0;

  {  // ---- 2-D
    std::vector<float> img(size_t(w) * h), ref, got(size_t(w) * h);
    for (size_t i = 0; i < img.size(); ++i) img[i] = float((i * 37 + i / w * 11) % 101) * 0.05f;
    ref = img;
    for (int y = 1; y < h - 1; ++y)
      for (int x = 1; x < w - 1; ++x) {
        const size_t i = size_t(y) * w + x;
        ref[i] = w2[0] * img[i] + w2[1] * (img[i - 1] + img[i + 1]) + w2[2] * (img[i - w] + img[i + w]);
      }
    float *d_in, *d_out;
    size_t pitch_in, pitch_out;
    const size_t row = w * sizeof(float);
    CK(cudaMallocPitch(&d_in, &pitch_in, row, h));
    CK(cudaMallocPitch(&d_out, &pitch_out, row, h));
    if (pitch_in != pitch_out) return 2;
    const int pitch = int(pitch_in / sizeof(float));
    CK(cudaMemcpy2D(d_in, pitch_in, img.data(), row, row, h, cudaMemcpyHostToDevice));
    const dim3 square(16, 16), flat(32, 8), wide(64, 4);
    for (int v = 0; v < 3; ++v) {
      CK(cudaMemset2D(d_out, pitch_out, 0xff, row, h));
      const char* name = v == 0 ? "2-D naive" : v == 1 ? "2-D shared tile" : "2-D float4";
      const float ms = watch.time([&] {
        using helpers::div_up;
        switch (v) {
          case 0: jacobi_naive<<<dim3(div_up(w, 16), div_up(h, 16)), square>>>(d_in, d_out, w, h, pitch); break;
          case 1: jacobi_tile<32, 8><<<dim3(div_up(w, 32), div_up(h, 8)), flat>>>(d_in, d_out, w, h, pitch); break;
          case 2: jacobi_vec4<<<dim3(div_up(w, 256), div_up(h, 4)), wide>>>(d_in, d_out, w, h, pitch); break;
        }
        CK(cudaGetLastError());
      });
      CK(cudaMemcpy2D(got.data(), row, d_out, pitch_out, row, h, cudaMemcpyDeviceToHost));
      const int bad = differences(got, ref);
      std::printf("%-18s %8.4f ms  bad points: %d\n", name, ms, bad);
      failures += bad != 0;
    }
    CK(cudaFree(d_in));
    CK(cudaFree(d_out));
  }
  {  // ---- 3-D
    const size_t n = size_t(nx) * ny * nz, plane = size_t(nx) * ny;
    std::vector<float> vol(n), ref, got(n);
    for (size_t i = 0; i < n; ++i) vol[i] = float((i * 29 + i / plane * 7) % 97) * 0.03f;
    ref = vol;
    for (int z = R3; z < nz - R3; ++z)
      for (int y = R3; y < ny - R3; ++y)
        for (int x = R3; x < nx - R3; ++x) {
          const size_t i = z * plane + size_t(y) * nx + x;
          float s = w3[0] * vol[i];
          for (int d = 1; d <= R3; ++d)
            s += w3[d] * (vol[i - d] + vol[i + d] + vol[i - d * nx] + vol[i + d * nx] +
                          vol[i - d * plane] + vol[i + d * plane]);
          ref[i] = s;
        }
    float *d_in, *d_out;
    CK(cudaMalloc(&d_in, n * sizeof(float)));
    CK(cudaMalloc(&d_out, n * sizeof(float)));
    CK(cudaMemcpy(d_in, vol.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    for (int v = 0; v < 2; ++v) {
      CK(cudaMemset(d_out, 0xff, n * sizeof(float)));
      const float ms = watch.time([&] {
        using helpers::div_up;
        if (v == 0)
          star3d_naive<R3><<<dim3(div_up(nx, 8), div_up(ny, 8), div_up(nz, 4)), dim3(8, 8, 4)>>>(d_in, d_out, nx, ny, nz);
        else
          star3d_queue<R3, 32, 8><<<dim3(div_up(nx, 32), div_up(ny, 8)), dim3(32, 8)>>>(d_in, d_out, nx, ny, nz);
        CK(cudaGetLastError());
      });
      CK(cudaMemcpy(got.data(), d_out, n * sizeof(float), cudaMemcpyDeviceToHost));
      const int bad = differences(got, ref);
      std::printf("%-18s %8.4f ms  bad points: %d\n", v ? "3-D 2.5-D queue" : "3-D naive", ms, bad);
      failures += bad != 0;
    }
    CK(cudaFree(d_in));
    CK(cudaFree(d_out));
  }
  std::printf("%s\n", failures ? "FAIL" : "PASS");
  return failures ? 1 : 0;
}
