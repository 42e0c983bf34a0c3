// nvcc: -std=c++17
// A toy inference runtime: a list of nodes, an op table (name -> launcher + CPU reference), NCHW float.
#include <cuda_runtime.h>

#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

struct Shape {
  int n, c, h, w;
  int numel() const { return n * c * h * w; }
};

struct Tensor {
  Shape s{};
  float* d = nullptr;
  std::vector<float> ref;   // CPU shadow
};

struct Node {
  std::string op;
  int outC = 0;
  std::vector<float> w, b;
  float *dw = nullptr, *db = nullptr;
};

#define CUDA_CHECK(x) check_((x), __FILE__, __LINE__)
static void check_(cudaError_t e, const char* f, int l) {
  if (e != cudaSuccess) {
    std::fprintf(stderr, "%s:%d %s\n", f, l, cudaGetErrorString(e));
    std::exit(1);
  }
}

// ------------------------------------------------------------------ kernels
// 3x3 same conv; block = 16x16 pixels of one (n, oc); input tile with halo in shared memory
__global__ void conv3x3_kernel(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ b,
                               float* __restrict__ y, int C, int OC, int H, int W) {
  __shared__ float tile[18][18];
  __shared__ float wt[9];
  const int n = blockIdx.z / OC;
  const int oc = blockIdx.z % OC;
  const int ox = blockIdx.x * 16 + threadIdx.x;
  const int oy = blockIdx.y * 16 + threadIdx.y;
  const int tid = threadIdx.y * 16 + threadIdx.x;
  float acc = b[oc];
  for (int c = 0; c < C; ++c) {
    const float* xc = x + (n * C + c) * H * W;
    for (int i = tid; i < 18 * 18; i += 256) {
      const int ly = i / 18;
      const int lx = i % 18;
      const int gy = blockIdx.y * 16 + ly - 1;
      const int gx = blockIdx.x * 16 + lx - 1;
      tile[ly][lx] = (gy >= 0 && gy < H && gx >= 0 && gx < W) ? xc[gy * W + gx] : 0.0f;
    }
    if (tid < 9) {
      wt[tid] = w[(oc * C + c) * 9 + tid];
    }
    __syncthreads();
    for (int ky = 0; ky < 3; ++ky) {
      for (int kx = 0; kx < 3; ++kx) {
        acc += tile[threadIdx.y + ky][threadIdx.x + kx] * wt[ky * 3 + kx];
      }
    }
    __syncthreads();
  }
  if (ox < W && oy < H) {
    y[((n * OC + oc) * H + oy) * W + ox] = acc;
  }
}

// pointwise conv: thread per output element, oc fastest (first version, NHWC thinking on NCHW data)
__global__ void conv1x1_kernel(const float* x, const float* w, const float* b, float* y, int N, int C, int OC, int HW) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= N * OC * HW) return;
  const int oc = t % OC;
  const int p = (t / OC) % HW;
  const int n = t / (OC * HW);
  float acc = b[oc];
  for (int c = 0; c < C; ++c) {
    acc += x[(n * C + c) * HW + p] * w[oc * C + c];
  }
  y[(n * OC + oc) * HW + p] = acc;
}

__global__ void batchnorm_kernel(const float* x, const float* scale, const float* shift, float* y, int C, int HW) {
  const int c = blockIdx.y % C;
  const float s = scale[c];
  const float t = shift[c];
  const size_t base = static_cast<size_t>(blockIdx.y) * HW;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < HW; i += gridDim.x * blockDim.x) {
    y[base + i] = x[base + i] * s + t;
  }
}

__global__ void gelu_kernel(const float4* x, float4* y, int n4) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n4) return;
  float4 v = x[i];
  v.x = 0.5f * v.x * (1.0f + erff(v.x * 0.70710678f));
  v.y = 0.5f * v.y * (1.0f + erff(v.y * 0.70710678f));
  v.z = 0.5f * v.z * (1.0f + erff(v.z * 0.70710678f));
  v.w = 0.5f * v.w * (1.0f + erff(v.w * 0.70710678f));
  y[i] = v;
}

