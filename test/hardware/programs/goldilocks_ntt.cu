// Batched NTT over the Goldilocks field (p = 2^64 - 2^32 + 1) and a BN254 scalar-field
// Montgomery kernel on 32-bit limbs. Typical building blocks of a STARK/SNARK prover.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#define CHK_IF_RETURN(x)                                                                  \
  do {                                                                                    \
    cudaError_t err__ = (x);                                                              \
    if (err__ != cudaSuccess) {                                                           \
      fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(err__));       \
      std::exit(1);                                                                       \
    }                                                                                     \
  } while (0)

#define HOST_DEVICE_INLINE __host__ __device__ __forceinline__

class gl64_t {
 private:
  uint64_t val;

 public:
  static constexpr uint64_t MOD = 0xffffffff00000001ULL;
  static constexpr uint64_t EPSILON = 0xffffffffULL;

  gl64_t() = default;
  HOST_DEVICE_INLINE constexpr gl64_t(uint64_t v) : val(v) {}
  HOST_DEVICE_INLINE uint64_t raw() const { return val; }

  friend HOST_DEVICE_INLINE gl64_t operator+(gl64_t a, gl64_t b) {
    uint64_t s = a.val + b.val;
    if (s < a.val) s += EPSILON;  // wrapped around 2^64 = EPSILON mod p
    return gl64_t(s >= MOD ? s - MOD : s);
  }
  friend HOST_DEVICE_INLINE gl64_t operator-(gl64_t a, gl64_t b) {
    return gl64_t(a.val >= b.val ? a.val - b.val : a.val + (MOD - b.val));
  }
  friend HOST_DEVICE_INLINE gl64_t operator*(gl64_t a, gl64_t b) {
#ifdef __CUDA_ARCH__
    uint64_t lo = a.val * b.val;
    uint64_t hi = __umul64hi(a.val, b.val);
#else
    unsigned __int128 t = (unsigned __int128)a.val * b.val;
    uint64_t lo = (uint64_t)t, hi = (uint64_t)(t >> 64);
#endif
    return reduce128(lo, hi);
  }
  static HOST_DEVICE_INLINE gl64_t reduce128(uint64_t lo, uint64_t hi) {
    uint64_t hi_hi = hi >> 32;
    uint64_t hi_lo = hi & EPSILON;
    uint64_t t0 = lo - hi_hi;
    if (lo < hi_hi) t0 -= EPSILON;
    uint64_t t1 = (hi_lo << 32) - hi_lo;
    uint64_t t2 = t0 + t1;
    if (t2 < t0) t2 += EPSILON;
    return gl64_t(t2 >= MOD ? t2 - MOD : t2);
  }
  static HOST_DEVICE_INLINE gl64_t pow(gl64_t b, uint64_t e) {
    gl64_t r(1);
    while (e) {
      if (e & 1) r = r * b;
      b = b * b;
      e >>= 1;
    }
    return r;
  }
  HOST_DEVICE_INLINE gl64_t inverse() const { return pow(*this, MOD - 2); }
  static gl64_t root_of_unity(unsigned log_n) { return pow(gl64_t(7), (MOD - 1) >> log_n); }
};

template <typename E>
__global__ void reverse_order_kernel(const E* arr, E* arr_reversed, uint32_t n, uint32_t logn, uint32_t batch_size) {
  uint32_t threadId = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadId < n * batch_size) {
    uint32_t idx = threadId % n;
    uint32_t batch_idx = threadId / n;
    uint32_t idx_reversed = __brev(idx) >> (32 - logn);
    arr_reversed[batch_idx * n + idx_reversed] = arr[batch_idx * n + idx];
  }
}

