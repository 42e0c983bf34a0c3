/** What extensions of PyTorch use of its headers in kernels: shuffles of older and newer devices in one, atomics of any type, half types. */
export const aten = `
template <typename T> __device__ T WARP_SHFL(T value, int from, int width = 32, unsigned mask = 0xffffffff) {
  return __shfl_sync(mask, value, from, width);
}
template <typename T> __device__ T WARP_SHFL_XOR(T value, int lanes, int width = 32, unsigned mask = 0xffffffff) {
  return __shfl_xor_sync(mask, value, lanes, width);
}
template <typename T> __device__ T WARP_SHFL_UP(T value, unsigned delta, int width = 32, unsigned mask = 0xffffffff) {
  return __shfl_up_sync(mask, value, delta, width);
}
template <typename T> __device__ T WARP_SHFL_DOWN(T value, unsigned delta, int width = 32, unsigned mask = 0xffffffff) {
  return __shfl_down_sync(mask, value, delta, width);
}
__device__ inline unsigned WARP_BALLOT(int predicate, unsigned mask = 0xffffffff) { return __ballot_sync(mask, predicate); }

template <typename T> __device__ T gpuAtomicAdd(T* address, T value) { return atomicAdd(address, value); }
template <typename T> __device__ void gpuAtomicAddNoReturn(T* address, T value) { atomicAdd(address, value); }

namespace c10 {
using Half = __half;
using BFloat16 = __nv_bfloat16;
}
namespace at {
using Half = __half;
using BFloat16 = __nv_bfloat16;
}
`;
