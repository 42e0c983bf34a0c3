// Shallow water, first-order finite volume (Rusanov), dimension-split flux arrays + CFL reduction; pitched memory.
#include <cuda_runtime.h>
#include <cstdio>
#include <cmath>
#include <vector>

const int NX = 330, NY = 210;
const float G = 9.81f, DX = 1.0f;

struct State { float *h, *hu, *hv; int ld; };
struct Flux3 { float a, b, c; };

__host__ __device__ inline Flux3 rusanov(float hl, float ul, float vl, float hr, float ur, float vr) {
    // ul,vl are momenta; u is the normal direction
    float nl = ul / hl, nr = ur / hr;
    float s = fmaxf(fabsf(nl) + sqrtf(G * hl), fabsf(nr) + sqrtf(G * hr));
    Flux3 f;
    f.a = 0.5f * (ul + ur) - 0.5f * s * (hr - hl);
    f.b = 0.5f * (ul * nl + 0.5f * G * hl * hl + ur * nr + 0.5f * G * hr * hr) - 0.5f * s * (ur - ul);
    f.c = 0.5f * (vl * nl + vr * nr) - 0.5f * s * (vr - vl);
    return f;
}

__global__ void wave_speed(State q, unsigned* smax) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    float s = 0;
    if (i < NX && j < NY) {
        int k = j * q.ld + i;
        float h = q.h[k];
        s = fmaxf(fabsf(q.hu[k]), fabsf(q.hv[k])) / h + sqrtf(G * h);
    }
    unsigned b = __reduce_max_sync(~0u, __float_as_uint(s));     // positive floats order like integers
    if (((threadIdx.y * blockDim.x + threadIdx.x) & 31) == 0) atomicMax(smax, b);
}

__global__ void flux_x(State q, State f) {     // f at face i-1/2 stored at i, i = 0..NX
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i > NX || j >= NY) return;
    int l = j * q.ld + max(i - 1, 0), r = j * q.ld + min(i, NX - 1);
    float sl = i == 0 ? -1.f : 1.f, sr = i == NX ? -1.f : 1.f;   // reflecting walls
    Flux3 o = rusanov(q.h[l], sl * q.hu[l], q.hv[l], q.h[r], sr * q.hu[r], q.hv[r]);
    int k = j * f.ld + i;
    f.h[k] = o.a; f.hu[k] = o.b; f.hv[k] = o.c;
}

__global__ void flux_y(State q, State f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= NX || j > NY) return;
    int l = max(j - 1, 0) * q.ld + i, r = min(j, NY - 1) * q.ld + i;
    float sl = j == 0 ? -1.f : 1.f, sr = j == NY ? -1.f : 1.f;
    Flux3 o = rusanov(q.h[l], sl * q.hv[l], q.hu[l], q.h[r], sr * q.hv[r], q.hu[r]);
    int k = j * f.ld + i;
    f.h[k] = o.a; f.hv[k] = o.b; f.hu[k] = o.c;
}

__global__ void apply_fluxes(State q, State fx, State fy, const unsigned* smax) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= NX || j >= NY) return;
    float c = 0.4f / __uint_as_float(*smax);        // dt/dx
    int k = j * q.ld + i, a = j * fx.ld + i, b = j * fy.ld + i;
    q.h[k] -= c * (fx.h[a + 1] - fx.h[a] + fy.h[b + fy.ld] - fy.h[b]);
    q.hu[k] -= c * (fx.hu[a + 1] - fx.hu[a] + fy.hu[b + fy.ld] - fy.hu[b]);
    q.hv[k] -= c * (fx.hv[a + 1] - fx.hv[a] + fy.hv[b + fy.ld] - fy.hv[b]);
}

static State alloc(int w, int h) {
    State s; size_t p;
    cudaMallocPitch(&s.h, &p, w * 4, h); cudaMallocPitch(&s.hu, &p, w * 4, h); cudaMallocPitch(&s.hv, &p, w * 4, h);
    s.ld = p / 4;
    return s;
}

