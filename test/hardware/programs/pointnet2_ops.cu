#include <cuda.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// PointNet++ set abstraction / feature propagation operators
//   furthest_point_sample, ball_query, group_points, three_nn, three_interpolate(+grad)

#define TOTAL_THREADS 512
#define DIVUP(m, n) ((m) / (n) + ((m) % (n) > 0))

inline int opt_n_threads(int work_size) {
    const int pow_2 = log((double)(work_size)) / log(2.0);
    int r = 1 << pow_2;
    if (r > TOTAL_THREADS) r = TOTAL_THREADS;
    return r < 1 ? 1 : r;
}

inline dim3 opt_block_config(int x, int y) {
    const int x_threads = opt_n_threads(x);
    int y_threads = opt_n_threads(y);
    if (y_threads > TOTAL_THREADS / x_threads) y_threads = TOTAL_THREADS / x_threads;
    if (y_threads < 1) y_threads = 1;
    return dim3(x_threads, y_threads, 1);
}

#define CUDA_CHECK_ERRORS()                                                             \
    do {                                                                                \
        cudaError_t err = cudaGetLastError();                                           \
        if (cudaSuccess != err) {                                                       \
            fprintf(stderr, "CUDA kernel failed : %s\n%s at L:%d in %s\n",              \
                    cudaGetErrorString(err), __PRETTY_FUNCTION__, __LINE__, __FILE__);  \
            exit(-1);                                                                   \
        }                                                                               \
    } while (0)

__device__ void __update(float *__restrict__ dists, int *__restrict__ dists_i, int idx1, int idx2) {
    const float v1 = dists[idx1], v2 = dists[idx2];
    const int i1 = dists_i[idx1], i2 = dists_i[idx2];
    const bool second = v2 > v1 || (v2 == v1 && i2 < i1);
    dists[idx1] = second ? v2 : v1;
    dists_i[idx1] = second ? i2 : i1;
}

// Input dataset: (b, n, 3), tmp: (b, n)
// Ouput idxs (b, m)
template <unsigned int block_size>
__global__ void furthest_point_sampling_kernel(int b, int n, int m, const float *__restrict__ dataset,
                                               float *__restrict__ temp, int *__restrict__ idxs) {
    if (m <= 0) return;
    __shared__ float dists[block_size];
    __shared__ int dists_i[block_size];

    int batch_index = blockIdx.x;
    dataset += batch_index * n * 3;
    temp += batch_index * n;
    idxs += batch_index * m;

    int tid = threadIdx.x;
    const int stride = block_size;

    int old = 0;
    if (threadIdx.x == 0) idxs[0] = old;

    __syncthreads();
    for (int j = 1; j < m; j++) {
        int besti = 0;
        float best = -1;
        float x1 = dataset[old * 3 + 0];
        float y1 = dataset[old * 3 + 1];
        float z1 = dataset[old * 3 + 2];
        for (int k = tid; k < n; k += stride) {
            float x2, y2, z2;
            x2 = dataset[k * 3 + 0];
            y2 = dataset[k * 3 + 1];
            z2 = dataset[k * 3 + 2];

            float d = (x2 - x1) * (x2 - x1) + (y2 - y1) * (y2 - y1) + (z2 - z1) * (z2 - z1);
            float d2 = min(d, temp[k]);
            temp[k] = d2;
            besti = d2 > best ? k : besti;
            best = d2 > best ? d2 : best;
        }
        dists[tid] = best;
        dists_i[tid] = besti;
        __syncthreads();

        if (block_size >= 512) {
            if (tid < 256) __update(dists, dists_i, tid, tid + 256);
            __syncthreads();
        }
        if (block_size >= 256) {
            if (tid < 128) __update(dists, dists_i, tid, tid + 128);
            __syncthreads();
        }
        if (block_size >= 128) {
            if (tid < 64) __update(dists, dists_i, tid, tid + 64);
            __syncthreads();
        }
        for (int s = (block_size < 64 ? block_size / 2 : 32); s > 0; s >>= 1) {
            if (tid < s) __update(dists, dists_i, tid, tid + s);
            __syncthreads();
        }

        old = dists_i[0];
        if (tid == 0) idxs[j] = old;
        __syncthreads();
    }
}

