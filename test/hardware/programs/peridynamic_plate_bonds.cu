// Bond-based peridynamics of a 2-D plate with a notch. Bonds live in a padded list per particle.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

#define MAXB 32
#define NX 160
#define NY 120
#define N (NX * NY)
#define HORIZON 3.01f
#define STRETCH_CRIT 0.03f
#define KBOND 1.5f
#define IDX(i) int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= N) return

struct Particles {
    float2* pos;
    float2* disp;
    float2* vel;
    float2* force;
    int* nbr;      // [MAXB][N]
    int* count;
    unsigned* alive;
    float* damage;
};

void must(cudaError_t e)
{
    if (e != cudaSuccess) {
        printf("%s\nFAIL\n", cudaGetErrorString(e));
        exit(1);
    }
}

__host__ __device__ inline bool crossesNotch(float2 a, float2 b)
{
    float mid = NY / 2 - 0.5f;
    bool sides = (a.y < mid) != (b.y < mid);
    return sides && a.x < NX / 3 && b.x < NX / 3;
}

// lattice neighbours within the horizon, stored column-wise
__global__ void buildBonds(Particles p)
{
    IDX(i);
    int ix = i % NX;
    int iy = i / NX;
    float2 a = p.pos[i];
    int c = 0;
    for (int dy = -3; dy <= 3; dy++) {
        for (int dx = -3; dx <= 3; dx++) {
            int jx = ix + dx;
            int jy = iy + dy;
            if ((dx == 0 && dy == 0) || jx < 0 || jy < 0 || jx >= NX || jy >= NY)
                continue;
            if (dx * dx + dy * dy > HORIZON * HORIZON)
                continue;
            int j = jy * NX + jx;
            if (crossesNotch(a, p.pos[j]))
                continue;
            p.nbr[c * N + i] = j;
            c++;
        }
    }
    p.count[i] = c;
    p.alive[i] = c == 32 ? 0xffffffffu : (1u << c) - 1u;
}

__device__ inline float2 bondForce(float2 xi, float2 eta, float* stretch)
{
    float ref = sqrtf(xi.x * xi.x + xi.y * xi.y);
    float2 y = make_float2(xi.x + eta.x, xi.y + eta.y);
    float len = sqrtf(y.x * y.x + y.y * y.y);
    *stretch = (len - ref) / ref;
    float f = KBOND * *stretch / len;
    return make_float2(f * y.x, f * y.y);
}

// thread per particle
__global__ void bondsThread(Particles p)
{
    IDX(i);
    float2 x = p.pos[i];
    float2 u = p.disp[i];
    float2 f = make_float2(0.f, 0.f);
    unsigned live = p.alive[i];
    int n = p.count[i];
    for (int k = 0; k < n; k++) {
        if (!((live >> k) & 1u))
            continue;
        int j = p.nbr[k * N + i];
        float2 xi = make_float2(p.pos[j].x - x.x, p.pos[j].y - x.y);
        float2 eta = make_float2(p.disp[j].x - u.x, p.disp[j].y - u.y);
        float s;
        float2 b = bondForce(xi, eta, &s);
        if (s > STRETCH_CRIT)
            live &= ~(1u << k);
        else {
            f.x += b.x;
            f.y += b.y;
        }
    }
    p.force[i] = f;
    p.alive[i] = live;
}

// warp per particle, lane per bond: same list, so the nbr reads are far apart
__global__ void bondsWarp(Particles p, float2* out)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    int lane = threadIdx.x & 31;
    if (i >= N)
        return;
    float fx = 0.f;
    float fy = 0.f;
    if (lane < p.count[i] && ((p.alive[i] >> lane) & 1u)) {
        int j = p.nbr[lane * N + i];
        float2 xi = make_float2(p.pos[j].x - p.pos[i].x, p.pos[j].y - p.pos[i].y);
        float2 eta = make_float2(p.disp[j].x - p.disp[i].x, p.disp[j].y - p.disp[i].y);
        float s;
        float2 b = bondForce(xi, eta, &s);
        fx = b.x;
        fy = b.y;
    }
    for (int o = 16; o > 0; o >>= 1) {
        fx += __shfl_down_sync(0xffffffff, fx, o);
        fy += __shfl_down_sync(0xffffffff, fy, o);
    }
    if (lane == 0)
        out[i] = make_float2(fx, fy);
}

__global__ void verlet(Particles p, float dt)
{
    IDX(i);
    float2 v = p.vel[i];
    float2 u = p.disp[i];
    v.x += dt * p.force[i].x;
    v.y += dt * p.force[i].y;
    u.x += dt * v.x;
    u.y += dt * v.y;
    p.vel[i] = v;
    p.disp[i] = u;
}

__global__ void damageField(Particles p, int* broken)
{
    __shared__ int total;
    if (threadIdx.x == 0)
        total = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) {
        int live = __popc(p.alive[i]);
        p.damage[i] = 1.f - (float)live / p.count[i];
        atomicAdd(&total, p.count[i] - live);
    }
    __syncthreads();
    if (threadIdx.x == 0)
        atomicAdd(broken, total);
}

