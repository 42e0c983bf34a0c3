// SHAP values by path enumeration (the warp-per-bin scheme): every root-to-leaf path of a tree ensemble becomes
// up to 32 path elements, paths are bin-packed into warps, and each group of lanes runs the extend / unwound-sum
// recurrences with shuffles. A plain thread-per-row ensemble predictor and a row-major/column-major study ride along.
#include <cuda_runtime.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

static void check(cudaError_t e, int line) { if (e != cudaSuccess) { std::printf("line %d: %s\n", line, cudaGetErrorString(e)); std::exit(2); } }
#define CHECK(x) check((x), __LINE__)

struct PathElement {
  int path_idx;
  int feature;            // -1: the root / bias element
  float lo, hi;           // x in [lo, hi)
  float zero_fraction;    // share of the cover that follows this split
  float v;                // leaf value of the path
};

struct Node { int feature, left, right; float thr, value, cover; };

template <bool RowMajor>
struct DenseView {
  const float* p;
  int rows, cols;
  __device__ float get(int r, int c) const { return RowMajor ? p[r * cols + c] : p[c * rows + r]; }
};

// A group of lanes [first, first + len) of a warp holds one path.
struct Group {
  unsigned mask; int rank, size, first;
  template <class T> __device__ T shfl(T v, int src) const { return __shfl_sync(mask, v, first + src); }
};

__device__ inline Group make_group(int path_idx, unsigned active) {
  const unsigned m = __match_any_sync(active, path_idx);
  const int lane = threadIdx.x & 31;
  return Group{m, __popc(m & ((1u << lane) - 1)), __popc(m), __ffs((int)m) - 1};
}

__device__ inline float extend_and_unwind(const Group& g, float zero, float one) {
  // extend: lane i ends up with the i-th permutation weight
  float w = g.rank == 0 ? 1.f : 0.f;
  for (int d = 1; d < g.size; ++d) {
    const float zf = g.shfl(zero, d), of = g.shfl(one, d);
    const float inv = 1.f / (d + 1);
    const float left = g.shfl(w, g.rank > 0 ? g.rank - 1 : 0);
    const float keep = g.rank < d ? w * zf * (d - g.rank) * inv : 0.f;
    const float shift = g.rank > 0 && g.rank <= d ? left * of * g.rank * inv : 0.f;
    w = keep + shift;
  }
  // unwound sum for my own element
  float next = g.shfl(w, g.size - 1), total = 0.f;
  const float n = (float)g.size;
  for (int i = g.size - 2; i >= 0; --i) {
    const float wi = g.shfl(w, i);
    if (one != 0.f) {
      const float tmp = next * n / ((i + 1) * one);
      total += tmp;
      next = wi - tmp * zero * (g.size - 1 - i) / n;
    } else {
      total += wi * n / (zero * (g.size - 1 - i));
    }
  }
  return total;
}

template <class View>
__global__ void shap_kernel(View X, const PathElement* __restrict__ el, const int* __restrict__ bin_off, int bins, int rows_per_warp, float* __restrict__ phi) {
  __shared__ PathElement s_el[256];
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  const int bin = warp % bins, bank = warp / bins;
  const int b = bin_off[bin], len = bin_off[bin + 1] - b;
  const unsigned active = len >= 32 ? 0xffffffffu : (1u << len) - 1;
  if (lane >= len) return;
  s_el[threadIdx.x] = el[b + lane];
  PathElement& e = s_el[threadIdx.x];
  const Group g = make_group(e.path_idx, active);
  const int r0 = bank * rows_per_warp, r1 = min(r0 + rows_per_warp, X.rows);
  for (int r = r0; r < r1; ++r) {
    float one = 1.f;
    if (e.feature >= 0) { const float x = X.get(r, e.feature); one = x >= e.lo && x < e.hi ? 1.f : 0.f; }
    const float sum = extend_and_unwind(g, e.zero_fraction, one);
    if (e.feature >= 0) atomicAdd(&phi[r * (X.cols + 1) + e.feature], sum * (one - e.zero_fraction) * e.v);
  }
}

template <class View>
__global__ void predict_kernel(View X, const Node* __restrict__ nodes, const int* __restrict__ roots, int trees, float* __restrict__ out) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= X.rows) return;
  float s = 0.f;
  for (int t = 0; t < trees; ++t) {
    int n = roots[t];
    while (nodes[n].feature >= 0) n = X.get(r, nodes[n].feature) < nodes[n].thr ? nodes[n].left : nodes[n].right;
    s += nodes[n].value;
  }
  out[r] = s;
}

