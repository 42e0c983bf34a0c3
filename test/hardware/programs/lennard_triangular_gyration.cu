// Polymer analysis: contact map over the strict upper triangle with a flattened triangular index,
// the same with a rectangular launch that wastes half of the threads, and the gyration radius per chain.
#include <cuda_runtime.h>
#include <cstdio>
#include <cmath>
#include <vector>

const int CHAINS = 24, BEADS = 220;
const int PAIRS = BEADS * (BEADS - 1) / 2;

struct Bead {
    float x, y, z;
};

__host__ __device__ inline float dist2(Bead a, Bead b) {
    float dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z;
    return dx * dx + dy * dy + dz * dz;
}

// p -> (i, j), i > j, with i(i-1)/2 <= p
__device__ inline void unrank(int p, int& i, int& j) {
    i = (int)((1.0f + sqrtf(1.0f + 8.0f * p)) * 0.5f);
    while (i * (i - 1) / 2 > p) --i;
    while ((i + 1) * i / 2 <= p) ++i;
    j = p - i * (i - 1) / 2;
}

__global__ void contacts_flat(const Bead* b, float cut2, int* contact, int* degree) {
    int p = blockIdx.x * blockDim.x + threadIdx.x, c = blockIdx.y;
    if (p >= PAIRS) return;
    int i, j;
    unrank(p, i, j);
    bool hit = dist2(b[c * BEADS + i], b[c * BEADS + j]) < cut2;
    contact[c * PAIRS + p] = hit;
    if (hit) {
        atomicAdd(&degree[c * BEADS + i], 1);
        atomicAdd(&degree[c * BEADS + j], 1);
    }
}

__global__ void contacts_square(const Bead* b, float cut2, int* contact) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.z;
    if (i >= BEADS || j >= i) return;
    contact[c * PAIRS + i * (i - 1) / 2 + j] = dist2(b[c * BEADS + i], b[c * BEADS + j]) < cut2;
}

// one block per chain; beads staged in shared memory, triangular inner loop
__global__ void gyration(const Bead* b, float* rg2) {
    __shared__ Bead s[BEADS];
    __shared__ float part[4];
    for (int i = threadIdx.x; i < BEADS; i += blockDim.x) s[i] = b[blockIdx.x * BEADS + i];
    __syncthreads();
    float a = 0;
    for (int i = threadIdx.x; i < BEADS; i += blockDim.x)
        for (int j = 0; j < i; ++j) a += dist2(s[i], s[j]);
    for (int o = 16; o; o >>= 1) a += __shfl_down_sync(~0u, a, o);
    if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = a;
    __syncthreads();
    if (threadIdx.x == 0) rg2[blockIdx.x] = (part[0] + part[1] + part[2] + part[3]) / ((float)BEADS * BEADS);
}

int main() {
    const int n = CHAINS * BEADS;
    std::vector<Bead> h(n);
    unsigned s = 6;
    auto r = [&] { s = s * 1664525u + 1013904223u; return (s >> 8) / 8388608.f - 1.f; };
    for (int c = 0; c < CHAINS; ++c) {
        Bead p = {0, 0, 0};
        for (int i = 0; i < BEADS; ++i) {
            p.x += 0.7f * r(); p.y += 0.7f * r(); p.z += 0.7f * r();
            h[c * BEADS + i] = p;
        }
    }
    Bead* b; int *c0, *c1, *deg; float* rg;
    cudaMalloc(&b, n * sizeof(Bead)); cudaMalloc(&c0, CHAINS * PAIRS * 4); cudaMalloc(&c1, CHAINS * PAIRS * 4);
    cudaMalloc(&deg, n * 4); cudaMalloc(&rg, CHAINS * 4);
    cudaMemset(deg, 0, n * 4);
    cudaMemcpy(b, h.data(), n * sizeof(Bead), cudaMemcpyHostToDevice);
    const float cut2 = 2.25f;
    contacts_flat<<<dim3((PAIRS + 255) / 256, CHAINS), 256>>>(b, cut2, c0, deg);
    contacts_square<<<dim3((BEADS + 31) / 32, (BEADS + 7) / 8, CHAINS), dim3(32, 8)>>>(b, cut2, c1);
    gyration<<<CHAINS, 128>>>(b, rg);
    std::vector<int> a0(CHAINS * PAIRS), a1(CHAINS * PAIRS), hd(n), cd(n, 0);
    std::vector<float> hr(CHAINS);
    cudaMemcpy(a0.data(), c0, a0.size() * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(a1.data(), c1, a1.size() * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(hd.data(), deg, n * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(hr.data(), rg, CHAINS * 4, cudaMemcpyDeviceToHost);
    int bad = cudaGetLastError() != cudaSuccess;
    for (int c = 0; c < CHAINS; ++c) {
        double g = 0;
        for (int i = 0, p = 0; i < BEADS; ++i)
            for (int j = 0; j < i; ++j, ++p) {
                double d = dist2(h[c * BEADS + i], h[c * BEADS + j]);
                g += d;
                int k = c * PAIRS + p;
                if (fabs(d - cut2) > 1e-4 && (a0[k] != (d < cut2) || a1[k] != (d < cut2))) ++bad;
                if (a0[k]) { cd[c * BEADS + i]++; cd[c * BEADS + j]++; }
            }
        g /= (double)BEADS * BEADS;
        if (fabs(g - hr[c]) > 1e-4 * g) ++bad;
    }
    for (int i = 0; i < n; ++i) bad += cd[i] != hd[i];
    printf("rg2[0] %f bad %d\n%s\n", hr[0], bad, bad ? "FAIL" : "PASS");
    return bad != 0;
}