int main()
{
    std::vector<float2> pos(N), disp(N), vel(N);
    for (int i = 0; i < N; i++) {
        pos[i] = make_float2((float)(i % NX), (float)(i / NX));
        float y = pos[i].y - NY / 2 + 0.5f;
        disp[i] = make_float2(0.02f * sinf(0.1f * pos[i].x), 0.012f * y + 0.03f * cosf(0.3f * pos[i].x) * (y > 0 ? 1 : -1));
        vel[i] = make_float2(0.f, 0.f);
    }
    Particles p;
    int* dBroken;
    float2* dF2;
    must(cudaMalloc(&p.pos, N * sizeof(float2)));
    must(cudaMalloc(&p.disp, N * sizeof(float2)));
    must(cudaMalloc(&p.vel, N * sizeof(float2)));
    must(cudaMalloc(&p.force, N * sizeof(float2)));
    must(cudaMalloc(&p.nbr, MAXB * N * sizeof(int)));
    must(cudaMalloc(&p.count, N * sizeof(int)));
    must(cudaMalloc(&p.alive, N * sizeof(unsigned)));
    must(cudaMalloc(&p.damage, N * sizeof(float)));
    must(cudaMalloc(&dBroken, sizeof(int)));
    must(cudaMalloc(&dF2, N * sizeof(float2)));
    must(cudaMemset(dBroken, 0, sizeof(int)));
    must(cudaMemcpy(p.pos, pos.data(), N * sizeof(float2), cudaMemcpyHostToDevice));
    must(cudaMemcpy(p.disp, disp.data(), N * sizeof(float2), cudaMemcpyHostToDevice));
    must(cudaMemcpy(p.vel, vel.data(), N * sizeof(float2), cudaMemcpyHostToDevice));

    const int B = 128;
    const int G = (N + B - 1) / B;
    const float dt = 0.02f;
    buildBonds<<<G, B>>>(p);
    for (int s = 0; s < 6; s++) {
        bondsThread<<<G, B>>>(p);
        verlet<<<G, B>>>(p, dt);
    }
    std::vector<float2> before(N);
    must(cudaMemcpy(before.data(), p.disp, N * sizeof(float2), cudaMemcpyDeviceToHost));
    bondsThread<<<G, B>>>(p);
    bondsWarp<<<(N * 32 + 255) / 256, 256>>>(p, dF2);
    damageField<<<G, B>>>(p, dBroken);
    must(cudaGetLastError());
    must(cudaDeviceSynchronize());

    std::vector<float2> f1(N), f2(N);
    std::vector<int> nbr(MAXB * N), cnt(N);
    std::vector<unsigned> alive(N);
    std::vector<float> dmg(N);
    int broken = 0;
    must(cudaMemcpy(f1.data(), p.force, N * sizeof(float2), cudaMemcpyDeviceToHost));
    must(cudaMemcpy(f2.data(), dF2, N * sizeof(float2), cudaMemcpyDeviceToHost));
    must(cudaMemcpy(nbr.data(), p.nbr, nbr.size() * sizeof(int), cudaMemcpyDeviceToHost));
    must(cudaMemcpy(cnt.data(), p.count, N * sizeof(int), cudaMemcpyDeviceToHost));
    must(cudaMemcpy(alive.data(), p.alive, N * sizeof(unsigned), cudaMemcpyDeviceToHost));
    must(cudaMemcpy(dmg.data(), p.damage, N * sizeof(float), cudaMemcpyDeviceToHost));
    must(cudaMemcpy(&broken, dBroken, sizeof(int), cudaMemcpyDeviceToHost));
    int bad = 0;
    int dead = 0;
    for (int i = 0; i < N; i++) {
        double fx = 0;
        double fy = 0;
        int live = 0;
        int expected = 0;
        for (int dy = -3; dy <= 3; dy++)
            for (int dx = -3; dx <= 3; dx++) {
                int jx = i % NX + dx;
                int jy = i / NX + dy;
                if ((dx || dy) && dx * dx + dy * dy <= 9 && jx >= 0 && jy >= 0 && jx < NX && jy < NY &&
                    !crossesNotch(pos[i], pos[jy * NX + jx]))
                    expected++;
            }
        if (expected != cnt[i])
            bad++;
        for (int k = 0; k < cnt[i]; k++) {
            if (!((alive[i] >> k) & 1u))
                continue;
            live++;
            int j = nbr[k * N + i];
            double xx = pos[j].x - pos[i].x;
            double xy = pos[j].y - pos[i].y;
            double ref = sqrt(xx * xx + xy * xy);
            xx += before[j].x - before[i].x;
            xy += before[j].y - before[i].y;
            double len = sqrt(xx * xx + xy * xy);
            double s = (len - ref) / ref;
            if (s > STRETCH_CRIT + 1e-5)
                bad++;
            fx += KBOND * s / len * xx;
            fy += KBOND * s / len * xy;
        }
        dead += cnt[i] - live;
        if (fabs(fx - f1[i].x) > 1e-4 || fabs(fy - f1[i].y) > 1e-4 || fabs(fx - f2[i].x) > 1e-4 || fabs(fy - f2[i].y) > 1e-4)
            bad++;
        if (fabs(dmg[i] - (1.0 - (double)live / cnt[i])) > 1e-5)
            bad++;
    }
    if (dead != broken || broken == 0)
        bad++;
    printf("broken bonds %d bad %d\n%s\n", broken, bad, bad ? "FAIL" : "PASS");
    return bad ? 1 : 0;
}
