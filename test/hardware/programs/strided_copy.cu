// What a shift and a stride cost a copy.
#include <cstdio>
#include <vector>

#define N (1 << 19)

template <typename T>
__global__ void offsetCopy(T *out, const T *in, int shift)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x + shift;
    out[i] = in[i];
}

template <typename T>
__global__ void strideCopy(T *out, const T *in, int stride)
{
    int i = (blockDim.x * blockIdx.x + threadIdx.x) * stride;
    out[i] = in[i];
}

__global__ void reverse(short *out, const short *in, int n)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n)
        out[n - 1 - i] = in[i];
}

__global__ void copyBytes(unsigned char *out, const unsigned char *in, size_t n)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    while (i < n) {
        out[i] = in[i];
        i += (size_t)gridDim.x * blockDim.x;
    }
}

__global__ void copyDouble2(double2 *out, const double2 *in, int n)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n)
        out[i] = in[i];
}

int main()
{
    std::vector<unsigned char> in(N * 16), out(N * 16);
    for (size_t i = 0; i < in.size(); i++)
        in[i] = (unsigned char)(i * 31 + (i >> 8));
    unsigned char *din, *dout;
    cudaMalloc(&din, in.size());
    cudaMalloc(&dout, in.size());
    cudaMemcpy(din, in.data(), in.size(), cudaMemcpyHostToDevice);
    bool all = true;
    auto verify = [&](const char *what, auto source) {
        cudaError_t status = cudaDeviceSynchronize();
        cudaMemcpy(out.data(), dout, out.size(), cudaMemcpyDeviceToHost);
        bool good = status == cudaSuccess;
        for (size_t i = 0; i < out.size() && good; i++)
            good = out[i] == source(i);
        printf("%s: %s\n", what, good ? "PASS" : "FAIL");
        all = all && good;
        cudaMemset(dout, 0, out.size());
    };
    cudaMemset(dout, 0, out.size());

    offsetCopy<float><<<1000, 256>>>((float *)dout, (const float *)din, 1);
    verify("offsetCopy<float> 1", [&](size_t i) { return i >= 4 && i < 4 + 4 * 256000 ? in[i] : 0; });

    offsetCopy<double><<<1000, 256>>>((double *)dout, (const double *)din, 17);
    verify("offsetCopy<double> 17", [&](size_t i) { return i >= 136 && i < 136 + 8 * 256000 ? in[i] : 0; });

    strideCopy<float><<<512, 256>>>((float *)dout, (const float *)din, 2);
    verify("strideCopy<float> 2", [&](size_t i) { return i / 4 % 2 == 0 && i < 2 * 4 * 512 * 256 ? in[i] : 0; });

    strideCopy<int2><<<512, 128>>>((int2 *)dout, (const int2 *)din, 7);
    verify("strideCopy<int2> 7", [&](size_t i) { return i / 8 % 7 == 0 && i / 8 / 7 < 512 * 128 ? in[i] : 0; });

    const int shorts = 100003;
    reverse<<<(shorts + 191) / 192, 192>>>((short *)dout, (const short *)din, shorts);
    verify("reverse", [&](size_t i) { return i < 2 * shorts ? in[2 * (shorts - 1 - i / 2) + i % 2] : 0; });

    copyBytes<<<132, 256>>>(dout, din, 1000001);
    verify("copyBytes", [&](size_t i) { return i < 1000001 ? in[i] : 0; });

    copyDouble2<<<(N + 255) / 256, 256>>>((double2 *)dout, (const double2 *)din, N);
    verify("copyDouble2", [&](size_t i) { return in[i]; });
    return all ? 0 : 1;
}
