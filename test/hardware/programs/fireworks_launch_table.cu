// nvcc: --extended-lambda
// Particle playground: array-of-structs against struct-of-arrays, generic "parallel_for" with extended lambdas,
// kernels chosen at run time from a table of function pointers, sort by cell with a counting sort.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include <numeric>

#define CHECKED(x) checked((x), #x)
static void checked(cudaError_t e, const char* what) {
    if (e != cudaSuccess) { fprintf(stderr, "%s: %s\nFAIL\n", what, cudaGetErrorString(e)); exit(1); }
}

struct Spark {                 // 36 bytes
    float px, py, pz;
    float vx, vy, vz;
    float life;
    uint32_t color;
    int cell;
};

struct Sparks {                // the same, apart
    float3* pos;
    float3* vel;
    float* life;
    uint32_t* color;
    int n;
};

template <int Block = 256, class F>
void parallel_for(int n, F f);

template <class F>
__global__ void forEachKernel(int n, F f) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) f(i);
}

template <int Block, class F>
void parallel_for(int n, F f) {
    const int want = (n + Block - 1) / Block;
    forEachKernel<<<want < 48 ? want : 48, Block>>>(n, f);
    CHECKED(cudaGetLastError());
}

__host__ __device__ inline float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
__host__ __device__ inline float3 operator*(float3 a, float s) { return make_float3(a.x * s, a.y * s, a.z * s); }

enum class Wind : int { None, Constant, Swirl };

template <Wind W>
__host__ __device__ inline float3 acceleration(float3 p) {
    float3 a = make_float3(0.0f, -9.81f, 0.0f);
    if (W == Wind::Constant) a.x += 2.0f;
    if (W == Wind::Swirl) { a.x -= p.z; a.z += p.x; }
    return a;
}

template <Wind W>
__global__ void integrateAos(Spark* s, int n, float dt) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || s[i].life <= 0.0f) return;
    const float3 a = acceleration<W>(make_float3(s[i].px, s[i].py, s[i].pz));
    s[i].vx += a.x * dt;
    s[i].vy += a.y * dt;
    s[i].vz += a.z * dt;
    s[i].px += s[i].vx * dt;
    s[i].py += s[i].vy * dt;
    s[i].pz += s[i].vz * dt;
    s[i].life -= dt;
}

template <Wind W>
__global__ void integrateSoa(Sparks s, float dt) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= s.n) return;
    float3 p = s.pos[i], v = s.vel[i];
    v = v + acceleration<W>(p) * dt;
    p = p + v * dt;
    s.pos[i] = p;
    s.vel[i] = v;
    s.life[i] -= dt;
}

using AosStep = void (*)(Spark*, int, float);
static const struct { const char* name; AosStep step; } kTable[] = {
    {"none", integrateAos<Wind::None>},
    {"constant", integrateAos<Wind::Constant>},
    {"swirl", integrateAos<Wind::Swirl>},
};

// counting sort by cell: histogram per block in shared memory, digits by block, then scatter
constexpr int kCells = 64, kSortBlock = 128;

__global__ void cellHistogram(const Spark* __restrict__ s, int n, int* __restrict__ blockHist) {
    __shared__ int h[kCells];
    for (int c = threadIdx.x; c < kCells; c += blockDim.x) h[c] = 0;
    __syncthreads();
    const int i = blockIdx.x * kSortBlock + threadIdx.x;
    if (i < n) atomicAdd(&h[s[i].cell], 1);
    __syncthreads();
    for (int c = threadIdx.x; c < kCells; c += blockDim.x) blockHist[c * gridDim.x + blockIdx.x] = h[c];
}

// one warp scans everything, 32 at a time with a carry
__global__ void scanOneWarp(int* data, int n) {
    int carry = 0;
    for (int base = 0; base < n; base += 32) {
        const int i = base + threadIdx.x;
        const int own = i < n ? data[i] : 0;
        int v = own;
#pragma unroll
        for (int d = 1; d < 32; d *= 2) {
            const int u = __shfl_up_sync(0xffffffffu, v, d);
            if (threadIdx.x >= d) v += u;
        }
        if (i < n) data[i] = carry + v - own;
        carry += __shfl_sync(0xffffffffu, v, 31);
    }
}

__global__ void cellScatter(const Spark* __restrict__ in, Spark* __restrict__ out, int n, const int* __restrict__ offsets) {
    __shared__ int cells[kSortBlock];
    const int i = blockIdx.x * kSortBlock + threadIdx.x;
    const int mine = i < n ? in[i].cell : -1;
    cells[threadIdx.x] = mine;
    __syncthreads();
    if (mine < 0) return;
    int rank = 0;
    for (int k = 0; k < threadIdx.x; ++k) rank += cells[k] == mine;
    out[offsets[mine * gridDim.x + blockIdx.x] + rank] = in[i];
}

