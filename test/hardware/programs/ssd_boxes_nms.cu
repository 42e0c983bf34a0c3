// SSD post-processing: class softmax, anchor decode, per-segment top-k by bitonic sort,
// gather, IoU bit matrix and greedy suppression.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#define NUM_ANCHORS  8192
#define NUM_CLASSES  21        // 0 is background
#define SEGMENT      2048      // keys sorted by one block
#define TOP_PER_SEG  512
#define NUM_CAND     1024      // boxes that enter NMS
#define MASK_BITS    64
#define IOU_THR      0.45f

#define CHECK_CUDA(e)                                                       \
  if ((e) != cudaSuccess) {                                                 \
    fprintf(stderr, "CUDA failure line %d\n", __LINE__);                    \
    exit(1);                                                                \
  }

typedef unsigned long long u64;

struct Detection {      // what comes out at the end
  float4 box;           // x1 y1 x2 y2
  float score;
  int label;
};

// conf: [anchor][class]. One thread per anchor.
__global__ void class_scores_kernel(const float* conf, float* score, int* label, u64* keys, int n) {
  const int a = blockDim.x * blockIdx.x + threadIdx.x;
  if (a >= n) return;
  const float* row = conf + a * NUM_CLASSES;
  float mx = row[0];
  for (int c = 1; c < NUM_CLASSES; ++c) mx = fmaxf(mx, row[c]);
  float denom = 0.f, best = -1.f;
  int arg = 0;
  for (int c = 0; c < NUM_CLASSES; ++c) {
    const float e = expf(row[c] - mx);
    denom += e;
    if (c > 0 && e > best) {
      best = e;
      arg = c;
    }
  }
  const float s = best / denom;
  score[a] = s;
  label[a] = arg;
  // score in the upper half, inverted index below: descending order prefers small indices on ties
  keys[a] = ((u64)__float_as_uint(s) << 32) | (u64)(0xffffffffu - (unsigned)a);
}

// loc and anchors in centre-size form; output corners
__global__ void decode_boxes_kernel(const float4* __restrict__ loc, const float4* __restrict__ anchors,
                                    float4* __restrict__ boxes, int n, float var_xy, float var_wh) {
  const int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i >= n) return;
  const float4 l = loc[i];
  const float4 p = anchors[i];
  const float cx = p.x + l.x * var_xy * p.z;
  const float cy = p.y + l.y * var_xy * p.w;
  const float hw = 0.5f * p.z * expf(l.z * var_wh);
  const float hh = 0.5f * p.w * expf(l.w * var_wh);
  boxes[i] = make_float4(cx - hw, cy - hh, cx + hw, cy + hh);
}

// Sort `SEGMENT` 64-bit keys of one segment in descending order and emit the first `keep`.
template <int N>
__global__ void bitonic_topk_kernel(const u64* __restrict__ in, u64* __restrict__ out, int keep) {
  __shared__ u64 s[N];
  for (int i = threadIdx.x; i < N; i += blockDim.x) s[i] = in[blockIdx.x * N + i];
  __syncthreads();
  for (int k = 2; k <= N; k <<= 1) {
    for (int j = k >> 1; j > 0; j >>= 1) {
      for (int t = threadIdx.x; t < N / 2; t += blockDim.x) {
        const int lo = 2 * t - (t & (j - 1));
        const int hi = lo + j;
        const bool desc = (lo & k) == 0;
        const u64 a = s[lo], b = s[hi];
        if ((a < b) == desc) {
          s[lo] = b;
          s[hi] = a;
        }
      }
      __syncthreads();
    }
  }
  for (int i = threadIdx.x; i < keep; i += blockDim.x) out[blockIdx.x * keep + i] = s[i];
}

__global__ void gather_kernel(const u64* keys, const float4* boxes, const int* label, Detection* det, int n) {
  const int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < n) {
    const u64 k = keys[i];
    const unsigned idx = 0xffffffffu - (unsigned)(k & 0xffffffffu);
    det[i].box = boxes[idx];
    det[i].score = __uint_as_float((unsigned)(k >> 32));
    det[i].label = label[idx];
  }
}

