// Weakly compressible SPH: a block of fluid collapsing in a box. Cell lists are rebuilt each step
// (count / scan / reorder), leapfrog integration.
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#define CUDA(call)                                                                   \
    do {                                                                             \
        cudaError_t status = call;                                                   \
        if (status != cudaSuccess) {                                                 \
            printf("CUDA failure %s in %s\n", cudaGetErrorString(status), __func__); \
            exit(1);                                                                 \
        }                                                                            \
    } while (0)

struct Params {
    float h, mass, rho0, c0, visc, dt, gravity, wall_k;
    int3 dim;
    float poly6, spiky;

    __host__ __device__ int3 cell_of(float x, float y, float z) const {
        int3 c = {int(x / h), int(y / h), int(z / h)};
        c.x = c.x < 0 ? 0 : (c.x >= dim.x ? dim.x - 1 : c.x);
        c.y = c.y < 0 ? 0 : (c.y >= dim.y ? dim.y - 1 : c.y);
        c.z = c.z < 0 ? 0 : (c.z >= dim.z ? dim.z - 1 : c.z);
        return c;
    }
    __host__ __device__ int flat(int x, int y, int z) const { return (z * dim.y + y) * dim.x + x; }
    __host__ __device__ float eos(float rho) const {
        float r = rho / rho0, r2 = r * r;
        float p = rho0 * c0 * c0 / 7.f * (r2 * r2 * r2 * r - 1.f);
        return p > 0 ? p : 0;
    }
};
__constant__ Params P;

struct Particle {          // as stored between steps
    float x, y, z;
    float vx, vy, vz;
    int id;
};

struct Sorted {            // structure of arrays used by the neighbour loops
    float4* pos;           // xyz + density
    float4* vel;           // xyz + pressure
    int* id;
};

__global__ void count_cells(const Particle* part, int n, int* cell, int* rank, int* count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int3 c = P.cell_of(part[i].x, part[i].y, part[i].z);
    int f = P.flat(c.x, c.y, c.z);
    cell[i] = f;
    rank[i] = atomicAdd(&count[f], 1);
}

// exclusive scan by a single block, 4 values per thread and iteration; also clears the counters
__global__ void scan_cells(int4* count, int4* start, int n4) {
    __shared__ int warp_sum[32];
    __shared__ int carry;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (threadIdx.x == 0) carry = 0;
    __syncthreads();
    for (int base = 0; base < n4; base += blockDim.x) {
        const int i = base + threadIdx.x;
        int4 v = i < n4 ? count[i] : make_int4(0, 0, 0, 0);
        if (i < n4) count[i] = make_int4(0, 0, 0, 0);
        const int total = v.x + v.y + v.z + v.w;
        int incl = total;
        for (int o = 1; o < 32; o <<= 1) {
            int t = __shfl_up_sync(0xffffffffu, incl, o);
            if (lane >= o) incl += t;
        }
        if (lane == 31) warp_sum[warp] = incl;
        __syncthreads();
        if (warp == 0) {
            int s = lane < blockDim.x / 32 ? warp_sum[lane] : 0;
            for (int o = 1; o < 32; o <<= 1) {
                int t = __shfl_up_sync(0xffffffffu, s, o);
                if (lane >= o) s += t;
            }
            warp_sum[lane] = s;
        }
        __syncthreads();
        int ex = carry + (warp ? warp_sum[warp - 1] : 0) + incl - total;
        if (i < n4) start[i] = make_int4(ex, ex + v.x, ex + v.x + v.y, ex + v.x + v.y + v.z);
        __syncthreads();
        if (threadIdx.x == blockDim.x - 1) carry = ex + total;
        __syncthreads();
    }
}

__global__ void reorder(const Particle* part, const int* cell, const int* rank, const int* start, int n, Sorted s) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Particle p = part[i];
    int d = start[cell[i]] + rank[i];
    s.pos[d] = make_float4(p.x, p.y, p.z, 0.f);
    s.vel[d] = make_float4(p.vx, p.vy, p.vz, 0.f);
    s.id[d] = p.id;
}

