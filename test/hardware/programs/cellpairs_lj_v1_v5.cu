// Lennard-Jones forces in a periodic box: from O(N^2) to cells, in five variants.
// Units: sigma = epsilon = 1, cutoff 2.5.  Students: fill in the timing table yourselves!
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

#define gpuErrchk(ans)                                                                      \
    if (cudaError_t code = (ans)) {                                                         \
        fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), __FILE__, __LINE__); \
        exit(code);                                                                         \
    }
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))
const int CELL_CAP = 48;
const float RCUT2 = 6.25f;

struct Particle {
    float x, y, z, vx, vy, vz, fx, fy, fz;
    int type;
};

struct Box {
    float len, inv, cellInv;
    int nc;  // cells per side
};

__device__ __forceinline__ float minImage(float d, const Box& b) {
    return d - b.len * rintf(d * b.inv);
}

__device__ __forceinline__ float ljFactor(float r2) {
    float i2 = 1.0f / r2;
    float i6 = i2 * i2 * i2;
    return 24.0f * i2 * i6 * (2.0f * i6 - 1.0f);
}

__device__ __forceinline__ int wrapCell(int c, int n) {
    return c < 0 ? c + n : (c >= n ? c - n : c);
}

__device__ __forceinline__ int3 cellOf(float4 p, const Box& b) {
    return make_int3(min((int)(p.x * b.cellInv), b.nc - 1), min((int)(p.y * b.cellInv), b.nc - 1), min((int)(p.z * b.cellInv), b.nc - 1));
}

__device__ __forceinline__ int neighbourCell(int3 c, int q, const Box& b) {
    int z = wrapCell(c.z + q / 9 - 1, b.nc);
    int y = wrapCell(c.y + q / 3 % 3 - 1, b.nc);
    int x = wrapCell(c.x + q % 3 - 1, b.nc);
    return (z * b.nc + y) * b.nc + x;
}

// d = minimum image of a - b, returns its squared length
__device__ __forceinline__ float separation(float4 a, float4 b, const Box& box, float3& d) {
    d.x = minImage(a.x - b.x, box);
    d.y = minImage(a.y - b.y, box);
    d.z = minImage(a.z - b.z, box);
    return d.x * d.x + d.y * d.y + d.z * d.z;
}

__device__ __forceinline__ void addPair(float3& f, float4 me, float4 other, const Box& box) {
    float3 d;
    float r2 = separation(me, other, box, d);
    if (r2 < RCUT2) {
        float s = ljFactor(r2);
        f.x += s * d.x;
        f.y += s * d.y;
        f.z += s * d.z;
    }
}

// --- v1: array of structs, all pairs -----------------------------------------
__global__ void forces_v1_aos(Particle* p, int n, Box box) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float fx = 0, fy = 0, fz = 0;
    for (int j = 0; j < n; j++) {
        if (j == i) continue;
        float dx = minImage(p[i].x - p[j].x, box);
        float dy = minImage(p[i].y - p[j].y, box);
        float dz = minImage(p[i].z - p[j].z, box);
        float r2 = dx * dx + dy * dy + dz * dz;
        if (r2 < RCUT2) {
            float f = ljFactor(r2);
            fx += f * dx;
            fy += f * dy;
            fz += f * dz;
        }
    }
    p[i].fx = fx;
    p[i].fy = fy;
    p[i].fz = fz;
}

// --- cell construction ---------------------------------------------------------
__global__ void fill_cells(const float4* __restrict__ pos, int n, Box box, int* count, int* slots, int* overflow) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int c = neighbourCell(cellOf(pos[i], box), 13, box);
    int k = atomicAdd(&count[c], 1);
    if (k < CELL_CAP)
        slots[c * CELL_CAP + k] = i;
    else
        *overflow = 1;
}

