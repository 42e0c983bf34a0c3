// Atomic operations of many kinds, on global and shared memory.
#include <climits>
#include "common.h"

__global__ void countUp(int *one, int *each, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(one, 1);                 // all lanes on one word
        atomicAdd(&each[i % 64], i);       // consecutive words
    }
}

__global__ void extremes(const int *in, int *lo, int *hi, unsigned int *bits, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int v = in[i];
        atomicMin(lo, v);
        atomicMax(hi, v);
        atomicOr(bits, 1u << (v & 31));
    }
}

// Shared bins, eight lanes on each; floats and doubles.
__global__ void sharedSums(const float *in, float *fOut, double *dOut)
{
    __shared__ float f[32];
    __shared__ double d[8];
    const int t = threadIdx.x;
    if (t < 32) f[t] = 0;
    if (t < 8) d[t] = 0;
    __syncthreads();
    float v = in[blockIdx.x * blockDim.x + t];
    atomicAdd(&f[t % 32], v);
    atomicAdd(&f[t / 8], v);
    atomicAdd(&d[t % 8], (double)v);
    __syncthreads();
    if (t < 32) atomicAdd(&fOut[t], f[t]);
    if (t < 8) atomicAdd(&dOut[t], d[t]);
}

// A ticket a thread: the result of the atomic is used; then an exchange in shared memory.
__global__ void tickets(int *counter, int *order, int *slots)
{
    __shared__ int last;
    __shared__ unsigned int tally[16];
    if (threadIdx.x == 0) last = -1;
    if (threadIdx.x < 16) tally[threadIdx.x] = 0;
    __syncthreads();
    int mine = atomicAdd(counter, 1);
    order[blockIdx.x * blockDim.x + threadIdx.x] = mine;
    atomicExch(&last, mine);
    unsigned int before = atomicAdd(&tally[threadIdx.x % 16], 1u);
    atomicMax(&last, (int)before);
    __syncthreads();
    if (threadIdx.x < 16) slots[blockIdx.x * 16 + threadIdx.x] = (int)tally[threadIdx.x] + (last < 0);
}

__device__ float atomicMaxFloat(float *address, float value)
{
    int *asInt = (int *)address;
    int old = *asInt, assumed;
    do {
        assumed = old;
        if (__int_as_float(assumed) >= value) break;
        old = atomicCAS(asInt, assumed, __float_as_int(value));
    } while (old != assumed);
    return __int_as_float(old);
}

__global__ void rowMaxima(const float *m, float *best, int cols)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < cols) atomicMaxFloat(&best[blockIdx.y], m[blockIdx.y * cols + c]);
}

int main()
{
    bool ok = true;
    const int n = 5000;
    int *one = deviceZeros<int>(1), *each = deviceZeros<int>(64);
    countUp<<<(n + 127) / 128, 128>>>(one, each, n);
    std::vector<int> want(64, 0);
    for (int i = 0; i < n; ++i) want[i % 64] += i;
    ok &= report("countUp", toHost(one, 1)[0] == n && toHost(each, 64) == want);

    std::vector<int> in(n);
    Random r(1);
    int lo = INT_MAX, hi = INT_MIN;
    unsigned int bits = 0;
    for (int &v : in) { v = r.below(100000) - 50000; lo = std::min(lo, v); hi = std::max(hi, v); bits |= 1u << (v & 31); }
    int *dlo = toDevice(std::vector<int>{INT_MAX}), *dhi = toDevice(std::vector<int>{INT_MIN});
    unsigned int *dbits = deviceZeros<unsigned int>(1);
    extremes<<<10, 256>>>(toDevice(in), dlo, dhi, dbits, n);
    ok &= report("extremes", toHost(dlo, 1)[0] == lo && toHost(dhi, 1)[0] == hi && toHost(dbits, 1)[0] == bits);

    std::vector<float> x = randomFloats(256 * 20, 2), f(32, 0.0f);
    std::vector<double> d(8, 0.0);
    for (int i = 0; i < 256 * 20; ++i) { f[i % 256 % 32] += x[i]; f[i % 256 / 8] += x[i]; d[i % 8] += x[i]; }
    float *df = deviceZeros<float>(32), *dx = toDevice(x);
    double *dd = deviceZeros<double>(8);
    sharedSums<<<20, 256>>>(dx, df, dd);
    ok &= report("sharedSums", allNear(toHost(df, 32), f, 1e-3) && allNear(toHost(dd, 8), d, 1e-6));

    int *counter = deviceZeros<int>(1), *order = deviceZeros<int>(64 * 10), *slots = deviceZeros<int>(160);
    tickets<<<10, 64>>>(counter, order, slots);
    std::vector<int> seen = toHost(order, 640), tally = toHost(slots, 160);
    std::vector<bool> got(640, false);
    bool good = true;
    for (int v : seen) { good = good && v >= 0 && v < 640 && !got[v]; if (good) got[v] = true; }
    for (int v : tally) good = good && v == 4;
    ok &= report("tickets", good);

    std::vector<float> best(4, -INFINITY), start(4, -1e30f);
    for (int row = 0; row < 4; ++row) for (int c = 0; c < 1000; ++c) best[row] = std::fmax(best[row], x[row * 1000 + c]);
    float *db = toDevice(start);
    rowMaxima<<<dim3(8, 4), 128>>>(dx, db, 1000);
    ok &= report("rowMaxima", toHost(db, 4) == best);
    return ok ? 0 : 1;
}