template <class F>
__device__ void for_neighbours(float4 p, const int* start, int ncells, int n, F f) {
    int3 c = P.cell_of(p.x, p.y, p.z);
    for (int z = max(c.z - 1, 0); z <= min(c.z + 1, P.dim.z - 1); z++)
        for (int y = max(c.y - 1, 0); y <= min(c.y + 1, P.dim.y - 1); y++) {
            int first = P.flat(max(c.x - 1, 0), y, z), last = P.flat(min(c.x + 1, P.dim.x - 1), y, z);
            int e = last + 1 < ncells ? start[last + 1] : n;
            for (int j = start[first]; j < e; j++) f(j);      // a row of cells is contiguous
        }
}

__global__ void density(Sorted s, const int* start, int ncells, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float4 p = s.pos[i];
    const float h2 = P.h * P.h;
    float rho = 0;
    for_neighbours(p, start, ncells, n, [&](int j) {
        float dx = p.x - s.pos[j].x, dy = p.y - s.pos[j].y, dz = p.z - s.pos[j].z;
        float r2 = dx * dx + dy * dy + dz * dz;
        if (r2 < h2) {
            float w = h2 - r2;
            rho += w * w * w;
        }
    });
    rho *= P.mass * P.poly6;
    s.pos[i].w = rho;
    s.vel[i].w = P.eos(rho);
}

__device__ __host__ inline float wall_push(float x, float lo, float hi, float k) {
    return x < lo ? k * (lo - x) : (x > hi ? k * (hi - x) : 0.f);
}

__global__ void force_integrate(Sorted s, const int* start, int ncells, int n, Particle* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float4 p = s.pos[i], v = s.vel[i];
    float ax = 0, ay = 0, az = 0;
    for_neighbours(p, start, ncells, n, [&](int j) {
        if (j == i) return;
        const float4 q = s.pos[j], u = s.vel[j];
        float dx = p.x - q.x, dy = p.y - q.y, dz = p.z - q.z;
        float r = sqrtf(dx * dx + dy * dy + dz * dz + 1e-12f);
        if (r >= P.h) return;
        float d = P.h - r;
        float fp = P.mass * P.spiky * d * d / r * (v.w / (p.w * p.w) + u.w / (q.w * q.w));
        float fv = P.visc * P.mass / (p.w * q.w) * P.spiky * d;
        ax += fp * dx + fv * (u.x - v.x);
        ay += fp * dy + fv * (u.y - v.y);
        az += fp * dz + fv * (u.z - v.z);
    });
    const float m = 0.5f * P.h;
    ax += wall_push(p.x, m, P.dim.x * P.h - m, P.wall_k);
    ay += wall_push(p.y, m, P.dim.y * P.h - m, P.wall_k);
    az += wall_push(p.z, m, P.dim.z * P.h - m, P.wall_k) + P.gravity;
    Particle o;
    o.vx = v.x + P.dt * ax; o.vy = v.y + P.dt * ay; o.vz = v.z + P.dt * az;
    o.x = p.x + P.dt * o.vx; o.y = p.y + P.dt * o.vy; o.z = p.z + P.dt * o.vz;
    o.id = s.id[i];
    out[i] = o;
}

class Simulation {
public:
    Simulation(const Params& prm, std::vector<Particle> init) : prm_(prm), host_(std::move(init)), n_(int(host_.size())) {
        ncells_ = (prm.dim.x * prm.dim.y * prm.dim.z + 3) / 4 * 4;
        CUDA(cudaMemcpyToSymbol(P, &prm_, sizeof(Params)));
        part_ = alloc<Particle>(n_); cell_ = alloc<int>(n_); rank_ = alloc<int>(n_);
        count_ = alloc<int>(ncells_); start_ = alloc<int>(ncells_);
        s_ = {alloc<float4>(n_), alloc<float4>(n_), alloc<int>(n_)};
        CUDA(cudaMemcpy(part_, host_.data(), n_ * sizeof(Particle), cudaMemcpyHostToDevice));
    }
    ~Simulation() { for (void* p : owned_) cudaFree(p); }

