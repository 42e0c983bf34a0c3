#include "graph.hpp"
#include <algorithm>
#include <set>
#include <utility>

namespace {
struct Lcg {
    unsigned long long s;
    unsigned next() {
        s = s * 6364136223846793005ull + 1442695040888963407ull;
        return unsigned(s >> 33);
    }
    int below(int n) { return int(next() % unsigned(n)); }
};
}  // namespace

OrientedGraph make_graph(Flavour f, int n, int degree, unsigned long long seed) {
    Lcg rng{seed};
    std::set<std::pair<int, int>> e;
    auto add = [&](int a, int b) {
        if (a != b) e.insert({std::min(a, b), std::max(a, b)});
    };
    if (f == Flavour::PowerLaw) {
        std::vector<int> ends{0, 1};
        add(0, 1);
        for (int v = 2; v < n; ++v) {
            int prev = -1;
            for (int k = 0; k < degree; ++k) {
                int t = ends[rng.below(int(ends.size()))];
                if (prev >= 0 && rng.below(3) == 0) t = std::max(0, prev - 1);
                add(v, t);
                ends.push_back(t);
                ends.push_back(v);
                prev = t;
            }
        }
    } else {
        const int size = 24;
        for (int v = 0; v < n; ++v)
            for (int k = 0; k < degree; ++k) {
                int base = v / size * size;
                add(v, rng.below(10) < 8 ? std::min(n - 1, base + rng.below(size)) : rng.below(n));
            }
    }
    OrientedGraph g;
    g.vertices = n;
    g.offset.assign(n + 1, 0);
    for (auto& p : e) g.offset[p.first + 1]++;
    for (int v = 0; v < n; ++v) g.offset[v + 1] += g.offset[v];
    for (auto& p : e) {
        g.source.push_back(p.first);
        g.target.push_back(p.second);
    }
    return g;
}

std::vector<int> host_support(const OrientedGraph& g, const std::vector<unsigned char>& alive) {
    std::vector<int> s(g.edges(), 0), mark(g.vertices, -1);
    for (int u = 0; u < g.vertices; ++u) {
        for (int e = g.offset[u]; e < g.offset[u + 1]; ++e)
            if (alive[e]) mark[g.target[e]] = e;
        for (int e = g.offset[u]; e < g.offset[u + 1]; ++e) {
            if (!alive[e]) continue;
            int v = g.target[e];
            for (int k = g.offset[v]; k < g.offset[v + 1]; ++k)
                if (alive[k] && mark[g.target[k]] >= 0) {
                    ++s[e];
                    ++s[k];
                    ++s[mark[g.target[k]]];
                }
        }
        for (int e = g.offset[u]; e < g.offset[u + 1]; ++e) mark[g.target[e]] = -1;
    }
    return s;
}
