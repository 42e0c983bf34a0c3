// nvcc: -std=c++17
#include "tea.h"
#include "reference.h"
#include <string.h>

int main(int argc, char **argv)
{
    int nx = 500, ny = 300, cg_iters = 2, cheby = 2, precon = 0;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-x")) nx = atoi(argv[++i]);
        else if (!strcmp(argv[i], "-y")) ny = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--cg")) cg_iters = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--cheby")) cheby = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--jac-diag")) precon = 1;
        else { fprintf(stderr, "unknown option %s\n", argv[i]); return 1; }
    }
    const state_t st[3] = {{-1e9, 1e9, -1e9, 1e9, 100.0, 0.0001}, {0.0, 5.0, 0.0, 2.0, 0.1, 25.0}, {4.0, 7.5, 3.0, 8.0, 2.0, 3.0}};
    chunk_t ck, *c = &ck;
    chunk_init(c, nx, ny);
    const double rx = c->dt / (c->dx * c->dx), ry = c->dt / (c->dy * c->dy), theta = 1.0 + 400 * (rx + ry);
    const int f_init[NUM_FIELDS] = {1, 1, 0, 0, 0}, f_p[NUM_FIELDS] = {0, 0, 0, 1, 0}, f_u[NUM_FIELDS] = {0, 0, 1, 0, 0}, f_sd[NUM_FIELDS] = {0, 0, 0, 0, 1};
    generate_chunk(c, st, 3);
    update_halo(c, f_init, 2);
    double rro = cg_init(c, rx, ry, precon), rr0 = rro;
    for (int it = 0; it < cg_iters; it++) {
        update_halo(c, f_p, 1);
        const double alpha = rro / cg_calc_w(c, rx, ry);
        const double rrn = cg_calc_ur(c, alpha, precon);
        cg_calc_p(c, rrn / rro, precon);
        rro = rrn;
    }
    if (cheby) {
        update_halo(c, f_u, 1);
        cheby_init(c, rx, ry, theta);
        for (int it = 0; it < cheby; it++) { update_halo(c, f_sd, 1); cheby_iterate(c, rx, ry, 0.3, 0.5 / theta); }
    }
    double fs[3];
    field_summary(c, fs);

    ref_t R(nx, ny);
    for (int j = -2; j < ny + 2; j++) for (int i = -2; i < nx + 2; i++) {
        const double x = c->dx * (i + 0.5), y = c->dy * (j + 0.5);
        R.d[R.at(i, j)] = st[0].density; R.e[R.at(i, j)] = st[0].energy;
        for (int k = 1; k < 3; k++) if (x >= st[k].x0 && x < st[k].x1 && y >= st[k].y0 && y < st[k].y1) { R.d[R.at(i, j)] = st[k].density; R.e[R.at(i, j)] = st[k].energy; }
    }
    R.halo(R.d, 2); R.halo(R.e, 2);
    for (size_t q = 0; q < R.u.size(); q++) { R.u[q] = R.u0[q] = R.d[q] * R.e[q]; R.w[q] = 1.0 / R.d[q]; }
    for (int j = -1; j < ny + 1; j++) for (int i = -1; i < nx + 1; i++) { int q = R.at(i, j); R.kx[q] = (R.w[q - 1] + R.w[q]) / (2 * R.w[q - 1] * R.w[q]); R.ky[q] = (R.w[q - R.s] + R.w[q]) / (2 * R.w[q - R.s] * R.w[q]); }
#define LOOP for (int j = 0; j < ny; j++) for (int i = 0; i < nx; i++) { const int q = R.at(i, j);
#define END }
    double ro = 0;
    LOOP R.r[q] = R.u[q] - R.mul(R.u, q, rx, ry); R.p[q] = precon ? R.r[q] / R.diag(q, rx, ry) : R.r[q]; ro += R.r[q] * R.p[q]; END
    const double ref_rr0 = ro;
    for (int it = 0; it < cg_iters; it++) {
        R.halo(R.p, 1);
        double pw = 0, rn = 0;
        LOOP R.w[q] = R.mul(R.p, q, rx, ry); pw += R.w[q] * R.p[q]; END
        const double a = ro / pw;
        LOOP R.u[q] += a * R.p[q]; R.r[q] -= a * R.w[q]; R.z[q] = precon ? R.r[q] / R.diag(q, rx, ry) : R.r[q]; rn += R.r[q] * R.z[q]; END
        LOOP R.p[q] = rn / ro * R.p[q] + R.z[q]; END
        ro = rn;
    }
    if (cheby) {
        R.halo(R.u, 1);
        LOOP R.r[q] = R.u0[q] - R.mul(R.u, q, rx, ry); R.sd[q] = R.r[q] / theta; END
        for (int it = 0; it < cheby; it++) {
            R.halo(R.sd, 1);
            LOOP R.r[q] -= R.mul(R.sd, q, rx, ry); R.u[q] += R.sd[q]; END
            LOOP R.sd[q] = 0.3 * R.sd[q] + 0.5 / theta * R.r[q]; END
        }
    }
    std::vector<double> u(R.u.size());
    cudaMemcpy(u.data(), c->u, u.size() * sizeof(double), cudaMemcpyDeviceToHost);
    CUDA_ERR_CHECK();
    double err = 0, scale = 0, mass = 0, ie = 0, aie = 0;
    LOOP err = fmax(err, fabs(u[q] - R.u[q])); scale = fmax(scale, fabs(R.u[q])); mass += c->dx * c->dy * R.d[q]; ie += c->dx * c->dy * R.u[q]; aie += c->dx * c->dy * fabs(R.u[q]); END
    printf("%d x %d: rr0 %.10e (ref %.10e), rr %.6e (ref %.6e)\n", nx, ny, rr0, ref_rr0, rro, ro);
    printf("mass %.8e ie %.8e temp %.8e, u err %.2e of %.2e\n", fs[0], fs[1], fs[2], err, scale);
    const int ok = err <= 1e-6 * scale && fabs(fs[0] - mass) <= 1e-8 * mass && fabs(fs[1] - ie) <= 1e-6 * aie && fabs(rr0 - ref_rr0) <= 1e-8 * ref_rr0;
    puts(ok ? "PASS" : "FAIL");
    return !ok;
}
