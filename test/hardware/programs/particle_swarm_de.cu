// Population optimisers: PSO (dimension-major) and differential evolution
// (individual-major), functor objective, Rastrigin and Rosenbrock.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(x) do { cudaError_t e = (x); if (e) { printf("%s\n", cudaGetErrorString(e)); exit(1); } } while (0)

constexpr int POP = 4096;
constexpr int DIM = 24;

struct Rastrigin
{
    __host__ __device__ float operator()(const float *x, int stride) const
    {
        float s = 10.0f * DIM;
        for (int d = 0; d < DIM; ++d)
        {
            float v = x[d * stride];
            s += v * v - 10.0f * cosf(6.2831853f * v);
        }
        return s;
    }
};

struct Rosenbrock
{
    __host__ __device__ float operator()(const float *x, int stride) const
    {
        float s = 0.0f;
        for (int d = 0; d + 1 < DIM; ++d)
        {
            float a = x[d * stride];
            float b = x[(d + 1) * stride];
            s += 100.0f * (b - a * a) * (b - a * a) + (1.0f - a) * (1.0f - a);
        }
        return s;
    }
};

__host__ __device__ inline uint32_t hash3(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t h = a * 0x9E3779B1u ^ (b + 0x7F4A7C15u) * 0x85EBCA77u ^ (c + 0x165667B1u) * 0xC2B2AE3Du;
    h ^= h >> 15;
    h *= 0x2C1B3C6Du;
    h ^= h >> 12;
    h *= 0x297A2D39u;
    h ^= h >> 15;
    return h;
}

__host__ __device__ inline float uni(uint32_t a, uint32_t b, uint32_t c)
{
    return (hash3(a, b, c) >> 8) * (1.0f / 16777216.0f);
}

template <class F>
__global__ void evaluate(F f, const float *x, float *fit, int pop_stride, int dim_stride)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < POP)
        fit[i] = f(x + i * pop_stride, dim_stride);
}

// pos[d][i]
__global__ void pso_init(float *pos, float *vel)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int d = blockIdx.y;
    pos[d * POP + i] = -5.0f + 10.0f * uni(i, d, 1);
    vel[d * POP + i] = 0.0f;
}

__global__ void pso_move(float *pos, float *vel, const float *best, const float *gbest, int it)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int d = blockIdx.y;
    int k = d * POP + i;
    float x = pos[k];
    float v = 0.7f * vel[k] + 1.4f * uni(i, d, 10 + 2 * it) * (best[k] - x) + 1.4f * uni(i, d, 11 + 2 * it) * (gbest[d] - x);
    vel[k] = v;
    pos[k] = x + v;
}

__global__ void pso_personal_best(const float *pos, const float *fit, float *best, float *bestfit)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= POP)
        return;
    if (fit[i] < bestfit[i])
    {
        bestfit[i] = fit[i];
        for (int d = 0; d < DIM; ++d)
            best[d * POP + i] = pos[d * POP + i];
    }
}

// one block of 1024, argmin with index, writes the best vector
__global__ void global_best(const float *fit, const float *x, int pop_stride, int dim_stride, float *gbest, float *gfit)
{
    __shared__ float sv[1024];
    __shared__ int si[1024];
    int t = threadIdx.x;
    float v = 3.4e38f;
    int idx = 0;
    for (int i = t; i < POP; i += 1024)
    {
        if (fit[i] < v)
        {
            v = fit[i];
            idx = i;
        }
    }
    sv[t] = v;
    si[t] = idx;
    __syncthreads();
    for (int s = 512; s > 0; s >>= 1)
    {
        if (t < s && (sv[t + s] < sv[t] || (sv[t + s] == sv[t] && si[t + s] < si[t])))
        {
            sv[t] = sv[t + s];
            si[t] = si[t + s];
        }
        __syncthreads();
    }
    if (t < DIM)
        gbest[t] = x[si[0] * pop_stride + t * dim_stride];
    if (t == 0)
        *gfit = sv[0];
}

// x[i][d], a trial per thread: threads are DIM apart
__global__ void de_trial(const float *x, float *trial, int gen)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= POP)
        return;
    int a = hash3(i, gen, 100) % POP;
    int b = hash3(i, gen, 101) % POP;
    int c = hash3(i, gen, 102) % POP;
    int forced = hash3(i, gen, 103) % DIM;
    for (int d = 0; d < DIM; ++d)
    {
        float v = x[i * DIM + d];
        if (d == forced || uni(i, d, 200 + gen) < 0.8f)
            v = x[a * DIM + d] + 0.6f * (x[b * DIM + d] - x[c * DIM + d]);
        trial[i * DIM + d] = v;
    }
}

__global__ void de_select(float *x, const float *trial, float *fit, const float *tfit)
{
    int k = blockIdx.x * blockDim.y + threadIdx.y;
    bool take = tfit[k] < fit[k];
    __syncwarp();
    if (take)
    {
        if (threadIdx.x < DIM)
            x[k * DIM + threadIdx.x] = trial[k * DIM + threadIdx.x];
        if (threadIdx.x == 0)
            fit[k] = tfit[k];
    }
}

