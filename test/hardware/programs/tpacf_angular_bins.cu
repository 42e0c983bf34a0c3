/***************************************************************************
 * Two point angular correlation function, in the manner of the Parboil
 * benchmark: DD, DR and RR histograms of the angles between points on the
 * sphere.  Bin edges sit in constant memory and are searched by bisection;
 * three histogram strategies are compared.
 ***************************************************************************/
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <random>
#include <vector>

#define BINS_PER_DEC 5
#define MIN_ARCMIN 1.0
#define MAX_ARCMIN 10000.0
#define NUM_BINS 20
#define NUM_EDGES (NUM_BINS + 1)
#define NUM_HIST (NUM_BINS + 2)      /* one underflow and one overflow bin */
#define BLOCK_SIZE 256
#define WARP_SIZE 32
#define NUM_WARPS (BLOCK_SIZE / WARP_SIZE)
#define HISTS_PER_WARP 16
#define NUM_HISTOGRAMS (NUM_WARPS * HISTS_PER_WARP)

#define CUERR                                                                       \
  {                                                                                 \
    cudaError_t err;                                                                \
    if ((err = cudaGetLastError()) != cudaSuccess) {                                \
      printf("CUDA error: %s, line %d\n", cudaGetErrorString(err), __LINE__);       \
      exit(1);                                                                      \
    }                                                                               \
  }

typedef unsigned long long hist_t;
struct cartesian { float x, y, z; };

__constant__ float dev_binb[NUM_EDGES];

/* structure of arrays inside one allocation: x[n] y[n] z[n] of `stride` floats */
struct device_points {
  float *base;
  int n;
  int stride;
};

__device__ __forceinline__ int find_bin(float dot)
{
  /* edges fall with the angle; bin k has binb[k-1] > dot >= binb[k] */
  int lo = 0, hi = NUM_EDGES;
  while (lo < hi) {
    int mid = (lo + hi) >> 1;
    if (dot >= dev_binb[mid]) hi = mid; else lo = mid + 1;
  }
  return lo;
}

__device__ __forceinline__ float dot3(float ax, float ay, float az, float bx, float by, float bz)
{
  return __fmaf_rn(ax, bx, __fmaf_rn(ay, by, __fmul_rn(az, bz)));
}

/* 1. array of structures, all pairs, atomics on the global histogram */
__global__ void gen_hists_naive(hist_t *hist, const cartesian *a, int na, const cartesian *b, int nb, int self)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= na) return;
  cartesian p = a[i];
  for (int j = self ? i + 1 : 0; j < nb; j++) {
    float d = dot3(p.x, p.y, p.z, b[j].x, b[j].y, b[j].z);
    atomicAdd(&hist[find_bin(d)], 1ULL);
  }
}

/* 2. tiles of b in shared memory, one histogram for each warp */
__global__ void __launch_bounds__(BLOCK_SIZE)
gen_hists_warp(hist_t *hist, device_points a, device_points b, int self)
{
  __shared__ unsigned int warp_hist[NUM_WARPS][NUM_HIST];
  __shared__ cartesian tile[BLOCK_SIZE];
  const int warp = threadIdx.x / WARP_SIZE;
  for (int i = threadIdx.x; i < NUM_WARPS * NUM_HIST; i += BLOCK_SIZE) (&warp_hist[0][0])[i] = 0;

  const int i = blockIdx.x * BLOCK_SIZE + threadIdx.x;
  float x = 0.f, y = 0.f, z = 0.f;
  if (i < a.n) {
    x = a.base[i];
    y = a.base[a.stride + i];
    z = a.base[2 * a.stride + i];
  }
  const int first = self ? blockIdx.x * BLOCK_SIZE : 0;
  for (int t = first + (int)blockIdx.y * BLOCK_SIZE; t < b.n; t += BLOCK_SIZE * gridDim.y) {
    __syncthreads();
    const int j = t + threadIdx.x;
    if (j < b.n) {
      tile[threadIdx.x].x = b.base[j];
      tile[threadIdx.x].y = b.base[b.stride + j];
      tile[threadIdx.x].z = b.base[2 * b.stride + j];
    }
    __syncthreads();
    const int m = min(BLOCK_SIZE, b.n - t);
    if (i < a.n) {
      for (int k = 0; k < m; k++) {
        if (self && t + k <= i) continue;
        atomicAdd(&warp_hist[warp][find_bin(dot3(x, y, z, tile[k].x, tile[k].y, tile[k].z))], 1u);
      }
    }
  }
  __syncthreads();
  for (int h = threadIdx.x; h < NUM_HIST; h += BLOCK_SIZE) {
    hist_t s = 0;
    for (int w = 0; w < NUM_WARPS; w++) s += warp_hist[w][h];
    if (s) atomicAdd(&hist[h], s);
  }
}

