// SLIC superpixels. Cluster state lives in a struct of arrays whose pointers travel by value.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void die(cudaError_t e, const char* where)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "%s: %s\n", where, cudaGetErrorString(e));
        exit(3);
    }
}

struct Centers {
    float* l;
    float* a;
    float* b;
    float* x;
    float* y;
};

struct Accum {
    int* l;
    int* a;
    int* b;
    int* x;
    int* y;
    int* n;
};

struct Params {
    int width;
    int height;
    int step;
    int gridW;
    int gridH;
    float spatialWeight;
};

// packed rgb -> integer-valued "lab-like" opponent colours, planar
__global__ void ToOpponent(const uint8_t* __restrict__ rgb, float* __restrict__ L, float* __restrict__ A,
                           float* __restrict__ B, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int r = rgb[3 * i + 0];
        int g = rgb[3 * i + 1];
        int b = rgb[3 * i + 2];
        L[i] = (float)((r + 2 * g + b) >> 2);
        A[i] = (float)(r - g);
        B[i] = (float)(((r + g) >> 1) - b);
    }
}

__global__ void InitCenters(Centers c, const float* L, const float* A, const float* B, Params p)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= p.gridW * p.gridH)
        return;
    int cx = (k % p.gridW) * p.step + p.step / 2;
    int cy = (k / p.gridW) * p.step + p.step / 2;
    int at = cy * p.width + cx;
    c.l[k] = L[at];
    c.a[k] = A[at];
    c.b[k] = B[at];
    c.x[k] = (float)cx;
    c.y[k] = (float)cy;
}

__host__ __device__ inline float Dist(float dl, float da, float db, float dx, float dy, float w)
{
    float colour = dl * dl + da * da + db * db;
    float space = dx * dx + dy * dy;
    return colour + w * space;
}

// each pixel looks at the 3x3 neighbouring seeds
__global__ void Assign(const float* __restrict__ L, const float* __restrict__ A, const float* __restrict__ B, Centers c,
                       int* __restrict__ label, Params p)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= p.width || y >= p.height)
        return;
    int i = y * p.width + x;
    float pl = L[i];
    float pa = A[i];
    float pb = B[i];
    int gx = min(x / p.step, p.gridW - 1);
    int gy = min(y / p.step, p.gridH - 1);
    float best = 1e30f;
    int who = -1;
    for (int yy = max(gy - 1, 0); yy <= min(gy + 1, p.gridH - 1); yy++) {
        for (int xx = max(gx - 1, 0); xx <= min(gx + 1, p.gridW - 1); xx++) {
            int k = yy * p.gridW + xx;
            float d = Dist(pl - c.l[k], pa - c.a[k], pb - c.b[k], x - c.x[k], y - c.y[k], p.spatialWeight);
            if (d < best) {
                best = d;
                who = k;
            }
        }
    }
    label[i] = who;
}

__global__ void ClearAccum(Accum acc, int k)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= k)
        return;
    acc.l[i] = 0;
    acc.a[i] = 0;
    acc.b[i] = 0;
    acc.x[i] = 0;
    acc.y[i] = 0;
    acc.n[i] = 0;
}

