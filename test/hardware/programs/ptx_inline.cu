#include <cstdio>
#include <cstdint>
#include <cuda_runtime.h>
__device__ __forceinline__ uint32_t lane_id() { uint32_t r; asm volatile("mov.u32 %0, %%laneid;" : "=r"(r)); return r; }
__device__ __forceinline__ uint32_t smem_u32(const void* p) { return (uint32_t)__cvta_generic_to_shared(p); }
__device__ __forceinline__ float4 ld_nc(const float4* p) { float4 v; asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(p)); return v; }
__device__ __forceinline__ void st_cs(float4* p, float4 v) { asm volatile("st.global.cs.v4.f32 [%0], {%1,%2,%3,%4};" :: "l"(p), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w)); }
__device__ __forceinline__ int bfe(int x, int s, int l) { int r; asm("bfe.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(s), "r"(l)); return r; }
__global__ void copy_nc(const float4* __restrict__ a, float4* __restrict__ b, int n) {
  int i = blockIdx.x*blockDim.x + threadIdx.x;
  if (i < n) st_cs(b + i, ld_nc(a + i));
}
__global__ void lane_store(int* o) {
  int w = threadIdx.x >> 5;
  o[(blockIdx.x*(blockDim.x >> 5) + w)*32 + lane_id()] = w;
}
__global__ void lds_asm(const float* in, float* out) {
  __shared__ float s[1024];
  int t = threadIdx.x;
  s[t] = in[blockIdx.x*256 + t];
  __syncthreads();
  uint32_t a = smem_u32(&s[(t*33) & 255]);
  float v; asm volatile("ld.shared.f32 %0, [%1];" : "=f"(v) : "r"(a));
  out[blockIdx.x*256 + t] = v;
}
__global__ void cp_async_tile(const float4* __restrict__ in, float* __restrict__ out, int tiles) {
  __shared__ __align__(16) float s[2][512];
  int t = threadIdx.x;
  auto issue = [&](int tile, int buf) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(smem_u32(&s[buf][t*4])), "l"(in + (size_t)tile*128 + t));
    asm volatile("cp.async.commit_group;");
  };
  issue(blockIdx.x, 0);
  int buf = 0;
  for (int k = blockIdx.x; k < tiles; k += gridDim.x) {
    if (k + gridDim.x < tiles) issue(k + gridDim.x, buf ^ 1);
    asm volatile("cp.async.wait_group 0;");
    __syncthreads();
    float acc = 0;
    for (int j = 0; j < 4; ++j) acc += s[buf][j*128 + t];
    out[k*128 + t] = acc;
    __syncthreads();
    buf ^= 1;
  }
}
__global__ void bfe_gather(const int* in, int* out, int n) {
  int i = blockIdx.x*blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[(i & ~31) + bfe(i, 1, 4)];
}
__global__ void lop_swizzle(const float* in, float* out) {
  __shared__ float s[32*32];
  int x = threadIdx.x, y = threadIdx.y;
  uint32_t c; asm("xor.b32 %0, %1, %2;" : "=r"(c) : "r"(x), "r"(y));
  s[y*32 + c] = in[y*32 + x];
  __syncthreads();
  uint32_t d; asm("xor.b32 %0, %1, %2;" : "=r"(d) : "r"(x), "r"(y));
  out[y*32 + x] = s[x*32 + d];
}
__global__ void red_add(float* acc, const float* v, int n) {
  int i = blockIdx.x*blockDim.x + threadIdx.x;
  if (i < n) asm volatile("red.global.add.f32 [%0], %1;" :: "l"(acc + (i & 63)), "f"(v[i]) : "memory");
}
__global__ void ldmatrix_like(const uint16_t* g, uint32_t* o) {
  __shared__ __align__(16) uint16_t s[16*16];
  int t = threadIdx.x;
  reinterpret_cast<uint4*>(s)[t] = reinterpret_cast<const uint4*>(g)[blockIdx.x*32 + t];
  __syncwarp();
  uint32_t r0, r1, r2, r3;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(smem_u32(s + (t % 16)*16 + (t / 16)*8)));
  reinterpret_cast<uint4*>(o)[blockIdx.x*32 + t] = make_uint4(r0, r1, r2, r3);
}
int main() {
  float *a, *b; cudaMalloc(&a, 1<<24); cudaMalloc(&b, 1<<24); int n = 1 << 20;
  copy_nc<<<n/4/256,256>>>((float4*)a, (float4*)b, n/4);
  lane_store<<<128,128>>>((int*)b);
  lds_asm<<<128,256>>>(a, b);
  cp_async_tile<<<64,128>>>((float4*)a, b, 1024);
  bfe_gather<<<n/256,256>>>((int*)a, (int*)b, n);
  lop_swizzle<<<1,dim3(32,32)>>>(a, b);
  red_add<<<n/256,256>>>(a, b, n);
  ldmatrix_like<<<64,32>>>((uint16_t*)a, (uint32_t*)b);
  cudaDeviceSynchronize(); puts("ok");
}