// First LOG_TILE stages of the DIT transform, entirely inside shared memory.
template <int LOG_TILE>
__global__ void ntt_template_kernel_shared(gl64_t* data, const gl64_t* __restrict__ twiddles, uint32_t logn) {
  constexpr uint32_t TILE = 1u << LOG_TILE;
  __shared__ uint64_t smem[TILE];
  gl64_t* tile = data + (size_t)blockIdx.x * TILE;
  const uint32_t j = threadIdx.x;  // TILE / 2 threads
  smem[j] = tile[j].raw();
  smem[j + TILE / 2] = tile[j + TILE / 2].raw();
  __syncthreads();
  for (uint32_t ss = 0; ss < LOG_TILE; ++ss) {
    const uint32_t half = 1u << ss;
    const uint32_t pos = j & (half - 1);
    const uint32_t i0 = ((j >> ss) << (ss + 1)) + pos;
    const gl64_t w = twiddles[pos << (logn - ss - 1)];
    const gl64_t u = smem[i0];
    const gl64_t v = gl64_t(smem[i0 + half]) * w;
    smem[i0] = (u + v).raw();
    smem[i0 + half] = (u - v).raw();
    __syncthreads();
  }
  tile[j] = gl64_t(smem[j]);
  tile[j + TILE / 2] = gl64_t(smem[j + TILE / 2]);
}

// One remaining stage in global memory. blockIdx.y is the polynomial.
__global__ void ntt_stage_kernel(gl64_t* data, const gl64_t* __restrict__ twiddles, uint32_t logn, uint32_t stage) {
  const uint32_t n = 1u << logn;
  const uint32_t tid = blockIdx.x * blockDim.x + threadIdx.x;
  if (tid >= n / 2) return;
  gl64_t* poly = data + (size_t)blockIdx.y * n;
  const uint32_t half = 1u << stage;
  const uint32_t pos = tid & (half - 1);
  const uint32_t i0 = ((tid >> stage) << (stage + 1)) | pos;
  const gl64_t w = twiddles[pos << (logn - stage - 1)];
  const gl64_t u = poly[i0];
  const gl64_t v = poly[i0 + half] * w;
  poly[i0] = u + v;
  poly[i0 + half] = u - v;
}

__global__ void pointwise_mul_kernel(gl64_t* a, const gl64_t* b, gl64_t scale, size_t n) {
  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = a[i] * b[i] * scale;
}

// ---------------------------------------------------------------------------------------------
// BN254 Fr, 8 x 32-bit limbs, Montgomery form, CIOS multiplication
// ---------------------------------------------------------------------------------------------
constexpr int TLC = 8;
struct alignas(16) storage_t {
  uint32_t limbs[TLC];
};

#define FR_MODULUS {0xf0000001u, 0x43e1f593u, 0x79b97091u, 0x2833e848u, 0x8181585du, 0xb85045b6u, 0xe131a029u, 0x30644e72u}
constexpr uint32_t FR_INV = 0xefffffffu;  // -p^-1 mod 2^32

HOST_DEVICE_INLINE storage_t mont_mul(const storage_t& a, const storage_t& b) {
  const uint32_t MODULUS[TLC] = FR_MODULUS;
  uint32_t t[TLC + 2] = {};
#pragma unroll
  for (int i = 0; i < TLC; i++) {
    uint64_t carry = 0;
#pragma unroll
    for (int j = 0; j < TLC; j++) {
      uint64_t cur = (uint64_t)a.limbs[j] * b.limbs[i] + t[j] + carry;
      t[j] = (uint32_t)cur;
      carry = cur >> 32;
    }
    uint64_t cur = (uint64_t)t[TLC] + carry;
    t[TLC] = (uint32_t)cur;
    t[TLC + 1] = (uint32_t)(cur >> 32);

    const uint32_t m = t[0] * FR_INV;
    cur = (uint64_t)m * MODULUS[0] + t[0];
    carry = cur >> 32;
#pragma unroll
    for (int j = 1; j < TLC; j++) {
      cur = (uint64_t)m * MODULUS[j] + t[j] + carry;
      t[j - 1] = (uint32_t)cur;
      carry = cur >> 32;
    }
    cur = (uint64_t)t[TLC] + carry;
    t[TLC - 1] = (uint32_t)cur;
    t[TLC] = t[TLC + 1] + (uint32_t)(cur >> 32);
  }
  // conditional subtraction
  storage_t r, d;
  uint64_t borrow = 0;
#pragma unroll
  for (int j = 0; j < TLC; j++) {
    uint64_t diff = (uint64_t)t[j] - MODULUS[j] - borrow;
    d.limbs[j] = (uint32_t)diff;
    borrow = (diff >> 63) & 1;
    r.limbs[j] = t[j];
  }
  return (borrow && t[TLC] == 0) ? r : d;
}

