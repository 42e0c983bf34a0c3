// y = A x for one sparse matrix held in several formats: CSR (scalar and vector), ELL, JDS and COO.
// The matrix is a band around the diagonal plus a pseudo-random number of entries elsewhere.
//
//   spmv_formats_c [rows] [half bandwidth] [lanes per row in csr-vector: 4|8|16|32]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>
#include <cuda_runtime.h>

// ---- error handling and small device array wrapper ---------------------------------------------
#define CUDA_CALL(x)                                                                              \
  do {                                                                                            \
    const cudaError_t e_ = (x);                                                                   \
    if (e_ != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "CUDA error '%s' in %s, line %d\n", cudaGetErrorString(e_), __FILE__,  \
                   __LINE__);                                                                     \
      std::exit(EXIT_FAILURE);                                                                    \
    }                                                                                             \
  } while (false)

template <typename T>
struct DeviceArray {
  T* ptr = nullptr;
  explicit DeviceArray(const std::vector<T>& h) {
    CUDA_CALL(cudaMalloc(&ptr, h.size() * sizeof(T)));
    CUDA_CALL(cudaMemcpy(ptr, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  DeviceArray(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(ptr); }
  operator T*() const { return ptr; }
};

// ---- formats -------------------------------------------------------------------------------------
struct Csr {
  int rows = 0;
  std::vector<int> ptr, col;
  std::vector<float> val;
};

static unsigned mix(unsigned h) {
  h ^= h >> 16;
  h *= 0x7feb352du;
  h ^= h >> 15;
  h *= 0x846ca68bu;
  return h ^ (h >> 16);
}

static Csr make_matrix(int rows, int half_band) {
  Csr m;
  m.rows = rows;
  m.ptr.push_back(0);
  std::vector<int> c;
  for (int r = 0; r < rows; ++r) {
    c.clear();
    for (int k = std::max(0, r - half_band); k <= std::min(rows - 1, r + half_band); ++k) c.push_back(k);
    int extra = mix(r) % 9;
    if (r % 97 == 5) extra += 40;  // a few long rows
    for (int k = 0; k < extra; ++k) c.push_back(mix(r * 131u + k * 17u + 3u) % rows);
    std::sort(c.begin(), c.end());
    c.erase(std::unique(c.begin(), c.end()), c.end());
    for (int k : c) {
      m.col.push_back(k);
      m.val.push_back(float(int(mix(r * 7u + k) % 200) - 100) / 100.f);
    }
    m.ptr.push_back((int)m.col.size());
  }
  return m;
}

// ---- kernels ---------------------------------------------------------------------------------------
// a thread walks one row: neighbouring lanes read places a row length apart
__global__ void csr_scalar(int rows, const int* ptr, const int* col, const float* val, const float* x,
                           float* y) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < rows) {
    float sum = 0.f;
    for (int k = ptr[r]; k < ptr[r + 1]; ++k) sum += val[k] * x[col[k]];
    y[r] = sum;
  }
}

// LANES threads share a row
template <int LANES>
__global__ void csr_vector(int rows, const int* __restrict__ ptr, const int* __restrict__ col,
                           const float* __restrict__ val, const float* __restrict__ x,
                           float* __restrict__ y) {
  const int gid = blockIdx.x * blockDim.x + threadIdx.x;
  const int r = gid / LANES, lane = gid % LANES;
  float sum = 0.f;
  if (r < rows)
    for (int k = ptr[r] + lane; k < ptr[r + 1]; k += LANES) sum += val[k] * __ldg(&x[col[k]]);
#pragma unroll
  for (int d = LANES / 2; d > 0; d >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, d, LANES);
  if (r < rows && lane == 0) y[r] = sum;
}

// column-major, every row padded to the longest one; padding is marked with column -1
__global__ void ell(int rows, int width, int stride, const int* __restrict__ col,
                    const float* __restrict__ val, const float* __restrict__ x, float* __restrict__ y) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float sum = 0.f;
  for (int k = 0; k < width; ++k) {
    const int c = col[k * stride + r];
    if (c >= 0) sum += val[k * stride + r] * x[c];
  }
  y[r] = sum;
}

