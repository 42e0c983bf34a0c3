// Assignment 3 -- three little grid codes in one file.
//   part 1: heat on a chip (tiles with halo, and my first version)
//   part 2: speckle removal (SRAD), images are stored by columns like in the paper
//   part 3: cheapest path through a grid, several rows per launch
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>

#define CUDA_OK(call)                                                              \
    do {                                                                           \
        cudaError_t err_ = (call);                                                 \
        if (err_ != cudaSuccess) {                                                 \
            printf("error %s at line %d\n", cudaGetErrorString(err_), __LINE__);   \
            exit(1);                                                               \
        }                                                                          \
    } while (0)

#define TILE      16
#define INNER     (TILE - 2)
#define PATH_BS   256
#define PYRAMID   20
#define BIG       (1 << 29)
#define IN_RANGE(x, lo, hi) ((x) >= (lo) && (x) <= (hi))

// ---------------------------------------------------------------- hotspot
__global__ void hotspotTile(const float *power, const float *tin, float *tout,
                            int rows, int cols, float rx, float ry, float rz, float step)
{
    __shared__ float t_s[TILE][TILE];
    __shared__ float p_s[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int gx = blockIdx.x * INNER + tx - 1;
    int gy = blockIdx.y * INNER + ty - 1;
    // clamp: cells outside the chip have the temperature of the edge
    int cx = min(max(gx, 0), cols - 1);
    int cy = min(max(gy, 0), rows - 1);
    t_s[ty][tx] = tin[cy * cols + cx];
    p_s[ty][tx] = power[cy * cols + cx];
    __syncthreads();

    if (IN_RANGE(tx, 1, TILE - 2) && IN_RANGE(ty, 1, TILE - 2) && gx < cols && gy < rows) {
        float c = t_s[ty][tx];
        float d = p_s[ty][tx] + (t_s[ty + 1][tx] + t_s[ty - 1][tx] - 2.0f * c) * ry
                + (t_s[ty][tx + 1] + t_s[ty][tx - 1] - 2.0f * c) * rx + (80.0f - c) * rz;
        tout[gy * cols + gx] = c + step * d;
    }
}

// my first version: one thread takes one row piece, x index of the thread is the row
__global__ void hotspotFirstTry(float *tout, const float *tin, const float *power,
                                int rows, int cols, float rx, float ry, float rz, float step)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    int c = blockIdx.y * blockDim.y + threadIdx.y;
    if (r >= rows || c >= cols) return;
    int up = r > 0 ? r - 1 : 0, down = r < rows - 1 ? r + 1 : rows - 1;
    int left = c > 0 ? c - 1 : 0, right = c < cols - 1 ? c + 1 : cols - 1;
    float t = tin[r * cols + c];
    float d = power[r * cols + c] + (tin[down * cols + c] + tin[up * cols + c] - 2.0f * t) * ry
            + (tin[r * cols + right] + tin[r * cols + left] - 2.0f * t) * rx + (80.0f - t) * rz;
    tout[r * cols + c] = t + step * d;
}

// ---------------------------------------------------------------- srad
__global__ void sradCoeff(const float *img, float *dN, float *dS, float *dW, float *dE, float *c,
                          const int *iN, const int *iS, const int *jW, const int *jE,
                          int Nr, int Ne, float q0sqr)
{
    int ei = blockIdx.x * blockDim.x + threadIdx.x;
    if (ei < Ne) {
        int row = ei % Nr;
        int col = ei / Nr;
        float Jc = img[ei];
        float n = img[iN[row] + Nr * col] - Jc;
        float s = img[iS[row] + Nr * col] - Jc;
        float w = img[row + Nr * jW[col]] - Jc;
        float e = img[row + Nr * jE[col]] - Jc;
        float G2 = (n * n + s * s + w * w + e * e) / (Jc * Jc);
        float L = (n + s + w + e) / Jc;
        float num = (0.5f * G2) - ((1.0f / 16.0f) * (L * L));
        float den = 1.0f + (0.25f * L);
        float qsqr = num / (den * den);
        den = (qsqr - q0sqr) / (q0sqr * (1.0f + q0sqr));
        float k = 1.0f / (1.0f + den);
        if (k < 0.0f) k = 0.0f;
        if (k > 1.0f) k = 1.0f;
        dN[ei] = n; dS[ei] = s; dW[ei] = w; dE[ei] = e;
        c[ei] = k;
    }
}

__global__ void sradUpdate(float *img, const float *dN, const float *dS, const float *dW, const float *dE,
                           const float *c, const int *iS, const int *jE, int Nr, int Ne, float lambda)
{
    int ei = blockIdx.x * blockDim.x + threadIdx.x;
    if (ei >= Ne) return;
    int row = ei % Nr, col = ei / Nr;
    float cN = c[ei];
    float cS = c[iS[row] + Nr * col];
    float cW = cN;
    float cE = c[row + Nr * jE[col]];
    float D = cN * dN[ei] + cS * dS[ei] + cW * dW[ei] + cE * dE[ei];
    img[ei] = img[ei] + 0.25f * lambda * D;
}

