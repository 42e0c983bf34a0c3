// Dynamic programming with local arrays, edit distance per pair, knapsack rows, Viterbi, longest common subsequence by bits.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define MAXLEN 24

__global__ void edit_distance(const char* a, const char* b, const int* la, const int* lb, int* out, int pairs) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= pairs) return;
  int row[MAXLEN + 1];
  const char* s = a + p * MAXLEN;
  const char* t = b + p * MAXLEN;
  int m = la[p], n = lb[p];
  for (int j = 0; j <= n; ++j) row[j] = j;
  for (int i = 1; i <= m; ++i) {
    int diag = row[0];
    row[0] = i;
    for (int j = 1; j <= n; ++j) {
      int up = row[j];
      int cost = diag + (s[i - 1] != t[j - 1]);
      row[j] = min(min(row[j] + 1, row[j - 1] + 1), cost);
      diag = up;
    }
  }
  out[p] = row[n];
}

__global__ void knapsack_row(const int* __restrict__ prev, int* __restrict__ cur, int cap, int weight, int value) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c > cap) return;
  int best = prev[c];
  if (c >= weight) {
    int with = prev[c - weight] + value;
    if (with > best) best = with;
  }
  cur[c] = best;
}

template <int S>
__global__ void viterbi(const float* __restrict__ trans, const float* __restrict__ emit, const int* __restrict__ obs,
                        unsigned char* __restrict__ back, float* __restrict__ last, int T, int symbols) {
  __shared__ float prob[2][S];
  __shared__ float tr[S][S + 1];
  const int s = threadIdx.x, seq = blockIdx.x;
  for (int i = threadIdx.x; i < S * S; i += S) tr[i / S][i % S] = trans[i];
  prob[0][s] = emit[s * symbols + obs[seq * T]];
  __syncthreads();
  int cur = 0;
  for (int t = 1; t < T; ++t) {
    float best = -1e30f;
    int arg = 0;
#pragma unroll 4
    for (int q = 0; q < S; ++q) {
      float v = prob[cur][q] + tr[q][s];
      if (v > best) { best = v; arg = q; }
    }
    prob[cur ^ 1][s] = best + emit[s * symbols + obs[seq * T + t]];
    back[(seq * T + t) * S + s] = arg;
    cur ^= 1;
    __syncthreads();
  }
  last[seq * S + s] = prob[cur][s];
}

__global__ void lcs_bits(const uint64_t* __restrict__ masks, const uint8_t* __restrict__ text, int len, int* out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  uint64_t v = ~0ull;
  for (int k = 0; k < len; ++k) {
    uint64_t m = masks[i * 4 + (text[i * len + k] & 3)];
    uint64_t u = v & m;
    v = (v + u) | (v - u);
  }
  out[i] = __popcll(~v);
}

int main(int argc, char** argv) {
  int pairs = argc > 1 ? atoi(argv[1]) : 500;
  std::vector<char> ha(pairs * MAXLEN), hb(pairs * MAXLEN);
  std::vector<int> la(pairs), lb(pairs), ho(pairs);
  for (int p = 0; p < pairs; ++p) {
    la[p] = 10 + p % 14;
    lb[p] = 12 + (p * 3) % 12;
    for (int i = 0; i < MAXLEN; ++i) { ha[p * MAXLEN + i] = 'a' + (p + i) % 5; hb[p * MAXLEN + i] = 'a' + (p * 2 + i) % 5; }
  }
  char *a, *b;
  int *dla, *dlb, *out;
  cudaMalloc(&a, ha.size()); cudaMalloc(&b, hb.size());
  cudaMalloc(&dla, pairs * 4); cudaMalloc(&dlb, pairs * 4); cudaMalloc(&out, pairs * 4);
  cudaMemcpy(a, ha.data(), ha.size(), cudaMemcpyHostToDevice);
  cudaMemcpy(b, hb.data(), hb.size(), cudaMemcpyHostToDevice);
  cudaMemcpy(dla, la.data(), pairs * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(dlb, lb.data(), pairs * 4, cudaMemcpyHostToDevice);
  edit_distance<<<(pairs + 63) / 64, 64>>>(a, b, dla, dlb, out, pairs);
  const int cap = 1500, items = 6;
  int w[items] = {12, 33, 7, 64, 128, 50}, v[items] = {5, 20, 3, 40, 70, 22};
  int *k0, *k1;
  cudaMalloc(&k0, (cap + 1) * 4); cudaMalloc(&k1, (cap + 1) * 4);
  cudaMemset(k0, 0, (cap + 1) * 4);
  for (int i = 0; i < items; ++i) {
    knapsack_row<<<(cap + 1 + 127) / 128, 128>>>(k0, k1, cap, w[i], v[i]);
    int* t = k0; k0 = k1; k1 = t;
  }
  const int S = 64, T = 20, seqs = 12, sym = 8;
  float *tr, *em, *last;
  int* obs;
  unsigned char* back;
  cudaMalloc(&tr, S * S * 4); cudaMalloc(&em, S * sym * 4); cudaMalloc(&last, seqs * S * 4);
  cudaMalloc(&obs, seqs * T * 4); cudaMalloc(&back, seqs * T * S);
  std::vector<int> hob(seqs * T);
  for (int i = 0; i < seqs * T; ++i) hob[i] = (i * 5) % sym;
  cudaMemcpy(obs, hob.data(), hob.size() * 4, cudaMemcpyHostToDevice);
  viterbi<S><<<seqs, S>>>(tr, em, obs, back, last, T, sym);
  uint64_t* masks;
  cudaMalloc(&masks, 200 * 4 * 8);
  cudaMemset(masks, 0x5a, 200 * 4 * 8);
  lcs_bits<<<(200 + 63) / 64, 64>>>(masks, (const uint8_t*)a, 16, out, 200);
  cudaMemcpy(ho.data(), out, pairs * 4, cudaMemcpyDeviceToHost);
  printf("%d\n", ho[0]);
  return 0;
}
