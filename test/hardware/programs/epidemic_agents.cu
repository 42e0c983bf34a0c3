// Agent-based SEIR on a grid of cells. Agents by pointers-in-struct (SoA).
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

enum State : uint8_t { SUS = 0, EXP = 1, INF = 2, REC = 3 };

struct Agents {
    int *x;
    int *y;
    uint8_t *state;
    uint16_t *timer;
    int n;
};

struct World {
    int side;
    int *infected;   // per cell
    int *pop;        // per cell
    int *pressure;   // smoothed
};

__host__ __device__ inline uint32_t rng(uint32_t id, uint32_t day, uint32_t salt)
{
    uint32_t h = id * 747796405u + day * 2891336453u + salt * 277803737u + 1u;
    h = ((h >> ((h >> 28) + 4)) ^ h) * 277803737u;
    return (h >> 22) ^ h;
}

#define CUDA(call) if (cudaError_t rc = call) { fprintf(stderr, "%s failed: %s\n", #call, cudaGetErrorString(rc)); exit(1); }

__global__ void k_move(Agents a, int side, int day)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= a.n)
        return;
    uint32_t r = rng(i, day, 1);
    int dx = (int)(r % 3) - 1;
    int dy = (int)((r >> 8) % 3) - 1;
    a.x[i] = (a.x[i] + dx + side) % side;
    a.y[i] = (a.y[i] + dy + side) % side;
}

__global__ void k_bin(Agents a, World w)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= a.n)
        return;
    int c = a.y[i] * w.side + a.x[i];
    atomicAdd(&w.pop[c], 1);
    if (a.state[i] == INF)
        atomicAdd(&w.infected[c], 1);
}

// 3x3 box sum in a shared tile with halo; periodic
__global__ void k_pressure(World w)
{
    __shared__ int t[18][18];
    int bx = blockIdx.x * 16;
    int by = blockIdx.y * 16;
    for (int k = threadIdx.y * 16 + threadIdx.x; k < 18 * 18; k += 256) {
        int yy = (by + k / 18 - 1 + w.side) % w.side;
        int xx = (bx + k % 18 - 1 + w.side) % w.side;
        t[k / 18][k % 18] = w.infected[yy * w.side + xx];
    }
    __syncthreads();
    int s = 0;
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++)
            s += t[threadIdx.y + j][threadIdx.x + i];
    s += 3 * t[threadIdx.y + 1][threadIdx.x + 1];
    w.pressure[(by + threadIdx.y) * w.side + bx + threadIdx.x] = s;
}

__global__ void k_progress(Agents a, World w, int day)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += gridDim.x * blockDim.x) {
        uint8_t s = a.state[i];
        uint16_t tm = a.timer[i];
        switch (s) {
        case SUS: {
            int p = w.pressure[a.y[i] * w.side + a.x[i]];
            uint32_t r = rng(i, day, 2) & 1023u;
            if (r < (uint32_t)(40 * p)) {
                s = EXP;
                tm = 1 + rng(i, day, 3) % 2;
            }
            break;
        }
        case EXP:
            if (--tm == 0) {
                s = INF;
                tm = 2 + rng(i, day, 4) % 3;
            }
            break;
        case INF:
            if (--tm == 0)
                s = REC;
            break;
        default:
            break;
        }
        a.state[i] = s;
        a.timer[i] = tm;
    }
}

// census with warp match: lanes of one state elect a leader
__global__ void k_census(Agents a, int *out)
{
    __shared__ int cnt[4];
    if (threadIdx.x < 4)
        cnt[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < a.n) {
        int s = a.state[i];
        unsigned m = __match_any_sync(__activemask(), s);
        if ((int)(threadIdx.x & 31) == __ffs(m) - 1)
            atomicAdd(&cnt[s], __popc(m));
    }
    __syncthreads();
    if (threadIdx.x < 4)
        atomicAdd(&out[threadIdx.x], cnt[threadIdx.x]);
}

// population per column of cells, one thread per column
__global__ void k_column_pop(World w, int *col, int *row)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= w.side)
        return;
    int s = 0;
    int r = 0;
    for (int y = 0; y < w.side; y++) {
        s += w.pop[y * w.side + c];
        r += w.pop[c * w.side + y];
    }
    col[c] = s;
    row[c] = r;
}

