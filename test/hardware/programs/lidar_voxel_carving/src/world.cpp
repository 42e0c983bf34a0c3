#include "../include/voxel_grid.hpp"
#include <cmath>

namespace {
unsigned hash2(unsigned a, unsigned b) {
    unsigned h = a * 73856093u ^ b * 19349663u;
    h ^= h >> 13;
    h *= 0x5bd1e995u;
    return h ^ (h >> 15);
}
}  // namespace

bool solid_at(const GridDims& g, int x, int y, int z) {
    if (z < 2 + int(hash2(x / 5, y / 5) % 2u)) return true;                 // ground
    unsigned h = hash2(x / 8, y / 8);
    if (h % 5u == 0 && (x % 8) > 1 && (y % 8) > 1 && z < 8 + int(h % 23u)) // buildings
        return !(x / 8 == g.nx / 16 || y / 8 == g.ny / 16);                // roads stay free
    return false;
}

std::vector<Pose> sensor_track(const GridDims& g) {
    std::vector<Pose> p;
    for (int i = 0; i < 3; ++i) p.push_back({{g.nx / 16 * 8 + 3.37f, 9.21f + 26.4f * i, 7.43f + 0.6f * i}});
    return p;
}

std::vector<Vec3> ScanPattern::directions() const {
    std::vector<Vec3> d;
    d.reserve(rays());
    for (int a = 0; a < azimuths; ++a)          // the beams of a column are neighbours
        for (int b = 0; b < beams; ++b) {
            double az = 2 * 3.14159265358979 * (a + 0.25) / azimuths, el = (-24.0 + 1.3 * b) * 3.14159265358979 / 180;
            d.push_back({float(std::cos(el) * std::cos(az)), float(std::cos(el) * std::sin(az)), float(std::sin(el))});
        }
    return d;
}
