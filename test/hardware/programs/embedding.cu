// Token embeddings: gather rows forward, scatter gradients back; and one-hot cross entropy.
#include "common.h"

// One thread a float4 of one (batch, time) position.
__global__ void encoderForward(float4 *out, const int *inp, const float4 *wte, const float4 *wpe, int B, int T, int C4)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    int N = B * T * C4;
    if (idx < N) {
        int bt = idx / C4;
        int b = bt / T;
        int t = bt % T;
        int c = idx % C4;
        int ix = inp[b * T + t];
        float4 w = wte[ix * C4 + c], p = wpe[t * C4 + c];
        out[idx] = make_float4(w.x + p.x, w.y + p.y, w.z + p.z, w.w + p.w);
    }
}

__global__ void encoderBackward(float *dwte, const float *dout, const int *inp, int T, int C)
{
    const int t = blockIdx.x, b = blockIdx.y;
    const float *row = dout + (b * T + t) * C;
    float *target = dwte + inp[b * T + t] * C;
    for (int c = threadIdx.x; c < C; c += blockDim.x)
        atomicAdd(target + c, row[c]);
}

// Every lane reads one probability of its own row: V floats apart.
__global__ void crossEntropy(float *losses, const float *probs, const int *targets, int N, int V)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) {
        int ix = targets[i];
        losses[i] = -logf(probs[i * V + ix]);
    }
}

int main()
{
    const int B = 4, T = 64, C = 192, V = 300, N = B * T;
    std::vector<float> wte = randomFloats(V * C, 1), wpe = randomFloats(T * C, 2), want(N * C), grad = randomFloats(N * C, 3), dw(V * C, 0.0f);
    std::vector<int> tok(N);
    Random r(4);
    for (int &t : tok) t = r.below(V);
    for (int i = 0; i < N; ++i)
        for (int c = 0; c < C; ++c) {
            want[i * C + c] = wte[tok[i] * C + c] + wpe[i % T * C + c];
            dw[tok[i] * C + c] += grad[i * C + c];
        }
    int *dt = toDevice(tok);
    float *out = deviceZeros<float>(N * C), *ddw = deviceZeros<float>(V * C);
    bool ok = true;
    encoderForward<<<(N * C / 4 + 255) / 256, 256>>>((float4 *)out, dt, (const float4 *)toDevice(wte), (const float4 *)toDevice(wpe), B, T, C / 4);
    ok &= report("encoderForward", allNear(toHost(out, N * C), want, 1e-6));
    encoderBackward<<<dim3(T, B), 96>>>(ddw, toDevice(grad), dt, T, C);
    ok &= report("encoderBackward", allNear(toHost(ddw, V * C), dw, 1e-4));
    std::vector<float> probs(N * V), loss(N);
    for (float &p : probs) p = 0.01f + r.uniform();
    for (int i = 0; i < N; ++i) loss[i] = -std::log(probs[i * V + tok[i]]);
    float *dl = deviceZeros<float>(N);
    crossEntropy<<<(N + 127) / 128, 128>>>(dl, toDevice(probs), dt, N, V);
    ok &= report("crossEntropy", allNear(toHost(dl, N), loss, 1e-4));
    return ok ? 0 : 1;
}
