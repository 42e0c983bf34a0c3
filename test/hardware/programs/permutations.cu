// Gather, scatter and axis permutations of tensors.
#include "common.h"

#define DIV_UP(a, b) (((a) + (b) - 1) / (b))
#define GLOBAL_ID (blockIdx.x * blockDim.x + threadIdx.x)

template <class T, class I>
__global__ void gather(const T *src, const I *index, T *dst, int n)
{
    if (auto i = GLOBAL_ID; i < n)
        dst[i] = src[index[i]];
}

template <class T, class I>
__global__ void scatter(const T *src, const I *index, T *dst, int n)
{
    if (auto i = GLOBAL_ID; i < n)
        dst[index[i]] = src[i];
}

// (B, N, NH, D) -> (B, NH, N, D)
__global__ void permuteHeads(float *q, const float *inp, int B, int N, int NH, int d)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < B * NH * N * d) {
        int b = idx / (NH * N * d);
        int rest = idx % (NH * N * d);
        int nh_ = rest / (N * d);
        rest = rest % (N * d);
        int n = rest / d;
        int d_ = rest % d;
        int inp_idx = (b * N * NH * d) + (n * NH * d) + (nh_ * d) + d_;
        q[idx] = __ldcs(&inp[inp_idx]);
    }
}

struct Strides { int out[3]; int in[3]; };

// Any permutation of three axes, the strides in a table.
__global__ void permute3(const int *in, int *out, Strides s, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int rest = i, at = 0;
#pragma unroll
    for (int k = 0; k < 3; ++k) {
        at += rest / s.out[k] * s.in[k];
        rest %= s.out[k];
    }
    out[i] = in[at];
}

int main()
{
    bool ok = true;
    const int n = 30000;
    std::vector<float> a = randomFloats(n, 1), g(n), s(n);
    std::vector<unsigned short> idx(n);
    for (int i = 0; i < n; ++i) idx[i] = (unsigned short)((i * 7919L + 11) % n);
    for (int i = 0; i < n; ++i) { g[i] = a[idx[i]]; s[idx[i]] = a[i]; }
    float *da = toDevice(a), *db = deviceZeros<float>(n);
    unsigned short *di = toDevice(idx);
    gather<<<DIV_UP(n, 192), 192>>>(da, di, db, n);
    ok &= report("gather", toHost(db, n) == g);
    scatter<<<DIV_UP(n, 192), 192>>>(da, di, db, n);
    ok &= report("scatter", toHost(db, n) == s);

    const int B = 2, N = 50, NH = 6, D = 40, m = B * N * NH * D;
    std::vector<float> q(m);
    for (int b = 0; b < B; ++b) for (int t = 0; t < N; ++t) for (int h = 0; h < NH; ++h) for (int d = 0; d < D; ++d)
        q[((b * NH + h) * N + t) * D + d] = a[((b * N + t) * NH + h) * D + d];
    permuteHeads<<<DIV_UP(m, 256), 256>>>(db, da, B, N, NH, D);
    std::vector<float> got = toHost(db, m);
    ok &= report("permuteHeads", got == q);

    const int X = 20, Y = 30, Z = 50, total = X * Y * Z;
    std::vector<int> in(total), want(total);
    for (int i = 0; i < total; ++i) in[i] = i;
    for (int x = 0; x < X; ++x) for (int y = 0; y < Y; ++y) for (int z = 0; z < Z; ++z) want[(z * X + x) * Y + y] = (x * Y + y) * Z + z;
    int *dout = deviceZeros<int>(total);
    Strides st = {{X * Y, Y, 1}, {1, Y * Z, Z}};
    permute3<<<DIV_UP(total, 128), 128>>>(toDevice(in), dout, st, total);
    ok &= report("permute3", toHost(dout, total) == want);
    return ok ? 0 : 1;
}
