// Monte Carlo localization of a wheeled robot in an occupancy grid.
// Likelihood-field sensor model; distance field computed on the GPU too.
#include <cuda_runtime.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <algorithm>
#include <vector>

namespace cg = cooperative_groups;

#define MAP 256
#define NUM_PARTICLES 32768
#define NUM_BEAMS 64
#define SCAN_BLOCK 512
#define NUM_SCAN_BLOCKS (NUM_PARTICLES / SCAN_BLOCK)

struct Pose { float x, y, theta; };

struct Odometry {
  float forward;
  float turn;
  float sigma_forward;
  float sigma_turn;
};

struct SensorParams {
  float inv_two_sigma2;
  float max_distance;
};

#define CUDA_OK(expr)                                                     \
  {                                                                       \
    cudaError_t status = (expr);                                          \
    if (status != cudaSuccess) {                                          \
      fprintf(stderr, "%s failed: %s\n", #expr, cudaGetErrorString(status)); \
      exit(EXIT_FAILURE);                                                 \
    }                                                                     \
  }

// distance to the closest obstacle in the same column
__global__ void columnDistance(const unsigned char* occ, int* g) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= MAP) return;
  int d = 1000;
  for (int y = 0; y < MAP; ++y) {
    d = occ[y * MAP + x] ? 0 : d + 1;
    g[y * MAP + x] = d;
  }
  d = 1000;
  for (int y = MAP - 1; y >= 0; --y) {
    d = occ[y * MAP + x] ? 0 : d + 1;
    if (d < g[y * MAP + x]) g[y * MAP + x] = d;
  }
}

__global__ void rowDistance(const int* g, float* field) {
  __shared__ int row[MAP];
  int y = blockIdx.x;
  int x = threadIdx.x;
  row[x] = g[y * MAP + x];
  __syncthreads();
  int best = 1 << 30;
  for (int i = 0; i < MAP; ++i) {
    int v = (x - i) * (x - i) + row[i] * row[i];
    best = min(best, v);
  }
  field[y * MAP + x] = sqrtf((float)best);
}

__host__ __device__ inline unsigned hash32(unsigned a) {
  a = (a ^ 61u) ^ (a >> 16);
  a *= 9u;
  a ^= a >> 4;
  a *= 0x27d4eb2du;
  a ^= a >> 15;
  return a;
}

__host__ __device__ inline void gaussianPair(unsigned key, float* a, float* b) {
  float u1 = ((hash32(key * 2u + 1u) >> 8) + 1.0f) / 16777217.0f;
  float u2 = (hash32(key * 2u + 2u) >> 8) / 16777216.0f;
  float r = sqrtf(-2.0f * logf(u1));
  *a = r * cosf(6.2831853f * u2);
  *b = r * sinf(6.2831853f * u2);
}

__host__ __device__ inline Pose moved(Pose p, Odometry o, unsigned id) {
  float n0, n1;
  gaussianPair(id, &n0, &n1);
  p.theta += o.turn + o.sigma_turn * n0;
  float f = o.forward + o.sigma_forward * n1;
  p.x += f * cosf(p.theta);
  p.y += f * sinf(p.theta);
  return p;
}

__global__ void motionUpdate(Pose* poses, Odometry odo) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= NUM_PARTICLES) return;
  poses[i] = moved(poses[i], odo, i);
}

__host__ __device__ inline float sampleField(const float* field, float x, float y) {
  x = fminf(fmaxf(x, 0.0f), MAP - 1.001f);
  y = fminf(fmaxf(y, 0.0f), MAP - 1.001f);
  int ix = (int)x;
  int iy = (int)y;
  float fx = x - ix;
  float fy = y - iy;
  float a = field[iy * MAP + ix];
  float b = field[iy * MAP + ix + 1];
  float c = field[(iy + 1) * MAP + ix];
  float d = field[(iy + 1) * MAP + ix + 1];
  return (a * (1 - fx) + b * fx) * (1 - fy) + (c * (1 - fx) + d * fx) * fy;
}

