// Batched module-lattice key generation (t = A s + e over Z_3329[x]/(x^256+1), k = 3):
// sampling, number-theoretic transforms in two data layouts, base multiplication,
// 12-bit packing.
#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

namespace mlkem {

constexpr int N = 256;
constexpr int K = 3;
constexpr std::uint32_t Q = 3329;

// ---- field -----------------------------------------------------------------------------
struct Fq {
  std::uint16_t v;
  static __host__ __device__ constexpr Fq from(std::uint32_t x) { return Fq{static_cast<std::uint16_t>(x % Q)}; }
  friend __host__ __device__ constexpr Fq operator+(Fq a, Fq b) { return from(std::uint32_t{a.v} + b.v); }
  friend __host__ __device__ constexpr Fq operator-(Fq a, Fq b) { return from(std::uint32_t{a.v} + Q - b.v); }
  friend __host__ __device__ constexpr Fq operator*(Fq a, Fq b) { return from(std::uint32_t{a.v} * b.v); }
  __host__ __device__ constexpr bool operator!=(Fq o) const { return v != o.v; }
};
static_assert(sizeof(Fq) == 2, "packed");

constexpr int reverse7(int k) {
  int r = 0;
  for (int b = 0; b < 7; ++b)
    r |= ((k >> b) & 1) << (6 - b);
  return r;
}

struct ZetaTable {
  Fq z[128];
};

constexpr ZetaTable make_zetas() {
  ZetaTable t{};
  for (int k = 0; k < 128; ++k) {
    Fq p{1};
    for (int e = 0; e < reverse7(k); ++e)
      p = p * Fq{17};
    t.z[k] = p;
  }
  return t;
}

__constant__ ZetaTable zetas = make_zetas();

// ---- memory ----------------------------------------------------------------------------
#define MLKEM_CHECK(call)                                                \
  if (cudaError_t err_ = (call); err_ != cudaSuccess) {                  \
    std::fprintf(stderr, #call ": %s\n", cudaGetErrorString(err_));      \
    std::exit(1);                                                        \
  }

template <typename T>
class device_array {
 public:
  explicit device_array(std::size_t n) : n_(n) { MLKEM_CHECK(cudaMalloc(&p_, n * sizeof(T))); }
  device_array(device_array&& o) noexcept : p_(std::exchange(o.p_, nullptr)), n_(o.n_) {}
  device_array(const device_array&) = delete;
  ~device_array() { cudaFree(p_); }
  T* get() { return p_; }
  std::vector<T> host() const {
    std::vector<T> h(n_);
    MLKEM_CHECK(cudaMemcpy(h.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
    return h;
  }

 private:
  T* p_ = nullptr;
  std::size_t n_;
};

// ---- layouts ---------------------------------------------------------------------------
struct PolyMajor {
  int batch;
  __host__ __device__ std::size_t operator()(int poly, int coeff) const { return static_cast<std::size_t>(poly) * N + coeff; }
};

struct CoeffMajor {
  int batch;
  __host__ __device__ std::size_t operator()(int poly, int coeff) const { return static_cast<std::size_t>(coeff) * batch + poly; }
};

template <class Layout>
struct PolyView {
  Fq* data;
  Layout layout;
  __device__ Fq& operator()(int poly, int coeff) const { return data[layout(poly, coeff)]; }
};

// ---- sampling --------------------------------------------------------------------------
__host__ __device__ inline std::uint32_t prf(std::uint32_t key, std::uint32_t counter) {
  std::uint32_t x = key ^ (counter * 0x9e3779b9u);
  for (int r = 0; r < 3; ++r) {
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    x += 0x85ebca6bu * (r + 1);
  }
  return x;
}

__host__ __device__ inline Fq uniform_coefficient(std::uint32_t seed, std::uint32_t index) {
  // 12-bit candidates with rejection
  for (std::uint32_t attempt = 0;; ++attempt) {
    const std::uint32_t w = prf(seed + attempt * 0x1000193u, index);
    const std::uint32_t lo = w & 0xfffu;
    if (lo < Q) return Fq{static_cast<std::uint16_t>(lo)};
    const std::uint32_t hi = (w >> 12) & 0xfffu;
    if (hi < Q) return Fq{static_cast<std::uint16_t>(hi)};
  }
}

__global__ void expand_matrix(PolyView<PolyMajor> a, std::uint32_t seed, int polys) {
  const int total = polys * N;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x)
    a.data[i] = uniform_coefficient(seed, i);
}

// Centred binomial, eta = 2: a 32-bit word yields eight coefficients.
__host__ __device__ inline Fq cbd_nibble(std::uint32_t word, int j) {
  const std::uint32_t d = (word & 0x55555555u) + ((word >> 1) & 0x55555555u);
  const std::uint32_t a = (d >> (4 * j)) & 3u;
  const std::uint32_t b = (d >> (4 * j + 2)) & 3u;
  return Fq::from(a + Q - b);
}

__global__ void sample_noise(PolyView<PolyMajor> s, std::uint32_t seed, int polys) {
  const int word = blockIdx.x * blockDim.x + threadIdx.x;
  if (word >= polys * (N / 8)) return;
  const std::uint32_t bits = prf(seed, word);
  for (int j = 0; j < 8; ++j)
    s.data[word * 8 + j] = cbd_nibble(bits, j);
}

// ---- transforms ------------------------------------------------------------------------
// One block of 128 threads per polynomial, butterflies in shared memory.
__global__ void ntt_block(PolyView<PolyMajor> polys) {
  __shared__ Fq r[N];
  const int t = threadIdx.x;
  r[t] = polys(blockIdx.x, t);
  r[t + 128] = polys(blockIdx.x, t + 128);
  int first = 1;
  for (int len = 128; len >= 2; len >>= 1) {
    __syncthreads();
    const int group = t / len;
    const int j = group * 2 * len + t % len;
    const Fq u = zetas.z[first + group] * r[j + len];
    r[j + len] = r[j] - u;
    r[j] = r[j] + u;
    first *= 2;
  }
  __syncthreads();
  polys(blockIdx.x, t) = r[t];
  polys(blockIdx.x, t + 128) = r[t + 128];
}

// One thread per polynomial, in place in global memory, coefficients of all polynomials interleaved.
__global__ void inverse_ntt_interleaved(PolyView<CoeffMajor> polys) {
  const int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= polys.layout.batch) return;
  int k = 127;
  for (int len = 2; len <= 128; len <<= 1) {
    for (int start = 0; start < N; start += 2 * len) {
      const Fq zeta = zetas.z[k--];
      for (int j = start; j < start + len; ++j) {
        const Fq a = polys(p, j);
        const Fq b = polys(p, j + len);
        polys(p, j) = a + b;
        polys(p, j + len) = zeta * (b - a);
      }
    }
  }
  for (int j = 0; j < N; ++j)
    polys(p, j) = polys(p, j) * Fq{3303};
}

// ---- matrix times vector ---------------------------------------------------------------
// block: one output polynomial; thread: one quadratic factor (pair of coefficients)
__global__ void matvec_pairs(PolyView<PolyMajor> a, PolyView<PolyMajor> s, PolyView<PolyMajor> t) {
  const int instance = blockIdx.x;
  const int row = blockIdx.y;
  const int pair = threadIdx.x;
  const Fq z = zetas.z[64 + pair / 2];
  const Fq zeta = pair % 2 == 0 ? z : Fq{0} - z;
  Fq r0{0};
  Fq r1{0};
#pragma unroll
  for (int col = 0; col < K; ++col) {
    const int pa = (instance * K + row) * K + col;
    const int ps = instance * K + col;
    const Fq a0 = a(pa, 2 * pair);
    const Fq a1 = a(pa, 2 * pair + 1);
    const Fq b0 = s(ps, 2 * pair);
    const Fq b1 = s(ps, 2 * pair + 1);
    r0 = r0 + a1 * b1 * zeta + a0 * b0;
    r1 = r1 + a0 * b1 + a1 * b0;
  }
  t(instance * K + row, 2 * pair) = r0;
  t(instance * K + row, 2 * pair + 1) = r1;
}

// ---- change of layout ------------------------------------------------------------------
template <class From, class To>
__global__ void relayout(PolyView<From> from, PolyView<To> to, int batch) {
  const int coeff = blockIdx.x * blockDim.x + threadIdx.x;
  const int poly = blockIdx.y * blockDim.y + threadIdx.y;
  if (coeff < N && poly < batch)
    to(poly, coeff) = from(poly, coeff);
}

// ---- error and packing -----------------------------------------------------------------
// Two coefficients of 12 bits make three bytes.
__global__ void add_error_and_pack(PolyView<CoeffMajor> t, PolyView<PolyMajor> e, std::uint8_t* out) {
  const int poly = blockIdx.x;
  const int i = threadIdx.x;
  const Fq c0 = t(poly, 2 * i) + e(poly, 2 * i);
  const Fq c1 = t(poly, 2 * i + 1) + e(poly, 2 * i + 1);
  std::uint8_t* dst = out + static_cast<std::size_t>(poly) * 384 + 3 * i;
  dst[0] = static_cast<std::uint8_t>(c0.v);
  dst[1] = static_cast<std::uint8_t>((c0.v >> 8) | (c1.v << 4));
  dst[2] = static_cast<std::uint8_t>(c1.v >> 4);
}

// Byte-wise checksum of every public key: one warp per key.
__global__ void fingerprint(const std::uint8_t* __restrict__ keys, int bytes, int count, std::uint32_t* __restrict__ out) {
  const int key = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  const int lane = threadIdx.x & 31;
  if (key >= count) return;
  std::uint32_t sum = 0;
  for (int b = lane; b < bytes; b += 32)
    sum += keys[static_cast<std::size_t>(key) * bytes + b] * (b + 1u);
  sum = __reduce_add_sync(0xffffffffu, sum);
  if (lane == 0)
    out[key] = sum;
}

struct Options {
  int instances = 192;
  std::uint32_t seed = 0xC0FFEEu;
  Options& with_instances(int n) {
    instances = n;
    return *this;
  }
  Options& with_seed(std::uint32_t s) {
    seed = s;
    return *this;
  }
};

std::vector<std::uint8_t> reference(const Options& o) {
  std::vector<std::uint8_t> out(static_cast<std::size_t>(o.instances) * K * 384);
  for (int inst = 0; inst < o.instances; ++inst) {
    for (int row = 0; row < K; ++row) {
      std::array<std::int64_t, 2 * N> acc{};
      for (int col = 0; col < K; ++col) {
        const int pa = (inst * K + row) * K + col;
        const int ps = inst * K + col;
        std::array<int, N> a;
        std::array<int, N> s;
        for (int i = 0; i < N; ++i) {
          a[i] = uniform_coefficient(o.seed, pa * N + i).v;
          s[i] = cbd_nibble(prf(o.seed + 1, ps * (N / 8) + i / 8), i % 8).v;
        }
        for (int i = 0; i < N; ++i) {
          for (int j = 0; j < N; ++j)
            acc[i + j] += a[i] * s[j];
        }
      }
      std::array<std::uint32_t, N> t;
      const int pt = inst * K + row;
      for (int i = 0; i < N; ++i) {
        const std::int64_t e = cbd_nibble(prf(o.seed + 2, pt * (N / 8) + i / 8), i % 8).v;
        const std::int64_t c = (acc[i] - acc[i + N] + e) % Q;
        t[i] = static_cast<std::uint32_t>(c < 0 ? c + Q : c);
      }
      for (int i = 0; i < N / 2; ++i) {
        std::uint8_t* d = out.data() + pt * 384 + 3 * i;
        d[0] = static_cast<std::uint8_t>(t[2 * i]);
        d[1] = static_cast<std::uint8_t>((t[2 * i] >> 8) | (t[2 * i + 1] << 4));
        d[2] = static_cast<std::uint8_t>(t[2 * i + 1] >> 4);
      }
    }
  }
  return out;
}

}  // namespace mlkem

int main() {
  using namespace mlkem;
  const Options opt = Options{}.with_instances(200).with_seed(0x5eedu);
  const int vec = opt.instances * K;
  const int mat = vec * K;
  device_array<Fq> a(static_cast<std::size_t>(mat) * N);
  device_array<Fq> s(static_cast<std::size_t>(vec) * N);
  device_array<Fq> e(static_cast<std::size_t>(vec) * N);
  device_array<Fq> t(static_cast<std::size_t>(vec) * N);
  device_array<Fq> t_interleaved(static_cast<std::size_t>(vec) * N);
  device_array<std::uint8_t> packed(static_cast<std::size_t>(vec) * 384);
  device_array<std::uint32_t> prints(opt.instances);
  const PolyView<PolyMajor> va{a.get(), {mat}};
  const PolyView<PolyMajor> vs{s.get(), {vec}};
  const PolyView<PolyMajor> ve{e.get(), {vec}};
  const PolyView<PolyMajor> vt{t.get(), {vec}};
  const PolyView<CoeffMajor> vti{t_interleaved.get(), {vec}};

  expand_matrix<<<132, 256>>>(va, opt.seed, mat);
  sample_noise<<<(vec * (N / 8) + 127) / 128, 128>>>(vs, opt.seed + 1, vec);
  sample_noise<<<(vec * (N / 8) + 127) / 128, 128>>>(ve, opt.seed + 2, vec);
  ntt_block<<<mat, 128>>>(va);
  ntt_block<<<vec, 128>>>(vs);
  matvec_pairs<<<dim3(opt.instances, K), 128>>>(va, vs, vt);
  relayout<<<dim3(N / 32, (vec + 7) / 8), dim3(32, 8)>>>(vt, vti, vec);
  inverse_ntt_interleaved<<<(vec + 63) / 64, 64>>>(vti);
  add_error_and_pack<<<vec, 128>>>(vti, ve, packed.get());
  fingerprint<<<(opt.instances * 32 + 127) / 128, 128>>>(packed.get(), K * 384, opt.instances, prints.get());
  MLKEM_CHECK(cudaGetLastError());
  MLKEM_CHECK(cudaDeviceSynchronize());

  const std::vector<std::uint8_t> want = reference(opt);
  const std::vector<std::uint8_t> got = packed.host();
  const std::vector<std::uint32_t> sums = prints.host();
  std::size_t bad = 0;
  for (std::size_t i = 0; i < want.size(); ++i)
    bad += want[i] != got[i];
  for (int k = 0; k < opt.instances; ++k) {
    std::uint32_t sum = 0;
    for (int b = 0; b < K * 384; ++b)
      sum += want[k * K * 384 + b] * (b + 1u);
    bad += sum != sums[k];
  }
  std::printf("%d key pairs, %zu differences: %s\n", opt.instances, bad, bad == 0 ? "PASS" : "FAIL");
  return bad == 0 ? 0 : 1;
}
