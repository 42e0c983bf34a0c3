// Batched extended Kalman filter for planar robots: one filter per thread (state in local memory, generic small-matrix
// templates) and one filter per 8-lane tile with shuffles for the predict/update covariance.
#include <cuda_runtime.h>
#include <cooperative_groups.h>
#include <cstdio>
#include <cmath>
#include <vector>
namespace cg = cooperative_groups;

template <int R, int C, class T = float> struct Mat {
    T a[R * C];
    __host__ __device__ T& operator()(int i, int j) { return a[i * C + j]; }
    __host__ __device__ const T& operator()(int i, int j) const { return a[i * C + j]; }
    __host__ __device__ static Mat eye() { Mat m; for (int i = 0; i < R * C; ++i) m.a[i] = (i / C == i % C); return m; }
};
template <int R, int K, int C, class T> __host__ __device__ inline Mat<R, C, T> operator*(const Mat<R, K, T>& x, const Mat<K, C, T>& y) {
    Mat<R, C, T> z;
    for (int i = 0; i < R; ++i) for (int j = 0; j < C; ++j) { T s = 0; for (int k = 0; k < K; ++k) s += x(i, k) * y(k, j); z(i, j) = s; }
    return z;
}
template <int R, int C, class T> __host__ __device__ inline Mat<C, R, T> tr(const Mat<R, C, T>& x) { Mat<C, R, T> z; for (int i = 0; i < R; ++i) for (int j = 0; j < C; ++j) z(j, i) = x(i, j); return z; }
template <int R, int C, class T> __host__ __device__ inline Mat<R, C, T> operator+(Mat<R, C, T> x, const Mat<R, C, T>& y) { for (int i = 0; i < R * C; ++i) x.a[i] += y.a[i]; return x; }

template <class T> struct Filter { T x[4]; Mat<4, 4, T> P; };   // px, py, heading, speed

template <class T> __host__ __device__ inline void step(Filter<T>& f, const float* u, const float* z, T dt) {
    T c = cos(f.x[2]), s = sin(f.x[2]), v = f.x[3];
    f.x[0] += v * c * dt; f.x[1] += v * s * dt; f.x[2] += T(u[0]) * dt; f.x[3] += T(u[1]) * dt;
    Mat<4, 4, T> F = Mat<4, 4, T>::eye(), Q = Mat<4, 4, T>::eye();
    F(0, 2) = -v * s * dt; F(0, 3) = c * dt; F(1, 2) = v * c * dt; F(1, 3) = s * dt;
    for (int i = 0; i < 16; ++i) Q.a[i] *= T(0.01);
    f.P = F * f.P * tr(F) + Q;
    // range + bearing-free: measure x and y, R = 0.25 I
    T S00 = f.P(0, 0) + T(0.25), S01 = f.P(0, 1), S11 = f.P(1, 1) + T(0.25), det = S00 * S11 - S01 * S01;
    T i00 = S11 / det, i01 = -S01 / det, i11 = S00 / det, y0 = T(z[0]) - f.x[0], y1 = T(z[1]) - f.x[1];
    Mat<4, 2, T> K; Mat<4, 4, T> P = f.P;
    for (int i = 0; i < 4; ++i) { K(i, 0) = P(i, 0) * i00 + P(i, 1) * i01; K(i, 1) = P(i, 0) * i01 + P(i, 1) * i11; }
    for (int i = 0; i < 4; ++i) {
        f.x[i] += K(i, 0) * y0 + K(i, 1) * y1;
        for (int j = 0; j < 4; ++j) f.P(i, j) = P(i, j) - K(i, 0) * P(0, j) - K(i, 1) * P(1, j);
    }
}

__global__ void simulate_truth(float* u, float* z, int n, int steps, float dt) {   // u,z: [step][n][2]
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = 0, y = 0, h = 0.01f * (i % 600), v = 1.0f + 0.1f * (i % 7);
    unsigned s = i * 747796405u + 2891336453u;
    for (int t = 0; t < steps; ++t) {
        s = s * 747796405u + 2891336453u;
        float w = ((s >> 9) & 1023) / 1023.f - 0.5f, a = ((s >> 20) & 1023) / 1023.f - 0.5f;
        x += v * cosf(h) * dt; y += v * sinf(h) * dt; h += w * dt; v += a * dt;
        float2* U = (float2*)u + (size_t)t * n + i; float2* Z = (float2*)z + (size_t)t * n + i;
        *U = make_float2(w, a);
        *Z = make_float2(x + 0.3f * (((s >> 3) & 255) / 255.f - 0.5f), y + 0.3f * (((s >> 13) & 255) / 255.f - 0.5f));
    }
}

__global__ void ekf_thread(Filter<float>* f, const float* u, const float* z, int n, int steps, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Filter<float> me = f[i];            // 80-byte AoS load
    for (int t = 0; t < steps; ++t) step<float>(me, u + 2 * ((size_t)t * n + i), z + 2 * ((size_t)t * n + i), dt);
    f[i] = me;
}

