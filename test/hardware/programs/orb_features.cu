// ORB-like features: integer Gaussian blur, FAST-9, non-max suppression, intensity-centroid orientation,
// rotated BRIEF-256 and brute-force Hamming matching. All integer, so that it can be compared bit by bit.
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

typedef unsigned char uchar;

static const int W = 480;
static const int H = 360;
static const int BORDER = 22;
static const int RAD = 9;
static const int MAXKP = 4096;
static const int THRESH = 18;

#define cvCudaSafeCall(expr) ___check(expr, __FILE__, __LINE__)
static void ___check(cudaError_t e, const char* f, int l) {
    if (e != cudaSuccess) {
        fprintf(stderr, "%s(%d): %s\n", f, l, cudaGetErrorString(e));
        exit(1);
    }
}

struct KeyPoint {
    short x, y;
    int score;
    int bin;
};

struct Tables {
    int cs[32], sn[32];      // 32 directions, scaled by 1024
    signed char pat[256][4]; // x0 y0 x1 y1
    int ring[16][2];
};

__constant__ Tables c_t;

__host__ __device__ inline int clampi(int v, int hi) { return v < 0 ? 0 : (v > hi ? hi : v); }

__global__ void blurRows(const uchar* src, unsigned short* dst) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y;
    if (x >= W)
        return;
    const uchar* r = src + y * W;
    int s = r[clampi(x - 2, W - 1)] + 4 * r[clampi(x - 1, W - 1)] + 6 * r[x] + 4 * r[clampi(x + 1, W - 1)] + r[clampi(x + 2, W - 1)];
    dst[y * W + x] = (unsigned short)s;
}

__global__ void blurCols(const unsigned short* src, uchar* dst) {
    __shared__ unsigned short tile[20][33];
    int x = blockIdx.x * 32 + threadIdx.x;
    int y0 = blockIdx.y * 16;
    for (int j = threadIdx.y; j < 20; j += blockDim.y)
        tile[j][threadIdx.x] = src[clampi(y0 + j - 2, H - 1) * W + min(x, W - 1)];
    __syncthreads();
    for (int j = threadIdx.y; j < 16; j += blockDim.y) {
        int y = y0 + j;
        if (x < W && y < H) {
            int s = tile[j][threadIdx.x] + 4 * tile[j + 1][threadIdx.x] + 6 * tile[j + 2][threadIdx.x] + 4 * tile[j + 3][threadIdx.x] + tile[j + 4][threadIdx.x];
            dst[y * W + x] = (uchar)((s + 128) >> 8);
        }
    }
}

__host__ __device__ inline int fastScore(const Tables& t, const uchar* img, int x, int y) {
    int c = img[y * W + x];
    unsigned br = 0, dk = 0;
    int sb = 0, sd = 0;
    for (int k = 0; k < 16; ++k) {
        int v = img[(y + t.ring[k][1]) * W + x + t.ring[k][0]] - c;
        if (v > THRESH) {
            br |= 1u << k;
            sb += v - THRESH;
        }
        if (v < -THRESH) {
            dk |= 1u << k;
            sd += -v - THRESH;
        }
    }
    br |= br << 16;
    dk |= dk << 16;
    unsigned rb = br, rd = dk;
    for (int k = 1; k < 9; ++k) {
        rb &= br >> k;
        rd &= dk >> k;
    }
    // only runs starting in the first 16 positions count
    bool b = (rb & 0xffff) != 0;
    bool d = (rd & 0xffff) != 0;
    int s = 0;
    if (b)
        s = sb;
    if (d && sd > s)
        s = sd;
    return s;
}

__global__ void fastKernel(const uchar* img, int* score) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= W || y >= H)
        return;
    int s = 0;
    if (x >= BORDER && x < W - BORDER && y >= BORDER && y < H - BORDER)
        s = fastScore(c_t, img, x, y);
    score[y * W + x] = s;
}

