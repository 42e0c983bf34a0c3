// NCHW convolution layers: direct 3x3 with input tile in shared, depthwise 5x5, transposed 2x2 stride 2.
#include <cstdio>
#include <vector>
#include <cmath>
#include <cuda_runtime.h>

struct Tensor4 { float* ptr; int n, c, h, w; size_t size() const { return size_t(n) * c * h * w; } };

__device__ __host__ inline int idx4(const Tensor4& t, int n, int c, int y, int x) { return ((n * t.c + c) * t.h + y) * t.w + x; }

template <int R, int TILE, int OC_PER_THREAD>
__global__ void conv_direct(Tensor4 in, const float* __restrict__ wgt, const float* __restrict__ bias, Tensor4 out)
{
    constexpr int HALO = R / 2;
    constexpr int SW = TILE + 2 * HALO;
    __shared__ float tile[SW][SW];
    __shared__ float wsh[OC_PER_THREAD][R * R];
    const int tiles_x = (in.w + TILE - 1) / TILE;
    const int ty0 = (blockIdx.x / tiles_x) * TILE, tx0 = (blockIdx.x % tiles_x) * TILE;
    const int oc0 = blockIdx.y * OC_PER_THREAD, n = blockIdx.z;
    const int lx = threadIdx.x, ly = threadIdx.y, lid = ly * TILE + lx;
    float acc[OC_PER_THREAD];
    #pragma unroll
    for (int o = 0; o < OC_PER_THREAD; ++o) acc[o] = (oc0 + o < out.c) ? __ldg(bias + oc0 + o) : 0.f;
    for (int ic = 0; ic < in.c; ++ic) {
        for (int i = lid; i < SW * SW; i += TILE * TILE) {
            int yy = ty0 + i / SW - HALO, xx = tx0 + i % SW - HALO;
            bool inside = unsigned(yy) < unsigned(in.h) && unsigned(xx) < unsigned(in.w);
            tile[i / SW][i % SW] = inside ? in.ptr[idx4(in, n, ic, yy, xx)] : 0.f;
        }
        if (lid < OC_PER_THREAD * R * R) {
            int o = lid / (R * R), k = lid % (R * R);
            wsh[o][k] = (oc0 + o < out.c) ? wgt[((oc0 + o) * in.c + ic) * R * R + k] : 0.f;
        }
        __syncthreads();
        #pragma unroll
        for (int r = 0; r < R; ++r)
            #pragma unroll
            for (int s = 0; s < R; ++s) {
                float v = tile[ly + r][lx + s];
                #pragma unroll
                for (int o = 0; o < OC_PER_THREAD; ++o) acc[o] = fmaf(v, wsh[o][r * R + s], acc[o]);
            }
        __syncthreads();
    }
    int y = ty0 + ly, x = tx0 + lx;
    if (y < out.h && x < out.w)
        for (int o = 0; o < OC_PER_THREAD && oc0 + o < out.c; ++o)
            out.ptr[idx4(out, n, oc0 + o, y, x)] = fmaxf(acc[o], 0.f);
}

__global__ void depthwise5(Tensor4 in, const float* wgt, Tensor4 out)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int nc = blockIdx.z;
    if (x >= out.w || y >= out.h) return;
    const float* plane = in.ptr + (size_t)nc * in.h * in.w;
    const float* k = wgt + (nc % in.c) * 25;
    float s = 0;
    for (int dy = -2; dy <= 2; ++dy) {
        int yy = y + dy;
        if (yy < 0 || yy >= in.h) { k += 5; continue; }
        for (int dx = -2; dx <= 2; ++dx, ++k) {
            int xx = x + dx;
            if (xx >= 0 && xx < in.w) s += *k * plane[yy * in.w + xx];
        }
    }
    out.ptr[(size_t)nc * out.h * out.w + y * out.w + x] = s;
}

