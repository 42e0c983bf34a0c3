// Matrix profile of a time series (z-normalised), student project.
// v1: brute force per pair; v2: diagonal STOMP per thread; v3: tiled in shared.
#include <iostream>
#include <vector>
#include <cmath>
#include <random>
#include <cuda_runtime.h>

const int N = 2048;      // series length
const int M = 32;        // window
const int P = N - M + 1; // profile length
const int EXCL = M / 2;

#define gpuErr(x) if ((x) != cudaSuccess) { std::cerr << "cuda error at line " << __LINE__ << std::endl; return 1; }

// prefix sums by a single block with thread coarsening (8 elements per thread)
__global__ void prefixSums(const float *ts, double *c1, double *c2)
{
    __shared__ double a[256];
    __shared__ double b[256];
    int t = threadIdx.x;
    double s = 0;
    double q = 0;
    for (int k = 0; k < 8; k++)
    {
        double v = ts[t * 8 + k];
        s += v;
        q += v * v;
    }
    a[t] = s;
    b[t] = q;
    __syncthreads();
    for (int d = 1; d < 256; d *= 2)
    {
        double x = 0;
        double y = 0;
        if (t >= d)
        {
            x = a[t - d];
            y = b[t - d];
        }
        __syncthreads();
        a[t] += x;
        b[t] += y;
        __syncthreads();
    }
    double ps = a[t] - s;
    double pq = b[t] - q;
    for (int k = 0; k < 8; k++)
    {
        double v = ts[t * 8 + k];
        c1[t * 8 + k] = ps;
        c2[t * 8 + k] = pq;
        ps += v;
        pq += v * v;
    }
    if (t == 255)
    {
        c1[N] = ps;
        c2[N] = pq;
    }
}

__global__ void windowStats(const double *c1, const double *c2, float2 *st)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < P)
    {
        double m = (c1[i + M] - c1[i]) / M;
        double v = (c2[i + M] - c2[i]) / M - m * m;
        st[i] = make_float2((float)m, (float)(1.0 / sqrt(v + 1e-12)));
    }
}

// correlation encoded so atomicMax works on integers: key = corr * 1e6, index
__device__ unsigned long long encode(float corr, int j)
{
    unsigned int c = (unsigned int)((corr + 2.0f) * 1.0e8f);
    return ((unsigned long long)c << 32) | (unsigned int)j;
}

__global__ void profileBrute(const float *ts, const float2 *st, float *best)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= P)
        return;
    float w[M];
    for (int k = 0; k < M; k++)
        w[k] = (ts[i + k] - st[i].x) * st[i].y;
    float mx = -1.0f;
    for (int j = blockIdx.y; j < P; j += gridDim.y)
    {
        if (abs(i - j) <= EXCL)
            continue;
        float dot = 0;
        for (int k = 0; k < M; k++)
            dot += w[k] * ts[j + k];
        float corr = dot * st[j].y / M;
        mx = fmaxf(mx, corr);
    }
    best[blockIdx.y * P + i] = mx;
}

__global__ void foldBrute(const float *part, float *best, int parts)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= P)
        return;
    float m = part[i];
    for (int k = 1; k < parts; k++)
        m = fmaxf(m, part[k * P + i]);
    best[i] = m;
}

// each thread walks a diagonal with the recurrence
__global__ void profileDiagonal(const float *ts, const float2 *st, unsigned long long *prof)
{
    int d = blockIdx.x * blockDim.x + threadIdx.x + EXCL + 1;
    if (d >= P)
        return;
    float qt = 0;
    for (int k = 0; k < M; k++)
        qt += ts[k] * ts[k + d];
    for (int i = 0; i + d < P; i++)
    {
        int j = i + d;
        if (i > 0)
            qt += ts[i + M - 1] * ts[j + M - 1] - ts[i - 1] * ts[j - 1];
        float corr = (qt / M - st[i].x * st[j].x) * st[i].y * st[j].y;
        atomicMax(&prof[i], encode(corr, j));
        atomicMax(&prof[j], encode(corr, i));
    }
}

// 16x16 tile of pairs, series pieces in shared memory
__global__ void profileTiled(const float *ts, const float2 *st, unsigned long long *prof)
{
    __shared__ float ra[16 + M];
    __shared__ float rb[16 + M];
    __shared__ float corrs[16][16];
    int i0 = blockIdx.y * 16;
    int j0 = blockIdx.x * 16;
    int t = threadIdx.y * 16 + threadIdx.x;
    if (t < 16 + M)
    {
        ra[t] = i0 + t < N ? ts[i0 + t] : 0;
        rb[t] = j0 + t < N ? ts[j0 + t] : 0;
    }
    __syncthreads();
    int i = i0 + threadIdx.y;
    int j = j0 + threadIdx.x;
    float c = -1.5f;
    if (i < P && j < P && abs(i - j) > EXCL)
    {
        float dot = 0;
        for (int k = 0; k < M; k++)
            dot += (ra[threadIdx.y + k] - st[i].x) * (rb[threadIdx.x + k] - st[j].x);
        c = dot / M * st[i].y * st[j].y;
    }
    corrs[threadIdx.y][threadIdx.x] = c;
    __syncthreads();
    if (t < 16 && i0 + t < P)
    {
        float m = -1.5f;
        int w = 0;
        for (int k = 0; k < 16; k++)
        {
            if (corrs[t][k] > m)
            {
                m = corrs[t][k];
                w = j0 + k;
            }
        }
        if (m > -1.5f)
            atomicMax(&prof[i0 + t], encode(m, w));
    }
}

