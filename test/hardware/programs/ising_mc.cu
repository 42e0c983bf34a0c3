// 2D Ising model, checkerboard Metropolis with compact colour-split storage; 3D Potts variant with plain storage
#include <cstdio>
#include <cmath>
#include <cuda_runtime.h>

typedef signed char spin_t;
typedef unsigned int u32;

__device__ inline u32 philox_ish(u32 x, u32 y, u32 k)
{
    #pragma unroll
    for (int r = 0; r < 5; r++) {
        u32 hi = __umulhi(0xD2511F53u, x), lo = 0xD2511F53u * x;
        x = hi ^ k ^ y;
        y = lo;
        k += 0x9E3779B9u;
    }
    return x;
}

// each colour array is nx/2 x ny; "black" row offset alternates
template <bool BLACK>
__global__ void ising_update(spin_t *__restrict__ mine, const spin_t *__restrict__ other, const float *__restrict__ boltz, int nxh, int ny, u32 step)
{
    __shared__ float acc[10];
    if (threadIdx.x + threadIdx.y * blockDim.x < 10) acc[threadIdx.x + threadIdx.y * blockDim.x] = boltz[threadIdx.x + threadIdx.y * blockDim.x];
    __syncthreads();
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= ny || j >= nxh) return;
    int up = i == 0 ? ny - 1 : i - 1, dn = i + 1 < ny ? i + 1 : 0;
    int side;
    if (BLACK) side = (i & 1) ? (j + 1 < nxh ? j + 1 : 0) : (j ? j - 1 : nxh - 1);
    else       side = (i & 1) ? (j ? j - 1 : nxh - 1) : (j + 1 < nxh ? j + 1 : 0);
    int sum = other[up * nxh + j] + other[dn * nxh + j] + other[i * nxh + j] + other[i * nxh + side];
    spin_t s = mine[i * nxh + j];
    float p = acc[(s > 0 ? 5 : 0) + (sum + 4) / 2];
    float r = philox_ish(i * nxh + j, step, BLACK ? 77u : 99u) * 2.3283064e-10f;
    if (r < p) mine[i * nxh + j] = -s;
}

__global__ void energy_magnet(const spin_t *b, const spin_t *w, int n, int *mag)
{
    int m = 0;
    const char4 *pb = (const char4 *)b, *pw = (const char4 *)w;
    for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n / 4; i += blockDim.x * gridDim.x) {
        char4 x = pb[i], y = pw[i];
        m += x.x + x.y + x.z + x.w + y.x + y.y + y.z + y.w;
    }
    m = __reduce_add_sync(0xffffffffu, m);
    if (threadIdx.x % 32 == 0) atomicAdd(mag, m);
}

// 3D q-state Potts, parity sweep, 8x8x4 blocks
#define AT(x, y, z) (((z) * ny + (y)) * nx + (x))
__global__ void potts3d(unsigned char *s, int nx, int ny, int nz, int parity, int q, float beta, u32 step)
{
    int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, z = blockIdx.z * 4 + threadIdx.z;
    if (x >= nx || y >= ny || z >= nz || ((x + y + z) & 1) != parity) return;
    unsigned char nb[6];
    nb[0] = s[AT((x + 1) % nx, y, z)]; nb[1] = s[AT((x + nx - 1) % nx, y, z)];
    nb[2] = s[AT(x, (y + 1) % ny, z)]; nb[3] = s[AT(x, (y + ny - 1) % ny, z)];
    nb[4] = s[AT(x, y, (z + 1) % nz)]; nb[5] = s[AT(x, y, (z + nz - 1) % nz)];
    u32 r = philox_ish(AT(x, y, z), step, 1234u);
    int cur = s[AT(x, y, z)], prop = (cur + 1 + r % (q - 1)) % q, d = 0;
    #pragma unroll
    for (int k = 0; k < 6; k++) d += (nb[k] == prop) - (nb[k] == cur);
    if (d >= 0 || (r >> 8) * (1.0f / 16777216.0f) < __expf(beta * d)) s[AT(x, y, z)] = (unsigned char)prop;
}

int main()
{
    const int nx = 200, ny = 120, nxh = nx / 2;
    float tab[10];
    const float beta = 0.6f;
    for (int s = 0; s < 2; s++) for (int k = 0; k < 5; k++) { int sum = 2 * k - 4, sp = s ? 1 : -1; tab[s * 5 + k] = expf(-2 * beta * sp * sum); }
    spin_t *b, *w; float *dt; int *mag; unsigned char *pt;
    cudaMalloc(&b, nxh * ny); cudaMalloc(&w, nxh * ny); cudaMalloc(&dt, sizeof tab); cudaMalloc(&mag, 8);
    cudaMemset(b, 1, nxh * ny); cudaMemset(w, 1, nxh * ny); cudaMemset(mag, 0, 8);
    cudaMemcpy(dt, tab, sizeof tab, cudaMemcpyHostToDevice);
    dim3 blk(20, 6), grd((nxh + 19) / 20, (ny + 5) / 6);
    for (u32 step = 0; step < 2; step++) {
        ising_update<true><<<grd, blk>>>(b, w, dt, nxh, ny, step);
        ising_update<false><<<grd, blk>>>(w, b, dt, nxh, ny, step);
    }
    energy_magnet<<<10, 96>>>(b, w, nxh * ny, mag);
    const int px = 30, py = 22, pz = 18;
    cudaMalloc(&pt, px * py * pz);
    unsigned char *hp = new unsigned char[px * py * pz];
    for (int i = 0; i < px * py * pz; i++) hp[i] = i % 3;
    cudaMemcpy(pt, hp, px * py * pz, cudaMemcpyHostToDevice);
    for (int par = 0; par < 2; par++)
        potts3d<<<dim3((px + 7) / 8, (py + 7) / 8, (pz + 3) / 4), dim3(8, 8, 4)>>>(pt, px, py, pz, par, 3, 1.1f, 5 + par);
    int hm; cudaMemcpy(&hm, mag, 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(hp, pt, px * py * pz, cudaMemcpyDeviceToHost);
    int cnt[3] = {0, 0, 0}, bad = 0;
    for (int i = 0; i < px * py * pz; i++) { if (hp[i] < 3) cnt[hp[i]]++; else bad++; }
    printf("magnetisation %.4f, potts %d %d %d (%s)\n", hm / (float)(nx * ny), cnt[0], cnt[1], cnt[2], cudaGetErrorString(cudaGetLastError()));
    return bad || hm < nx * ny / 2;
}