/* 3. bin-major private histograms (16 per warp, two lanes share one) in
 *    dynamic shared memory, behind the tile; float4 tile entries */
__global__ void gen_hists_private(hist_t *hist, device_points a, device_points b, int self)
{
  extern __shared__ unsigned char smem[];
  float4 *tile = (float4 *)smem;
  unsigned int *priv = (unsigned int *)(tile + blockDim.x);
  const int column = threadIdx.x % NUM_HISTOGRAMS;
  for (int i = threadIdx.x; i < NUM_HIST * NUM_HISTOGRAMS; i += blockDim.x) priv[i] = 0;

  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const bool mine = i < a.n;
  const float x = mine ? a.base[i] : 0.f;
  const float y = mine ? a.base[i + a.stride] : 0.f;
  const float z = mine ? a.base[i + 2 * a.stride] : 0.f;
  for (int t = 0; t < b.n; t += blockDim.x) {
    if (self && t + (int)blockDim.x <= (int)(blockIdx.x * blockDim.x)) continue;   /* uniform */
    __syncthreads();
    const int j = t + threadIdx.x;
    if (j < b.n) tile[threadIdx.x] = make_float4(b.base[j], b.base[j + b.stride], b.base[j + 2 * b.stride], 0.f);
    __syncthreads();
    const int m = min((int)blockDim.x, b.n - t);
    if (mine) {
      const int k0 = self ? max(0, i + 1 - t) : 0;
      for (int k = k0; k < m; k++) {
        const float4 q = tile[k];
        atomicAdd(&priv[find_bin(dot3(x, y, z, q.x, q.y, q.z)) * NUM_HISTOGRAMS + column], 1u);
      }
    }
  }
  __syncthreads();
  /* a warp folds each bin's row */
  const int lane = threadIdx.x % WARP_SIZE, warp = threadIdx.x / WARP_SIZE;
  for (int h = warp; h < NUM_HIST; h += blockDim.x / WARP_SIZE) {
    unsigned int s = 0;
    for (int c = lane; c < NUM_HISTOGRAMS; c += WARP_SIZE) s += priv[h * NUM_HISTOGRAMS + c];
    for (int o = 16; o > 0; o >>= 1) s += __shfl_down_sync(0xffffffff, s, o);
    if (lane == 0 && s) atomicAdd(&hist[h], (hist_t)s);
  }
}

/* normalises in place and writes the padded structure of arrays as well */
__global__ void normalise_split(cartesian *aos, device_points p)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= p.n) return;
  cartesian c = aos[i];
  float norm = rsqrtf(c.x * c.x + c.y * c.y + c.z * c.z);
  c.x *= norm; c.y *= norm; c.z *= norm;
  aos[i] = c;
  p.base[i] = c.x;
  p.base[p.stride + i] = c.y;
  p.base[2 * p.stride + i] = c.z;
}

/* ---------------------------------------------------------------------- */
struct Catalogue {
  std::vector<cartesian> host;
  cartesian *aos;
  device_points soa;
};

static Catalogue make_catalogue(int n, unsigned seed, bool clustered)
{
  Catalogue c;
  std::mt19937 rng(seed);
  std::normal_distribution<float> g(0.f, 1.f);
  cartesian centre = {1.f, 0.f, 0.f};
  for (int i = 0; i < n; i++) {
    cartesian p = {g(rng), g(rng), g(rng)};
    if (clustered) {
      if (i % 40 == 0) centre = p;
      else {
        float r = 0.05f * (float)(rng() % 1000) / 1000.f;
        p.x = centre.x + r * p.x; p.y = centre.y + r * p.y; p.z = centre.z + r * p.z;
      }
    }
    if (p.x * p.x + p.y * p.y + p.z * p.z < 1e-4f) p.x = 1.f;
    c.host.push_back(p);
  }
  cudaMalloc((void **)&c.aos, n * sizeof(cartesian));
  c.soa.n = n;
  c.soa.stride = (n + 31) / 32 * 32;
  cudaMalloc((void **)&c.soa.base, 3 * c.soa.stride * sizeof(float));
  CUERR
  cudaMemcpy(c.aos, &c.host[0], n * sizeof(cartesian), cudaMemcpyHostToDevice);
  normalise_split<<<(n + 127) / 128, 128>>>(c.aos, c.soa);
  CUERR
  /* the comparison below uses exactly the normalised points */
  cudaMemcpy(&c.host[0], c.aos, n * sizeof(cartesian), cudaMemcpyDeviceToHost);
  return c;
}

