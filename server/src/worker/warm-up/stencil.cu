// A stencil with a halo in shared memory, and a table in constant memory.

#define RADIUS 2
#define BX 32
#define BY 8

__constant__ float coefficients[2 * RADIUS + 1];

__global__ void smooth(const float *in, float *out, int width, int height)
{
    __shared__ float tile[BY + 2 * RADIUS][BX + 2 * RADIUS];
    int x = blockIdx.x * BX + threadIdx.x, y = blockIdx.y * BY + threadIdx.y;
    for (int dy = threadIdx.y; dy < BY + 2 * RADIUS; dy += BY)
        for (int dx = threadIdx.x; dx < BX + 2 * RADIUS; dx += BX) {
            int sx = min(max((int)(blockIdx.x * BX) + dx - RADIUS, 0), width - 1);
            int sy = min(max((int)(blockIdx.y * BY) + dy - RADIUS, 0), height - 1);
            tile[dy][dx] = in[sy * width + sx];
        }
    __syncthreads();
    if (x >= width || y >= height)
        return;
    float sum = 0.0f;
#pragma unroll
    for (int k = -RADIUS; k <= RADIUS; k++) {
        sum += coefficients[k + RADIUS] * tile[threadIdx.y + RADIUS][threadIdx.x + RADIUS + k];
        sum += coefficients[k + RADIUS] * tile[threadIdx.y + RADIUS + k][threadIdx.x + RADIUS];
    }
    out[y * width + x] = sum;
}

int main()
{
    const int width = 1000, height = 300;
    float host[2 * RADIUS + 1] = {0.1f, 0.2f, 0.4f, 0.2f, 0.1f};
    cudaMemcpyToSymbol(coefficients, host, sizeof(host));
    float *a, *b;
    cudaMalloc((void **)&a, width * height * sizeof(float));
    cudaMalloc((void **)&b, width * height * sizeof(float));
    dim3 block(BX, BY), grid((width + BX - 1) / BX, (height + BY - 1) / BY);
    smooth<<<grid, block>>>(a, b, width, height);
    return 0;
}
