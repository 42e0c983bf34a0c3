// Molecular dynamics of rigid three-site water, C with classes: real-space pair forces by tiles of 32 atoms, reciprocal
// Ewald sum (structure factors, then forces), SHAKE a molecule a thread, kinetic energy and virial in double.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

struct Box { float l, inv; };
struct Atoms {
    int n;
    float4 *xq;       // position and charge
    float4 *v;        // velocity, w: inverse mass
    float3 *f;
};

#define HANDLE(e) do { cudaError_t err = e; if (err != cudaSuccess) { printf("%s %d\nFAIL\n", cudaGetErrorString(err), __LINE__); exit(1); } } while (0)

__constant__ int3 kvec[64];

__host__ __device__ static inline float wrap(float d, Box b) { return d - b.l * rintf(d * b.inv); }

// all pairs, 64 threads, j atoms through shared memory by tiles; own molecule excluded
__global__ void pairForces(Atoms a, Box box, float alpha, float cut2)
{
    __shared__ float4 tile[64];
    const int i = blockIdx.x * 64 + threadIdx.x;
    const float4 me = i < a.n ? a.xq[i] : make_float4(0, 0, 0, 0);
    float fx = 0, fy = 0, fz = 0;
    for (int base = 0; base < a.n; base += 64) {
        const int j = base + threadIdx.x;
        tile[threadIdx.x] = j < a.n ? a.xq[j] : make_float4(1e6f, 1e6f, 1e6f, 0);
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < 64; ++k) {
            const float4 o = tile[k];
            const float dx = wrap(me.x - o.x, box), dy = wrap(me.y - o.y, box), dz = wrap(me.z - o.z, box);
            const float r2 = dx * dx + dy * dy + dz * dz;
            if (r2 < cut2 && (base + k) / 3 != i / 3 && base + k < a.n) {
                const float r = sqrtf(r2), ar = alpha * r;
                const float s = me.w * o.w * (erfcf(ar) / r + 1.1283792f * alpha * expf(-ar * ar)) / r2;
                fx += s * dx;
                fy += s * dy;
                fz += s * dz;
            }
        }
        __syncthreads();
    }
    if (i < a.n) a.f[i] = make_float3(fx, fy, fz);
}

// one block a wave vector, strided over the atoms
__global__ void structureFactors(Atoms a, Box box, float2 *sf)
{
    __shared__ float sc[128], ss[128];
    const int3 k = kvec[blockIdx.x];
    const float w = 6.2831853f * box.inv;
    float c = 0, s = 0;
    for (int i = threadIdx.x; i < a.n; i += 128) {
        const float4 x = a.xq[i];
        float si, co;
        __sincosf(w * (k.x * x.x + k.y * x.y + k.z * x.z), &si, &co);
        c += x.w * co;
        s += x.w * si;
    }
    sc[threadIdx.x] = c;
    ss[threadIdx.x] = s;
    for (int h = 64; h > 0; h >>= 1) {
        __syncthreads();
        if (threadIdx.x < h) {
            sc[threadIdx.x] += sc[threadIdx.x + h];
            ss[threadIdx.x] += ss[threadIdx.x + h];
        }
    }
    if (threadIdx.x == 0) sf[blockIdx.x] = make_float2(sc[0], ss[0]);
}

__global__ void reciprocalForces(Atoms a, Box box, const float2 *__restrict__ sf, int nk, float alpha)
{
    __shared__ float2 s[64];
    __shared__ float pre[64];
    const float w = 6.2831853f * box.inv;
    if (threadIdx.x < nk) {
        const int3 k = kvec[threadIdx.x];
        const float k2 = w * w * (k.x * k.x + k.y * k.y + k.z * k.z);
        s[threadIdx.x] = sf[threadIdx.x];
        pre[threadIdx.x] = 25.132741f * box.inv * box.inv * box.inv * expf(-k2 / (4 * alpha * alpha)) / k2;
    }
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= a.n) return;
    const float4 x = a.xq[i];
    float3 f = a.f[i];
    for (int m = 0; m < nk; ++m) {
        const int3 k = kvec[m];
        float si, co;
        __sincosf(w * (k.x * x.x + k.y * x.y + k.z * x.z), &si, &co);
        const float g = pre[m] * x.w * (si * s[m].x - co * s[m].y) * w;
        f.x += g * k.x;
        f.y += g * k.y;
        f.z += g * k.z;
    }
    a.f[i] = f;
}

