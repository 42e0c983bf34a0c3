// Monte Carlo option pricing on a hand-written Philox generator, and a Mandelbrot set.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define HD __host__ __device__ __forceinline__

static void ok(cudaError_t e, int line)
{
    if (e == cudaSuccess) return;
    std::fprintf(stderr, "cuda error at %d: %s\n", line, cudaGetErrorString(e));
    std::exit(1);
}
#define OK(x) ok((x), __LINE__)

struct Philox {
    uint32_t key0, key1;
    HD static void mul(uint32_t a, uint32_t b, uint32_t& hi, uint32_t& lo)
    {
        const uint64_t p = static_cast<uint64_t>(a) * b;
        hi = static_cast<uint32_t>(p >> 32);
        lo = static_cast<uint32_t>(p);
    }
    HD uint4 operator()(uint32_t c0, uint32_t c1) const
    {
        uint4 c{c0, c1, 0u, 0u};
        uint32_t k0 = key0, k1 = key1;
        for (int r = 0; r < 10; ++r) {
            uint32_t h0, l0, h1, l1;
            mul(0xD2511F53u, c.x, h0, l0);
            mul(0xCD9E8D57u, c.z, h1, l1);
            c = uint4{h1 ^ c.y ^ k0, l1, h0 ^ c.w ^ k1, l0};
            k0 += 0x9E3779B9u;
            k1 += 0xBB67AE85u;
        }
        return c;
    }
};

// four normals from four words (Box-Muller twice)
HD float4 normals(uint4 u)
{
    const float scale = 1.f / 16777216.f, twoPi = 6.28318530718f;
    const float r0 = sqrtf(-2.f * logf(((u.x >> 8) + 1) * scale)), a0 = twoPi * ((u.y >> 8) * scale);
    const float r1 = sqrtf(-2.f * logf(((u.z >> 8) + 1) * scale)), a1 = twoPi * ((u.w >> 8) * scale);
    return float4{r0 * cosf(a0), r0 * sinf(a0), r1 * cosf(a1), r1 * sinf(a1)};
}

struct Option {
    float spot, strike, rate, vol, years;
};

constexpr int kAsianSteps = 32;

HD float asianPayoff(const Option& o, const Philox& rng, uint32_t path)
{
    const float dt = o.years / kAsianSteps;
    const float drift = (o.rate - 0.5f * o.vol * o.vol) * dt, diff = o.vol * sqrtf(dt);
    float logS = logf(o.spot), sum = 0.f;
    for (int s = 0; s < kAsianSteps; s += 4) {
        const float4 z = normals(rng(path, static_cast<uint32_t>(s)));
        sum += expf(logS += drift + diff * z.x);
        sum += expf(logS += drift + diff * z.y);
        sum += expf(logS += drift + diff * z.z);
        sum += expf(logS += drift + diff * z.w);
    }
    return fmaxf(sum / kAsianSteps - o.strike, 0.f);
}

// Shared-memory tree over doubles; every block adds its sum with one atomic.
__device__ void blockAccumulate(double v, double* shared, double* total)
{
    shared[threadIdx.x] = v;
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) shared[threadIdx.x] += shared[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(total, shared[0]);
}

// Grid-stride, four terminal prices per counter value plus their antithetic partners.
__global__ void __launch_bounds__(256)
europeanCall(Option o, Philox rng, uint32_t groups, double* total)
{
    extern __shared__ double partial[];
    const float drift = (o.rate - 0.5f * o.vol * o.vol) * o.years, diff = o.vol * sqrtf(o.years);
    float sum = 0.f;
    for (uint32_t g = blockIdx.x * blockDim.x + threadIdx.x; g < groups; g += gridDim.x * blockDim.x) {
        const float4 z = normals(rng(g, 0u));
        const float w[4] = {z.x, z.y, z.z, z.w};
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const float up = o.spot * __expf(drift + diff * w[k]), down = o.spot * __expf(drift - diff * w[k]);
            sum += 0.5f * (fmaxf(up - o.strike, 0.f) + fmaxf(down - o.strike, 0.f));
        }
    }
    blockAccumulate(sum, partial, total);
}

// One path per thread; payoffs are kept for a histogram elsewhere.
__global__ void asianCall(Option o, Philox rng, int paths, float* payoff, double* total)
{
    extern __shared__ double partial[];
    const int p = blockIdx.x * blockDim.x + threadIdx.x;
    double v = 0.0;
    if (p < paths) {
        const float pay = asianPayoff(o, rng, static_cast<uint32_t>(p));
        payoff[p] = pay;
        v = pay;
    }
    blockAccumulate(v, partial, total);
}

struct View {
    float x0, y0, dx, dy;
    int width, height, maxIter;
};