// block privatised sums: a 32x16 tile touches few labels, so hash them in a small local table
__global__ void Accumulate(const float* L, const float* A, const float* B, const int* label, Accum acc, Params p)
{
    __shared__ int key[64];
    __shared__ int sums[64][6];
    int t = threadIdx.y * blockDim.x + threadIdx.x;
    if (t < 64) {
        key[t] = -1;
        for (int j = 0; j < 6; j++)
            sums[t][j] = 0;
    }
    __syncthreads();
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < p.width && y < p.height) {
        int i = y * p.width + x;
        int k = label[i];
        int vl = (int)L[i];
        int va = (int)A[i];
        int vb = (int)B[i];
        int slot = k & 63;
        int tries = 0;
        while (tries < 64) {
            int old = atomicCAS(&key[slot], -1, k);
            if (old == -1 || old == k)
                break;
            slot = (slot + 1) & 63;
            tries++;
        }
        if (tries < 64) {
            atomicAdd(&sums[slot][0], vl);
            atomicAdd(&sums[slot][1], va);
            atomicAdd(&sums[slot][2], vb);
            atomicAdd(&sums[slot][3], x);
            atomicAdd(&sums[slot][4], y);
            atomicAdd(&sums[slot][5], 1);
        } else {
            atomicAdd(acc.l + k, vl);
            atomicAdd(acc.a + k, va);
            atomicAdd(acc.b + k, vb);
            atomicAdd(acc.x + k, x);
            atomicAdd(acc.y + k, y);
            atomicAdd(acc.n + k, 1);
        }
    }
    __syncthreads();
    if (t < 64 && key[t] >= 0) {
        int k = key[t];
        atomicAdd(acc.l + k, sums[t][0]);
        atomicAdd(acc.a + k, sums[t][1]);
        atomicAdd(acc.b + k, sums[t][2]);
        atomicAdd(acc.x + k, sums[t][3]);
        atomicAdd(acc.y + k, sums[t][4]);
        atomicAdd(acc.n + k, sums[t][5]);
    }
}

__global__ void MoveCenters(Centers c, Accum acc, int k)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= k || acc.n[i] == 0)
        return;
    float inv = 1.0f / acc.n[i];
    c.l[i] = acc.l[i] * inv;
    c.a[i] = acc.a[i] * inv;
    c.b[i] = acc.b[i] * inv;
    c.x[i] = acc.x[i] * inv;
    c.y[i] = acc.y[i] * inv;
}

__global__ void DrawBoundaries(const int* label, uchar4* out, Params p)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= p.width || y >= p.height)
        return;
    int i = y * p.width + x;
    int me = label[i];
    bool edge = (x + 1 < p.width && label[i + 1] != me) || (y + 1 < p.height && label[i + p.width] != me);
    uchar4 v = edge ? make_uchar4(255, 0, 0, 255) : make_uchar4(me & 255, me >> 8, 0, 255);
    out[i] = v;
}

template <class T>
static T* Dev(size_t n)
{
    T* p = nullptr;
    die(cudaMalloc(&p, n * sizeof(T)), "malloc");
    die(cudaMemset(p, 0, n * sizeof(T)), "memset");
    return p;
}

template <class T>
static std::vector<T> Host(const T* d, size_t n)
{
    std::vector<T> h(n);
    die(cudaMemcpy(h.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost), "d2h");
    return h;
}

