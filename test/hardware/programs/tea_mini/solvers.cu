#include "kernels.cuh"

__global__ void device_tea_leaf_init_u(const int x_cells, const int y_cells, const double *__restrict__ density, const double *__restrict__ energy, double *__restrict__ u, double *__restrict__ u0, double *__restrict__ w)
{
    __kernel_indexes(HALO_DEPTH);
    if (WITHIN(HALO_DEPTH)) {
        const double t = density[THARR2D(0, 0)] * energy[THARR2D(0, 0)];
        u[THARR2D(0, 0)] = t;
        u0[THARR2D(0, 0)] = t;
        w[THARR2D(0, 0)] = 1.0 / density[THARR2D(0, 0)];     /* conductivity */
    }
}
__global__ void device_tea_leaf_init_k(const int x_cells, const int y_cells, const double *__restrict__ w, double *__restrict__ kx, double *__restrict__ ky)
{
    __kernel_indexes(1);
    if (WITHIN(1) && column > 0 && row > 0) {
        kx[THARR2D(0, 0)] = (w[THARR2D(-1, 0)] + w[THARR2D(0, 0)]) / (2.0 * w[THARR2D(-1, 0)] * w[THARR2D(0, 0)]);
        ky[THARR2D(0, 0)] = (w[THARR2D(0, -1)] + w[THARR2D(0, 0)]) / (2.0 * w[THARR2D(0, -1)] * w[THARR2D(0, 0)]);
    }
}
__global__ void device_tea_leaf_cg_init(const int x_cells, const int y_cells, const double *__restrict__ u, const double *__restrict__ kx, const double *__restrict__ ky, double rx, double ry, double *__restrict__ r, double *__restrict__ p, double *__restrict__ z, double *__restrict__ rro, int precon)
{
    __kernel_indexes(0);
    __shared__ double rro_shared[BLOCK_SZ];
    rro_shared[loc_id] = 0.0;
    if (WITHIN(0)) {
        const double res = u[THARR2D(0, 0)] - SMVP(u);       /* u0 == u here */
        r[THARR2D(0, 0)] = res;
        const double zz = precon ? res / DIAG() : res;
        if (precon) z[THARR2D(0, 0)] = zz;
        p[THARR2D(0, 0)] = zz;
        rro_shared[loc_id] = res * zz;
    }
    BLOCK_REDUCE(rro_shared, rro);
}
__global__ void device_tea_leaf_cg_solve_calc_w(const int x_cells, const int y_cells, double *__restrict__ pw, const double *__restrict__ p, double *__restrict__ w, const double *__restrict__ kx, const double *__restrict__ ky, double rx, double ry)
{
    __kernel_indexes(0);
    __shared__ double pw_shared[BLOCK_SZ];
    pw_shared[loc_id] = 0.0;
    if (WITHIN(0)) {
        w[THARR2D(0, 0)] = SMVP(p);
        pw_shared[loc_id] = w[THARR2D(0, 0)] * p[THARR2D(0, 0)];
    }
    BLOCK_REDUCE(pw_shared, pw);
}
template <int PRECON>
__global__ void device_tea_leaf_cg_solve_calc_ur(const int x_cells, const int y_cells, const double alpha, double *__restrict__ u, const double *__restrict__ p, double *__restrict__ r, const double *__restrict__ w, double *__restrict__ z, const double *__restrict__ kx, const double *__restrict__ ky, double rx, double ry, double *__restrict__ rrn)
{
    __kernel_indexes(0);
    __shared__ double rrn_shared[BLOCK_SZ];
    rrn_shared[loc_id] = 0.0;
    if (WITHIN(0)) {
        u[THARR2D(0, 0)] += alpha * p[THARR2D(0, 0)];
        const double rn = r[THARR2D(0, 0)] - alpha * w[THARR2D(0, 0)];
        r[THARR2D(0, 0)] = rn;
        if (PRECON) {
            const double zz = rn / DIAG();
            z[THARR2D(0, 0)] = zz;
            rrn_shared[loc_id] = rn * zz;
        } else rrn_shared[loc_id] = rn * rn;
    }
    BLOCK_REDUCE(rrn_shared, rrn);
}
__global__ void device_tea_leaf_cheby_init(const int x_cells, const int y_cells, const double *__restrict__ u, const double *__restrict__ u0, double *__restrict__ r, double *__restrict__ sd, const double *__restrict__ kx, const double *__restrict__ ky, double rx, double ry, double theta)
{
    __kernel_indexes(0);
    if (WITHIN(0)) {
        r[THARR2D(0, 0)] = u0[THARR2D(0, 0)] - SMVP(u);
        sd[THARR2D(0, 0)] = r[THARR2D(0, 0)] / theta;
    }
}
/* r -= A sd through a shared tile with one halo cell */
__global__ void device_tea_leaf_cheby_calc_r(const int x_cells, const int y_cells, double *__restrict__ u, double *__restrict__ r, const double *__restrict__ sd, const double *__restrict__ kx, const double *__restrict__ ky, double rx, double ry)
{
    __kernel_indexes(0);
    __shared__ double t[BLOCK_Y + 2][BLOCK_X + 2];
    for (int i = loc_id; i < (BLOCK_Y + 2) * (BLOCK_X + 2); i += BLOCK_SZ) {
        const int tx = i % (BLOCK_X + 2), ty = i / (BLOCK_X + 2);
        const int gx = blockIdx.x * BLOCK_X + HALO_DEPTH - 1 + tx, gy = blockIdx.y * BLOCK_Y + HALO_DEPTH - 1 + ty;
        t[ty][tx] = (gx < stride && gy < y_cells + 2 * HALO_DEPTH) ? sd[gx + gy * stride] : 0.0;
    }
    __syncthreads();
    if (WITHIN(0)) {
        const int i = threadIdx.x + 1, j = threadIdx.y + 1;
        r[THARR2D(0, 0)] -= DIAG() * t[j][i]
            - ry * (ky[THARR2D(0, 1)] * t[j + 1][i] + ky[THARR2D(0, 0)] * t[j - 1][i])
            - rx * (kx[THARR2D(1, 0)] * t[j][i + 1] + kx[THARR2D(0, 0)] * t[j][i - 1]);
        u[THARR2D(0, 0)] += t[j][i];
    }
}
/* new direction of either solver */
__global__ void device_axpby(const int x_cells, const int y_cells, double *__restrict__ sd, const double *__restrict__ r, double alpha, double beta)
{
    __kernel_indexes(0);
    if (WITHIN(0)) sd[THARR2D(0, 0)] = alpha * sd[THARR2D(0, 0)] + beta * r[THARR2D(0, 0)];
}
double cg_init(chunk_t *c, double rx, double ry, int precon)
{
    CUDALAUNCH(HALO_DEPTH, device_tea_leaf_init_u, c->density, c->energy0, c->u, c->u0, c->w);
    CUDALAUNCH(1, device_tea_leaf_init_k, c->w, c->kx, c->ky);
    CUDALAUNCH(0, device_tea_leaf_cg_init, c->u, c->kx, c->ky, rx, ry, c->r, c->p, c->z, c->reduce_buf, precon);
    return reduce_sum(c, c->num_blocks);
}
double cg_calc_w(chunk_t *c, double rx, double ry)
{
    CUDALAUNCH(0, device_tea_leaf_cg_solve_calc_w, c->reduce_buf, c->p, c->w, c->kx, c->ky, rx, ry);
    return reduce_sum(c, c->num_blocks);
}
double cg_calc_ur(chunk_t *c, double alpha, int precon)
{
    const double rx = c->dt / (c->dx * c->dx), ry = c->dt / (c->dy * c->dy);
    if (precon) CUDALAUNCH(0, device_tea_leaf_cg_solve_calc_ur<1>, alpha, c->u, c->p, c->r, c->w, c->z, c->kx, c->ky, rx, ry, c->reduce_buf);
    else CUDALAUNCH(0, device_tea_leaf_cg_solve_calc_ur<0>, alpha, c->u, c->p, c->r, c->w, c->z, c->kx, c->ky, rx, ry, c->reduce_buf);
    return reduce_sum(c, c->num_blocks);
}
void cg_calc_p(chunk_t *c, double beta, int precon) { CUDALAUNCH(0, device_axpby, c->p, precon ? c->z : c->r, beta, 1.0); }
void cheby_init(chunk_t *c, double rx, double ry, double theta) { CUDALAUNCH(0, device_tea_leaf_cheby_init, c->u, c->u0, c->r, c->sd, c->kx, c->ky, rx, ry, theta); }
void cheby_iterate(chunk_t *c, double rx, double ry, double alpha, double beta)
{
    CUDALAUNCH(0, device_tea_leaf_cheby_calc_r, c->u, c->r, c->sd, c->kx, c->ky, rx, ry);
    CUDALAUNCH(0, device_axpby, c->sd, c->r, alpha, beta);
}
