// Strides that double and halve, dynamic shared memory, masks that shrink, 64-bit integers and doubles.

template <typename T, int BLOCK>
__global__ void scan(T *data, T *sums, long long n)
{
    extern __shared__ unsigned char raw[];
    T *temp = reinterpret_cast<T *>(raw);
    const int tid = threadIdx.x;
    const long long base = (long long)blockIdx.x * BLOCK * 2;
    temp[2 * tid] = base + 2 * tid < n ? data[base + 2 * tid] : T(0);
    temp[2 * tid + 1] = base + 2 * tid + 1 < n ? data[base + 2 * tid + 1] : T(0);
    int offset = 1;
    for (int d = BLOCK; d > 0; d >>= 1) {
        __syncthreads();
        if (tid < d) {
            int a = offset * (2 * tid + 1) - 1;
            int b = offset * (2 * tid + 2) - 1;
            temp[b] += temp[a];
        }
        offset *= 2;
    }
    if (tid == 0) {
        sums[blockIdx.x] = temp[2 * BLOCK - 1];
        temp[2 * BLOCK - 1] = T(0);
    }
    for (int d = 1; d < 2 * BLOCK; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (tid < d) {
            int a = offset * (2 * tid + 1) - 1;
            int b = offset * (2 * tid + 2) - 1;
            T t = temp[a];
            temp[a] = temp[b];
            temp[b] += t;
        }
    }
    __syncthreads();
    if (base + 2 * tid < n)
        data[base + 2 * tid] = temp[2 * tid];
    if (base + 2 * tid + 1 < n)
        data[base + 2 * tid + 1] = temp[2 * tid + 1];
}

template <typename T>
void scanAll(T *data, T *sums, long long n)
{
    constexpr int BLOCK = 128;
    int blocks = (int)((n + 2 * BLOCK - 1) / (2 * BLOCK));
    scan<T, BLOCK><<<blocks, BLOCK, 2 * BLOCK * sizeof(T)>>>(data, sums, n);
}

void run(double *data, double *sums, long long n)
{
    scanAll(data, sums, n);
}