// 4 lanes per filter: lane r owns row r of P and x[r]
__global__ void ekf_tile4(Filter<float>* f, const float* u, const float* z, int n, int steps, float dt) {
    auto tile = cg::tiled_partition<4>(cg::this_thread_block());
    int i = (blockIdx.x * blockDim.x + threadIdx.x) / 4, r = tile.thread_rank();
    if (i >= n) return;
    float x = f[i].x[r];
    float4 P = reinterpret_cast<const float4*>(f[i].P.a)[r];
    for (int t = 0; t < steps; ++t) {
        float2 U = ((const float2*)u)[(size_t)t * n + i], Z = ((const float2*)z)[(size_t)t * n + i];
        float h = tile.shfl(x, 2), v = tile.shfl(x, 3), c = cosf(h), s = sinf(h);
        float g2 = r == 0 ? -v * s * dt : v * c * dt, g3 = (r == 0 ? c : s) * dt;
        x += r == 0 ? v * c * dt : r == 1 ? v * s * dt : r == 2 ? U.x * dt : U.y * dt;
        // M = F P : rows 0 and 1 get row2 and row3 contributions
        float4 p2 = make_float4(tile.shfl(P.x, 2), tile.shfl(P.y, 2), tile.shfl(P.z, 2), tile.shfl(P.w, 2));
        float4 p3 = make_float4(tile.shfl(P.x, 3), tile.shfl(P.y, 3), tile.shfl(P.z, 3), tile.shfl(P.w, 3));
        if (r < 2) { P.x += g2 * p2.x + g3 * p3.x; P.y += g2 * p2.y + g3 * p3.y; P.z += g2 * p2.z + g3 * p3.z; P.w += g2 * p2.w + g3 * p3.w; }
        // M F^T : columns 0 and 1
        P.x += -v * s * dt * P.z + c * dt * P.w;
        P.y += v * c * dt * P.z + s * dt * P.w;
        if (r == 0) P.x += 0.01f; else if (r == 1) P.y += 0.01f; else if (r == 2) P.z += 0.01f; else P.w += 0.01f;
        float4 r0 = make_float4(tile.shfl(P.x, 0), tile.shfl(P.y, 0), tile.shfl(P.z, 0), tile.shfl(P.w, 0));
        float4 r1 = make_float4(tile.shfl(P.x, 1), tile.shfl(P.y, 1), tile.shfl(P.z, 1), tile.shfl(P.w, 1));
        float S00 = r0.x + 0.25f, S01 = r0.y, S11 = r1.y + 0.25f, inv = 1.f / (S00 * S11 - S01 * S01);
        float k0 = (P.x * S11 - P.y * S01) * inv, k1 = (P.y * S00 - P.x * S01) * inv;
        float y0 = Z.x - tile.shfl(x, 0), y1 = Z.y - tile.shfl(x, 1);
        x += k0 * y0 + k1 * y1;
        P.x -= k0 * r0.x + k1 * r1.x; P.y -= k0 * r0.y + k1 * r1.y; P.z -= k0 * r0.z + k1 * r1.z; P.w -= k0 * r0.w + k1 * r1.w;
    }
    f[i].x[r] = x;
    reinterpret_cast<float4*>(f[i].P.a)[r] = P;
}

int main() {
    const int n = 20011, steps = 30; const float dt = 0.1f;
    std::vector<Filter<float>> h(n), a(n), b(n);
    for (auto& f : h) { f.P = Mat<4, 4>::eye(); f.x[0] = f.x[1] = f.x[2] = 0; f.x[3] = 1; }
    for (int i = 0; i < n; ++i) h[i].x[2] = 0.01f * (i % 600) + 0.05f;
    Filter<float>*d0, *d1; float *u, *z;
    size_t fb = n * sizeof(Filter<float>), ub = (size_t)n * steps * 8;
    cudaMalloc(&d0, fb); cudaMalloc(&d1, fb); cudaMalloc(&u, ub); cudaMalloc(&z, ub);
    cudaMemcpy(d0, h.data(), fb, cudaMemcpyHostToDevice); cudaMemcpy(d1, h.data(), fb, cudaMemcpyHostToDevice);
    simulate_truth<<<(n + 127) / 128, 128>>>(u, z, n, steps, dt);
    ekf_thread<<<(n + 63) / 64, 64>>>(d0, u, z, n, steps, dt);
    ekf_tile4<<<(n * 4 + 191) / 192, 192>>>(d1, u, z, n, steps, dt);
    std::vector<float> hu(n * steps * 2), hz(n * steps * 2);
    cudaMemcpy(a.data(), d0, fb, cudaMemcpyDeviceToHost); cudaMemcpy(b.data(), d1, fb, cudaMemcpyDeviceToHost);
    cudaMemcpy(hu.data(), u, ub, cudaMemcpyDeviceToHost); cudaMemcpy(hz.data(), z, ub, cudaMemcpyDeviceToHost);
    if (cudaGetLastError() != cudaSuccess) { puts("FAIL"); return 1; }
    double worst = 0;
    for (int i = 0; i < n; i += 7) {
        Filter<double> f; for (int k = 0; k < 4; ++k) f.x[k] = h[i].x[k]; f.P = Mat<4, 4, double>::eye();
        for (int t = 0; t < steps; ++t) step<double>(f, &hu[2 * ((size_t)t * n + i)], &hz[2 * ((size_t)t * n + i)], (double)dt);
        for (int k = 0; k < 4; ++k) worst = fmax(worst, fmax(fabs(f.x[k] - a[i].x[k]), fabs(f.x[k] - b[i].x[k])));
        for (int k = 0; k < 16; ++k) worst = fmax(worst, fmax(fabs(f.P.a[k] - a[i].P.a[k]), fabs(f.P.a[k] - b[i].P.a[k])));
    }
    printf("worst %g\n", worst);
    puts(worst < 2e-3 ? "PASS" : "FAIL");
    return !(worst < 2e-3);
}
