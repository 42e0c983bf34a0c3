// Model predictive path integral control of a kinematic car, K rollouts x T steps.
// Research code: kernels mirror the paper (noise, rollout, weights, update).
#include <cuda_runtime.h>
#include <cstdio>
#include <cmath>
#include <vector>
#include <algorithm>
#include <cstdlib>

#define HANDLE(err) (handleError(err, __FILE__, __LINE__))
static void handleError(cudaError_t err, const char *file, int line) {
  if (err != cudaSuccess) {
    printf("%s in %s at line %d\n", cudaGetErrorString(err), file, line);
    exit(EXIT_FAILURE);
  }
}

const int K = 4096;       // samples
const int T = 64;         // horizon
const int NU = 2;         // accel, steering
const int NX = 4;         // x y yaw v
const int MAP = 256;      // costmap side
const float DT_ = 0.05f;
const float LAMBDA = 8.0f;

struct MppiParams {
  float sigma[2];
  float wheelbase;
  float v_des;
  float map_res;
  float x0[NX];
};

__constant__ MppiParams d_par;

__host__ __device__ inline unsigned pcg(unsigned v) {
  unsigned s = v * 747796405u + 2891336453u;
  unsigned w = ((s >> ((s >> 28u) + 4u)) ^ s) * 277803737u;
  return (w >> 22u) ^ w;
}

// triangular noise is good enough and is bit-exact on both sides
__host__ __device__ inline float noise(unsigned id) {
  unsigned a = pcg(id * 2u);
  unsigned b = pcg(id * 2u + 1u);
  return ((a >> 8) * (1.0f / 16777216.0f)) + ((b >> 8) * (1.0f / 16777216.0f)) - 1.0f;
}

// du[k][t][u]  (sample-major, as in the paper's pseudo code)
__global__ void sampleNoise(float *du) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < K * T * NU) {
    du[i] = d_par.sigma[i % NU] * noise((unsigned)i);
  }
}

// du_t[t][u][k] for the fast rollout kernel
__global__ void reorderNoise(const float *du, float *du_t) {
  __shared__ float tile[32][32];
  int r0 = blockIdx.y * 32;
  int c0 = blockIdx.x * 32;
  int cols = T * NU;
  for (int j = threadIdx.y; j < 32; j += 8) {
    tile[j][threadIdx.x] = du[(r0 + j) * cols + c0 + threadIdx.x];
  }
  __syncthreads();
  for (int j = threadIdx.y; j < 32; j += 8) {
    du_t[(c0 + j) * K + r0 + threadIdx.x] = tile[threadIdx.x][j];
  }
}

__host__ __device__ inline float stepCost(const float *map, const MppiParams &p, float *x, float a, float st) {
  x[0] += DT_ * x[3] * cosf(x[2]);
  x[1] += DT_ * x[3] * sinf(x[2]);
  x[2] += DT_ * x[3] * st / p.wheelbase;
  x[3] += DT_ * a;
  float fx = x[0] / p.map_res + MAP / 2;
  float fy = x[1] / p.map_res + MAP / 2;
  fx = fminf(fmaxf(fx, 0.0f), MAP - 1.001f);
  fy = fminf(fmaxf(fy, 0.0f), MAP - 1.001f);
  int ix = (int)fx;
  int iy = (int)fy;
  float ax = fx - ix;
  float ay = fy - iy;
  float c00 = map[iy * MAP + ix];
  float c01 = map[iy * MAP + ix + 1];
  float c10 = map[(iy + 1) * MAP + ix];
  float c11 = map[(iy + 1) * MAP + ix + 1];
  float c = (1 - ay) * ((1 - ax) * c00 + ax * c01) + ay * ((1 - ax) * c10 + ax * c11);
  float dv = x[3] - p.v_des;
  return c + 0.1f * dv * dv;
}

