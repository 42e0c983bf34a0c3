// Generic transform / zip / for_each with functors and extended lambdas kept as plain functors; kernels in a class.
#include <cstdio>
#include <cstdlib>
#include <tuple>
#include <utility>
#include <vector>
#include <cuda_runtime.h>

namespace dev {
template <typename F>
__global__ void for_each_n(int n, F f) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) f(i);
}

template <typename T>
class Span {
 public:
  __host__ __device__ Span(T* p, int n) : ptr_(p), size_(n) {}
  __host__ __device__ T& operator[](int i) const { return ptr_[i]; }
  __host__ __device__ int size() const { return size_; }
  __host__ __device__ Span<T> sub(int first, int count) const { return Span<T>(ptr_ + first, count); }
 private:
  T* ptr_;
  int size_;
};

template <typename T>
class Matrix {
 public:
  Matrix(int r, int c) : rows_(r), cols_(c) { cudaMallocManaged(&data_, sizeof(T) * r * c); }
  ~Matrix() { cudaFree(data_); }
  struct View {
    T* data;
    int rows, cols, ld;
    __host__ __device__ T& operator()(int r, int c) const { return data[r * ld + c]; }
    __host__ __device__ View block(int r, int c, int h, int w) const { return View{&data[r * ld + c], h, w, ld}; }
  };
  View view() { return View{data_, rows_, cols_, cols_}; }
  Span<T> flat() { return Span<T>(data_, rows_ * cols_); }
 private:
  T* data_;
  int rows_, cols_;
};
}  // namespace dev

struct Axpy {
  float a;
  dev::Span<float> x, y;
  __device__ void operator()(int i) const { y[i] += a * x[i]; }
};

struct Gather {
  dev::Span<const int> idx;
  dev::Span<float> src, dst;
  __device__ void operator()(int i) const { dst[i] = src[idx[i]]; }
};

template <int K>
struct Stride {
  dev::Span<float> src, dst;
  __device__ void operator()(int i) const {
    int j = i * K;
    if (j < src.size()) dst[i] = src[j];
  }
};

template <typename View, typename Op>
__global__ void row_apply(View m, Op op) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < m.rows && c < m.cols) m(r, c) = op(m(r, c), r, c);
}

struct AddIndex { __device__ float operator()(float v, int r, int c) const { return v + r * 1000 + c; } };

template <typename View>
__global__ void col_sums(View m, dev::Span<float> out) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= m.cols) return;
  float s = 0;
  for (int r = 0; r < m.rows; ++r) s += m(r, c);
  out[c] = s;
}

template <typename View>
__global__ void row_sums(View m, dev::Span<float> out) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= m.rows) return;
  float s = 0;
  for (int c = 0; c < m.cols; ++c) s += m(r, c);
  out[r] = s;
}

template <typename F>
void parallel_for(int n, const F& f, int threads = 128) {
  dev::for_each_n<<<(n + threads - 1) / threads, threads>>>(n, f);
}

int main(int argc, char** argv) {
  int rows = argc > 1 ? atoi(argv[1]) : 90, cols = argc > 2 ? atoi(argv[2]) : 130;
  dev::Matrix<float> A(rows, cols), B(rows, cols);
  int n = rows * cols;
  for (int i = 0; i < n; ++i) { A.flat()[i] = i % 10; B.flat()[i] = 1; }
  int* idx;
  cudaMallocManaged(&idx, n * sizeof(int));
  for (int i = 0; i < n; ++i) idx[i] = (i * 17) % n;
  parallel_for(n, Axpy{2.0f, A.flat(), B.flat()});
  parallel_for(n, Gather{dev::Span<const int>(idx, n), A.flat(), B.flat()}, 256);
  parallel_for(n / 4, Stride<4>{A.flat(), B.flat()});
  dev::for_each_n<<<3, 64>>>(n, Axpy{1.f, A.flat().sub(1, n - 1), B.flat()});
  dim3 t(32, 8), g((cols + 31) / 32, (rows + 7) / 8);
  row_apply<<<g, t>>>(A.view(), AddIndex{});
  auto inner = A.view().block(3, 5, rows - 6, cols - 10);
  row_apply<<<g, t>>>(inner, AddIndex());
  col_sums<<<(cols + 63) / 64, 64>>>(A.view(), B.flat());
  row_sums<<<(rows + 63) / 64, 64>>>(inner, B.flat().sub(cols, rows));
  cudaDeviceSynchronize();
  printf("%f\n", B.flat()[0]);
  return 0;
}
