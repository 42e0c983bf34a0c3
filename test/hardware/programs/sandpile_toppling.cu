// Abelian sandpile on an open square lattice, statically allocated device lattice.
// The final (stable) configuration does not depend on the toppling order, so the
// parallel relaxation must agree exactly with a sequential stack-based one.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

constexpr int NX = 184;          // columns
constexpr int NY = 150;          // rows
constexpr int BX = 32, BY = 8;
constexpr int INNER = 12;        // local sweeps in the tile kernel

__device__ int      height_[NY][NX];
__device__ int      inbox_[NY][NX];          // grains that arrive from another tile
__device__ unsigned topples_[NY][NX];
__device__ int      unstable_;
__device__ unsigned long long lost_;

#define CK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { \
    std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); std::exit(1); } } while (0)

__global__ void add_grains(const short2* where, const int* how_many, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        short2 p = where[i];
        atomicAdd(&height_[p.y][p.x], how_many[i]);
    }
}

// One tile relaxes itself for some sweeps in shared memory. Grains crossing the tile border go to inbox_.
__global__ void relax_tile()
{
    __shared__ int h[BY][BX];
    __shared__ int arrive[BY + 2][BX + 2];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int x = blockIdx.x * BX + tx, y = blockIdx.y * BY + ty;
    const bool inside = x < NX && y < NY;
    const int tid = ty * BX + tx;

    h[ty][tx] = inside ? height_[y][x] : 0;
    for (int k = tid; k < (BY + 2) * (BX + 2); k += BX * BY)
        arrive[k / (BX + 2)][k % (BX + 2)] = 0;
    __syncthreads();

    unsigned mine = 0;
    for (int sweep = 0; sweep < INNER; ++sweep) {
        int out = inside ? h[ty][tx] >> 2 : 0;
        if (out > 0) {
            h[ty][tx] -= 4 * out;
            mine += out;
            atomicAdd(&arrive[ty][tx + 1], out);
            atomicAdd(&arrive[ty + 2][tx + 1], out);
            atomicAdd(&arrive[ty + 1][tx], out);
            atomicAdd(&arrive[ty + 1][tx + 2], out);
        }
        int any = __syncthreads_or(out > 0);
        if (inside) {
            h[ty][tx] += arrive[ty + 1][tx + 1];
            arrive[ty + 1][tx + 1] = 0;
        }
        __syncthreads();
        if (!any) break;
    }

    if (inside) {
        height_[y][x] = h[ty][tx];
        if (mine) topples_[y][x] += mine;
    }
    // hand over the frame of the tile (its cells that lie in the lattice, the rest falls off the table)
    for (int k = tid; k < (BY + 2) * (BX + 2); k += BX * BY) {
        int fy = k / (BX + 2), fx = k % (BX + 2);
        int grains = arrive[fy][fx];
        if (grains == 0) continue;
        int gx = blockIdx.x * BX + fx - 1, gy = blockIdx.y * BY + fy - 1;
        if (gx >= 0 && gx < NX && gy >= 0 && gy < NY) atomicAdd(&inbox_[gy][gx], grains);
        else atomicAdd(&lost_, (unsigned long long)grains);
    }
}

__global__ void collect()
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= NX || y >= NY) return;
    int v = height_[y][x] + inbox_[y][x];
    inbox_[y][x] = 0;
    height_[y][x] = v;
    if (v > 3) unstable_ = 1;
}

// the census goes down the columns on purpose (one thread = one column)
__global__ void census_columns(int* counts /* [4][NX] */, unsigned* busiest /* [NX] */)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= NX) return;
    int c[4] = {0, 0, 0, 0};
    unsigned top = 0;
    for (int y = 0; y < NY; ++y) {
        int v = height_[y][x] & 3;
        c[0] += v == 0; c[1] += v == 1; c[2] += v == 2; c[3] += v == 3;
        unsigned t = topples_[y][x];
        top = t > top ? t : top;
    }
    for (int k = 0; k < 4; ++k) counts[k * NX + x] = c[k];
    busiest[x] = top;
}

struct Lcg { unsigned long long s; unsigned next() { s = s * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(s >> 33); } };

