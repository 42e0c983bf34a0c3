// Filters on 8-bit images: Sobel, 3x3 median, a box blur on RGBA, and a bilinear shrink.
#include "common.h"

typedef unsigned char Pixel;
const int W = 500, H = 333;

__device__ Pixel at(const Pixel *img, int x, int y)
{
    x = x < 0 ? 0 : (x >= W ? W - 1 : x);
    y = y < 0 ? 0 : (y >= H ? H - 1 : y);
    return img[y * W + x];
}

__global__ void sobel(const Pixel *in, Pixel *out)
{
    int x = threadIdx.x + blockIdx.x * blockDim.x, y = threadIdx.y + blockIdx.y * blockDim.y;
    if (x >= W || y >= H) return;
    int gx = -at(in, x - 1, y - 1) - 2 * at(in, x - 1, y) - at(in, x - 1, y + 1)
             + at(in, x + 1, y - 1) + 2 * at(in, x + 1, y) + at(in, x + 1, y + 1);
    int gy = -at(in, x - 1, y - 1) - 2 * at(in, x, y - 1) - at(in, x + 1, y - 1)
             + at(in, x - 1, y + 1) + 2 * at(in, x, y + 1) + at(in, x + 1, y + 1);
    out[y * W + x] = (Pixel)min(abs(gx) + abs(gy), 255);
}

#define SWAP_IF(a, b) { Pixel lo = min(v[a], v[b]), hi = max(v[a], v[b]); v[a] = lo; v[b] = hi; }

__global__ void median3x3(const Pixel *in, Pixel *out)
{
    __shared__ Pixel tile[18][18];
    const int bx = blockIdx.x * 16, by = blockIdx.y * 16;
    for (int y = threadIdx.y; y < 18; y += 16)
        for (int x = threadIdx.x; x < 18; x += 16)
            tile[y][x] = at(in, bx + x - 1, by + y - 1);
    __syncthreads();
    Pixel v[9];
    #pragma unroll
    for (int k = 0; k < 9; k++)
        v[k] = tile[threadIdx.y + k / 3][threadIdx.x + k % 3];
    SWAP_IF(1, 2) SWAP_IF(4, 5) SWAP_IF(7, 8) SWAP_IF(0, 1) SWAP_IF(3, 4) SWAP_IF(6, 7)
    SWAP_IF(1, 2) SWAP_IF(4, 5) SWAP_IF(7, 8) SWAP_IF(0, 3) SWAP_IF(5, 8) SWAP_IF(4, 7)
    SWAP_IF(3, 6) SWAP_IF(1, 4) SWAP_IF(2, 5) SWAP_IF(4, 7) SWAP_IF(4, 2) SWAP_IF(6, 4) SWAP_IF(4, 2)
    int x = bx + threadIdx.x, y = by + threadIdx.y;
    if (x < W && y < H)
        out[y * W + x] = v[4];
}

// One thread a row slides along it: lanes are a whole row apart.
__global__ void boxBlurRows(const uchar4 *in, uchar4 *out, int radius)
{
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= H) return;
    int r = 0, g = 0, b = 0;
    for (int x = -radius; x <= radius; x++) {
        uchar4 p = in[y * W + max(x, 0)];
        r += p.x; g += p.y; b += p.z;
    }
    const int width = 2 * radius + 1;
    for (int x = 0; x < W; x++) {
        out[y * W + x] = make_uchar4(r / width, g / width, b / width, 255);
        uchar4 gone = in[y * W + max(x - radius, 0)];
        uchar4 come = in[y * W + min(x + radius + 1, W - 1)];
        r += come.x - gone.x; g += come.y - gone.y; b += come.z - gone.z;
    }
}

__global__ void shrinkHalf(const Pixel *in, float *out)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x < W / 2 && y < H / 2) {
        const Pixel *p = in + 2 * y * W + 2 * x;
        out[y * (W / 2) + x] = 0.25f * (p[0] + p[1] + p[W] + p[W + 1]);
    }
}

int main()
{
    const int n = W * H;
    std::vector<Pixel> img(n);
    Random r(2);
    for (int i = 0; i < n; i++) img[i] = (Pixel)((i % W) / 2 + (i / W) / 3 + r.below(30));
    auto px = [&](int x, int y) { return (int)img[std::min(std::max(y, 0), H - 1) * W + std::min(std::max(x, 0), W - 1)]; };
    Pixel *din = toDevice(img), *dout = deviceZeros<Pixel>(n);
    bool ok = true;
    dim3 block(16, 16), grid((W + 15) / 16, (H + 15) / 16);

    std::vector<Pixel> want(n);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            int gx = -px(x-1,y-1) - 2*px(x-1,y) - px(x-1,y+1) + px(x+1,y-1) + 2*px(x+1,y) + px(x+1,y+1);
            int gy = -px(x-1,y-1) - 2*px(x,y-1) - px(x+1,y-1) + px(x-1,y+1) + 2*px(x,y+1) + px(x+1,y+1);
            want[y * W + x] = (Pixel)std::min(abs(gx) + abs(gy), 255);
        }
    sobel<<<grid, block>>>(din, dout);
    ok &= report("sobel", toHost(dout, n) == want);

    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            int v[9];
            for (int k = 0; k < 9; k++) v[k] = px(x + k % 3 - 1, y + k / 3 - 1);
            for (int i = 0; i < 9; i++) for (int j = i + 1; j < 9; j++) if (v[j] < v[i]) std::swap(v[i], v[j]);
            want[y * W + x] = (Pixel)v[4];
        }
    median3x3<<<grid, block>>>(din, dout);
    ok &= report("median3x3", toHost(dout, n) == want);

    std::vector<uchar4> rgba(n);
    for (int i = 0; i < n; i++) rgba[i] = make_uchar4(img[i], img[n - 1 - i], 128, 255);
    uchar4 *da = toDevice(rgba), *db = deviceZeros<uchar4>(n);
    boxBlurRows<<<(H + 63) / 64, 64>>>(da, db, 3);
    std::vector<uchar4> blurred = toHost(db, n);
    bool good = true;
    for (int y = 0; y < H; y += 7)
        for (int x = 0; x < W; x++) {
            int s = 0;
            for (int k = -3; k <= 3; k++) s += px(x + k, y);
            good = good && blurred[y * W + x].x == s / 7;
        }
    ok &= report("boxBlurRows", good);

    float *df = deviceZeros<float>(n / 4);
    shrinkHalf<<<dim3((W / 2 + 31) / 32, (H / 2 + 7) / 8), dim3(32, 8)>>>(din, df);
    std::vector<float> small = toHost(df, (W / 2) * (H / 2));
    good = true;
    for (int y = 0; y < H / 2; y++)
        for (int x = 0; x < W / 2; x++)
            good = good && small[y * (W / 2) + x] == 0.25f * (px(2*x,2*y) + px(2*x+1,2*y) + px(2*x,2*y+1) + px(2*x+1,2*y+1));
    ok &= report("shrinkHalf", good);
    return ok ? 0 : 1;
}