int main() {
    std::vector<float> h(NX * NY), u(NX * NY, 0), v(NX * NY, 0), o[3];
    for (int j = 0; j < NY; ++j) for (int i = 0; i < NX; ++i) h[j * NX + i] = 1.f + expf(-((i - 80.f) * (i - 80.f) + (j - 100.f) * (j - 100.f)) / 200.f) + (i > 250 ? 0.3f : 0);
    State q = alloc(NX, NY), fx = alloc(NX + 1, NY), fy = alloc(NX, NY + 1);
    cudaMemcpy2D(q.h, q.ld * 4, h.data(), NX * 4, NX * 4, NY, cudaMemcpyHostToDevice);
    cudaMemset2D(q.hu, q.ld * 4, 0, NX * 4, NY); cudaMemset2D(q.hv, q.ld * 4, 0, NX * 4, NY);
    unsigned* sm; cudaMalloc(&sm, 4);
    dim3 tb(24, 8), gb(NX / 24 + 1, NY / 8 + 1);
    double mass0 = 0, mass1 = 0, err = 0;
    for (float x : h) mass0 += x;
    for (int it = 0; it < 3; ++it) {
        cudaMemset(sm, 0, 4);
        wave_speed<<<gb, tb>>>(q, sm);
        flux_x<<<gb, tb>>>(q, fx);
        flux_y<<<gb, tb>>>(q, fy);
        apply_fluxes<<<gb, tb>>>(q, fx, fy, sm);
        float s = 0;
        for (int k = 0; k < NX * NY; ++k) s = fmaxf(s, fmaxf(fabsf(u[k]), fabsf(v[k])) / h[k] + sqrtf(G * h[k]));
        float c = 0.4f / s;
        std::vector<float> nh = h, nu = u, nv = v;
        for (int j = 0; j < NY; ++j) for (int i = 0; i <= NX; ++i) {
            int l = j * NX + (i ? i - 1 : 0), r = j * NX + (i < NX ? i : NX - 1);
            Flux3 f = rusanov(h[l], (i ? 1 : -1) * u[l], v[l], h[r], (i < NX ? 1 : -1) * u[r], v[r]);
            if (i) { nh[l] -= c * f.a; nu[l] -= c * f.b; nv[l] -= c * f.c; }
            if (i < NX) { nh[r] += c * f.a; nu[r] += c * f.b; nv[r] += c * f.c; }
        }
        for (int j = 0; j <= NY; ++j) for (int i = 0; i < NX; ++i) {
            int l = (j ? j - 1 : 0) * NX + i, r = (j < NY ? j : NY - 1) * NX + i;
            Flux3 f = rusanov(h[l], (j ? 1 : -1) * v[l], u[l], h[r], (j < NY ? 1 : -1) * v[r], u[r]);
            if (j) { nh[l] -= c * f.a; nv[l] -= c * f.b; nu[l] -= c * f.c; }
            if (j < NY) { nh[r] += c * f.a; nv[r] += c * f.b; nu[r] += c * f.c; }
        }
        h = nh; u = nu; v = nv;
    }
    float* src[3] = {q.h, q.hu, q.hv}; std::vector<float>* ref[3] = {&h, &u, &v};
    for (int k = 0; k < 3; ++k) {
        o[k].resize(NX * NY);
        cudaMemcpy2D(o[k].data(), NX * 4, src[k], q.ld * 4, NX * 4, NY, cudaMemcpyDeviceToHost);
        for (int i = 0; i < NX * NY; ++i) err = fmax(err, fabs(o[k][i] - (*ref[k])[i]));
    }
    for (float x : o[0]) mass1 += x;
    bool ok = err < 1e-3 && fabs(mass1 - mass0) < 1e-4 * mass0 && cudaGetLastError() == cudaSuccess;
    printf("err %g mass %f -> %f\n%s\n", err, mass0, mass1, ok ? "PASS" : "FAIL");
    return !ok;
}