int main()
{
    Lcg rng{20231};
    std::vector<std::vector<int>> table(NY, std::vector<int>(NX));
    std::vector<int> flat(NX * NY);
    for (int y = 0; y < NY; ++y)
        for (int x = 0; x < NX; ++x) flat[y * NX + x] = table[y][x] = rng.next() % 17 / 5;

    const int drops = 600;
    std::vector<short2> where(drops);
    std::vector<int> many(drops);
    for (int i = 0; i < drops; ++i) {
        where[i] = make_short2((short)(rng.next() % NX), (short)(rng.next() % NY));
        many[i] = 1 + rng.next() % 5;
        table[where[i].y][where[i].x] += many[i];
    }

    CK(cudaMemcpyToSymbol(height_, flat.data(), sizeof(int) * NX * NY));
    short2* d_where; int* d_many; int* d_counts; unsigned* d_busy;
    CK(cudaMalloc(&d_where, drops * sizeof(short2)));
    CK(cudaMalloc(&d_many, drops * sizeof(int)));
    CK(cudaMalloc(&d_counts, 4 * NX * sizeof(int)));
    CK(cudaMalloc(&d_busy, NX * sizeof(unsigned)));
    CK(cudaMemcpy(d_where, where.data(), drops * sizeof(short2), cudaMemcpyHostToDevice));
    CK(cudaMemcpy(d_many, many.data(), drops * sizeof(int), cudaMemcpyHostToDevice));

    add_grains<<<(drops + 127) / 128, 128>>>(d_where, d_many, drops);
    dim3 block(BX, BY), grid((NX + BX - 1) / BX, (NY + BY - 1) / BY);
    int rounds = 0, again = 1;
    while (again && rounds < 11) {
        again = 0;
        CK(cudaMemcpyToSymbol(unstable_, &again, sizeof again));
        relax_tile<<<grid, block>>>();
        collect<<<grid, block>>>();
        CK(cudaMemcpyFromSymbol(&again, unstable_, sizeof again));
        ++rounds;
    }
    census_columns<<<(NX + 63) / 64, 64>>>(d_counts, d_busy);
    CK(cudaDeviceSynchronize());
    std::printf("stable after %d rounds%s\n", rounds, again ? " (NOT REACHED)" : "");

    std::vector<int> final_h(NX * NY), counts(4 * NX);
    std::vector<unsigned> final_t(NX * NY), busy(NX);
    unsigned long long lost = 0;
    CK(cudaMemcpyFromSymbol(final_h.data(), height_, sizeof(int) * NX * NY));
    CK(cudaMemcpyFromSymbol(final_t.data(), topples_, sizeof(unsigned) * NX * NY));
    CK(cudaMemcpyFromSymbol(&lost, lost_, sizeof lost));
    CK(cudaMemcpy(counts.data(), d_counts, 4 * NX * sizeof(int), cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(busy.data(), d_busy, NX * sizeof(unsigned), cudaMemcpyDeviceToHost));

    // sequential reference
    std::vector<std::vector<unsigned>> tops(NY, std::vector<unsigned>(NX, 0u));
    std::vector<int> stack;
    unsigned long long fell = 0;
    for (int i = 0; i < NX * NY; ++i) if (table[i / NX][i % NX] > 3) stack.push_back(i);
    while (!stack.empty()) {
        int i = stack.back(); stack.pop_back();
        int y = i / NX, x = i % NX;
        if (table[y][x] < 4) continue;
        int out = table[y][x] / 4;
        table[y][x] %= 4;
        tops[y][x] += out;
        const int dx[4] = {1, -1, 0, 0}, dy[4] = {0, 0, 1, -1};
        for (int k = 0; k < 4; ++k) {
            int a = x + dx[k], b = y + dy[k];
            if (a < 0 || b < 0 || a >= NX || b >= NY) { fell += out; continue; }
            table[b][a] += out;
            if (table[b][a] > 3) stack.push_back(b * NX + a);
        }
    }
    long bad = again;
    if (lost != fell) ++bad;
    unsigned long long total = 0;
    for (int x = 0; x < NX; ++x) {
        int c[4] = {}; unsigned top = 0;
        for (int y = 0; y < NY; ++y) {
            bad += final_h[y * NX + x] != table[y][x];
            bad += final_t[y * NX + x] != tops[y][x];
            c[table[y][x]]++;
            top = tops[y][x] > top ? tops[y][x] : top;
            total += tops[y][x];
        }
        for (int k = 0; k < 4; ++k) bad += counts[k * NX + x] != c[k];
        bad += busy[x] != top;
    }
    std::printf("%llu topplings, %llu grains left the table, %ld mismatches\n", total, fell, bad);
    cudaFree(d_where); cudaFree(d_many); cudaFree(d_counts); cudaFree(d_busy);
    std::puts(bad ? "FAIL" : "PASS");
    return bad ? 1 : 0;
}