__global__ void maxpool2_kernel(const float* x, float* y, int planes, int H, int W) {
  const int oh = H / 2;
  const int ow = W / 2;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= planes * oh * ow) return;
  const int px = i % ow;
  const int py = (i / ow) % oh;
  const int pl = i / (ow * oh);
  const float* p = x + (pl * H + 2 * py) * W + 2 * px;
  y[i] = fmaxf(fmaxf(p[0], p[1]), fmaxf(p[W], p[W + 1]));
}

// one thread per plane walks all pixels
__global__ void global_avgpool_kernel(const float* x, float* y, int planes, int HW) {
  const int pl = blockIdx.x * blockDim.x + threadIdx.x;
  if (pl >= planes) return;
  float s = 0.0f;
  for (int i = 0; i < HW; ++i) {
    s += x[pl * HW + i];
  }
  y[pl] = s / HW;
}

// warp per output neuron
__global__ void linear_kernel(const float* x, const float* w, const float* b, float* y, int N, int C, int OC) {
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  const int lane = threadIdx.x & 31;
  if (warp >= N * OC) return;
  const int n = warp / OC;
  const int oc = warp % OC;
  float acc = 0.0f;
  for (int c = lane; c < C; c += 32) {
    acc += x[n * C + c] * w[oc * C + c];
  }
  for (int o = 16; o > 0; o >>= 1) {
    acc += __shfl_xor_sync(0xffffffffu, acc, o);
  }
  if (lane == 0) {
    y[n * OC + oc] = acc + b[oc];
  }
}

// block per row
__global__ void softmax_kernel(const float* x, float* y, int C) {
  __shared__ float red[64];
  const float* row = x + blockIdx.x * C;
  float m = -FLT_MAX;
  for (int c = threadIdx.x; c < C; c += 64) m = fmaxf(m, row[c]);
  red[threadIdx.x] = m;
  __syncthreads();
  for (int s = 32; s > 0; s >>= 1) {
    if (threadIdx.x < s) red[threadIdx.x] = fmaxf(red[threadIdx.x], red[threadIdx.x + s]);
    __syncthreads();
  }
  m = red[0];
  __syncthreads();
  float sum = 0.0f;
  for (int c = threadIdx.x; c < C; c += 64) sum += expf(row[c] - m);
  red[threadIdx.x] = sum;
  __syncthreads();
  for (int s = 32; s > 0; s >>= 1) {
    if (threadIdx.x < s) red[threadIdx.x] += red[threadIdx.x + s];
    __syncthreads();
  }
  for (int c = threadIdx.x; c < C; c += 64) y[blockIdx.x * C + c] = expf(row[c] - m) / red[0];
}

// ------------------------------------------------------------------ op table
using Launcher = std::function<void(const Node&, const Tensor&, Tensor&)>;
struct OpEntry {
  std::function<Shape(const Node&, Shape)> infer;
  Launcher gpu;
  Launcher cpu;
};

static int cdiv(int a, int b) { return (a + b - 1) / b; }
static Shape sameShape(const Node&, Shape s) { return s; }

static void cpuConv(const Node& nd, const Tensor& x, Tensor& y, int k) {
  const Shape s = x.s;
  const int r = k / 2;
  for (int n = 0; n < s.n; ++n)
    for (int oc = 0; oc < nd.outC; ++oc)
      for (int h = 0; h < s.h; ++h)
        for (int w = 0; w < s.w; ++w) {
          float a = nd.b[oc];
          for (int c = 0; c < s.c; ++c)
            for (int ky = 0; ky < k; ++ky)
              for (int kx = 0; kx < k; ++kx) {
                const int yy = h + ky - r, xx = w + kx - r;
                if (yy < 0 || yy >= s.h || xx < 0 || xx >= s.w) continue;
                a += x.ref[((n * s.c + c) * s.h + yy) * s.w + xx] * nd.w[((oc * s.c + c) * k + ky) * k + kx];
              }
          y.ref[((n * nd.outC + oc) * s.h + h) * s.w + w] = a;
        }
}