__host__ __device__ inline float box_iou(const float4& a, const float4& b) {
  const float w = fmaxf(fminf(a.z, b.z) - fmaxf(a.x, b.x), 0.f);
  const float h = fmaxf(fminf(a.w, b.w) - fmaxf(a.y, b.y), 0.f);
  const float inter = w * h;
  const float sa = (a.z - a.x) * (a.w - a.y);
  const float sb = (b.z - b.x) * (b.w - b.y);
  return inter / (sa + sb - inter);
}

// upper triangle only: bit j of mask[i][jb] is set when candidate jb*64+j is suppressed by i
__global__ void iou_mask_kernel(const Detection* __restrict__ det, u64* __restrict__ mask, int n, float thr) {
  const int row0 = blockIdx.y * MASK_BITS;
  const int col0 = blockIdx.x * MASK_BITS;
  const int cols = gridDim.x;
  const int i = row0 + threadIdx.x;

  __shared__ Detection tile[MASK_BITS];
  if (col0 + threadIdx.x < n) tile[threadIdx.x] = det[col0 + threadIdx.x];
  __syncthreads();
  if (i >= n) return;

  u64 bits = 0;
  if (col0 >= row0) {
    const float4 mine = det[i].box;
    const int my_label = det[i].label;
    const int lim = min(MASK_BITS, n - col0);
    const int start = (row0 == col0) ? threadIdx.x + 1 : 0;
    for (int j = start; j < lim; ++j)
      if (tile[j].label == my_label && box_iou(mine, tile[j].box) > thr) bits |= 1ULL << j;
  }
  mask[i * cols + blockIdx.x] = bits;
}

// sequential greedy pass, one warp; `removed` words live in shared memory
__global__ void nms_reduce_kernel(const u64* __restrict__ mask, int* __restrict__ keep, int* __restrict__ n_keep,
                                  int n, int words) {
  extern __shared__ u64 removed[];
  for (int w = threadIdx.x; w < words; w += 32) removed[w] = 0;
  __syncwarp();
  int cnt = 0;
  for (int i = 0; i < n; ++i) {
    const bool dead = (removed[i >> 6] >> (i & 63)) & 1ULL;
    __syncwarp();
    if (!dead) {
      if (threadIdx.x == 0) keep[cnt] = i;
      ++cnt;
      for (int w = threadIdx.x; w < words; w += 32) removed[w] |= mask[i * words + w];
    }
    __syncwarp();
  }
  if (threadIdx.x == 0) *n_keep = cnt;
}

