// CTC loss on the GPU: log_softmax over the alphabet, alpha and beta recursions, gradient.
// Layout follows the usual [T, N, C] log_probs with padded [N, max_target] integer targets.
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#define C10_LIKE_CUDA_CHECK(EXPR)                                         \
  do {                                                                    \
    cudaError_t __e = EXPR;                                               \
    if (__e != cudaSuccess) {                                             \
      std::fprintf(stderr, "CUDA error: %s\n", cudaGetErrorString(__e));  \
      std::abort();                                                       \
    }                                                                     \
  } while (0)

template <typename T, size_t N, typename index_t = int64_t>
struct PackedTensorAccessor {
  T* data_;
  index_t sizes_[N];
  index_t strides_[N];
  __host__ PackedTensorAccessor(T* d, const index_t (&s)[N]) : data_(d) {
    index_t st = 1;
    for (int i = int(N) - 1; i >= 0; --i) {
      sizes_[i] = s[i];
      strides_[i] = st;
      st *= s[i];
    }
  }
  __host__ __device__ index_t size(int i) const { return sizes_[i]; }
  __host__ __device__ index_t stride(int i) const { return strides_[i]; }
  __device__ T& operator()(index_t i, index_t j) const { return data_[i * strides_[0] + j * strides_[1]]; }
  __device__ T& operator()(index_t i, index_t j, index_t k) const {
    return data_[i * strides_[0] + j * strides_[1] + k * strides_[2]];
  }
};

// this ad-hoc converts from targets (l in [1]) to augmented targets (l' in [1])
// so if l is l_0 l_1 ... l_(tl-1) then this looks up idx in l' = BLANK l_0 BLANK l_1 ... BLANK
template <typename target_t>
__device__ static inline target_t get_target_prime(const target_t* __restrict__ target, int64_t offset, int64_t stride,
                                                   int64_t idx, int64_t BLANK) {
  if (idx % 2 == 0) {
    return BLANK;
  } else {
    return target[offset + stride * (idx / 2)];
  }
}

template <typename scalar_t>
__global__ void log_softmax_kernel(const scalar_t* __restrict__ logits, scalar_t* __restrict__ out, int rows, int C) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  const scalar_t* in = logits + (int64_t)row * C;
  scalar_t mx = scalar_t(-INFINITY);
  for (int c = threadIdx.x; c < C; c += 32) mx = max(mx, in[c]);
  for (int o = 16; o; o >>= 1) mx = max(mx, __shfl_xor_sync(~0u, mx, o));
  scalar_t s = 0;
  for (int c = threadIdx.x; c < C; c += 32) s += exp(in[c] - mx);
  for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
  const scalar_t lse = mx + log(s);
  for (int c = threadIdx.x; c < C; c += 32) out[(int64_t)row * C + c] = in[c] - lse;
}

template <typename scalar_t>
__device__ inline scalar_t logadd3(scalar_t a, scalar_t b, scalar_t c) {
  constexpr scalar_t neginf = scalar_t(-INFINITY);
  scalar_t m = max(a, max(b, c));
  if (m == neginf) m = 0;
  return log(exp(a - m) + exp(b - m) + exp(c - m)) + m;
}