// mean |phi| per feature: a block per feature, strided over the rows of the row-major matrix
__global__ void importance_strided(const float* __restrict__ phi, int rows, int ld, float* __restrict__ imp) {
  __shared__ float acc[128];
  float s = 0.f;
  for (int r = threadIdx.x; r < rows; r += blockDim.x) s += fabsf(phi[r * ld + blockIdx.x]);
  acc[threadIdx.x] = s;
  __syncthreads();
  for (int o = blockDim.x / 2; o; o /= 2) {
    if (threadIdx.x < o) acc[threadIdx.x] += acc[threadIdx.x + o];
    __syncthreads();
  }
  if (threadIdx.x == 0) imp[blockIdx.x] = acc[0] / rows;
}

// ------------------------------------------------------------------------------------------- host side
static int grow(std::vector<Node>& nodes, std::mt19937& rng, int depth, float cover, int cols) {
  const int me = (int)nodes.size();
  nodes.push_back({-1, -1, -1, 0.f, 0.f, cover});
  if (depth == 0 || cover < 8.f || (depth < 3 && rng() % 5 == 0)) { nodes[me].value = (int(rng() % 201) - 100) / 100.f; return me; }
  nodes[me].feature = rng() % cols;
  nodes[me].thr = (1 + rng() % 15) / 16.f;
  const float left = std::floor(cover * (0.2f + (rng() % 61) / 100.f));
  const int l = grow(nodes, rng, depth - 1, left, cols), r = grow(nodes, rng, depth - 1, cover - left, cols);
  nodes[me].left = l; nodes[me].right = r;
  return me;
}

static void walk(const std::vector<Node>& nodes, int n, std::vector<PathElement> path, std::vector<std::vector<PathElement>>& out) {
  const Node& nd = nodes[n];
  if (nd.feature < 0) { for (auto& p : path) p.v = nd.value; out.push_back(path); return; }
  for (int side = 0; side < 2; ++side) {
    auto p = path;
    const int child = side ? nd.right : nd.left;
    const float z = nodes[child].cover / nd.cover, lo = side ? nd.thr : -INFINITY, hi = side ? INFINITY : nd.thr;
    auto it = std::find_if(p.begin(), p.end(), [&](const PathElement& q) { return q.feature == nd.feature; });
    if (it != p.end()) { it->zero_fraction *= z; it->lo = std::max(it->lo, lo); it->hi = std::min(it->hi, hi); }
    else p.push_back({0, nd.feature, lo, hi, z, 0.f});
    walk(nodes, child, p, out);
  }
}

// brute force: expected value of a path given a coalition, summed over permutations by the subset formula
static double brute(const std::vector<PathElement>& p, const float* x, size_t who) {
  const int m = (int)p.size() - 1;   // without the bias element
  double phi = 0;
  auto ind = [&](int i) { return x[p[i].feature] >= p[i].lo && x[p[i].feature] < p[i].hi ? 1.0 : 0.0; };
  for (int s = 0; s < (1 << m); ++s) {
    if (s >> (who - 1) & 1) continue;
    double prod = 1; int c = 0;
    for (int i = 1; i <= m; ++i) if (i != (int)who) { const bool in = s >> (i - 1) & 1; c += in; prod *= in ? ind(i) : p[i].zero_fraction; }
    const double w = std::tgamma(c + 1.0) * std::tgamma(double(m - c)) / std::tgamma(m + 1.0);
    phi += w * prod * (ind((int)who) - p[who].zero_fraction);
  }
  return phi * p[0].v;
}

