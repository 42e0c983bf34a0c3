// One step of free particles under gravity: an array of structures against a structure of arrays.
//
// The structure has 28 bytes. A warp that reads one member of 32 neighbours touches 28 sectors
// where 4 would do; with an array for every member, it touches 4.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(call)                                                                     \
    do {                                                                                \
        cudaError_t status = (call);                                                    \
        if (status != cudaSuccess) {                                                    \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(2);                                                               \
        }                                                                               \
    } while (0)

struct Particle {
    float x, y, z;
    float vx, vy, vz;
    float mass;
};

struct Particles {
    float *x, *y, *z;
    float *vx, *vy, *vz;
};

constexpr float GRAVITY = -9.81f;

__global__ void stepAoS(Particle *p, int n, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        p[i].vz += GRAVITY * dt;
        p[i].x += p[i].vx * dt;
        p[i].y += p[i].vy * dt;
        p[i].z += p[i].vz * dt;
    }
}

__global__ void stepSoA(Particles p, int n, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        p.vz[i] += GRAVITY * dt;
        p.x[i] += p.vx[i] * dt;
        p.y[i] += p.vy[i] * dt;
        p.z[i] += p.vz[i] * dt;
    }
}

static bool near(float a, float b)
{
    return std::fabs(a - b) <= 1e-4f * (1.0f + std::fabs(b));
}

int main()
{
    const int n = 100000;
    const float dt = 0.01f;

    std::vector<Particle> before(n), expected(n);
    for (int i = 0; i < n; ++i) {
        float t = static_cast<float>(i % 1000);
        before[i] = {t * 0.1f, t * 0.2f, 100.0f + t, 1.0f + t * 0.01f, 2.0f, -t * 0.02f, 1.0f};
        expected[i] = before[i];
        expected[i].vz += GRAVITY * dt;
        expected[i].x += expected[i].vx * dt;
        expected[i].y += expected[i].vy * dt;
        expected[i].z += expected[i].vz * dt;
    }

    Particle *dAos;
    CHECK(cudaMalloc(&dAos, n * sizeof(Particle)));
    CHECK(cudaMemcpy(dAos, before.data(), n * sizeof(Particle), cudaMemcpyHostToDevice));

    Particles soa;
    float **members[] = {&soa.x, &soa.y, &soa.z, &soa.vx, &soa.vy, &soa.vz};
    using Field = float Particle::*;
    const Field fields[] = {&Particle::x, &Particle::y, &Particle::z, &Particle::vx, &Particle::vy, &Particle::vz};
    std::vector<float> column(n);
    for (int m = 0; m < 6; ++m) {
        for (int i = 0; i < n; ++i)
            column[i] = before[i].*fields[m];
        CHECK(cudaMalloc(members[m], n * sizeof(float)));
        CHECK(cudaMemcpy(*members[m], column.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    }

    const int block = 256;
    stepAoS<<<(n + block - 1) / block, block>>>(dAos, n, dt);
    CHECK(cudaGetLastError());
    stepSoA<<<(n + block - 1) / block, block>>>(soa, n, dt);
    CHECK(cudaGetLastError());

    std::vector<Particle> after(n);
    CHECK(cudaMemcpy(after.data(), dAos, n * sizeof(Particle), cudaMemcpyDeviceToHost));
    bool aosOk = true, soaOk = true;
    for (int m = 0; m < 6; ++m) {
        CHECK(cudaMemcpy(column.data(), *members[m], n * sizeof(float), cudaMemcpyDeviceToHost));
        for (int i = 0; i < n; ++i) {
            aosOk &= near(after[i].*fields[m], expected[i].*fields[m]);
            soaOk &= near(column[i], expected[i].*fields[m]);
        }
        CHECK(cudaFree(*members[m]));
    }
    CHECK(cudaFree(dAos));

    std::printf("stepAoS  %s\n", aosOk ? "PASS" : "FAIL");
    std::printf("stepSoA  %s\n", soaOk ? "PASS" : "FAIL");
    return aosOk && soaOk ? 0 : 1;
}
