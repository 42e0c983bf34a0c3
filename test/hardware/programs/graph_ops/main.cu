// nvcc: -std=c++17
#include "algorithms.cuh"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <queue>
#include <string>

using namespace gr;

template <load_balance_t lb>
static bool traverse(const host_csr& h, const graph_t& G, int src) {
  device_vector<int> dist(G.n_vertices);
  device_vector<float> sd(G.n_vertices);
  int depth = bfs<lb>(G, src, dist), iters = sssp<lb>(G, src, sd);
  std::vector<int> ref(h.n, 0x7fffffff);
  std::queue<int> q;
  q.push(src); ref[src] = 0;
  while (!q.empty()) {
    int v = q.front(); q.pop();
    for (int e = h.offsets[v]; e < h.offsets[v + 1]; ++e) if (ref[h.indices[e]] == 0x7fffffff) { ref[h.indices[e]] = ref[v] + 1; q.push(h.indices[e]); }
  }
  std::vector<float> rs(h.n, 1e30f);
  std::priority_queue<std::pair<float, int>> pq;
  rs[src] = 0; pq.push({0.f, src});
  while (!pq.empty()) {
    auto [d, v] = pq.top(); pq.pop();
    if (-d > rs[v]) continue;
    for (int e = h.offsets[v]; e < h.offsets[v + 1]; ++e) { float t = rs[v] + h.values[e]; if (t < rs[h.indices[e]]) { rs[h.indices[e]] = t; pq.push({-t, h.indices[e]}); } }
  }
  auto gd = dist.to_host();
  auto gs = sd.to_host();
  int b1 = 0, b2 = 0, reached = 0;
  for (int v = 0; v < h.n; ++v) { b1 += gd[v] != ref[v]; b2 += gs[v] != rs[v]; reached += ref[v] != 0x7fffffff; }
  std::printf("bfs: %d levels, %d reached, %d wrong; sssp: %d rounds, %d wrong\n", depth, reached, b1, iters, b2);
  return b1 == 0 && b2 == 0;
}

int main(int argc, char** argv) {
  int scale = 12, ef = 12;
  std::string lb = "block";
  unsigned seed = 3;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--scale")) scale = std::atoi(argv[++i]);
    else if (!std::strcmp(argv[i], "--edge-factor")) ef = std::atoi(argv[++i]);
    else if (!std::strcmp(argv[i], "--lb")) lb = argv[++i];
    else seed = std::atoi(argv[i]);
  }
  host_csr h = build_rmat(scale, ef, seed);
  device_vector<edge_t> off(h.offsets);
  device_vector<vertex_t> ind(h.indices);
  device_vector<weight_t> val(h.values);
  graph_t G{h.n, (int)h.indices.size(), off.data(), ind.data(), val.data()};
  int src = 0;
  for (int v = 0; v < h.n; ++v) if (h.offsets[v + 1] - h.offsets[v] > 20) src = v;       // the last busy vertex
  std::printf("graph: %d vertices, %d edges, source %d, %s mapped\n", G.n_vertices, G.n_edges, src, lb.c_str());
  bool ok = lb == "thread" ? traverse<load_balance_t::thread_mapped>(h, G, src)
          : lb == "warp" ? traverse<load_balance_t::warp_mapped>(h, G, src)
                         : traverse<load_balance_t::block_mapped>(h, G, src);

  device_vector<float> rank(h.n);
  const int iters = 3;
  pagerank<8>(G, iters, 0.85f, rank);
  std::vector<double> r(h.n, 1.0 / h.n), nr(h.n);
  for (int it = 0; it < iters; ++it) {
    for (int v = 0; v < h.n; ++v) { double s = 0; for (int e = h.offsets[v]; e < h.offsets[v + 1]; ++e) { int u = h.indices[e]; s += r[u] / (h.offsets[u + 1] - h.offsets[u]); } nr[v] = 0.15 / h.n + 0.85 * s; }
    r = nr;
  }
  auto gr_ = rank.to_host();
  double err = 0;
  for (int v = 0; v < h.n; ++v) err = std::max(err, std::fabs(gr_[v] - r[v]) / r[v]);
  std::printf("pagerank rel err %.2e\n", err);
  ok &= err < 1e-3;

  std::vector<int> es(h.indices.size());
  for (int v = 0; v < h.n; ++v) for (int e = h.offsets[v]; e < h.offsets[v + 1]; ++e) es[e] = v;
  device_vector<int> d_es(es), tri(std::vector<int>(h.n, 0));
  operators::intersect_kernel<<<(G.n_edges + 127) / 128, 128>>>(G, d_es.data(), tc_count{tri.data()});
  GR_CHECK(cudaGetLastError());
  auto t = tri.to_host();
  std::vector<int> rt(h.n, 0);
  std::vector<char> mark(h.n, 0);
  for (int u = 0; u < h.n; ++u) {
    for (int e = h.offsets[u]; e < h.offsets[u + 1]; ++e) mark[h.indices[e]] = 1;
    for (int e = h.offsets[u]; e < h.offsets[u + 1]; ++e) {
      int v = h.indices[e];
      if (v > u) for (int k = h.offsets[v]; k < h.offsets[v + 1]; ++k) { int w = h.indices[k]; if (w > v && mark[w]) { rt[u]++; rt[v]++; rt[w]++; } }
    }
    for (int e = h.offsets[u]; e < h.offsets[u + 1]; ++e) mark[h.indices[e]] = 0;
  }
  long total = 0;
  for (int x : rt) total += x;
  std::printf("triangles %ld, %s\n", total / 3, t == rt ? "match" : "MISMATCH");
  ok &= t == rt;
  GR_CHECK(cudaDeviceSynchronize());
  std::puts(ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