__global__ void decodeProfile(const unsigned long long *prof, float *corr, int *idx)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= P)
        return;
    unsigned long long v = prof[i];
    corr[i] = (float)((double)(v >> 32) * 1.0e-8 - 2.0);
    idx[i] = (int)(v & 0xffffffffu);
}

int main()
{
    std::mt19937 gen(31);
    std::vector<float> ts(N);
    for (int i = 0; i < N; i++)
        ts[i] = std::sin(0.11f * i) + 0.5f * std::sin(0.037f * i) + 0.3f * ((gen() & 0xffff) / 65536.0f - 0.5f);
    float *dts, *dpart, *dbest, *dc1, *dc2;
    double *p1, *p2;
    float2 *dst;
    unsigned long long *prof1, *prof2;
    int *di1, *di2;
    gpuErr(cudaMalloc(&dts, N * sizeof(float)));
    gpuErr(cudaMalloc(&dpart, 16 * P * sizeof(float)));
    gpuErr(cudaMalloc(&dbest, P * sizeof(float)));
    gpuErr(cudaMalloc(&dc1, P * sizeof(float)));
    gpuErr(cudaMalloc(&dc2, P * sizeof(float)));
    gpuErr(cudaMalloc(&p1, (N + 1) * sizeof(double)));
    gpuErr(cudaMalloc(&p2, (N + 1) * sizeof(double)));
    gpuErr(cudaMalloc(&dst, P * sizeof(float2)));
    gpuErr(cudaMalloc(&prof1, P * 8));
    gpuErr(cudaMalloc(&prof2, P * 8));
    gpuErr(cudaMalloc(&di1, P * 4));
    gpuErr(cudaMalloc(&di2, P * 4));
    gpuErr(cudaMemset(prof1, 0, P * 8));
    gpuErr(cudaMemset(prof2, 0, P * 8));
    gpuErr(cudaMemcpy(dts, ts.data(), N * sizeof(float), cudaMemcpyHostToDevice));

    int b = (P + 127) / 128;
    prefixSums<<<1, 256>>>(dts, p1, p2);
    windowStats<<<b, 128>>>(p1, p2, dst);
    profileBrute<<<dim3(b, 16), 128>>>(dts, dst, dpart);
    foldBrute<<<b, 128>>>(dpart, dbest, 16);
    profileDiagonal<<<(P + 63) / 64, 64>>>(dts, dst, prof1);
    profileTiled<<<dim3((P + 15) / 16, (P + 15) / 16), dim3(16, 16)>>>(dts, dst, prof2);
    decodeProfile<<<b, 128>>>(prof1, dc1, di1);
    decodeProfile<<<b, 128>>>(prof2, dc2, di2);
    gpuErr(cudaGetLastError());
    gpuErr(cudaDeviceSynchronize());
    std::vector<float> h0(P), h1(P), h2(P);
    std::vector<int> i1(P), i2(P);
    gpuErr(cudaMemcpy(h0.data(), dbest, P * 4, cudaMemcpyDeviceToHost));
    gpuErr(cudaMemcpy(h1.data(), dc1, P * 4, cudaMemcpyDeviceToHost));
    gpuErr(cudaMemcpy(h2.data(), dc2, P * 4, cudaMemcpyDeviceToHost));
    gpuErr(cudaMemcpy(i1.data(), di1, P * 4, cudaMemcpyDeviceToHost));
    gpuErr(cudaMemcpy(i2.data(), di2, P * 4, cudaMemcpyDeviceToHost));

    auto corr = [&](int i, int j) {
        double mi = 0, mj = 0, vi = 0, vj = 0, d = 0;
        for (int k = 0; k < M; k++)
        {
            mi += ts[i + k];
            mj += ts[j + k];
        }
        mi /= M;
        mj /= M;
        for (int k = 0; k < M; k++)
        {
            vi += (ts[i + k] - mi) * (ts[i + k] - mi);
            vj += (ts[j + k] - mj) * (ts[j + k] - mj);
            d += (ts[i + k] - mi) * (ts[j + k] - mj);
        }
        return d / std::sqrt(vi * vj);
    };
    double err = 0;
    for (int i = 0; i < P; i += 7)
    {
        double best = -1;
        for (int j = 0; j < P; j++)
            if (std::abs(i - j) > EXCL)
                best = std::max(best, corr(i, j));
        err = std::max(err, std::fabs(best - h0[i]));
        err = std::max(err, std::fabs(best - h1[i]));
        err = std::max(err, std::fabs(best - h2[i]));
        if (i1[i] < 0 || i1[i] >= P || i2[i] < 0 || i2[i] >= P)
            err = 1;
        else
            err = std::max(err, std::fabs(best - corr(i, i2[i])));
    }
    std::cout << "max error " << err << std::endl;
    std::cout << (err < 5e-3 ? "PASS" : "FAIL") << std::endl;
    return err < 5e-3 ? 0 : 1;
}
