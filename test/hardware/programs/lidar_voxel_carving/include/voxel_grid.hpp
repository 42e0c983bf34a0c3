#pragma once
#include <cstdint>
#include <vector>

#ifdef __CUDACC__
#define VOX_HD __host__ __device__
#else
#define VOX_HD
#endif

struct GridDims {
    int nx = 96, ny = 80, nz = 40;
    VOX_HD int cells() const { return nx * ny * nz; }
};

// Two ways of numbering the cells.
struct RowMajor {
    VOX_HD static int at(const GridDims& g, int x, int y, int z) { return (z * g.ny + y) * g.nx + x; }
};

struct Bricks {  // 4x4x4 bricks, each contiguous
    VOX_HD static int at(const GridDims& g, int x, int y, int z) {
        int brick = ((z >> 2) * (g.ny >> 2) + (y >> 2)) * (g.nx >> 2) + (x >> 2);
        return brick * 64 + ((z & 3) * 4 + (y & 3)) * 4 + (x & 3);
    }
};

struct Vec3 { float x, y, z; };

struct Pose { Vec3 origin; };

struct RayHit {        // one record per beam
    float range;       // negative if nothing was hit
    int cell;          // row major number of the hit cell or -1
    int steps;
};

struct ScanPattern {
    int azimuths = 360;
    int beams = 32;
    int rays() const { return azimuths * beams; }
    std::vector<Vec3> directions() const;
};

// world.cpp
std::vector<Pose> sensor_track(const GridDims& g);
bool solid_at(const GridDims& g, int x, int y, int z);