// input: new_xyz(b, m, 3) xyz(b, n, 3)
// output: idx(b, m, nsample)
__global__ void query_ball_point_kernel(int b, int n, int m, float radius, int nsample,
                                        const float *__restrict__ new_xyz, const float *__restrict__ xyz,
                                        int *__restrict__ idx) {
    int batch_index = blockIdx.x;
    xyz += batch_index * n * 3;
    new_xyz += batch_index * m * 3;
    idx += m * nsample * batch_index;

    int index = threadIdx.x;
    int stride = blockDim.x;

    float radius2 = radius * radius;
    for (int j = index; j < m; j += stride) {
        float new_x = new_xyz[j * 3 + 0];
        float new_y = new_xyz[j * 3 + 1];
        float new_z = new_xyz[j * 3 + 2];
        for (int k = 0, cnt = 0; k < n && cnt < nsample; ++k) {
            float x = xyz[k * 3 + 0];
            float y = xyz[k * 3 + 1];
            float z = xyz[k * 3 + 2];
            float d2 = (new_x - x) * (new_x - x) + (new_y - y) * (new_y - y) + (new_z - z) * (new_z - z);
            if (d2 < radius2) {
                if (cnt == 0) {
                    for (int l = 0; l < nsample; ++l) {
                        idx[j * nsample + l] = k;
                    }
                }
                idx[j * nsample + cnt] = k;
                ++cnt;
            }
        }
    }
}

// input: points(b, c, n) idx(b, npoints, nsample)
// output: out(b, c, npoints, nsample)
__global__ void group_points_kernel(int b, int c, int n, int npoints, int nsample,
                                    const float *__restrict__ points, const int *__restrict__ idx,
                                    float *__restrict__ out) {
    int batch_index = blockIdx.x;
    points += batch_index * n * c;
    idx += batch_index * npoints * nsample;
    out += batch_index * npoints * nsample * c;

    const int index = threadIdx.y * blockDim.x + threadIdx.x;
    const int stride = blockDim.y * blockDim.x;
    for (int i = index; i < c * npoints; i += stride) {
        const int l = i / npoints;
        const int j = i % npoints;
        for (int k = 0; k < nsample; ++k) {
            int ii = idx[j * nsample + k];
            out[(l * npoints + j) * nsample + k] = points[l * n + ii];
        }
    }
}

// input: unknown(b, n, 3) known(b, m, 3)
// output: dist2(b, n, 3), idx(b, n, 3)
__global__ void three_nn_kernel(int b, int n, int m, const float *__restrict__ unknown,
                                const float *__restrict__ known, float *__restrict__ dist2,
                                int *__restrict__ idx) {
    int bs_idx = blockIdx.y;
    int pt_idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (bs_idx >= b || pt_idx >= n) return;

    unknown += bs_idx * n * 3 + pt_idx * 3;
    known += bs_idx * m * 3;
    dist2 += bs_idx * n * 3 + pt_idx * 3;
    idx += bs_idx * n * 3 + pt_idx * 3;

    float ux = unknown[0];
    float uy = unknown[1];
    float uz = unknown[2];

    double best1 = 1e40, best2 = 1e40, best3 = 1e40;
    int besti1 = 0, besti2 = 0, besti3 = 0;
    for (int k = 0; k < m; ++k) {
        float x = known[k * 3 + 0];
        float y = known[k * 3 + 1];
        float z = known[k * 3 + 2];
        float d = (ux - x) * (ux - x) + (uy - y) * (uy - y) + (uz - z) * (uz - z);
        if (d < best1) {
            best3 = best2; besti3 = besti2;
            best2 = best1; besti2 = besti1;
            best1 = d; besti1 = k;
        } else if (d < best2) {
            best3 = best2; besti3 = besti2;
            best2 = d; besti2 = k;
        } else if (d < best3) {
            best3 = d; besti3 = k;
        }
    }
    dist2[0] = best1; dist2[1] = best2; dist2[2] = best3;
    idx[0] = besti1; idx[1] = besti2; idx[2] = besti3;
}

