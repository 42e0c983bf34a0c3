// Batched CartPole with a small MLP policy; environments as SoA, weights
// carved from one dynamic shared block, returns-to-go, policy statistics.
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int ENVS = 8192;
constexpr int HID = 32;
constexpr int STEPS = 16;
constexpr int NW = 4 * HID + HID + HID + 1;

#define RT(x) { auto err = (x); if (err != cudaSuccess) { printf("runtime error: %s\n", cudaGetErrorString(err)); exit(1); } }

struct EnvState
{
    float *x, *xd, *th, *thd;
    float *reward;      // [step][env]
    __half2 *trace;     // [env][step]: x and theta
};

struct CartPole
{
    float x, xd, th, thd;
    __host__ __device__ void step(float force)
    {
        float s = sinf(th);
        float c = cosf(th);
        float tmp = (force + 0.05f * thd * thd * s) / 1.1f;
        float ta = (9.8f * s - c * tmp) / (0.5f * (4.0f / 3.0f - 0.1f * c * c / 1.1f));
        float xa = tmp - 0.05f * ta * c / 1.1f;
        x += 0.02f * xd;
        xd += 0.02f * xa;
        th += 0.02f * thd;
        thd += 0.02f * ta;
    }
    __host__ __device__ float reward() const { return 1.0f - th * th - 0.01f * x * x; }
};

__global__ void resetEnvs(EnvState e, unsigned seed)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned h = (i + 1) * 2654435761u ^ seed;
    float *f[4] = {e.x, e.xd, e.th, e.thd};
    for (int k = 0; k < 4; k++)
    {
        h = h * 1664525u + 1013904223u;
        f[k][i] = ((h >> 8) / 16777216.0f - 0.5f) * 0.1f;
    }
}

// one thread per environment; all weights in shared, broadcast reads
__global__ void rollout(EnvState e, const float *w)
{
    extern __shared__ float smem[];
    float *w1 = smem;
    float *b1 = w1 + 4 * HID;
    float *w2 = b1 + HID;
    float *b2 = w2 + HID;
    for (int k = threadIdx.x; k < NW; k += blockDim.x)
        smem[k] = w[k];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    CartPole p{e.x[i], e.xd[i], e.th[i], e.thd[i]};
    for (int t = 0; t < STEPS; t++)
    {
        float out = b2[0];
        for (int h = 0; h < HID; h++)
        {
            float a = b1[h] + w1[h] * p.x + w1[HID + h] * p.xd + w1[2 * HID + h] * p.th + w1[3 * HID + h] * p.thd;
            out += w2[h] * fmaxf(a, 0.0f);
        }
        p.step(10.0f * tanhf(out));
        e.reward[t * ENVS + i] = p.reward();
        e.trace[i * STEPS + t] = __floats2half2_rn(p.x, p.th);
    }
    e.x[i] = p.x;
    e.xd[i] = p.xd;
    e.th[i] = p.th;
    e.thd[i] = p.thd;
}

// warp per environment: one lane per hidden unit
__global__ void policyWarp(EnvState e, const float *w, float *force)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int h = threadIdx.x % 32;
    float a = w[4 * HID + h] + w[h] * e.x[i] + w[HID + h] * e.xd[i] + w[2 * HID + h] * e.th[i] + w[3 * HID + h] * e.thd[i];
    float o = w[5 * HID + h] * fmaxf(a, 0.0f);
    for (int s = 16; s > 0; s /= 2)
        o += __shfl_down_sync(0xffffffffu, o, s);
    if (h == 0)
        force[i] = 10.0f * tanhf(o + w[6 * HID]);
}

__global__ void returnsToGo(const float *reward, float *ret, float gamma)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float g = 0.0f;
    for (int t = STEPS - 1; t >= 0; t--)
    {
        g = reward[t * ENVS + i] + gamma * g;
        ret[i * STEPS + t] = g;
    }
}

