// 65536-point complex FFT as 256 x 256: columns, twiddle + transpose, rows, transpose out.
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_TRY(call)                                                                         \
  if (cudaError_t err__ = (call); err__ != cudaSuccess) {                                      \
    std::fprintf(stderr, "[%s:%d] %s -> %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(err__)); \
    std::abort();                                                                              \
  }

using cfloat = float2;

__device__ __forceinline__ cfloat cmul(cfloat a, cfloat b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }
__device__ __forceinline__ cfloat cadd(cfloat a, cfloat b) { return {a.x + b.x, a.y + b.y}; }
__device__ __forceinline__ cfloat csub(cfloat a, cfloat b) { return {a.x - b.x, a.y - b.y}; }

// Reads element k of line `line` from a matrix.
class RowAccess {
 public:
  RowAccess(cfloat* base, int pitch) : base_(base), pitch_(pitch) {}
  __device__ cfloat& operator()(int line, int k) const { return base_[line * pitch_ + k]; }

 private:
  cfloat* base_;
  int pitch_;
};

class ColumnAccess {
 public:
  ColumnAccess(cfloat* base, int pitch) : base_(base), pitch_(pitch) {}
  __device__ cfloat& operator()(int line, int k) const { return base_[k * pitch_ + line]; }

 private:
  cfloat* base_;
  int pitch_;
};

// Stockham, radix 2. blockDim.x threads share one line, blockDim.y lines a block.
template <int LEN, int LINES, class Access>
__global__ void fftLines(Access data) {
  static_assert((LEN & (LEN - 1)) == 0, "power of two");
  __shared__ cfloat buffer[2][LINES][LEN];
  const int line = blockIdx.x * LINES + threadIdx.y;
  const int j = threadIdx.x;  // 0 .. LEN / 2 - 1
  int from = 0;
  buffer[0][threadIdx.y][j] = data(line, j);
  buffer[0][threadIdx.y][j + LEN / 2] = data(line, j + LEN / 2);
  for (int ns = 1; ns < LEN; ns *= 2) {
    __syncthreads();
    cfloat* in = buffer[from][threadIdx.y];
    cfloat* out = buffer[from ^ 1][threadIdx.y];
    const int k = j & (ns - 1);
    float s, c;
    sincospif(-static_cast<float>(k) / ns, &s, &c);
    const cfloat v0 = in[j];
    const cfloat v1 = cmul(in[j + LEN / 2], {c, s});
    const int d = (j - k) * 2 + k;
    out[d] = cadd(v0, v1);
    out[d + ns] = csub(v0, v1);
    from ^= 1;
  }
  __syncthreads();
  data(line, j) = buffer[from][threadIdx.y][j];
  data(line, j + LEN / 2) = buffer[from][threadIdx.y][j + LEN / 2];
}

// Same thing for several neighbouring columns: threadIdx.x walks over the columns.
template <int LEN, int COLS>
__global__ void fftColumnsTogether(cfloat* data, int pitch) {
  extern __shared__ unsigned char raw[];
  cfloat(*a)[COLS] = reinterpret_cast<cfloat(*)[COLS]>(raw);
  cfloat(*b)[COLS] = a + LEN;
  const int col = blockIdx.x * COLS + threadIdx.x;
  for (int k = threadIdx.y; k < LEN; k += blockDim.y) a[k][threadIdx.x] = data[k * pitch + col];
  for (int ns = 1; ns < LEN; ns *= 2) {
    __syncthreads();
    for (int j = threadIdx.y; j < LEN / 2; j += blockDim.y) {
      const int k = j & (ns - 1);
      float s, c;
      sincospif(-static_cast<float>(k) / ns, &s, &c);
      const cfloat v0 = a[j][threadIdx.x];
      const cfloat v1 = cmul(a[j + LEN / 2][threadIdx.x], {c, s});
      const int d = (j - k) * 2 + k;
      b[d][threadIdx.x] = cadd(v0, v1);
      b[d + ns][threadIdx.x] = csub(v0, v1);
    }
    cfloat(*t)[COLS] = a;
    a = b;
    b = t;
  }
  __syncthreads();
  for (int k = threadIdx.y; k < LEN; k += blockDim.y) data[k * pitch + col] = a[k][threadIdx.x];
}

template <bool TWIDDLE>
__global__ void transpose(const cfloat* __restrict__ in, cfloat* __restrict__ out, int n) {
  __shared__ cfloat tile[16][17];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  cfloat v = in[y * n + x];
  if constexpr (TWIDDLE) {
    float s, c;
    sincospif(-2.0f * static_cast<float>(x * y) / static_cast<float>(n * n), &s, &c);
    v = cmul(v, {c, s});
  }
  tile[threadIdx.y][threadIdx.x] = v;
  __syncthreads();
  x = blockIdx.y * 16 + threadIdx.x;
  y = blockIdx.x * 16 + threadIdx.y;
  out[y * n + x] = tile[threadIdx.x][threadIdx.y];
}

static void hostFft(std::vector<std::complex<double>>& a) {
  const size_t n = a.size();
  for (size_t i = 1, j = 0; i < n; ++i) {
    size_t bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(a[i], a[j]);
  }
  for (size_t len = 2; len <= n; len <<= 1)
    for (size_t i = 0; i < n; i += len)
      for (size_t k = 0; k < len / 2; ++k) {
        const auto w = std::polar(1.0, -2.0 * M_PI * double(k) / double(len));
        const auto u = a[i + k], v = a[i + k + len / 2] * w;
        a[i + k] = u + v;
        a[i + k + len / 2] = u - v;
      }
}

int main() {
  constexpr int kSide = 256, kTotal = kSide * kSide;
  std::vector<cfloat> signal(kTotal);
  unsigned lcg = 12345;
  for (auto& v : signal) {
    lcg = lcg * 1103515245u + 12345u;
    v.x = float((lcg >> 16) & 0x7fff) / 32768.0f - 0.5f;
    lcg = lcg * 1103515245u + 12345u;
    v.y = float((lcg >> 16) & 0x7fff) / 32768.0f - 0.5f;
  }
  std::vector<std::complex<double>> want(kTotal);
  for (int i = 0; i < kTotal; ++i) want[i] = {signal[i].x, signal[i].y};
  hostFft(want);

  cfloat *work, *other;
  CUDA_TRY(cudaMalloc(&work, kTotal * sizeof(cfloat)));
  CUDA_TRY(cudaMalloc(&other, kTotal * sizeof(cfloat)));

  auto verify = [&](const char* name) {
    std::vector<cfloat> got(kTotal);
    CUDA_TRY(cudaMemcpy(got.data(), work, kTotal * sizeof(cfloat), cudaMemcpyDeviceToHost));
    double err = 0, ref = 0;
    for (int i = 0; i < kTotal; ++i) {
      err += std::norm(std::complex<double>(got[i].x, got[i].y) - want[i]);
      ref += std::norm(want[i]);
    }
    const double rel = std::sqrt(err / ref);
    std::printf("%-10s relative error %.2e\n", name, rel);
    return rel < 1e-5;
  };

  bool ok = true;
  for (int variant = 0; variant < 2; ++variant) {
    CUDA_TRY(cudaMemcpy(work, signal.data(), kTotal * sizeof(cfloat), cudaMemcpyHostToDevice));
    if (variant == 0) {
      fftLines<kSide, 2><<<kSide / 2, dim3(kSide / 2, 2)>>>(ColumnAccess(work, kSide));
    } else {
      constexpr int kCols = 8;
      fftColumnsTogether<kSide, kCols><<<kSide / kCols, dim3(kCols, 32), 2 * kSide * kCols * sizeof(cfloat)>>>(work, kSide);
    }
    // rows of `other` are n2, columns k1
    transpose<true><<<dim3(kSide / 16, kSide / 16), dim3(16, 16)>>>(work, other, kSide);
    fftLines<kSide, 2><<<kSide / 2, dim3(kSide / 2, 2)>>>(ColumnAccess(other, kSide));
    // other[k2][k1] is already the natural order k1 + 256 k2
    CUDA_TRY(cudaMemcpy(work, other, kTotal * sizeof(cfloat), cudaMemcpyDeviceToDevice));
    ok = verify(variant == 0 ? "by columns" : "together") && ok;
  }

  // and the row-wise way: transpose, rows, twiddle + transpose, rows, transpose
  CUDA_TRY(cudaMemcpy(work, signal.data(), kTotal * sizeof(cfloat), cudaMemcpyHostToDevice));
  const dim3 tiles(kSide / 16, kSide / 16), tile(16, 16);
  transpose<false><<<tiles, tile>>>(work, other, kSide);
  fftLines<kSide, 1><<<kSide, dim3(kSide / 2, 1)>>>(RowAccess(other, kSide));
  transpose<true><<<tiles, tile>>>(other, work, kSide);
  fftLines<kSide, 1><<<kSide, dim3(kSide / 2, 1)>>>(RowAccess(work, kSide));
  transpose<false><<<tiles, tile>>>(work, other, kSide);
  CUDA_TRY(cudaMemcpy(work, other, kTotal * sizeof(cfloat), cudaMemcpyDeviceToDevice));
  ok = verify("by rows") && ok;

  CUDA_TRY(cudaFree(work));
  CUDA_TRY(cudaFree(other));
  std::puts(ok ? "OK" : "FAIL");
  return ok ? 0 : 1;
}