// a thread a molecule: drift, then three constraints iterated in local arrays
__global__ void driftShake(Atoms a, float dt, float rOH, float rHH)
{
    const int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (3 * m >= a.n) return;
    float x[3][3], old[3][3], im[3];
    for (int k = 0; k < 3; ++k) {
        const float4 p = a.xq[3 * m + k], v = a.v[3 * m + k];
        const float3 f = a.f[3 * m + k];
        old[k][0] = p.x; old[k][1] = p.y; old[k][2] = p.z;
        im[k] = v.w;
        x[k][0] = p.x + dt * (v.x + dt * v.w * f.x);
        x[k][1] = p.y + dt * (v.y + dt * v.w * f.y);
        x[k][2] = p.z + dt * (v.z + dt * v.w * f.z);
    }
    for (int it = 0; it < 12; ++it) {
#pragma unroll
        for (int b = 0; b < 3; ++b) {
            const int p = b == 2 ? 1 : 0, q = b == 0 ? 1 : 2;
            const float want = b == 2 ? rHH * rHH : rOH * rOH;
            float d2 = 0, dd = 0;
#pragma unroll
            for (int c = 0; c < 3; ++c) {
                const float d = x[p][c] - x[q][c];
                d2 += d * d;
                dd += d * (old[p][c] - old[q][c]);
            }
            const float g = (d2 - want) / (2 * (im[p] + im[q]) * dd);
#pragma unroll
            for (int c = 0; c < 3; ++c) {
                const float r = old[p][c] - old[q][c];
                x[p][c] -= g * im[p] * r;
                x[q][c] += g * im[q] * r;
            }
        }
    }
    for (int k = 0; k < 3; ++k) {
        const int i = 3 * m + k;
        a.v[i].x = (x[k][0] - old[k][0]) / dt;
        a.v[i].y = (x[k][1] - old[k][1]) / dt;
        a.v[i].z = (x[k][2] - old[k][2]) / dt;
        a.xq[i].x = x[k][0];
        a.xq[i].y = x[k][1];
        a.xq[i].z = x[k][2];
    }
}

__global__ void kineticVirial(Atoms a, double2 *out)
{
    __shared__ double2 part[96];
    double2 s = make_double2(0, 0);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += gridDim.x * blockDim.x) {
        const float4 v = a.v[i], x = a.xq[i];
        const float3 f = a.f[i];
        s.x += 0.5 * (v.x * v.x + v.y * v.y + v.z * v.z) / v.w;
        s.y += x.x * f.x + x.y * f.y + x.z * f.z;
    }
    part[threadIdx.x] = s;
    __syncthreads();
    if (threadIdx.x < 32) {
        s.x += part[threadIdx.x + 32].x + part[threadIdx.x + 64].x;
        s.y += part[threadIdx.x + 32].y + part[threadIdx.x + 64].y;
        for (int o = 16; o > 0; o /= 2) {
            s.x += __shfl_down_sync(0xffffffff, s.x, o);
            s.y += __shfl_down_sync(0xffffffff, s.y, o);
        }
        if (threadIdx.x == 0) out[blockIdx.x] = s;
    }
}

class System {
public:
    Atoms dev;
    std::vector<float4> x, v;
    explicit System(int side) : side_(side)
    {
        box.l = 3.1f * side;
        box.inv = 1.0f / box.l;
        for (int m = 0; m < side * side * side; ++m) {
            const float cx = 3.1f * (m % side), cy = 3.1f * (m / side % side), cz = 3.1f * (m / side / side), t = 0.7f * m;
            const float h = 0.8164966f, k = 0.5773503f;      // half angle of 109.47 degrees
            x.push_back(make_float4(cx, cy, cz, -0.82f));
            x.push_back(make_float4(cx + k * cosf(t), cy + k * sinf(t), cz + h, 0.41f));
            x.push_back(make_float4(cx + k * cosf(t), cy + k * sinf(t), cz - h, 0.41f));
            for (int a = 0; a < 3; ++a) v.push_back(make_float4(0.1f * sinf(m + a), 0.1f * cosf(2.f * m), 0.05f * sinf(3.f * m - a), a ? 1.0f : 1 / 16.0f));
        }
        dev.n = (int)x.size();
        HANDLE(cudaMalloc(&dev.xq, dev.n * sizeof(float4)));
        HANDLE(cudaMalloc(&dev.v, dev.n * sizeof(float4)));
        HANDLE(cudaMalloc(&dev.f, dev.n * sizeof(float3)));
        HANDLE(cudaMemcpy(dev.xq, x.data(), dev.n * sizeof(float4), cudaMemcpyHostToDevice));
        HANDLE(cudaMemcpy(dev.v, v.data(), dev.n * sizeof(float4), cudaMemcpyHostToDevice));
    }
    ~System() { cudaFree(dev.xq); cudaFree(dev.v); cudaFree(dev.f); }
    Box box;
private:
    int side_;
};

