// One warp, one access of every shape: which lanes take part, and which elements they want.
// The shapes come from a table, so each access depends on data; what the profiler counts for each
// (requests, lanes, wavefronts, sectors, and its ideals) is read off the single instructions, which
// stay in the order of the table. README.md draws its rules from this program.
#include "common.h"

#define SHAPES 28
#define ELEMENTS 1024

// Element wanted by a lane, -1 when it does not take part.
static int shape(int p, int l)
{
    switch (p) {
    case 0: return l;                               // consecutive
    case 1: return 0;                               // uniform
    case 2: return l < 16 ? l : -1;                 // first half
    case 3: return l >= 16 ? l : -1;                // second half
    case 4: return l % 2 == 0 ? l : -1;             // even lanes
    case 5: return l == 0 ? 0 : -1;                 // one lane
    case 6: return l % 8 == 0 ? l : -1;             // one lane of each quarter
    case 7: return l < 8 ? l : -1;                  // first quarter
    case 8: return l < 9 ? l : -1;                  // nine lanes
    case 9: return l < 17 ? l : -1;                 // seventeen lanes
    case 10: return l == 15 || l == 16 ? l : -1;    // two lanes across the middle
    case 11: return l / 2;                          // pairs together
    case 12: return l / 4;                          // fours together
    case 13: return l / 16 * 32;                    // halves, each on one element
    case 14: return l * 2;                          // strides
    case 15: return l * 4;
    case 16: return l * 8;
    case 17: return l * 32;
    case 18: return l % 16;                         // both halves the same
    case 19: return l % 2 * 32;                     // two elements alternating
    case 20: return l ^ 1;                          // swapped neighbours
    case 21: return l + 1;                          // shifted by one
    case 22: return l % 4 < 2 ? l : -1;             // two of four lanes
    case 23: return -1;                             // nobody
    case 24: return l & ~2;                         // lanes n and n xor 2 together
    case 25: return l % 4 * 8;                      // four elements far apart
    case 26: return l / 2 * 8;                      // sixteen elements, two lanes each
    default: return l % 4 == 1 ? l * 8 : -1;        // eight lanes, far apart
    }
}

template <int BYTES> struct Access;
template <> struct Access<1> {
    static __device__ float global(const void *p) { unsigned int v; asm volatile("ld.global.u8 %0, [%1];" : "=r"(v) : "l"(p)); return v; }
};
template <> struct Access<2> {
    static __device__ float global(const void *p) { unsigned short v; asm volatile("ld.global.u16 %0, [%1];" : "=h"(v) : "l"(p)); return v; }
};
template <> struct Access<4> {
    static __device__ float global(const void *p) { float v; asm volatile("ld.global.f32 %0, [%1];" : "=f"(v) : "l"(p)); return v; }
    static __device__ float shared(unsigned int p) { float v; asm volatile("ld.shared.f32 %0, [%1];" : "=f"(v) : "r"(p)); return v; }
    static __device__ void globalStore(void *p, float v) { asm volatile("st.global.f32 [%0], %1;" ::"l"(p), "f"(v)); }
    static __device__ void sharedStore(unsigned int p, float v) { asm volatile("st.shared.f32 [%0], %1;" ::"r"(p), "f"(v)); }
};
template <> struct Access<8> {
    static __device__ float global(const void *p) { float v, w; asm volatile("ld.global.v2.f32 {%0, %1}, [%2];" : "=f"(v), "=f"(w) : "l"(p)); return v + w; }
    static __device__ float shared(unsigned int p) { float v, w; asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v), "=f"(w) : "r"(p)); return v + w; }
    static __device__ void globalStore(void *p, float v) { asm volatile("st.global.v2.f32 [%0], {%1, %1};" ::"l"(p), "f"(v)); }
    static __device__ void sharedStore(unsigned int p, float v) { asm volatile("st.shared.v2.f32 [%0], {%1, %1};" ::"r"(p), "f"(v)); }
};
template <> struct Access<16> {
    static __device__ float global(const void *p)
    {
        float a, b, c, d;
        asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(p));
        return a + b + c + d;
    }
    static __device__ float shared(unsigned int p)
    {
        float a, b, c, d;
        asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "r"(p));
        return a + b + c + d;
    }
    static __device__ void globalStore(void *p, float v) { asm volatile("st.global.v4.f32 [%0], {%1, %1, %1, %1};" ::"l"(p), "f"(v)); }
    static __device__ void sharedStore(unsigned int p, float v) { asm volatile("st.shared.v4.f32 [%0], {%1, %1, %1, %1};" ::"r"(p), "f"(v)); }
};

template <int BYTES>
__global__ void globalLoads(const int *table, const char *data, float *out)
{
    float sum = 0;
#pragma unroll
    for (int p = 0; p < SHAPES; ++p) {
        int i = table[p * 32 + threadIdx.x];
        if (i >= 0) sum += Access<BYTES>::global(data + i * BYTES);
    }
    out[threadIdx.x] = sum;
}

template <int BYTES>
__global__ void globalStores(const int *table, char *data, float *out)
{
#pragma unroll
    for (int p = 0; p < SHAPES; ++p) {
        int i = table[p * 32 + threadIdx.x];
        if (i >= 0) Access<BYTES>::globalStore(data + i * BYTES, 1.0f);
    }
    out[threadIdx.x] = 0;
}

