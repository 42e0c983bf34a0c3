#include "kernels.cuh"
#include <string.h>

__global__ void device_generate_chunk(const int x_cells, const int y_cells, double dx, double dy, state_t st, double *__restrict__ density, double *__restrict__ energy)
{
    __kernel_indexes(HALO_DEPTH);
    if (WITHIN(HALO_DEPTH)) {
        const double x = dx * (column - HALO_DEPTH + 0.5), y = dy * (row - HALO_DEPTH + 0.5);
        if (x >= st.x0 && x < st.x1 && y >= st.y0 && y < st.y1) { energy[THARR2D(0, 0)] = st.energy; density[THARR2D(0, 0)] = st.density; }
    }
}

/* reflective boundaries, one launch a pair of faces; left/right run down columns: strided */
__global__ void device_update_halo(const int x_cells, const int y_cells, double *__restrict__ a, const int depth, const int face)
{
    const int stride = x_cells + 2 * HALO_DEPTH;
    const int n = blockIdx.x * blockDim.x + threadIdx.x + HALO_DEPTH - depth;
    const int k = threadIdx.y;
    if (k >= depth) return;
    if (face == CHUNK_LEFT) {
        if (n < y_cells + HALO_DEPTH + depth) {
            a[n * stride + HALO_DEPTH - 1 - k] = a[n * stride + HALO_DEPTH + k];
            a[n * stride + HALO_DEPTH + x_cells + k] = a[n * stride + HALO_DEPTH + x_cells - 1 - k];
        }
    } else {
        if (n < x_cells + HALO_DEPTH + depth) {
            a[(HALO_DEPTH - 1 - k) * stride + n] = a[(HALO_DEPTH + k) * stride + n];
            a[(HALO_DEPTH + y_cells + k) * stride + n] = a[(HALO_DEPTH + y_cells - 1 - k) * stride + n];
        }
    }
}

__global__ void device_field_summary(const int x_cells, const int y_cells, const double vol, const double *__restrict__ density, double *__restrict__ energy, const double *__restrict__ u, double *out)
{
    __kernel_indexes(0);
    __shared__ double mass_sh[BLOCK_SZ], ie_sh[BLOCK_SZ], temp_sh[BLOCK_SZ];
    mass_sh[loc_id] = ie_sh[loc_id] = temp_sh[loc_id] = 0.0;
    if (WITHIN(0)) {
        const double m = vol * density[THARR2D(0, 0)];
        mass_sh[loc_id] = m;
        energy[THARR2D(0, 0)] = u[THARR2D(0, 0)] / density[THARR2D(0, 0)];      /* finalise on the way */
        ie_sh[loc_id] = m * energy[THARR2D(0, 0)];
        temp_sh[loc_id] = m * u[THARR2D(0, 0)];
    }
    const int nb = gridDim.x * gridDim.y;
    BLOCK_REDUCE(mass_sh, out);
    BLOCK_REDUCE(ie_sh, out + nb);
    BLOCK_REDUCE(temp_sh, out + 2 * nb);
}

__global__ void device_reduction(const int n, const double *__restrict__ in, double *__restrict__ out)
{
    __shared__ double s[256];
    double v = 0.0;
    for (int i = threadIdx.x; i < n; i += 256) v += in[i];
    s[threadIdx.x] = v;
    __syncthreads();
    for (int off = 128; off > 0; off /= 2) {
        if (threadIdx.x < off) s[threadIdx.x] += s[threadIdx.x + off];
        __syncthreads();
    }
    if (threadIdx.x == 0) *out = s[0];
}

void chunk_init(chunk_t *c, int nx, int ny)
{
    memset(c, 0, sizeof(*c));
    c->x_cells = nx; c->y_cells = ny; c->dx = 10.0 / nx; c->dy = 10.0 / ny; c->dt = 0.004;
    const size_t bytes = sizeof(double) * (nx + 2 * HALO_DEPTH) * (ny + 2 * HALO_DEPTH);
    double **all[] = {&c->density, &c->energy0, &c->energy, &c->u, &c->u0, &c->p, &c->r, &c->w, &c->kx, &c->ky, &c->sd, &c->z};
    for (auto a : all) { cudaMalloc(a, bytes); cudaMemset(*a, 0, bytes); }
    c->num_blocks = ((nx + BLOCK_X - 1) / BLOCK_X) * ((ny + BLOCK_Y - 1) / BLOCK_Y);
    cudaMalloc(&c->reduce_buf, 3 * c->num_blocks * sizeof(double));
    cudaMalloc(&c->reduce_out, 3 * sizeof(double));
    CUDA_ERR_CHECK();
}

void generate_chunk(chunk_t *c, const state_t *st, int n)
{
    /* the first state is the background and covers everything */
    for (int i = 0; i < n; i++) CUDALAUNCH(HALO_DEPTH, device_generate_chunk, c->dx, c->dy, st[i], c->density, c->energy0);
}

void update_halo(chunk_t *c, const int fields[NUM_FIELDS], int depth)
{
    double *ptr[NUM_FIELDS] = {c->density, c->energy0, c->u, c->p, c->sd};
    for (int f = 0; f < NUM_FIELDS; f++) if (fields[f]) {
        device_update_halo<<<(c->y_cells + 2 * depth + 127) / 128, dim3(128, HALO_DEPTH)>>>(c->x_cells, c->y_cells, ptr[f], depth, CHUNK_LEFT);
        device_update_halo<<<(c->x_cells + 2 * depth + 127) / 128, dim3(128, HALO_DEPTH)>>>(c->x_cells, c->y_cells, ptr[f], depth, CHUNK_BOTTOM);
        CUDA_ERR_CHECK();
    }
}

double reduce_sum(chunk_t *c, int blocks)
{
    double v;
    device_reduction<<<1, 256>>>(blocks, c->reduce_buf, c->reduce_out);
    CUDA_ERR_CHECK();
    cudaMemcpy(&v, c->reduce_out, sizeof(double), cudaMemcpyDeviceToHost);
    return v;
}

void field_summary(chunk_t *c, double out[3])
{
    CUDALAUNCH(0, device_field_summary, c->dx * c->dy, c->density, c->energy, c->u, c->reduce_buf);
    double *h = (double *)malloc(3 * c->num_blocks * sizeof(double));
    cudaMemcpy(h, c->reduce_buf, 3 * c->num_blocks * sizeof(double), cudaMemcpyDeviceToHost);
    for (int k = 0; k < 3; k++) { out[k] = 0; for (int b = 0; b < c->num_blocks; b++) out[k] += h[k * c->num_blocks + b]; }
    free(h);
}
