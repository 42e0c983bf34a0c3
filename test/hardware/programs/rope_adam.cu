// Rotary position embedding in both pairings, and an Adam step over a table of parameter groups.
#include "common.h"

// Neighbouring pairs.
__global__ void ropePairs(float *x, const float2 *table, int T, int heads, int D)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int pairs = D / 2;
    if (i >= T * heads * pairs) return;
    int d = i % pairs, t = i / (pairs * heads);
    float2 cs = table[t * pairs + d];
    float2 v = reinterpret_cast<float2 *>(x)[i];
    reinterpret_cast<float2 *>(x)[i] = make_float2(v.x * cs.x - v.y * cs.y, v.x * cs.y + v.y * cs.x);
}

// First half with second half.
__global__ void ropeHalves(float *x, const float *cosTable, const float *sinTable, int heads, int D)
{
    const int t = blockIdx.x, h = threadIdx.y, half = D / 2;
    float *head = x + (t * heads + h) * D;
    for (int d = threadIdx.x; d < half; d += blockDim.x) {
        float a = head[d], b = head[d + half];
        float c = cosTable[t * half + d], s = sinTable[t * half + d];
        head[d] = a * c - b * s;
        head[d + half] = a * s + b * c;
    }
}

struct Adam { float lr, beta1, beta2, eps; };
struct Tensors { float *p[3]; float *m[3]; float *v[3]; const float *g[3]; int n[3]; };

__global__ void adamStep(Tensors list, Adam a)
{
    const int which = blockIdx.y;
    float *p = list.p[which], *m = list.m[which], *v = list.v[which];
    const float *g = list.g[which];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < list.n[which]; i += gridDim.x * blockDim.x) {
        float grad = g[i];
        float mi = a.beta1 * m[i] + (1 - a.beta1) * grad;
        float vi = a.beta2 * v[i] + (1 - a.beta2) * grad * grad;
        m[i] = mi;
        v[i] = vi;
        p[i] -= a.lr * mi / (sqrtf(vi) + a.eps);
    }
}

int main()
{
    const int T = 50, heads = 4, D = 64, n = T * heads * D;
    std::vector<float> x = randomFloats(n, 1), c(T * D / 2), s(T * D / 2), wantA(n), wantB(n);
    std::vector<float2> table(T * D / 2);
    for (int t = 0; t < T; ++t)
        for (int d = 0; d < D / 2; ++d) {
            double angle = t * std::pow(10000.0, -2.0 * d / D);
            c[t * D / 2 + d] = (float)std::cos(angle);
            s[t * D / 2 + d] = (float)std::sin(angle);
            table[t * D / 2 + d] = make_float2((float)std::cos(angle), (float)std::sin(angle));
            for (int h = 0; h < heads; ++h) {
                int base = (t * heads + h) * D;
                float cc = c[t * D / 2 + d], ss = s[t * D / 2 + d];
                wantA[base + 2 * d] = x[base + 2 * d] * cc - x[base + 2 * d + 1] * ss;
                wantA[base + 2 * d + 1] = x[base + 2 * d] * ss + x[base + 2 * d + 1] * cc;
                wantB[base + d] = x[base + d] * cc - x[base + d + D / 2] * ss;
                wantB[base + d + D / 2] = x[base + d] * ss + x[base + d + D / 2] * cc;
            }
        }
    bool ok = true;
    float *a = toDevice(x), *b = toDevice(x);
    ropePairs<<<(n / 2 + 127) / 128, 128>>>(a, toDevice(table), T, heads, D);
    ok &= report("ropePairs", allNear(toHost(a, n), wantA, 1e-5));
    ropeHalves<<<T, dim3(32, 4)>>>(b, toDevice(c), toDevice(s), heads, D);
    ok &= report("ropeHalves", allNear(toHost(b, n), wantB, 1e-5));

    Tensors list;
    Adam adam = {1e-3f, 0.9f, 0.99f, 1e-8f};
    const int sizes[3] = {10000, 333, 5000};
    std::vector<float> want[3];
    for (int k = 0; k < 3; ++k) {
        std::vector<float> p = randomFloats(sizes[k], 10 + k), g = randomFloats(sizes[k], 20 + k);
        want[k] = p;
        for (int i = 0; i < sizes[k]; ++i) {
            float mi = (1 - adam.beta1) * g[i], vi = (1 - adam.beta2) * g[i] * g[i];
            want[k][i] -= adam.lr * mi / (std::sqrt(vi) + adam.eps);
        }
        list.p[k] = toDevice(p);
        list.g[k] = toDevice(g);
        list.m[k] = deviceZeros<float>(sizes[k]);
        list.v[k] = deviceZeros<float>(sizes[k]);
        list.n[k] = sizes[k];
    }
    adamStep<<<dim3(16, 3), 256>>>(list, adam);
    for (int k = 0; k < 3; ++k) ok &= report("adamStep", allNear(toHost(list.p[k], sizes[k]), want[k], 1e-5));
    return ok ? 0 : 1;
}