__global__ void nmsCompact(const int* score, KeyPoint* kp, int* count) {
    __shared__ int s[10][34];
    int x0 = blockIdx.x * 32 - 1;
    int y0 = blockIdx.y * 8 - 1;
    for (int e = threadIdx.y * 32 + threadIdx.x; e < 340; e += 256) {
        int gx = x0 + e % 34;
        int gy = y0 + e / 34;
        s[e / 34][e % 34] = (gx >= 0 && gx < W && gy >= 0 && gy < H) ? score[gy * W + gx] : 0;
    }
    __syncthreads();
    int c = s[threadIdx.y + 1][threadIdx.x + 1];
    if (c == 0)
        return;
    for (int dy = 0; dy < 3; ++dy)
        for (int dx = 0; dx < 3; ++dx) {
            int v = s[threadIdx.y + dy][threadIdx.x + dx];
            bool earlier = dy * 3 + dx < 4;
            if (v > c || (v == c && earlier))
                return;
        }
    int slot = atomicAdd(count, 1);
    if (slot < MAXKP) {
        KeyPoint k;
        k.x = (short)(x0 + 1 + threadIdx.x);
        k.y = (short)(y0 + 1 + threadIdx.y);
        k.score = c;
        k.bin = 0;
        kp[slot] = k;
    }
}

__host__ __device__ inline int bestBin(const Tables& t, int m10, int m01) {
    int best = 0;
    long long bv = -(1ll << 62);
    for (int b = 0; b < 32; ++b) {
        long long v = (long long)m10 * t.cs[b] + (long long)m01 * t.sn[b];
        if (v > bv) {
            bv = v;
            best = b;
        }
    }
    return best;
}

// one warp per keypoint, lanes take columns of the patch
__global__ void orientation(const uchar* img, KeyPoint* kp, const int* count) {
    int k = blockIdx.x * blockDim.y + threadIdx.y;
    if (k >= min(*count, MAXKP))
        return;
    int lane = threadIdx.x;
    int x = kp[k].x;
    int y = kp[k].y;
    int m10 = 0, m01 = 0;
    int dx = lane - RAD;
    if (dx <= RAD) {
        for (int dy = -RAD; dy <= RAD; ++dy) {
            if (dx * dx + dy * dy > RAD * RAD)
                continue;
            int v = img[(y + dy) * W + x + dx];
            m10 += dx * v;
            m01 += dy * v;
        }
    }
    m10 = __reduce_add_sync(0xffffffffu, m10);
    m01 = __reduce_add_sync(0xffffffffu, m01);
    if (lane == 0)
        kp[k].bin = bestBin(c_t, m10, m01);
}

__host__ __device__ inline int briefBit(const Tables& t, const uchar* img, int x, int y, int bin, int i) {
    int c = t.cs[bin];
    int s = t.sn[bin];
    int ax = (t.pat[i][0] * c - t.pat[i][1] * s + 512) >> 10;
    int ay = (t.pat[i][0] * s + t.pat[i][1] * c + 512) >> 10;
    int bx = (t.pat[i][2] * c - t.pat[i][3] * s + 512) >> 10;
    int by = (t.pat[i][2] * s + t.pat[i][3] * c + 512) >> 10;
    return img[(y + ay) * W + x + ax] < img[(y + by) * W + x + bx];
}

__global__ void brief(const uchar* img, const KeyPoint* kp, const int* count, uint32_t* desc) {
    int k = blockIdx.x * blockDim.y + threadIdx.y;
    if (k >= min(*count, MAXKP))
        return;
    KeyPoint p = kp[k];
    for (int w = 0; w < 8; ++w) {
        unsigned m = __ballot_sync(0xffffffffu, briefBit(c_t, img, p.x, p.y, p.bin, w * 32 + threadIdx.x));
        if (threadIdx.x == 0)
            desc[k * 8 + w] = m;
    }
}

// thread per query, train descriptors staged in shared memory
__global__ void matchHamming(const uint32_t* q, const int* nq, const uint32_t* t, const int* nt, int2* best) {
    __shared__ uint32_t tile[64][8];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int n = min(*nt, MAXKP);
    uint32_t d[8];
    for (int w = 0; w < 8; ++w)
        d[w] = q[i * 8 + w];
    int bd = 1000, bi = -1;
    for (int base = 0; base < n; base += 64) {
        __syncthreads();
        for (int e = threadIdx.x; e < 64 * 8; e += blockDim.x)
            tile[e / 8][e % 8] = base + e / 8 < n ? t[base * 8 + e] : 0;
        __syncthreads();
        for (int j = 0; j < min(64, n - base); ++j) {
            int h = 0;
            for (int w = 0; w < 8; ++w)
                h += __popc(d[w] ^ tile[j][w]);
            if (h < bd) {
                bd = h;
                bi = base + j;
            }
        }
    }
    if (i < min(*nq, MAXKP))
        best[i] = make_int2(bd, bi);
}

