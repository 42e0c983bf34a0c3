// bfloat16 in packs of 128 bits, which stay in registers.
#include <cuda_bf16.h>

typedef __nv_bfloat16 floatX;

template <class ElementType>
struct alignas(16) Packed128 {
    static constexpr int size = sizeof(int4) / sizeof(ElementType);
    ElementType payload[size];
    __device__ ElementType &operator[](int index) { return payload[index]; }
    __device__ const ElementType &operator[](int index) const { return payload[index]; }
};

template <class ElementType>
__device__ Packed128<ElementType> load128(const ElementType *address)
{
    return *reinterpret_cast<const Packed128<ElementType> *>(address);
}

template <class ElementType>
__device__ void store128(ElementType *target, Packed128<ElementType> value)
{
    *reinterpret_cast<Packed128<ElementType> *>(target) = value;
}

__global__ void gelu(floatX *out, const floatX *inp)
{
    int idx = (blockIdx.x * blockDim.x + threadIdx.x) * Packed128<floatX>::size;
    Packed128<floatX> packed_out;
    Packed128<floatX> packed_inp = load128(inp + idx);
    for (int k = 0; k < packed_inp.size; ++k) {
        float xi = (float)packed_inp[k];
        float cube = 0.044715f * xi * xi * xi;
        packed_out[k] = (floatX)(0.5f * xi * (1.0f + tanhf(0.797884f * (xi + cube))));
    }
    store128(out + idx, packed_out);
}

void gelu_forward(floatX *out, const floatX *inp, int N)
{
    const int block_size = 128;
    gelu<<<N / (block_size * Packed128<floatX>::size), block_size>>>(out, inp);
}
