// Keccak-f[1600] leaves and Merkle tree, two state layouts.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

namespace keccak {

__constant__ uint64_t RC[24];
__constant__ int ROT[24];
__constant__ int PIL[24];

static const uint64_t h_rc[24] = {
    0x0000000000000001ull, 0x0000000000008082ull, 0x800000000000808aull, 0x8000000080008000ull,
    0x000000000000808bull, 0x0000000080000001ull, 0x8000000080008081ull, 0x8000000000008009ull,
    0x000000000000008aull, 0x0000000000000088ull, 0x0000000080008009ull, 0x000000008000000aull,
    0x000000008000808bull, 0x800000000000008bull, 0x8000000000008089ull, 0x8000000000008003ull,
    0x8000000000008002ull, 0x8000000000000080ull, 0x000000000000800aull, 0x800000008000000aull,
    0x8000000080008081ull, 0x8000000000008080ull, 0x0000000080000001ull, 0x8000000080008008ull};
static const int h_rot[24] = {1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 2, 14, 27, 41, 56, 8, 25, 43, 62, 18, 39, 61, 20, 44};
static const int h_pil[24] = {10, 7, 11, 17, 18, 3, 5, 16, 8, 21, 24, 4, 15, 23, 19, 13, 12, 2, 20, 14, 22, 9, 6, 1};

__host__ __device__ __forceinline__ uint64_t rotl(uint64_t x, int n) { return (x << n) | (x >> (64 - n)); }

template <class RcTab, class RotTab, class PilTab>
__host__ __device__ __forceinline__ void permute(uint64_t* s, RcTab rc, RotTab rot, PilTab pil)
{
#pragma unroll 1
    for (int r = 0; r < 24; r++) {
        uint64_t bc[5];
#pragma unroll
        for (int i = 0; i < 5; i++)
            bc[i] = s[i] ^ s[i + 5] ^ s[i + 10] ^ s[i + 15] ^ s[i + 20];
#pragma unroll
        for (int i = 0; i < 5; i++) {
            uint64_t t = bc[(i + 4) % 5] ^ rotl(bc[(i + 1) % 5], 1);
            for (int j = 0; j < 25; j += 5)
                s[j + i] ^= t;
        }
        uint64_t t = s[1];
        for (int i = 0; i < 24; i++) {
            int j = pil[i];
            uint64_t u = s[j];
            s[j] = rotl(t, rot[i]);
            t = u;
        }
        for (int j = 0; j < 25; j += 5) {
            for (int i = 0; i < 5; i++)
                bc[i] = s[j + i];
            for (int i = 0; i < 5; i++)
                s[j + i] = bc[i] ^ (~bc[(i + 1) % 5] & bc[(i + 2) % 5]);
        }
        s[0] ^= rc[r];
    }
}

// Leaves in array-of-structs: 17 lanes (136 bytes) per message
__global__ void hash_leaves_aos(const uint64_t* msg, uint64_t* digest, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    uint64_t s[25];
    for (int k = 0; k < 25; k++)
        s[k] = k < 16 ? msg[(size_t)i * 16 + k] : 0;
    s[16] = 0x8000000000000001ull;
    permute(s, RC, ROT, PIL);
    for (int k = 0; k < 4; k++)
        digest[(size_t)i * 4 + k] = s[k];
}

// Leaves in lane-major layout; state kept in dynamic shared memory,
// one column per thread
__global__ void hash_leaves_soa(const uint64_t* msg, uint64_t* digest, int n)
{
    extern __shared__ uint64_t st[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    uint64_t* s = st + threadIdx.x * 25;
    if (i < n) {
        for (int k = 0; k < 16; k++)
            s[k] = msg[(size_t)k * n + i];
        s[16] = 0x8000000000000001ull;
        for (int k = 17; k < 25; k++)
            s[k] = 0;
        permute(s, RC, ROT, PIL);
        for (int k = 0; k < 4; k++)
            digest[(size_t)k * n + i] = s[k];
    }
}

// transpose message words
__global__ void to_lane_major(const uint64_t* in, uint64_t* out, int n)
{
    __shared__ uint64_t tile[16][32 + 1];
    int i0 = blockIdx.x * 32;
    for (int k = threadIdx.x; k < 32 * 16; k += blockDim.x)
        tile[k % 16][k / 16] = in[(size_t)i0 * 16 + k];
    __syncthreads();
    for (int k = threadIdx.x; k < 32 * 16; k += blockDim.x)
        out[(size_t)(k / 32) * n + i0 + k % 32] = tile[k / 32][k % 32];
}

// parent = H(left || right)
__global__ void merkle_level(const uint64_t* child, uint64_t* parent, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    uint64_t s[25];
    const ulonglong2* c = reinterpret_cast<const ulonglong2*>(child + (size_t)i * 8);
    for (int k = 0; k < 4; k++) {
        ulonglong2 v = c[k];
        s[2 * k] = v.x;
        s[2 * k + 1] = v.y;
    }
    for (int k = 8; k < 25; k++)
        s[k] = 0;
    s[8] = 1;
    s[16] = 0x8000000000000000ull;
    permute(s, RC, ROT, PIL);
    for (int k = 0; k < 4; k++)
        parent[(size_t)i * 4 + k] = s[k];
}

// last levels by one block, digests in shared
__global__ void merkle_top(const uint64_t* child, uint64_t* root, int n)
{
    __shared__ uint64_t d[256][4];
    int t = threadIdx.x;
    if (t < n)
        for (int k = 0; k < 4; k++)
            d[t][k] = child[t * 4 + k];
    __syncthreads();
    for (int m = n / 2; m >= 1; m /= 2) {
        uint64_t s[25];
        if (t < m) {
            for (int k = 0; k < 25; k++)
                s[k] = k < 8 ? d[2 * t + k / 4][k % 4] : 0;
            s[8] = 1;
            s[16] = 0x8000000000000000ull;
            permute(s, RC, ROT, PIL);
        }
        __syncthreads();
        if (t < m)
            for (int k = 0; k < 4; k++)
                d[t][k] = s[k];
        __syncthreads();
    }
    if (t < 4)
        root[t] = d[0][t];
}

__global__ void compare_layouts(const uint64_t* aos, const uint64_t* soa, int n, int* diff)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int bad = 0;
    if (i < n)
        for (int k = 0; k < 4; k++)
            bad |= aos[(size_t)i * 4 + k] != soa[(size_t)k * n + i];
    if (__syncthreads_or(bad) && threadIdx.x == 0)
        atomicAdd(diff, 1);
}

}  // namespace keccak