// mean return of every step: threads walk env with stride STEPS
__global__ void stepBaseline(const float *ret, float *base)
{
    __shared__ float s[128];
    float a = 0.0f;
    for (int i = threadIdx.x; i < ENVS; i += 128)
        a += ret[i * STEPS + blockIdx.x];
    s[threadIdx.x] = a;
    __syncthreads();
    for (int k = 64; k > 0; k >>= 1)
    {
        if (threadIdx.x < k)
            s[threadIdx.x] += s[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        base[blockIdx.x] = s[0] / ENVS;
}

__global__ void advantage(float4 *ret, const float *base)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int t = (i * 4) % STEPS;
    float4 r = ret[i];
    r.x -= base[t];
    r.y -= base[t + 1];
    r.z -= base[t + 2];
    r.w -= base[t + 3];
    ret[i] = r;
}

int main()
{
    std::vector<float> w(NW);
    unsigned s = 17;
    for (auto &v : w)
    {
        s = s * 1664525u + 1013904223u;
        v = ((s >> 8) / 16777216.0f - 0.5f) * 0.6f;
    }
    float *pool, *dw, *ret, *base, *force;
    EnvState e;
    RT(cudaMalloc(&pool, 4 * ENVS * sizeof(float)));
    e.x = pool;
    e.xd = pool + ENVS;
    e.th = pool + 2 * ENVS;
    e.thd = pool + 3 * ENVS;
    RT(cudaMalloc(&e.reward, ENVS * STEPS * 4));
    RT(cudaMalloc(&e.trace, ENVS * STEPS * sizeof(__half2)));
    RT(cudaMalloc(&dw, NW * 4));
    RT(cudaMalloc(&ret, ENVS * STEPS * 4));
    RT(cudaMalloc(&base, STEPS * 4));
    RT(cudaMalloc(&force, ENVS * 4));
    RT(cudaMemcpy(dw, w.data(), NW * 4, cudaMemcpyHostToDevice));
    resetEnvs<<<ENVS / 256, 256>>>(e, 99u);
    std::vector<float> init(4 * ENVS), fin(4 * ENVS), rew(ENVS * STEPS), adv(ENVS * STEPS), fo(ENVS);
    std::vector<__half2> tr(ENVS * STEPS);
    RT(cudaMemcpy(init.data(), pool, 16 * ENVS, cudaMemcpyDeviceToHost));
    policyWarp<<<ENVS / 8, 256>>>(e, dw, force);
    rollout<<<ENVS / 128, 128, NW * sizeof(float)>>>(e, dw);
    returnsToGo<<<ENVS / 128, 128>>>(e.reward, ret, 0.97f);
    stepBaseline<<<STEPS, 128>>>(ret, base);
    advantage<<<ENVS * STEPS / 4 / 256, 256>>>((float4 *)ret, base);
    RT(cudaGetLastError());
    RT(cudaDeviceSynchronize());
    RT(cudaMemcpy(fin.data(), pool, 16 * ENVS, cudaMemcpyDeviceToHost));
    RT(cudaMemcpy(rew.data(), e.reward, 4 * ENVS * STEPS, cudaMemcpyDeviceToHost));
    RT(cudaMemcpy(adv.data(), ret, 4 * ENVS * STEPS, cudaMemcpyDeviceToHost));
    RT(cudaMemcpy(fo.data(), force, 4 * ENVS, cudaMemcpyDeviceToHost));
    RT(cudaMemcpy(tr.data(), e.trace, ENVS * STEPS * sizeof(__half2), cudaMemcpyDeviceToHost));

    int bad = 0;
    std::vector<double> rtg(ENVS * STEPS), mean(STEPS, 0.0);
    for (int i = 0; i < ENVS; i++)
    {
        CartPole p{init[i], init[ENVS + i], init[2 * ENVS + i], init[3 * ENVS + i]};
        for (int t = 0; t < STEPS; t++)
        {
            float out = w[6 * HID];
            for (int h = 0; h < HID; h++)
            {
                float a = w[4 * HID + h] + w[h] * p.x + w[HID + h] * p.xd + w[2 * HID + h] * p.th + w[3 * HID + h] * p.thd;
                out += w[5 * HID + h] * fmaxf(a, 0.0f);
            }
            float f = 10.0f * tanhf(out);
            if (t == 0 && fabsf(f - fo[i]) > 1e-3f)
                bad++;
            p.step(f);
            float2 q = __half22float2(tr[i * STEPS + t]);
            if (fabsf(p.x - q.x) > 5e-3f || fabsf(p.th - q.y) > 5e-3f)
                bad++;
            if (fabsf(p.reward() - rew[t * ENVS + i]) > 2e-3f)
                bad++;
        }
        if (fabsf(p.x - fin[i]) > 2e-3f || fabsf(p.thd - fin[3 * ENVS + i]) > 5e-3f)
            bad++;
        double g = 0;
        for (int t = STEPS - 1; t >= 0; t--)
        {
            g = rew[t * ENVS + i] + 0.97 * g;
            rtg[i * STEPS + t] = g;
            mean[t] += g / ENVS;
        }
    }
    for (int k = 0; k < ENVS * STEPS; k++)
        if (fabs(rtg[k] - mean[k % STEPS] - adv[k]) > 2e-3)
            bad++;
    printf("mean return %f, bad %d\n", mean[0], bad);
    puts(bad ? "FAIL" : "PASS");
    return bad ? 1 : 0;
}