static void free_catalogue(Catalogue &c)
{
  cudaFree(c.aos);
  cudaFree(c.soa.base);
}

static void host_hist(const std::vector<cartesian> &a, const std::vector<cartesian> &b, bool self,
                      const float *binb, hist_t *h)
{
  for (int i = 0; i < NUM_HIST; i++) h[i] = 0;
  for (size_t i = 0; i < a.size(); i++)
    for (size_t j = self ? i + 1 : 0; j < b.size(); j++) {
      float d = fmaf(a[i].x, b[j].x, fmaf(a[i].y, b[j].y, a[i].z * b[j].z));
      int lo = 0, hi = NUM_EDGES;
      while (lo < hi) {
        int mid = (lo + hi) >> 1;
        if (d >= binb[mid]) hi = mid; else lo = mid + 1;
      }
      h[lo]++;
    }
}

typedef void (*hist_launcher)(hist_t *, const Catalogue &, const Catalogue &, int);

static void launch_naive(hist_t *h, const Catalogue &a, const Catalogue &b, int self)
{
  gen_hists_naive<<<(a.soa.n + 63) / 64, 64>>>(h, a.aos, a.soa.n, b.aos, b.soa.n, self);
}
static void launch_warp(hist_t *h, const Catalogue &a, const Catalogue &b, int self)
{
  dim3 grid((a.soa.n + BLOCK_SIZE - 1) / BLOCK_SIZE, 3);
  gen_hists_warp<<<grid, BLOCK_SIZE>>>(h, a.soa, b.soa, self);
}
static void launch_private(hist_t *h, const Catalogue &a, const Catalogue &b, int self)
{
  size_t sm = BLOCK_SIZE * sizeof(float4) + NUM_HIST * NUM_HISTOGRAMS * sizeof(unsigned int);
  gen_hists_private<<<(a.soa.n + BLOCK_SIZE - 1) / BLOCK_SIZE, BLOCK_SIZE, sm>>>(h, a.soa, b.soa, self);
}

int main()
{
  float binb[NUM_EDGES];
  for (int k = 0; k < NUM_EDGES; k++) {
    double arcmin = pow(10.0, log10(MIN_ARCMIN) + k * 1.0 / BINS_PER_DEC);
    if (arcmin > MAX_ARCMIN) arcmin = MAX_ARCMIN;
    binb[k] = (float)cos(arcmin / 60.0 * M_PI / 180.0);
  }
  cudaMemcpyToSymbol(dev_binb, binb, sizeof binb);
  CUERR
  Catalogue data = make_catalogue(2300, 17, true);
  Catalogue rnd = make_catalogue(2111, 18, false);

  hist_t *d_hist;
  cudaMalloc((void **)&d_hist, NUM_HIST * sizeof(hist_t));
  CUERR
  struct { const char *name; hist_launcher go; } table[] = {
    {"naive", launch_naive}, {"per warp", launch_warp}, {"private", launch_private}};
  struct { const char *name; const Catalogue *a, *b; int self; hist_t ref[NUM_HIST]; } jobs[] = {
    {"DD", &data, &data, 1, {0}}, {"RR", &rnd, &rnd, 1, {0}}, {"DR", &data, &rnd, 0, {0}}};
  int bad = 0;
  for (auto &job : jobs) {
    host_hist(job.a->host, job.b->host, job.self, binb, job.ref);
    for (auto &t : table) {
      hist_t h[NUM_HIST];
      cudaMemset(d_hist, 0, NUM_HIST * sizeof(hist_t));
      t.go(d_hist, *job.a, *job.b, job.self);
      CUERR
      cudaMemcpy(h, d_hist, sizeof h, cudaMemcpyDeviceToHost);
      CUERR
      int diff = 0;
      for (int i = 0; i < NUM_HIST; i++) diff += h[i] != job.ref[i];
      printf("%s %-9s %d bins differ\n", job.name, t.name, diff);
      bad += diff;
    }
  }
  /* the estimator of Landy and Szalay for a few bins */
  double nd = data.soa.n, nr = rnd.soa.n;
  for (int k = 8; k < NUM_BINS; k += 4) {
    double dd = jobs[0].ref[k] / (nd * (nd - 1) / 2), rr = jobs[1].ref[k] / (nr * (nr - 1) / 2);
    double dr = jobs[2].ref[k] / (nd * nr);
    if (rr > 0) printf("omega[%d] = %.4f\n", k, (dd - 2 * dr + rr) / rr);
  }
  cudaFree(d_hist);
  free_catalogue(data);
  free_catalogue(rnd);
  printf("%s\n", bad ? "FAIL" : "PASS");
  return bad ? 1 : 0;
}
