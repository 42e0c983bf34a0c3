// GPU optimisation workshop, day 2. Each lesson has a BEFORE and an AFTER.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>
#include <cooperative_groups.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

#define GPU_OK(expr)                                                            \
    do {                                                                        \
        cudaError_t rc = (expr);                                                \
        if (rc != cudaSuccess) {                                                \
            std::fprintf(stderr, "[%d] %s\n", __LINE__, cudaGetErrorString(rc)); \
            std::exit(3);                                                       \
        }                                                                       \
    } while (0)

// ---------- Lesson 1: array of structures vs. structure of arrays ----------
struct Particle {
    float x, y, z;
    float vx, vy, vz;
    float mass;
    float pad;
};

struct ParticleArrays {
    float *x, *y, *z;
    float *vx, *vy, *vz;
};

__global__ void lesson1_before(Particle *p, int n, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        p[i].x += dt * p[i].vx;
        p[i].y += dt * p[i].vy;
        p[i].z += dt * p[i].vz;
    }
}

__global__ void lesson1_after(ParticleArrays p, int n, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        p.x[i] += dt * p.vx[i];
        p.y[i] += dt * p.vy[i];
        p.z[i] += dt * p.vz[i];
    }
}

// ---------- Lesson 2: row sums. Who walks along the row? ----------
__global__ void lesson2_before(const float *m, float *sums, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float s = 0.0f;
        for (int c = 0; c < cols; ++c) {
            s += m[r * cols + c];
        }
        sums[r] = s;
    }
}

__global__ void lesson2_after(const float *m, float *sums, int rows, int cols) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    int r = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
    if (r >= rows) {
        return;
    }
    const float4 *row = reinterpret_cast<const float4 *>(m + r * cols);
    float s = 0.0f;
    for (int c = warp.thread_rank(); c < cols / 4; c += warp.size()) {
        float4 v = row[c];
        s += (v.x + v.y) + (v.z + v.w);
    }
    for (int d = warp.size() / 2; d > 0; d /= 2) {
        s += warp.shfl_down(s, d);
    }
    if (warp.thread_rank() == 0) {
        sums[r] = s;
    }
}

// ---------- Lesson 3: bank conflicts (stride 32, then 33) ----------
template <int Pitch>
__global__ void lesson3_column_prefix(const float *in, float *out) {
    __shared__ float tile[32 * Pitch];
    int lane = threadIdx.x;
    const float *src = in + blockIdx.x * 1024;
    float *dst = out + blockIdx.x * 1024;
    for (int r = 0; r < 32; ++r) {
        tile[r * Pitch + lane] = src[r * 32 + lane];
    }
    __syncthreads();
    float run = 0.0f;
    for (int c = 0; c < 32; ++c) {
        run += tile[lane * Pitch + c];
        tile[lane * Pitch + c] = run;
    }
    __syncthreads();
    for (int r = 0; r < 32; ++r) {
        dst[r * 32 + lane] = tile[r * Pitch + lane];
    }
}

// ---------- Lesson 4: 2-D blur; block shape matters ----------
__global__ void lesson4_before(const float *in, float *out, int w, int h) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    int x = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) {
        return;
    }
    float s = 0.0f;
    for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) {
            s += in[(y + dy) * w + x + dx];
        }
    }
    out[y * w + x] = s / 9.0f;
}

__global__ void lesson4_after(const float *in, float *out, int w, int h) {
    __shared__ float t[10][34];
    int bx = blockIdx.x * 32;
    int by = blockIdx.y * 8;
    for (int i = threadIdx.y * 32 + threadIdx.x; i < 340; i += 256) {
        int ly = i / 34;
        int lx = i % 34;
        int gx = min(max(bx + lx - 1, 0), w - 1);
        int gy = min(max(by + ly - 1, 0), h - 1);
        t[ly][lx] = in[gy * w + gx];
    }
    __syncthreads();
    int x = bx + threadIdx.x;
    int y = by + threadIdx.y;
    if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) {
        return;
    }
    float s = 0.0f;
    for (int dy = 0; dy < 3; ++dy) {
        for (int dx = 0; dx < 3; ++dx) {
            s += t[threadIdx.y + dy][threadIdx.x + dx];
        }
    }
    out[y * w + x] = s / 9.0f;
}

static float lesson(const char *title, const std::function<void()> &launch) {
    cudaEvent_t a, b;
    GPU_OK(cudaEventCreate(&a));
    GPU_OK(cudaEventCreate(&b));
    GPU_OK(cudaEventRecord(a));
    launch();
    GPU_OK(cudaGetLastError());
    GPU_OK(cudaEventRecord(b));
    GPU_OK(cudaEventSynchronize(b));
    float ms = 0.0f;
    GPU_OK(cudaEventElapsedTime(&ms, a, b));
    std::printf("%-28s %8.3f us\n", title, ms * 1000.0f);
    GPU_OK(cudaEventDestroy(a));
    GPU_OK(cudaEventDestroy(b));
    return ms;
}