// out[i] = a[i]^(2^log_exp) * b[i]
__global__ void __launch_bounds__(128) vec_square_mul_kernel(const storage_t* a, const storage_t* b, storage_t* out,
                                                             unsigned n, int log_exp) {
  unsigned tid = blockDim.x * blockIdx.x + threadIdx.x;
  if (tid >= n) return;
  storage_t x = a[tid];
  for (int i = 0; i < log_exp; i++) x = mont_mul(x, x);
  out[tid] = mont_mul(x, b[tid]);
}

static void ntt_batch(gl64_t* d_data, gl64_t* d_tmp, const gl64_t* d_tw, uint32_t logn, uint32_t batch) {
  constexpr int LOG_TILE = 10;
  const uint32_t n = 1u << logn, total = n * batch;
  reverse_order_kernel<<<(total + 255) / 256, 256>>>(d_data, d_tmp, n, logn, batch);
  ntt_template_kernel_shared<LOG_TILE><<<total >> LOG_TILE, (1 << LOG_TILE) / 2>>>(d_tmp, d_tw, logn);
  for (uint32_t s = LOG_TILE; s < logn; s++)
    ntt_stage_kernel<<<dim3((n / 2 + 255) / 256, batch), 256>>>(d_tmp, d_tw, logn, s);
  CHK_IF_RETURN(cudaGetLastError());
}

static void host_ntt(std::vector<gl64_t>& a, gl64_t root) {
  const size_t n = a.size();
  for (size_t i = 1, j = 0; i < n; i++) {
    size_t bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(a[i], a[j]);
  }
  for (size_t len = 2; len <= n; len <<= 1) {
    gl64_t wl = gl64_t::pow(root, n / len);
    for (size_t i = 0; i < n; i += len) {
      gl64_t w(1);
      for (size_t k = 0; k < len / 2; k++) {
        gl64_t u = a[i + k], v = a[i + k + len / 2] * w;
        a[i + k] = u + v;
        a[i + k + len / 2] = u - v;
        w = w * wl;
      }
    }
  }
}

