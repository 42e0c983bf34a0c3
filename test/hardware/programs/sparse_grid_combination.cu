// Truncated sparse-grid combination technique in two dimensions.
// Every component grid is sampled, hierarchised along x and y, and its surpluses are
// added with the combination coefficient into one dense hierarchical container, which
// is then transformed back to nodal values.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace sg {

inline void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
    std::exit(2);
  }
}

template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t count) : count_(count) {
    check(cudaMalloc(reinterpret_cast<void**>(&ptr_), count * sizeof(T)), "cudaMalloc");
    check(cudaMemset(ptr_, 0, count * sizeof(T)), "cudaMemset");
  }
  ~DeviceBuffer() { cudaFree(ptr_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : ptr_(std::exchange(other.ptr_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(ptr_, other.ptr_);
    std::swap(count_, other.count_);
    return *this;
  }
  T* data() const { return ptr_; }
  std::size_t size() const { return count_; }
  std::vector<T> download() const {
    std::vector<T> host(count_);
    check(cudaMemcpy(host.data(), ptr_, count_ * sizeof(T), cudaMemcpyDeviceToHost), "download");
    return host;
  }

 private:
  T* ptr_ = nullptr;
  std::size_t count_ = 0;
};

struct LevelPair {
  int lx;
  int ly;
  double coefficient;
};

// Non-owning accessor that is handed to kernels by value.
struct GridView {
  double* values;
  int nx;
  int ny;
  __host__ __device__ double& operator()(int ix, int iy) const { return values[iy * nx + ix]; }
  __host__ __device__ double hx() const { return 1.0 / (nx - 1); }
  __host__ __device__ double hy() const { return 1.0 / (ny - 1); }
};

struct Ridge {
  double sharpness;
  double tilt;
  __host__ __device__ double operator()(double x, double y) const {
    const double d = x + tilt * y - 0.8;
    return 1.0 / (1.0 + sharpness * d * d) + 0.25 * x * (1.0 - y);
  }
};

template <class Function>
__global__ void sample(GridView grid, Function f) {
  const int ix = blockIdx.x * blockDim.x + threadIdx.x;
  const int iy = blockIdx.y * blockDim.y + threadIdx.y;
  if (ix < grid.nx && iy < grid.ny) {
    grid(ix, iy) = f(ix * grid.hx(), iy * grid.hy());
  }
}

// One thread walks one whole row; fine for the short rows of flat component grids.
__global__ void hierarchise_rows(GridView grid) {
  const int iy = blockIdx.x * blockDim.x + threadIdx.x;
  if (iy >= grid.ny) {
    return;
  }
  double* row = grid.values + static_cast<std::size_t>(iy) * grid.nx;
  for (int h = 1; h < grid.nx - 1; h *= 2) {
    for (int i = h; i < grid.nx - 1; i += 2 * h) {
      row[i] -= 0.5 * (row[i - h] + row[i + h]);
    }
  }
}

// One block per row, the row lives in dynamic shared memory.
__global__ void hierarchise_rows_cooperative(GridView grid) {
  extern __shared__ double pole[];
  double* row = grid.values + static_cast<std::size_t>(blockIdx.x) * grid.nx;
  for (int i = threadIdx.x; i < grid.nx; i += blockDim.x) {
    pole[i] = row[i];
  }
  __syncthreads();
  for (int h = 1; h < grid.nx - 1; h *= 2) {
    const int step = 2 * h * blockDim.x;
    for (int i = h + 2 * h * threadIdx.x; i < grid.nx - 1; i += step) {
      pole[i] -= 0.5 * (pole[i - h] + pole[i + h]);
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < grid.nx; i += blockDim.x) {
    row[i] = pole[i];
  }
}

// Columns: neighbouring threads own neighbouring columns.
template <bool Inverse>
__global__ void transform_columns(GridView grid) {
  const int ix = blockIdx.x * blockDim.x + threadIdx.x;
  if (ix >= grid.nx) {
    return;
  }
  if constexpr (Inverse) {
    for (int h = (grid.ny - 1) / 2; h >= 1; h /= 2) {
      for (int j = h; j < grid.ny - 1; j += 2 * h) {
        grid(ix, j) += 0.5 * (grid(ix, j - h) + grid(ix, j + h));
      }
    }
  } else {
    for (int h = 1; h < grid.ny - 1; h *= 2) {
      for (int j = h; j < grid.ny - 1; j += 2 * h) {
        grid(ix, j) -= 0.5 * (grid(ix, j - h) + grid(ix, j + h));
      }
    }
  }
}

__global__ void dehierarchise_rows_cooperative(GridView grid) {
  extern __shared__ double pole[];
  double* row = grid.values + static_cast<std::size_t>(blockIdx.x) * grid.nx;
  for (int i = threadIdx.x; i < grid.nx; i += blockDim.x) {
    pole[i] = row[i];
  }
  __syncthreads();
  for (int h = (grid.nx - 1) / 2; h >= 1; h /= 2) {
    const int step = 2 * h * blockDim.x;
    for (int i = h + 2 * h * threadIdx.x; i < grid.nx - 1; i += step) {
      pole[i] += 0.5 * (pole[i - h] + pole[i + h]);
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < grid.nx; i += blockDim.x) {
    row[i] = pole[i];
  }
}

// The component grid is a sub-lattice of the dense container.
__global__ void accumulate_surplus(GridView component, GridView dense, int shift_x, int shift_y,
                                   double coefficient) {
  const int ix = blockIdx.x * blockDim.x + threadIdx.x;
  const int iy = blockIdx.y * blockDim.y + threadIdx.y;
  if (ix < component.nx && iy < component.ny) {
    dense(ix << shift_x, iy << shift_y) += coefficient * component(ix, iy);
  }
}

template <class Function>
__global__ void max_error(GridView grid, Function f, unsigned long long* result) {
  double worst = 0.0;
  const int total = grid.nx * grid.ny;
  for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < total; k += gridDim.x * blockDim.x) {
    const int iy = k / grid.nx;
    const int ix = k - iy * grid.nx;
    const double e = fabs(grid.values[k] - f(ix * grid.hx(), iy * grid.hy()));
    worst = fmax(worst, e);
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    worst = fmax(worst, __shfl_down_sync(0xffffffffu, worst, offset));
  }
  if ((threadIdx.x & 31) == 0) {
    atomicMax(result, static_cast<unsigned long long>(__double_as_longlong(worst)));
  }
}

// Recursion over the diagonals |l| = n - q with alternating binomial coefficients.
void enumerate(int min_level, int sum, int q, std::vector<LevelPair>& out) {
  if (q == 2) {
    return;
  }
  for (int lx = min_level; lx <= sum - min_level; ++lx) {
    out.push_back({lx, sum - lx, q == 0 ? 1.0 : -1.0});
  }
  enumerate(min_level, sum - 1, q + 1, out);
}

class ComponentGrid {
 public:
  explicit ComponentGrid(LevelPair level)
      : level_(level), storage_(static_cast<std::size_t>(points(level.lx)) * points(level.ly)) {}
  static int points(int level) { return (1 << level) + 1; }
  GridView view() const { return {storage_.data(), points(level_.lx), points(level_.ly)}; }
  const LevelPair& level() const { return level_; }

  template <class Function>
  void evaluate(const Function& f) const {
    const dim3 block(32, 8);
    const GridView v = view();
    sample<<<dim3((v.nx + 31) / 32, (v.ny + 7) / 8), block>>>(v, f);
  }

  void hierarchise() const {
    const GridView v = view();
    if (level_.lx > level_.ly) {
      hierarchise_rows_cooperative<<<v.ny, 64, v.nx * sizeof(double)>>>(v);
    } else {
      hierarchise_rows<<<(v.ny + 63) / 64, 64>>>(v);
    }
    transform_columns<false><<<(v.nx + 63) / 64, 64>>>(v);
  }

 private:
  LevelPair level_;
  DeviceBuffer<double> storage_;
};

// ---- host reference -------------------------------------------------------------------
void line_transform(std::vector<double>& v, int first, int stride, int n, bool inverse) {
  std::vector<int> steps;
  for (int h = 1; h < n - 1; h *= 2) {
    steps.push_back(h);
  }
  if (inverse) {
    std::reverse(steps.begin(), steps.end());
  }
  for (int h : steps) {
    for (int i = h; i < n - 1; i += 2 * h) {
      const double mean = 0.5 * (v[first + (i - h) * stride] + v[first + (i + h) * stride]);
      v[first + i * stride] += inverse ? mean : -mean;
    }
  }
}

void plane_transform(std::vector<double>& v, int nx, int ny, bool inverse) {
  for (int y = 0; y < ny; ++y) {
    line_transform(v, y * nx, 1, nx, inverse);
  }
  for (int x = 0; x < nx; ++x) {
    line_transform(v, x, nx, ny, inverse);
  }
}

}  // namespace sg

int main() {
  using namespace sg;
  constexpr int min_level = 6;
  constexpr int sum = 14;
  const Ridge f{6.0, 0.6};

  std::vector<LevelPair> levels;
  enumerate(min_level, sum, 0, levels);
  const int top = sum - min_level;
  const int n = ComponentGrid::points(top);

  std::vector<ComponentGrid> grids;
  for (const LevelPair& l : levels) {
    grids.emplace_back(l);
  }
  DeviceBuffer<double> dense_storage(static_cast<std::size_t>(n) * n);
  const GridView dense{dense_storage.data(), n, n};

  for (const ComponentGrid& g : grids) {
    g.evaluate(f);
    g.hierarchise();
    const GridView v = g.view();
    const dim3 block(32, 4);
    const dim3 blocks((v.nx + block.x - 1) / block.x, (v.ny + block.y - 1) / block.y);
    accumulate_surplus<<<blocks, block>>>(v, dense, top - g.level().lx, top - g.level().ly,
                                          g.level().coefficient);
    check(cudaGetLastError(), "component grid");
  }
  dehierarchise_rows_cooperative<<<n, 128, n * sizeof(double)>>>(dense);
  transform_columns<true><<<(n + 63) / 64, 64>>>(dense);
  DeviceBuffer<unsigned long long> worst_bits(1);
  max_error<<<32, 256>>>(dense, f, worst_bits.data());
  check(cudaDeviceSynchronize(), "combination");

  // Reference on the host.
  std::vector<double> ref(static_cast<std::size_t>(n) * n, 0.0);
  for (const LevelPair& l : levels) {
    const int nx = ComponentGrid::points(l.lx);
    const int ny = ComponentGrid::points(l.ly);
    std::vector<double> c(static_cast<std::size_t>(nx) * ny);
    for (int y = 0; y < ny; ++y) {
      for (int x = 0; x < nx; ++x) {
        c[y * nx + x] = f(x * (1.0 / (nx - 1)), y * (1.0 / (ny - 1)));
      }
    }
    plane_transform(c, nx, ny, false);
    for (int y = 0; y < ny; ++y) {
      for (int x = 0; x < nx; ++x) {
        ref[(y << (top - l.ly)) * n + (x << (top - l.lx))] += l.coefficient * c[y * nx + x];
      }
    }
  }
  plane_transform(ref, n, n, true);

  const std::vector<double> got = dense_storage.download();
  double diff = 0.0;
  double worst_ref = 0.0;
  for (int k = 0; k < n * n; ++k) {
    diff = std::max(diff, std::fabs(got[k] - ref[k]));
    const double exact = f((k % n) * (1.0 / (n - 1)), (k / n) * (1.0 / (n - 1)));
    worst_ref = std::max(worst_ref, std::fabs(ref[k] - exact));
  }
  double worst;
  const unsigned long long bits = worst_bits.download()[0];
  static_assert(sizeof(worst) == sizeof(bits), "bit cast");
  std::copy_n(reinterpret_cast<const char*>(&bits), sizeof bits, reinterpret_cast<char*>(&worst));

  const bool ok = diff < 1e-11 && std::fabs(worst - worst_ref) < 1e-10 && worst < 1e-2;
  std::printf("grids %zu, dense %d^2, diff %.3e, error %.3e (%.3e): %s\n", levels.size(), n, diff, worst,
              worst_ref, ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
