// Non-Cartesian MRI reconstruction front end: radial gridding with a
// Kaiser-Bessel like table, multi coil.  C-like style with macros.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

#define NGRID 256
#define NCOIL 4
#define NSPOKE 201
#define NREAD 256
#define NSAMP (NSPOKE * NREAD)
#define KW 2
#define TABLE_N 512
#define BIN_W 16
#define NBINX (NGRID / BIN_W)
#define NBINS (NBINX * NBINX)

#define CK(call)                                                        \
    do {                                                                \
        cudaError_t e_ = (call);                                        \
        if (e_ != cudaSuccess) {                                        \
            fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__,           \
                    cudaGetErrorString(e_));                            \
            exit(2);                                                    \
        }                                                               \
    } while (0)

#define DIVUP(a, b) (((a) + (b) - 1) / (b))

__constant__ float c_kb[TABLE_N + 1];

__host__ __device__ static inline int wrap_idx(int i)
{
    return (i + NGRID) & (NGRID - 1);
}

// density compensation; data is [sample][coil] as the scanner writes it
__global__ void dcf_kernel(float2 *data, const float2 *traj, int nsamp)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= nsamp)
        return;
    float2 k = traj[s];
    float dx = k.x - NGRID / 2;
    float dy = k.y - NGRID / 2;
    float w = sqrtf(dx * dx + dy * dy) / (NGRID / 2) + 0.01f;
    for (int c = 0; c < NCOIL; c++) {
        float2 v = data[s * NCOIL + c];
        v.x *= w;
        v.y *= w;
        data[s * NCOIL + c] = v;
    }
}

// scatter gridding, one thread per (sample, coil), grid is [coil][y][x]
__global__ void grid_scatter(const float2 *__restrict__ data,
                             const float2 *__restrict__ traj,
                             float *__restrict__ gre,
                             float *__restrict__ gim, int nsamp)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int s = t / NCOIL;
    int c = t % NCOIL;
    if (s >= nsamp)
        return;
    float2 k = traj[s];
    float2 v = data[t];
    int x0 = (int)floorf(k.x) - KW + 1;
    int y0 = (int)floorf(k.y) - KW + 1;
    for (int j = 0; j < 2 * KW; j++) {
        float fy = fabsf(k.y - (float)(y0 + j)) / KW;
        float wy = c_kb[(int)(fminf(fy, 1.0f) * TABLE_N)];
        int y = wrap_idx(y0 + j);
        for (int i = 0; i < 2 * KW; i++) {
            float fx = fabsf(k.x - (float)(x0 + i)) / KW;
            float wx = c_kb[(int)(fminf(fx, 1.0f) * TABLE_N)];
            int x = wrap_idx(x0 + i);
            int g = (c * NGRID + y) * NGRID + x;
            atomicAdd(&gre[g], v.x * wx * wy);
            atomicAdd(&gim[g], v.y * wx * wy);
        }
    }
}

