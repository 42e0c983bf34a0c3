/**
 * memset and memcpy on memory: NVVM makes them loops over bytes (nvcc 13.0, sm_90; small sizes written out), whatever pointers to elements they were given, since
 * their parameters say nothing of alignment. Of memcpy up to 16 bytes are all loaded before they are stored (PTX of 85 kernels: 5 types of elements, 17
 * sizes); of a local variable in registers the bytes are what is stored, and what is loaded as far as somebody reads it (39 kernels).
 */
export const bytes = `
namespace __warplens {
__device__ inline void setBytes(void* to, int value, size_t count) {
  unsigned char* at = (unsigned char*)to;
  for (size_t i = 0; i < count; i++) at[i] = value;
}
__device__ inline void copyBytes(void* to, const void* from, size_t count) {
  unsigned char* at = (unsigned char*)to;
  const unsigned char* of = (const unsigned char*)from;
  #pragma unroll 1
  for (size_t i = 0; i < count; i++) at[i] = of[i];
}
template <size_t N> __device__ void copyFew(void* to, const void* from) {
  unsigned char held[N];
  #pragma unroll
  for (size_t i = 0; i < N; i++) held[i] = ((const unsigned char*)from)[i];
  #pragma unroll
  for (size_t i = 0; i < N; i++) ((unsigned char*)to)[i] = held[i];
}
template <size_t N> __device__ void copyIn(void* to, const void* from) {
  unsigned char held[N];
  #pragma unroll
  for (size_t i = 0; i < N; i++) held[i] = ((const unsigned char*)from)[i];
  memcpy(to, held, N);
}
template <size_t N> __device__ void copyOut(void* to, const void* from) {
  unsigned char held[N];
  memcpy(held, from, N);
  #pragma unroll
  for (size_t i = 0; i < N; i++) ((unsigned char*)to)[i] = held[i];
}
}
`;
