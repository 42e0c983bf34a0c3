// 2D electrostatic particle-in-cell step on a periodic mesh. Managed memory throughout, structures of arrays and arrays
// of structures side by side.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#define NX 64
#define NY 64
#define NP (1 << 18)
#define DT 0.02f

#define IDX(x, y) ((((y) + NY) % NY) * NX + (((x) + NX) % NX))

struct Managed {
    void *operator new(size_t len) {
        void *ptr;
        if (cudaMallocManaged(&ptr, len) != cudaSuccess) throw std::bad_alloc();
        return ptr;
    }
    void operator delete(void *ptr) { cudaFree(ptr); }
};

struct ParticlesSoA : Managed { float x[NP], y[NP], vx[NP], vy[NP]; };
struct Particle { float x, y, vx, vy, weight; int species; };
struct ParticlesAoS : Managed { Particle p[NP]; };
struct Mesh : Managed { float rho[NX * NY], phi[NX * NY]; float2 e[NX * NY]; double kinetic; };

// cloud in cell straight into the mesh
__global__ void deposit_aos(const ParticlesAoS *in, Mesh *mesh)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= NP) return;
    const Particle &p = in->p[i];
    float fx = floorf(p.x), fy = floorf(p.y), ax = p.x - fx, ay = p.y - fy, q = p.weight;
    int ix = (int)fx, iy = (int)fy;
    atomicAdd(&mesh->rho[IDX(ix, iy)], q * (1 - ax) * (1 - ay));
    atomicAdd(&mesh->rho[IDX(ix + 1, iy)], q * ax * (1 - ay));
    atomicAdd(&mesh->rho[IDX(ix, iy + 1)], q * (1 - ax) * ay);
    atomicAdd(&mesh->rho[IDX(ix + 1, iy + 1)], q * ax * ay);
}

// every block has a private mesh in shared memory
__global__ void deposit_shared(const ParticlesSoA *in, Mesh *mesh, float q)
{
    __shared__ float tile[NX * NY];
    for (int k = threadIdx.x; k < NX * NY; k += blockDim.x) tile[k] = 0.f;
    __syncthreads();
    for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < NP; i += blockDim.x * gridDim.x) {
        float x = in->x[i], y = in->y[i];
        int ix = (int)x, iy = (int)y;
        float ax = x - ix, ay = y - iy;
        atomicAdd(&tile[IDX(ix, iy)], q * (1 - ax) * (1 - ay));
        atomicAdd(&tile[IDX(ix + 1, iy)], q * ax * (1 - ay));
        atomicAdd(&tile[IDX(ix, iy + 1)], q * (1 - ax) * ay);
        atomicAdd(&tile[IDX(ix + 1, iy + 1)], q * ax * ay);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < NX * NY; k += blockDim.x)
        if (tile[k] != 0.f) atomicAdd(&mesh->rho[k], tile[k]);
}

// a few damped Jacobi sweeps of the Poisson equation by one block, potential kept in shared memory, then the field
__global__ void solve_field(Mesh *mesh, int sweeps)
{
    __shared__ float phi[2][NX * NY];
    for (int k = threadIdx.x; k < NX * NY; k += blockDim.x) phi[0][k] = 0.f;
    __syncthreads();
    int cur = 0;
    for (int s = 0; s < sweeps; ++s) {
        for (int k = threadIdx.x; k < NX * NY; k += blockDim.x) {
            int x = k % NX, y = k / NX;
            float around = phi[cur][IDX(x - 1, y)] + phi[cur][IDX(x + 1, y)] + phi[cur][IDX(x, y - 1)] + phi[cur][IDX(x, y + 1)];
            phi[1 - cur][k] = 0.2f * phi[cur][k] + 0.2f * (around + mesh->rho[k]);
        }
        cur = 1 - cur;
        __syncthreads();
    }
    for (int k = threadIdx.x; k < NX * NY; k += blockDim.x) {
        int x = k % NX, y = k / NX;
        mesh->phi[k] = phi[cur][k];
        mesh->e[k] = make_float2(0.5f * (phi[cur][IDX(x - 1, y)] - phi[cur][IDX(x + 1, y)]),
                                 0.5f * (phi[cur][IDX(x, y - 1)] - phi[cur][IDX(x, y + 1)]));
    }
}

__host__ __device__ inline void kick(float &x, float &y, float &vx, float &vy, const float2 *e)
{
    int ix = (int)x, iy = (int)y;
    float ax = x - ix, ay = y - iy;
    float2 a = e[IDX(ix, iy)], b = e[IDX(ix + 1, iy)], c = e[IDX(ix, iy + 1)], d = e[IDX(ix + 1, iy + 1)];
    vx += DT * ((1 - ay) * ((1 - ax) * a.x + ax * b.x) + ay * ((1 - ax) * c.x + ax * d.x));
    vy += DT * ((1 - ay) * ((1 - ax) * a.y + ax * b.y) + ay * ((1 - ax) * c.y + ax * d.y));
    x += DT * vx;
    y += DT * vy;
    if (x < 0) x += NX;
    if (x >= NX) x -= NX;
    if (y < 0) y += NY;
    if (y >= NY) y -= NY;
}

__global__ void push_soa(ParticlesSoA *p, Mesh *mesh)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float energy = 0.f;
    if (i < NP) {
        float x = p->x[i], y = p->y[i], vx = p->vx[i], vy = p->vy[i];
        kick(x, y, vx, vy, mesh->e);
        p->x[i] = x; p->y[i] = y; p->vx[i] = vx; p->vy[i] = vy;
        energy = 0.5f * (vx * vx + vy * vy);
    }
    for (int m = 16; m > 0; m >>= 1) energy += __shfl_xor_sync(0xffffffffu, energy, m);
    if ((threadIdx.x & 31) == 0) atomicAdd(&mesh->kinetic, (double)energy);
}