// one warp per particle, the lanes share the beams
__global__ void sensorUpdate(const Pose* poses, const float* field, const float* ranges,
                             SensorParams sp, float* logw) {
  __shared__ float sRange[NUM_BEAMS];
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  for (int b = block.thread_rank(); b < NUM_BEAMS; b += block.size())
    sRange[b] = ranges[b];
  block.sync();
  int p = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
  Pose pose = poses[p];
  float acc = 0.0f;
  for (int b = warp.thread_rank(); b < NUM_BEAMS; b += 32) {
    float ang = pose.theta + b * (6.2831853f / NUM_BEAMS);
    float ex = pose.x + sRange[b] * cosf(ang);
    float ey = pose.y + sRange[b] * sinf(ang);
    float d = fminf(sampleField(field, ex, ey), sp.max_distance);
    acc -= d * d * sp.inv_two_sigma2;
  }
  acc = cg::reduce(warp, acc, cg::plus<float>());
  if (warp.thread_rank() == 0) logw[p] = acc;
}

// all log weights are <= 0, so the bit pattern order is reversed
__global__ void maxLogWeight(const float* logw, unsigned* best) {
  __shared__ unsigned s;
  if (threadIdx.x == 0) s = 0xffffffffu;
  __syncthreads();
  unsigned m = 0xffffffffu;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < NUM_PARTICLES; i += gridDim.x * blockDim.x)
    m = min(m, __float_as_uint(-logw[i]));
  m = __reduce_min_sync(0xffffffffu, m);
  if (threadIdx.x % 32 == 0) atomicMin(&s, m);
  __syncthreads();
  if (threadIdx.x == 0) atomicMin(best, s);
}

__global__ void weightScan(const float* logw, const unsigned* best, float* cum, float* blockSums) {
  __shared__ float buf[2][SCAN_BLOCK];
  int t = threadIdx.x;
  int i = blockIdx.x * SCAN_BLOCK + t;
  float top = -__uint_as_float(*best);
  int in = 0;
  buf[in][t] = expf(logw[i] - top);
  __syncthreads();
  for (int off = 1; off < SCAN_BLOCK; off *= 2) {
    float v = buf[in][t];
    if (t >= off) v += buf[in][t - off];
    buf[1 - in][t] = v;
    in = 1 - in;
    __syncthreads();
  }
  cum[i] = buf[in][t];
  if (t == SCAN_BLOCK - 1) blockSums[blockIdx.x] = buf[in][t];
}

__global__ void addOffsets(float* cum, const float* blockSums) {
  __shared__ float offset;
  if (threadIdx.x == 0) {
    float s = 0.0f;
    for (int b = 0; b < blockIdx.x; ++b) s += blockSums[b];
    offset = s;
  }
  __syncthreads();
  cum[blockIdx.x * SCAN_BLOCK + threadIdx.x] += offset;
}

// low variance resampling
__global__ void resample(const Pose* in, const float* cum, Pose* out, int* ancestor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= NUM_PARTICLES) return;
  float u = (i + 0.5f) / NUM_PARTICLES * cum[NUM_PARTICLES - 1];
  int lo = 0;
  int hi = NUM_PARTICLES - 1;
  while (lo < hi) {
    int mid = (lo + hi) / 2;
    if (cum[mid] < u)
      lo = mid + 1;
    else
      hi = mid;
  }
  out[i].x = in[lo].x;
  out[i].y = in[lo].y;
  out[i].theta = in[lo].theta;
  ancestor[i] = lo;
}

__global__ void meanPose(const Pose* poses, double* sums) {
  double v[4] = {0, 0, 0, 0};
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < NUM_PARTICLES; i += gridDim.x * blockDim.x) {
    v[0] += poses[i].x;
    v[1] += poses[i].y;
    v[2] += cosf(poses[i].theta);
    v[3] += sinf(poses[i].theta);
  }
  for (int c = 0; c < 4; ++c) {
    for (int off = 16; off; off >>= 1) v[c] += __shfl_down_sync(0xffffffffu, v[c], off);
    if ((threadIdx.x & 31) == 0) atomicAdd(&sums[c], v[c]);
  }
}

static float simulateRange(const std::vector<unsigned char>& occ, float x, float y, float ang) {
  float r = 0;
  while (r < 300) {
    int ix = (int)(x + r * cosf(ang) + 0.5f);
    int iy = (int)(y + r * sinf(ang) + 0.5f);
    if (ix < 0 || iy < 0 || ix >= MAP || iy >= MAP || occ[iy * MAP + ix]) return r;
    r += 0.25f;
  }
  return r;
}