static std::map<std::string, OpEntry> buildTable() {
  std::map<std::string, OpEntry> t;
  auto chan = [](const Node& nd, Shape s) { return Shape{s.n, nd.outC, s.h, s.w}; };
  t["conv3x3"] = {chan,
    [](const Node& nd, const Tensor& x, Tensor& y) {
      dim3 g(cdiv(x.s.w, 16), cdiv(x.s.h, 16), x.s.n * nd.outC);
      conv3x3_kernel<<<g, dim3(16, 16)>>>(x.d, nd.dw, nd.db, y.d, x.s.c, nd.outC, x.s.h, x.s.w);
    },
    [](const Node& nd, const Tensor& x, Tensor& y) { cpuConv(nd, x, y, 3); }};
  t["conv1x1"] = {chan,
    [](const Node& nd, const Tensor& x, Tensor& y) {
      conv1x1_kernel<<<cdiv(y.s.numel(), 128), 128>>>(x.d, nd.dw, nd.db, y.d, x.s.n, x.s.c, nd.outC, x.s.h * x.s.w);
    },
    [](const Node& nd, const Tensor& x, Tensor& y) { cpuConv(nd, x, y, 1); }};
  t["bn"] = {sameShape,
    [](const Node& nd, const Tensor& x, Tensor& y) {
      dim3 g(cdiv(x.s.h * x.s.w, 256), x.s.n * x.s.c);
      batchnorm_kernel<<<g, 256>>>(x.d, nd.dw, nd.db, y.d, x.s.c, x.s.h * x.s.w);
    },
    [](const Node& nd, const Tensor& x, Tensor& y) {
      for (int i = 0; i < x.s.numel(); ++i) {
        const int c = (i / (x.s.h * x.s.w)) % x.s.c;
        y.ref[i] = x.ref[i] * nd.w[c] + nd.b[c];
      }
    }};
  t["gelu"] = {sameShape,
    [](const Node&, const Tensor& x, Tensor& y) {
      const int n4 = x.s.numel() / 4;
      gelu_kernel<<<cdiv(n4, 256), 256>>>(reinterpret_cast<const float4*>(x.d), reinterpret_cast<float4*>(y.d), n4);
    },
    [](const Node&, const Tensor& x, Tensor& y) {
      for (int i = 0; i < x.s.numel(); ++i) y.ref[i] = 0.5f * x.ref[i] * (1.0f + std::erf(x.ref[i] * 0.70710678f));
    }};
  t["maxpool"] = {[](const Node&, Shape s) { return Shape{s.n, s.c, s.h / 2, s.w / 2}; },
    [](const Node&, const Tensor& x, Tensor& y) {
      maxpool2_kernel<<<cdiv(y.s.numel(), 256), 256>>>(x.d, y.d, x.s.n * x.s.c, x.s.h, x.s.w);
    },
    [](const Node&, const Tensor& x, Tensor& y) {
      for (int i = 0; i < y.s.numel(); ++i) {
        const int px = i % y.s.w, py = (i / y.s.w) % y.s.h, pl = i / (y.s.w * y.s.h);
        const float* p = &x.ref[(pl * x.s.h + 2 * py) * x.s.w + 2 * px];
        y.ref[i] = std::fmax(std::fmax(p[0], p[1]), std::fmax(p[x.s.w], p[x.s.w + 1]));
      }
    }};
  t["gap"] = {[](const Node&, Shape s) { return Shape{s.n, s.c, 1, 1}; },
    [](const Node&, const Tensor& x, Tensor& y) {
      global_avgpool_kernel<<<cdiv(x.s.n * x.s.c, 64), 64>>>(x.d, y.d, x.s.n * x.s.c, x.s.h * x.s.w);
    },
    [](const Node&, const Tensor& x, Tensor& y) {
      const int hw = x.s.h * x.s.w;
      for (int i = 0; i < y.s.numel(); ++i) {
        double s = 0;
        for (int k = 0; k < hw; ++k) s += x.ref[i * hw + k];
        y.ref[i] = float(s / hw);
      }
    }};
  t["linear"] = {chan,
    [](const Node& nd, const Tensor& x, Tensor& y) {
      linear_kernel<<<cdiv(x.s.n * nd.outC * 32, 128), 128>>>(x.d, nd.dw, nd.db, y.d, x.s.n, x.s.c, nd.outC);
    },
    [](const Node& nd, const Tensor& x, Tensor& y) { cpuConv(nd, x, y, 1); }};
  t["softmax"] = {sameShape,
    [](const Node&, const Tensor& x, Tensor& y) { softmax_kernel<<<x.s.n, 64>>>(x.d, y.d, x.s.c); },
    [](const Node&, const Tensor& x, Tensor& y) {
      for (int n = 0; n < x.s.n; ++n) {
        float m = -FLT_MAX;
        double s = 0;
        for (int c = 0; c < x.s.c; ++c) m = std::fmax(m, x.ref[n * x.s.c + c]);
        for (int c = 0; c < x.s.c; ++c) s += std::exp(x.ref[n * x.s.c + c] - m);
        for (int c = 0; c < x.s.c; ++c) y.ref[n * x.s.c + c] = float(std::exp(x.ref[n * x.s.c + c] - m) / s);
      }
    }};
  return t;
}

