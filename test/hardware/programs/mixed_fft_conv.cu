/* FFT convolution with a mixed-radix Stockham transform, N = 960 = 4*4*4*3*5.
 * Batched signals (rows), one filter.  Single precision complex.
 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <complex>
#include <vector>

#define N 960
#define LSIG 700
#define LFIL 261
#define BATCH 48

#define CU_SAFE(call)                                                                   \
  do {                                                                                  \
    cudaError_t rv = (call);                                                            \
    if (rv != cudaSuccess) {                                                            \
      fprintf(stderr, "error %d (%s) at line %d\n", rv, cudaGetErrorString(rv), __LINE__); \
      exit(1);                                                                          \
    }                                                                                   \
  } while (0)

__device__ __forceinline__ float2 cmul(float2 a, float2 b) {
  return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
__device__ __forceinline__ float2 cadd(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ __forceinline__ float2 csub(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }

// small DFTs; DIR = -1 forward, +1 inverse
template <int R, int DIR>
struct Butterfly;

template <int DIR>
struct Butterfly<4, DIR> {
  static __device__ void run(float2 *v) {
    float2 a = cadd(v[0], v[2]);
    float2 b = csub(v[0], v[2]);
    float2 c = cadd(v[1], v[3]);
    float2 d = csub(v[1], v[3]);
    float2 jd = make_float2(-DIR * d.y, DIR * d.x);
    v[0] = cadd(a, c);
    v[1] = cadd(b, jd);
    v[2] = csub(a, c);
    v[3] = csub(b, jd);
  }
};

template <int DIR>
struct Butterfly<3, DIR> {
  static __device__ void run(float2 *v) {
    const float s = DIR * 0.86602540378f;
    float2 t = cadd(v[1], v[2]);
    float2 u = csub(v[1], v[2]);
    float2 m = make_float2(v[0].x - 0.5f * t.x, v[0].y - 0.5f * t.y);
    float2 k = make_float2(-s * u.y, s * u.x);
    v[0] = cadd(v[0], t);
    v[1] = cadd(m, k);
    v[2] = csub(m, k);
  }
};

// generic odd radix: plain DFT
template <int DIR>
struct Butterfly<5, DIR> {
  static __device__ void run(float2 *v) {
    float2 o[5];
#pragma unroll
    for (int k = 0; k < 5; k++) {
      o[k] = v[0];
#pragma unroll
      for (int r = 1; r < 5; r++) {
        float s, c;
        sincospif(DIR * 2.0f * ((k * r) % 5) / 5.0f, &s, &c);
        o[k] = cadd(o[k], cmul(v[r], make_float2(c, s)));
      }
    }
#pragma unroll
    for (int k = 0; k < 5; k++) v[k] = o[k];
  }
};

// one Stockham pass through global memory. grid.y = batch
template <int R, int DIR>
__global__ void radix_pass(const float2 *in, float2 *out, int Ns) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= N / R) return;
  const float2 *src = in + blockIdx.y * N;
  float2 *dst = out + blockIdx.y * N;
  float2 v[R];
  int jm = j % Ns;
  float ang = DIR * 2.0f * jm / (float)(Ns * R);
#pragma unroll
  for (int r = 0; r < R; r++) {
    float s, c;
    sincospif(ang * r, &s, &c);
    v[r] = cmul(src[j + r * (N / R)], make_float2(c, s));
  }
  Butterfly<R, DIR>::run(v);
  int base = (j / Ns) * Ns * R + jm;
#pragma unroll
  for (int r = 0; r < R; r++) {
    dst[base + r * Ns] = v[r];
  }
}

// whole transform of one row in shared memory, one block per row (64-bit elements -> bank conflicts in
// the first passes, when the write stride is R)
template <int R, int DIR>
__device__ void shared_pass(float2 *a, float2 *b, int Ns) {
  for (int j = threadIdx.x; j < N / R; j += blockDim.x) {
    float2 v[R];
    int jm = j % Ns;
    float ang = DIR * 2.0f * jm / (float)(Ns * R);
#pragma unroll
    for (int r = 0; r < R; r++) {
      float s, c;
      sincospif(ang * r, &s, &c);
      v[r] = cmul(a[j + r * (N / R)], make_float2(c, s));
    }
    Butterfly<R, DIR>::run(v);
    int base = (j / Ns) * Ns * R + jm;
#pragma unroll
    for (int r = 0; r < R; r++) b[base + r * Ns] = v[r];
  }
  __syncthreads();
}

template <int DIR>
__global__ void fft_shared(float2 *data) {
  __shared__ float2 x[N];
  __shared__ float2 y[N];
  float2 *row = data + blockIdx.x * N;
  for (int i = threadIdx.x; i < N; i += blockDim.x) x[i] = row[i];
  __syncthreads();
  shared_pass<4, DIR>(x, y, 1);
  shared_pass<4, DIR>(y, x, 4);
  shared_pass<4, DIR>(x, y, 16);
  shared_pass<3, DIR>(y, x, 64);
  shared_pass<5, DIR>(x, y, 192);
  for (int i = threadIdx.x; i < N; i += blockDim.x) row[i] = y[i];
}

// real -> padded complex
__global__ void pad_rows(const float *in, float2 *out, int len) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) {
    float v = i < len ? in[blockIdx.y * len + i] : 0.0f;
    out[blockIdx.y * N + i] = make_float2(v, 0.0f);
  }
}

__global__ void spectrum_multiply(float2 *sig, const float2 *fil) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < BATCH * N; i += gridDim.x * blockDim.x) {
    sig[i] = cmul(sig[i], fil[i % N]);
  }
}

__global__ void extract_real(const float2 *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < BATCH * N) {
    out[i] = in[i].x * (1.0f / N);
  }
}

// direct convolution for cross checking, one thread per output
__global__ void direct_conv(const float *sig, const float *fil, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int b = blockIdx.y;
  if (i >= N) return;
  float s = 0.0f;
  int k0 = max(0, i - LSIG + 1);
  int k1 = min(LFIL - 1, i);
  for (int k = k0; k <= k1; k++) {
    s += fil[k] * sig[b * LSIG + i - k];
  }
  out[b * N + i] = s;
}

template <int DIR>
static void fft_global(float2 *&a, float2 *&b, int batch) {
  int ns = 1;
  for (int pass = 0; pass < 5; pass++) {
    if (pass < 3) {
      radix_pass<4, DIR><<<dim3((N / 4 + 79) / 80, batch), 80>>>(a, b, ns);
      ns *= 4;
    } else if (pass == 3) {
      radix_pass<3, DIR><<<dim3(N / 3 / 64, batch), 64>>>(a, b, ns);
      ns *= 3;
    } else {
      radix_pass<5, DIR><<<dim3(N / 5 / 64, batch), 64>>>(a, b, ns);
      ns *= 5;
    }
    float2 *t = a;
    a = b;
    b = t;
  }
}

int main() {
  std::vector<float> sig(BATCH * LSIG), fil(LFIL);
  unsigned s = 17;
  for (auto &v : sig) {
    s = s * 1664525u + 1013904223u;
    v = (s >> 8) / 8388608.0f - 1.0f;
  }
  for (int i = 0; i < LFIL; i++) fil[i] = sinf(0.2f * i) * expf(-0.02f * i);

  float *dsig, *dfil, *dout, *ddir;
  float2 *a, *b, *f;
  CU_SAFE(cudaMalloc(&dsig, sig.size() * sizeof(float)));
  CU_SAFE(cudaMalloc(&dfil, fil.size() * sizeof(float)));
  CU_SAFE(cudaMalloc(&dout, BATCH * N * sizeof(float)));
  CU_SAFE(cudaMalloc(&ddir, BATCH * N * sizeof(float)));
  CU_SAFE(cudaMalloc(&a, BATCH * N * sizeof(float2)));
  CU_SAFE(cudaMalloc(&b, BATCH * N * sizeof(float2)));
  CU_SAFE(cudaMalloc(&f, N * sizeof(float2)));
  CU_SAFE(cudaMemcpy(dsig, sig.data(), sig.size() * sizeof(float), cudaMemcpyHostToDevice));
  CU_SAFE(cudaMemcpy(dfil, fil.data(), fil.size() * sizeof(float), cudaMemcpyHostToDevice));

  dim3 gp((N + 127) / 128, BATCH);
  pad_rows<<<gp, 128>>>(dsig, a, LSIG);
  pad_rows<<<dim3((N + 127) / 128, 1), 128>>>(dfil, f, LFIL);
  fft_shared<-1><<<1, 192>>>(f);
  fft_global<-1>(a, b, BATCH);

  // check one spectrum against a slow DFT in double
  std::vector<float2> spec(N);
  CU_SAFE(cudaMemcpy(spec.data(), a + 5 * N, N * sizeof(float2), cudaMemcpyDeviceToHost));
  double specErr = 0;
  for (int k = 0; k < N; k++) {
    std::complex<double> acc = 0;
    for (int i = 0; i < LSIG; i++) acc += (double)sig[5 * LSIG + i] * std::polar(1.0, -2 * M_PI * ((long)k * i % N) / N);
    double e = std::abs(acc - std::complex<double>(spec[k].x, spec[k].y));
    if (!(e <= specErr)) specErr = e;
  }

  spectrum_multiply<<<90, 256>>>(a, f);
  fft_global<1>(a, b, BATCH / 2);                 // first half of the rows pass by pass
  // after an odd number of swaps the untouched rows are still in the other buffer
  CU_SAFE(cudaMemcpy(a + BATCH / 2 * N, b + BATCH / 2 * N, (BATCH - BATCH / 2) * N * sizeof(float2), cudaMemcpyDeviceToDevice));
  fft_shared<1><<<BATCH - BATCH / 2, 192>>>(a + BATCH / 2 * N);
  extract_real<<<(BATCH * N + 255) / 256, 256>>>(a, dout);
  direct_conv<<<gp, 128>>>(dsig, dfil, ddir);
  CU_SAFE(cudaGetLastError());
  CU_SAFE(cudaDeviceSynchronize());

  std::vector<float> out(BATCH * N), dir(BATCH * N);
  CU_SAFE(cudaMemcpy(out.data(), dout, out.size() * sizeof(float), cudaMemcpyDeviceToHost));
  CU_SAFE(cudaMemcpy(dir.data(), ddir, dir.size() * sizeof(float), cudaMemcpyDeviceToHost));
  double worst = 0;
  for (int r = 0; r < BATCH; r++)
    for (int i = 0; i < N; i++) {
      double ref = 0;
      for (int k = 0; k < LFIL; k++)
        if (i - k >= 0 && i - k < LSIG) ref += (double)fil[k] * sig[r * LSIG + i - k];
      double e = fmax(fabs(out[r * N + i] - ref), fabs(dir[r * N + i] - ref));
      if (!(e <= worst)) worst = e;
    }
  int pass = worst < 2e-3 && specErr < 5e-3;
  printf("spectrum error %g, convolution error %g\n%s\n", specErr, worst, pass ? "PASS" : "FAIL");
  return pass ? 0 : 1;
}
