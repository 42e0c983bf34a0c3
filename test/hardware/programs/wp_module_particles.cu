// Looks like the output of a python-to-CUDA kernel compiler: SSA variables, launch bounds, forward and
// adjoint kernels. Cloth springs, semi-implicit integration, hash-grid contacts, a loss, and one gradient.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CUDA_CALLABLE __host__ __device__
#define CUDA_CALLABLE_DEVICE __device__
#define check_cuda(c) do { cudaError_t e = (c); if (e) { fprintf(stderr, "Warp CUDA error %d: %s (%s:%d)\n", e, cudaGetErrorString(e), __FILE__, __LINE__); exit(1); } } while (0)

namespace wp
{
typedef float float32; typedef int int32;

template <unsigned Length, typename Type> struct vec_t { Type c[Length];
    CUDA_CALLABLE vec_t() { for (unsigned i = 0; i < Length; ++i) c[i] = Type(0); }
    CUDA_CALLABLE vec_t(Type x, Type y, Type z) { c[0] = x; c[1] = y; c[2] = z; }
    CUDA_CALLABLE Type operator[](int i) const { return c[i]; } };
typedef vec_t<3, float> vec3;
CUDA_CALLABLE inline vec3 add(const vec3& a, const vec3& b) { return vec3(a[0] + b[0], a[1] + b[1], a[2] + b[2]); }
CUDA_CALLABLE inline vec3 sub(const vec3& a, const vec3& b) { return vec3(a[0] - b[0], a[1] - b[1], a[2] - b[2]); }
CUDA_CALLABLE inline vec3 mul(const vec3& a, float s) { return vec3(a[0] * s, a[1] * s, a[2] * s); }
CUDA_CALLABLE inline vec3 div(const vec3& a, float s) { return vec3(a[0] / s, a[1] / s, a[2] / s); }
CUDA_CALLABLE inline float dot(const vec3& a, const vec3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
CUDA_CALLABLE inline float length(const vec3& a) { return sqrtf(dot(a, a)); }
CUDA_CALLABLE inline float add(float a, float b) { return a + b; }
CUDA_CALLABLE inline float sub(float a, float b) { return a - b; }
CUDA_CALLABLE inline float mul(float a, float b) { return a * b; }
// adjoints
CUDA_CALLABLE inline void adj_sub(const vec3&, const vec3&, vec3& adj_a, vec3& adj_b, const vec3& adj_ret) { adj_a = add(adj_a, adj_ret); adj_b = sub(adj_b, adj_ret); }
CUDA_CALLABLE inline void adj_mul(const vec3& a, float s, vec3& adj_a, float& adj_s, const vec3& adj_ret) { adj_a = add(adj_a, mul(adj_ret, s)); adj_s += dot(a, adj_ret); }
CUDA_CALLABLE inline void adj_div(const vec3& a, float s, vec3& adj_a, float& adj_s, const vec3& adj_ret) { adj_a = add(adj_a, div(adj_ret, s)); adj_s -= dot(a, adj_ret) / (s * s); }
CUDA_CALLABLE inline void adj_length(const vec3& a, float ret, vec3& adj_a, float adj_ret) { if (ret > 1e-9f) adj_a = add(adj_a, mul(a, adj_ret / ret)); }
CUDA_CALLABLE inline void adj_mul(float a, float b, float& adj_a, float& adj_b, float adj_ret) { adj_a += b * adj_ret; adj_b += a * adj_ret; }
CUDA_CALLABLE inline void adj_sub(float, float, float& adj_a, float& adj_b, float adj_ret) { adj_a += adj_ret; adj_b -= adj_ret; }

static const int ARRAY_MAX_DIMS = 4;
struct shape_t { int dims[ARRAY_MAX_DIMS]; };
template <typename T> struct array_t { T* data; T* grad; shape_t shape; int strides[ARRAY_MAX_DIMS]; int ndim; };
template <typename T> CUDA_CALLABLE inline T* address(const array_t<T>& arr, int i) { return (T*)((char*)arr.data + (size_t)i * arr.strides[0]); }
template <typename T> CUDA_CALLABLE inline T* address(const array_t<T>& arr, int i, int j) { return (T*)((char*)arr.data + (size_t)i * arr.strides[0] + (size_t)j * arr.strides[1]); }
template <typename T> CUDA_CALLABLE inline T* address_grad(const array_t<T>& arr, int i) { return (T*)((char*)arr.grad + (size_t)i * arr.strides[0]); }
template <typename T> CUDA_CALLABLE inline T load(T* p) { return *p; }
template <typename T> CUDA_CALLABLE inline void array_store(const array_t<T>& a, int i, const T& v) { *address(a, i) = v; }
CUDA_CALLABLE_DEVICE inline void atomic_add(float* p, float v) { atomicAdd(p, v); }
CUDA_CALLABLE_DEVICE inline void atomic_add(vec3* p, const vec3& v) { atomicAdd(&p->c[0], v[0]); atomicAdd(&p->c[1], v[1]); atomicAdd(&p->c[2], v[2]); }

const int LAUNCH_MAX_DIMS = 4;
struct launch_bounds_t { int shape[LAUNCH_MAX_DIMS]; int ndim; size_t size; };
struct launch_coord_t { int i, j; };
CUDA_CALLABLE inline launch_coord_t launch_coord(size_t linear, const launch_bounds_t& b) { launch_coord_t c; if (b.ndim > 1) { c.j = (int)(linear % b.shape[1]); linear /= b.shape[1]; } else c.j = 0; c.i = (int)linear; return c; }

struct HashGrid { float cell_width, cell_width_inv; int dim_x, dim_y, dim_z; int* point_cells; int* point_ids; int* cell_starts; int* cell_ends; };
CUDA_CALLABLE inline int hash_grid_index(const HashGrid& g, int x, int y, int z) {
    const int origin = 1 << 20;
    x += origin; y += origin; z += origin;
    return z % g.dim_z * (g.dim_x * g.dim_y) + y % g.dim_y * g.dim_x + x % g.dim_x;
}
CUDA_CALLABLE inline int hash_grid_index(const HashGrid& g, const vec3& p) { return hash_grid_index(g, int(floorf(p[0] * g.cell_width_inv)), int(floorf(p[1] * g.cell_width_inv)), int(floorf(p[2] * g.cell_width_inv))); }
}  // namespace wp
#define WP_GRID_STRIDE_LOOP(dim) for (size_t _idx = static_cast<size_t>(blockDim.x) * static_cast<size_t>(blockIdx.x) + static_cast<size_t>(threadIdx.x); _idx < dim.size; _idx += static_cast<size_t>(blockDim.x) * static_cast<size_t>(gridDim.x))

extern "C" __global__ void eval_springs_7f3c_cuda_kernel_forward(
    wp::launch_bounds_t dim, wp::array_t<wp::vec3> var_x, wp::array_t<wp::vec3> var_v, wp::array_t<wp::int32> var_spring_indices,
    wp::array_t<wp::float32> var_rest, wp::float32 var_ke, wp::float32 var_kd, wp::array_t<wp::vec3> var_f)
{
    WP_GRID_STRIDE_LOOP(dim)
    {
        //---------
        // primal vars
        wp::int32 var_0; wp::int32 var_2; wp::int32 var_4; wp::vec3 var_6, var_7, var_8, var_9, var_10, var_13; wp::float32 var_11, var_12, var_14, var_15, var_16, var_17, var_18; wp::vec3 var_19;
        //---------
        // forward
        // def eval_springs(x, v, spring_indices, rest, ke, kd, f):
        // tid = wp.tid()
        var_0 = wp::launch_coord(_idx, dim).i;
        // i = spring_indices[tid * 2 + 0]
        var_2 = wp::load(wp::address(var_spring_indices, var_0 * 2 + 0));
        // j = spring_indices[tid * 2 + 1]
        var_4 = wp::load(wp::address(var_spring_indices, var_0 * 2 + 1));
        // xi = x[i]; xj = x[j]; vi = v[i]; vj = v[j]
        var_6 = wp::load(wp::address(var_x, var_2));
        var_7 = wp::load(wp::address(var_x, var_4));
        var_8 = wp::load(wp::address(var_v, var_2));
        var_9 = wp::load(wp::address(var_v, var_4));
        // xij = xi - xj
        var_10 = wp::sub(var_6, var_7);
        // l = wp.length(xij)
        var_11 = wp::length(var_10);
        // c = l - rest[tid]
        var_12 = wp::sub(var_11, wp::load(wp::address(var_rest, var_0)));
        // dir = xij / l
        var_13 = wp::div(var_10, var_11);
        // dcdt = wp.dot(dir, vi - vj)
        var_14 = wp::dot(var_13, wp::sub(var_8, var_9));
        // fs = dir * (ke * c + kd * dcdt)
        var_15 = wp::mul(var_ke, var_12);
        var_16 = wp::mul(var_kd, var_14);
        var_17 = wp::add(var_15, var_16);
        var_19 = wp::mul(var_13, var_17);
        // wp.atomic_sub(f, i, fs); wp.atomic_add(f, j, fs)
        wp::atomic_add(wp::address(var_f, var_2), wp::mul(var_19, -1.0f));
        wp::atomic_add(wp::address(var_f, var_4), var_19);
        (void)var_18;
    }
}

extern "C" __global__ void hash_count_cuda_kernel_forward(wp::launch_bounds_t dim, wp::HashGrid var_grid, wp::array_t<wp::vec3> var_x)
{
    WP_GRID_STRIDE_LOOP(dim)
    {
        int var_0 = wp::launch_coord(_idx, dim).i;
        wp::vec3 var_1 = wp::load(wp::address(var_x, var_0));
        int var_2 = wp::hash_grid_index(var_grid, var_1);
        var_grid.point_cells[var_0] = var_2;
        atomicAdd(&var_grid.cell_ends[var_2], 1);
    }
}
// single block scan over the cells: starts = exclusive, ends = starts (to be advanced by the fill)
extern "C" __global__ void hash_scan_cuda_kernel(wp::HashGrid grid, int num_cells)
{
    __shared__ int partial[256];
    const int per = (num_cells + blockDim.x - 1) / blockDim.x, lo = threadIdx.x * per, hi = min(lo + per, num_cells);
    int s = 0;
    for (int i = lo; i < hi; ++i) s += grid.cell_ends[i];
    partial[threadIdx.x] = s;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d *= 2) {
        int t = threadIdx.x >= d ? partial[threadIdx.x - d] : 0;
        __syncthreads();
        partial[threadIdx.x] += t;
        __syncthreads();
    }
    s = partial[threadIdx.x] - s;
    for (int i = lo; i < hi; ++i) { int c = grid.cell_ends[i]; grid.cell_starts[i] = s; grid.cell_ends[i] = s; s += c; }
}
extern "C" __global__ void hash_fill_cuda_kernel_forward(wp::launch_bounds_t dim, wp::HashGrid var_grid)
{
    WP_GRID_STRIDE_LOOP(dim)
    {
        int var_0 = wp::launch_coord(_idx, dim).i;
        int var_1 = var_grid.point_cells[var_0];
        int var_2 = atomicAdd(&var_grid.cell_ends[var_1], 1);
        var_grid.point_ids[var_2] = var_0;
    }
}