// rows sorted by length, diagonals stored one after the other
__global__ void jds(int rows, int diags, const int* __restrict__ perm, const int* __restrict__ diag_ptr,
                    const int* __restrict__ col, const float* __restrict__ val,
                    const float* __restrict__ x, float* __restrict__ y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows) return;
  float sum = 0.f;
  for (int d = 0; d < diags; ++d) {
    const int begin = diag_ptr[d];
    if (i >= diag_ptr[d + 1] - begin) break;
    sum += val[begin + i] * x[col[begin + i]];
  }
  y[perm[i]] = sum;
}

// one atomic per non-zero
__global__ void coo_atomic(int nnz, const int* row, const int* col, const float* val, const float* x,
                           float* y) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < nnz) atomicAdd(&y[row[k]], val[k] * x[col[k]]);
}

// segmented sum inside the warp, one atomic per row and warp
__global__ void coo_segmented(int nnz, const int* __restrict__ row, const int* __restrict__ col,
                              const float* __restrict__ val, const float* __restrict__ x,
                              float* __restrict__ y) {
  const int lane = threadIdx.x & 31;
  const int step = gridDim.x * blockDim.x;
  for (int base = blockIdx.x * blockDim.x; base < nnz; base += step) {
    const int k = base + threadIdx.x;
    int r = -1;
    float v = 0.f;
    if (k < nnz) {
      r = row[k];
      v = val[k] * x[col[k]];
    }
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
      const float pv = __shfl_up_sync(0xffffffffu, v, d);
      const int pr = __shfl_up_sync(0xffffffffu, r, d);
      if (lane >= d && pr == r) v += pv;
    }
    const int next = __shfl_down_sync(0xffffffffu, r, 1);
    if (r >= 0 && (lane == 31 || next != r)) atomicAdd(&y[r], v);
  }
}

// ---- host wrappers -----------------------------------------------------------------------------------
static void run_csr_vector(int lanes, int rows, const int* ptr, const int* col, const float* val,
                           const float* x, float* y, cudaStream_t st) {
  const int block = 128;
  const int grid = int((size_t(rows) * lanes + block - 1) / block);
  switch (lanes) {
    case 4: csr_vector<4><<<grid, block, 0, st>>>(rows, ptr, col, val, x, y); break;
    case 8: csr_vector<8><<<grid, block, 0, st>>>(rows, ptr, col, val, x, y); break;
    case 16: csr_vector<16><<<grid, block, 0, st>>>(rows, ptr, col, val, x, y); break;
    case 32: csr_vector<32><<<grid, block, 0, st>>>(rows, ptr, col, val, x, y); break;
    default: std::fprintf(stderr, "lanes must be 4, 8, 16 or 32\n"); std::exit(EXIT_FAILURE);
  }
}