// histogram of samples per 16x16 bin
__global__ void bin_count(const float2 *traj, int *count, int nsamp)
{
    __shared__ int h[NBINS];
    for (int i = threadIdx.x; i < NBINS; i += blockDim.x)
        h[i] = 0;
    __syncthreads();
    for (int s = blockIdx.x * blockDim.x + threadIdx.x; s < nsamp; s += gridDim.x * blockDim.x) {
        int bx = wrap_idx((int)floorf(traj[s].x)) / BIN_W;
        int by = wrap_idx((int)floorf(traj[s].y)) / BIN_W;
        atomicAdd(&h[by * NBINX + bx], 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < NBINS; i += blockDim.x)
        if (h[i] > 0)
            atomicAdd(&count[i], h[i]);
}

// fftshift checkerboard and planar -> interleaved
__global__ void shift_pack(const float *gre, const float *gim, float2 *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int c = blockIdx.z;
    int g = (c * NGRID + y) * NGRID + x;
    float sgn = ((x + y) & 1) ? -1.0f : 1.0f;
    out[g] = make_float2(sgn * gre[g], sgn * gim[g]);
}

// radix-2 FFT of one line in shared memory. stride selects rows/columns.
__global__ void fft_line(float2 *img, int elem_stride, int line_stride)
{
    __shared__ float2 buf[NGRID];
    int t = threadIdx.x;
    float2 *base = img + (size_t)blockIdx.y * NGRID * NGRID + (size_t)blockIdx.x * line_stride;
    for (int i = t; i < NGRID; i += NGRID / 2) {
        int r = __brev((unsigned)i) >> 24;
        buf[r] = base[i * elem_stride];
    }
    __syncthreads();
    for (int half = 1; half < NGRID; half <<= 1) {
        int k = t & (half - 1);
        int i0 = ((t - k) << 1) + k;
        int i1 = i0 + half;
        float sn, cs;
        sincospif((float)k / (float)half, &sn, &cs);
        float2 a = buf[i0];
        float2 b = buf[i1];
        float2 wb = make_float2(b.x * cs - b.y * sn, b.x * sn + b.y * cs);
        buf[i0] = make_float2(a.x + wb.x, a.y + wb.y);
        buf[i1] = make_float2(a.x - wb.x, a.y - wb.y);
        __syncthreads();
    }
    for (int i = t; i < NGRID; i += NGRID / 2)
        base[i * elem_stride] = buf[i];
}

// sum of squares over coils
__global__ void coil_combine(const float2 *img, float *out)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= NGRID * NGRID)
        return;
    float acc = 0.0f;
#pragma unroll
    for (int c = 0; c < NCOIL; c++) {
        float2 v = img[c * NGRID * NGRID + p];
        acc += v.x * v.x + v.y * v.y;
    }
    out[p] = sqrtf(acc);
}

static unsigned lcg_state = 12345u;
static float frand(void)
{
    lcg_state = lcg_state * 1664525u + 1013904223u;
    return (float)(lcg_state >> 8) / 16777216.0f - 0.5f;
}