// ---------------------------------------------------------------- pathfinder
__global__ void pathRows(int nsteps, const int *wall, const int *src, int *dst, int cols, int firstRow)
{
    __shared__ int prev[PATH_BS];
    __shared__ int result[PATH_BS];
    int tx = threadIdx.x;
    int small = PATH_BS - 2 * nsteps;
    int x = small * (int)blockIdx.x - nsteps + tx;
    bool valid = IN_RANGE(x, 0, cols - 1);
    prev[tx] = valid ? src[x] : BIG;
    __syncthreads();
    for (int i = 0; i < nsteps; i++) {
        bool computed = false;
        if (IN_RANGE(tx, i + 1, PATH_BS - i - 2) && valid) {
            computed = true;
            int shortest = min(prev[tx], min(prev[tx - 1], prev[tx + 1]));
            result[tx] = shortest + wall[(firstRow + i) * cols + x];
        }
        __syncthreads();
        if (computed) prev[tx] = result[tx];
        __syncthreads();
    }
    if (IN_RANGE(tx, nsteps, PATH_BS - nsteps - 1) && valid) dst[x] = prev[tx];
}

static unsigned lcg_state = 12345u;
static unsigned lcg() { lcg_state = lcg_state * 1664525u + 1013904223u; return lcg_state >> 8; }
static float rnd01() { return (float)(lcg() & 0xffff) / 65536.0f; }

static void cpuHotspot(std::vector<float> &out, const std::vector<float> &in, const std::vector<float> &pw,
                       int rows, int cols, float rx, float ry, float rz, float step)
{
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < cols; c++) {
            int u = std::max(r - 1, 0), d = std::min(r + 1, rows - 1);
            int l = std::max(c - 1, 0), g = std::min(c + 1, cols - 1);
            float t = in[r * cols + c];
            float dd = pw[r * cols + c] + (in[d * cols + c] + in[u * cols + c] - 2.0f * t) * ry
                     + (in[r * cols + g] + in[r * cols + l] - 2.0f * t) * rx + (80.0f - t) * rz;
            out[r * cols + c] = t + step * dd;
        }
}

template <class T> static T *toDevice(const std::vector<T> &v)
{
    T *p;
    CUDA_OK(cudaMalloc(&p, v.size() * sizeof(T)));
    CUDA_OK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    return p;
}

static float maxDiff(const std::vector<float> &a, const float *dev)
{
    std::vector<float> b(a.size());
    CUDA_OK(cudaMemcpy(b.data(), dev, a.size() * sizeof(float), cudaMemcpyDeviceToHost));
    float m = 0;
    for (size_t i = 0; i < a.size(); i++) {
        float d = std::fabs(a[i] - b[i]);
        if (!(d <= m)) m = d;
    }
    return m;
}