struct Frame {
    std::vector<uchar> img, blur;
    std::vector<KeyPoint> kp;
    std::vector<uint32_t> desc;
    uint32_t* dDesc;
    int* dCount;
    int n;
};

static void extract(Frame& f) {
    uchar *dImg, *dBlur;
    unsigned short* dTmp;
    int* dScore;
    KeyPoint* dKp;
    cvCudaSafeCall(cudaMalloc(&dImg, W * H));
    cvCudaSafeCall(cudaMalloc(&dBlur, W * H));
    cvCudaSafeCall(cudaMalloc(&dTmp, W * H * 2));
    cvCudaSafeCall(cudaMalloc(&dScore, W * H * 4));
    cvCudaSafeCall(cudaMalloc(&dKp, MAXKP * sizeof(KeyPoint)));
    cvCudaSafeCall(cudaMalloc(&f.dDesc, MAXKP * 32));
    cvCudaSafeCall(cudaMalloc(&f.dCount, 4));
    cvCudaSafeCall(cudaMemset(f.dCount, 0, 4));
    cvCudaSafeCall(cudaMemset(f.dDesc, 0, MAXKP * 32));
    cvCudaSafeCall(cudaMemcpy(dImg, f.img.data(), W * H, cudaMemcpyHostToDevice));
    blurRows<<<dim3((W + 127) / 128, H), 128>>>(dImg, dTmp);
    blurCols<<<dim3((W + 31) / 32, (H + 15) / 16), dim3(32, 8)>>>(dTmp, dBlur);
    fastKernel<<<dim3((W + 31) / 32, (H + 7) / 8), dim3(32, 8)>>>(dBlur, dScore);
    nmsCompact<<<dim3((W + 31) / 32, (H + 7) / 8), dim3(32, 8)>>>(dScore, dKp, f.dCount);
    orientation<<<MAXKP / 4, dim3(32, 4)>>>(dBlur, dKp, f.dCount);
    brief<<<MAXKP / 4, dim3(32, 4)>>>(dBlur, dKp, f.dCount, f.dDesc);
    cvCudaSafeCall(cudaGetLastError());
    cvCudaSafeCall(cudaMemcpy(&f.n, f.dCount, 4, cudaMemcpyDeviceToHost));
    f.blur.resize(W * H);
    f.kp.resize(std::min(f.n, MAXKP));
    f.desc.resize(f.kp.size() * 8);
    cvCudaSafeCall(cudaMemcpy(f.blur.data(), dBlur, W * H, cudaMemcpyDeviceToHost));
    cvCudaSafeCall(cudaMemcpy(f.kp.data(), dKp, f.kp.size() * sizeof(KeyPoint), cudaMemcpyDeviceToHost));
    cvCudaSafeCall(cudaMemcpy(f.desc.data(), f.dDesc, f.desc.size() * 4, cudaMemcpyDeviceToHost));
}

static int verify(const Tables& t, const Frame& f) {
    int bad = 0;
    const int g[5] = {1, 4, 6, 4, 1};
    for (int y = 0; y < H; ++y)
        for (int x = 0; x < W; ++x) {
            int s = 128;
            for (int j = -2; j <= 2; ++j)
                for (int i = -2; i <= 2; ++i)
                    s += g[j + 2] * g[i + 2] * f.img[clampi(y + j, H - 1) * W + clampi(x + i, W - 1)];
            bad += (s >> 8) != f.blur[y * W + x];
        }
    std::vector<int> sc(W * H, 0);
    for (int y = BORDER; y < H - BORDER; ++y)
        for (int x = BORDER; x < W - BORDER; ++x)
            sc[y * W + x] = fastScore(t, f.blur.data(), x, y);
    int expect = 0;
    std::vector<uchar> isKp(W * H, 0);
    for (int y = BORDER; y < H - BORDER; ++y)
        for (int x = BORDER; x < W - BORDER; ++x) {
            int c = sc[y * W + x];
            bool keep = c > 0;
            for (int k = 0; k < 9 && keep; ++k) {
                int v = sc[(y + k / 3 - 1) * W + x + k % 3 - 1];
                if (v > c || (v == c && k < 4))
                    keep = false;
            }
            isKp[y * W + x] = keep;
            expect += keep;
        }
    bad += expect != f.n;
    for (size_t i = 0; i < f.kp.size(); ++i) {
        KeyPoint k = f.kp[i];
        bad += !isKp[k.y * W + k.x] || sc[k.y * W + k.x] != k.score;
        int m10 = 0, m01 = 0;
        for (int dy = -RAD; dy <= RAD; ++dy)
            for (int dx = -RAD; dx <= RAD; ++dx)
                if (dx * dx + dy * dy <= RAD * RAD) {
                    m10 += dx * f.blur[(k.y + dy) * W + k.x + dx];
                    m01 += dy * f.blur[(k.y + dy) * W + k.x + dx];
                }
        bad += bestBin(t, m10, m01) != k.bin;
        for (int b = 0; b < 256; ++b)
            bad += briefBit(t, f.blur.data(), k.x, k.y, k.bin, b) != (int)(f.desc[i * 8 + b / 32] >> (b % 32) & 1);
    }
    return bad;
}