static bool close(const std::vector<float> &want, const float *dev, float tol) {
    std::vector<float> got(want.size());
    GPU_OK(cudaMemcpy(got.data(), dev, got.size() * sizeof(float), cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < want.size(); ++i) {
        if (!(std::fabs(got[i] - want[i]) <= tol * (1.0f + std::fabs(want[i])))) {
            std::printf("  mismatch at %zu: %f, expected %f\n", i, got[i], want[i]);
            return false;
        }
    }
    return true;
}

int main() {
    const int w = 1024, h = 512;
    const int n = w * h;
    const float dt = 0.125f;
    std::vector<float> data(n);
    unsigned s = 99;
    for (float &v : data) {
        s = s * 1103515245u + 12345u;
        v = (float)((s >> 16) & 1023) / 1024.0f;
    }
    std::vector<Particle> parts(n);
    std::vector<float> moved(n);
    for (int i = 0; i < n; ++i) {
        float v = data[i];
        parts[i] = {v, v + 1, v + 2, 1 - v, v, 0.5f, 1.0f, 0.0f};
        moved[i] = v + 2 + dt * 0.5f;
    }
    bool ok = true;

    Particle *dp;
    float *pool, *din, *dout;
    GPU_OK(cudaMalloc(&dp, n * sizeof(Particle)));
    GPU_OK(cudaMalloc(&pool, 6 * n * sizeof(float)));
    GPU_OK(cudaMalloc(&din, n * sizeof(float)));
    GPU_OK(cudaMalloc(&dout, n * sizeof(float)));
    GPU_OK(cudaMemcpy(dp, parts.data(), n * sizeof(Particle), cudaMemcpyHostToDevice));
    GPU_OK(cudaMemcpy(din, data.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    ParticleArrays soa{pool, pool + n, pool + 2 * n, pool + 3 * n, pool + 4 * n, pool + 5 * n};
    std::vector<float> six(6 * n);
    for (int i = 0; i < n; ++i) {
        six[i] = parts[i].x;
        six[n + i] = parts[i].y;
        six[2 * n + i] = parts[i].z;
        six[3 * n + i] = parts[i].vx;
        six[4 * n + i] = parts[i].vy;
        six[5 * n + i] = parts[i].vz;
    }
    GPU_OK(cudaMemcpy(pool, six.data(), six.size() * sizeof(float), cudaMemcpyHostToDevice));
    lesson("1 before: AoS", [&] { lesson1_before<<<n / 256, 256>>>(dp, n, dt); });
    lesson("1 after: SoA", [&] { lesson1_after<<<n / 256, 256>>>(soa, n, dt); });
    ok &= close(moved, soa.z, 1e-6f);
    GPU_OK(cudaMemcpy(parts.data(), dp, n * sizeof(Particle), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; ++i) {
        ok &= std::fabs(parts[i].z - moved[i]) < 1e-5f;
    }

    std::vector<float> sums(h, 0.0f);
    for (int i = 0; i < n; ++i) {
        sums[i / w] += data[i];
    }
    lesson("2 before: thread per row", [&] { lesson2_before<<<h / 64, 64>>>(din, dout, h, w); });
    ok &= close(sums, dout, 1e-4f);
    lesson("2 after: warp per row", [&] { lesson2_after<<<h / 8, 256>>>(din, dout, h, w); });
    ok &= close(sums, dout, 1e-4f);

    std::vector<float> prefix(n);
    for (int r = 0; r < n / 32; ++r) {
        float run = 0.0f;
        for (int c = 0; c < 32; ++c) {
            run += data[r * 32 + c];
            prefix[r * 32 + c] = run;
        }
    }
    lesson("3 before: pitch 32", [&] { lesson3_column_prefix<32><<<n / 1024, 32>>>(din, dout); });
    ok &= close(prefix, dout, 1e-4f);
    lesson("3 after: pitch 33", [&] { lesson3_column_prefix<33><<<n / 1024, 32>>>(din, dout); });
    ok &= close(prefix, dout, 1e-4f);

    std::vector<float> blur(n, 0.0f);
    for (int y = 1; y < h - 1; ++y) {
        for (int x = 1; x < w - 1; ++x) {
            float acc = 0.0f;
            for (int k = 0; k < 9; ++k) {
                acc += data[(y + k / 3 - 1) * w + x + k % 3 - 1];
            }
            blur[y * w + x] = acc / 9.0f;
        }
    }
    GPU_OK(cudaMemset(dout, 0, n * sizeof(float)));
    lesson("4 before: x on threadIdx.y", [&] {
        lesson4_before<<<dim3(h / 32, w / 8), dim3(32, 8)>>>(din, dout, w, h);
    });
    ok &= close(blur, dout, 1e-4f);
    GPU_OK(cudaMemset(dout, 0, n * sizeof(float)));
    lesson("4 after: tiled", [&] {
        lesson4_after<<<dim3(w / 32, h / 8), dim3(32, 8)>>>(din, dout, w, h);
    });
    ok &= close(blur, dout, 1e-4f);
    std::puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