    void step() {
        const int tb = 128, grid = (n_ + tb - 1) / tb;
        count_cells<<<(n_ + 255) / 256, 256>>>(part_, n_, cell_, rank_, count_);
        scan_cells<<<1, 512>>>(reinterpret_cast<int4*>(count_), reinterpret_cast<int4*>(start_), ncells_ / 4);
        reorder<<<(n_ + 255) / 256, 256>>>(part_, cell_, rank_, start_, n_, s_);
        density<<<grid, tb>>>(s_, start_, ncells_, n_);
        force_integrate<<<(n_ + 63) / 64, 64>>>(s_, start_, ncells_, n_, part_);
        CUDA(cudaGetLastError());
    }
    const std::vector<Particle>& sync() {
        CUDA(cudaMemcpy(host_.data(), part_, n_ * sizeof(Particle), cudaMemcpyDeviceToHost));
        std::sort(host_.begin(), host_.end(), [](const Particle& a, const Particle& b) { return a.id < b.id; });
        return host_;
    }

private:
    template <class T> T* alloc(size_t n) {
        void* p;
        CUDA(cudaMalloc(&p, n * sizeof(T)));
        CUDA(cudaMemset(p, 0, n * sizeof(T)));
        owned_.push_back(p);
        return static_cast<T*>(p);
    }
    Params prm_;
    std::vector<Particle> host_;
    int n_, ncells_;
    std::vector<void*> owned_;
    Particle* part_;
    int *cell_, *rank_, *count_, *start_;
    Sorted s_;
};

static void reference_step(const Params& q, std::vector<Particle>& ps) {
    const int n = int(ps.size());
    std::vector<std::vector<int>> cells(size_t(q.dim.x) * q.dim.y * q.dim.z);
    for (int i = 0; i < n; i++) {
        int3 c = q.cell_of(ps[i].x, ps[i].y, ps[i].z);
        cells[q.flat(c.x, c.y, c.z)].push_back(i);
    }
    auto visit = [&](int i, const std::function<void(int, double, double, double)>& fn) {
        int3 c = q.cell_of(ps[i].x, ps[i].y, ps[i].z);
        for (int z = std::max(c.z - 1, 0); z <= std::min(c.z + 1, q.dim.z - 1); z++)
            for (int y = std::max(c.y - 1, 0); y <= std::min(c.y + 1, q.dim.y - 1); y++)
                for (int x = std::max(c.x - 1, 0); x <= std::min(c.x + 1, q.dim.x - 1); x++)
                    for (int j : cells[q.flat(x, y, z)]) fn(j, double(ps[i].x) - ps[j].x, double(ps[i].y) - ps[j].y, double(ps[i].z) - ps[j].z);
    };
    std::vector<double> rho(n), pr(n);
    for (int i = 0; i < n; i++) {
        double s = 0;
        visit(i, [&](int, double dx, double dy, double dz) {
            double w = double(q.h) * q.h - (dx * dx + dy * dy + dz * dz);
            if (w > 0) s += w * w * w;
        });
        rho[i] = s * q.mass * q.poly6;
        pr[i] = std::max(0.0, double(q.rho0) * q.c0 * q.c0 / 7 * (std::pow(rho[i] / q.rho0, 7) - 1));
    }
    std::vector<Particle> out(ps);
    for (int i = 0; i < n; i++) {
        std::array<double, 3> a{};
        const Particle& v = ps[i];
        visit(i, [&](int j, double dx, double dy, double dz) {
            if (j == i) return;
            double r = std::sqrt(dx * dx + dy * dy + dz * dz + 1e-12), d = q.h - r;
            if (d <= 0) return;
            double fp = q.mass * double(q.spiky) * d * d / r * (pr[i] / (rho[i] * rho[i]) + pr[j] / (rho[j] * rho[j]));
            double fv = q.visc * double(q.mass) / (rho[i] * rho[j]) * q.spiky * d;
            a[0] += fp * dx + fv * (ps[j].vx - v.vx);
            a[1] += fp * dy + fv * (ps[j].vy - v.vy);
            a[2] += fp * dz + fv * (ps[j].vz - v.vz);
        });
        const float m = 0.5f * q.h;
        a[0] += wall_push(v.x, m, q.dim.x * q.h - m, q.wall_k);
        a[1] += wall_push(v.y, m, q.dim.y * q.h - m, q.wall_k);
        a[2] += wall_push(v.z, m, q.dim.z * q.h - m, q.wall_k) + q.gravity;
        out[i].vx += float(q.dt * a[0]); out[i].vy += float(q.dt * a[1]); out[i].vz += float(q.dt * a[2]);
        out[i].x += q.dt * out[i].vx; out[i].y += q.dt * out[i].vy; out[i].z += q.dt * out[i].vz;
    }
    ps.swap(out);
}