extern "C" __global__ void eval_contacts_19aa_cuda_kernel_forward(
    wp::launch_bounds_t dim, wp::HashGrid var_grid, wp::array_t<wp::vec3> var_x, wp::array_t<wp::vec3> var_v, wp::float32 var_radius, wp::float32 var_k, wp::array_t<wp::vec3> var_f, wp::array_t<wp::int32> var_count)
{
    WP_GRID_STRIDE_LOOP(dim)
    {
        // tid = wp.tid(); i = wp.hash_grid_point_id(grid, tid)
        int var_0 = wp::launch_coord(_idx, dim).i;
        int var_1 = var_grid.point_ids[var_0];
        wp::vec3 var_2 = wp::load(wp::address(var_x, var_1));
        wp::vec3 var_3;
        int var_4 = 0;
        int xs = int(floorf((var_2[0] - var_radius) * var_grid.cell_width_inv)), xe = int(floorf((var_2[0] + var_radius) * var_grid.cell_width_inv));
        int ys = int(floorf((var_2[1] - var_radius) * var_grid.cell_width_inv)), ye = int(floorf((var_2[1] + var_radius) * var_grid.cell_width_inv));
        int zs = int(floorf((var_2[2] - var_radius) * var_grid.cell_width_inv)), ze = int(floorf((var_2[2] + var_radius) * var_grid.cell_width_inv));
        for (int z = zs; z <= ze; ++z)
        for (int y = ys; y <= ye; ++y)
        for (int x = xs; x <= xe; ++x)
        {
            int cell = wp::hash_grid_index(var_grid, x, y, z);
            for (int q = var_grid.cell_starts[cell]; q < var_grid.cell_ends[cell]; ++q)
            {
                int var_5 = var_grid.point_ids[q];
                if (var_5 == var_1) continue;
                // err = d - radius
                wp::vec3 var_6 = wp::sub(var_2, wp::load(wp::address(var_x, var_5)));
                wp::float32 var_7 = wp::length(var_6);
                if (var_7 < var_radius && var_7 > 0.0f)
                {
                    wp::float32 var_8 = wp::mul(var_k, var_radius - var_7);
                    var_3 = wp::add(var_3, wp::mul(wp::div(var_6, var_7), var_8));
                    var_4 += 1;
                }
            }
        }
        *wp::address(var_f, var_1) = wp::add(wp::load(wp::address(var_f, var_1)), var_3);
        wp::array_store(var_count, var_1, var_4);
    }
}