int main(int argc, char** argv) {
  const int rows = argc > 1 ? std::atoi(argv[1]) : 30011;
  const int half_band = argc > 2 ? std::atoi(argv[2]) : 6;
  const int lanes = argc > 3 ? std::atoi(argv[3]) : 8;
  if (rows < 100 || rows > 1000000 || half_band < 0 || half_band > 64) {
    std::fprintf(stderr, "arguments out of range\n");
    return EXIT_FAILURE;
  }
  const Csr m = make_matrix(rows, half_band);
  const int nnz = (int)m.col.size();
  std::vector<float> x(rows), want(rows), got(rows);
  for (int i = 0; i < rows; ++i) x[i] = float(mix(i + 77u) % 1000) / 1000.f;
  for (int r = 0; r < rows; ++r) {
    double s = 0;
    for (int k = m.ptr[r]; k < m.ptr[r + 1]; ++k) s += double(m.val[k]) * x[m.col[k]];
    want[r] = (float)s;
  }
  auto length = [&](int r) { return m.ptr[r + 1] - m.ptr[r]; };

  // COO
  std::vector<int> coo_row(nnz);
  for (int r = 0; r < rows; ++r)
    std::fill(coo_row.begin() + m.ptr[r], coo_row.begin() + m.ptr[r + 1], r);
  // ELL
  int width = 0;
  for (int r = 0; r < rows; ++r) width = std::max(width, length(r));
  const int stride = (rows + 31) / 32 * 32;
  std::vector<int> ell_col(size_t(stride) * width, -1);
  std::vector<float> ell_val(size_t(stride) * width, 0.f);
  for (int r = 0; r < rows; ++r)
    for (int k = 0; k < length(r); ++k) {
      ell_col[size_t(k) * stride + r] = m.col[m.ptr[r] + k];
      ell_val[size_t(k) * stride + r] = m.val[m.ptr[r] + k];
    }
  // JDS
  std::vector<int> perm(rows), diag_ptr(1, 0), jds_col;
  std::vector<float> jds_val;
  std::iota(perm.begin(), perm.end(), 0);
  std::stable_sort(perm.begin(), perm.end(), [&](int a, int b) { return length(a) > length(b); });
  for (int d = 0; d < width; ++d) {
    for (int i = 0; i < rows && length(perm[i]) > d; ++i) {
      jds_col.push_back(m.col[m.ptr[perm[i]] + d]);
      jds_val.push_back(m.val[m.ptr[perm[i]] + d]);
    }
    diag_ptr.push_back((int)jds_col.size());
  }
  std::printf("%d rows, %d non-zeros, longest row %d\n", rows, nnz, width);

  DeviceArray<int> d_ptr(m.ptr), d_col(m.col), d_crow(coo_row), d_ecol(ell_col), d_perm(perm),
      d_dptr(diag_ptr), d_jcol(jds_col);
  DeviceArray<float> d_val(m.val), d_eval(ell_val), d_jval(jds_val), d_x(x), d_y(got);
  cudaStream_t st;
  cudaEvent_t e0, e1;
  CUDA_CALL(cudaStreamCreate(&st));
  CUDA_CALL(cudaEventCreate(&e0));
  CUDA_CALL(cudaEventCreate(&e1));

  const char* names[] = {"csr scalar", "csr vector", "ell", "jds", "coo atomic", "coo segmented"};
  const int dimBlock = 256, rowGrid = (rows + dimBlock - 1) / dimBlock;
  int failures = 0;
  for (int f = 0; f < 6; ++f) {
    float ms = 0.f;
    for (int pass = 0; pass < 2; ++pass) {  // the first one warms up
      // COO accumulates into y; for the others this only erases the result of the format before
      CUDA_CALL(cudaMemsetAsync(d_y, 0, rows * sizeof(float), st));
      CUDA_CALL(cudaEventRecord(e0, st));
      switch (f) {
        case 0: csr_scalar<<<rowGrid, dimBlock, 0, st>>>(rows, d_ptr, d_col, d_val, d_x, d_y); break;
        case 1: run_csr_vector(lanes, rows, d_ptr, d_col, d_val, d_x, d_y, st); break;
        case 2: ell<<<rowGrid, dimBlock, 0, st>>>(rows, width, stride, d_ecol, d_eval, d_x, d_y); break;
        case 3: jds<<<rowGrid, dimBlock, 0, st>>>(rows, width, d_perm, d_dptr, d_jcol, d_jval, d_x, d_y); break;
        case 4:
          coo_atomic<<<(nnz + dimBlock - 1) / dimBlock, dimBlock, 0, st>>>(nnz, d_crow, d_col, d_val, d_x, d_y);
          break;
        case 5: coo_segmented<<<264, dimBlock, 0, st>>>(nnz, d_crow, d_col, d_val, d_x, d_y); break;
      }
      CUDA_CALL(cudaGetLastError());
      CUDA_CALL(cudaEventRecord(e1, st));
      CUDA_CALL(cudaEventSynchronize(e1));
      CUDA_CALL(cudaEventElapsedTime(&ms, e0, e1));
    }
    CUDA_CALL(cudaMemcpy(got.data(), d_y, rows * sizeof(float), cudaMemcpyDeviceToHost));
    int bad = 0;
    for (int r = 0; r < rows; ++r) bad += !(std::fabs(got[r] - want[r]) <= 1e-4f);
    std::printf("%-14s %8.4f ms %8.2f GFLOP/s  wrong rows %d\n", names[f], ms, 2e-6 * nnz / ms, bad);
    failures += bad > 0;
  }
  CUDA_CALL(cudaEventDestroy(e0));
  CUDA_CALL(cudaEventDestroy(e1));
  CUDA_CALL(cudaStreamDestroy(st));
  std::printf("%s\n", failures ? "FAIL" : "PASS");
  return failures ? 1 : 0;
}