int main(int argc, char **argv)
{
    int rows = argc > 1 ? atoi(argv[1]) : 1000;
    int cols = argc > 2 ? atoi(argv[2]) : 1030;
    bool good = true;
    {
        std::vector<float> temp(rows * cols), pw(rows * cols), tmp(rows * cols);
        for (auto &t : temp) t = 70.0f + 20.0f * rnd01();
        for (auto &p : pw) p = 3.0f * rnd01();
        float rx = 0.31f, ry = 0.27f, rz = 0.02f, step = 0.4f;
        float *dT[2] = { toDevice(temp), toDevice(temp) };
        float *dP = toDevice(pw);
        dim3 b(TILE, TILE), g((cols + INNER - 1) / INNER, (rows + INNER - 1) / INNER);
        int cur = 0;
        for (int it = 0; it < 2; it++) {
            hotspotTile<<<g, b>>>(dP, dT[cur], dT[1 - cur], rows, cols, rx, ry, rz, step);
            CUDA_OK(cudaGetLastError());
            cur = 1 - cur;
        }
        dim3 b2(32, 4), g2((rows + 31) / 32, (cols + 3) / 4);
        hotspotFirstTry<<<g2, b2>>>(dT[1 - cur], dT[cur], dP, rows, cols, rx, ry, rz, step);
        CUDA_OK(cudaGetLastError());
        cur = 1 - cur;
        for (int it = 0; it < 3; it++) {
            cpuHotspot(tmp, temp, pw, rows, cols, rx, ry, rz, step);
            temp.swap(tmp);
        }
        float e = maxDiff(temp, dT[cur]);
        printf("hotspot    max diff %g\n", e);
        good = good && e < 1e-2f;
        cudaFree(dT[0]); cudaFree(dT[1]); cudaFree(dP);
    }
    {
        const int Nr = 502, Nc = 458, Ne = Nr * Nc;
        std::vector<float> img(Ne), n(Ne), s(Ne), w(Ne), e(Ne), c(Ne);
        std::vector<int> iN(Nr), iS(Nr), jW(Nc), jE(Nc);
        double sum = 0, sum2 = 0;
        for (auto &v : img) { v = expf(0.2f + 0.6f * rnd01()); sum += v; sum2 += (double)v * v; }
        for (int i = 0; i < Nr; i++) { iN[i] = std::max(i - 1, 0); iS[i] = std::min(i + 1, Nr - 1); }
        for (int j = 0; j < Nc; j++) { jW[j] = std::max(j - 1, 0); jE[j] = std::min(j + 1, Nc - 1); }
        double mean = sum / Ne, var = sum2 / Ne - mean * mean;
        float q0 = (float)(var / (mean * mean));
        float *dI = toDevice(img), *dN = toDevice(n), *dS = toDevice(n), *dW = toDevice(n), *dE = toDevice(n), *dC = toDevice(n);
        int *diN = toDevice(iN), *diS = toDevice(iS), *djW = toDevice(jW), *djE = toDevice(jE);
        int nb = (Ne + 255) / 256;
        sradCoeff<<<nb, 256>>>(dI, dN, dS, dW, dE, dC, diN, diS, djW, djE, Nr, Ne, q0);
        CUDA_OK(cudaGetLastError());
        sradUpdate<<<nb, 256>>>(dI, dN, dS, dW, dE, dC, diS, djE, Nr, Ne, 0.5f);
        CUDA_OK(cudaGetLastError());
        for (int j = 0; j < Nc; j++)
            for (int i = 0; i < Nr; i++) {
                int k = i + Nr * j;
                float J = img[k];
                n[k] = img[iN[i] + Nr * j] - J; s[k] = img[iS[i] + Nr * j] - J;
                w[k] = img[i + Nr * jW[j]] - J; e[k] = img[i + Nr * jE[j]] - J;
                float G2 = (n[k] * n[k] + s[k] * s[k] + w[k] * w[k] + e[k] * e[k]) / (J * J);
                float L = (n[k] + s[k] + w[k] + e[k]) / J;
                float den = 1.0f + 0.25f * L;
                float q = (0.5f * G2 - L * L / 16.0f) / (den * den);
                c[k] = std::min(1.0f, std::max(0.0f, 1.0f / (1.0f + (q - q0) / (q0 * (1.0f + q0)))));
            }
        for (int j = 0; j < Nc; j++)
            for (int i = 0; i < Nr; i++) {
                int k = i + Nr * j;
                img[k] += 0.125f * (c[k] * n[k] + c[iS[i] + Nr * j] * s[k] + c[k] * w[k] + c[i + Nr * jE[j]] * e[k]);
            }
        float err = maxDiff(img, dI);
        printf("srad       max diff %g\n", err);
        good = good && err < 1e-3f;
        for (float *p : { dI, dN, dS, dW, dE, dC }) cudaFree(p);
        for (int *p : { diN, diS, djW, djE }) cudaFree(p);
    }
    {
        const int pc = 100003, pr = 2 * PYRAMID + 1;
        std::vector<int> wall(pc * pr), a(pc), b(pc);
        for (auto &v : wall) v = (int)(lcg() % 10);
        std::copy(wall.begin(), wall.begin() + pc, a.begin());
        int *dWall = toDevice(wall), *dA[2] = { toDevice(a), toDevice(a) };
        int small = PATH_BS - 2 * PYRAMID, src = 0;
        for (int t = 1; t < pr; t += PYRAMID) {
            pathRows<<<(pc + small - 1) / small, PATH_BS>>>(PYRAMID, dWall, dA[src], dA[1 - src], pc, t);
            CUDA_OK(cudaGetLastError());
            src ^= 1;
        }
        for (int t = 1; t < pr; t++) {
            for (int x = 0; x < pc; x++) {
                int m = a[x];
                if (x > 0) m = std::min(m, a[x - 1]);
                if (x < pc - 1) m = std::min(m, a[x + 1]);
                b[x] = m + wall[t * pc + x];
            }
            a.swap(b);
        }
        CUDA_OK(cudaMemcpy(b.data(), dA[src], pc * sizeof(int), cudaMemcpyDeviceToHost));
        int bad = 0;
        for (int x = 0; x < pc; x++) bad += a[x] != b[x];
        printf("pathfinder wrong %d\n", bad);
        good = good && bad == 0;
        cudaFree(dWall); cudaFree(dA[0]); cudaFree(dA[1]);
    }
    CUDA_OK(cudaDeviceSynchronize());
    printf(good ? "PASS\n" : "FAIL\n");
    return good ? 0 : 1;
}