extern "C" __global__ void integrate_particles_cuda_kernel_forward(
    wp::launch_bounds_t dim, wp::array_t<wp::vec3> var_x, wp::array_t<wp::vec3> var_v, wp::array_t<wp::vec3> var_f, wp::array_t<wp::float32> var_w, wp::vec3 var_gravity, wp::float32 var_dt, wp::array_t<wp::vec3> var_x_new, wp::array_t<wp::vec3> var_v_new)
{
    WP_GRID_STRIDE_LOOP(dim)
    {
        int var_0 = wp::launch_coord(_idx, dim).i;
        wp::vec3 var_1 = wp::load(wp::address(var_x, var_0));
        wp::vec3 var_2 = wp::load(wp::address(var_v, var_0));
        wp::vec3 var_3 = wp::load(wp::address(var_f, var_0));
        wp::float32 var_4 = wp::load(wp::address(var_w, var_0));
        // v1 = v0 + (f0 * inv_mass + gravity * wp.step(0.0 - inv_mass)) * dt
        wp::float32 var_5 = -var_4 < 0.0f ? 1.0f : 0.0f;
        wp::vec3 var_6 = wp::add(var_2, wp::mul(wp::add(wp::mul(var_3, var_4), wp::mul(var_gravity, var_5)), var_dt));
        // x1 = x0 + v1 * dt
        wp::vec3 var_7 = wp::add(var_1, wp::mul(var_6, var_dt));
        wp::array_store(var_x_new, var_0, var_7);
        wp::array_store(var_v_new, var_0, var_6);
    }
}