int main(int argc, char **argv)
{
    System w(argc > 1 ? atoi(argv[1]) : 6);
    const int n = w.dev.n;
    const float alpha = 0.35f, cut = 0.45f * w.box.l, dt = 0.002f;
    std::vector<int3> ks;
    for (int i = 0; i <= 2; ++i)
        for (int j = -2; j <= 2; ++j)
            for (int k = -2; k <= 2; ++k)
                if (i * i + j * j + k * k && (i > 0 || j > 0 || (j == 0 && k > 0)) && ks.size() < 60) ks.push_back(make_int3(i, j, k));
    const int nk = (int)ks.size();
    HANDLE(cudaMemcpyToSymbol(kvec, ks.data(), nk * sizeof(int3)));
    float2 *sf; double2 *ke;
    HANDLE(cudaMalloc(&sf, nk * sizeof(float2)));
    HANDLE(cudaMalloc(&ke, 5 * sizeof(double2)));
    std::vector<float3> f(n);
    std::vector<double2> e(5);
    pairForces<<<(n + 63) / 64, 64>>>(w.dev, w.box, alpha, cut * cut);
    structureFactors<<<nk, 128>>>(w.dev, w.box, sf);
    reciprocalForces<<<(n + 95) / 96, 96>>>(w.dev, w.box, sf, nk, alpha);
    HANDLE(cudaMemcpy(f.data(), w.dev.f, n * sizeof(float3), cudaMemcpyDeviceToHost));
    driftShake<<<(n / 3 + 63) / 64, 64>>>(w.dev, dt, 1.0f, 2 * 0.8164966f);
    kineticVirial<<<5, 96>>>(w.dev, ke);
    HANDLE(cudaMemcpy(e.data(), ke, 5 * sizeof(double2), cudaMemcpyDeviceToHost));
    std::vector<float4> x(n), v(n);
    HANDLE(cudaMemcpy(x.data(), w.dev.xq, n * sizeof(float4), cudaMemcpyDeviceToHost));
    HANDLE(cudaMemcpy(v.data(), w.dev.v, n * sizeof(float4), cudaMemcpyDeviceToHost));

    int bad = 0;
    for (int i = 0; i < n; i += 11) {
        double g[3] = {0, 0, 0};
        for (int j = 0; j < n; ++j) {
            if (i / 3 == j / 3) continue;
            const float dx = wrap(w.x[i].x - w.x[j].x, w.box), dy = wrap(w.x[i].y - w.x[j].y, w.box), dz = wrap(w.x[i].z - w.x[j].z, w.box);
            const double r2 = (double)dx * dx + (double)dy * dy + (double)dz * dz, r = sqrt(r2);
            if (r2 >= cut * cut) continue;
            const double s = w.x[i].w * w.x[j].w * (erfc(alpha * r) / r + 2 / sqrt(M_PI) * alpha * exp(-alpha * alpha * r2)) / r2;
            g[0] += s * dx; g[1] += s * dy; g[2] += s * dz;
        }
        for (int m = 0; m < nk; ++m) {
            double c = 0, s = 0, q = 2 * M_PI / w.box.l, k2 = q * q * (ks[m].x * ks[m].x + ks[m].y * ks[m].y + ks[m].z * ks[m].z);
            auto phase = [&](int j) { return q * (ks[m].x * w.x[j].x + ks[m].y * w.x[j].y + ks[m].z * w.x[j].z); };
            for (int j = 0; j < n; ++j) { c += w.x[j].w * cos(phase(j)); s += w.x[j].w * sin(phase(j)); }
            const double t = 8 * M_PI / pow(w.box.l, 3) * exp(-k2 / (4 * alpha * alpha)) / k2 * w.x[i].w * (sin(phase(i)) * c - cos(phase(i)) * s) * q;
            g[0] += t * ks[m].x; g[1] += t * ks[m].y; g[2] += t * ks[m].z;
        }
        if (fabs(f[i].x - g[0]) + fabs(f[i].y - g[1]) + fabs(f[i].z - g[2]) > 5e-3) ++bad;
    }
    double kin = 0, want = 0;
    for (auto &p : e) kin += p.x;
    for (int i = 0; i < n; ++i) want += 0.5 * ((double)v[i].x * v[i].x + (double)v[i].y * v[i].y + (double)v[i].z * v[i].z) / v[i].w;
    if (fabs(kin - want) > 1e-4 * want) ++bad;
    for (int m = 0; m < n / 3; ++m) {
        const float4 o = x[3 * m], h = x[3 * m + 1];
        if (fabs(hypot(hypot(o.x - h.x, o.y - h.y), o.z - h.z) - 1.0) > 1e-3) ++bad;
    }
    printf("%d errors, kinetic energy %g\n%s\n", bad, kin, bad ? "FAIL" : "PASS");
    return bad ? 1 : 0;
}
