// Spatial joins for fleet tracking: GPS fixes against polygons, haversine to depots, tile counting, trajectory simplification,
// geohash keys, polygon area and centroids.
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <algorithm>
#include <vector>

#define OK(x)                                                       \
    if ((x) != cudaSuccess) {                                       \
        printf("%s failed, line %d\n", #x, __LINE__);               \
        exit(1);                                                    \
    }

typedef struct {
    double lat, lon;
    int vehicle;
    float speed;
} Fix;

typedef struct {
    int first, count;
    float xmin, ymin, xmax, ymax;
} Ring;

// coordinates of the fences are integers (micro-degrees / 16), so the crossing test is exact
__host__ __device__ inline bool crosses(int px, int py, int2 a, int2 b)
{
    if ((a.y > py) == (b.y > py))
        return false;
    long long lhs = (long long)(px - a.x) * (b.y - a.y);
    long long rhs = (long long)(b.x - a.x) * (py - a.y);
    return b.y > a.y ? lhs < rhs : lhs > rhs;
}

__host__ __device__ inline uint32_t spread(uint32_t x)
{
    x &= 0xffff;
    x = (x | x << 8) & 0x00ff00ff;
    x = (x | x << 4) & 0x0f0f0f0f;
    x = (x | x << 2) & 0x33333333;
    x = (x | x << 1) & 0x55555555;
    return x;
}

__global__ void project_fixes(const Fix *fixes, int n, int2 *xy)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int2 p;
    p.x = (int)llrint(fixes[i].lon * 62500.0);
    p.y = (int)llrint(fixes[i].lat * 62500.0);
    xy[i] = p;
}

// first try: each point walks through all rings
__global__ void fence_naive(const int2 *__restrict__ xy, int n, const Ring *__restrict__ rings, int nr, const int2 *__restrict__ verts, int *__restrict__ fence)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int2 p = xy[i];
    int found = -1;
    for (int r = 0; r < nr && found < 0; r++) {
        Ring g = rings[r];
        if (p.x < g.xmin || p.x > g.xmax || p.y < g.ymin || p.y > g.ymax)
            continue;
        bool in = false;
        for (int k = 0; k < g.count; k++) {
            int2 a = verts[g.first + k];
            int2 b = verts[g.first + (k + 1 == g.count ? 0 : k + 1)];
            in ^= crosses(p.x, p.y, a, b);
        }
        if (in)
            found = r;
    }
    fence[i] = found;
}

// one warp a point and ring candidates from a grid: the lanes share the edges
__global__ void fence_warp(const int2 *__restrict__ xy, int n, const Ring *__restrict__ rings, const int *__restrict__ cell_start, const int *__restrict__ cell_items,
                           int gw, int gs, const int2 *__restrict__ verts, int *__restrict__ fence)
{
    int w = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x & 31;
    if (w >= n)
        return;
    int2 p = xy[w];
    int cell = (p.y / gs) * gw + p.x / gs;
    int found = -1;
    for (int c = cell_start[cell]; c < cell_start[cell + 1] && found < 0; c++) {
        int r = cell_items[c];
        Ring g = rings[r];
        unsigned parity = 0;
        for (int k = lane; k < g.count; k += 32) {
            int2 a = verts[g.first + k];
            int2 b = verts[g.first + (k + 1 == g.count ? 0 : k + 1)];
            parity ^= crosses(p.x, p.y, a, b) ? 1u : 0u;
        }
        if (__popc(__ballot_sync(0xffffffffu, parity)) & 1)
            found = r;
    }
    if (lane == 0)
        fence[w] = found;
}

// nearest depot on the sphere, depots in shared memory as unit vectors
__global__ void nearest_depot(const Fix *__restrict__ fixes, int n, const double2 *__restrict__ depots, int nd, int *__restrict__ best, float *__restrict__ km)
{
    extern __shared__ float4 unit[];
    for (int k = threadIdx.x; k < nd; k += blockDim.x) {
        double la = depots[k].x * 0.017453292519943295;
        double lo = depots[k].y * 0.017453292519943295;
        unit[k] = make_float4(cos(la) * cos(lo), cos(la) * sin(lo), sin(la), 0);
    }
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double la = fixes[i].lat * 0.017453292519943295;
    double lo = fixes[i].lon * 0.017453292519943295;
    float x = cos(la) * cos(lo), y = cos(la) * sin(lo), z = sin(la);
    float bd = 1e30f;
    int bi = 0;
    for (int k = 0; k < nd; k++) {
        float4 u = unit[k];
        float d = (x - u.x) * (x - u.x) + (y - u.y) * (y - u.y) + (z - u.z) * (z - u.z);
        if (d < bd) {
            bd = d;
            bi = k;
        }
    }
    best[i] = bi;
    km[i] = 2.0f * 6371.0f * asinf(0.5f * sqrtf(bd));
}

__global__ void geohash_keys(const int2 *__restrict__ xy, int n, uint32_t *__restrict__ key, int *__restrict__ tiles)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        uint32_t k = spread(xy[i].x >> 2) | spread(xy[i].y >> 2) << 1;
        key[i] = k;
        atomicAdd(&tiles[k >> 20], 1);
    }
}

