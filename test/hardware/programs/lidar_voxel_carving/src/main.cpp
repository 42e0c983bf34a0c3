#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include "../include/scanner.hpp"
#include "../include/traverse.cuh"

static std::vector<RayHit> host_scan(const GridDims& g, const std::vector<Vec3>& dirs, const Pose& p) {
    std::vector<RayHit> out;
    for (const Vec3& d : dirs) {
        RayHit h{-1.0f, -1, 0};
        traverse(g, p.origin, d, [&](int x, int y, int z, float t) {
            ++h.steps;
            if (!solid_at(g, x, y, z)) return true;
            h.range = t;
            h.cell = RowMajor::at(g, x, y, z);
            return false;
        });
        out.push_back(h);
    }
    return out;
}

static int disagreements(const std::vector<RayHit>& a, const std::vector<RayHit>& b) {
    int n = 0;
    for (size_t i = 0; i < a.size(); ++i)
        n += a[i].cell != b[i].cell || a[i].steps != b[i].steps || std::fabs(a[i].range - b[i].range) > 1e-3f;
    return n;
}

int main(int argc, char** argv) {
    GridDims g;
    ScanPattern pattern;
    for (int i = 1; i + 1 < argc; i += 2)
        if (!std::strcmp(argv[i], "--azimuths")) pattern.azimuths = std::atoi(argv[i + 1]);
    auto dirs = pattern.directions();
    auto poses = sensor_track(g);

    Scanner<unsigned char, RowMajor> plain(g, dirs);
    Scanner<unsigned char, Bricks> bricked(g, dirs);
    Scanner<float, RowMajor> density(g, dirs);
    std::vector<std::vector<RayHit>> hits;
    int bad = 0, found = 0;
    for (const Pose& p : poses) {
        auto ref = host_scan(g, dirs, p);
        hits.push_back(plain.scan(p));
        bad += disagreements(hits.back(), ref);
        bad += disagreements(bricked.scan(p), ref);
        bad += disagreements(density.scan(p), ref);
        for (auto& h : ref) found += h.cell >= 0;
    }

    CarvedMap m = carve(g, dirs, poses, hits);
    std::vector<int> ev(g.cells(), 0);
    for (size_t p = 0; p < poses.size(); ++p)
        for (size_t i = 0; i < dirs.size(); ++i) {
            int left = hits[p][i].steps;
            traverse(g, poses[p].origin, dirs[i], [&](int x, int y, int z, float) {
                int at = RowMajor::at(g, x, y, z);
                ev[at] += at == hits[p][i].cell ? kHitWeight : -kMissWeight;
                return --left > 0;
            });
        }
    long differ = 0;
    std::vector<int> listed;
    bool solid = true;
    for (int c = 0; c < g.cells(); ++c) {
        differ += std::labs(long(ev[c]) - m.evidence[c]);
        if (m.evidence[c] >= kOccupiedAt) {
            listed.push_back(c);
            solid &= solid_at(g, c % g.nx, c / g.nx % g.ny, c / (g.nx * g.ny));
        }
    }
    std::printf("%zu rays x %zu poses, %d hits, %d disagreements, evidence difference %ld, occupied %zu\n", dirs.size(),
                poses.size(), found, bad, differ, m.occupied.size());
    bool ok = bad <= int(dirs.size()) / 500 && differ <= 2000 && listed == m.occupied && solid && found > 1000;
    std::puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
