// Direct simulation Monte Carlo of a rarefied gas in a box: free flight with wall reflection, cell indexing (count, scan,
// scatter), hard-sphere collisions inside cells, moments per cell. Class owning the particles, structs of arrays against
// packed records.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace dsmc {

#define DSMC_CUDA(expr) ::dsmc::fail_if((expr), #expr)
inline void fail_if(cudaError_t e, const char* what) {
  if (e != cudaSuccess) {
    std::fprintf(stderr, "dsmc: %s: %s\n", what, cudaGetErrorString(e));
    std::exit(1);
  }
}

constexpr int NX = 64, NY = 64, CELLS = NX * NY;

struct Soa {
  float *x, *y, *vx, *vy, *vz;
};

struct Packed {
  float x, y, vx, vy, vz;
  int cell;
  int id;
};

struct Sampled {
  int n;
  float px, py, pz, energy;
};

__host__ __device__ inline uint32_t scramble(uint32_t a, uint32_t b) {
  uint32_t h = a * 0x9E3779B1u ^ (b + 0x7F4A7C15u) * 0x85EBCA77u;
  h ^= h >> 15;
  h *= 0xC2B2AE3Du;
  h ^= h >> 13;
  h *= 0x27D4EB2Fu;
  return h ^ h >> 16;
}
__host__ __device__ inline float unit(uint32_t h) { return (h >> 8) * (1.0f / 16777216.0f); }

__host__ __device__ inline void fly(float& x, float& v, float limit, float dt) {
  x = x + v * dt;
  if (x < 0.0f) {
    x = -x;
    v = -v;
  }
  if (x >= limit) {
    x = 2.0f * limit - x;
    v = -v;
  }
  x = fminf(fmaxf(x, 0.0f), limit * 0.999999f);
}

__global__ void move_soa(Soa p, int n, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = p.x[i], y = p.y[i], vx = p.vx[i], vy = p.vy[i];
  fly(x, vx, NX, dt);
  fly(y, vy, NY, dt);
  p.x[i] = x;
  p.y[i] = y;
  p.vx[i] = vx;
  p.vy[i] = vy;
}

__global__ void count_cells(Soa p, int n, int* cell, int* count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int c = (int)p.y[i] * NX + (int)p.x[i];
  cell[i] = c;
  atomicAdd(&count[c], 1);
}

// one block scans all the cells, four each
__global__ void scan_cells(const int* __restrict__ count, int* __restrict__ start, int* __restrict__ cursor) {
  __shared__ int warp[32];
  int4 c = reinterpret_cast<const int4*>(count)[threadIdx.x];
  int sum = c.x + c.y + c.z + c.w;
  int inc = sum;
  int lane = threadIdx.x & 31;
  int w = threadIdx.x >> 5;
  for (int o = 1; o < 32; o <<= 1) {
    int t = __shfl_up_sync(0xffffffffu, inc, o);
    if (lane >= o) inc += t;
  }
  if (lane == 31) warp[w] = inc;
  __syncthreads();
  if (w == 0) {
    int v = warp[lane];
    for (int o = 1; o < 32; o <<= 1) {
      int t = __shfl_up_sync(0xffffffffu, v, o);
      if (lane >= o) v += t;
    }
    warp[lane] = v;
  }
  __syncthreads();
  int base = inc - sum + (w ? warp[w - 1] : 0);
  int4 s = make_int4(base, base + c.x, base + c.x + c.y, base + c.x + c.y + c.z);
  reinterpret_cast<int4*>(start)[threadIdx.x] = s;
  reinterpret_cast<int4*>(cursor)[threadIdx.x] = s;
  if (threadIdx.x == 1023) start[CELLS] = base + sum;
}

__global__ void scatter(Soa p, const int* __restrict__ cell, int n, int* __restrict__ cursor, Packed* __restrict__ out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int c = cell[i];
  int at = atomicAdd(&cursor[c], 1);
  Packed q = {p.x[i], p.y[i], p.vx[i], p.vy[i], p.vz[i], c, i};
  out[at] = q;
}

