// Parallel-beam CT: forward projection of an ellipse phantom, ramp filtering in the spatial domain, filtered
// back-projection with a texture object over the sinogram, and a 3-D total-variation smoothing pass over slices.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <memory>

#define SAFE(expr) [&] { cudaError_t s = (expr); if (s != cudaSuccess) { std::printf("FAIL %s at %d\n", cudaGetErrorString(s), __LINE__); std::exit(1); } }()

static constexpr float kPi = 3.14159265f;

struct Geometry {
    int angles, detectors, size, slices;
    float spacing;
    __host__ __device__ float theta(int a) const { return kPi * a / angles; }
};

struct DeviceFree { void operator()(void *p) const { cudaFree(p); } };
template <class T> using DevicePtr = std::unique_ptr<T[], DeviceFree>;
template <class T> DevicePtr<T> deviceAlloc(size_t n)
{
    T *p;
    SAFE(cudaMalloc((void **)&p, n * sizeof(T)));
    return DevicePtr<T>(p);
}

// Joseph-like projector: one thread a ray, steps through the image, nearest neighbour
__global__ void forwardProject(const float *__restrict__ volume, float *__restrict__ sino, Geometry g)
{
    const int det = blockIdx.x * blockDim.x + threadIdx.x;
    const int ang = blockIdx.y, sl = blockIdx.z;
    if (det >= g.detectors) return;
    const float c = cosf(g.theta(ang)), s = sinf(g.theta(ang));
    const float r = (det - 0.5f * (g.detectors - 1)) * g.spacing;
    float sum = 0.0f;
    for (int k = 0; k < g.size; ++k) {
        const float t = k - 0.5f * (g.size - 1);
        const int x = __float2int_rn(r * c - t * s + 0.5f * (g.size - 1));
        const int y = __float2int_rn(r * s + t * c + 0.5f * (g.size - 1));
        if (x >= 0 && x < g.size && y >= 0 && y < g.size)
            sum += volume[(sl * g.size + y) * g.size + x];
    }
    sino[(sl * g.angles + ang) * g.detectors + det] = sum;
}

// spatial-domain Ram-Lak: kernel taps in shared memory, row in shared memory
__global__ void rampFilter(const float *__restrict__ sino, float *__restrict__ filtered, Geometry g)
{
    extern __shared__ float sh[];
    float *row = sh, *taps = sh + g.detectors;
    const size_t base = (size_t)blockIdx.x * g.detectors;
    for (int i = threadIdx.x; i < g.detectors; i += blockDim.x) {
        row[i] = sino[base + i];
        taps[i] = i == 0 ? 0.25f : (i & 1) ? -1.0f / (kPi * kPi * i * i) : 0.0f;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < g.detectors; i += blockDim.x) {
        float acc = 0.0f;
        for (int j = 0; j < g.detectors; ++j) acc += row[j] * taps[abs(i - j)];
        filtered[base + i] = acc / g.spacing;
    }
}

// sines and cosines of all angles once a block; linear interpolation by hand
__global__ void backProjectGlobal(const float *__restrict__ filtered, float *__restrict__ image, Geometry g)
{
    __shared__ float2 trig[180];
    for (int a = threadIdx.y * blockDim.x + threadIdx.x; a < g.angles; a += blockDim.x * blockDim.y)
        trig[a] = make_float2(cosf(g.theta(a)), sinf(g.theta(a)));
    __syncthreads();
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int sl = blockIdx.z;
    if (x >= g.size || y >= g.size) return;
    const float px = x - 0.5f * (g.size - 1), py = y - 0.5f * (g.size - 1);
    float acc = 0.0f;
#pragma unroll 4
    for (int a = 0; a < g.angles; ++a) {
        const float d = (px * trig[a].x + py * trig[a].y) / g.spacing + 0.5f * (g.detectors - 1);
        const int i = (int)floorf(d);
        const float w = d - i;
        const float *p = filtered + (sl * g.angles + a) * g.detectors;
        if (i >= 0 && i + 1 < g.detectors) acc += (1.0f - w) * p[i] + w * p[i + 1];
    }
    image[(sl * g.size + y) * g.size + x] = acc * kPi / g.angles;
}

