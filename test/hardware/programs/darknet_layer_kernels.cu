/* A small convolutional network in the plain C style of darknet: layers are
 * structs with forward functions for both machines, kernels take strides and
 * counts, and grids come from cuda_gridsize().
 */
#include <cuda_runtime.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 512

typedef enum { CONVOLUTIONAL, MAXPOOL, SHORTCUT, REORG, UPSAMPLE, ROUTE, AVGPOOL, SOFTMAX } LAYER_TYPE;
typedef enum { LINEAR, LEAKY, LOGISTIC, MISH } ACTIVATION;

struct network;
typedef struct layer {
    LAYER_TYPE type;
    ACTIVATION activation;
    int batch_normalize;
    int batch, w, h, c, out_w, out_h, out_c, n;
    int size, stride, pad, index, index2;
    int inputs, outputs;
    float *weights, *biases, *scales, *mean, *variance, *output;
    float *weights_gpu, *biases_gpu, *scales_gpu, *mean_gpu, *variance_gpu, *output_gpu, *x_gpu;
    int *indexes_gpu, *indexes;
    void (*forward)(struct layer, struct network *, float *);
    void (*forward_gpu)(struct layer, struct network *, float *);
} layer;

typedef struct network {
    int n, batch;
    layer *layers;
    float *workspace_gpu;
} network;

static void check_error(cudaError_t status)
{
    cudaError_t status2 = cudaGetLastError();
    if (status != cudaSuccess || status2 != cudaSuccess) {
        fprintf(stderr, "CUDA Error: %s\n", cudaGetErrorString(status != cudaSuccess ? status : status2));
        exit(1);
    }
}

static dim3 cuda_gridsize(size_t n)
{
    size_t k = (n - 1) / BLOCK + 1;
    size_t x = k, y = 1;
    if (x > 65535) {
        x = (size_t)ceil(sqrt((double)k));
        y = (n - 1) / (x * BLOCK) + 1;
    }
    dim3 d((unsigned)x, (unsigned)y, 1);
    return d;
}

static float *cuda_make_array(const float *x, size_t n)
{
    float *x_gpu;
    check_error(cudaMalloc((void **)&x_gpu, n * sizeof(float)));
    if (x) check_error(cudaMemcpy(x_gpu, x, n * sizeof(float), cudaMemcpyHostToDevice));
    else check_error(cudaMemset(x_gpu, 0, n * sizeof(float)));
    return x_gpu;
}

static float rand_uniform(float lo, float hi) { return lo + (hi - lo) * (rand() / (float)RAND_MAX); }