int main(void)
{
    std::vector<float> table(TABLE_N + 1);
    for (int i = 0; i <= TABLE_N; i++) {
        float u = (float)i / TABLE_N;
        table[i] = expf(-4.0f * u * u) * (1.0f - u * u);
    }
    CK(cudaMemcpyToSymbol(c_kb, table.data(), (TABLE_N + 1) * sizeof(float)));

    std::vector<float2> traj(NSAMP), data(NSAMP * NCOIL);
    for (int p = 0; p < NSPOKE; p++) {
        float ang = 3.14159265f * p / NSPOKE;
        for (int r = 0; r < NREAD; r++) {
            float rad = (r - NREAD / 2) * 0.97f;
            traj[p * NREAD + r] = make_float2(NGRID / 2 + rad * cosf(ang), NGRID / 2 + rad * sinf(ang));
        }
    }
    for (auto &d : data)
        d = make_float2(frand(), frand());

    float2 *d_traj, *d_data, *d_img;
    float *d_re, *d_im, *d_out;
    int *d_cnt;
    const size_t NPIX = (size_t)NGRID * NGRID;
    CK(cudaMalloc(&d_traj, NSAMP * sizeof(float2)));
    CK(cudaMalloc(&d_data, NSAMP * NCOIL * sizeof(float2)));
    CK(cudaMalloc(&d_img, NPIX * NCOIL * sizeof(float2)));
    CK(cudaMalloc(&d_re, NPIX * NCOIL * sizeof(float)));
    CK(cudaMalloc(&d_im, NPIX * NCOIL * sizeof(float)));
    CK(cudaMalloc(&d_out, NPIX * sizeof(float)));
    CK(cudaMalloc(&d_cnt, NBINS * sizeof(int)));
    CK(cudaMemcpy(d_traj, traj.data(), NSAMP * sizeof(float2), cudaMemcpyHostToDevice));
    CK(cudaMemcpy(d_data, data.data(), NSAMP * NCOIL * sizeof(float2), cudaMemcpyHostToDevice));
    CK(cudaMemset(d_re, 0, NPIX * NCOIL * sizeof(float)));
    CK(cudaMemset(d_im, 0, NPIX * NCOIL * sizeof(float)));
    CK(cudaMemset(d_cnt, 0, NBINS * sizeof(int)));

    dcf_kernel<<<DIVUP(NSAMP, 256), 256>>>(d_data, d_traj, NSAMP);
    bin_count<<<32, 256>>>(d_traj, d_cnt, NSAMP);
    grid_scatter<<<DIVUP(NSAMP * NCOIL, 256), 256>>>(d_data, d_traj, d_re, d_im, NSAMP);
    dim3 blk(32, 8);
    dim3 grd(NGRID / 32, NGRID / 8, NCOIL);
    shift_pack<<<grd, blk>>>(d_re, d_im, d_img);
    fft_line<<<dim3(NGRID, NCOIL), NGRID / 2>>>(d_img, 1, NGRID);
    fft_line<<<dim3(NGRID, NCOIL), NGRID / 2>>>(d_img, NGRID, 1);
    coil_combine<<<DIVUP(NGRID * NGRID, 128), 128>>>(d_img, d_out);
    CK(cudaGetLastError());
    CK(cudaDeviceSynchronize());

    std::vector<float> re(NPIX * NCOIL), im(NPIX * NCOIL), out(NPIX);
    std::vector<float2> img(NPIX * NCOIL);
    std::vector<int> cnt(NBINS);
    CK(cudaMemcpy(re.data(), d_re, re.size() * 4, cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(im.data(), d_im, im.size() * 4, cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(out.data(), d_out, out.size() * 4, cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(cnt.data(), d_cnt, cnt.size() * 4, cudaMemcpyDeviceToHost));

    int bad = 0;
    long total = 0;
    for (int i = 0; i < NBINS; i++)
        total += cnt[i];
    if (total != NSAMP)
        bad++;

    // energy checks: sums of the grid against the sum of weighted samples
    double gsum = 0, rsum = 0, rabs = 0;
    for (size_t i = 0; i < NPIX * NCOIL; i++)
        gsum += re[i];
    for (int s = 0; s < NSAMP; s++) {
        float2 k = traj[s];
        float dx = k.x - NGRID / 2, dy = k.y - NGRID / 2;
        float w = sqrtf(dx * dx + dy * dy) / (NGRID / 2) + 0.01f;
        int x0 = (int)floorf(k.x) - KW + 1, y0 = (int)floorf(k.y) - KW + 1;
        double sx = 0, sy = 0;
        for (int i = 0; i < 2 * KW; i++) {
            sx += table[(int)(fminf(fabsf(k.x - (x0 + i)) / KW, 1.0f) * TABLE_N)];
            sy += table[(int)(fminf(fabsf(k.y - (y0 + i)) / KW, 1.0f) * TABLE_N)];
        }
        for (int c = 0; c < NCOIL; c++) {
            rsum += sx * sy * w * data[s * NCOIL + c].x;
            rabs += sx * sy * w * fabs(data[s * NCOIL + c].x);
        }
    }
    if (fabs(gsum - rsum) > 1e-3 * rabs)
        bad++;
    // Parseval: sum |img|^2 = N^2 sum |grid|^2
    double e0 = 0, e1 = 0;
    for (size_t i = 0; i < NPIX * NCOIL; i++)
        e0 += (double)re[i] * re[i] + (double)im[i] * im[i];
    for (size_t i = 0; i < NPIX; i++)
        e1 += (double)out[i] * out[i];
    if (fabs(e1 / (e0 * NPIX) - 1.0) > 1e-3)
        bad++;
    printf("sum %g ref %g  energy ratio %g\n", gsum, rsum, e1 / (e0 * NPIX));
    printf("%s\n", bad ? "FAIL" : "PASS");
    return bad ? 1 : 0;
}
