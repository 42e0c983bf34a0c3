#pragma once
#include <math.h>
#include "voxel_grid.hpp"

// Walks the cells along a ray until visit() returns false or the grid ends.
template <class Visit>
VOX_HD inline void traverse(const GridDims& g, Vec3 o, Vec3 d, Visit&& visit) {
    int c[3] = {int(floorf(o.x)), int(floorf(o.y)), int(floorf(o.z))};
    const int n[3] = {g.nx, g.ny, g.nz};
    const float org[3] = {o.x, o.y, o.z}, dir[3] = {d.x, d.y, d.z};
    int step[3];
    float next[3], delta[3];
    for (int k = 0; k < 3; ++k) {
        step[k] = dir[k] > 0.0f ? 1 : -1;
        if (dir[k] == 0.0f) {
            next[k] = delta[k] = 1e30f;
        } else {
            float edge = float(dir[k] > 0.0f ? c[k] + 1 : c[k]);
            next[k] = (edge - org[k]) / dir[k];
            delta[k] = 1.0f / fabsf(dir[k]);
        }
    }
    float t = 0.0f;
    while (c[0] >= 0 && c[1] >= 0 && c[2] >= 0 && c[0] < n[0] && c[1] < n[1] && c[2] < n[2]) {
        if (!visit(c[0], c[1], c[2], t)) return;
        int k = next[0] < next[1] ? (next[0] < next[2] ? 0 : 2) : (next[1] < next[2] ? 1 : 2);
        t = next[k];
        next[k] += delta[k];
        c[k] += step[k];
    }
}