HD int escape(const View& v, int px, int py)
{
    const float cx = v.x0 + v.dx * px, cy = v.y0 + v.dy * py;
    float zx = 0.f, zy = 0.f;
    int it = 0;
    while (it < v.maxIter && zx * zx + zy * zy < 4.f) {
        const float t = zx * zx - zy * zy + cx;
        zy = 2.f * zx * zy + cy;
        zx = t;
        ++it;
    }
    return it;
}

// Iteration counts, and a packed colour written byte by byte.
__global__ void mandelbrot(View v, unsigned short* iters, unsigned char* rgb)
{
    const int px = blockIdx.x * blockDim.x + threadIdx.x;
    const int py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= v.width || py >= v.height) return;
    const int it = escape(v, px, py);
    const int at = py * v.width + px;
    iters[at] = static_cast<unsigned short>(it);
    rgb[3 * at + 0] = static_cast<unsigned char>(it);
    rgb[3 * at + 1] = static_cast<unsigned char>((it * 5) & 255);
    rgb[3 * at + 2] = it == v.maxIter ? 0 : 255;
}

static double blackScholes(const Option& o)
{
    auto cdf = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
    const double sd = o.vol * std::sqrt(static_cast<double>(o.years));
    const double d1 = (std::log(static_cast<double>(o.spot) / o.strike) + (o.rate + 0.5 * o.vol * o.vol) * o.years) / sd;
    return o.spot * cdf(d1) - o.strike * std::exp(-static_cast<double>(o.rate) * o.years) * cdf(d1 - sd);
}

int main()
{
    const Option opt{100.f, 105.f, 0.03f, 0.25f, 1.f};
    const Philox rng{0xCAFEF00Du, 0x12345678u};
    const uint32_t groups = 1u << 20;
    const int paths = 1 << 16;
    const double discount = std::exp(-static_cast<double>(opt.rate) * opt.years);
    bool pass = true;

    double *dTotal, total[2];
    float* dPayoff;
    OK(cudaMalloc(&dTotal, 2 * sizeof(double)));
    OK(cudaMemset(dTotal, 0, 2 * sizeof(double)));
    OK(cudaMalloc(&dPayoff, paths * sizeof(float)));
    europeanCall<<<528, 256, 256 * sizeof(double)>>>(opt, rng, groups, dTotal);
    OK(cudaGetLastError());
    asianCall<<<paths / 128, 128, 128 * sizeof(double)>>>(opt, rng, paths, dPayoff, dTotal + 1);
    OK(cudaGetLastError());
    OK(cudaMemcpy(total, dTotal, sizeof total, cudaMemcpyDeviceToHost));

    const double euro = discount * total[0] / (4.0 * groups), exact = blackScholes(opt);
    std::printf("European: %.4f, closed form %.4f\n", euro, exact);
    pass = pass && std::fabs(euro - exact) < 0.05;

    std::vector<float> payoff(paths);
    OK(cudaMemcpy(payoff.data(), dPayoff, paths * sizeof(float), cudaMemcpyDeviceToHost));
    double sum = 0.0;
    int off = 0;
    for (int p = 0; p < paths; p += 4) {                 // a quarter of the paths, one by one
        const float ref = asianPayoff(opt, rng, static_cast<uint32_t>(p));
        off += !(std::fabs(ref - payoff[p]) <= 0.02f);
    }
    for (float v : payoff) sum += v;
    std::printf("Asian: %.4f, %d paths off\n", discount * total[1] / paths, off);
    pass = pass && off == 0 && std::fabs(sum - total[1]) < 1e-6 * sum;

    const int w = 1024, h = 768;
    const View view{-2.2f, -1.2f, 3.2f / w, 2.4f / h, w, h, 256};
    unsigned short* dIter;
    unsigned char* dRgb;
    OK(cudaMalloc(&dIter, w * h * sizeof(unsigned short)));
    OK(cudaMalloc(&dRgb, 3 * w * h));
    mandelbrot<<<dim3(w / 16, h / 16), dim3(16, 16)>>>(view, dIter, dRgb);
    OK(cudaGetLastError());
    std::vector<unsigned short> iters(w * h);
    std::vector<unsigned char> rgb(3 * w * h);
    OK(cudaMemcpy(iters.data(), dIter, iters.size() * sizeof(unsigned short), cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(rgb.data(), dRgb, rgb.size(), cudaMemcpyDeviceToHost));
    int differ = 0, looked = 0, colour = 0;
    for (int y = 0; y < h; y += 4)                       // chaotic pixels may differ in rounding
        for (int x = 0; x < w; ++x, ++looked) {
            differ += iters[y * w + x] != escape(view, x, y);
            colour += rgb[3 * (y * w + x)] != (iters[y * w + x] & 255);
        }
    std::printf("Mandelbrot: %d of %d sampled pixels differ, %d colours wrong\n", differ, looked, colour);
    pass = pass && differ < looked / 20 && colour == 0;

    std::puts(pass ? "PASS" : "FAIL");
    return pass ? 0 : 1;
}
