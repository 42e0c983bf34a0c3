// C = A * B with A sparse (M x K) and B dense (K x F), F = 64 feature columns as in a GNN layer.
// A walk through seven kernels; see the README for the timings.
#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>
#include <random>
#include <set>
#include <vector>

namespace cg = cooperative_groups;

static constexpr int F = 64;

#define CUDA_TRY(...)                                                                        \
  do {                                                                                       \
    cudaError_t const status_ = (__VA_ARGS__);                                               \
    if (status_ != cudaSuccess) {                                                            \
      std::cerr << __FILE__ << ":" << __LINE__ << " " << cudaGetErrorString(status_) << "\n"; \
      std::exit(EXIT_FAILURE);                                                               \
    }                                                                                        \
  } while (0)

struct CsrView {
  int rows;
  int cols;
  int nnz;
  int const* offsets;
  int const* indices;
  float const* values;
};

// 1. One thread computes a whole row of C.
__global__ void spmm_row_per_thread(CsrView a, float const* b, float* c)
{
  int const row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= a.rows) return;
  for (int f = 0; f < F; ++f) {
    float sum = 0.f;
    for (int p = a.offsets[row]; p < a.offsets[row + 1]; ++p) {
      sum += a.values[p] * b[a.indices[p] * F + f];
    }
    c[row * F + f] = sum;
  }
}

// 2. One thread computes one element of C.
__global__ void spmm_element_per_thread(CsrView a, float const* __restrict__ b, float* __restrict__ c)
{
  int const row = blockIdx.x * blockDim.y + threadIdx.y;
  int const f   = threadIdx.x;
  if (row >= a.rows) return;
  int const begin = a.offsets[row];
  int const end   = a.offsets[row + 1];
  float sum       = 0.f;
  for (int p = begin; p < end; ++p) {
    sum = fmaf(a.values[p], b[a.indices[p] * F + f], sum);
  }
  c[row * F + f] = sum;
}

// 3. Warp per row, 32 nonzeros fetched at a time and handed round by shuffles.
__global__ void spmm_warp_shuffle(CsrView a, float const* __restrict__ b, float* __restrict__ c)
{
  int const lane = threadIdx.x & 31;
  int const row  = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  if (row >= a.rows) return;
  int const begin = a.offsets[row];
  int const end   = a.offsets[row + 1];
  float2 acc      = make_float2(0.f, 0.f);
  for (int base = begin; base < end; base += 32) {
    int col   = 0;
    float val = 0.f;
    if (base + lane < end) {
      col = a.indices[base + lane];
      val = a.values[base + lane];
    }
    int const count = min(32, end - base);
    for (int j = 0; j < count; ++j) {
      int const cj   = __shfl_sync(0xffffffffu, col, j);
      float const vj = __shfl_sync(0xffffffffu, val, j);
      float2 const bv = reinterpret_cast<float2 const*>(b + cj * F)[lane];
      acc.x += vj * bv.x;
      acc.y += vj * bv.y;
    }
  }
  reinterpret_cast<float2*>(c + row * F)[lane] = acc;
}

// 4. Coordinate format, equal share of nonzeros per warp, atomics where the row changes.
template <int CHUNK>
__global__ void spmm_coo_atomic(int nnz, int const* __restrict__ rowIdx, int const* __restrict__ colIdx,
                                float const* __restrict__ values, float const* __restrict__ b, float* c)
{
  int const warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  int const f    = (threadIdx.x & 31) + 32 * blockIdx.y;
  int const from = warp * CHUNK;
  int const to   = min(from + CHUNK, nnz);
  if (from >= nnz) return;
  int current = rowIdx[from];
  float sum   = 0.f;
  for (int p = from; p < to; ++p) {
    int const r = rowIdx[p];
    if (r != current) {
      atomicAdd(c + current * F + f, sum);
      sum     = 0.f;
      current = r;
    }
    sum += values[p] * b[colIdx[p] * F + f];
  }
  atomicAdd(c + current * F + f, sum);
}

// 5. ELLPACK, slot-major, thread = row, eight half features per load.
__global__ void spmm_ell_half(int rows, int width, int const* __restrict__ cols, float const* __restrict__ vals,
                              __half const* __restrict__ bh, float* __restrict__ c)
{
  int const row = blockIdx.x * blockDim.x + threadIdx.x;
  int const f0  = blockIdx.y * 8;
  if (row >= rows) return;
  float acc[8] = {0.f, 0.f, 0.f, 0.f, 0.f, 0.f, 0.f, 0.f};
  for (int s = 0; s < width; ++s) {
    int const col   = cols[s * rows + row];
    float const val = vals[s * rows + row];
    if (col < 0) break;
    uint4 const raw  = *reinterpret_cast<uint4 const*>(bh + col * F + f0);
    __half2 const* h = reinterpret_cast<__half2 const*>(&raw);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float2 const v = __half22float2(h[i]);
      acc[2 * i] += val * v.x;
      acc[2 * i + 1] += val * v.y;
    }
  }
  float4* out = reinterpret_cast<float4*>(c + row * F + f0);
  out[0]      = make_float4(acc[0], acc[1], acc[2], acc[3]);
  out[1]      = make_float4(acc[4], acc[5], acc[6], acc[7]);
}