int main() {
  const uint32_t logn = 14, n = 1u << logn, batch = 6;
  std::mt19937_64 rng(0xC0FFEE);
  std::vector<gl64_t> a(n * batch), b(n * batch), tw(n / 2), tw_inv(n / 2);
  for (auto* v : {&a, &b})
    for (auto& x : *v) x = gl64_t(rng() % gl64_t::MOD);
  // degree < n/2 so that the product does not wrap
  for (uint32_t p = 0; p < batch; p++)
    for (uint32_t i = n / 2; i < n; i++) a[p * n + i] = b[p * n + i] = gl64_t(0);

  const gl64_t root = gl64_t::root_of_unity(logn), root_inv = root.inverse();
  tw[0] = tw_inv[0] = gl64_t(1);
  for (uint32_t i = 1; i < n / 2; i++) {
    tw[i] = tw[i - 1] * root;
    tw_inv[i] = tw_inv[i - 1] * root_inv;
  }

  gl64_t *d_a, *d_b, *d_ta, *d_tb, *d_tw, *d_twi;
  const size_t bytes = sizeof(gl64_t) * n * batch;
  CHK_IF_RETURN(cudaMalloc(&d_a, bytes));
  CHK_IF_RETURN(cudaMalloc(&d_b, bytes));
  CHK_IF_RETURN(cudaMalloc(&d_ta, bytes));
  CHK_IF_RETURN(cudaMalloc(&d_tb, bytes));
  CHK_IF_RETURN(cudaMalloc(&d_tw, sizeof(gl64_t) * n / 2));
  CHK_IF_RETURN(cudaMalloc(&d_twi, sizeof(gl64_t) * n / 2));
  CHK_IF_RETURN(cudaMemcpy(d_a, a.data(), bytes, cudaMemcpyHostToDevice));
  CHK_IF_RETURN(cudaMemcpy(d_b, b.data(), bytes, cudaMemcpyHostToDevice));
  CHK_IF_RETURN(cudaMemcpy(d_tw, tw.data(), sizeof(gl64_t) * n / 2, cudaMemcpyHostToDevice));
  CHK_IF_RETURN(cudaMemcpy(d_twi, tw_inv.data(), sizeof(gl64_t) * n / 2, cudaMemcpyHostToDevice));

  ntt_batch(d_a, d_ta, d_tw, logn, batch);
  ntt_batch(d_b, d_tb, d_tw, logn, batch);
  std::vector<gl64_t> fwd(n * batch), prod(n * batch);
  CHK_IF_RETURN(cudaMemcpy(fwd.data(), d_ta, bytes, cudaMemcpyDeviceToHost));
  pointwise_mul_kernel<<<(n * batch + 191) / 192, 192>>>(d_ta, d_tb, gl64_t(n).inverse(), (size_t)n * batch);
  ntt_batch(d_ta, d_a, d_twi, logn, batch);
  CHK_IF_RETURN(cudaMemcpy(prod.data(), d_a, bytes, cudaMemcpyDeviceToHost));

  size_t errs = 0;
  for (uint32_t p = 0; p < batch; p++) {
    std::vector<gl64_t> ref(a.begin() + p * n, a.begin() + (p + 1) * n);
    host_ntt(ref, root);
    for (uint32_t i = 0; i < n; i++) errs += ref[i].raw() != fwd[p * n + i].raw();
    // spot-check product coefficients by schoolbook convolution
    for (uint32_t k = p; k < n; k += 1021) {
      gl64_t acc(0);
      for (uint32_t i = 0; i < n / 2 && i <= k; i++)
        if (k - i < n / 2) acc = acc + a[p * n + i] * b[p * n + k - i];
      errs += acc.raw() != prod[p * n + k].raw();
    }
  }

  // ---- Montgomery part ----
  const unsigned m = 20000;
  const int log_exp = 12;
  std::vector<storage_t> fa(m), fb(m), fo(m);
  for (auto* v : {&fa, &fb})
    for (auto& s : *v)
      for (int i = 0; i < TLC; i++) s.limbs[i] = i == TLC - 1 ? (uint32_t)rng() & 0x1fffffff : (uint32_t)rng();
  storage_t *d_fa, *d_fb, *d_fo;
  CHK_IF_RETURN(cudaMalloc(&d_fa, m * sizeof(storage_t)));
  CHK_IF_RETURN(cudaMalloc(&d_fb, m * sizeof(storage_t)));
  CHK_IF_RETURN(cudaMalloc(&d_fo, m * sizeof(storage_t)));
  CHK_IF_RETURN(cudaMemcpy(d_fa, fa.data(), m * sizeof(storage_t), cudaMemcpyHostToDevice));
  CHK_IF_RETURN(cudaMemcpy(d_fb, fb.data(), m * sizeof(storage_t), cudaMemcpyHostToDevice));
  vec_square_mul_kernel<<<(m + 127) / 128, 128>>>(d_fa, d_fb, d_fo, m, log_exp);
  CHK_IF_RETURN(cudaGetLastError());
  CHK_IF_RETURN(cudaMemcpy(fo.data(), d_fo, m * sizeof(storage_t), cudaMemcpyDeviceToHost));
  for (unsigned i = 0; i < m; i++) {
    storage_t x = fa[i];
    for (int e = 0; e < log_exp; e++) x = mont_mul(x, x);
    x = mont_mul(x, fb[i]);
    for (int j = 0; j < TLC; j++) errs += x.limbs[j] != fo[i].limbs[j];
  }
  // R*R^-1 sanity: mont_mul(1, R mod p) == 1
  storage_t one = {{1}}, r = {{0x4ffffffbu, 0xac96341cu, 0x9f60cd29u, 0x36fc7695u, 0x7879462eu, 0x666ea36fu, 0x9a07df2fu, 0x0e0a77c1u}};
  storage_t chk = mont_mul(one, r);
  for (int j = 0; j < TLC; j++) errs += chk.limbs[j] != (j == 0 ? 1u : 0u);

  printf("ntt 2^%u x %u, mismatches: %zu\n", logn, batch, errs);
  printf("%s\n", errs ? "FAIL" : "PASS");
  return errs ? 1 : 0;
}