__global__ void backProjectTexture(cudaTextureObject_t sino, float *__restrict__ image, Geometry g, int sl)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= g.size || y >= g.size) return;
    const float px = x - 0.5f * (g.size - 1), py = y - 0.5f * (g.size - 1);
    float acc = 0.0f;
    for (int a = 0; a < g.angles; ++a) {
        float s, c;
        __sincosf(g.theta(a), &s, &c);
        acc += tex2D<float>(sino, (px * c + py * s) / g.spacing + 0.5f * g.detectors, a + 0.5f);
    }
    image[(sl * g.size + y) * g.size + x] = acc * kPi / g.angles;
}

// one gradient step of TV over a 3-D stack; a block of 32 x 4 x 2
__global__ void tvStep(const float *__restrict__ in, float *__restrict__ out, Geometry g, float lambda)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= g.size || y >= g.size || z >= g.slices) return;
    const int i = (z * g.size + y) * g.size + x, plane = g.size * g.size;
    const float c = in[i];
    float v = 0.0f;
    if (x > 0) v += copysignf(1.0f, in[i - 1] - c);
    if (x + 1 < g.size) v += copysignf(1.0f, in[i + 1] - c);
    if (y > 0) v += copysignf(1.0f, in[i - g.size] - c);
    if (y + 1 < g.size) v += copysignf(1.0f, in[i + g.size] - c);
    if (z > 0) v += copysignf(1.0f, in[i - plane] - c);
    if (z + 1 < g.slices) v += copysignf(1.0f, in[i + plane] - c);
    out[i] = c + lambda * v;
}