int main()
{
    const int n = 150000;
    const int side = 128;
    const int days = 3;
    std::vector<int> x(n), y(n);
    std::vector<uint8_t> st(n);
    std::vector<uint16_t> tm(n, 0);
    for (int i = 0; i < n; i++) {
        x[i] = rng(i, 900, 1) % side;
        y[i] = rng(i, 900, 2) % side;
        st[i] = rng(i, 900, 3) % 200 == 0 ? INF : SUS;
        if (st[i] == INF)
            tm[i] = 3;
    }
    Agents a{};
    World w{};
    int *census, *col, *row;
    a.n = n;
    w.side = side;
    CUDA(cudaMalloc(&a.x, n * 4));
    CUDA(cudaMalloc(&a.y, n * 4));
    CUDA(cudaMalloc(&a.state, n));
    CUDA(cudaMalloc(&a.timer, n * 2));
    CUDA(cudaMalloc(&w.infected, side * side * 4));
    CUDA(cudaMalloc(&w.pop, side * side * 4));
    CUDA(cudaMalloc(&w.pressure, side * side * 4));
    CUDA(cudaMalloc(&census, 4 * days * 4));
    CUDA(cudaMalloc(&col, side * 4));
    CUDA(cudaMalloc(&row, side * 4));
    CUDA(cudaMemset(census, 0, 4 * days * 4));
    CUDA(cudaMemcpy(a.x, x.data(), n * 4, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(a.y, y.data(), n * 4, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(a.state, st.data(), n, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(a.timer, tm.data(), n * 2, cudaMemcpyHostToDevice));

    const int B = 256, G = (n + B - 1) / B;
    for (int d = 0; d < days; d++) {
        CUDA(cudaMemset(w.infected, 0, side * side * 4));
        CUDA(cudaMemset(w.pop, 0, side * side * 4));
        k_move<<<G, B>>>(a, side, d);
        k_bin<<<G, B>>>(a, w);
        k_pressure<<<dim3(side / 16, side / 16), dim3(16, 16)>>>(w);
        k_progress<<<132, B>>>(a, w, d);
        k_census<<<G, B>>>(a, census + 4 * d);
    }
    k_column_pop<<<2, 64>>>(w, col, row);
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());

    int errors = 0;
    std::vector<int> hc(4 * days), inf(side * side), pop(side * side), hcol(side), hrow(side);
    CUDA(cudaMemcpy(hc.data(), census, 4 * days * 4, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(hcol.data(), col, side * 4, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(hrow.data(), row, side * 4, cudaMemcpyDeviceToHost));
    for (int d = 0; d < days; d++) {
        std::fill(inf.begin(), inf.end(), 0);
        std::fill(pop.begin(), pop.end(), 0);
        for (int i = 0; i < n; i++) {
            uint32_t r = rng(i, d, 1);
            x[i] = (x[i] + (int)(r % 3) - 1 + side) % side;
            y[i] = (y[i] + (int)((r >> 8) % 3) - 1 + side) % side;
            pop[y[i] * side + x[i]]++;
            inf[y[i] * side + x[i]] += st[i] == INF;
        }
        int c[4] = {0, 0, 0, 0};
        for (int i = 0; i < n; i++) {
            if (st[i] == SUS) {
                int p = 3 * inf[y[i] * side + x[i]];
                for (int dy = -1; dy <= 1; dy++)
                    for (int dx = -1; dx <= 1; dx++)
                        p += inf[(y[i] + dy + side) % side * side + (x[i] + dx + side) % side];
                if ((rng(i, d, 2) & 1023u) < (uint32_t)(40 * p)) {
                    st[i] = EXP;
                    tm[i] = 1 + rng(i, d, 3) % 2;
                }
            } else if (st[i] == EXP) {
                if (--tm[i] == 0) {
                    st[i] = INF;
                    tm[i] = 2 + rng(i, d, 4) % 3;
                }
            } else if (st[i] == INF) {
                if (--tm[i] == 0)
                    st[i] = REC;
            }
            c[st[i]]++;
        }
        for (int k = 0; k < 4; k++)
            if (c[k] != hc[4 * d + k])
                errors++;
        printf("day %d  S %d E %d I %d R %d\n", d, hc[4 * d], hc[4 * d + 1], hc[4 * d + 2], hc[4 * d + 3]);
    }
    for (int c = 0; c < side; c++) {
        int s = 0, r = 0;
        for (int k = 0; k < side; k++) {
            s += pop[k * side + c];
            r += pop[c * side + k];
        }
        if (s != hcol[c] || r != hrow[c])
            errors++;
    }
    puts(errors == 0 ? "PASS" : "FAIL");
    return errors != 0;
}