template <int BYTES>
__global__ void sharedLoads(const int *table, const char *data, float *out)
{
    __shared__ __align__(16) float s[ELEMENTS * BYTES / 4];
    for (int k = threadIdx.x; k < ELEMENTS * BYTES / 4; k += 32) s[k] = ((const float *)data)[k];
    __syncwarp();
    unsigned int base = (unsigned int)__cvta_generic_to_shared(s);
    float sum = 0;
#pragma unroll
    for (int p = 0; p < SHAPES; ++p) {
        int i = table[p * 32 + threadIdx.x];
        if (i >= 0) sum += Access<BYTES>::shared(base + i * BYTES);
    }
    out[threadIdx.x] = sum;
}

template <int BYTES>
__global__ void sharedStores(const int *table, char *, float *out)
{
    __shared__ __align__(16) float s[ELEMENTS * BYTES / 4];
    unsigned int base = (unsigned int)__cvta_generic_to_shared(s);
#pragma unroll
    for (int p = 0; p < SHAPES; ++p) {
        int i = table[p * 32 + threadIdx.x];
        if (i >= 0) Access<BYTES>::sharedStore(base + i * BYTES, 1.0f);
    }
    __syncwarp();
    out[threadIdx.x] = s[threadIdx.x] - 1.0f;
}

// Atomics: what is done, whether its result is used.
struct AddLane { typedef int T; static __device__ int run(int *p, int l) { return atomicAdd(p, l); } };
struct AddOne { typedef int T; static __device__ int run(int *p, int) { return atomicAdd(p, 1); } };
struct MaxLane { typedef int T; static __device__ int run(int *p, int l) { return atomicMax(p, l); } };
struct Swap { typedef int T; static __device__ int run(int *p, int l) { return atomicCAS(p, l, 0); } };
struct AddFloat { typedef float T; static __device__ int run(float *p, int l) { return (int)atomicAdd(p, (float)l); } };
struct AddLong { typedef unsigned long long T; static __device__ int run(T *p, int l) { return (int)atomicAdd(p, (T)l); } };
struct AddDouble { typedef double T; static __device__ int run(double *p, int l) { return (int)atomicAdd(p, (double)l); } };

template <typename Op, bool USED>
__global__ void sharedAtomics(const int *table, char *, float *out)
{
    typedef typename Op::T T;
    __shared__ T s[ELEMENTS];
    for (int k = threadIdx.x; k < ELEMENTS; k += 32) s[k] = 0;
    __syncwarp();
    int sum = 0;
#pragma unroll
    for (int p = 0; p < SHAPES; ++p) {
        int i = table[p * 32 + threadIdx.x];
        if (i >= 0) {
            int old = Op::run(&s[i], threadIdx.x);
            if (USED) sum += old;
        }
        __syncwarp();
    }
    out[threadIdx.x] = sum * 0.0f;
}

template <typename Op, bool USED>
__global__ void globalAtomics(const int *table, char *data, float *out)
{
    typedef typename Op::T T;
    int sum = 0;
#pragma unroll
    for (int p = 0; p < SHAPES; ++p) {
        int i = table[p * 32 + threadIdx.x];
        if (i >= 0) {
            int old = Op::run((T *)data + i, threadIdx.x);
            if (USED) sum += old;
        }
        __syncwarp();
    }
    out[threadIdx.x] = sum * 0.0f;
}

int main()
{
    std::vector<int> table(SHAPES * 32);
    for (int p = 0; p < SHAPES; ++p)
        for (int l = 0; l < 32; ++l) table[p * 32 + l] = shape(p, l);
    int *t = toDevice(table);
    char *d = deviceZeros<char>(ELEMENTS * 16);
    float *o = deviceZeros<float>(32);
    bool ok = true;
    const std::vector<float> zeros(32, 0.0f);
#define TRY(kernel, ...)                                         \
    do {                                                         \
        CUDA_OK(cudaMemset(d, 0, ELEMENTS * 16));                \
        CUDA_OK(cudaMemset(o, 0xff, 32 * sizeof(float)));        \
        kernel<__VA_ARGS__><<<1, 32>>>(t, d, o);                 \
        ok &= report(#kernel " " #__VA_ARGS__, toHost(o, 32) == zeros); \
    } while (0)
    TRY(globalLoads, 1);
    TRY(globalLoads, 2);
    TRY(globalLoads, 4);
    TRY(globalLoads, 8);
    TRY(globalLoads, 16);
    TRY(globalStores, 4);
    TRY(globalStores, 8);
    TRY(globalStores, 16);
    TRY(sharedLoads, 4);
    TRY(sharedLoads, 8);
    TRY(sharedLoads, 16);
    TRY(sharedStores, 4);
    TRY(sharedStores, 8);
    TRY(sharedStores, 16);
    TRY(sharedAtomics, AddLane, false);
    TRY(sharedAtomics, AddLane, true);
    TRY(sharedAtomics, AddOne, false);
    TRY(sharedAtomics, AddOne, true);
    TRY(sharedAtomics, MaxLane, false);
    TRY(sharedAtomics, Swap, true);
    TRY(sharedAtomics, AddFloat, false);
    TRY(sharedAtomics, AddLong, false);
    TRY(sharedAtomics, AddDouble, false);
    TRY(globalAtomics, AddLane, false);
    TRY(globalAtomics, AddLane, true);
    TRY(globalAtomics, AddOne, false);
    TRY(globalAtomics, MaxLane, false);
    TRY(globalAtomics, Swap, true);
    TRY(globalAtomics, AddFloat, false);
    TRY(globalAtomics, AddLong, false);
    TRY(globalAtomics, AddDouble, false);
    return ok ? 0 : 1;
}
