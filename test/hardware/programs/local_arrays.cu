// Arrays that the compiler cannot keep in registers, and those it can.
#include "common.h"

// The index depends on data: local memory.
__global__ void digitCounts(const unsigned int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int count[10];
    for (int d = 0; d < 10; d++)
        count[d] = 0;
    unsigned int v = in[i];
    while (v) {
        count[v % 10]++;
        v /= 10;
    }
    int most = 0;
    for (int d = 1; d < 10; d++)
        if (count[d] > count[most])
            most = d;
    out[i] = most;
}

// All indices known after unrolling: registers only.
template <int DEGREE>
__global__ void horner(const float *__restrict__ c, const float *x, float *y, int n)
{
    float k[DEGREE + 1];
#pragma unroll
    for (int d = 0; d <= DEGREE; ++d) k[d] = c[d];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i], r = k[DEGREE];
#pragma unroll
        for (int d = DEGREE - 1; d >= 0; --d) r = r * v + k[d];
        y[i] = r;
    }
}

// A stack of a traversal, as in ray tracers.
__global__ void sumSubtrees(const int2 *children, const float *value, const int *roots, float *sum, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int stack[32];
    int top = 0;
    float total = 0;
    stack[top++] = roots[i];
    while (top > 0) {
        int node = stack[--top];
        total += value[node];
        int2 c = children[node];
        if (c.x >= 0) stack[top++] = c.x;
        if (c.y >= 0) stack[top++] = c.y;
    }
    sum[i] = total;
}

// Insertion sort of eight values a thread in shared memory: interleaved, so that lanes use different banks.
__global__ void sortEights(const int *in, int *out)
{
    __shared__ int s[8][128];
    const int t = threadIdx.x;
    for (int k = 0; k < 8; ++k) s[k][t] = in[(blockIdx.x * 128 + t) * 8 + k];
    for (int k = 1; k < 8; ++k) {
        int v = s[k][t], j = k - 1;
        while (j >= 0 && s[j][t] > v) {
            s[j + 1][t] = s[j][t];
            --j;
        }
        s[j + 1][t] = v;
    }
    for (int k = 0; k < 8; ++k) out[(blockIdx.x * 128 + t) * 8 + k] = s[k][t];
}

int main()
{
    const int n = 10000;
    Random r(3);
    bool ok = true;
    std::vector<unsigned int> v(n);
    std::vector<int> most(n);
    for (int i = 0; i < n; ++i) {
        v[i] = r.bits();
        int count[10] = {};
        for (unsigned int x = v[i]; x; x /= 10) count[x % 10]++;
        for (int d = 1; d < 10; ++d) if (count[d] > count[most[i]]) most[i] = d;
    }
    int *di = deviceZeros<int>(n);
    digitCounts<<<(n + 127) / 128, 128>>>(toDevice(v), di, n);
    ok &= report("digitCounts", toHost(di, n) == most);

    std::vector<float> c = randomFloats(8, 1), x = randomFloats(n, 2), y(n);
    for (int i = 0; i < n; ++i) { y[i] = c[7]; for (int d = 6; d >= 0; --d) y[i] = y[i] * x[i] + c[d]; }
    float *df = deviceZeros<float>(n);
    horner<7><<<(n + 255) / 256, 256>>>(toDevice(c), toDevice(x), df, n);
    ok &= report("horner<7>", allNear(toHost(df, n), y, 1e-5));

    const int nodes = 1023, trees = 600;
    std::vector<int2> kids(nodes);
    std::vector<float> value = randomFloats(nodes, 4), sub(nodes, 0.0f), want(trees);
    std::vector<int> roots(trees);
    for (int i = nodes - 1; i >= 0; --i) {
        bool leaf = 2 * i + 2 >= nodes;
        kids[i] = leaf ? make_int2(-1, -1) : make_int2(2 * i + 1, 2 * i + 2);
        sub[i] = value[i] + (leaf ? 0 : sub[2 * i + 1] + sub[2 * i + 2]);
    }
    for (int i = 0; i < trees; ++i) { roots[i] = 30 + r.below(900); want[i] = sub[roots[i]]; }
    sumSubtrees<<<(trees + 63) / 64, 64>>>(toDevice(kids), toDevice(value), toDevice(roots), df, trees);
    ok &= report("sumSubtrees", allNear(toHost(df, trees), want, 1e-4));

    const int blocks = 20, total = blocks * 128 * 8;
    std::vector<int> a(total), b;
    for (int &e : a) e = r.below(1000);
    b = a;
    for (int i = 0; i < total; i += 8)
        for (int k = i + 1; k < i + 8; ++k)
            for (int j = k; j > i && b[j - 1] > b[j]; --j) std::swap(b[j - 1], b[j]);
    int *dout = deviceZeros<int>(total);
    sortEights<<<blocks, 128>>>(toDevice(a), dout);
    ok &= report("sortEights", toHost(dout, total) == b);
    return ok ? 0 : 1;
}
