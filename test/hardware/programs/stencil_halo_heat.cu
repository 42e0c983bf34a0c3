/* Batched 1-D stencil and 2-D heat equation with shared-memory halos. Plain C style. */
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define RADIUS   4
#define BATCH    256
#define LEN      4096
#define TPB      256
#define NX       1000          /* deliberately not a multiple of the tile */
#define NY       720
#define TX       32
#define TY       8
#define ALPHA    0.1f
#define IDX(i,j) ((i) * NX + (j))
#define DIVUP(a,b) (((a) + (b) - 1) / (b))
#define CHECK(call) do { cudaError_t err = (call); if (err != cudaSuccess) { \
    printf("CUDA error %s line %d\nFAIL\n", cudaGetErrorString(err), __LINE__); exit(1); } } while (0)

__constant__ float c_w[2 * RADIUS + 1];
static const float h_w[2 * RADIUS + 1] = {0.01f, 0.03f, 0.08f, 0.18f, 0.4f, 0.18f, 0.08f, 0.03f, 0.01f};

/* one row of the batch per blockIdx.y, zero outside the row */
__global__ void stencil1d_batch(const float *in, float *out)
{
    __shared__ float s[TPB + 2 * RADIUS];
    const float *row = in + (size_t)blockIdx.y * LEN;
    int g = blockIdx.x * TPB + threadIdx.x;
    int l = threadIdx.x + RADIUS;
    float acc = 0.0f;
    int k;

    s[l] = row[g];
    if (threadIdx.x < RADIUS) {
        s[l - RADIUS] = (g - RADIUS >= 0) ? row[g - RADIUS] : 0.0f;
        s[l + TPB]    = (g + TPB < LEN)   ? row[g + TPB]    : 0.0f;
    }
    __syncthreads();
    for (k = -RADIUS; k <= RADIUS; k++)
        acc += c_w[k + RADIUS] * s[l + k];
    out[(size_t)blockIdx.y * LEN + g] = acc;
}

/* thread-per-row version: x walks the batch, so every lane is LEN floats from its neighbour */
__global__ void stencil1d_row_per_thread(const float *in, float *out)
{
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    int first = blockIdx.y * 32;
    int i, k;
    if (b >= BATCH) return;
    for (i = first; i < first + 32; i++) {
        float acc = 0.0f;
        for (k = -RADIUS; k <= RADIUS; k++)
            if (i + k >= 0 && i + k < LEN)
                acc += c_w[k + RADIUS] * in[(size_t)b * LEN + i + k];
        out[(size_t)b * LEN + i] = acc;
    }
}

/* explicit heat step, 5 points, boundary cells kept */
__global__ void heat2d_halo(const float *u, float *v)
{
    __shared__ float t[TY + 2][TX + 2];
    int j = blockIdx.x * TX + threadIdx.x;
    int i = blockIdx.y * TY + threadIdx.y;
    int lj = threadIdx.x + 1, li = threadIdx.y + 1;
    int inside = (i < NY && j < NX);

    t[li][lj] = inside ? u[IDX(i, j)] : 0.0f;
    if (threadIdx.x == 0)      t[li][0]      = (i < NY && j > 0)      ? u[IDX(i, j - 1)] : 0.0f;
    if (threadIdx.x == TX - 1) t[li][TX + 1] = (i < NY && j + 1 < NX) ? u[IDX(i, j + 1)] : 0.0f;
    if (threadIdx.y == 0)      t[0][lj]      = (j < NX && i > 0)      ? u[IDX(i - 1, j)] : 0.0f;
    if (threadIdx.y == TY - 1) t[TY + 1][lj] = (j < NX && i + 1 < NY) ? u[IDX(i + 1, j)] : 0.0f;
    __syncthreads();
    if (!inside) return;
    if (i == 0 || j == 0 || i == NY - 1 || j == NX - 1)
        v[IDX(i, j)] = t[li][lj];
    else
        v[IDX(i, j)] = t[li][lj] + ALPHA * (t[li - 1][lj] + t[li + 1][lj] +
                                            t[li][lj - 1] + t[li][lj + 1] - 4.0f * t[li][lj]);
}