int main(int argc, char** argv) {
    const int side = argc > 1 ? atoi(argv[1]) : 24, steps = 2;
    Params prm{};
    prm.h = 0.04f; prm.rho0 = 1000.f; prm.c0 = 20.f; prm.visc = 0.08f;
    prm.dt = 4e-4f; prm.gravity = -9.81f; prm.wall_k = 3000.f;
    const float spacing = prm.h / 2;
    prm.mass = prm.rho0 * spacing * spacing * spacing;
    prm.dim = make_int3(22, 17, 26);
    prm.poly6 = float(315.0 / (64.0 * M_PI * std::pow(prm.h, 9)));
    prm.spiky = float(45.0 / (M_PI * std::pow(prm.h, 6)));

    std::mt19937 rng(2718);
    std::uniform_real_distribution<float> u(-0.12f, 0.12f);
    std::vector<Particle> init;
    for (int k = 0; k < side + 6; k++)
        for (int j = 0; j < side; j++)
            for (int i = 0; i < side; i++)
                init.push_back({(i + 0.75f + u(rng)) * spacing, (j + 0.75f + u(rng)) * spacing, (k + 0.75f + u(rng)) * spacing, u(rng), u(rng), u(rng), 0});
    std::shuffle(init.begin(), init.end(), rng);
    for (size_t i = 0; i < init.size(); i++) init[i].id = int(i);

    Simulation sim(prm, init);
    for (int s = 0; s < steps; s++) sim.step();
    const auto& got = sim.sync();
    for (int s = 0; s < steps; s++) reference_step(prm, init);

    double ev = 0, ex = 0, vmax = 0;
    bool ids = true;
    for (size_t i = 0; i < init.size(); i++) {
        const Particle &a = got[i], &b = init[i];
        ids = ids && a.id == int(i);
        for (double d : {a.vx - b.vx, a.vy - b.vy, a.vz - b.vz}) ev = std::fabs(d) <= ev ? ev : std::fabs(d);
        for (double d : {a.x - b.x, a.y - b.y, a.z - b.z}) ex = std::fabs(d) <= ex ? ex : std::fabs(d);
        vmax = std::max({vmax, std::fabs(double(b.vx)), std::fabs(double(b.vy)), std::fabs(double(b.vz))});
    }
    printf("%zu particles, %d steps, vmax %.3f, velocity err %.2e, position err %.2e\n", init.size(), steps, vmax, ev, ex);
    const bool ok = ids && ev < 1e-2 * (vmax + 0.1) && ex < 1e-3 * prm.h;
    printf("%s\n", ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