// copies particles next to their cell mates
__global__ void gather_sorted(const float4* __restrict__ pos, const int* __restrict__ count, const int* __restrict__ slots, float4* __restrict__ cellPos) {
    int c = blockIdx.x;
    int k = threadIdx.x;
    if (k >= count[c]) return;
    int i = slots[c * CELL_CAP + k];
    float4 p = pos[i];
    p.w = __int_as_float(i);
    cellPos[c * CELL_CAP + k] = p;
}

// --- v2: thread per particle, indices of the 27 cells ---------------------------
__global__ void forces_v2_cells_indirect(const float4* __restrict__ pos, float4* __restrict__ frc, int n, Box box, const int* __restrict__ count, const int* __restrict__ slots) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 me = pos[i];
    int3 cell = cellOf(me, box);
    float3 f = make_float3(0, 0, 0);
    for (int q = 0; q < 27; q++) {
        int c = neighbourCell(cell, q, box);
        int m = count[c];
        for (int k = 0; k < m; k++) {
            int j = slots[c * CELL_CAP + k];
            if (j != i) addPair(f, me, pos[j], box);
        }
    }
    frc[i] = make_float4(f.x, f.y, f.z, 0);
}

// --- v3: block per cell, neighbour cells staged in shared memory ------------------
__global__ void forces_v3_block_cell(const float4* __restrict__ cellPos, const int* __restrict__ count, float4* __restrict__ frc, Box box) {
    __shared__ float4 nb[CELL_CAP];
    int3 cell = make_int3(blockIdx.x, blockIdx.y, blockIdx.z);
    int c = neighbourCell(cell, 13, box);
    int mine = count[c];
    int t = threadIdx.x;
    float4 me = make_float4(0, 0, 0, 0);
    if (t < mine)
        me = cellPos[c * CELL_CAP + t];
    float3 f = make_float3(0, 0, 0);
    for (int q = 0; q < 27; q++) {
        int c2 = neighbourCell(cell, q, box);
        int m = count[c2];
        if (t < m)
            nb[t] = cellPos[c2 * CELL_CAP + t];
        __syncthreads();
        for (int k = 0; t < mine && k < m; k++)
            if (c2 != c || k != t) addPair(f, me, nb[k], box);
        __syncthreads();
    }
    if (t < mine)
        frc[__float_as_int(me.w)] = make_float4(f.x, f.y, f.z, 0);
}

// --- v4: Newton's third law, half of the cells, atomics on a SoA force array --------
__global__ void forces_v4_half_atomic(const float4* __restrict__ cellPos, const int* __restrict__ count, float* fx, float* fy, float* fz, Box box) {
    int c = blockIdx.x;
    int q = 13 + threadIdx.y;   // 13 = the cell itself, 14..26 forward neighbours
    int3 cell = make_int3(c % box.nc, c / box.nc % box.nc, c / (box.nc * box.nc));
    int c2 = neighbourCell(cell, q, box);
    int na = count[c];
    int nb = count[c2];
    for (int a = threadIdx.x; a < na; a += blockDim.x) {
        float4 me = cellPos[c * CELL_CAP + a];
        float ax = 0, ay = 0, az = 0;
        int b0 = q == 13 ? a + 1 : 0;
        for (int b = b0; b < nb; b++) {
            float4 o = cellPos[c2 * CELL_CAP + b];
            float3 d;
            float r2 = separation(me, o, box, d);
            if (r2 < RCUT2) {
                float s = ljFactor(r2);
                int j = __float_as_int(o.w);
                ax += s * d.x;
                ay += s * d.y;
                az += s * d.z;
                atomicAdd(&fx[j], -s * d.x);
                atomicAdd(&fy[j], -s * d.y);
                atomicAdd(&fz[j], -s * d.z);
            }
        }
        int i = __float_as_int(me.w);
        atomicAdd(&fx[i], ax);
        atomicAdd(&fy[i], ay);
        atomicAdd(&fz[i], az);
    }
}

