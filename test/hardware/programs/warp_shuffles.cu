// Work that stays inside a warp: register transposes, a 64-bit sum, a segmented scan, matching lanes.
#include "common.h"

#define FULL 0xffffffffu

// Eight values a thread, exchanged so that each thread ends up with a column; then written as two float4.
__global__ void transpose8x8(const float4 *in, float4 *out)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float v[8];
    *(float4 *)&v[0] = in[2 * t];
    *(float4 *)&v[4] = in[2 * t + 1];
    const int lane = threadIdx.x % 8;
#pragma unroll
    for (int d = 1; d < 8; d *= 2) {
#pragma unroll
        for (int i = 0; i < 8; ++i)
            if (!(i & d)) {
                float send = lane & d ? v[i] : v[i | d];
                float got = __shfl_xor_sync(FULL, send, d, 8);
                if (lane & d) v[i] = got; else v[i | d] = got;
            }
    }
    out[2 * t] = make_float4(v[0], v[1], v[2], v[3]);
    out[2 * t + 1] = make_float4(v[4], v[5], v[6], v[7]);
}

__global__ void sumLong(const long long *in, unsigned long long *total, int n)
{
    long long s = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += in[i];
    for (int d = 16; d; d /= 2) s += __shfl_down_sync(FULL, s, d);
    if (threadIdx.x % 32 == 0) atomicAdd(total, (unsigned long long)s);
}

// Lanes with equal keys find each other; the leader adds for all of them.
__global__ void countMatching(const int *key, int *bins, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int active = __ballot_sync(FULL, i < n);
    if (i < n) {
        int k = key[i];
        unsigned int same = __match_any_sync(active, k);
        if ((threadIdx.x & 31) == __ffs(same) - 1)
            atomicAdd(bins + k, __popc(same));
    }
}

__global__ void segmentedMax(const float *v, const int *head, float *out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    float x = i < n ? v[i] : -INFINITY;
    int flag = i < n ? head[i] : 1;
    for (int d = 1; d < 32; d <<= 1) {
        float up = __shfl_up_sync(FULL, x, d);
        int upFlag = __shfl_up_sync(FULL, flag, d);
        if (lane >= d) {
            if (!flag) x = fmaxf(x, up);
            flag |= upFlag;
        }
    }
    if (i < n) out[i] = x;
}

int main()
{
    bool ok = true;
    const int n = 64 * 300;
    std::vector<float> a = randomFloats(n, 1), b(n);
    for (int m = 0; m < n / 64; ++m) for (int r = 0; r < 8; ++r) for (int c = 0; c < 8; ++c) b[m * 64 + c * 8 + r] = a[m * 64 + r * 8 + c];
    float *da = toDevice(a), *db = deviceZeros<float>(n);
    transpose8x8<<<n / 8 / 96, 96>>>((float4 *)da, (float4 *)db);
    ok &= report("transpose8x8", toHost(db, n) == b);

    std::vector<long long> l(n);
    long long sum = 0;
    for (int i = 0; i < n; ++i) { l[i] = (long long)i * i - 1000000; sum += l[i]; }
    unsigned long long *total = deviceZeros<unsigned long long>(1);
    sumLong<<<30, 128>>>(toDevice(l), total, n);
    ok &= report("sumLong", (long long)toHost(total, 1)[0] == sum);

    const int m = 19001;
    std::vector<int> key(m), bins(40, 0);
    Random r(2);
    for (int &k : key) bins[k = r.below(40)]++;
    int *dbins = deviceZeros<int>(40);
    countMatching<<<(m + 255) / 256, 256>>>(toDevice(key), dbins, m);
    ok &= report("countMatching", toHost(dbins, 40) == bins);

    std::vector<int> head(m);
    std::vector<float> want(m);
    for (int i = 0; i < m; ++i) {
        head[i] = r.below(6) == 0;
        want[i] = head[i] || i % 32 == 0 ? a[i] : std::fmax(a[i], want[i - 1]);
    }
    segmentedMax<<<(m + 127) / 128, 128>>>(da, toDevice(head), db, m);
    ok &= report("segmentedMax", toHost(db, m) == want);
    return ok ? 0 : 1;
}