// thread = cell: sorts its particles by id (so that the result does not depend on the scatter), then collides pairs
__global__ void collide(Packed* __restrict__ part, const int* __restrict__ start, uint32_t step) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= CELLS) return;
  int b = start[c];
  int e = start[c + 1];
  for (int i = b + 1; i < e; ++i) {
    Packed q = part[i];
    int j = i - 1;
    while (j >= b && part[j].id > q.id) {
      part[j + 1] = part[j];
      --j;
    }
    part[j + 1] = q;
  }
  for (int k = b; k + 1 < e; k += 2) {
    Packed& p = part[k];
    Packed& q = part[k + 1];
    uint32_t h = scramble(p.id, step);
    if (h & 1) continue;
    float rx = p.vx - q.vx, ry = p.vy - q.vy, rz = p.vz - q.vz;
    float g = sqrtf(rx * rx + ry * ry + rz * rz);
    float cz = 2.0f * unit(scramble(h, 1)) - 1.0f;
    float sz = sqrtf(1.0f - cz * cz);
    float ph = 6.2831853f * unit(scramble(h, 2));
    float mx = 0.5f * (p.vx + q.vx), my = 0.5f * (p.vy + q.vy), mz = 0.5f * (p.vz + q.vz);
    float ax = 0.5f * g * sz * cosf(ph), ay = 0.5f * g * sz * sinf(ph), az = 0.5f * g * cz;
    p.vx = mx + ax;
    p.vy = my + ay;
    p.vz = mz + az;
    q.vx = mx - ax;
    q.vy = my - ay;
    q.vz = mz - az;
  }
}

// warp = cell
__global__ void sample_cells(const Packed* __restrict__ part, const int* __restrict__ start, Sampled* __restrict__ out) {
  int c = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  int lane = threadIdx.x & 31;
  if (c >= CELLS) return;
  float px = 0, py = 0, pz = 0, en = 0;
  for (int i = start[c] + lane; i < start[c + 1]; i += 32) {
    Packed q = part[i];
    px += q.vx;
    py += q.vy;
    pz += q.vz;
    en += 0.5f * (q.vx * q.vx + q.vy * q.vy + q.vz * q.vz);
  }
  for (int o = 16; o; o >>= 1) {
    px += __shfl_xor_sync(0xffffffffu, px, o);
    py += __shfl_xor_sync(0xffffffffu, py, o);
    pz += __shfl_xor_sync(0xffffffffu, pz, o);
    en += __shfl_xor_sync(0xffffffffu, en, o);
  }
  if (lane == 0) out[c] = {start[c + 1] - start[c], px, py, pz, en};
}

// back to the planes, by id
__global__ void unpack(const Packed* __restrict__ part, Soa p, int n) {
  for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += gridDim.x * blockDim.x) {
    Packed q = part[k];
    p.x[q.id] = q.x;
    p.y[q.id] = q.y;
    p.vx[q.id] = q.vx;
    p.vy[q.id] = q.vy;
    p.vz[q.id] = q.vz;
  }
}

class Gas {
 public:
  explicit Gas(const std::vector<float> (&h)[5]) : n_((int)h[0].size()) {
    float** planes[5] = {&p_.x, &p_.y, &p_.vx, &p_.vy, &p_.vz};
    for (int k = 0; k < 5; ++k) {
      DSMC_CUDA(cudaMalloc(planes[k], n_ * sizeof(float)));
      DSMC_CUDA(cudaMemcpy(*planes[k], h[k].data(), n_ * sizeof(float), cudaMemcpyHostToDevice));
    }
    DSMC_CUDA(cudaMalloc(&cell_, n_ * sizeof(int)));
    DSMC_CUDA(cudaMalloc(&count_, CELLS * sizeof(int)));
    DSMC_CUDA(cudaMalloc(&start_, (CELLS + 4) * sizeof(int)));
    DSMC_CUDA(cudaMalloc(&cursor_, CELLS * sizeof(int)));
    DSMC_CUDA(cudaMalloc(&packed_, n_ * sizeof(Packed)));
    DSMC_CUDA(cudaMalloc(&sample_, CELLS * sizeof(Sampled)));
  }
  ~Gas() {
    for (void* q : {(void*)p_.x, (void*)p_.y, (void*)p_.vx, (void*)p_.vy, (void*)p_.vz, (void*)cell_, (void*)count_, (void*)start_, (void*)cursor_, (void*)packed_, (void*)sample_})
      cudaFree(q);
  }
  void step(float dt, uint32_t k) {
    const int g = (n_ + 255) / 256;
    move_soa<<<g, 256>>>(p_, n_, dt);
    DSMC_CUDA(cudaMemsetAsync(count_, 0, CELLS * sizeof(int)));
    count_cells<<<g, 256>>>(p_, n_, cell_, count_);
    scan_cells<<<1, 1024>>>(count_, start_, cursor_);
    scatter<<<g, 256>>>(p_, cell_, n_, cursor_, packed_);
    collide<<<CELLS / 64, 64>>>(packed_, start_, k);
    sample_cells<<<CELLS / 8, 256>>>(packed_, start_, sample_);
    unpack<<<132, 256>>>(packed_, p_, n_);
    DSMC_CUDA(cudaGetLastError());
  }
  std::vector<Packed> packed() const { return get(packed_, n_); }
  std::vector<Sampled> sample() const { return get(sample_, CELLS); }
  std::vector<int> start() const { return get(start_, CELLS + 1); }
  std::vector<float> plane(int k) const {
    const float* q[5] = {p_.x, p_.y, p_.vx, p_.vy, p_.vz};
    return get(q[k], n_);
  }