// input: points(b, c, m), idx(b, n, 3), dist2(b, n, 3)
// output: out(b, c, n)
__global__ void three_interpolate_kernel(int b, int c, int m, int n, const float *__restrict__ points,
                                         const int *__restrict__ idx, const float *__restrict__ dist2,
                                         float *__restrict__ out) {
    int bs_idx = blockIdx.z;
    int c_idx = blockIdx.y;
    int pt_idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (bs_idx >= b || c_idx >= c || pt_idx >= n) return;

    dist2 += bs_idx * n * 3 + pt_idx * 3;
    points += bs_idx * c * m + c_idx * m;
    idx += bs_idx * n * 3 + pt_idx * 3;
    out += bs_idx * c * n + c_idx * n;

    float w0 = 1.f / (dist2[0] + 1e-3f), w1 = 1.f / (dist2[1] + 1e-3f), w2 = 1.f / (dist2[2] + 1e-3f);
    float norm = w0 + w1 + w2;
    out[pt_idx] = (w0 * points[idx[0]] + w1 * points[idx[1]] + w2 * points[idx[2]]) / norm;
}

__global__ void group_points_grad_kernel(int b, int c, int n, int npoints, int nsample,
                                         const float *__restrict__ grad_out, const int *__restrict__ idx,
                                         float *__restrict__ grad_points) {
    int bs_idx = blockIdx.z;
    int c_idx = blockIdx.y;
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    int pt_idx = index / nsample;
    if (bs_idx >= b || c_idx >= c || pt_idx >= npoints) return;
    int sample_idx = index % nsample;
    grad_out += bs_idx * c * npoints * nsample + c_idx * npoints * nsample + pt_idx * nsample + sample_idx;
    idx += bs_idx * npoints * nsample + pt_idx * nsample + sample_idx;
    atomicAdd(grad_points + bs_idx * c * n + c_idx * n + idx[0], grad_out[0]);
}

template <class T>
T *dev_alloc(size_t n) {
    T *p = NULL;
    cudaMalloc((void **)&p, n * sizeof(T));
    return p;
}