int main(int argc, char **argv)
{
    Geometry g{};
    g.size = argc > 1 ? std::atoi(argv[1]) : 100;
    g.angles = argc > 2 ? std::atoi(argv[2]) : 90;
    g.slices = 3;
    g.detectors = g.size * 3 / 2;
    g.spacing = 1.0f;
    const size_t voxels = (size_t)g.size * g.size * g.slices, rays = (size_t)g.angles * g.detectors * g.slices;
    std::vector<float> phantom(voxels), sino(rays), filt(rays), image(voxels), imageTex(voxels), smooth(voxels);
    for (int z = 0; z < g.slices; ++z)
        for (int y = 0; y < g.size; ++y)
            for (int x = 0; x < g.size; ++x) {
                const float u = 2.0f * x / g.size - 1, v = 2.0f * y / g.size - 1;
                phantom[(z * g.size + y) * g.size + x] = (u * u / 0.5f + v * v / 0.7f < 1 ? 1.0f : 0.0f) + (hypotf(u - 0.2f, v + 0.1f) < 0.1f * (z + 1) ? 0.5f : 0.0f);
            }
    auto dVol = deviceAlloc<float>(voxels), dSino = deviceAlloc<float>(rays), dFilt = deviceAlloc<float>(rays);
    auto dImg = deviceAlloc<float>(voxels), dImgTex = deviceAlloc<float>(voxels), dOut = deviceAlloc<float>(voxels);
    SAFE(cudaMemcpy(dVol.get(), phantom.data(), voxels * sizeof(float), cudaMemcpyHostToDevice));

    forwardProject<<<dim3((g.detectors + 63) / 64, g.angles, g.slices), 64>>>(dVol.get(), dSino.get(), g);
    rampFilter<<<g.angles * g.slices, 128, 2 * g.detectors * sizeof(float)>>>(dSino.get(), dFilt.get(), g);
    const dim3 block(16, 8), grid((g.size + 15) / 16, (g.size + 7) / 8, g.slices);
    backProjectGlobal<<<grid, block>>>(dFilt.get(), dImg.get(), g);

    cudaArray_t array;
    const cudaChannelFormatDesc channel = cudaCreateChannelDesc<float>();
    SAFE(cudaMallocArray(&array, &channel, g.detectors, g.angles));
    cudaResourceDesc rd{};
    rd.resType = cudaResourceTypeArray;
    rd.res.array.array = array;
    cudaTextureDesc td{};
    td.addressMode[0] = cudaAddressModeBorder;
    td.addressMode[1] = cudaAddressModeClamp;
    td.filterMode = cudaFilterModeLinear;
    td.readMode = cudaReadModeElementType;
    cudaTextureObject_t tex;
    SAFE(cudaCreateTextureObject(&tex, &rd, &td, nullptr));
    for (int sl = 0; sl < g.slices; ++sl) {
        SAFE(cudaMemcpy2DToArray(array, 0, 0, dFilt.get() + (size_t)sl * g.angles * g.detectors, g.detectors * sizeof(float),
                                 g.detectors * sizeof(float), g.angles, cudaMemcpyDeviceToDevice));
        backProjectTexture<<<dim3(grid.x, grid.y), block>>>(tex, dImgTex.get(), g, sl);
    }
    const dim3 tvBlock(32, 4, 2);
    tvStep<<<dim3((g.size + 31) / 32, (g.size + 3) / 4, (g.slices + 1) / 2), tvBlock>>>(dImg.get(), dOut.get(), g, 0.005f);
    SAFE(cudaDeviceSynchronize());
    SAFE(cudaMemcpy(sino.data(), dSino.get(), rays * 4, cudaMemcpyDeviceToHost));
    SAFE(cudaMemcpy(filt.data(), dFilt.get(), rays * 4, cudaMemcpyDeviceToHost));
    SAFE(cudaMemcpy(image.data(), dImg.get(), voxels * 4, cudaMemcpyDeviceToHost));
    SAFE(cudaMemcpy(imageTex.data(), dImgTex.get(), voxels * 4, cudaMemcpyDeviceToHost));
    SAFE(cudaMemcpy(smooth.data(), dOut.get(), voxels * 4, cudaMemcpyDeviceToHost));

    int bad = 0;
    for (size_t r = 0; r < rays; r += 7) {
        const size_t row = r / g.detectors * g.detectors, i = r % g.detectors;
        double acc = 0;
        for (int j = 0; j < g.detectors; ++j) {
            const int d = std::abs((int)i - j);
            acc += sino[row + j] * (d == 0 ? 0.25 : d & 1 ? -1.0 / (M_PI * M_PI * d * d) : 0.0);
        }
        if (std::fabs(acc - filt[r]) > 1e-2) ++bad;
    }
    // reconstruction must resemble the phantom, both ways, and each other
    double e1 = 0, e2 = 0, e3 = 0;
    for (size_t i = 0; i < voxels; ++i) {
        e1 += std::fabs(image[i] - phantom[i]) / voxels;
        e2 += std::fabs(imageTex[i] - phantom[i]) / voxels;
        e3 += std::fabs(imageTex[i] - image[i]) / voxels;
    }
    for (int y = 1; y < g.size - 1; ++y)
        for (int x = 1; x < g.size - 1; ++x) {
            const int p = g.size * g.size, i = p + y * g.size + x;
            const int nb[6] = {i - 1, i + 1, i - g.size, i + g.size, i - p, i + p};
            float v = 0;
            for (int k : nb) v += std::copysign(1.0f, image[k] - image[i]);
            if (std::fabs(image[i] + 0.005f * v - smooth[i]) > 1e-5f) ++bad;
        }
    const bool ok = bad == 0 && e1 < 0.15 && e2 < 0.15 && e3 < 0.05;
    std::printf("%d bad, errors %.3f %.3f %.3f\n%s\n", bad, e1, e2, e3, ok ? "PASS" : "FAIL");
    cudaDestroyTextureObject(tex);
    cudaFreeArray(array);
    return ok ? 0 : 1;
}