 private:
  template <class T>
  static std::vector<T> get(const T* d, size_t n) {
    std::vector<T> h(n);
    DSMC_CUDA(cudaMemcpy(h.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost));
    return h;
  }
  int n_;
  Soa p_{};
  int *cell_, *count_, *start_, *cursor_;
  Packed* packed_;
  Sampled* sample_;
};

}  // namespace dsmc

int main() {
  using namespace dsmc;
  const int n = 120000;
  std::vector<float> h[5];
  for (auto& v : h) v.resize(n);
  for (int i = 0; i < n; ++i) {
    // denser and faster on the left half
    float u = unit(scramble(i, 10));
    h[0][i] = i % 4 ? u * NX * 0.5f : u * NX * 0.999f;
    h[1][i] = unit(scramble(i, 11)) * NY * 0.999f;
    for (int k = 2; k < 5; ++k) h[k][i] = 2.0f * (unit(scramble(i, 10 + k)) + unit(scramble(i, 20 + k)) - 1.0f) + (k == 2 ? 0.5f : 0.0f);
  }
  double e0 = 0;
  for (int i = 0; i < n; ++i) e0 += 0.5 * (h[2][i] * h[2][i] + h[3][i] * h[3][i] + h[4][i] * h[4][i]);
  Gas gas(h);
  const float dt = 0.2f;
  int bad = 0;
  int soft = 0;
  for (uint32_t k = 0; k < 3; ++k) {
    std::vector<float> before[5];
    for (int q = 0; q < 5; ++q) before[q] = gas.plane(q);
    gas.step(dt, k);
    DSMC_CUDA(cudaDeviceSynchronize());
    auto part = gas.packed();
    auto start = gas.start();
    auto sample = gas.sample();
    auto x = gas.plane(0);
    auto vz = gas.plane(4);
    std::vector<char> seen(n, 0);
    for (int c = 0; c < CELLS; ++c) {
      double px = 0, py = 0, pz = 0, en = 0, qx = 0, qy = 0, qz = 0;
      for (int i = start[c]; i < start[c + 1]; ++i) {
        const Packed& p = part[i];
        bad += p.cell != c || (int)p.y * NX + (int)p.x != c || seen[p.id] || (i > start[c] && part[i - 1].id >= p.id);
        seen[p.id] = 1;
        float fx = before[0][p.id], fvx = before[2][p.id], fy = before[1][p.id], fvy = before[3][p.id];
        fly(fx, fvx, NX, dt);
        fly(fy, fvy, NY, dt);
        bad += std::fabs(fx - p.x) > 1e-4f || std::fabs(fy - p.y) > 1e-4f;
        bad += x[p.id] != p.x || vz[p.id] != p.vz;
        px += p.vx;
        py += p.vy;
        pz += p.vz;
        en += 0.5 * (p.vx * p.vx + p.vy * p.vy + p.vz * p.vz);
        qx += fvx;
        qy += fvy;
        qz += before[4][p.id];
      }
      const Sampled& s = sample[c];
      bad += s.n != start[c + 1] - start[c];
      bad += std::fabs(s.px - px) > 1e-3 || std::fabs(s.py - py) > 1e-3 || std::fabs(s.pz - pz) > 1e-3 || std::fabs(s.energy - en) > 1e-3 * (1 + en);
      // collisions keep the momentum of the cell (a particle that just touches a wall may be turned on one side only)
      soft += std::fabs(px - qx) > 1e-2 || std::fabs(py - qy) > 1e-2;
      bad += std::fabs(pz - qz) > 1e-2;
    }
    bad += start[CELLS] != n;
  }
  bad += soft > 4;
  double e1 = 0;
  for (auto& s : gas.sample()) e1 += s.energy;
  bad += std::fabs(e1 / e0 - 1.0) > 1e-3;
  std::printf("energy %.3f -> %.3f, %d bad\n", e0, e1, bad);
  std::puts(bad ? "FAIL" : "PASS");
  return bad ? 1 : 0;
}