// version 1: reads the noise sample-major
__global__ void rolloutSampleMajor(const float *du, const float *u, const float *map, float *cost) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= K) return;
  float x[NX];
  for (int i = 0; i < NX; i++) x[i] = d_par.x0[i];
  float s = 0;
  for (int t = 0; t < T; t++) {
    float a = u[t * NU] + du[(k * T + t) * NU];
    float st = u[t * NU + 1] + du[(k * T + t) * NU + 1];
    s += stepCost(map, d_par, x, a, st);
  }
  cost[k] = s;
}

// version 2: time-major noise and controls staged in shared memory
__global__ void rolloutTimeMajor(const float *__restrict__ du_t, const float *__restrict__ u,
                                 const float *__restrict__ map, float *__restrict__ cost) {
  __shared__ float su[T * NU];
  for (int i = threadIdx.x; i < T * NU; i += blockDim.x) su[i] = u[i];
  __syncthreads();
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  float x[NX] = {d_par.x0[0], d_par.x0[1], d_par.x0[2], d_par.x0[3]};
  float s = 0;
  for (int t = 0; t < T; t++) {
    float a = su[t * NU] + du_t[(t * NU) * K + k];
    float st = su[t * NU + 1] + du_t[(t * NU + 1) * K + k];
    s += stepCost(map, d_par, x, a, st);
  }
  cost[k] = s;
}

// single block: baseline = min cost, weights exp(-(S-min)/lambda), eta = sum
__global__ void computeWeights(const float *cost, float *w, float *eta) {
  __shared__ float red[1024];
  float m = 1e30f;
  for (int k = threadIdx.x; k < K; k += blockDim.x) m = fminf(m, cost[k]);
  red[threadIdx.x] = m;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) red[threadIdx.x] = fminf(red[threadIdx.x], red[threadIdx.x + s]);
    __syncthreads();
  }
  float base = red[0];
  __syncthreads();
  float sum = 0;
  for (int k = threadIdx.x; k < K; k += blockDim.x) {
    float e = expf(-(cost[k] - base) / LAMBDA);
    w[k] = e;
    sum += e;
  }
  red[threadIdx.x] = sum;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) red[threadIdx.x] += red[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) *eta = red[0];
}

// one block per (t,u), weighted sum over the samples. Uses the sample-major array (stride T*NU).
__global__ void updateControl(const float *du, const float *w, const float *eta, float *u) {
  int tu = blockIdx.x;
  float s = 0;
  for (int k = threadIdx.x; k < K; k += blockDim.x) {
    s += w[k] * du[k * T * NU + tu];
  }
  for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(0xffffffff, s, o);
  __shared__ float part[4];
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    u[tu] += (part[0] + part[1] + part[2] + part[3]) / *eta;
  }
}

// Savitzky-Golay-like smoothing, tiny
__global__ void smoothControl(const float *u, float *us) {
  int t = threadIdx.x;
  int c = blockIdx.x;
  float l = u[max(t - 1, 0) * NU + c];
  float m = u[t * NU + c];
  float r = u[min(t + 1, T - 1) * NU + c];
  us[t * NU + c] = 0.25f * l + 0.5f * m + 0.25f * r;
}