static float *floats(size_t n)
{
    float *p;
    CHECK(cudaMalloc(&p, n * sizeof(float)));
    return p;
}

int main()
{
    const int T = 128;
    const int B = POP / T;
    float *pos = floats(POP * DIM), *vel = floats(POP * DIM), *best = floats(POP * DIM);
    float *fit = floats(POP), *bfit = floats(POP), *gbest = floats(DIM), *gfit = floats(1);
    std::vector<float> big(POP, 1e30f);
    CHECK(cudaMemcpy(bfit, big.data(), POP * 4, cudaMemcpyHostToDevice));
    Rastrigin ras;
    Rosenbrock ros;
    bool ok = true;

    pso_init<<<dim3(B, DIM), T>>>(pos, vel);
    std::vector<float> hx(POP * DIM), hf(POP);
    float first = 0, last = 0;
    for (int it = 0; it < 3; ++it)
    {
        evaluate<<<B, T>>>(ras, pos, fit, 1, POP);
        pso_personal_best<<<B, T>>>(pos, fit, best, bfit);
        global_best<<<1, 1024>>>(bfit, best, 1, POP, gbest, gfit);
        CHECK(cudaMemcpy(hx.data(), pos, POP * DIM * 4, cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(hf.data(), fit, POP * 4, cudaMemcpyDeviceToHost));
        for (int i = 0; i < POP; ++i)
        {
            float r = ras(hx.data() + i, POP);
            if (fabsf(r - hf[i]) > 0.02f + 1e-4f * fabsf(r))
                ok = false;
        }
        CHECK(cudaMemcpy(&last, gfit, 4, cudaMemcpyDeviceToHost));
        if (it == 0)
            first = last;
        pso_move<<<dim3(B, DIM), T>>>(pos, vel, best, gbest, it);
    }
    if (!(last <= first))
        ok = false;
    printf("PSO best %f -> %f\n", first, last);

    float *x = floats(POP * DIM), *trial = floats(POP * DIM), *tfit = floats(POP);
    for (int i = 0; i < POP; ++i)
        for (int d = 0; d < DIM; ++d)
            hx[i * DIM + d] = -2.0f + 4.0f * uni(i, d, 5);
    CHECK(cudaMemcpy(x, hx.data(), POP * DIM * 4, cudaMemcpyHostToDevice));
    evaluate<<<B, T>>>(ros, x, fit, DIM, 1);
    for (int g = 0; g < 2; ++g)
    {
        de_trial<<<B, T>>>(x, trial, g);
        evaluate<<<B, T>>>(ros, trial, tfit, DIM, 1);
        std::vector<float> before(POP), tf(POP), after(POP), tr(POP * DIM), xa(POP * DIM);
        CHECK(cudaMemcpy(before.data(), fit, POP * 4, cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(tf.data(), tfit, POP * 4, cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(tr.data(), trial, POP * DIM * 4, cudaMemcpyDeviceToHost));
        de_select<<<POP / 8, dim3(32, 8)>>>(x, trial, fit, tfit);
        CHECK(cudaMemcpy(after.data(), fit, POP * 4, cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(xa.data(), x, POP * DIM * 4, cudaMemcpyDeviceToHost));
        for (int i = 0; i < POP; ++i)
        {
            int a = hash3(i, g, 100) % POP, b = hash3(i, g, 101) % POP, c = hash3(i, g, 102) % POP;
            int forced = hash3(i, g, 103) % DIM;
            for (int d = 0; d < DIM; ++d)
            {
                float v = hx[i * DIM + d];
                if (d == forced || uni(i, d, 200 + g) < 0.8f)
                    v = hx[a * DIM + d] + 0.6f * (hx[b * DIM + d] - hx[c * DIM + d]);
                if (fabsf(v - tr[i * DIM + d]) > 1e-4f)
                    ok = false;
                float want = tf[i] < before[i] ? tr[i * DIM + d] : hx[i * DIM + d];
                if (want != xa[i * DIM + d])
                    ok = false;
            }
            if (after[i] != fminf(before[i], tf[i]))
                ok = false;
            float r = ros(tr.data() + i * DIM, 1);
            if (fabsf(r - tf[i]) > 1e-3f * fabsf(r) + 1e-2f)
                ok = false;
        }
        hx = xa;
    }
    global_best<<<1, 1024>>>(fit, x, DIM, 1, gbest, gfit);
    CHECK(cudaMemcpy(&last, gfit, 4, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(hf.data(), fit, POP * 4, cudaMemcpyDeviceToHost));
    float m = hf[0];
    for (float v : hf)
        m = fminf(m, v);
    if (m != last)
        ok = false;
    CHECK(cudaGetLastError());
    printf("DE best %f\n%s\n", last, ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
