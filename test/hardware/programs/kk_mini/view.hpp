#pragma once
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#define PK_FUNCTION __host__ __device__ __forceinline__
#define PK_LAMBDA [=] __device__
#define PK_CUDA_SAFE_CALL(c) do { cudaError_t e_ = (c); if (e_ != cudaSuccess) { fprintf(stderr, "%s error: %s %s:%d\n", #c, cudaGetErrorString(e_), __FILE__, __LINE__); abort(); } } while (0)

namespace pk {

struct LayoutLeft {};    // first index contiguous
struct LayoutRight {};   // last index contiguous

// rank 1..3 over device memory; copies are shallow
template <class T, int Rank, class Layout = LayoutLeft>
class View {
 public:
  View() = default;
  View(const std::string& label, size_t n0, size_t n1 = 1, size_t n2 = 1) : ext_{n0, n1, n2} {
    if (std::is_same<Layout, LayoutLeft>::value) { str_[0] = 1; str_[1] = n0; str_[2] = n0 * n1; }
    else if (Rank == 3) { str_[2] = 1; str_[1] = n2; str_[0] = n1 * n2; }
    else if (Rank == 2) { str_[1] = 1; str_[0] = n1; str_[2] = 0; }
    else { str_[0] = 1; str_[1] = str_[2] = 0; }
    cudaError_t e = cudaMalloc(&data_, span() * sizeof(T));
    if (e != cudaSuccess) { fprintf(stderr, "allocation of %s failed\n", label.c_str()); abort(); }
    PK_CUDA_SAFE_CALL(cudaMemset(data_, 0, span() * sizeof(T)));
    allocations().emplace_back(data_, [](T* p) { cudaFree(p); });   // lives until the end of the program
  }
  PK_FUNCTION T& operator()(size_t i) const { return data_[i * str_[0]]; }
  PK_FUNCTION T& operator()(size_t i, size_t j) const { return data_[i * str_[0] + j * str_[1]]; }
  PK_FUNCTION T& operator()(size_t i, size_t j, size_t k) const { return data_[i * str_[0] + j * str_[1] + k * str_[2]]; }
  PK_FUNCTION size_t extent(int d) const { return ext_[d]; }
  PK_FUNCTION T* data() const { return data_; }
  __host__ __device__ size_t span() const { return ext_[0] * ext_[1] * ext_[2]; }
  size_t offset(size_t i, size_t j = 0, size_t k = 0) const { return i * str_[0] + j * str_[1] + k * str_[2]; }

 private:
  T* data_ = nullptr;
  size_t ext_[3] = {0, 0, 0}, str_[3] = {0, 0, 0};
  static std::vector<std::shared_ptr<T>>& allocations() { static std::vector<std::shared_ptr<T>> v; return v; }
};

template <class V, class T> void deep_copy(const V& dst, const std::vector<T>& src) { PK_CUDA_SAFE_CALL(cudaMemcpy(dst.data(), src.data(), src.size() * sizeof(T), cudaMemcpyHostToDevice)); }
template <class T, int R, class L> std::vector<T> create_mirror(const View<T, R, L>& v) { std::vector<T> h(v.span()); PK_CUDA_SAFE_CALL(cudaMemcpy(h.data(), v.data(), h.size() * sizeof(T), cudaMemcpyDeviceToHost)); return h; }
}  // namespace pk