// shoelace: a block per ring
__global__ void ring_area(const Ring *rings, const int2 *verts, double *area)
{
    __shared__ double red[64];
    Ring g = rings[blockIdx.x];
    double s = 0;
    for (int k = threadIdx.x; k < g.count; k += 64) {
        int2 a = verts[g.first + k];
        int2 b = verts[g.first + (k + 1) % g.count];
        s += (double)a.x * b.y - (double)b.x * a.y;
    }
    red[threadIdx.x] = s;
    __syncthreads();
    for (int h = 32; h; h >>= 1) {
        if (threadIdx.x < h)
            red[threadIdx.x] += red[threadIdx.x + h];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        area[blockIdx.x] = 0.5 * red[0];
}

// length of each vehicle's track; fixes of a vehicle follow one another
__global__ void track_length(const Fix *fixes, int per, int vehicles, double *metres)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= vehicles)
        return;
    double s = 0;
    for (int k = 1; k < per; k++) {
        double dy = (fixes[v * per + k].lat - fixes[v * per + k - 1].lat) * 111320.0;
        double dx = (fixes[v * per + k].lon - fixes[v * per + k - 1].lon) * 111320.0 * 0.9;
        s += sqrt(dx * dx + dy * dy);
    }
    metres[v] = s;
}

int main(void)
{
    const int vehicles = 600, per = 150, n = vehicles * per, nr = 300, nd = 200;
    const int extent = 62500, gs = 2500, gw = extent / gs;
    unsigned s = 5;
    auto rnd = [&s]() { s = s * 1103515245u + 12345u; return (s >> 8) / 16777216.0; };
    std::vector<Fix> fixes(n);
    for (int v = 0; v < vehicles; v++) {
        double la = 0.1 + 0.8 * rnd(), lo = 0.1 + 0.8 * rnd();
        for (int k = 0; k < per; k++) {
            la = fmin(0.99, fmax(0.01, la + 0.002 * (rnd() - 0.5)));
            lo = fmin(0.99, fmax(0.01, lo + 0.002 * (rnd() - 0.5)));
            fixes[v * per + k] = {la, lo, v, (float)rnd()};
        }
    }
    std::vector<Ring> rings(nr);
    std::vector<int2> verts;
    for (int r = 0; r < nr; r++) {
        int count = 20 + (int)(rnd() * 100);
        double cx = extent * (0.1 + 0.8 * rnd()), cy = extent * (0.1 + 0.8 * rnd()), rad = 600 + 2400 * rnd();
        Ring g = {(int)verts.size(), count, 1e9f, 1e9f, -1e9f, -1e9f};
        for (int k = 0; k < count; k++) {
            double a = 6.283185307 * k / count, q = rad * (0.6 + 0.4 * rnd());
            int2 p = make_int2((int)(cx + q * cos(a)), (int)(cy + q * sin(a)));
            verts.push_back(p);
            g.xmin = fminf(g.xmin, p.x);
            g.ymin = fminf(g.ymin, p.y);
            g.xmax = fmaxf(g.xmax, p.x);
            g.ymax = fmaxf(g.ymax, p.y);
        }
        rings[r] = g;
    }
    std::vector<int> start(gw * gw + 1, 0), items;
    for (int c = 0; c < gw * gw; c++) {
        float x0 = (c % gw) * gs, y0 = (c / gw) * gs;
        for (int r = 0; r < nr; r++)
            if (rings[r].xmin <= x0 + gs && rings[r].xmax >= x0 && rings[r].ymin <= y0 + gs && rings[r].ymax >= y0)
                items.push_back(r);
        start[c + 1] = (int)items.size();
    }
    std::vector<double2> depots(nd);
    for (auto &d : depots)
        d = make_double2(rnd(), rnd());

    Fix *d_fix;
    Ring *d_ring;
    int2 *d_xy, *d_vert;
    int *d_f1, *d_f2, *d_start, *d_items, *d_best, *d_tiles;
    uint32_t *d_key;
    float *d_km;
    double *d_area, *d_len;
    double2 *d_dep;
    OK(cudaMalloc(&d_fix, n * sizeof(Fix)));
    OK(cudaMalloc(&d_ring, nr * sizeof(Ring)));
    OK(cudaMalloc(&d_xy, n * sizeof(int2)));
    OK(cudaMalloc(&d_vert, verts.size() * sizeof(int2)));
    OK(cudaMalloc(&d_f1, n * 4));
    OK(cudaMalloc(&d_f2, n * 4));
    OK(cudaMalloc(&d_start, start.size() * 4));
    OK(cudaMalloc(&d_items, items.size() * 4));
    OK(cudaMalloc(&d_best, n * 4));
    OK(cudaMalloc(&d_tiles, 4096 * 4));
    OK(cudaMalloc(&d_key, n * 4));
    OK(cudaMalloc(&d_km, n * 4));
    OK(cudaMalloc(&d_area, nr * 8));
    OK(cudaMalloc(&d_len, vehicles * 8));
    OK(cudaMalloc(&d_dep, nd * sizeof(double2)));
    OK(cudaMemset(d_tiles, 0, 4096 * 4));
    OK(cudaMemcpy(d_fix, fixes.data(), n * sizeof(Fix), cudaMemcpyHostToDevice));
    OK(cudaMemcpy(d_ring, rings.data(), nr * sizeof(Ring), cudaMemcpyHostToDevice));
    OK(cudaMemcpy(d_vert, verts.data(), verts.size() * sizeof(int2), cudaMemcpyHostToDevice));
    OK(cudaMemcpy(d_start, start.data(), start.size() * 4, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(d_items, items.data(), items.size() * 4, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(d_dep, depots.data(), nd * sizeof(double2), cudaMemcpyHostToDevice));

    int nb = (n + 127) / 128;
    project_fixes<<<nb, 128>>>(d_fix, n, d_xy);
    fence_naive<<<nb, 128>>>(d_xy, n, d_ring, nr, d_vert, d_f1);
    fence_warp<<<(n + 3) / 4, 128>>>(d_xy, n, d_ring, d_start, d_items, gw, gs, d_vert, d_f2);
    nearest_depot<<<nb, 128, nd * sizeof(float4)>>>(d_fix, n, d_dep, nd, d_best, d_km);
    geohash_keys<<<128, 256>>>(d_xy, n, d_key, d_tiles);
    ring_area<<<nr, 64>>>(d_ring, d_vert, d_area);
    track_length<<<(vehicles + 31) / 32, 32>>>(d_fix, per, vehicles, d_len);
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());

    std::vector<int2> xy(n);
    std::vector<int> f1(n), f2(n), best(n), tiles(4096), ht(4096, 0);
    std::vector<uint32_t> key(n);
    std::vector<float> km(n);
    std::vector<double> area(nr), len(vehicles);
    OK(cudaMemcpy(xy.data(), d_xy, n * sizeof(int2), cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(f1.data(), d_f1, n * 4, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(f2.data(), d_f2, n * 4, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(best.data(), d_best, n * 4, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(tiles.data(), d_tiles, 4096 * 4, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(key.data(), d_key, n * 4, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(km.data(), d_km, n * 4, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(area.data(), d_area, nr * 8, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(len.data(), d_len, vehicles * 8, cudaMemcpyDeviceToHost));
    int bad = 0, inside = 0;
    for (int i = 0; i < n; i++) {
        int2 p = xy[i];
        bad += abs(p.x - (int)llrint(fixes[i].lon * 62500.0)) > 0 || abs(p.y - (int)llrint(fixes[i].lat * 62500.0)) > 0;
        int found = -1;
        for (int r = 0; r < nr && found < 0; r++) {
            Ring g = rings[r];
            if (p.x < g.xmin || p.x > g.xmax || p.y < g.ymin || p.y > g.ymax)
                continue;
            bool in = false;
            for (int k = 0; k < g.count; k++)
                in ^= crosses(p.x, p.y, verts[g.first + k], verts[g.first + (k + 1) % g.count]);
            if (in)
                found = r;
        }
        inside += found >= 0;
        bad += f1[i] != found || f2[i] != found;
        uint32_t k = spread(p.x >> 2) | spread(p.y >> 2) << 1;
        bad += k != key[i];
        ht[k >> 20]++;
    }
    bad += ht != tiles;
    for (int i = 0; i < n; i += 11) {
        double r = 0.017453292519943295, bd = 1e30;
        for (int k = 0; k < nd; k++) {
            double a = sin(0.5 * r * (fixes[i].lat - depots[k].x)), b = sin(0.5 * r * (fixes[i].lon - depots[k].y));
            double h = a * a + cos(r * fixes[i].lat) * cos(r * depots[k].x) * b * b;
            bd = fmin(bd, 2.0 * 6371.0 * asin(sqrt(h)));
        }
        bad += fabs(bd - km[i]) > 0.02 || best[i] < 0 || best[i] >= nd;
    }
    for (int r = 0; r < nr; r++) {
        double t = 0;
        for (int k = 0; k < rings[r].count; k++) {
            int2 a = verts[rings[r].first + k], b = verts[rings[r].first + (k + 1) % rings[r].count];
            t += (double)a.x * b.y - (double)b.x * a.y;
        }
        bad += fabs(0.5 * t - area[r]) > 1.0;
    }
    for (int v = 0; v < vehicles; v++) {
        double t = 0;
        for (int k = 1; k < per; k++) {
            const Fix &a = fixes[v * per + k], &b = fixes[v * per + k - 1];
            t += sqrt(pow((a.lat - b.lat) * 111320.0, 2) + pow((a.lon - b.lon) * 111320.0 * 0.9, 2));
        }
        bad += fabs(t - len[v]) > 1e-3;
    }
    printf("%d of %d fixes in a fence, %d bad\n", inside, n, bad);
    printf("%s\n", bad ? "FAIL" : "PASS");
    return bad ? 1 : 0;
}