int main() {
  MppiParams p = {{2.0f, 0.3f}, 0.6f, 3.0f, 0.1f, {0.0f, -1.0f, 0.1f, 2.0f}};
  std::vector<float> map(MAP * MAP), u0(T * NU);
  for (int y = 0; y < MAP; y++)
    for (int x = 0; x < MAP; x++)
      map[y * MAP + x] = 1.0f + 0.8f * sinf(0.05f * x) * cosf(0.04f * y) + 0.01f * std::abs(y - MAP / 2);
  for (int t = 0; t < T; t++) {
    u0[t * NU] = 0.5f;
    u0[t * NU + 1] = 0.05f * sinf(0.2f * t);
  }
  float *du, *du_t, *u, *us, *dmap, *c1, *c2, *w, *eta;
  HANDLE(cudaMalloc(&du, K * T * NU * 4));
  HANDLE(cudaMalloc(&du_t, K * T * NU * 4));
  HANDLE(cudaMalloc(&u, T * NU * 4));
  HANDLE(cudaMalloc(&us, T * NU * 4));
  HANDLE(cudaMalloc(&dmap, MAP * MAP * 4));
  HANDLE(cudaMalloc(&c1, K * 4));
  HANDLE(cudaMalloc(&c2, K * 4));
  HANDLE(cudaMalloc(&w, K * 4));
  HANDLE(cudaMalloc(&eta, 4));
  HANDLE(cudaMemcpyToSymbol(d_par, &p, sizeof(p)));
  HANDLE(cudaMemcpy(dmap, map.data(), MAP * MAP * 4, cudaMemcpyHostToDevice));
  HANDLE(cudaMemcpy(u, u0.data(), T * NU * 4, cudaMemcpyHostToDevice));

  sampleNoise<<<K * T * NU / 256, 256>>>(du);
  reorderNoise<<<dim3(T * NU / 32, K / 32), dim3(32, 8)>>>(du, du_t);
  rolloutSampleMajor<<<K / 64, 64>>>(du, u, dmap, c1);
  rolloutTimeMajor<<<K / 64, 64>>>(du_t, u, dmap, c2);
  computeWeights<<<1, 1024>>>(c2, w, eta);
  updateControl<<<T * NU, 128>>>(du, w, eta, u);
  smoothControl<<<NU, T>>>(u, us);
  HANDLE(cudaGetLastError());
  HANDLE(cudaDeviceSynchronize());

  std::vector<float> g1(K), g2(K), gus(T * NU);
  HANDLE(cudaMemcpy(g1.data(), c1, K * 4, cudaMemcpyDeviceToHost));
  HANDLE(cudaMemcpy(g2.data(), c2, K * 4, cudaMemcpyDeviceToHost));
  HANDLE(cudaMemcpy(gus.data(), us, T * NU * 4, cudaMemcpyDeviceToHost));

  std::vector<float> cost(K);
  std::vector<double> acc(T * NU, 0.0), un(T * NU);
  int bad = 0;
  for (int k = 0; k < K; k++) {
    float x[NX] = {p.x0[0], p.x0[1], p.x0[2], p.x0[3]};
    float s = 0;
    for (int t = 0; t < T; t++) {
      float a = u0[t * NU] + p.sigma[0] * noise((k * T + t) * NU);
      float st = u0[t * NU + 1] + p.sigma[1] * noise((k * T + t) * NU + 1);
      s += stepCost(map.data(), p, x, a, st);
    }
    cost[k] = s;
    if (!(fabsf(g1[k] - s) < 0.02f + 1e-3f * s)) bad++;
    if (!(fabsf(g2[k] - s) < 0.02f + 1e-3f * s)) bad++;
  }
  float base = *std::min_element(cost.begin(), cost.end());
  double etaRef = 0;
  for (int k = 0; k < K; k++) {
    double wk = exp(-(cost[k] - base) / LAMBDA);
    etaRef += wk;
    for (int i = 0; i < T * NU; i++) acc[i] += wk * p.sigma[i % NU] * noise(k * T * NU + i);
  }
  for (int i = 0; i < T * NU; i++) un[i] = u0[i] + acc[i] / etaRef;
  for (int t = 0; t < T; t++)
    for (int c = 0; c < NU; c++) {
      double want = 0.25 * un[std::max(t - 1, 0) * NU + c] + 0.5 * un[t * NU + c] + 0.25 * un[std::min(t + 1, T - 1) * NU + c];
      if (!(fabs(want - gus[t * NU + c]) < 5e-3)) bad++;
    }
  printf("min cost %f  bad %d\n", base, bad);
  printf(bad ? "FAIL\n" : "PASS\n");
  return bad ? 1 : 0;
}