int main(int argc, char** argv) {
    int n = 5000;
    std::string wind = "swirl";
    for (int i = 1; i < argc; ++i) {
        if (!strcmp(argv[i], "-n") && i + 1 < argc) n = atoi(argv[++i]);
        else if (!strcmp(argv[i], "-w") && i + 1 < argc) wind = argv[++i];
        else { printf("usage: %s [-n count] [-w none|constant|swirl]\n", argv[0]); return 2; }
    }
    const float dt = 0.01f;
    std::vector<Spark> host(n);
    for (int i = 0; i < n; ++i) {
        const float a = 0.618034f * i;
        host[i] = {cosf(a), 1.0f + (i % 17) * 0.1f, sinf(a), sinf(3 * a), 4.0f, cosf(2 * a), 0.5f + (i % 5) * 0.1f, 0xff000000u | (i * 2654435761u >> 8), (i * 37 + i / 11) % kCells};
    }
    Spark *aos, *sorted;
    Sparks soa;
    soa.n = n;
    CHECKED(cudaMalloc(&aos, n * sizeof(Spark)));
    CHECKED(cudaMalloc(&sorted, n * sizeof(Spark)));
    CHECKED(cudaMalloc(&soa.pos, n * sizeof(float3)));
    CHECKED(cudaMalloc(&soa.vel, n * sizeof(float3)));
    CHECKED(cudaMalloc(&soa.life, n * sizeof(float)));
    CHECKED(cudaMalloc(&soa.color, n * sizeof(uint32_t)));
    CHECKED(cudaMemcpy(aos, host.data(), n * sizeof(Spark), cudaMemcpyHostToDevice));

    // AoS to SoA with a lambda
    parallel_for(n, [=] __device__(int i) {
        soa.pos[i] = make_float3(aos[i].px, aos[i].py, aos[i].pz);
        soa.vel[i] = make_float3(aos[i].vx, aos[i].vy, aos[i].vz);
        soa.life[i] = aos[i].life;
        soa.color[i] = aos[i].color;
    });
    AosStep step = nullptr;
    int which = 0;
    for (auto& row : kTable) if (wind == row.name) { step = row.step; which = int(&row - kTable); }
    if (!step) { printf("no such wind\nFAIL\n"); return 1; }
    for (int it = 0; it < 3; ++it) {
        step<<<(n + 127) / 128, 128>>>(aos, n, dt);
        switch (static_cast<Wind>(which)) {
            case Wind::None: integrateSoa<Wind::None><<<(n + 127) / 128, 128>>>(soa, dt); break;
            case Wind::Constant: integrateSoa<Wind::Constant><<<(n + 127) / 128, 128>>>(soa, dt); break;
            case Wind::Swirl: integrateSoa<Wind::Swirl><<<(n + 127) / 128, 128>>>(soa, dt); break;
        }
    }
    // fade: brightness channel by channel, reversed order on purpose (mirror)
    uint32_t* faded;
    CHECKED(cudaMalloc(&faded, n * sizeof(uint32_t)));
    const uint32_t* color = soa.color;
    const float* life = soa.life;
    parallel_for<192>(n, [=] __device__(int i) {
        const uint32_t c = color[n - 1 - i];
        const float f = fminf(fmaxf(life[n - 1 - i], 0.0f), 1.0f);
        faded[i] = (c & 0xff000000u) | (uint32_t)((c >> 16 & 255) * f) << 16 | (uint32_t)((c >> 8 & 255) * f) << 8 | (uint32_t)((c & 255) * f);
    });

    const int blocks = (n + kSortBlock - 1) / kSortBlock;
    int* hist;
    CHECKED(cudaMalloc(&hist, kCells * blocks * sizeof(int)));
    cellHistogram<<<blocks, kSortBlock>>>(aos, n, hist);
    scanOneWarp<<<1, 32>>>(hist, kCells * blocks);
    cellScatter<<<blocks, kSortBlock>>>(aos, sorted, n, hist);
    CHECKED(cudaDeviceSynchronize());

    std::vector<Spark> gotAos(n), gotSorted(n);
    std::vector<float3> gotPos(n);
    std::vector<uint32_t> gotFaded(n);
    CHECKED(cudaMemcpy(gotAos.data(), aos, n * sizeof(Spark), cudaMemcpyDeviceToHost));
    CHECKED(cudaMemcpy(gotSorted.data(), sorted, n * sizeof(Spark), cudaMemcpyDeviceToHost));
    CHECKED(cudaMemcpy(gotPos.data(), soa.pos, n * sizeof(float3), cudaMemcpyDeviceToHost));
    CHECKED(cudaMemcpy(gotFaded.data(), faded, n * sizeof(uint32_t), cudaMemcpyDeviceToHost));
    int bad = 0;
    for (int i = 0; i < n; ++i) {
        float3 p = make_float3(host[i].px, host[i].py, host[i].pz), v = make_float3(host[i].vx, host[i].vy, host[i].vz);
        for (int it = 0; it < 3; ++it) {
            const float3 a = which == 0 ? acceleration<Wind::None>(p) : which == 1 ? acceleration<Wind::Constant>(p) : acceleration<Wind::Swirl>(p);
            v = v + a * dt;
            p = p + v * dt;
        }
        if (fabsf(gotAos[i].px - p.x) + fabsf(gotAos[i].py - p.y) + fabsf(gotAos[i].pz - p.z) > 1e-4f) ++bad;
        if (fabsf(gotPos[i].x - p.x) + fabsf(gotPos[i].y - p.y) + fabsf(gotPos[i].z - p.z) > 1e-4f) ++bad;
        const uint32_t c = host[n - 1 - i].color;
        const float f = fminf(fmaxf(host[n - 1 - i].life - 3 * dt, 0.0f), 1.0f);
        if (abs((int)(gotFaded[i] & 255) - (int)((c & 255) * f)) > 1) ++bad;
        if (i && gotSorted[i].cell < gotSorted[i - 1].cell) ++bad;
        if (i && gotSorted[i].cell == gotSorted[i - 1].cell && gotSorted[i].px == gotSorted[i - 1].px && gotSorted[i].pz == gotSorted[i - 1].pz) ++bad;
    }
    printf("%d wrong\n%s\n", bad, bad ? "FAIL" : "PASS");
    return bad ? 1 : 0;
}