// --- v5: Verlet list, built by one warp per particle, neighbour-major ---------------
__global__ void build_list(const float4* __restrict__ pos, int n, Box box, const int* __restrict__ count, const int* __restrict__ slots, int* __restrict__ nNeigh, int* __restrict__ neigh, int maxNeigh) {
    int lane = threadIdx.x % 32;
    int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (i >= n) return;
    float4 me = pos[i];
    int3 cell = cellOf(me, box);
    int found = 0;
    for (int q = 0; q < 27; q++) {
        int c2 = neighbourCell(cell, q, box);
        int m = count[c2];
        for (int k0 = 0; k0 < m; k0 += 32) {
            bool hit = false;
            int j = -1;
            if (k0 + lane < m) {
                j = slots[c2 * CELL_CAP + k0 + lane];
                float3 d;
                hit = j != i && separation(me, pos[j], box, d) < RCUT2;
            }
            unsigned mask = __ballot_sync(0xffffffff, hit);
            int at = found + __popc(mask & ((1u << lane) - 1));
            if (hit && at < maxNeigh)
                neigh[at * n + i] = j;
            found += __popc(mask);
        }
    }
    if (lane == 0)
        nNeigh[i] = min(found, maxNeigh);
}

__global__ void forces_v5_list(const float4* __restrict__ pos, float4* __restrict__ frc, int n, Box box, const int* __restrict__ nNeigh, const int* __restrict__ neigh) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 me = pos[i];
    float3 f = make_float3(0, 0, 0);
    int m = nNeigh[i];
    for (int k = 0; k < m; k++)
        addPair(f, me, __ldg(&pos[neigh[k * n + i]]), box);
    frc[i] = make_float4(f.x, f.y, f.z, 0);
}

static std::vector<double> reference;

template <class T>
static T* zeroed(size_t count) {
    T* p;
    gpuErrchk(cudaMalloc(&p, count * sizeof(T)));
    gpuErrchk(cudaMemset(p, 0, count * sizeof(T)));
    return p;
}

// works for AoS, float4 and SoA results alike
static bool check(const char* label, int n, const float* got, int strideParticle, int strideAxis) {
    double worst = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) {
            double want = reference[3 * i + k];
            double diff = std::fabs(got[(size_t)i * strideParticle + k * strideAxis] - want);
            worst = std::fmax(worst, diff / (50.0 + std::fabs(want)));
        }
    printf("%-20s %.2e\n", label, worst);
    return worst < 1e-3;
}

static bool checkF4(const char* label, int n, float4* d) {
    std::vector<float4> h(n);
    gpuErrchk(cudaGetLastError());
    gpuErrchk(cudaMemcpy(h.data(), d, n * sizeof(float4), cudaMemcpyDeviceToHost));
    gpuErrchk(cudaMemset(d, 0, n * sizeof(float4)));
    return check(label, n, &h[0].x, 4, 1);
}

