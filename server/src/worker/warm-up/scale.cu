// The least that a kernel is: what every file needs is compiled first, in the shortest slice.

__global__ void scale(float *x, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = a * x[i];
}

void run(float *x, int n)
{
    scale<<<(n + 255) / 256, 256>>>(x, 2.0f, n);
}
