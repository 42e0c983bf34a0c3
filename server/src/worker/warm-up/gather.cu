// The least that needs the host's program: addresses are read from an array that it fills.

__global__ void gather(float *out, const float *in, const int *from, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[from[i]];
}

int main()
{
    const int n = 256;
    int order[n];
    for (int i = 0; i < n; ++i)
        order[i] = (i * 7) % n;
    float *in, *out;
    int *from;
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    cudaMalloc(&from, sizeof(order));
    cudaMemcpy(from, order, sizeof(order), cudaMemcpyHostToDevice);
    gather<<<1, n>>>(out, in, from, n);
    return 0;
}
