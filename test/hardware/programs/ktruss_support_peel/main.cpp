#include <cstdio>
#include <cstring>
#include <numeric>
#include "registry.hpp"

static bool check_variants(const char* label, const OrientedGraph& g) {
    auto d = to_device(g);
    auto ref = host_support(g, std::vector<unsigned char>(g.edges(), 1));
    bool ok = true;
    for (auto& v : support_variants()) {
        v.second(*d);
        bool same = fetch_support(*d) == ref;
        std::printf("%-10s %-7s edges %d triangles %lld %s\n", label, v.first.c_str(), g.edges(),
                    std::accumulate(ref.begin(), ref.end(), 0ll) / 3, same ? "ok" : "DIFFERENT");
        ok &= same;
    }
    return ok;
}

static bool check_truss(const OrientedGraph& g, int k, const char* variant, int max_rounds) {
    auto d = to_device(g);
    const auto& launch = support_variants().at(variant);
    std::vector<unsigned char> alive(g.edges(), 1);
    for (int round = 0; round < max_rounds; ++round) {
        launch(*d);
        int removed = peel_below(*d, k - 2);
        auto s = host_support(g, alive);
        int expect = 0;
        for (int e = 0; e < g.edges(); ++e)
            if (alive[e] && s[e] < k - 2) {
                alive[e] = 0;
                ++expect;
            }
        std::printf("round %d removed %d (host %d)\n", round, removed, expect);
        if (removed != expect) return false;
        if (removed == 0) break;
    }
    return fetch_alive(*d) == alive;
}

int main(int argc, char** argv) {
    const char* variant = argc > 1 ? argv[1] : "search";
    if (!support_variants().count(variant)) variant = "search";
    OrientedGraph social = make_graph(Flavour::PowerLaw, 9000, 7, 17);
    OrientedGraph groups = make_graph(Flavour::Clustered, 6000, 9, 23);
    bool ok = check_variants("powerlaw", social);
    ok &= check_variants("clustered", groups);
    ok &= check_truss(groups, 6, variant, 5);
    std::puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