// threads in x iterate over the augmented target, threads in y over the batch
template <typename scalar_t, typename target_t>
__global__ void ctc_loss_log_alpha_kernel(PackedTensorAccessor<scalar_t, 3> log_alpha,
                                          PackedTensorAccessor<scalar_t, 3> log_probs,
                                          const int64_t* __restrict__ input_lengths,
                                          const target_t* __restrict__ targets, int64_t max_target_length,
                                          const int64_t* __restrict__ target_lengths, scalar_t* __restrict__ nll,
                                          int64_t batch_size, int64_t BLANK) {
  constexpr scalar_t neginf = scalar_t(-INFINITY);
  const int64_t b = threadIdx.y + blockIdx.y * blockDim.y;
  const bool valid = b < batch_size;
  const int64_t max_input_length = log_probs.size(0);
  const int64_t input_length = valid ? input_lengths[b] : 0;
  const int64_t target_length = valid ? target_lengths[b] : 0;
  const int64_t tg_offset = b * max_target_length;

  for (int64_t block_s = 0; block_s < 2 * max_target_length + 1; block_s += blockDim.x) {
    const int64_t s = threadIdx.x + block_s;
    if (valid && s < 2 * max_target_length + 1) {
      scalar_t la = neginf;
      if (s == 0)
        la = log_probs(0, b, BLANK);
      else if (s == 1 && target_length > 0)
        la = log_probs(0, b, get_target_prime(targets, tg_offset, 1, 1, BLANK));
      log_alpha(b, 0, s) = la;
    }
  }

  for (int64_t block_s = 0; block_s < 2 * max_target_length + 1; block_s += blockDim.x) {
    const int64_t s = threadIdx.x + block_s;
    int64_t current_char = BLANK;
    bool have_three = false;
    const bool in_target = valid && s < 2 * target_length + 1 && target_length > 0;
    if (in_target) {
      current_char = get_target_prime(targets, tg_offset, 1, s, BLANK);
      have_three = s > 1 && get_target_prime(targets, tg_offset, 1, s - 2, BLANK) != current_char;
    }
    for (int64_t t = 1; t < max_input_length; t++) {
      __syncthreads();  // on cuda 9 we might use partial synchronization of only the threads within the same batch
      if (in_target && t < input_length) {
        scalar_t la1 = log_alpha(b, t - 1, s);
        scalar_t la2 = s > 0 ? log_alpha(b, t - 1, s - 1) : neginf;
        scalar_t la3 = have_three ? log_alpha(b, t - 1, s - 2) : neginf;
        log_alpha(b, t, s) = logadd3(la1, la2, la3) + log_probs(t, b, current_char);
      } else if (valid && s < 2 * max_target_length + 1) {
        log_alpha(b, t, s) = neginf;
      }
    }
  }
  __syncthreads();  // on cuda 9 we might use partial synchronization

  // compute the loss (eq (8))
  if (valid && threadIdx.x == 0) {
    scalar_t l1 = log_alpha(b, input_length - 1, target_length * 2);
    scalar_t l2 = target_length > 0 ? log_alpha(b, input_length - 1, target_length * 2 - 1) : neginf;
    scalar_t m = max(l1, l2);
    m = (m == neginf) ? 0 : m;
    nll[b] = -(log(exp(l1 - m) + exp(l2 - m)) + m);
  }
}

template <typename scalar_t, typename target_t>
__global__ void ctc_loss_log_beta_kernel(PackedTensorAccessor<scalar_t, 3> log_beta,
                                         PackedTensorAccessor<scalar_t, 3> log_probs,
                                         const int64_t* __restrict__ input_lengths,
                                         const target_t* __restrict__ targets, int64_t max_target_length,
                                         const int64_t* __restrict__ target_lengths, int64_t batch_size,
                                         int64_t BLANK) {
  constexpr scalar_t neginf = scalar_t(-INFINITY);
  const int64_t b = threadIdx.y + blockIdx.y * blockDim.y;
  const bool valid = b < batch_size;
  const int64_t max_input_length = log_probs.size(0);
  const int64_t input_length = valid ? input_lengths[b] : 0;
  const int64_t target_length = valid ? target_lengths[b] : 0;
  const int64_t tg_offset = b * max_target_length;
  const int64_t s = threadIdx.x;  // launcher guarantees blockDim.x >= 2 * max_target_length + 1
  const bool in_row = valid && s < 2 * max_target_length + 1;
  const bool in_target = valid && s < 2 * target_length + 1;
  int64_t current_char = BLANK;
  bool have_three = false;
  if (in_target) {
    current_char = get_target_prime(targets, tg_offset, 1, s, BLANK);
    have_three = s < 2 * target_length - 1 && get_target_prime(targets, tg_offset, 1, s + 2, BLANK) != current_char;
  }
  for (int64_t t = max_input_length - 1; t >= 0; t--) {
    __syncthreads();
    if (!in_row) continue;
    scalar_t lb = neginf;
    if (in_target && t == input_length - 1) {
      if (s == 2 * target_length || s == 2 * target_length - 1) lb = log_probs(t, b, current_char);
    } else if (in_target && t < input_length - 1) {
      scalar_t lb1 = log_beta(b, t + 1, s);
      scalar_t lb2 = s < 2 * target_length ? log_beta(b, t + 1, s + 1) : neginf;
      scalar_t lb3 = have_three ? log_beta(b, t + 1, s + 2) : neginf;
      lb = logadd3(lb1, lb2, lb3) + log_probs(t, b, current_char);
    }
    log_beta(b, t, s) = lb;
  }
}