int main(int argc, char** argv) {
  const int rows = argc > 1 ? std::atoi(argv[1]) : 333, cols = 13, trees = 10, depth = 6, per_warp = 16;
  std::mt19937 rng(9);
  std::vector<float> X(rows * cols), Xt(rows * cols);
  for (int r = 0; r < rows; ++r) for (int c = 0; c < cols; ++c) Xt[c * rows + r] = X[r * cols + c] = (rng() % 1000) / 1000.f;
  std::vector<Node> nodes;
  std::vector<int> roots;
  std::vector<std::vector<PathElement>> paths;
  for (int t = 0; t < trees; ++t) { roots.push_back(grow(nodes, rng, depth, 1000.f, cols)); walk(nodes, roots.back(), {{0, -1, 0, 0, 1.f, 0.f}}, paths); }
  // first-fit-decreasing into warps of 32 lanes
  std::vector<int> order(paths.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return paths[a].size() > paths[b].size(); });
  std::vector<std::vector<int>> bins;
  std::vector<int> used;
  for (int id : order) {
    size_t b = 0;
    while (b < bins.size() && used[b] + (int)paths[id].size() > 32) ++b;
    if (b == bins.size()) { bins.emplace_back(); used.push_back(0); }
    bins[b].push_back(id); used[b] += (int)paths[id].size();
  }
  std::vector<PathElement> flat;
  std::vector<int> off{0};
  for (auto& b : bins) { for (int id : b) for (auto e : paths[id]) { e.path_idx = id; flat.push_back(e); } off.push_back((int)flat.size()); }

  float *dX, *dXt, *dphi, *dphi2, *dout, *dout2, *dimp; Node* dn; int *droots, *doff; PathElement* de;
  const int ld = cols + 1;
  CHECK(cudaMalloc(&dX, X.size() * 4)); CHECK(cudaMalloc(&dXt, X.size() * 4));
  CHECK(cudaMalloc(&dphi, rows * ld * 4)); CHECK(cudaMalloc(&dphi2, rows * ld * 4));
  CHECK(cudaMalloc(&dout, rows * 4)); CHECK(cudaMalloc(&dout2, rows * 4)); CHECK(cudaMalloc(&dimp, cols * 4));
  CHECK(cudaMalloc(&dn, nodes.size() * sizeof(Node))); CHECK(cudaMalloc(&droots, trees * 4));
  CHECK(cudaMalloc(&doff, off.size() * 4)); CHECK(cudaMalloc(&de, flat.size() * sizeof(PathElement)));
  CHECK(cudaMemcpy(dX, X.data(), X.size() * 4, cudaMemcpyHostToDevice)); CHECK(cudaMemcpy(dXt, Xt.data(), X.size() * 4, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(dn, nodes.data(), nodes.size() * sizeof(Node), cudaMemcpyHostToDevice)); CHECK(cudaMemcpy(droots, roots.data(), trees * 4, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(doff, off.data(), off.size() * 4, cudaMemcpyHostToDevice)); CHECK(cudaMemcpy(de, flat.data(), flat.size() * sizeof(PathElement), cudaMemcpyHostToDevice));
  CHECK(cudaMemset(dphi, 0, rows * ld * 4)); CHECK(cudaMemset(dphi2, 0, rows * ld * 4));

  const DenseView<true> vr{dX, rows, cols};
  const DenseView<false> vc{dXt, rows, cols};
  const int nb = (int)bins.size(), banks = (rows + per_warp - 1) / per_warp, warps = nb * banks;
  const int grid = (warps + 7) / 8;   // surplus warps fall on row banks past the end and do nothing
  shap_kernel<<<grid, 256>>>(vr, de, doff, nb, per_warp, dphi);
  shap_kernel<<<grid, 256>>>(vc, de, doff, nb, per_warp, dphi2);
  predict_kernel<<<(rows + 127) / 128, 128>>>(vr, dn, droots, trees, dout);
  predict_kernel<<<(rows + 127) / 128, 128>>>(vc, dn, droots, trees, dout2);
  importance_strided<<<cols, 128>>>(dphi, rows, ld, dimp);
  CHECK(cudaDeviceSynchronize());

  std::vector<float> phi(rows * ld), phi2(rows * ld), out(rows), out2(rows), imp(cols);
  CHECK(cudaMemcpy(phi.data(), dphi, phi.size() * 4, cudaMemcpyDeviceToHost)); CHECK(cudaMemcpy(phi2.data(), dphi2, phi.size() * 4, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(out.data(), dout, rows * 4, cudaMemcpyDeviceToHost)); CHECK(cudaMemcpy(out2.data(), dout2, rows * 4, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(imp.data(), dimp, cols * 4, cudaMemcpyDeviceToHost));
  double base = 0, add = 0, lay = 0, bf = 0, pe = 0, ie = 0;
  for (auto& p : paths) { double z = p[0].v; for (auto& e : p) z *= e.zero_fraction; base += z; }
  std::vector<double> rimp(cols, 0.0);
  for (int r = 0; r < rows; ++r) {
    double s = base, want = 0;
    for (int c = 0; c < cols; ++c) { s += phi[r * ld + c]; lay = std::max(lay, (double)std::fabs(phi[r * ld + c] - phi2[r * ld + c])); rimp[c] += std::fabs(phi[r * ld + c]) / rows; }
    for (int t : roots) { int n = t; while (nodes[n].feature >= 0) n = X[r * cols + nodes[n].feature] < nodes[n].thr ? nodes[n].left : nodes[n].right; want += nodes[n].value; }
    add = std::max(add, std::fabs(s - want));
    pe = std::max({pe, std::fabs(out[r] - want), std::fabs(out2[r] - want)});
    if (r % 40 == 0) {
      std::vector<double> ref(cols, 0.0);
      for (auto& p : paths) for (size_t i = 1; i < p.size(); ++i) ref[p[i].feature] += brute(p, &X[r * cols], i);
      for (int c = 0; c < cols; ++c) bf = std::max(bf, std::fabs(ref[c] - phi[r * ld + c]));
    }
  }
  for (int c = 0; c < cols; ++c) ie = std::max(ie, std::fabs(rimp[c] - imp[c]));
  std::printf("paths %zu bins %d | additivity %.2e brute force %.2e layouts %.2e predict %.2e importance %.2e\n", paths.size(), nb, add, bf, lay, pe, ie);
  const bool ok = add < 2e-3 && bf < 1e-3 && lay < 1e-3 && pe < 1e-4 && ie < 1e-4;
  std::puts(ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
