// Layers of a small network: direct convolution (NCHW), im2col, max pooling (NCHW and NHWC).
#include "common.h"

#define IDX4(n, c, h, w, C, H, W) ((((n) * (C) + (c)) * (H) + (h)) * (W) + (w))

struct ConvShape { int N, C, H, W, K, R, S; };

__global__ void convDirect(const float *x, const float *w, float *y, ConvShape s)
{
    const int ow = s.W - s.S + 1, oh = s.H - s.R + 1;
    const int q = blockIdx.x * blockDim.x + threadIdx.x;
    const int p = blockIdx.y * blockDim.y + threadIdx.y;
    const int nk = blockIdx.z;
    if (q >= ow || p >= oh) return;
    const int n = nk / s.K, k = nk % s.K;
    float acc = 0;
    for (int c = 0; c < s.C; ++c)
        for (int r = 0; r < s.R; ++r)
            for (int t = 0; t < s.S; ++t)
                acc += x[IDX4(n, c, p + r, q + t, s.C, s.H, s.W)] * w[((k * s.C + c) * s.R + r) * s.S + t];
    y[IDX4(n, k, p, q, s.K, oh, ow)] = acc;
}

__global__ void im2col(const int n, const float *data_im, const int height, const int width, const int ksize,
                       const int pad, const int stride, const int height_col, const int width_col, float *data_col)
{
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    for (; index < n; index += blockDim.x * gridDim.x) {
        int w_out = index % width_col;
        int h_index = index / width_col;
        int h_out = h_index % height_col;
        int channel_in = h_index / height_col;
        int channel_out = channel_in * ksize * ksize;
        int h_in = h_out * stride - pad;
        int w_in = w_out * stride - pad;
        float *data_col_ptr = data_col;
        data_col_ptr += (channel_out * height_col + h_out) * width_col + w_out;
        const float *data_im_ptr = data_im;
        data_im_ptr += (channel_in * height + h_in) * width + w_in;
        for (int i = 0; i < ksize; ++i) {
            for (int j = 0; j < ksize; ++j) {
                int h = h_in + i;
                int w = w_in + j;
                *data_col_ptr = (h >= 0 && w >= 0 && h < height && w < width) ? data_im_ptr[i * width + j] : 0;
                data_col_ptr += height_col * width_col;
            }
        }
    }
}

template <bool CHANNELS_LAST>
__global__ void maxPool2(const float *x, float *y, int N, int C, int H, int W)
{
    const int oh = H / 2, ow = W / 2;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N * C * oh * ow) return;
    if (CHANNELS_LAST) {
        int c = i % C, q = i / C % ow, p = i / C / ow % oh, n = i / C / ow / oh;
        const float *at = x + ((n * H + 2 * p) * W + 2 * q) * C + c;
        y[i] = fmaxf(fmaxf(at[0], at[C]), fmaxf(at[W * C], at[W * C + C]));
    } else {
        int q = i % ow, p = i / ow % oh, nc = i / ow / oh;
        const float *at = x + (nc * H + 2 * p) * W + 2 * q;
        y[i] = fmaxf(fmaxf(at[0], at[1]), fmaxf(at[W], at[W + 1]));
    }
}

int main()
{
    const ConvShape s = {2, 3, 34, 70, 8, 3, 3};
    const int oh = 32, ow = 68;
    std::vector<float> x = randomFloats(s.N * s.C * s.H * s.W, 1), w = randomFloats(s.K * s.C * 9, 2), y(s.N * s.K * oh * ow, 0.0f);
    for (int n = 0; n < s.N; ++n)
        for (int k = 0; k < s.K; ++k)
            for (int p = 0; p < oh; ++p)
                for (int q = 0; q < ow; ++q)
                    for (int c = 0; c < s.C; ++c)
                        for (int e = 0; e < 9; ++e)
                            y[IDX4(n, k, p, q, s.K, oh, ow)] += x[IDX4(n, c, p + e / 3, q + e % 3, s.C, s.H, s.W)] * w[(k * s.C + c) * 9 + e];
    float *dx = toDevice(x), *dy = deviceZeros<float>(y.size());
    bool ok = true;
    convDirect<<<dim3((68 + 31) / 32, 32 / 4, 2 * 8), dim3(32, 4)>>>(dx, toDevice(w), dy, s);
    ok &= report("convDirect", allNear(toHost(dy, y.size()), y, 1e-4));

    const int C = 3, H = 34, W = 70, pad = 1, stride = 2, hc = 17, wc = 35, n = C * hc * wc;
    std::vector<float> col(n * 9);
    for (int c = 0; c < C; ++c)
        for (int e = 0; e < 9; ++e)
            for (int p = 0; p < hc; ++p)
                for (int q = 0; q < wc; ++q) {
                    int h = p * stride - pad + e / 3, v = q * stride - pad + e % 3;
                    col[((c * 9 + e) * hc + p) * wc + q] = h >= 0 && v >= 0 && h < H && v < W ? x[(c * H + h) * W + v] : 0;
                }
    float *dcol = deviceZeros<float>(col.size());
    im2col<<<(n + 127) / 128, 128>>>(n, dx, H, W, 3, pad, stride, hc, wc, dcol);
    ok &= report("im2col", allNear(toHost(dcol, col.size()), col, 0));

    const int total = 2 * 3 * 17 * 35;
    std::vector<float> a(total), b(total);
    for (int i = 0; i < total; ++i) {
        int q = i % 35, p = i / 35 % 17, nc = i / 35 / 17;
        const float *at = &x[(nc * 34 + 2 * p) * 70 + 2 * q];
        a[i] = std::fmax(std::fmax(at[0], at[1]), std::fmax(at[70], at[71]));
        int c = i % 3, qq = i / 3 % 35, pp = i / 3 / 35 % 17, nn = i / 3 / 35 / 17;
        at = &x[((nn * 34 + 2 * pp) * 70 + 2 * qq) * 3 + c];
        b[i] = std::fmax(std::fmax(at[0], at[3]), std::fmax(at[210], at[213]));
    }
    maxPool2<false><<<(total + 255) / 256, 256>>>(dx, dy, 2, 3, 34, 70);
    ok &= report("maxPool2<false>", allNear(toHost(dy, total), a, 0));
    maxPool2<true><<<(total + 255) / 256, 256>>>(dx, dy, 2, 3, 34, 70);
    ok &= report("maxPool2<true>", allNear(toHost(dy, total), b, 0));
    return ok ? 0 : 1;
}