// potential: sum 0.5 * ke * (l - rest)^2, block-wise partial sums before the atomic
extern "C" __global__ void spring_energy_cuda_kernel_forward(wp::launch_bounds_t dim, wp::array_t<wp::vec3> var_x, wp::array_t<wp::int32> var_idx, wp::array_t<wp::float32> var_rest, wp::float32 var_ke, wp::array_t<wp::float32> var_loss)
{
    __shared__ float tile[256];
    float var_sum = 0.0f;
    WP_GRID_STRIDE_LOOP(dim)
    {
        int var_0 = wp::launch_coord(_idx, dim).i;
        wp::vec3 var_1 = wp::sub(wp::load(wp::address(var_x, wp::load(wp::address(var_idx, var_0 * 2)))), wp::load(wp::address(var_x, wp::load(wp::address(var_idx, var_0 * 2 + 1)))));
        float var_2 = wp::length(var_1) - wp::load(wp::address(var_rest, var_0));
        var_sum += 0.5f * var_ke * var_2 * var_2;
    }
    tile[threadIdx.x] = var_sum;
    for (int s = blockDim.x / 2; s > 0; s >>= 1) { __syncthreads(); if (threadIdx.x < s) tile[threadIdx.x] += tile[threadIdx.x + s]; }
    if (threadIdx.x == 0) wp::atomic_add(wp::address(var_loss, 0), tile[0]);
}
extern "C" __global__ void spring_energy_cuda_kernel_backward(wp::launch_bounds_t dim, wp::array_t<wp::vec3> var_x, wp::array_t<wp::int32> var_idx, wp::array_t<wp::float32> var_rest, wp::float32 var_ke, wp::array_t<wp::float32> var_loss)
{
    WP_GRID_STRIDE_LOOP(dim)
    {
        wp::vec3 adj_3, adj_4, adj_5; wp::float32 adj_6 = 0, adj_7 = 0, adj_8 = 0, adj_9 = 0, adj_rest = 0, adj_ke = 0, adj_half = 0;
        // forward
        int var_0 = wp::launch_coord(_idx, dim).i;
        int var_1 = wp::load(wp::address(var_idx, var_0 * 2));
        int var_2 = wp::load(wp::address(var_idx, var_0 * 2 + 1));
        wp::vec3 var_3 = wp::load(wp::address(var_x, var_1));
        wp::vec3 var_4 = wp::load(wp::address(var_x, var_2));
        wp::vec3 var_5 = wp::sub(var_3, var_4);
        wp::float32 var_6 = wp::length(var_5);
        wp::float32 var_rest_0 = wp::load(wp::address(var_rest, var_0));
        wp::float32 var_7 = wp::sub(var_6, var_rest_0);
        wp::float32 var_8 = wp::mul(var_7, var_7);
        wp::float32 var_half = 0.5f * var_ke;
        // reverse
        adj_9 += wp::load(wp::address_grad(var_loss, 0));
        wp::adj_mul(var_half, var_8, adj_half, adj_8, adj_9);
        wp::adj_mul(var_7, var_7, adj_7, adj_7, adj_8);
        wp::adj_sub(var_6, var_rest_0, adj_6, adj_rest, adj_7);
        wp::adj_length(var_5, var_6, adj_5, adj_6);
        wp::adj_sub(var_3, var_4, adj_3, adj_4, adj_5);
        wp::atomic_add(wp::address_grad(var_x, var_1), adj_3);
        wp::atomic_add(wp::address_grad(var_x, var_2), adj_4);
        wp::atomic_add(wp::address_grad(var_rest, var_0), adj_rest);
        adj_ke += 0.5f * adj_half; (void)adj_ke;
    }
}
// 2d launch: height field from particles' y, written through a strided (transposed) array
extern "C" __global__ void grid_laplace_cuda_kernel_forward(wp::launch_bounds_t dim, wp::array_t<wp::float32> var_h, wp::array_t<wp::float32> var_out, int var_nx, int var_ny)
{
    WP_GRID_STRIDE_LOOP(dim)
    {
        wp::launch_coord_t c = wp::launch_coord(_idx, dim);
        int l = c.i > 0 ? c.i - 1 : 0, r = c.i < var_nx - 1 ? c.i + 1 : c.i, d = c.j > 0 ? c.j - 1 : 0, u = c.j < var_ny - 1 ? c.j + 1 : c.j;
        float var_0 = wp::load(wp::address(var_h, l, c.j)) + wp::load(wp::address(var_h, r, c.j)) + wp::load(wp::address(var_h, c.i, d)) + wp::load(wp::address(var_h, c.i, u)) - 4.0f * wp::load(wp::address(var_h, c.i, c.j));
        *wp::address(var_out, c.i, c.j) = var_0;
    }
}