int main()
{
    Params p;
    p.width = 768;
    p.height = 512;
    p.step = 16;
    p.gridW = p.width / p.step;
    p.gridH = p.height / p.step;
    p.spatialWeight = 0.8f;
    const int n = p.width * p.height;
    const int K = p.gridW * p.gridH;

    std::vector<uint8_t> rgb(3 * n);
    uint32_t s = 99;
    for (int y = 0; y < p.height; y++)
        for (int x = 0; x < p.width; x++) {
            s = s * 1103515245u + 12345u;
            int noise = (s >> 20) & 7;
            int patch = ((x / 37) * 7 + (y / 29) * 13) % 11;
            int i = y * p.width + x;
            rgb[3 * i + 0] = (uint8_t)(patch * 20 + noise);
            rgb[3 * i + 1] = (uint8_t)(220 - patch * 15 + noise);
            rgb[3 * i + 2] = (uint8_t)(x * 200 / p.width + noise);
        }

    uint8_t* dRgb = Dev<uint8_t>(3 * n);
    die(cudaMemcpy(dRgb, rgb.data(), rgb.size(), cudaMemcpyHostToDevice), "h2d");
    float* dL = Dev<float>(n);
    float* dA = Dev<float>(n);
    float* dB = Dev<float>(n);
    int* dLabel = Dev<int>(n);
    uchar4* dOut = Dev<uchar4>(n);
    Centers c{Dev<float>(K), Dev<float>(K), Dev<float>(K), Dev<float>(K), Dev<float>(K)};
    Accum acc{Dev<int>(K), Dev<int>(K), Dev<int>(K), Dev<int>(K), Dev<int>(K), Dev<int>(K)};

    dim3 tile(32, 16);
    dim3 tiles((p.width + 31) / 32, (p.height + 15) / 16);
    int kb = (K + 127) / 128;
    ToOpponent<<<(n + 255) / 256, 256>>>(dRgb, dL, dA, dB, n);
    InitCenters<<<kb, 128>>>(c, dL, dA, dB, p);
    std::vector<float> cl, ca, cb, cx, cy;
    for (int it = 0; it < 4; it++) {
        if (it == 3) {
            cl = Host(c.l, K);
            ca = Host(c.a, K);
            cb = Host(c.b, K);
            cx = Host(c.x, K);
            cy = Host(c.y, K);
        }
        Assign<<<tiles, tile>>>(dL, dA, dB, c, dLabel, p);
        ClearAccum<<<kb, 128>>>(acc, K);
        Accumulate<<<tiles, tile>>>(dL, dA, dB, dLabel, acc, p);
        MoveCenters<<<kb, 128>>>(c, acc, K);
    }
    DrawBoundaries<<<tiles, tile>>>(dLabel, dOut, p);
    die(cudaGetLastError(), "launch");
    die(cudaDeviceSynchronize(), "sync");

    std::vector<int> label = Host(dLabel, n);
    std::vector<float> L = Host(dL, n);
    std::vector<float> A = Host(dA, n);
    std::vector<float> B = Host(dB, n);
    std::vector<uchar4> out = Host(dOut, n);
    std::vector<int> gn = Host(acc.n, K);
    std::vector<int> gl = Host(acc.l, K);
    std::vector<int> gx = Host(acc.x, K);
    int bad = 0;
    std::vector<int> rn(K, 0), rl(K, 0), rx(K, 0);
    for (int y = 0; y < p.height; y++)
        for (int x = 0; x < p.width; x++) {
            int i = y * p.width + x;
            int r = rgb[3 * i], g = rgb[3 * i + 1], b = rgb[3 * i + 2];
            if (L[i] != (float)((r + 2 * g + b) >> 2))
                bad++;
            float best = 1e30f;
            int gx0 = std::min(x / p.step, p.gridW - 1);
            int gy0 = std::min(y / p.step, p.gridH - 1);
            bool mineNear = false;
            float mine = 1e30f;
            for (int yy = std::max(gy0 - 1, 0); yy <= std::min(gy0 + 1, p.gridH - 1); yy++)
                for (int xx = std::max(gx0 - 1, 0); xx <= std::min(gx0 + 1, p.gridW - 1); xx++) {
                    int k = yy * p.gridW + xx;
                    float d = Dist(L[i] - cl[k], A[i] - ca[k], B[i] - cb[k], x - cx[k], y - cy[k], p.spatialWeight);
                    best = std::min(best, d);
                    if (k == label[i]) {
                        mineNear = true;
                        mine = d;
                    }
                }
            if (!mineNear || mine > best * 1.0001f + 1e-2f)
                bad++;
            else {
                rn[label[i]]++;
                rl[label[i]] += (int)L[i];
                rx[label[i]] += x;
            }
            bool edge = (x + 1 < p.width && label[i + 1] != label[i]) ||
                        (y + 1 < p.height && label[i + p.width] != label[i]);
            if (edge != (out[i].x == 255 && out[i].y == 0 && out[i].z == 0 && edge))
                bad++;
        }
    for (int k = 0; k < K; k++)
        if (rn[k] != gn[k] || rl[k] != gl[k] || rx[k] != gx[k])
            bad++;
    printf("superpixels %d mismatches %d\n", K, bad);
    puts(bad == 0 ? "PASS" : "FAIL");
    return bad == 0 ? 0 : 1;
}
