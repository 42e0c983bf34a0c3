// Diffusion on a 512x512 field stored in Hilbert order vs row-major; the neighbour table is built on the device.
#include <cuda_runtime.h>
#include <cstdio>
#include <cmath>
#include <vector>

constexpr int LOG = 9;
constexpr int S = 1 << LOG;
constexpr int CELLS = S * S;

__host__ __device__ inline int xy2d(int x, int y) {
    int d = 0;
    for (int s = S / 2; s > 0; s /= 2) {
        int rx = (x & s) > 0, ry = (y & s) > 0;
        d += s * s * ((3 * rx) ^ ry);
        if (ry == 0) {
            if (rx == 1) { x = S - 1 - x; y = S - 1 - y; }
            int t = x; x = y; y = t;
        }
    }
    return d;
}
__host__ __device__ inline int2 d2xy(int d) {
    int x = 0, y = 0, t = d;
    for (int s = 1; s < S; s *= 2) {
        int rx = 1 & (t / 2), ry = 1 & (t ^ rx);
        if (ry == 0) {
            if (rx == 1) { x = s - 1 - x; y = s - 1 - y; }
            int q = x; x = y; y = q;
        }
        x += s * rx; y += s * ry; t /= 4;
    }
    return make_int2(x, y);
}

__global__ void build_neighbours(int4* nb) {
    int d = blockIdx.x * blockDim.x + threadIdx.x;
    if (d >= CELLS) return;
    int2 p = d2xy(d);
    nb[d] = make_int4(xy2d((p.x + S - 1) % S, p.y), xy2d((p.x + 1) % S, p.y), xy2d(p.x, (p.y + S - 1) % S), xy2d(p.x, (p.y + 1) % S));
}

__global__ void to_hilbert(const float* rm, float* hb) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    hb[xy2d(x, y)] = rm[y * S + x];      // scattered store
}

__global__ void from_hilbert(const float* hb, float* rm) {
    int d = blockIdx.x * blockDim.x + threadIdx.x;
    int2 p = d2xy(d);
    rm[p.y * S + p.x] = hb[d];
}

__global__ void diffuse_hilbert(const float* __restrict__ u, const int4* __restrict__ nb, float* __restrict__ v, float k) {
    int d = blockIdx.x * blockDim.x + threadIdx.x;
    if (d >= CELLS) return;
    int4 n = nb[d];
    float c = u[d];
    v[d] = c + k * (u[n.x] + u[n.y] + u[n.z] + u[n.w] - 4.f * c);
}

__global__ void diffuse_rowmajor(const float* __restrict__ u, float* __restrict__ v, float k) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < CELLS; i += gridDim.x * blockDim.x) {
        int x = i & (S - 1), row = i & ~(S - 1);
        float c = u[i];
        float l = u[row | ((x - 1) & (S - 1))], r = u[row | ((x + 1) & (S - 1))];
        float t = u[(i - S) & (CELLS - 1)], b = u[(i + S) & (CELLS - 1)];
        v[i] = c + k * (l + r + t + b - 4.f * c);
    }
}

int main() {
    std::vector<float> h(CELLS), r, a(CELLS), b(CELLS);
    for (int i = 0; i < CELLS; ++i) h[i] = sinf(0.1f * (i % S)) + ((i / S / 16 + i % S / 16) & 1);
    float *rm0, *rm1, *hb0, *hb1, *back;
    int4* nb;
    cudaMalloc(&nb, CELLS * sizeof(int4));
    for (float** p : {&rm0, &rm1, &hb0, &hb1, &back}) cudaMalloc(p, CELLS * 4);
    cudaMemcpy(rm0, h.data(), CELLS * 4, cudaMemcpyHostToDevice);
    const float k = 0.2f;
    build_neighbours<<<CELLS / 128, 128>>>(nb);
    to_hilbert<<<dim3(S / 64, S / 4), dim3(64, 4)>>>(rm0, hb0);
    for (int it = 0; it < 4; ++it) {
        diffuse_hilbert<<<CELLS / 256, 256>>>(hb0, nb, hb1, k);
        diffuse_rowmajor<<<132, 512>>>(rm0, rm1, k);
        std::swap(hb0, hb1);
        std::swap(rm0, rm1);
    }
    from_hilbert<<<CELLS / 256, 256>>>(hb0, back);
    cudaMemcpy(a.data(), rm0, CELLS * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(b.data(), back, CELLS * 4, cudaMemcpyDeviceToHost);
    for (int it = 0; it < 4; ++it) {
        r.resize(CELLS);
        for (int y = 0; y < S; ++y) for (int x = 0; x < S; ++x) {
            float c = h[y * S + x];
            r[y * S + x] = c + k * (h[y * S + (x + S - 1) % S] + h[y * S + (x + 1) % S] + h[(y + S - 1) % S * S + x] + h[(y + 1) % S * S + x] - 4 * c);
        }
        h.swap(r);
    }
    double e = 0;
    for (int i = 0; i < CELLS; ++i) e = fmax(e, fmax(fabs(a[i] - h[i]), fabs(b[i] - h[i])));
    bool ok = e < 1e-5 && cudaGetLastError() == cudaSuccess;
    printf("err %g\n%s\n", e, ok ? "PASS" : "FAIL");
    return !ok;
}