template <typename T> static wp::array_t<T> wp_array(const std::vector<T>& h, bool grad = false)
{
    wp::array_t<T> a; memset((void*)&a, 0, sizeof(a)); a.ndim = 1; a.shape.dims[0] = (int)h.size(); a.strides[0] = sizeof(T);
    check_cuda(cudaMalloc(&a.data, h.size() * sizeof(T))); check_cuda(cudaMemcpy(a.data, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice));
    if (grad) { check_cuda(cudaMalloc(&a.grad, h.size() * sizeof(T))); check_cuda(cudaMemset(a.grad, 0, h.size() * sizeof(T))); }
    return a;
}
template <typename T> static std::vector<T> numpy(const T* p, size_t n) { std::vector<T> h(n); check_cuda(cudaMemcpy(h.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost)); return h; }
static wp::launch_bounds_t bounds(int n, int m = 0) { wp::launch_bounds_t b; memset(&b, 0, sizeof(b)); b.shape[0] = n; b.shape[1] = m; b.ndim = m ? 2 : 1; b.size = (size_t)n * (m ? m : 1); return b; }
static int blocks(const wp::launch_bounds_t& b) { return (int)((b.size + 255) / 256); }
#define WP_LAUNCH(k, b, ...) do { k<<<blocks(b), 256>>>(b, __VA_ARGS__); check_cuda(cudaGetLastError()); } while (0)

