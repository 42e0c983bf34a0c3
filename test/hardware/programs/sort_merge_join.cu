// Sort-merge equi-join of two columnar tables (orders x lineitems), all on the device.
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using u32 = std::uint32_t;
using u64 = std::uint64_t;

static void ck(cudaError_t e, int line)
{
    if (e != cudaSuccess)
        throw std::runtime_error(std::string(cudaGetErrorString(e)) + " at line " + std::to_string(line));
}
#define CK(x) ck((x), __LINE__)

template <typename T>
class Column {
  public:
    explicit Column(std::size_t n) : n_(n) { CK(cudaMalloc(&p_, n * sizeof(T))); }
    explicit Column(const std::vector<T>& h) : Column(h.size())
    {
        CK(cudaMemcpy(p_, h.data(), n_ * sizeof(T), cudaMemcpyHostToDevice));
    }
    Column(const Column&) = delete;
    Column& operator=(const Column&) = delete;
    ~Column() { cudaFree(p_); }
    T* data() { return p_; }
    std::size_t size() const { return n_; }
    std::vector<T> toHost() const
    {
        std::vector<T> h(n_);
        CK(cudaMemcpy(h.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
        return h;
    }
    void swap(Column& o)
    {
        std::swap(p_, o.p_);
        std::swap(n_, o.n_);
    }

  private:
    T* p_ = nullptr;
    std::size_t n_;
};

constexpr int TILE = 1024;

__global__ void packKeys(const u32* __restrict__ key, u64* __restrict__ packed, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        packed[i] = (u64(key[i]) << 32) | u32(i);
}

// Each block sorts TILE packed keys with a bitonic network, two elements a thread.
__global__ void tileSort(u64* packed)
{
    __shared__ u64 s[TILE];
    u64* mine = packed + std::size_t(blockIdx.x) * TILE;
    s[threadIdx.x] = mine[threadIdx.x];
    s[threadIdx.x + TILE / 2] = mine[threadIdx.x + TILE / 2];
    for (int size = 2; size <= TILE; size <<= 1) {
        for (int stride = size / 2; stride > 0; stride >>= 1) {
            __syncthreads();
            int pos = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
            bool up = (pos & size) == 0;
            u64 a = s[pos];
            u64 b = s[pos + stride];
            if ((a > b) == up) {
                s[pos] = b;
                s[pos + stride] = a;
            }
        }
    }
    __syncthreads();
    mine[threadIdx.x] = s[threadIdx.x];
    mine[threadIdx.x + TILE / 2] = s[threadIdx.x + TILE / 2];
}

// Merge pairs of runs; every thread finds the rank of its element in the sibling run.
__global__ void mergeRuns(const u64* __restrict__ in, u64* __restrict__ out, int run)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int which = i / run;
    int base = (which & ~1) * run;
    int offset = i - which * run;
    const u64* sib = in + base + ((which & 1) ? 0 : run);
    u64 v = in[i];
    int lo = 0;
    int hi = run;
    while (lo < hi) {
        int mid = (lo + hi) >> 1;
        if (sib[mid] < v)
            lo = mid + 1;
        else
            hi = mid;
    }
    out[base + offset + lo] = v;
}

__device__ int firstNotLess(const u64* a, int n, u64 v)
{
    int lo = 0;
    while (n > 0) {
        int half = n >> 1;
        if (a[lo + half] < v) {
            lo += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return lo;
}

__global__ void countMatches(const u64* __restrict__ left, int nl, const u64* __restrict__ right, int nr,
                             int* __restrict__ first, int* __restrict__ count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= nl)
        return;
    u64 k = left[i] >> 32;
    int lo = firstNotLess(right, nr, k << 32);
    int hi = firstNotLess(right, nr, (k + 1) << 32);
    first[i] = lo;
    count[i] = hi - lo;
}

__global__ void __launch_bounds__(1024) exclusiveScan(const int* __restrict__ in, int* __restrict__ out, int n)
{
    __shared__ int warpSum[32];
    __shared__ int carry;
    int lane = threadIdx.x & 31;
    int warp = threadIdx.x >> 5;
    if (threadIdx.x == 0)
        carry = 0;
    __syncthreads();
    for (int base = 0; base < n; base += 1024) {
        int i = base + threadIdx.x;
        int v = i < n ? in[i] : 0;
        int x = v;
        for (int d = 1; d < 32; d <<= 1) {
            int y = __shfl_up_sync(0xffffffffu, x, d);
            if (lane >= d)
                x += y;
        }
        if (lane == 31)
            warpSum[warp] = x;
        __syncthreads();
        if (warp == 0) {
            int w = warpSum[lane];
            for (int d = 1; d < 32; d <<= 1) {
                int y = __shfl_up_sync(0xffffffffu, w, d);
                if (lane >= d)
                    w += y;
            }
            warpSum[lane] = w;
        }
        __syncthreads();
        int pre = carry + (warp ? warpSum[warp - 1] : 0);
        if (i < n)
            out[i] = pre + x - v;
        __syncthreads();
        if (threadIdx.x == 1023)
            carry = pre + x;
        __syncthreads();
    }
    if (threadIdx.x == 0)
        out[n] = carry;
}

// One warp materialises the matches of one left row, gathering payload columns.
__global__ void materialise(const u64* __restrict__ left, const u64* __restrict__ right,
                            const int* __restrict__ first, const int* __restrict__ offs, int nl,
                            const float* __restrict__ price, const int* __restrict__ qty,
                            u32* __restrict__ outKey, float* __restrict__ outAmount)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row >= nl)
        return;
    int begin = offs[row];
    int n = offs[row + 1] - begin;
    u64 l = left[row];
    float p = price[u32(l)];
    for (int j = lane; j < n; j += 32) {
        u32 r = u32(right[first[row] + j]);
        outKey[begin + j] = u32(l >> 32);
        outAmount[begin + j] = p * qty[r];
    }
}