int main() {
  auto table = buildTable();
  std::mt19937 rng(99);
  std::normal_distribution<float> nd(0.0f, 1.0f);
  std::vector<Node> net = {{"conv3x3", 16}, {"bn"}, {"gelu"}, {"maxpool"}, {"conv3x3", 24}, {"gelu"},
                           {"conv1x1", 48}, {"bn"}, {"gelu"}, {"gap"}, {"linear", 100}, {"softmax"}};
  Tensor cur;
  cur.s = {16, 3, 48, 40};
  cur.ref.resize(cur.s.numel());
  for (auto& v : cur.ref) v = nd(rng);
  CUDA_CHECK(cudaMalloc(&cur.d, cur.s.numel() * sizeof(float)));
  CUDA_CHECK(cudaMemcpy(cur.d, cur.ref.data(), cur.s.numel() * sizeof(float), cudaMemcpyHostToDevice));
  bool ok = true;
  for (Node& node : net) {
    const OpEntry& op = table.at(node.op);
    const int k = node.op == "conv3x3" ? 9 : 1;
    const bool isBn = node.op == "bn";
    const int wn = isBn ? cur.s.c : node.outC * cur.s.c * k;
    const int bn = isBn ? cur.s.c : node.outC;
    for (int i = 0; i < wn; ++i) node.w.push_back(isBn ? 1.0f + 0.1f * nd(rng) : nd(rng) / std::sqrt(float(cur.s.c * k)));
    for (int i = 0; i < bn; ++i) node.b.push_back(0.1f * nd(rng));
    if (wn > 0) {
      CUDA_CHECK(cudaMalloc(&node.dw, wn * sizeof(float)));
      CUDA_CHECK(cudaMalloc(&node.db, bn * sizeof(float)));
      CUDA_CHECK(cudaMemcpy(node.dw, node.w.data(), wn * sizeof(float), cudaMemcpyHostToDevice));
      CUDA_CHECK(cudaMemcpy(node.db, node.b.data(), bn * sizeof(float), cudaMemcpyHostToDevice));
    }
    Tensor out;
    out.s = op.infer(node, cur.s);
    out.ref.resize(out.s.numel());
    CUDA_CHECK(cudaMalloc(&out.d, out.s.numel() * sizeof(float)));
    op.gpu(node, cur, out);
    CUDA_CHECK(cudaGetLastError());
    op.cpu(node, cur, out);
    std::vector<float> got(out.s.numel());
    CUDA_CHECK(cudaMemcpy(got.data(), out.d, got.size() * sizeof(float), cudaMemcpyDeviceToHost));
    float worst = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      const float e = std::fabs(got[i] - out.ref[i]);
      if (!(e <= worst)) worst = e;
    }
    std::printf("%-8s %2dx%3dx%2dx%2d  err %g\n", node.op.c_str(), out.s.n, out.s.c, out.s.h, out.s.w, worst);
    ok = ok && worst < 1e-3f;
    cudaFree(cur.d);
    cur = std::move(out);
  }
  std::printf("%s\n", ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