// grad wrt the logits: softmax - sum_{s: l'_s = c} exp(alpha + beta + nll - log_prob)
template <typename scalar_t, typename target_t>
__global__ void ctc_loss_grad_collect_kernel(PackedTensorAccessor<scalar_t, 3> grad,
                                             PackedTensorAccessor<scalar_t, 3> log_alpha,
                                             PackedTensorAccessor<scalar_t, 3> log_beta,
                                             PackedTensorAccessor<scalar_t, 3> log_probs,
                                             const int64_t* __restrict__ input_lengths,
                                             const target_t* __restrict__ targets, int64_t max_target_length,
                                             const int64_t* __restrict__ target_lengths,
                                             const scalar_t* __restrict__ nll, int64_t batch_size, int64_t BLANK) {
  constexpr scalar_t neginf = scalar_t(-INFINITY);
  const int64_t b = threadIdx.y + blockIdx.y * blockDim.y;
  const int64_t t = threadIdx.x + blockIdx.x * blockDim.x;
  if (t >= log_probs.size(0) || b >= batch_size) return;
  const int64_t num_labels = log_probs.size(2);
  if (t >= input_lengths[b]) {
    for (int64_t c = 0; c < num_labels; c++) grad(t, b, c) = 0;
    return;
  }
  for (int64_t c = 0; c < num_labels; c++) grad(t, b, c) = neginf;
  // collected[b, t, target'[s]] "log+=" log_alpha[t, s] + log_beta[t, s]
  for (int64_t s = 0; s < 2 * target_lengths[b] + 1; s++) {
    const target_t ch = get_target_prime(targets, b * max_target_length, 1, s, BLANK);
    const scalar_t ab = log_alpha(b, t, s) + log_beta(b, t, s);
    scalar_t& lcab = grad(t, b, ch);
    if (lcab == neginf) {
      lcab = ab;
    } else {
      const scalar_t m = max(lcab, ab);
      if (m != neginf) lcab = log(exp(lcab - m) + exp(ab - m)) + m;
    }
  }
  const scalar_t nll_b = nll[b];
  for (int64_t c = 0; c < num_labels; c++) {
    const scalar_t lp = log_probs(t, b, c);
    grad(t, b, c) = exp(lp) - exp(grad(t, b, c) + nll_b - lp);
  }
}