int main() {
  std::vector<unsigned char> occ(MAP * MAP, 0);
  for (int i = 0; i < MAP; ++i) {
    occ[i] = occ[(MAP - 1) * MAP + i] = 1;
    occ[i * MAP] = occ[i * MAP + MAP - 1] = 1;
  }
  unsigned seed = 17;
  for (int b = 0; b < 25; ++b) {
    seed = seed * 1664525u + 1013904223u;
    int x0 = (seed >> 10) % 230;
    int y0 = (seed >> 20) % 230;
    if (abs(x0 - 110) < 25 && abs(y0 - 90) < 25) continue;
    for (int y = y0; y < y0 + 12; ++y)
      for (int x = x0; x < x0 + 16; ++x) occ[y * MAP + x] = 1;
  }
  const float tx = 120.0f, ty = 100.0f, tth = 0.4f;
  std::vector<float> ranges(NUM_BEAMS);
  for (int b = 0; b < NUM_BEAMS; ++b)
    ranges[b] = simulateRange(occ, tx, ty, tth + b * (6.2831853f / NUM_BEAMS));
  std::vector<Pose> poses(NUM_PARTICLES);
  for (int i = 0; i < NUM_PARTICLES; ++i) {
    float a, b, c, d;
    gaussianPair(900000u + 2 * i, &a, &b);
    gaussianPair(900001u + 2 * i, &c, &d);
    poses[i].x = tx - 2.0f + 4.0f * a;
    poses[i].y = ty + 3.0f * b;
    poses[i].theta = tth + 0.15f * c;
  }
  Odometry odo = {2.0f, 0.05f, 0.3f, 0.02f};
  SensorParams sp = {1.0f / (2.0f * 12.0f * 12.0f), 20.0f};

  unsigned char* dOcc;
  int *dG, *dAnc;
  float *dField, *dRanges, *dLogw, *dCum, *dSums;
  Pose *dPoses, *dNew;
  unsigned* dBest;
  double* dMean;
  CUDA_OK(cudaMalloc(&dOcc, MAP * MAP));
  CUDA_OK(cudaMalloc(&dG, MAP * MAP * sizeof(int)));
  CUDA_OK(cudaMalloc(&dAnc, NUM_PARTICLES * sizeof(int)));
  CUDA_OK(cudaMalloc(&dField, MAP * MAP * sizeof(float)));
  CUDA_OK(cudaMalloc(&dRanges, NUM_BEAMS * sizeof(float)));
  CUDA_OK(cudaMalloc(&dLogw, NUM_PARTICLES * sizeof(float)));
  CUDA_OK(cudaMalloc(&dCum, NUM_PARTICLES * sizeof(float)));
  CUDA_OK(cudaMalloc(&dSums, NUM_SCAN_BLOCKS * sizeof(float)));
  CUDA_OK(cudaMalloc(&dPoses, NUM_PARTICLES * sizeof(Pose)));
  CUDA_OK(cudaMalloc(&dNew, NUM_PARTICLES * sizeof(Pose)));
  CUDA_OK(cudaMalloc(&dBest, sizeof(unsigned)));
  CUDA_OK(cudaMalloc(&dMean, 4 * sizeof(double)));
  CUDA_OK(cudaMemcpy(dOcc, occ.data(), MAP * MAP, cudaMemcpyHostToDevice));
  CUDA_OK(cudaMemcpy(dRanges, ranges.data(), NUM_BEAMS * sizeof(float), cudaMemcpyHostToDevice));
  CUDA_OK(cudaMemcpy(dPoses, poses.data(), NUM_PARTICLES * sizeof(Pose), cudaMemcpyHostToDevice));
  CUDA_OK(cudaMemset(dBest, 0xff, sizeof(unsigned)));
  CUDA_OK(cudaMemset(dMean, 0, 4 * sizeof(double)));

  columnDistance<<<MAP / 64, 64>>>(dOcc, dG);
  rowDistance<<<MAP, MAP>>>(dG, dField);
  motionUpdate<<<NUM_PARTICLES / 256, 256>>>(dPoses, odo);
  sensorUpdate<<<NUM_PARTICLES / 8, 256>>>(dPoses, dField, dRanges, sp, dLogw);
  maxLogWeight<<<32, 256>>>(dLogw, dBest);
  weightScan<<<NUM_SCAN_BLOCKS, SCAN_BLOCK>>>(dLogw, dBest, dCum, dSums);
  addOffsets<<<NUM_SCAN_BLOCKS, SCAN_BLOCK>>>(dCum, dSums);
  resample<<<NUM_PARTICLES / 128, 128>>>(dPoses, dCum, dNew, dAnc);
  meanPose<<<16, 256>>>(dNew, dMean);
  CUDA_OK(cudaGetLastError());
  CUDA_OK(cudaDeviceSynchronize());

  std::vector<float> field(MAP * MAP), logw(NUM_PARTICLES), cum(NUM_PARTICLES);
  std::vector<Pose> after(NUM_PARTICLES), res(NUM_PARTICLES);
  std::vector<int> anc(NUM_PARTICLES);
  double mean[4];
  CUDA_OK(cudaMemcpy(field.data(), dField, MAP * MAP * sizeof(float), cudaMemcpyDeviceToHost));
  CUDA_OK(cudaMemcpy(logw.data(), dLogw, NUM_PARTICLES * sizeof(float), cudaMemcpyDeviceToHost));
  CUDA_OK(cudaMemcpy(cum.data(), dCum, NUM_PARTICLES * sizeof(float), cudaMemcpyDeviceToHost));
  CUDA_OK(cudaMemcpy(after.data(), dPoses, NUM_PARTICLES * sizeof(Pose), cudaMemcpyDeviceToHost));
  CUDA_OK(cudaMemcpy(res.data(), dNew, NUM_PARTICLES * sizeof(Pose), cudaMemcpyDeviceToHost));
  CUDA_OK(cudaMemcpy(anc.data(), dAnc, NUM_PARTICLES * sizeof(int), cudaMemcpyDeviceToHost));
  CUDA_OK(cudaMemcpy(mean, dMean, sizeof(mean), cudaMemcpyDeviceToHost));

  int badField = 0, badMotion = 0, badLog = 0, badCum = 0, badRes = 0;
  for (int p = 7; p < MAP * MAP; p += 131) {
    int best = 1 << 30;
    for (int q = 0; q < MAP * MAP; ++q) {
      if (!occ[q]) continue;
      int dx = q % MAP - p % MAP, dy = q / MAP - p / MAP;
      best = std::min(best, dx * dx + dy * dy);
    }
    if (fabsf(sqrtf((float)best) - field[p]) > 1e-3f) ++badField;
  }
  float top = -1e30f;
  for (int i = 0; i < NUM_PARTICLES; ++i) {
    Pose m = moved(poses[i], odo, i);
    if (fabsf(m.x - after[i].x) + fabsf(m.y - after[i].y) + fabsf(m.theta - after[i].theta) > 1e-3f) ++badMotion;
    float l = 0;
    for (int b = 0; b < NUM_BEAMS; ++b) {
      float ang = after[i].theta + b * (6.2831853f / NUM_BEAMS);
      float d = sampleField(field.data(), after[i].x + ranges[b] * cosf(ang), after[i].y + ranges[b] * sinf(ang));
      d = fminf(d, sp.max_distance);
      l -= d * d * sp.inv_two_sigma2;
    }
    if (fabsf(l - logw[i]) > 2e-3f * (1.0f + fabsf(l))) ++badLog;
    top = std::max(top, logw[i]);
  }
  double run = 0;
  for (int i = 0; i < NUM_PARTICLES; ++i) {
    run += exp((double)logw[i] - top);
    if (fabs(run - cum[i]) > 1e-3 * run + 1e-2) ++badCum;
  }
  double total = cum[NUM_PARTICLES - 1], mx = 0, my = 0;
  for (int i = 0; i < NUM_PARTICLES; ++i) {
    double u = (i + 0.5) / NUM_PARTICLES * total;
    int a = anc[i];
    double eps = 1e-5 * total;
    if (a < 0 || a >= NUM_PARTICLES || cum[a] < u - eps || (a > 0 && cum[a - 1] > u + eps)) {
      ++badRes;
      continue;
    }
    if (res[i].x != after[a].x || res[i].theta != after[a].theta) ++badRes;
    mx += res[i].x;
    my += res[i].y;
  }
  bool meanOk = fabs(mx - mean[0]) < 1e-3 * fabs(mx) && fabs(my - mean[1]) < 1e-3 * fabs(my);
  bool pass = !badField && !badMotion && !badLog && !badCum && !badRes && meanOk;
  printf("estimate (%.2f, %.2f, %.3f) field %d motion %d log %d cum %d res %d\n", mean[0] / NUM_PARTICLES,
         mean[1] / NUM_PARTICLES, atan2(mean[3], mean[2]), badField, badMotion, badLog, badCum, badRes);
  puts(pass ? "PASS" : "FAIL");
  return pass ? EXIT_SUCCESS : EXIT_FAILURE;
}