int main() {
    const int side = 16;
    const int n = side * side * side;
    Box box;
    box.len = side * 1.1f;
    box.inv = 1.0f / box.len;
    box.nc = (int)(box.len / 2.5f);
    box.cellInv = box.nc / box.len;
    std::mt19937 rng(42);
    std::uniform_real_distribution<float> jit(-0.08f, 0.08f);
    std::vector<float4> pos(n);
    std::vector<Particle> aos(n);
    // scatter the lattice sites so that neighbours in space are not neighbours in memory
    std::vector<int> site(n);
    std::iota(site.begin(), site.end(), 0);
    std::shuffle(site.begin(), site.end(), rng);
    for (int i = 0; i < n; i++) {
        int s = site[i];
        pos[i].x = (s % side + 0.5f) * 1.1f + jit(rng);
        pos[i].y = (s / side % side + 0.5f) * 1.1f + jit(rng);
        pos[i].z = (s / side / side + 0.5f) * 1.1f + jit(rng);
        pos[i].w = 0;
        aos[i] = Particle{pos[i].x, pos[i].y, pos[i].z, 0, 0, 0, 0, 0, 0, 1};
    }
    reference.assign(3 * n, 0.0);
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            double d[3] = {pos[i].x - pos[j].x, pos[i].y - pos[j].y, pos[i].z - pos[j].z};
            double r2 = 0;
            for (double& v : d) {
                v -= box.len * std::rint(v / box.len);
                r2 += v * v;
            }
            if (r2 >= RCUT2) continue;
            double i6 = 1.0 / (r2 * r2 * r2);
            double f = 24.0 / r2 * i6 * (2.0 * i6 - 1.0);
            for (int k = 0; k < 3; k++) {
                reference[3 * i + k] += f * d[k];
                reference[3 * j + k] -= f * d[k];
            }
        }

    const int cells = box.nc * box.nc * box.nc;
    const int maxNeigh = 128;
    Particle* dAos = zeroed<Particle>(n);
    float4* dPos = zeroed<float4>(n);
    float4* dFrc = zeroed<float4>(n);
    float4* dCell = zeroed<float4>(cells * CELL_CAP);
    float* dF = zeroed<float>(3 * n);
    int* dCount = zeroed<int>(cells);
    int* dSlots = zeroed<int>(cells * CELL_CAP);
    int* dOver = zeroed<int>(1);
    int* dNN = zeroed<int>(n);
    int* dNeigh = zeroed<int>(n * maxNeigh);
    gpuErrchk(cudaMemcpy(dAos, aos.data(), n * sizeof(Particle), cudaMemcpyHostToDevice));
    gpuErrchk(cudaMemcpy(dPos, pos.data(), n * sizeof(float4), cudaMemcpyHostToDevice));
    bool ok = true;
    forces_v1_aos<<<CEIL_DIV(n, 64), 64>>>(dAos, n, box);
    gpuErrchk(cudaGetLastError());
    gpuErrchk(cudaMemcpy(aos.data(), dAos, n * sizeof(Particle), cudaMemcpyDeviceToHost));
    ok &= check("v1 AoS", n, &aos[0].fx, sizeof(Particle) / sizeof(float), 1);
    fill_cells<<<CEIL_DIV(n, 128), 128>>>(dPos, n, box, dCount, dSlots, dOver);
    int over = 0;
    gpuErrchk(cudaMemcpy(&over, dOver, sizeof(int), cudaMemcpyDeviceToHost));
    ok &= over == 0;
    gather_sorted<<<cells, 64>>>(dPos, dCount, dSlots, dCell);
    forces_v2_cells_indirect<<<CEIL_DIV(n, 128), 128>>>(dPos, dFrc, n, box, dCount, dSlots);
    ok &= checkF4("v2 indirect cells", n, dFrc);
    forces_v3_block_cell<<<dim3(box.nc, box.nc, box.nc), 64>>>(dCell, dCount, dFrc, box);
    ok &= checkF4("v3 block per cell", n, dFrc);
    forces_v4_half_atomic<<<cells, dim3(32, 14)>>>(dCell, dCount, dF, dF + n, dF + 2 * n, box);
    gpuErrchk(cudaGetLastError());
    std::vector<float> soa(3 * n);
    gpuErrchk(cudaMemcpy(soa.data(), dF, 3 * n * sizeof(float), cudaMemcpyDeviceToHost));
    ok &= check("v4 half, atomics", n, soa.data(), 1, n);
    build_list<<<CEIL_DIV(n * 32, 256), 256>>>(dPos, n, box, dCount, dSlots, dNN, dNeigh, maxNeigh);
    forces_v5_list<<<CEIL_DIV(n, 128), 128>>>(dPos, dFrc, n, box, dNN, dNeigh);
    ok &= checkF4("v5 Verlet list", n, dFrc);
    printf(ok ? "PASS\n" : "FAIL\n");
    return ok ? 0 : 1;
}