__global__ void groupTotals(const u32* __restrict__ key, const float* __restrict__ amount, int n, u32 mod,
                            double* totals)
{
    extern __shared__ double bins[];
    for (u32 b = threadIdx.x; b < mod; b += blockDim.x)
        bins[b] = 0.0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[key[i] % mod], double(amount[i]));
    __syncthreads();
    for (u32 b = threadIdx.x; b < mod; b += blockDim.x)
        atomicAdd(&totals[b], bins[b]);
}

static void sortTable(Column<u32>& key, Column<u64>& packed)
{
    int n = int(key.size());
    packKeys<<<(n + 255) / 256, 256>>>(key.data(), packed.data(), n);
    tileSort<<<n / TILE, TILE / 2>>>(packed.data());
    Column<u64> tmp(n);
    for (int run = TILE; run < n; run *= 2) {
        mergeRuns<<<n / 256, 256>>>(packed.data(), tmp.data(), run);
        packed.swap(tmp);
    }
    CK(cudaDeviceSynchronize());
}

static bool runJoin()
{
    const int NL = 16384;
    const int NR = 32768;
    u64 seed = 88172645463325252ull;
    auto next = [&]() {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        return u32(seed >> 32);
    };
    std::vector<u32> lk(NL), rk(NR);
    std::vector<float> price(NL);
    std::vector<int> qty(NR);
    for (int i = 0; i < NL; ++i) {
        lk[i] = next() % 20000;
        price[i] = float(next() % 1000) * 0.25f;
    }
    for (int i = 0; i < NR; ++i) {
        rk[i] = (next() % 8 == 0) ? next() % 50 : next() % 20000;
        qty[i] = int(next() % 50);
    }
    Column<u32> dlk(lk), drk(rk);
    Column<float> dprice(price);
    Column<int> dqty(qty);
    Column<u64> pl(NL), pr(NR);
    sortTable(dlk, pl);
    sortTable(drk, pr);
    Column<int> first(NL), count(NL), offs(NL + 1);
    countMatches<<<NL / 128, 128>>>(pl.data(), NL, pr.data(), NR, first.data(), count.data());
    exclusiveScan<<<1, 1024>>>(count.data(), offs.data(), NL);
    int total = offs.toHost().back();
    if (total <= 0)
        return false;
    Column<u32> outKey(total);
    Column<float> outAmount(total);
    materialise<<<NL * 32 / 256, 256>>>(pl.data(), pr.data(), first.data(), offs.data(), NL, dprice.data(),
                                        dqty.data(), outKey.data(), outAmount.data());
    const u32 GROUPS = 96;
    Column<double> totals(GROUPS);
    CK(cudaMemset(totals.data(), 0, GROUPS * sizeof(double)));
    groupTotals<<<48, 256, GROUPS * sizeof(double)>>>(outKey.data(), outAmount.data(), total, GROUPS, totals.data());
    CK(cudaDeviceSynchronize());

    // reference
    auto hp = pl.toHost();
    bool ok = std::is_sorted(hp.begin(), hp.end());
    std::multimap<u32, int> idx;
    for (int j = 0; j < NR; ++j)
        idx.emplace(rk[j], j);
    std::vector<double> ref(GROUPS, 0.0);
    long matches = 0;
    for (int i = 0; i < NL; ++i) {
        auto range = idx.equal_range(lk[i]);
        for (auto it = range.first; it != range.second; ++it) {
            ref[lk[i] % GROUPS] += double(price[i] * qty[it->second]);
            ++matches;
        }
    }
    ok = ok && matches == total;
    auto ht = totals.toHost();
    for (u32 g = 0; g < GROUPS; ++g)
        ok = ok && std::abs(ht[g] - ref[g]) <= 1e-6 * (1.0 + ref[g]);
    std::cout << "join rows: " << total << " (expected " << matches << ")\n";
    return ok;
}

int main()
{
    try {
        bool ok = runJoin();
        std::cout << (ok ? "PASS" : "FAIL") << std::endl;
        return ok ? 0 : 1;
    } catch (const std::exception& e) {
        std::cerr << e.what() << "\nFAIL\n";
        return 1;
    }
}