#define TRY(x)                                                      \
    if (cudaError_t err_ = (x)) {                                   \
        printf("%s -> %s\nFAIL\n", #x, cudaGetErrorString(err_));   \
        return 1;                                                   \
    }

int main()
{
    using namespace keccak;
    const int N = 1 << 13;
    std::vector<uint64_t> msg((size_t)N * 16);
    uint64_t z = 88172645463325252ull;
    for (auto& m : msg) {
        z ^= z << 13;
        z ^= z >> 7;
        z ^= z << 17;
        m = z;
    }
    TRY(cudaMemcpyToSymbol(RC, h_rc, sizeof h_rc));
    TRY(cudaMemcpyToSymbol(ROT, h_rot, sizeof h_rot));
    TRY(cudaMemcpyToSymbol(PIL, h_pil, sizeof h_pil));
    uint64_t *d_msg, *d_lm, *d_a, *d_b, *d_s, *d_root;
    int* d_diff;
    TRY(cudaMalloc(&d_msg, msg.size() * 8));
    TRY(cudaMalloc(&d_lm, msg.size() * 8));
    TRY(cudaMalloc(&d_a, (size_t)N * 32));
    TRY(cudaMalloc(&d_b, (size_t)N * 32));
    TRY(cudaMalloc(&d_s, (size_t)N * 32));
    TRY(cudaMalloc(&d_root, 32));
    TRY(cudaMalloc(&d_diff, 4));
    TRY(cudaMemset(d_diff, 0, 4));
    TRY(cudaMemcpy(d_msg, msg.data(), msg.size() * 8, cudaMemcpyHostToDevice));

    hash_leaves_aos<<<N / 128, 128>>>(d_msg, d_a, N);
    to_lane_major<<<N / 32, 128>>>(d_msg, d_lm, N);
    hash_leaves_soa<<<N / 64, 64, 64 * 25 * sizeof(uint64_t)>>>(d_lm, d_s, N);
    compare_layouts<<<N / 256, 256>>>(d_a, d_s, N, d_diff);
    std::vector<uint64_t> leaf((size_t)N * 4);
    TRY(cudaMemcpy(leaf.data(), d_a, leaf.size() * 8, cudaMemcpyDeviceToHost));
    uint64_t *src = d_a, *dst = d_b;
    int n = N;
    while (n > 256) {
        n /= 2;
        merkle_level<<<(n + 127) / 128, 128>>>(src, dst, n);
        std::swap(src, dst);
    }
    merkle_top<<<1, 256>>>(src, d_root, n);
    TRY(cudaGetLastError());
    TRY(cudaDeviceSynchronize());
    uint64_t root[4];
    int diff = 0;
    TRY(cudaMemcpy(root, d_root, 32, cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(&diff, d_diff, 4, cudaMemcpyDeviceToHost));

    int bad = diff;
    std::vector<uint64_t> cur((size_t)N * 4);
    for (int i = 0; i < N; i++) {
        uint64_t s[25] = {0};
        memcpy(s, &msg[(size_t)i * 16], 128);
        s[16] = 0x8000000000000001ull;
        permute(s, h_rc, h_rot, h_pil);
        memcpy(&cur[(size_t)i * 4], s, 32);
    }
    if (cur != leaf)
        bad++;
    for (int m = N / 2; m >= 1; m /= 2)
        for (int i = 0; i < m; i++) {
            uint64_t s[25] = {0};
            memcpy(s, &cur[(size_t)i * 8], 64);
            s[8] = 1;
            s[16] = 0x8000000000000000ull;
            permute(s, h_rc, h_rot, h_pil);
            memcpy(&cur[(size_t)i * 4], s, 32);
        }
    if (memcmp(root, cur.data(), 32) != 0)
        bad++;
    printf("root %016llx bad %d\n%s\n", (unsigned long long)root[0], bad, bad ? "FAIL" : "PASS");
    return bad ? 1 : 0;
}