// 6. Persistent blocks, rows handed out by a ticket, half-warps with float4 and staged indices.
__global__ __launch_bounds__(128) void spmm_ticket(CsrView a, float4 const* __restrict__ b, float4* __restrict__ c,
                                                   unsigned* ticket)
{
  __shared__ int s_col[8][16];
  __shared__ float s_val[8][16];
  __shared__ unsigned s_first;
  auto tile       = cg::tiled_partition<16>(cg::this_thread_block());
  int const group = threadIdx.x / 16;
  int const t     = tile.thread_rank();
  for (;;) {
    if (threadIdx.x == 0) s_first = atomicAdd(ticket, 8u);
    __syncthreads();
    unsigned const first = s_first;
    __syncthreads();
    if (first >= (unsigned)a.rows) return;
    int const row = first + group;
    if (row < a.rows) {
      int const begin = a.offsets[row];
      int const end   = a.offsets[row + 1];
      float4 acc      = make_float4(0.f, 0.f, 0.f, 0.f);
      for (int base = begin; base < end; base += 16) {
        if (base + t < end) {
          s_col[group][t] = a.indices[base + t];
          s_val[group][t] = a.values[base + t];
        }
        tile.sync();
        int const m = min(16, end - base);
#pragma unroll 4
        for (int j = 0; j < m; ++j) {
          float4 const v = b[s_col[group][j] * (F / 4) + t];
          float const w  = s_val[group][j];
          acc.x += w * v.x;
          acc.y += w * v.y;
          acc.z += w * v.z;
          acc.w += w * v.w;
        }
        tile.sync();
      }
      c[row * (F / 4) + t] = acc;
    }
  }
}

// 7. The backward cousin (SDDMM): out[p] = dot(X[row(p)], Y[col(p)]), 8 lanes per nonzero.
__global__ void sddmm_octets(int nnz, int const* __restrict__ rowIdx, int const* __restrict__ colIdx,
                             float4 const* __restrict__ x, float4 const* __restrict__ y, float* __restrict__ out)
{
  int const sub = threadIdx.x & 7;
  int const per = blockDim.x / 8;
  for (int base = blockIdx.x * per; base < nnz; base += gridDim.x * per) {
    int const p = base + threadIdx.x / 8;
    float s     = 0.f;
    if (p < nnz) {
      float4 const* xr = x + rowIdx[p] * (F / 4);
      float4 const* yr = y + colIdx[p] * (F / 4);
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        float4 const u = xr[sub + 8 * k];
        float4 const v = yr[sub + 8 * k];
        s += u.x * v.x + u.y * v.y + u.z * v.z + u.w * v.w;
      }
    }
    s += __shfl_down_sync(0xffffffffu, s, 4, 8);
    s += __shfl_down_sync(0xffffffffu, s, 2, 8);
    s += __shfl_down_sync(0xffffffffu, s, 1, 8);
    if (sub == 0 && p < nnz) out[p] = s;
  }
}