// each input pixel scatters a 2x2 patch
__global__ void transposed2x2(Tensor4 in, const float* __restrict__ wgt, Tensor4 out)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
    int oc = blockIdx.z % out.c, n = blockIdx.z / out.c;
    if (x >= in.w || y >= in.h) return;
    float p00 = 0, p01 = 0, p10 = 0, p11 = 0;
    #pragma unroll 2
    for (int ic = 0; ic < in.c; ++ic) {
        float v = in.ptr[idx4(in, n, ic, y, x)];
        float4 w = *reinterpret_cast<const float4*>(wgt + (ic * out.c + oc) * 4);
        p00 += v * w.x; p01 += v * w.y; p10 += v * w.z; p11 += v * w.w;
    }
    float2* r0 = reinterpret_cast<float2*>(out.ptr + idx4(out, n, oc, 2 * y, 0));
    float2* r1 = reinterpret_cast<float2*>(out.ptr + idx4(out, n, oc, 2 * y + 1, 0));
    r0[x] = make_float2(p00, p01);
    r1[x] = make_float2(p10, p11);
}

static Tensor4 make(int n, int c, int h, int w) { Tensor4 t{nullptr, n, c, h, w}; cudaMalloc(&t.ptr, t.size() * 4); return t; }
static float* upload(const std::vector<float>& v) { float* p; cudaMalloc(&p, v.size() * 4); cudaMemcpy(p, v.data(), v.size() * 4, cudaMemcpyHostToDevice); return p; }
static std::vector<float> ramp(size_t n, float f) { std::vector<float> v(n); for (size_t i = 0; i < n; ++i) v[i] = std::sin(f * i); return v; }

int main()
{
    Tensor4 x = make(2, 5, 30, 45), y = make(2, 7, 30, 45), d = make(2, 7, 30, 45), u = make(2, 3, 60, 90);
    auto hx = ramp(x.size(), 0.13f), hw = ramp(7 * 5 * 9, 0.7f), hb = ramp(7, 1.1f), hd = ramp(7 * 25, 0.31f), ht = ramp(7 * 3 * 4, 0.9f);
    cudaMemcpy(x.ptr, hx.data(), x.size() * 4, cudaMemcpyHostToDevice);
    float *w = upload(hw), *b = upload(hb), *wd = upload(hd), *wt = upload(ht);
    constexpr int TILE = 12;
    int tiles = ((45 + TILE - 1) / TILE) * ((30 + TILE - 1) / TILE);
    conv_direct<3, TILE, 4><<<dim3(tiles, 2, 2), dim3(TILE, TILE)>>>(x, w, b, y);
    depthwise5<<<dim3(2, 4, 14), dim3(32, 8)>>>(y, wd, d);
    transposed2x2<<<dim3(2, 8, 6), dim3(32, 4)>>>(d, wt, u);
    std::vector<float> hy(y.size()), hdw(d.size()), hu(u.size());
    cudaMemcpy(hy.data(), y.ptr, y.size() * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(hdw.data(), d.ptr, d.size() * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(hu.data(), u.ptr, u.size() * 4, cudaMemcpyDeviceToHost);
    float err = 0;
    for (int n = 0; n < 2; ++n) for (int o = 0; o < 7; ++o) for (int yy = 0; yy < 30; ++yy) for (int xx = 0; xx < 45; ++xx) {
        float s = hb[o];
        for (int c = 0; c < 5; ++c) for (int r = 0; r < 3; ++r) for (int q = 0; q < 3; ++q) {
            int a = yy + r - 1, e = xx + q - 1;
            if (a >= 0 && a < 30 && e >= 0 && e < 45) s += hx[idx4(x, n, c, a, e)] * hw[((o * 5 + c) * 3 + r) * 3 + q];
        }
        err = std::fmax(err, std::fabs(std::fmax(s, 0.f) - hy[idx4(y, n, o, yy, xx)]));
    }
    double cs = 0;
    for (float v : hu) cs += v;
    printf("conv err %g, upsample checksum %f, %s\n", err, cs, cudaGetErrorString(cudaGetLastError()));
    return err < 1e-3f ? 0 : 1;
}
