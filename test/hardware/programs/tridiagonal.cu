// Many tridiagonal systems: Thomas' algorithm with two layouts, and parallel cyclic reduction.
#include "common.h"

struct Systems { const double *lower, *diag, *upper; double *rhs, *scratch; int count, size; };

// LAYOUT 0: system after system (lanes far apart). LAYOUT 1: interleaved (lanes side by side).
template <int LAYOUT>
__global__ void thomas(Systems s)
{
    int sys = blockIdx.x * blockDim.x + threadIdx.x;
    if (sys >= s.count) return;
    auto at = [&](int i) { return LAYOUT == 0 ? sys * s.size + i : i * s.count + sys; };
    double c = s.upper[at(0)] / s.diag[at(0)];
    double d = s.rhs[at(0)] / s.diag[at(0)];
    s.scratch[at(0)] = c;
    s.rhs[at(0)] = d;
    for (int i = 1; i < s.size; ++i) {
        double a = s.lower[at(i)];
        double m = 1.0 / (s.diag[at(i)] - a * c);
        c = s.upper[at(i)] * m;
        d = (s.rhs[at(i)] - a * d) * m;
        s.scratch[at(i)] = c;
        s.rhs[at(i)] = d;
    }
    for (int i = s.size - 2; i >= 0; --i) {
        d = s.rhs[at(i)] - s.scratch[at(i)] * d;
        s.rhs[at(i)] = d;
    }
}

// One system a block, one equation a thread, all coefficients in one dynamic buffer.
__global__ void pcr(const float *ga, const float *gb, const float *gc, float *gd, int n, int iterations)
{
    extern __shared__ char smem[];
    float *a = (float *)smem;
    float *b = a + n;
    float *c = b + n;
    float *d = c + n;
    const int i = threadIdx.x, o = blockIdx.x * n;
    a[i] = ga[o + i];
    b[i] = gb[o + i];
    c[i] = gc[o + i];
    d[i] = gd[o + i];
    __syncthreads();
    int delta = 1;
    for (int j = 0; j < iterations; ++j) {
        int left = max(i - delta, 0), right = min(i + delta, n - 1);
        float k1 = i - delta >= 0 ? a[i] / b[left] : 0.0f;
        float k2 = i + delta < n ? c[i] / b[right] : 0.0f;
        float bn = b[i] - c[left] * k1 - a[right] * k2;
        float dn = d[i] - d[left] * k1 - d[right] * k2;
        float an = -a[left] * k1, cn = -c[right] * k2;
        __syncthreads();
        a[i] = an; b[i] = bn; c[i] = cn; d[i] = dn;
        __syncthreads();
        delta *= 2;
    }
    gd[o + i] = d[i] / b[i];
}

int main()
{
    const int count = 512, size = 64, n = count * size;
    std::vector<double> lo(n), di(n), up(n), rhs(n), want(n);
    Random r(1);
    for (int i = 0; i < n; ++i) { lo[i] = i % size ? r.uniform() : 0; di[i] = 4 + r.uniform(); up[i] = i % size < size - 1 ? r.uniform() : 0; rhs[i] = r.uniform(); }
    want = rhs;
    for (int s = 0; s < count; ++s) {
        std::vector<double> c(size);
        double *d = &want[s * size];
        for (int i = 0; i < size; ++i) {
            int k = s * size + i;
            double m = 1 / (di[k] - (i ? lo[k] * c[i - 1] : 0));
            c[i] = up[k] * m;
            d[i] = (d[i] - (i ? lo[k] * d[i - 1] : 0)) * m;
        }
        for (int i = size - 2; i >= 0; --i) d[i] -= c[i] * d[i + 1];
    }
    auto interleave = [&](const std::vector<double> &v) {
        std::vector<double> t(n);
        for (int s = 0; s < count; ++s) for (int i = 0; i < size; ++i) t[i * count + s] = v[s * size + i];
        return t;
    };
    bool ok = true;
    Systems a = {toDevice(lo), toDevice(di), toDevice(up), toDevice(rhs), deviceZeros<double>(n), count, size};
    thomas<0><<<count / 64, 64>>>(a);
    ok &= report("thomas<0>", allNear(toHost(a.rhs, n), want, 1e-10));
    Systems b = {toDevice(interleave(lo)), toDevice(interleave(di)), toDevice(interleave(up)), toDevice(interleave(rhs)), deviceZeros<double>(n), count, size};
    thomas<1><<<count / 64, 64>>>(b);
    ok &= report("thomas<1>", allNear(toHost(b.rhs, n), interleave(want), 1e-10));
    auto single = [](const std::vector<double> &v) { return std::vector<float>(v.begin(), v.end()); };
    float *d = toDevice(single(rhs));
    pcr<<<count, size, 4 * size * sizeof(float)>>>(toDevice(single(lo)), toDevice(single(di)), toDevice(single(up)), d, size, 6);
    ok &= report("pcr", allNear(toHost(d, n), single(want), 1e-4));
    return ok ? 0 : 1;
}