template <typename scalar_t>
int run(int T, int N, int C, int L, double tol) {
  std::mt19937 gen(1234);
  std::normal_distribution<double> nd(0.0, 1.5);
  std::vector<scalar_t> logits((size_t)T * N * C);
  for (auto& v : logits) v = (scalar_t)nd(gen);
  std::vector<int64_t> in_len(N), tg_len(N);
  std::vector<int> targets((size_t)N * L, 1);
  for (int b = 0; b < N; b++) {
    in_len[b] = T - gen() % (T / 4);
    tg_len[b] = L / 2 + gen() % (L / 2 + 1);
    for (int i = 0; i < tg_len[b]; i++) targets[(size_t)b * L + i] = 1 + gen() % (C - 1);
  }
  const int S = 2 * L + 1;
  scalar_t *d_logits, *d_lp, *d_alpha, *d_beta, *d_grad, *d_nll;
  int64_t *d_in, *d_tg;
  int* d_targets;
  C10_LIKE_CUDA_CHECK(cudaMalloc(&d_logits, logits.size() * sizeof(scalar_t)));
  C10_LIKE_CUDA_CHECK(cudaMalloc(&d_lp, logits.size() * sizeof(scalar_t)));
  C10_LIKE_CUDA_CHECK(cudaMalloc(&d_grad, logits.size() * sizeof(scalar_t)));
  C10_LIKE_CUDA_CHECK(cudaMalloc(&d_alpha, sizeof(scalar_t) * N * T * S));
  C10_LIKE_CUDA_CHECK(cudaMalloc(&d_beta, sizeof(scalar_t) * N * T * S));
  C10_LIKE_CUDA_CHECK(cudaMalloc(&d_nll, sizeof(scalar_t) * N));
  C10_LIKE_CUDA_CHECK(cudaMalloc(&d_in, 8 * N));
  C10_LIKE_CUDA_CHECK(cudaMalloc(&d_tg, 8 * N));
  C10_LIKE_CUDA_CHECK(cudaMalloc(&d_targets, targets.size() * 4));
  C10_LIKE_CUDA_CHECK(cudaMemcpy(d_logits, logits.data(), logits.size() * sizeof(scalar_t), cudaMemcpyHostToDevice));
  C10_LIKE_CUDA_CHECK(cudaMemcpy(d_in, in_len.data(), 8 * N, cudaMemcpyHostToDevice));
  C10_LIKE_CUDA_CHECK(cudaMemcpy(d_tg, tg_len.data(), 8 * N, cudaMemcpyHostToDevice));
  C10_LIKE_CUDA_CHECK(cudaMemcpy(d_targets, targets.data(), targets.size() * 4, cudaMemcpyHostToDevice));

  const int64_t tnc[3] = {T, N, C}, nts[3] = {N, T, S};
  PackedTensorAccessor<scalar_t, 3> lp(d_lp, tnc), grad(d_grad, tnc), alpha(d_alpha, nts), beta(d_beta, nts);

  constexpr int max_threads = std::is_same<scalar_t, float>::value ? 1024 : 768;
  int threads_target = max_threads;
  while (threads_target / 2 >= S) threads_target /= 2;
  int threads_batch = std::min(max_threads / threads_target, N);
  dim3 block(threads_target, threads_batch);
  dim3 grid(1, (N + threads_batch - 1) / threads_batch);
  log_softmax_kernel<scalar_t><<<(T * N + 3) / 4, dim3(32, 4)>>>(d_logits, d_lp, T * N, C);
  ctc_loss_log_alpha_kernel<scalar_t, int><<<grid, block>>>(alpha, lp, d_in, d_targets, L, d_tg, d_nll, N, 0);
  ctc_loss_log_beta_kernel<scalar_t, int><<<grid, block>>>(beta, lp, d_in, d_targets, L, d_tg, N, 0);
  dim3 gblock(32, 4), ggrid((T + 31) / 32, (N + 3) / 4);
  ctc_loss_grad_collect_kernel<scalar_t, int><<<ggrid, gblock>>>(grad, alpha, beta, lp, d_in, d_targets, L, d_tg, d_nll, N, 0);
  C10_LIKE_CUDA_CHECK(cudaGetLastError());
  C10_LIKE_CUDA_CHECK(cudaDeviceSynchronize());

  std::vector<scalar_t> h_nll(N), h_grad(logits.size());
  C10_LIKE_CUDA_CHECK(cudaMemcpy(h_nll.data(), d_nll, sizeof(scalar_t) * N, cudaMemcpyDeviceToHost));
  C10_LIKE_CUDA_CHECK(cudaMemcpy(h_grad.data(), d_grad, h_grad.size() * sizeof(scalar_t), cudaMemcpyDeviceToHost));

  // probability-domain reference with per-step rescaling
  double worst_nll = 0, worst_grad = 0;
  for (int b = 0; b < N; b++) {
    const int Tb = (int)in_len[b], Sb = 2 * (int)tg_len[b] + 1;
    std::vector<double> y((size_t)Tb * C), A((size_t)Tb * Sb, 0.0), B((size_t)Tb * Sb, 0.0);
    std::vector<int> l(Sb, 0);
    for (int i = 0; i < tg_len[b]; i++) l[2 * i + 1] = targets[(size_t)b * L + i];
    double logp = 0;
    for (int t = 0; t < Tb; t++) {
      double s = 0;
      for (int c = 0; c < C; c++) s += y[t * C + c] = std::exp((double)logits[((size_t)t * N + b) * C + c]);
      for (int c = 0; c < C; c++) y[t * C + c] /= s;
      double z = 0;
      for (int k = 0; k < Sb; k++) {
        double a = t == 0 ? (k < 2 ? 1.0 : 0.0) : A[(t - 1) * Sb + k];
        if (t > 0 && k > 0) a += A[(t - 1) * Sb + k - 1];
        if (t > 0 && k > 1 && l[k] != 0 && l[k] != l[k - 2]) a += A[(t - 1) * Sb + k - 2];
        z += A[t * Sb + k] = a * y[t * C + l[k]];
      }
      for (int k = 0; k < Sb; k++) A[t * Sb + k] /= z;
      logp += std::log(z);
    }
    double last = A[Tb * Sb - 1] + A[Tb * Sb - 2];
    worst_nll = std::max(worst_nll, std::fabs(-(logp + std::log(last)) - h_nll[b]) / std::fabs(logp));
    for (int t = Tb - 1; t >= 0; t--) {
      double z = 0;
      for (int k = 0; k < Sb; k++) {
        double a = t == Tb - 1 ? (k >= Sb - 2 ? 1.0 : 0.0) : B[(t + 1) * Sb + k];
        if (t < Tb - 1 && k + 1 < Sb) a += B[(t + 1) * Sb + k + 1];
        if (t < Tb - 1 && k + 2 < Sb && l[k] != 0 && l[k] != l[k + 2]) a += B[(t + 1) * Sb + k + 2];
        z += B[t * Sb + k] = a * y[t * C + l[k]];
      }
      for (int k = 0; k < Sb; k++) B[t * Sb + k] /= z;
      std::vector<double> occ(C, 0.0);
      double tot = 0;
      for (int k = 0; k < Sb; k++) {
        double g = A[t * Sb + k] * B[t * Sb + k] / y[t * C + l[k]];
        occ[l[k]] += g;
        tot += g;
      }
      for (int c = 0; c < C; c++)
        worst_grad = std::max(worst_grad, std::fabs(y[t * C + c] - occ[c] / tot - h_grad[((size_t)t * N + b) * C + c]));
    }
    for (int t = Tb; t < T; t++)
      for (int c = 0; c < C; c++) worst_grad = std::max(worst_grad, std::fabs((double)h_grad[((size_t)t * N + b) * C + c]));
  }
  std::printf("T=%d N=%d C=%d L=%d block=(%d,%d): nll rel err %.2e, grad err %.2e\n", T, N, C, L, threads_target, threads_batch, worst_nll, worst_grad);
  for (void* p : {(void*)d_logits, (void*)d_lp, (void*)d_grad, (void*)d_alpha, (void*)d_beta, (void*)d_nll, (void*)d_in, (void*)d_tg, (void*)d_targets}) cudaFree(p);
  return !(worst_nll < tol && worst_grad < tol * 10);
}

int main() {
  int rc = 0;
  rc += run<float>(120, 12, 29, 20, 1e-4);
  rc += run<double>(80, 5, 40, 13, 1e-9);
  std::puts(rc ? "FAIL" : "PASS");
  return rc ? 1 : 0;
}