static void heat_ref(const float *u, float *v)
{
    for (int i = 0; i < NY; i++)
        for (int j = 0; j < NX; j++)
            if (i == 0 || j == 0 || i == NY - 1 || j == NX - 1) v[IDX(i, j)] = u[IDX(i, j)];
            else v[IDX(i, j)] = u[IDX(i, j)] + ALPHA * (u[IDX(i - 1, j)] + u[IDX(i + 1, j)] +
                                u[IDX(i, j - 1)] + u[IDX(i, j + 1)] - 4.0f * u[IDX(i, j)]);
}

static int differs(const float *a, const float *b, size_t n, const char *what)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabsf(a[i] - b[i]) < 1e-4f)) { printf("%s: [%zu] %g vs %g\n", what, i, a[i], b[i]); return 1; }
    return 0;
}

int main(void)
{
    const size_t n1 = (size_t)BATCH * LEN, n2 = (size_t)NX * NY;
    float *h1 = (float *)malloc(n1 * 4), *r1 = (float *)malloc(n1 * 4), *g1 = (float *)malloc(n1 * 4);
    float *h2 = (float *)malloc(n2 * 4), *r2 = (float *)malloc(n2 * 4), *g2 = (float *)malloc(n2 * 4);
    float *d_in, *d_o1, *d_o2, *d_u, *d_v;
    int bad = 0;

    srand(42);
    for (size_t i = 0; i < n1; i++) h1[i] = (float)(rand() % 2001 - 1000) / 1000.0f;
    for (size_t i = 0; i < n2; i++) h2[i] = (float)(rand() % 1000) / 100.0f;
    CHECK(cudaMalloc(&d_in, n1 * 4)); CHECK(cudaMalloc(&d_o1, n1 * 4)); CHECK(cudaMalloc(&d_o2, n1 * 4));
    CHECK(cudaMalloc(&d_u, n2 * 4));  CHECK(cudaMalloc(&d_v, n2 * 4));
    CHECK(cudaMemcpyToSymbol(c_w, h_w, sizeof(h_w)));
    CHECK(cudaMemcpy(d_in, h1, n1 * 4, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_u, h2, n2 * 4, cudaMemcpyHostToDevice));

    stencil1d_batch<<<dim3(LEN / TPB, BATCH), TPB>>>(d_in, d_o1);
    stencil1d_row_per_thread<<<dim3(DIVUP(BATCH, 64), LEN / 32), 64>>>(d_in, d_o2);
    heat2d_halo<<<dim3(DIVUP(NX, TX), DIVUP(NY, TY)), dim3(TX, TY)>>>(d_u, d_v);
    heat2d_halo<<<dim3(DIVUP(NX, TX), DIVUP(NY, TY)), dim3(TX, TY)>>>(d_v, d_u);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());

    for (int b = 0; b < BATCH; b++)
        for (int i = 0; i < LEN; i++) {
            float acc = 0.0f;
            for (int k = -RADIUS; k <= RADIUS; k++)
                if (i + k >= 0 && i + k < LEN) acc += h_w[k + RADIUS] * h1[(size_t)b * LEN + i + k];
            r1[(size_t)b * LEN + i] = acc;
        }
    CHECK(cudaMemcpy(g1, d_o1, n1 * 4, cudaMemcpyDeviceToHost));
    bad += differs(g1, r1, n1, "stencil shared");
    CHECK(cudaMemcpy(g1, d_o2, n1 * 4, cudaMemcpyDeviceToHost));
    bad += differs(g1, r1, n1, "stencil rows");
    heat_ref(h2, r2);
    heat_ref(r2, h2);
    CHECK(cudaMemcpy(g2, d_u, n2 * 4, cudaMemcpyDeviceToHost));
    bad += differs(g2, h2, n2, "heat");
    printf("%s\n", bad ? "FAIL" : "PASS");
    return bad ? 1 : 0;
}
