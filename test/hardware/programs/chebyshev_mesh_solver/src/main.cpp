#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include "../include/cheby_solver.hpp"

struct RunConfig {
    MeshOptions mesh;
    int plain_steps = 4;
    int vector_steps = 4;
};

static RunConfig parse(int argc, char** argv) {
    RunConfig c;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!std::strcmp(argv[i], "--nx")) c.mesh.nx = std::atoi(argv[i + 1]);
        else if (!std::strcmp(argv[i], "--ny")) c.mesh.ny = std::atoi(argv[i + 1]);
        else if (!std::strcmp(argv[i], "--plain")) c.plain_steps = std::atoi(argv[i + 1]);
        else if (!std::strcmp(argv[i], "--vector")) c.vector_steps = std::atoi(argv[i + 1]);
    }
    return c;
}

static std::vector<double> host_chebyshev(const CsrMatrix& a, const std::vector<float>& b, double lo, double hi,
                                          int steps) {
    double theta = 0.5 * (hi + lo), delta = 0.5 * (hi - lo), rho = delta / theta;
    int n = a.rows;
    std::vector<double> x(n, 0.0), r(b.begin(), b.end()), p(n), ap;
    for (int i = 0; i < n; ++i) p[i] = r[i] / theta;
    for (int s = 0; s < steps; ++s) {
        a.multiply(p, ap);
        double next = 1.0 / (2.0 * theta / delta - rho);
        for (int i = 0; i < n; ++i) {
            x[i] += p[i];
            r[i] -= ap[i];
            p[i] = next * rho * p[i] + 2.0 * next / delta * r[i];
        }
        rho = next;
    }
    return x;
}

int main(int argc, char** argv) {
    RunConfig cfg = parse(argc, argv);
    CsrMatrix a = assemble_triangle_mesh(cfg.mesh);
    std::vector<float> b = smooth_rhs(cfg.mesh, a.rows);
    double lo = cfg.mesh.shift, hi = a.gershgorin_upper();

    ChebyshevSolver solver(a, lo, hi);
    solver.load_rhs(b);
    solver.iterate(cfg.plain_steps, SpmvMode::RowPerThread);
    double mid = solver.residual_norm();
    solver.iterate(cfg.vector_steps, SpmvMode::SubwarpPerRow);
    double fin = solver.residual_norm();

    auto ref = host_chebyshev(a, b, lo, hi, cfg.plain_steps + cfg.vector_steps);
    auto got = solver.solution();
    double err = 0.0, scale = 0.0, b2 = 0.0;
    for (int i = 0; i < a.rows; ++i) {
        err = std::fmax(err, std::fabs(got[i] - ref[i]));
        scale = std::fmax(scale, std::fabs(ref[i]));
        b2 += double(b[i]) * b[i];
    }
    std::printf("rows %d nnz %zu spectrum [%.2f, %.2f] |b| %.4e mid %.4e end %.4e err %.2e\n", a.rows, a.nnz(), lo, hi,
                std::sqrt(b2), mid, fin, err / scale);
    bool ok = err / scale < 1e-4 && fin < mid && fin < 0.02 * std::sqrt(b2);
    std::puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
