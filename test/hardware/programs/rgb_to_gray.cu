// Grey values from interleaved RGB bytes, from RGBA words and from planes.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>
using std::vector;

__device__ __host__ inline unsigned char luma(int r, int g, int b) { return (unsigned char)((77 * r + 150 * g + 29 * b) >> 8); }

#define PIXEL_INDEX(w) ((blockIdx.y * blockDim.y + threadIdx.y) * (w) + blockIdx.x * blockDim.x + threadIdx.x)
#define INSIDE(w, h) (blockIdx.x * blockDim.x + threadIdx.x < (w) && blockIdx.y * blockDim.y + threadIdx.y < (h))

__global__ void grayInterleaved(const unsigned char *rgb, unsigned char *gray, int width, int height)
{
    if (!INSIDE(width, height)) return;
    int p = PIXEL_INDEX(width);
    gray[p] = luma(rgb[3 * p], rgb[3 * p + 1], rgb[3 * p + 2]);
}

__global__ void grayUchar3(const uchar3 *rgb, unsigned char *gray, int width, int height)
{
    if (!INSIDE(width, height)) return;
    int p = PIXEL_INDEX(width);
    uchar3 c = rgb[p];
    gray[p] = luma(c.x, c.y, c.z);
}

__global__ void grayUchar4(const uchar4 *rgba, unsigned char *gray, int width, int height)
{
    if (!INSIDE(width, height)) return;
    int p = PIXEL_INDEX(width);
    const uchar4 c = rgba[p];
    gray[p] = luma(c.x, c.y, c.z);
}

__global__ void grayPlanes(const unsigned char *planes, unsigned char *gray, int pixels)
{
    int quad = blockIdx.x * blockDim.x + threadIdx.x;
    if (quad * 4 >= pixels) return;
    uchar4 r = ((const uchar4 *)planes)[quad];
    uchar4 g = ((const uchar4 *)(planes + pixels))[quad];
    uchar4 b = ((const uchar4 *)(planes + 2 * pixels))[quad];
    ((uchar4 *)gray)[quad] = make_uchar4(luma(r.x, g.x, b.x), luma(r.y, g.y, b.y), luma(r.z, g.z, b.z), luma(r.w, g.w, b.w));
}

int main()
{
    const int width = 600, height = 400, n = width * height;
    vector<unsigned char> rgb(3 * n), rgba(4 * n), planes(3 * n), want(n), got(n);
    for (int i = 0; i < n; ++i) {
        unsigned char c[3] = {(unsigned char)(i * 3), (unsigned char)(i / 7), (unsigned char)(i * i)};
        for (int k = 0; k < 3; ++k) rgb[3 * i + k] = rgba[4 * i + k] = planes[k * n + i] = c[k];
        want[i] = luma(c[0], c[1], c[2]);
    }
    unsigned char *in, *out;
    if (cudaMalloc(&in, 4 * n) || cudaMalloc(&out, n)) return 2;
    bool ok = true;
    auto load = [&](const vector<unsigned char> &v) { cudaMemcpy(in, v.data(), v.size(), cudaMemcpyHostToDevice); cudaMemset(out, 1, n); };
    auto verify = [&](const char *name) {
        bool same = cudaMemcpy(got.data(), out, n, cudaMemcpyDeviceToHost) == cudaSuccess && got == want;
        printf("%s %s\n", name, same ? "PASS" : "FAIL");
        ok = ok && same;
    };
    dim3 threads(32, 4), blocks((width + 31) / 32, height / 4);
    load(rgb);
    grayInterleaved<<<blocks, threads>>>(in, out, width, height);
    verify("grayInterleaved");
    load(rgb);
    grayUchar3<<<blocks, threads>>>((uchar3 *)in, out, width, height);
    verify("grayUchar3");
    load(rgba);
    grayUchar4<<<blocks, threads>>>((uchar4 *)in, out, width, height);
    verify("grayUchar4");
    load(planes);
    grayPlanes<<<(n / 4 + 255) / 256, 256>>>(in, out, n);
    verify("grayPlanes");
    return ok ? 0 : 1;
}
