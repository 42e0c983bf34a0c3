#include "graph.hxx"
#include <algorithm>
#include <cstdint>

namespace gr {
host_csr build_rmat(int scale, int edge_factor, unsigned seed) {
  const int n = 1 << scale;
  uint64_t s = seed * 2654435761ull + 1;
  auto rnd = [&]() { s ^= s << 13; s ^= s >> 7; s ^= s << 17; return double(s >> 11) / 9007199254740992.0; };
  std::vector<uint64_t> e;
  for (long i = 0; i < (long)edge_factor * n; i++) {
    unsigned u = 0, v = 0;
    for (int b = 0; b < scale; b++) {
      double r = rnd();
      int q = r < 0.50 ? 0 : r < 0.70 ? 1 : r < 0.90 ? 2 : 3;
      u = u << 1 | (q >> 1);
      v = v << 1 | (q & 1);
    }
    if (u == v) continue;
    e.push_back((uint64_t)u << 32 | v);
    e.push_back((uint64_t)v << 32 | u);
  }
  std::sort(e.begin(), e.end());
  e.erase(std::unique(e.begin(), e.end()), e.end());
  host_csr g;
  g.n = n;
  g.offsets.assign(n + 1, 0);
  for (auto x : e) {
    unsigned u = x >> 32, v = (unsigned)x;
    g.offsets[u + 1]++;
    g.indices.push_back(v);
    g.values.push_back(1.f + (float)((u ^ v) * 2654435761u >> 30));     // 1..4, symmetric
  }
  for (int i = 0; i < n; i++) g.offsets[i + 1] += g.offsets[i];
  return g;
}
}  // namespace gr