/* -------------------------------------------------------------- kernels */
__global__ void im2col_gpu_kernel(const int n, const float *data_im, const int height, const int width, const int ksize,
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

#define TILE 16
/* C[M x N] += A[M x K] B[K x N] */
__global__ void gemm_nn_kernel(int M, int N, int K, const float *A, int lda, const float *B, int ldb, float *C, int ldc)
{
    __shared__ float a[TILE][TILE];
    __shared__ float b[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < K; t += TILE) {
        a[threadIdx.y][threadIdx.x] = (row < M && t + threadIdx.x < K) ? A[row * lda + t + threadIdx.x] : 0;
        b[threadIdx.y][threadIdx.x] = (t + threadIdx.y < K && col < N) ? B[(t + threadIdx.y) * ldb + col] : 0;
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    if (row < M && col < N) C[row * ldc + col] += sum;
}

__global__ void fill_kernel(int N, float ALPHA, float *X, int INCX)
{
    int i = (blockIdx.x + blockIdx.y * gridDim.x) * blockDim.x + threadIdx.x;
    if (i < N) X[i * INCX] = ALPHA;
}

__global__ void fast_mean_kernel(float *x, int batch, int filters, int spatial, float *mean)
{
    const int threads = BLOCK;
    __shared__ float local[threads];
    int id = threadIdx.x;
    local[id] = 0;
    int filter = blockIdx.x;
    for (int j = 0; j < batch; ++j) {
        for (int i = 0; i < spatial; i += threads) {
            int index = j * spatial * filters + filter * spatial + i + id;
            local[id] += (i + id < spatial) ? x[index] : 0;
        }
    }
    __syncthreads();
    if (id == 0) {
        mean[filter] = 0;
        for (int i = 0; i < threads; ++i) mean[filter] += local[i];
        mean[filter] /= spatial * batch;
    }
}

/* the slow one: a thread per filter */
__global__ void variance_kernel(float *x, float *mean, int batch, int filters, int spatial, float *variance)
{
    float scale = 1.f / (batch * spatial - 1);
    int i = (blockIdx.x + blockIdx.y * gridDim.x) * blockDim.x + threadIdx.x;
    if (i >= filters) return;
    float v = 0;
    for (int j = 0; j < batch; ++j) {
        for (int k = 0; k < spatial; ++k) {
            int index = j * filters * spatial + i * spatial + k;
            float d = x[index] - mean[i];
            v += d * d;
        }
    }
    variance[i] = v * scale;
}

__global__ void fast_variance_kernel(float *x, float *mean, int batch, int filters, int spatial, float *variance)
{
    __shared__ float local[BLOCK];
    int id = threadIdx.x;
    local[id] = 0;
    int filter = blockIdx.x;
    for (int j = 0; j < batch; ++j) {
        for (int i = id; i < spatial; i += BLOCK) {
            float d = x[(j * filters + filter) * spatial + i] - mean[filter];
            local[id] += d * d;
        }
    }
    for (int s = BLOCK / 2; s > 0; s /= 2) {
        __syncthreads();
        if (id < s) local[id] += local[id + s];
    }
    if (id == 0) variance[filter] = local[0] / (spatial * batch - 1);
}

__global__ void normalize_kernel(int N, float *x, float *mean, float *variance, int batch, int filters, int spatial)
{
    int index = (blockIdx.x + blockIdx.y * gridDim.x) * blockDim.x + threadIdx.x;
    if (index >= N) return;
    int f = (index / spatial) % filters;
    x[index] = (x[index] - mean[f]) / (sqrtf(variance[f] + .00001f));
}

__global__ void scale_add_bias_kernel(float *output, float *scales, float *biases, int n, int size)
{
    int offset = blockIdx.x * blockDim.x + threadIdx.x;
    int filter = blockIdx.y;
    int batch = blockIdx.z;
    if (offset < size) {
        float v = output[(batch * n + filter) * size + offset];
        output[(batch * n + filter) * size + offset] = (scales ? v * scales[filter] : v) + biases[filter];
    }
}

__host__ __device__ float activate(float x, ACTIVATION a)
{
    switch (a) {
        case LINEAR: return x;
        case LEAKY: return (x > 0) ? x : .1f * x;
        case LOGISTIC: return 1.f / (1.f + expf(-x));
        case MISH: { float s = x > 20 ? x : log1pf(expf(x)); return x * tanhf(s); }
    }
    return 0;
}

__global__ void activate_array_kernel(float *x, int n, ACTIVATION a)
{
    int i = (blockIdx.x + blockIdx.y * gridDim.x) * blockDim.x + threadIdx.x;
    if (i < n) x[i] = activate(x[i], a);
}

__global__ void forward_maxpool_layer_kernel(int n, int in_h, int in_w, int in_c, int stride, int size, int pad, float *input, float *output, int *indexes)
{
    int h = (in_h + pad - size) / stride + 1;
    int w = (in_w + pad - size) / stride + 1;
    int c = in_c;
    int id = (blockIdx.x + blockIdx.y * gridDim.x) * blockDim.x + threadIdx.x;
    if (id >= n) return;
    int j = id % w; id /= w;
    int i = id % h; id /= h;
    int k = id % c; id /= c;
    int b = id;
    int w_offset = -pad / 2;
    int h_offset = -pad / 2;
    int out_index = j + w * (i + h * (k + c * b));
    float max = -INFINITY;
    int max_i = -1;
    for (int l = 0; l < size; ++l) {
        for (int m = 0; m < size; ++m) {
            int cur_h = h_offset + i * stride + l;
            int cur_w = w_offset + j * stride + m;
            int index = cur_w + in_w * (cur_h + in_h * (k + b * in_c));
            int valid = (cur_h >= 0 && cur_h < in_h && cur_w >= 0 && cur_w < in_w);
            float val = valid ? input[index] : -INFINITY;
            max_i = (val > max) ? index : max_i;
            max = (val > max) ? val : max;
        }
    }
    output[out_index] = max;
    indexes[out_index] = max_i;
}

__global__ void shortcut_kernel(int size, float *from, float *x, float *out)
{
    int id = (blockIdx.x + blockIdx.y * gridDim.x) * blockDim.x + threadIdx.x;
    int at = id * 4;
    if (at + 4 <= size) {
        float4 p = *(float4 *)(from + at), q = *(float4 *)(x + at);
        *(float4 *)(out + at) = make_float4(p.x + q.x, p.y + q.y, p.z + q.z, p.w + q.w);
    } else {
        for (; at < size; ++at) out[at] = from[at] + x[at];
    }
}

/* space to depth: channel blocks by (row, column) phase */
__global__ void reorg_kernel(int N, float *x, int w, int h, int c, int batch, int stride, float *out)
{
    int i = (blockIdx.x + blockIdx.y * gridDim.x) * blockDim.x + threadIdx.x;
    if (i >= N) return;
    int in_index = i;
    int in_w = i % w; i = i / w;
    int in_h = i % h; i = i / h;
    int in_c = i % c; i = i / c;
    int b = i % batch;
    int ow = w / stride, oh = h / stride;
    int oc = in_c + c * ((in_h % stride) * stride + in_w % stride);
    out[in_w / stride + ow * (in_h / stride + oh * (oc + c * stride * stride * b))] = x[in_index];
}

__global__ void upsample_kernel(size_t N, float *x, int w, int h, int c, int batch, int stride, float scale, float *out)
{
    size_t i = (blockIdx.x + blockIdx.y * gridDim.x) * blockDim.x + threadIdx.x;
    if (i >= N) return;
    int out_index = i;
    int out_w = i % (w * stride); i = i / (w * stride);
    int out_h = i % (h * stride); i = i / (h * stride);
    int out_c = i % c; i = i / c;
    int b = i % batch;
    int in_index = b * w * h * c + out_c * w * h + (out_h / stride) * w + out_w / stride;
    out[out_index] = scale * x[in_index];
}

__global__ void copy_strided_kernel(int N, float *X, int runX, int strideX, float *Y, int offY, int strideY)
{
    int i = (blockIdx.x + blockIdx.y * gridDim.x) * blockDim.x + threadIdx.x;
    if (i < N) Y[i / runX * strideY + offY + i % runX] = X[i / runX * strideX + i % runX];
}

__global__ void forward_avgpool_layer_kernel(int n, int w, int h, int c, float *input, float *output)
{
    int id = (blockIdx.x + blockIdx.y * gridDim.x) * blockDim.x + threadIdx.x;
    if (id >= n) return;
    float s = 0;
    for (int i = 0; i < w * h; ++i) s += input[i + h * w * id];
    output[id] = s / (w * h);
}

__global__ void softmax_kernel(float *input, int n, int batch, int batch_offset, int stride, float temp, float *output)
{
    int id = (blockIdx.x + blockIdx.y * gridDim.x) * blockDim.x + threadIdx.x;
    if (id >= batch) return;
    float *in = input + id * batch_offset, *out = output + id * batch_offset;
    float sum = 0, largest = -INFINITY;
    for (int i = 0; i < n; ++i) largest = fmaxf(largest, in[i * stride]);
    for (int i = 0; i < n; ++i) {
        float e = expf(in[i * stride] / temp - largest / temp);
        sum += e;
        out[i * stride] = e;
    }
    for (int i = 0; i < n; ++i) out[i * stride] /= sum;
}

/* ------------------------------------------------------- layer functions */
static void forward_convolutional_layer_gpu(layer l, network *net, float *input)
{
    int spatial = l.out_h * l.out_w, k = l.size * l.size * l.c;
    fill_kernel<<<cuda_gridsize(l.outputs * l.batch), BLOCK>>>(l.outputs * l.batch, 0, l.output_gpu, 1);
    for (int i = 0; i < l.batch; ++i) {
        float *b = net->workspace_gpu, *im = input + (size_t)i * l.inputs;
        if (l.size == 1) {
            b = im;
        } else {
            int num = l.c * spatial;
            im2col_gpu_kernel<<<(num + BLOCK - 1) / BLOCK, BLOCK>>>(num, im, l.h, l.w, l.size, l.pad, l.stride, l.out_h, l.out_w, b);
        }
        dim3 grid((spatial + TILE - 1) / TILE, (l.n + TILE - 1) / TILE), block(TILE, TILE);
        gemm_nn_kernel<<<grid, block>>>(l.n, spatial, k, l.weights_gpu, k, b, spatial, l.output_gpu + (size_t)i * l.outputs, spatial);
    }
    if (l.batch_normalize) {
        fast_mean_kernel<<<l.n, BLOCK>>>(l.output_gpu, l.batch, l.n, spatial, l.mean_gpu);
        if (l.n <= 16) variance_kernel<<<cuda_gridsize(l.n), BLOCK>>>(l.output_gpu, l.mean_gpu, l.batch, l.n, spatial, l.variance_gpu);
        else fast_variance_kernel<<<l.n, BLOCK>>>(l.output_gpu, l.mean_gpu, l.batch, l.n, spatial, l.variance_gpu);
        normalize_kernel<<<cuda_gridsize(l.outputs * l.batch), BLOCK>>>(l.outputs * l.batch, l.output_gpu, l.mean_gpu, l.variance_gpu, l.batch, l.n, spatial);
    }
    dim3 bgrid((spatial - 1) / BLOCK + 1, l.n, l.batch);
    scale_add_bias_kernel<<<bgrid, BLOCK>>>(l.output_gpu, l.batch_normalize ? l.scales_gpu : NULL, l.biases_gpu, l.n, spatial);
    activate_array_kernel<<<cuda_gridsize(l.outputs * l.batch), BLOCK>>>(l.output_gpu, l.outputs * l.batch, l.activation);
    check_error(cudaPeekAtLastError());
}

static void forward_convolutional_layer(layer l, network *net, float *input)
{
    int spatial = l.out_h * l.out_w;
    for (int b = 0; b < l.batch; ++b) for (int f = 0; f < l.n; ++f) for (int y = 0; y < l.out_h; ++y) for (int x = 0; x < l.out_w; ++x) {
        double s = 0;
        for (int c = 0; c < l.c; ++c) for (int i = 0; i < l.size; ++i) for (int j = 0; j < l.size; ++j) {
            int yy = y * l.stride - l.pad + i, xx = x * l.stride - l.pad + j;
            if (yy < 0 || xx < 0 || yy >= l.h || xx >= l.w) continue;
            s += (double)input[((b * l.c + c) * l.h + yy) * l.w + xx] * l.weights[((f * l.c + c) * l.size + i) * l.size + j];
        }
        l.output[(b * l.n + f) * spatial + y * l.out_w + x] = (float)s;
    }
    for (int f = 0; f < l.n; ++f) {
        double m = 0, v = 0;
        for (int b = 0; b < l.batch; ++b) for (int i = 0; i < spatial; ++i) m += l.output[(b * l.n + f) * spatial + i];
        m /= spatial * l.batch;
        for (int b = 0; b < l.batch; ++b) for (int i = 0; i < spatial; ++i) { double d = l.output[(b * l.n + f) * spatial + i] - m; v += d * d; }
        v /= spatial * l.batch - 1;
        for (int b = 0; b < l.batch; ++b) for (int i = 0; i < spatial; ++i) {
            float *o = &l.output[(b * l.n + f) * spatial + i];
            double q = l.batch_normalize ? (*o - m) / sqrt(v + .00001) * l.scales[f] : *o;
            *o = activate((float)(q + l.biases[f]), l.activation);
        }
    }
    (void)net;
}

static void forward_maxpool_layer_gpu(layer l, network *, float *input)
{
    size_t n = (size_t)l.outputs * l.batch;
    forward_maxpool_layer_kernel<<<cuda_gridsize(n), BLOCK>>>((int)n, l.h, l.w, l.c, l.stride, l.size, l.pad, input, l.output_gpu, l.indexes_gpu);
}
static void forward_maxpool_layer(layer l, network *, float *input)
{
    for (int q = 0; q < l.batch * l.c; ++q) for (int y = 0; y < l.out_h; ++y) for (int x = 0; x < l.out_w; ++x) {
        float m = -INFINITY;
        for (int i = 0; i < l.size; ++i) for (int j = 0; j < l.size; ++j) {
            int yy = -l.pad / 2 + y * l.stride + i, xx = -l.pad / 2 + x * l.stride + j;
            if (yy >= 0 && xx >= 0 && yy < l.h && xx < l.w) m = fmaxf(m, input[(q * l.h + yy) * l.w + xx]);
        }
        l.output[(q * l.out_h + y) * l.out_w + x] = m;
    }
}

static void forward_shortcut_layer_gpu(layer l, network *net, float *input)
{
    int n = l.outputs * l.batch;
    shortcut_kernel<<<cuda_gridsize((n + 3) / 4), BLOCK>>>(n, net->layers[l.index].output_gpu, input, l.output_gpu);
}
static void forward_shortcut_layer(layer l, network *net, float *input)
{
    for (int i = 0; i < l.outputs * l.batch; ++i) l.output[i] = input[i] + net->layers[l.index].output[i];
}

static void forward_reorg_layer_gpu(layer l, network *, float *input)
{
    int n = l.outputs * l.batch;
    reorg_kernel<<<cuda_gridsize(n), BLOCK>>>(n, input, l.w, l.h, l.c, l.batch, l.stride, l.output_gpu);
}
static void forward_reorg_layer(layer l, network *, float *input)
{
    for (int b = 0; b < l.batch; ++b) for (int oc = 0; oc < l.out_c; ++oc) for (int y = 0; y < l.out_h; ++y) for (int x = 0; x < l.out_w; ++x) {
        int ph = oc / l.c;
        l.output[((b * l.out_c + oc) * l.out_h + y) * l.out_w + x] =
            input[((b * l.c + oc % l.c) * l.h + y * l.stride + ph / l.stride) * l.w + x * l.stride + ph % l.stride];
    }
}

static void forward_upsample_layer_gpu(layer l, network *, float *input)
{
    size_t n = (size_t)l.outputs * l.batch;
    upsample_kernel<<<cuda_gridsize(n), BLOCK>>>(n, input, l.w, l.h, l.c, l.batch, l.stride, 0.5f, l.output_gpu);
}
static void forward_upsample_layer(layer l, network *, float *input)
{
    for (int q = 0; q < l.batch * l.c; ++q) for (int y = 0; y < l.out_h; ++y) for (int x = 0; x < l.out_w; ++x)
        l.output[(q * l.out_h + y) * l.out_w + x] = 0.5f * input[(q * l.h + y / l.stride) * l.w + x / l.stride];
}

static void forward_route_layer_gpu(layer l, network *net, float *)
{
    int off = 0, from[2] = {l.index, l.index2};
    for (int k = 0; k < 2; ++k) {
        layer *s = &net->layers[from[k]];
        int n = s->outputs * l.batch;
        copy_strided_kernel<<<cuda_gridsize(n), BLOCK>>>(n, s->output_gpu, s->outputs, s->outputs, l.output_gpu, off, l.outputs);
        off += s->outputs;
    }
}
static void forward_route_layer(layer l, network *net, float *)
{
    int off = 0, from[2] = {l.index, l.index2};
    for (int k = 0; k < 2; ++k) {
        layer *s = &net->layers[from[k]];
        for (int b = 0; b < l.batch; ++b) memcpy(l.output + b * l.outputs + off, s->output + b * s->outputs, s->outputs * sizeof(float));
        off += s->outputs;
    }
}

static void forward_avgpool_layer_gpu(layer l, network *, float *input)
{
    int n = l.c * l.batch;
    forward_avgpool_layer_kernel<<<cuda_gridsize(n), BLOCK>>>(n, l.w, l.h, l.c, input, l.output_gpu);
}
static void forward_avgpool_layer(layer l, network *, float *input)
{
    for (int q = 0; q < l.c * l.batch; ++q) {
        double s = 0;
        for (int i = 0; i < l.w * l.h; ++i) s += input[q * l.w * l.h + i];
        l.output[q] = (float)(s / (l.w * l.h));
    }
}

static void forward_softmax_layer_gpu(layer l, network *, float *input)
{
    softmax_kernel<<<cuda_gridsize(l.batch), BLOCK>>>(input, l.inputs, l.batch, l.inputs, 1, 0.7f, l.output_gpu);
}
static void forward_softmax_layer(layer l, network *, float *input)
{
    for (int b = 0; b < l.batch; ++b) {
        double s = 0;
        for (int i = 0; i < l.inputs; ++i) s += exp(input[b * l.inputs + i] / 0.7);
        for (int i = 0; i < l.inputs; ++i) l.output[b * l.inputs + i] = (float)(exp(input[b * l.inputs + i] / 0.7) / s);
    }
}

/* ------------------------------------------------------------- building */
typedef struct { const char *name; void (*cpu)(layer, network *, float *); void (*gpu)(layer, network *, float *); } ops;
static const ops table[] = {
    {"conv", forward_convolutional_layer, forward_convolutional_layer_gpu}, {"max", forward_maxpool_layer, forward_maxpool_layer_gpu},
    {"res", forward_shortcut_layer, forward_shortcut_layer_gpu}, {"reorg", forward_reorg_layer, forward_reorg_layer_gpu},
    {"upsample", forward_upsample_layer, forward_upsample_layer_gpu}, {"route", forward_route_layer, forward_route_layer_gpu},
    {"avg", forward_avgpool_layer, forward_avgpool_layer_gpu}, {"softmax", forward_softmax_layer, forward_softmax_layer_gpu}};

typedef struct { LAYER_TYPE type; int filters, size, stride, bn; ACTIVATION act; int index, index2; } section;

static layer make_layer(section s, layer *prev, network *net)
{
    layer l;
    memset(&l, 0, sizeof l);
    l.type = s.type; l.batch = net->batch; l.activation = s.act; l.batch_normalize = s.bn;
    l.w = prev->out_w; l.h = prev->out_h; l.c = prev->out_c; l.inputs = prev->outputs;
    l.size = s.size; l.stride = s.stride; l.index = s.index; l.index2 = s.index2;
    l.out_w = l.w; l.out_h = l.h; l.out_c = l.c;
    if (s.type == CONVOLUTIONAL) {
        l.n = l.out_c = s.filters;
        l.pad = s.size / 2;
        l.out_w = (l.w + 2 * l.pad - l.size) / l.stride + 1;
        l.out_h = (l.h + 2 * l.pad - l.size) / l.stride + 1;
        int nw = l.n * l.c * l.size * l.size;
        l.weights = (float *)calloc(nw, sizeof(float));
        l.biases = (float *)calloc(l.n, sizeof(float));
        l.scales = (float *)calloc(l.n, sizeof(float));
        float scale = sqrtf(2.f / (l.size * l.size * l.c));
        for (int i = 0; i < nw; ++i) l.weights[i] = scale * rand_uniform(-1, 1);
        for (int i = 0; i < l.n; ++i) { l.biases[i] = rand_uniform(-.2f, .2f); l.scales[i] = rand_uniform(.7f, 1.3f); }
        l.weights_gpu = cuda_make_array(l.weights, nw);
        l.biases_gpu = cuda_make_array(l.biases, l.n);
        l.scales_gpu = cuda_make_array(l.scales, l.n);
        l.mean_gpu = cuda_make_array(NULL, l.n);
        l.variance_gpu = cuda_make_array(NULL, l.n);
    } else if (s.type == MAXPOOL) {
        l.pad = s.size - 1;
        l.out_w = (l.w + l.pad - l.size) / l.stride + 1;
        l.out_h = (l.h + l.pad - l.size) / l.stride + 1;
    } else if (s.type == REORG) {
        l.out_w /= s.stride; l.out_h /= s.stride; l.out_c *= s.stride * s.stride;
    } else if (s.type == UPSAMPLE) {
        l.out_w *= s.stride; l.out_h *= s.stride;
    } else if (s.type == ROUTE) {
        l.out_c = net->layers[s.index].out_c + net->layers[s.index2].out_c;
    } else if (s.type == AVGPOOL) {
        l.out_w = l.out_h = 1;
    }
    l.outputs = l.out_w * l.out_h * l.out_c;
    l.output = (float *)calloc((size_t)l.outputs * l.batch, sizeof(float));
    l.output_gpu = cuda_make_array(NULL, (size_t)l.outputs * l.batch);
    if (s.type == MAXPOOL) check_error(cudaMalloc((void **)&l.indexes_gpu, (size_t)l.outputs * l.batch * sizeof(int)));
    l.forward = table[s.type].cpu;
    l.forward_gpu = table[s.type].gpu;
    return l;
}

int main()
{
    static const section cfg[] = {
        {CONVOLUTIONAL, 16, 3, 1, 1, LEAKY, 0, 0},  /* 0 */
        {MAXPOOL, 0, 2, 2, 0, LINEAR, 0, 0},        /* 1 */
        {CONVOLUTIONAL, 32, 3, 1, 1, MISH, 0, 0},   /* 2 */
        {CONVOLUTIONAL, 32, 1, 1, 0, LEAKY, 0, 0},  /* 3 */
        {SHORTCUT, 0, 0, 0, 0, LINEAR, 2, 0},       /* 4 */
        {REORG, 0, 0, 2, 0, LINEAR, 0, 0},          /* 5 */
        {UPSAMPLE, 0, 0, 2, 0, LINEAR, 0, 0},       /* 6 */
        {ROUTE, 0, 0, 0, 0, LINEAR, 4, 6},          /* 7 */
        {CONVOLUTIONAL, 24, 1, 1, 0, LOGISTIC, 0, 0}, /* 8 */
        {CONVOLUTIONAL, 20, 3, 2, 1, LINEAR, 0, 0}, /* 9 */
        {AVGPOOL, 0, 0, 0, 0, LINEAR, 0, 0},
        {SOFTMAX, 0, 0, 0, 0, LINEAR, 0, 0}};
    srand(2222222);
    network net;
    net.batch = 2;
    net.n = sizeof cfg / sizeof cfg[0];
    net.layers = (layer *)calloc(net.n, sizeof(layer));
    layer in;
    memset(&in, 0, sizeof in);
    in.out_w = 68; in.out_h = 44; in.out_c = 3; in.outputs = in.out_w * in.out_h * in.out_c;
    size_t workspace = 0;
    for (int i = 0; i < net.n; ++i) {
        net.layers[i] = make_layer(cfg[i], i ? &net.layers[i - 1] : &in, &net);
        layer *l = &net.layers[i];
        size_t need = (size_t)l->out_h * l->out_w * l->size * l->size * l->c;
        if (l->type == CONVOLUTIONAL && need > workspace) workspace = need;
    }
    net.workspace_gpu = cuda_make_array(NULL, workspace);
    float *image = (float *)calloc((size_t)in.outputs * net.batch, sizeof(float));
    for (int i = 0; i < in.outputs * net.batch; ++i) image[i] = rand_uniform(0, 1);
    float *image_gpu = cuda_make_array(image, (size_t)in.outputs * net.batch);

    int ok = 1;
    float *x = image, *x_gpu = image_gpu;
    for (int i = 0; i < net.n; ++i) {
        layer l = net.layers[i];
        l.forward_gpu(l, &net, x_gpu);
        check_error(cudaDeviceSynchronize());
        l.forward(l, &net, x);
        size_t n = (size_t)l.outputs * l.batch;
        float *got = (float *)calloc(n, sizeof(float));
        check_error(cudaMemcpy(got, l.output_gpu, n * sizeof(float), cudaMemcpyDeviceToHost));
        double worst = 0;
        for (size_t k = 0; k < n; ++k) worst = fmax(worst, fabs(got[k] - l.output[k]) / (1 + fabs(l.output[k])));
        printf("%2d %-8s %4d x %3d x %3d -> %4d x %3d x %3d   %.2e\n", i, table[l.type].name, l.w, l.h, l.c, l.out_w, l.out_h, l.out_c, worst);
        if (!(worst < 1e-3)) ok = 0;
        free(got);
        x = l.output;
        x_gpu = l.output_gpu;
    }
    for (int i = 0; i < net.n; ++i) {
        layer *l = &net.layers[i];
        free(l->weights); free(l->biases); free(l->scales); free(l->output);
        cudaFree(l->weights_gpu); cudaFree(l->biases_gpu); cudaFree(l->scales_gpu); cudaFree(l->mean_gpu);
        cudaFree(l->variance_gpu); cudaFree(l->output_gpu); cudaFree(l->indexes_gpu);
    }
    free(net.layers); free(image);
    cudaFree(net.workspace_gpu); cudaFree(image_gpu);
    printf("%s\n", ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