int main()
{
    using wp::vec3;
    const int NX = 77, NY = 53, N = NX * NY;
    const float ke = 800.f, kd = 0.5f, dt = 1e-3f, radius = 0.13f, kc = 300.f;
    std::vector<vec3> x(N), v(N); std::vector<float> w(N, 2.0f), rest; std::vector<int> sp;
    uint32_t s = 1;
    auto jitter = [&]() { s = s * 1103515245u + 12345u; return ((s >> 16) & 1023) / 1023.f - 0.5f; };
    for (int i = 0; i < NX; ++i) for (int j = 0; j < NY; ++j) { x[i * NY + j] = vec3(i * 0.1f + 0.05f * jitter(), 0.3f * sinf(i * 0.4f) + 0.05f * jitter(), j * 0.1f + 0.05f * jitter()); v[i * NY + j] = vec3(jitter(), jitter(), jitter()); if (i == 0) w[j] = 0.f; }
    auto spring = [&](int a, int b, float r) { sp.push_back(a); sp.push_back(b); rest.push_back(r); };
    for (int i = 0; i < NX; ++i) for (int j = 0; j < NY; ++j) { if (i + 1 < NX) spring(i * NY + j, (i + 1) * NY + j, 0.1f); if (j + 1 < NY) spring(i * NY + j, i * NY + j + 1, 0.1f); if (i + 1 < NX && j + 1 < NY) spring(i * NY + j, (i + 1) * NY + j + 1, 0.1414f); }
    const int NS = (int)rest.size();
    auto ax = wp_array(x, true), av = wp_array(v), af = wp_array(std::vector<vec3>(N)), axn = wp_array(x), avn = wp_array(v);
    auto aw = wp_array(w), ar = wp_array(rest, true), al = wp_array(std::vector<float>(1, 0.f), true); auto ai = wp_array(sp), ac = wp_array(std::vector<int>(N));
    wp::HashGrid g; g.cell_width = 0.15f; g.cell_width_inv = 1.f / 0.15f; g.dim_x = g.dim_z = 32; g.dim_y = 8;
    const int nc = 32 * 32 * 8;
    check_cuda(cudaMalloc(&g.point_cells, N * 4)); check_cuda(cudaMalloc(&g.point_ids, N * 4)); check_cuda(cudaMalloc(&g.cell_starts, nc * 4)); check_cuda(cudaMalloc(&g.cell_ends, nc * 4)); check_cuda(cudaMemset(g.cell_ends, 0, nc * 4));
    auto bp = bounds(N), bs = bounds(NS);

    WP_LAUNCH(eval_springs_7f3c_cuda_kernel_forward, bs, ax, av, ai, ar, ke, kd, af);
    WP_LAUNCH(hash_count_cuda_kernel_forward, bp, g, ax);
    hash_scan_cuda_kernel<<<1, 256>>>(g, nc);
    WP_LAUNCH(hash_fill_cuda_kernel_forward, bp, g);
    WP_LAUNCH(eval_contacts_19aa_cuda_kernel_forward, bp, g, ax, av, radius, kc, af, ac);
    WP_LAUNCH(integrate_particles_cuda_kernel_forward, bp, ax, av, af, aw, vec3(0.f, -9.8f, 0.f), dt, axn, avn);
    WP_LAUNCH(spring_energy_cuda_kernel_forward, bs, ax, ai, ar, ke, al);
    float one = 1.f; check_cuda(cudaMemcpy(al.grad, &one, 4, cudaMemcpyHostToDevice));
    WP_LAUNCH(spring_energy_cuda_kernel_backward, bs, ax, ai, ar, ke, al);

    // strided views of the same height data, row-major and transposed
    std::vector<float> h(N); for (int i = 0; i < N; ++i) h[i] = x[i][1];
    auto ah = wp_array(h), o0 = wp_array(h), o1 = wp_array(h);
    ah.ndim = o0.ndim = 2; ah.strides[0] = o0.strides[0] = NY * 4; ah.strides[1] = o0.strides[1] = 4;
    WP_LAUNCH(grid_laplace_cuda_kernel_forward, bounds(NX, NY), ah, o0, NX, NY);
    auto aht = ah; o1.ndim = 2; aht.strides[0] = 4; aht.strides[1] = NY * 4; o1.strides[0] = 4; o1.strides[1] = NY * 4;
    WP_LAUNCH(grid_laplace_cuda_kernel_forward, bounds(NY, NX), aht, o1, NY, NX);
    check_cuda(cudaDeviceSynchronize());

    bool ok = true;
    std::vector<double> F(N * 3, 0.0), G(N * 3, 0.0); double E = 0;
    for (int k = 0; k < NS; ++k) {
        int a = sp[2 * k], b = sp[2 * k + 1]; double d[3], l = 0, dv = 0;
        for (int c = 0; c < 3; ++c) { d[c] = (double)x[a][c] - x[b][c]; l += d[c] * d[c]; } l = sqrt(l);
        for (int c = 0; c < 3; ++c) dv += d[c] / l * (v[a][c] - v[b][c]);
        double C = l - rest[k], m = ke * C + kd * dv; E += 0.5 * ke * C * C;
        for (int c = 0; c < 3; ++c) { F[a * 3 + c] -= d[c] / l * m; F[b * 3 + c] += d[c] / l * m; G[a * 3 + c] += ke * C * d[c] / l; G[b * 3 + c] -= ke * C * d[c] / l; }
    }
    auto cnt = numpy(ac.data, N); long total = 0, rtotal = 0, off = 0;
    for (int i = 0; i < N; ++i) { int n = 0, near = 0; for (int j = 0; j < N; ++j) if (j != i) { vec3 d = wp::sub(x[i], x[j]); float q = wp::dot(d, d); if (q > 0.018f) continue; float l = sqrtf(q); near += fabsf(l - radius) < 1e-5f; if (l < radius && l > 0) { n++; for (int c = 0; c < 3; ++c) F[i * 3 + c] += d[c] / l * kc * (radius - l); } } total += cnt[i]; rtotal += n; off += abs(cnt[i] - n) > near; }
    printf("contacts %ld (reference %ld)\n", total, rtotal); ok &= off == 0 && total > 0;
    auto f = numpy(af.data, N), gx = numpy(ax.grad, N), xn = numpy(axn.data, N); double ef = 0, eg = 0, ex = 0;
    for (int i = 0; i < N; ++i) for (int c = 0; c < 3; ++c) {
        ef = fmax(ef, fabs(f[i][c] - F[i * 3 + c]) / (1 + fabs(F[i * 3 + c]))); eg = fmax(eg, fabs(gx[i][c] - G[i * 3 + c]) / (1 + fabs(G[i * 3 + c])));
        double vn = v[i][c] + dt * (F[i * 3 + c] * w[i] + (c == 1 && w[i] > 0 ? -9.8 : 0.0)); ex = fmax(ex, fabs(x[i][c] + dt * vn - xn[i][c]));
    }
    float loss = numpy(al.data, 1)[0];
    printf("force %.2e grad %.2e pos %.2e energy %.4f/%.4f\n", ef, eg, ex, loss, E);
    ok &= ef < 5e-3 && eg < 5e-3 && ex < 1e-4 && fabs(loss - E) < 1e-3 * E;
    auto h0 = numpy(o0.data, N), h1 = numpy(o1.data, N); double eh = 0;
    for (int i = 0; i < NX; ++i) for (int j = 0; j < NY; ++j) { auto H = [&](int a, int b) { a = a < 0 ? 0 : a >= NX ? NX - 1 : a; b = b < 0 ? 0 : b >= NY ? NY - 1 : b; return (double)h[a * NY + b]; }; double r = H(i - 1, j) + H(i + 1, j) + H(i, j - 1) + H(i, j + 1) - 4 * H(i, j); eh = fmax(eh, fmax(fabs(r - h0[i * NY + j]), fabs(r - h1[i * NY + j]))); }
    printf("laplace %.2e\n", eh); ok &= eh < 1e-4;
    printf("%s\n", ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