int main() {
    const int b = 4, n = 2048, m = 256, c = 32, nsample = 16;
    const float radius = 0.4f;
    srand(42);
    // sensor grid of 1/256 m, so every squared distance is exact in fp32
    float *xyz = (float *)malloc(sizeof(float) * b * n * 3);
    for (int i = 0; i < b * n * 3; i++) xyz[i] = (rand() % 768) / 256.f;
    float *feat = (float *)malloc(sizeof(float) * b * c * n);
    for (int i = 0; i < b * c * n; i++) feat[i] = rand() / (float)RAND_MAX - 0.5f;
    float *temp = (float *)malloc(sizeof(float) * b * n);
    for (int i = 0; i < b * n; i++) temp[i] = 1e10f;

    float *d_xyz = dev_alloc<float>(b * n * 3), *d_feat = dev_alloc<float>(b * c * n), *d_temp = dev_alloc<float>(b * n);
    int *d_fps = dev_alloc<int>(b * m), *d_ball = dev_alloc<int>(b * m * nsample), *d_nn = dev_alloc<int>(b * n * 3);
    float *d_new = dev_alloc<float>(b * m * 3), *d_group = dev_alloc<float>(b * c * m * nsample);
    float *d_d2 = dev_alloc<float>(b * n * 3), *d_interp = dev_alloc<float>(b * c * n), *d_grad = dev_alloc<float>(b * c * n);
    cudaMemcpy(d_xyz, xyz, sizeof(float) * b * n * 3, cudaMemcpyHostToDevice);
    cudaMemcpy(d_feat, feat, sizeof(float) * b * c * n, cudaMemcpyHostToDevice);
    cudaMemcpy(d_temp, temp, sizeof(float) * b * n, cudaMemcpyHostToDevice);
    cudaMemset(d_ball, 0, sizeof(int) * b * m * nsample);
    cudaMemset(d_grad, 0, sizeof(float) * b * c * n);

    unsigned int n_threads = opt_n_threads(n);
    switch (n_threads) {
        case 512: furthest_point_sampling_kernel<512><<<b, n_threads>>>(b, n, m, d_xyz, d_temp, d_fps); break;
        case 256: furthest_point_sampling_kernel<256><<<b, n_threads>>>(b, n, m, d_xyz, d_temp, d_fps); break;
        case 128: furthest_point_sampling_kernel<128><<<b, n_threads>>>(b, n, m, d_xyz, d_temp, d_fps); break;
        default: furthest_point_sampling_kernel<64><<<b, 64>>>(b, n, m, d_xyz, d_temp, d_fps);
    }
    CUDA_CHECK_ERRORS();

    // new_xyz = xyz[fps] on the host, cheap enough
    int *fps = (int *)malloc(sizeof(int) * b * m);
    float *new_xyz = (float *)malloc(sizeof(float) * b * m * 3);
    float *known_feat = (float *)malloc(sizeof(float) * b * c * m);
    cudaMemcpy(fps, d_fps, sizeof(int) * b * m, cudaMemcpyDeviceToHost);
    for (int i = 0; i < b; i++)
        for (int j = 0; j < m; j++) {
            int s = fps[i * m + j];
            if (s < 0 || s >= n) { printf("bad fps index\nFAIL\n"); return 1; }
            for (int d = 0; d < 3; d++) new_xyz[(i * m + j) * 3 + d] = xyz[(i * n + s) * 3 + d];
            for (int l = 0; l < c; l++) known_feat[(i * c + l) * m + j] = feat[(i * c + l) * n + s];
        }
    float *d_known = dev_alloc<float>(b * c * m);
    cudaMemcpy(d_new, new_xyz, sizeof(float) * b * m * 3, cudaMemcpyHostToDevice);
    cudaMemcpy(d_known, known_feat, sizeof(float) * b * c * m, cudaMemcpyHostToDevice);

    query_ball_point_kernel<<<b, opt_n_threads(m)>>>(b, n, m, radius, nsample, d_new, d_xyz, d_ball);
    group_points_kernel<<<b, opt_block_config(m, c)>>>(b, c, n, m, nsample, d_feat, d_ball, d_group);
    group_points_grad_kernel<<<dim3(DIVUP(m * nsample, 256), c, b), 256>>>(b, c, n, m, nsample, d_group, d_ball, d_grad);
    three_nn_kernel<<<dim3(DIVUP(n, 256), b), 256>>>(b, n, m, d_xyz, d_new, d_d2, d_nn);
    three_interpolate_kernel<<<dim3(DIVUP(n, 256), c, b), 256>>>(b, c, m, n, d_known, d_nn, d_d2, d_interp);
    CUDA_CHECK_ERRORS();
    if (cudaDeviceSynchronize() != cudaSuccess) { printf("sync error\nFAIL\n"); return 1; }

    int *ball = (int *)malloc(sizeof(int) * b * m * nsample), *nn = (int *)malloc(sizeof(int) * b * n * 3);
    float *group = (float *)malloc(sizeof(float) * b * c * m * nsample), *interp = (float *)malloc(sizeof(float) * b * c * n);
    float *grad = (float *)malloc(sizeof(float) * b * c * n), *ref = (float *)calloc(b * c * n, sizeof(float));
    cudaMemcpy(ball, d_ball, sizeof(int) * b * m * nsample, cudaMemcpyDeviceToHost);
    cudaMemcpy(nn, d_nn, sizeof(int) * b * n * 3, cudaMemcpyDeviceToHost);
    cudaMemcpy(group, d_group, sizeof(float) * b * c * m * nsample, cudaMemcpyDeviceToHost);
    cudaMemcpy(interp, d_interp, sizeof(float) * b * c * n, cudaMemcpyDeviceToHost);
    cudaMemcpy(grad, d_grad, sizeof(float) * b * c * n, cudaMemcpyDeviceToHost);

    int err_fps = 0, err_ball = 0, err_group = 0, err_nn = 0, err_int = 0, err_grad = 0;
#define D2(p, q) ((p[0]-q[0])*(p[0]-q[0]) + (p[1]-q[1])*(p[1]-q[1]) + (p[2]-q[2])*(p[2]-q[2]))
    for (int i = 0; i < b; i++) {
        const float *P = xyz + i * n * 3, *Q = new_xyz + i * m * 3;
        int old = 0;
        if (fps[i * m] != 0) err_fps++;
        for (int j = 1; j < m; j++) {
            int bi = 0; float best = -1;
            for (int k = 0; k < n; k++) {
                float d = D2((P + k * 3), (P + old * 3));
                float *t = temp + i * n + k;
                if (d < *t) *t = d;
                if (*t > best) { best = *t; bi = k; }
            }
            old = bi;
            err_fps += fps[i * m + j] != old;
        }
        for (int j = 0; j < m; j++) {
            int cnt = 0, first = 0, r[64];
            for (int k = 0; k < n && cnt < nsample; k++)
                if (D2((Q + j * 3), (P + k * 3)) < radius * radius) { if (!cnt) first = k; r[cnt++] = k; }
            for (int s = 0; s < nsample; s++) {
                int e = s < cnt ? r[s] : first, g = ball[(i * m + j) * nsample + s];
                err_ball += e != g;
                for (int l = 0; l < c; l++) {
                    err_group += group[((i * c + l) * m + j) * nsample + s] != feat[(i * c + l) * n + e];
                    ref[(i * c + l) * n + e] += feat[(i * c + l) * n + e];
                }
            }
        }
        for (int k = 0; k < n; k++) {
            float bd[3] = {1e30f, 1e30f, 1e30f}; int bi[3] = {0, 0, 0};
            for (int j = 0; j < m; j++) {
                float d = D2((P + k * 3), (Q + j * 3));
                for (int s = 0; s < 3; s++)
                    if (d < bd[s]) {
                        for (int u = 2; u > s; u--) { bd[u] = bd[u - 1]; bi[u] = bi[u - 1]; }
                        bd[s] = d; bi[s] = j; break;
                    }
            }
            double w[3], ws = 0;
            for (int s = 0; s < 3; s++) { err_nn += nn[(i * n + k) * 3 + s] != bi[s]; ws += w[s] = 1.0 / (bd[s] + 1e-3); }
            for (int l = 0; l < c; l++) {
                double v = 0;
                for (int s = 0; s < 3; s++) v += w[s] / ws * known_feat[(i * c + l) * m + bi[s]];
                err_int += fabs(v - interp[(i * c + l) * n + k]) > 1e-4;
            }
        }
    }
    for (int i = 0; i < b * c * n; i++) err_grad += fabs(ref[i] - grad[i]) > 1e-3f * (1.f + fabs(ref[i]));
    printf("fps %d ball %d group %d three_nn %d interp %d grad %d\n", err_fps, err_ball, err_group, err_nn, err_int, err_grad);
    int bad = err_fps + err_ball + err_group + err_nn + err_int + err_grad;
    printf(bad ? "FAIL\n" : "PASS\n");
    return bad != 0;
}