template <typename T>
T* to_device(std::vector<T> const& v)
{
  T* p = nullptr;
  CUDA_TRY(cudaMalloc(&p, v.size() * sizeof(T)));
  CUDA_TRY(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}

int main()
{
  int const rows = 6000;
  int const cols = 5000;
  std::mt19937 rng(2024);
  auto value = [&rng] { return (float)(rng() % 2001) / 1000.f - 1.f; };

  std::vector<int> offsets(1, 0), indices, rowIdx;
  std::vector<float> values;
  int width = 0;
  for (int r = 0; r < rows; ++r) {
    int const degree = rng() % 8 == 0 ? 4 + rng() % 56 : rng() % 12;
    std::set<int> picked;
    while ((int)picked.size() < degree) picked.insert(rng() % cols);
    for (int cidx : picked) {
      indices.push_back(cidx);
      values.push_back(value());
      rowIdx.push_back(r);
    }
    offsets.push_back((int)indices.size());
    width = std::max(width, degree);
  }
  int const nnz = (int)indices.size();
  std::vector<int> ellCol((size_t)width * rows, -1);
  std::vector<float> ellVal((size_t)width * rows, 0.f);
  for (int r = 0; r < rows; ++r) {
    for (int p = offsets[r]; p < offsets[r + 1]; ++p) {
      ellCol[(size_t)(p - offsets[r]) * rows + r] = indices[p];
      ellVal[(size_t)(p - offsets[r]) * rows + r] = values[p];
    }
  }
  std::vector<float> b((size_t)cols * F);
  std::vector<__half> bh(b.size());
  for (int k = 0; k < cols; ++k) {
    for (int f = 0; f < F; ++f) {
      float const v             = value();
      b[(size_t)k * F + f]      = v;
      bh[(size_t)k * F + f]     = __float2half(v);
    }
  }
  std::vector<float> ref((size_t)rows * F), refHalf(ref.size());
  for (int r = 0; r < rows; ++r) {
    for (int f = 0; f < F; ++f) {
      double s = 0, sh = 0;
      for (int p = offsets[r]; p < offsets[r + 1]; ++p) {
        s += (double)values[p] * b[(size_t)indices[p] * F + f];
        sh += (double)values[p] * __half2float(bh[(size_t)indices[p] * F + f]);
      }
      ref[(size_t)r * F + f]     = (float)s;
      refHalf[(size_t)r * F + f] = (float)sh;
    }
  }

  CsrView a{rows, cols, nnz, to_device(offsets), to_device(indices), to_device(values)};
  int const* dRow   = to_device(rowIdx);
  int const* dEllC  = to_device(ellCol);
  float const* dEllV = to_device(ellVal);
  float const* dB   = to_device(b);
  __half const* dBh = to_device(bh);
  float* dC         = to_device(ref);
  unsigned* dTicket = to_device(std::vector<unsigned>(1, 0u));
  CUDA_TRY(cudaDeviceSynchronize());
  cudaStream_t stream;
  CUDA_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  bool good = true;
  std::vector<float> c(ref.size());

  auto verify = [&](char const* name, std::vector<float> const& want) {
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaStreamSynchronize(stream));
    CUDA_TRY(cudaMemcpy(c.data(), dC, c.size() * sizeof(float), cudaMemcpyDeviceToHost));
    float worst = 0.f;
    for (size_t i = 0; i < c.size(); ++i) worst = std::max(worst, std::fabs(c[i] - want[i]));
    std::cout << name << ": " << worst << "\n";
    good = good && worst < 5e-4f;
    CUDA_TRY(cudaMemsetAsync(dC, 0, c.size() * sizeof(float), stream));
  };
  CUDA_TRY(cudaMemsetAsync(dC, 0, c.size() * sizeof(float), stream));

  spmm_row_per_thread<<<(rows + 127) / 128, 128, 0, stream>>>(a, dB, dC);
  verify("row per thread", ref);
  spmm_element_per_thread<<<(rows + 3) / 4, dim3(F, 4), 0, stream>>>(a, dB, dC);
  verify("element per thread", ref);
  spmm_warp_shuffle<<<(rows + 7) / 8, 256, 0, stream>>>(a, dB, dC);
  verify("warp shuffle", ref);
  constexpr int chunk = 24;
  int const warps     = (nnz + chunk - 1) / chunk;
  spmm_coo_atomic<chunk><<<dim3((warps + 3) / 4, F / 32), 128, 0, stream>>>(nnz, dRow, a.indices, a.values, dB, dC);
  verify("coo atomic", ref);
  spmm_ell_half<<<dim3((rows + 127) / 128, F / 8), 128, 0, stream>>>(rows, width, dEllC, dEllV, dBh, dC);
  verify("ell half", refHalf);
  spmm_ticket<<<264, 128, 0, stream>>>(a, reinterpret_cast<float4 const*>(dB), reinterpret_cast<float4*>(dC), dTicket);
  verify("ticket", ref);

  float* dDot = nullptr;
  CUDA_TRY(cudaMalloc(&dDot, nnz * sizeof(float)));
  CUDA_TRY(cudaMemcpy(dC, ref.data(), ref.size() * sizeof(float), cudaMemcpyHostToDevice));
  CUDA_TRY(cudaDeviceSynchronize());
  sddmm_octets<<<264, 256, 0, stream>>>(nnz, dRow, a.indices, reinterpret_cast<float4 const*>(dC),
                                         reinterpret_cast<float4 const*>(dB), dDot);
  CUDA_TRY(cudaGetLastError());
  CUDA_TRY(cudaStreamSynchronize(stream));
  std::vector<float> dots(nnz);
  CUDA_TRY(cudaMemcpy(dots.data(), dDot, nnz * sizeof(float), cudaMemcpyDeviceToHost));
  float worst = 0.f;
  for (int p = 0; p < nnz; ++p) {
    double s = 0;
    for (int f = 0; f < F; ++f) s += (double)ref[(size_t)rowIdx[p] * F + f] * b[(size_t)indices[p] * F + f];
    worst = std::max(worst, (float)std::fabs(s - dots[p]));
  }
  std::cout << "sddmm: " << worst << "\n";
  good = good && worst < 2e-3f;
  std::cout << (good ? "PASS" : "FAIL") << std::endl;
  return good ? 0 : 1;
}
