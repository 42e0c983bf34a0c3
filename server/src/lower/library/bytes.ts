/** memset on memory: NVVM makes it a loop of byte stores (nvcc 13.0, sm_90; small sizes written out, for any element type). */
export const bytes = `
namespace __warplens {
__device__ inline void setBytes(void* to, int value, size_t count) {
  unsigned char* at = (unsigned char*)to;
  for (size_t i = 0; i < count; i++) at[i] = value;
}
}
`;