// ------------------------------------------------------------------------------------------------
int main() {
  const int n = NUM_ANCHORS;
  const float var_xy = 0.1f, var_wh = 0.2f;
  std::mt19937 rng(5);
  std::uniform_real_distribution<float> U(0.f, 1.f);
  std::normal_distribution<float> G(0.f, 1.f);

  std::vector<float> conf((size_t)n * NUM_CLASSES);
  std::vector<float4> loc(n), anchors(n);
  for (int i = 0; i < n; ++i) {
    for (int c = 0; c < NUM_CLASSES; ++c) conf[(size_t)i * NUM_CLASSES + c] = 1.5f * G(rng) + (c == 0 ? 2.f : 0.f);
    loc[i] = make_float4(G(rng), G(rng), G(rng), G(rng));
    const float sz = 0.15f + 0.25f * U(rng);
    anchors[i] = make_float4((i % 128 + 0.5f) / 128.f, (i / 128 + 0.5f) / 64.f, sz, sz * (0.6f + 0.8f * U(rng)));
  }

  float *d_conf, *d_score;
  float4 *d_loc, *d_anchor, *d_box;
  int *d_label, *d_keep, *d_nkeep;
  u64 *d_keys, *d_seg, *d_cand, *d_mask;
  Detection* d_det;
  const int words = NUM_CAND / MASK_BITS;
  const int segments = n / SEGMENT;
  CHECK_CUDA(cudaMalloc(&d_conf, conf.size() * sizeof(float)));
  CHECK_CUDA(cudaMalloc(&d_score, n * sizeof(float)));
  CHECK_CUDA(cudaMalloc(&d_loc, n * sizeof(float4)));
  CHECK_CUDA(cudaMalloc(&d_anchor, n * sizeof(float4)));
  CHECK_CUDA(cudaMalloc(&d_box, n * sizeof(float4)));
  CHECK_CUDA(cudaMalloc(&d_label, n * sizeof(int)));
  CHECK_CUDA(cudaMalloc(&d_keep, NUM_CAND * sizeof(int)));
  CHECK_CUDA(cudaMalloc(&d_nkeep, sizeof(int)));
  CHECK_CUDA(cudaMalloc(&d_keys, n * sizeof(u64)));
  CHECK_CUDA(cudaMalloc(&d_seg, segments * TOP_PER_SEG * sizeof(u64)));
  CHECK_CUDA(cudaMalloc(&d_cand, NUM_CAND * sizeof(u64)));
  CHECK_CUDA(cudaMalloc(&d_mask, (size_t)NUM_CAND * words * sizeof(u64)));
  CHECK_CUDA(cudaMalloc(&d_det, NUM_CAND * sizeof(Detection)));
  CHECK_CUDA(cudaMemcpy(d_conf, conf.data(), conf.size() * sizeof(float), cudaMemcpyHostToDevice));
  CHECK_CUDA(cudaMemcpy(d_loc, loc.data(), n * sizeof(float4), cudaMemcpyHostToDevice));
  CHECK_CUDA(cudaMemcpy(d_anchor, anchors.data(), n * sizeof(float4), cudaMemcpyHostToDevice));

  class_scores_kernel<<<(n + 127) / 128, 128>>>(d_conf, d_score, d_label, d_keys, n);
  decode_boxes_kernel<<<(n + 255) / 256, 256>>>(d_loc, d_anchor, d_box, n, var_xy, var_wh);
  bitonic_topk_kernel<SEGMENT><<<segments, 512>>>(d_keys, d_seg, TOP_PER_SEG);
  // 4 segments * 512 survivors = 2048 keys: one more block merges them
  static_assert(NUM_ANCHORS / SEGMENT * TOP_PER_SEG == SEGMENT, "second pass is a single block");
  bitonic_topk_kernel<SEGMENT><<<1, 512>>>(d_seg, d_cand, NUM_CAND);
  gather_kernel<<<NUM_CAND / 128, 128>>>(d_cand, d_box, d_label, d_det, NUM_CAND);
  iou_mask_kernel<<<dim3(words, words), MASK_BITS>>>(d_det, d_mask, NUM_CAND, IOU_THR);
  nms_reduce_kernel<<<1, 32, words * sizeof(u64)>>>(d_mask, d_keep, d_nkeep, NUM_CAND, words);
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaDeviceSynchronize());

  std::vector<float> score(n);
  std::vector<int> label(n), keep(NUM_CAND);
  std::vector<float4> box(n);
  std::vector<u64> keys(n), cand(NUM_CAND), mask((size_t)NUM_CAND * words);
  std::vector<Detection> det(NUM_CAND);
  int n_keep = 0;
  CHECK_CUDA(cudaMemcpy(score.data(), d_score, n * sizeof(float), cudaMemcpyDeviceToHost));
  CHECK_CUDA(cudaMemcpy(label.data(), d_label, n * sizeof(int), cudaMemcpyDeviceToHost));
  CHECK_CUDA(cudaMemcpy(box.data(), d_box, n * sizeof(float4), cudaMemcpyDeviceToHost));
  CHECK_CUDA(cudaMemcpy(keys.data(), d_keys, n * sizeof(u64), cudaMemcpyDeviceToHost));
  CHECK_CUDA(cudaMemcpy(cand.data(), d_cand, NUM_CAND * sizeof(u64), cudaMemcpyDeviceToHost));
  CHECK_CUDA(cudaMemcpy(mask.data(), d_mask, mask.size() * sizeof(u64), cudaMemcpyDeviceToHost));
  CHECK_CUDA(cudaMemcpy(det.data(), d_det, NUM_CAND * sizeof(Detection), cudaMemcpyDeviceToHost));
  CHECK_CUDA(cudaMemcpy(keep.data(), d_keep, NUM_CAND * sizeof(int), cudaMemcpyDeviceToHost));
  CHECK_CUDA(cudaMemcpy(&n_keep, d_nkeep, sizeof(int), cudaMemcpyDeviceToHost));

  int bad = 0;
  // scores, boxes
  for (int i = 0; i < n; ++i) {
    const float* row = &conf[(size_t)i * NUM_CLASSES];
    double den = 0, best = -1;
    for (int c = 0; c < NUM_CLASSES; ++c) {
      den += std::exp((double)row[c]);
      if (c > 0) best = std::max(best, (double)row[c]);
    }
    if (!(std::fabs(std::exp(best) / den - score[i]) < 1e-5)) ++bad;
    if (label[i] < 1 || label[i] >= NUM_CLASSES || row[label[i]] < best - 1e-5) ++bad;
    const float4 l = loc[i], p = anchors[i];
    const double cx = p.x + l.x * var_xy * p.z, cy = p.y + l.y * var_xy * p.w;
    const double w = p.z * std::exp((double)l.z * var_wh), h = p.w * std::exp((double)l.w * var_wh);
    if (!(std::fabs(cx - w / 2 - box[i].x) < 1e-4 && std::fabs(cy - h / 2 - box[i].y) < 1e-4 &&
          std::fabs(cx + w / 2 - box[i].z) < 1e-4 && std::fabs(cy + h / 2 - box[i].w) < 1e-4)) ++bad;
  }
  // selection (exact, the keys are unique)
  std::vector<u64> pool;
  for (int s = 0; s < segments; ++s) {
    std::vector<u64> seg(keys.begin() + s * SEGMENT, keys.begin() + (s + 1) * SEGMENT);
    std::sort(seg.rbegin(), seg.rend());
    pool.insert(pool.end(), seg.begin(), seg.begin() + TOP_PER_SEG);
  }
  std::sort(pool.rbegin(), pool.rend());
  pool.resize(NUM_CAND);
  if (pool != cand) ++bad;
  // mask; pairs that sit on the threshold are not judged
  for (int i = 0; i < NUM_CAND; ++i) {
    const unsigned idx = 0xffffffffu - (unsigned)(cand[i] & 0xffffffffu);
    if (idx >= (unsigned)n || det[i].score != score[idx] || det[i].label != label[idx] || det[i].box.x != box[idx].x) { ++bad; continue; }
    for (int j = 0; j < NUM_CAND; ++j) {
      const bool got = (mask[(size_t)i * words + j / 64] >> (j % 64)) & 1ULL;
      const float iou = box_iou(det[i].box, det[j].box);
      const bool want = j > i && det[i].label == det[j].label && iou > IOU_THR;
      if (got != want && std::fabs(iou - IOU_THR) > 1e-4f) ++bad;
    }
  }
  // greedy pass over the device mask
  std::vector<int> ref_keep;
  std::vector<u64> rem(words, 0);
  for (int i = 0; i < NUM_CAND; ++i) {
    if ((rem[i / 64] >> (i % 64)) & 1ULL) continue;
    ref_keep.push_back(i);
    for (int w = 0; w < words; ++w) rem[w] |= mask[(size_t)i * words + w];
  }
  keep.resize(n_keep >= 0 && n_keep <= NUM_CAND ? n_keep : 0);
  if (keep != ref_keep) ++bad;
  printf("candidates %d, kept %d, problems %d\n%s\n", NUM_CAND, n_keep, bad, bad ? "FAIL" : "PASS");

  cudaFree(d_conf); cudaFree(d_score); cudaFree(d_loc); cudaFree(d_anchor); cudaFree(d_box);
  cudaFree(d_label); cudaFree(d_keep); cudaFree(d_nkeep); cudaFree(d_keys); cudaFree(d_seg);
  cudaFree(d_cand); cudaFree(d_mask); cudaFree(d_det);
  return bad ? 1 : 0;
}