int main() {
    static Tables t;
    uint32_t r = 2025;
    auto rnd = [&](int n) {
        r = r * 1664525u + 1013904223u;
        return (int)((r >> 10) % (uint32_t)n);
    };
    for (int b = 0; b < 32; ++b) {
        t.cs[b] = (int)lrint(1024 * cos(b * M_PI / 16));
        t.sn[b] = (int)lrint(1024 * sin(b * M_PI / 16));
    }
    for (int i = 0; i < 256; ++i)
        for (int c = 0; c < 4; ++c)
            t.pat[i][c] = (signed char)(rnd(25) - 12);
    const int ring[16][2] = {{0, -3}, {1, -3}, {2, -2}, {3, -1}, {3, 0}, {3, 1}, {2, 2}, {1, 3}, {0, 3}, {-1, 3}, {-2, 2}, {-3, 1}, {-3, 0}, {-3, -1}, {-2, -2}, {-1, -3}};
    memcpy(t.ring, ring, sizeof(ring));
    cvCudaSafeCall(cudaMemcpyToSymbol(c_t, &t, sizeof(t)));

    Frame a, b;
    a.img.assign(W * H, 100);
    for (int k = 0; k < 260; ++k) {
        int x0 = rnd(W), y0 = rnd(H), w = 6 + rnd(40), h = 6 + rnd(40), v = rnd(256);
        for (int y = y0; y < std::min(H, y0 + h); ++y)
            for (int x = x0; x < std::min(W, x0 + w); ++x)
                a.img[y * W + x] = (uchar)v;
    }
    for (auto& v : a.img)
        v = (uchar)clampi(v + rnd(9) - 4, 255);
    b.img.resize(W * H);
    for (int y = 0; y < H; ++y)
        for (int x = 0; x < W; ++x)
            b.img[y * W + x] = a.img[clampi(y + 5, H - 1) * W + clampi(x - 7, W - 1)];
    extract(a);
    extract(b);
    int2* dBest;
    cvCudaSafeCall(cudaMalloc(&dBest, MAXKP * sizeof(int2)));
    matchHamming<<<MAXKP / 128, 128>>>(a.dDesc, a.dCount, b.dDesc, b.dCount, dBest);
    std::vector<int2> best(a.kp.size());
    cvCudaSafeCall(cudaMemcpy(best.data(), dBest, best.size() * sizeof(int2), cudaMemcpyDeviceToHost));

    int bad = verify(t, a) + verify(t, b), good = 0;
    for (size_t i = 0; i < best.size(); ++i) {
        int bd = 1000, bi = -1;
        for (size_t j = 0; j < b.kp.size(); ++j) {
            int h = 0;
            for (int w = 0; w < 8; ++w)
                h += __builtin_popcount(a.desc[i * 8 + w] ^ b.desc[j * 8 + w]);
            if (h < bd) {
                bd = h;
                bi = (int)j;
            }
        }
        bad += bd != best[i].x || bi != best[i].y;
        good += bi >= 0 && b.kp[bi].x - a.kp[i].x == 7 && b.kp[bi].y - a.kp[i].y == -5;
    }
    printf("%d and %d keypoints, %d matches follow the shift, %d errors\n", a.n, b.n, good, bad);
    bool ok = bad == 0 && a.n > 50 && a.n <= MAXKP && b.n <= MAXKP && good > a.n / 4;
    printf("%s\n", ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
