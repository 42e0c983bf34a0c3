/* plain C++ model of the same time step */
#pragma once
#include <cmath>
#include <vector>
struct ref_t {
    int nx, ny, s; std::vector<double> d, e, u, u0, p, r, w, kx, ky, z, sd;
    ref_t(int nx_, int ny_) : nx(nx_), ny(ny_), s(nx_ + 4) { for (auto v : {&d, &e, &u, &u0, &p, &r, &w, &kx, &ky, &z, &sd}) v->assign((size_t)s * (ny + 4), 0.0); }
    int at(int i, int j) const { return (j + 2) * s + i + 2; }
    void halo(std::vector<double> &a, int depth) {
        for (int j = -depth; j < ny + depth; j++) for (int k = 0; k < depth; k++) { a[at(-1 - k, j)] = a[at(k, j)]; a[at(nx + k, j)] = a[at(nx - 1 - k, j)]; }
        for (int i = -depth; i < nx + depth; i++) for (int k = 0; k < depth; k++) { a[at(i, -1 - k)] = a[at(i, k)]; a[at(i, ny + k)] = a[at(i, ny - 1 - k)]; }
    }
    double diag(int c, double rx, double ry) const { return 1 + ry * (ky[c + s] + ky[c]) + rx * (kx[c + 1] + kx[c]); }
    double mul(const std::vector<double> &a, int c, double rx, double ry) const { return diag(c, rx, ry) * a[c] - ry * (ky[c + s] * a[c + s] + ky[c] * a[c - s]) - rx * (kx[c + 1] * a[c + 1] + kx[c] * a[c - 1]); }
};