__global__ void push_aos(ParticlesAoS *out, const Mesh *mesh)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < NP; i += gridDim.x * blockDim.x) {
        Particle p = out->p[i];
        if (p.species == 0) continue;            // heavy background does not move
        kick(p.x, p.y, p.vx, p.vy, mesh->e);
        out->p[i] = p;
    }
}

static void sync(const char *what)
{
    cudaError_t e = cudaDeviceSynchronize();
    if (e != cudaSuccess) { printf("%s: %s\n", what, cudaGetErrorString(e)); exit(1); }
}

static int checkMesh(const char *name, const float *got, const double *want)
{
    int bad = 0;
    for (int k = 0; k < NX * NY; ++k) bad += !(fabs(got[k] - want[k]) < 1e-3 * (1 + fabs(want[k])));
    printf("%s: %d bad cells\n", name, bad);
    return bad;
}

int main()
{
    ParticlesSoA *soa = new ParticlesSoA;
    ParticlesAoS *aos = new ParticlesAoS;
    Mesh *mesh = new Mesh;
    static double want[NX * NY], phi[2][NX * NY];
    static float sx[NP], sy[NP], svx[NP], svy[NP];
    const float q = (float)(NX * NY) / NP;

    unsigned long long r = 0x853c49e6748fea9bULL;
    auto rnd = [&r]() { r = r * 6364136223846793005ULL + 1442695040888963407ULL; return (float)(r >> 40) / 16777216.f; };
    memset(mesh, 0, sizeof(Mesh));
    for (int i = 0; i < NP; ++i) {
        float u = rnd() * NX, v = rnd() * NY;
        // plasma wave: density modulated along x
        u = fminf(fmaxf(u + 2.f * sinf(6.2831853f * u / NX), 0.f), NX - 0.001f);
        sx[i] = soa->x[i] = u; sy[i] = soa->y[i] = v;
        svx[i] = soa->vx[i] = rnd() - 0.5f; svy[i] = soa->vy[i] = rnd() - 0.5f;
        Particle p = {u, v, svx[i], svy[i], i % 4 ? q : -q, i % 4 ? 1 : 0};
        aos->p[i] = p;
    }

    int bad = 0;
    deposit_aos<<<NP / 256, 256>>>(aos, mesh);
    sync("deposit_aos");
    for (int pass = 0; pass < 2; ++pass) {
        memset(want, 0, sizeof want);
        for (int i = 0; i < NP; ++i) {
            int ix = (int)sx[i], iy = (int)sy[i];
            double ax = sx[i] - ix, ay = sy[i] - iy, w = pass == 0 ? aos->p[i].weight : q;
            want[IDX(ix, iy)] += w * (1 - ax) * (1 - ay);
            want[IDX(ix + 1, iy)] += w * ax * (1 - ay);
            want[IDX(ix, iy + 1)] += w * (1 - ax) * ay;
            want[IDX(ix + 1, iy + 1)] += w * ax * ay;
        }
        if (pass == 0) {
            bad += checkMesh("deposit_aos", mesh->rho, want);
            memset(mesh->rho, 0, sizeof mesh->rho);
            deposit_shared<<<64, 512>>>(soa, mesh, q);
            sync("deposit_shared");
        } else
            bad += checkMesh("deposit_shared", mesh->rho, want);
    }

    const int sweeps = 20;
    for (int k = 0; k < NX * NY; ++k) mesh->rho[k] -= 1.f;        // neutralising background
    solve_field<<<1, 1024>>>(mesh, sweeps);
    sync("solve_field");
    for (int s = 0; s < sweeps; ++s)
        for (int k = 0; k < NX * NY; ++k) {
            int x = k % NX, y = k / NX;
            const double *c = phi[s & 1];
            phi[~s & 1][k] = 0.2 * c[k] + 0.2 * (c[IDX(x - 1, y)] + c[IDX(x + 1, y)] + c[IDX(x, y - 1)] + c[IDX(x, y + 1)] + mesh->rho[k]);
        }
    bad += checkMesh("solve_field", mesh->phi, phi[sweeps & 1]);

    push_soa<<<(NP + 191) / 192, 192>>>(soa, mesh);
    push_aos<<<132, 256>>>(aos, mesh);
    sync("push");
    double kinetic = 0;
    int wrong = 0;
    auto apart = [](float a, float b, float period) { float d = fabsf(a - b); return fminf(d, fabsf(period - d)) > 1e-3f; };
    for (int i = 0; i < NP; ++i) {
        float x = sx[i], y = sy[i], vx = svx[i], vy = svy[i];
        kick(x, y, vx, vy, mesh->e);
        kinetic += 0.5 * (vx * vx + vy * vy);
        wrong += apart(x, soa->x[i], NX) || apart(y, soa->y[i], NY) || fabsf(vx - soa->vx[i]) > 1e-4f || fabsf(vy - soa->vy[i]) > 1e-4f;
        const Particle &p = aos->p[i];
        if (p.species == 0) wrong += p.x != sx[i] || p.vy != svy[i];
        else wrong += apart(x, p.x, NX) || apart(y, p.y, NY) || fabsf(vx - p.vx) > 1e-4f || fabsf(vy - p.vy) > 1e-4f;
    }
    wrong += !(fabs(kinetic - mesh->kinetic) < 1e-4 * kinetic);
    printf("push: %d wrong, kinetic energy %.4f\n", wrong, mesh->kinetic);
    bad += wrong;
    delete soa;
    delete aos;
    delete mesh;
    return bad ? 1 : 0;
}
