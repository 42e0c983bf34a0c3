/**
 * Records of the runtime for memory in rows (driver_types.h, driver_functions.h), which kernels take as parameters, and what allocates, fills and copies
 * it by them; arrays of textures are left out.
 */
export const pitched = `
struct cudaPitchedPtr { void *ptr; size_t pitch; size_t xsize; size_t ysize; };
struct cudaExtent { size_t width; size_t height; size_t depth; };
struct cudaPos { size_t x; size_t y; size_t z; };
__host__ __device__ inline cudaPitchedPtr make_cudaPitchedPtr(void *p, size_t pitch, size_t xsize, size_t ysize) { cudaPitchedPtr s; s.ptr = p; s.pitch = pitch; s.xsize = xsize; s.ysize = ysize; return s; }
__host__ __device__ inline cudaExtent make_cudaExtent(size_t w, size_t h, size_t d) { cudaExtent s; s.width = w; s.height = h; s.depth = d; return s; }
__host__ __device__ inline cudaPos make_cudaPos(size_t x, size_t y, size_t z) { cudaPos s; s.x = x; s.y = y; s.z = z; return s; }
struct cudaMemcpy3DParms { cudaArray_t srcArray; cudaPos srcPos; cudaPitchedPtr srcPtr; cudaArray_t dstArray; cudaPos dstPos; cudaPitchedPtr dstPtr; cudaExtent extent; int kind; };
inline cudaError_t cudaMalloc3D(cudaPitchedPtr *p, cudaExtent e) { p->xsize = e.width; p->ysize = e.height; return cudaMallocPitch(&p->ptr, &p->pitch, e.width, e.height * e.depth); }
inline cudaError_t cudaMemset3D(cudaPitchedPtr p, int value, cudaExtent e) {
  for (size_t z = 0; z < e.depth; z++) cudaMemset2D((char *)p.ptr + z * p.pitch * p.ysize, p.pitch, value, e.width, e.height);
  return (cudaError_t)0;
}
inline cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms *c) {
  if (!c->srcPtr.ptr || !c->dstPtr.ptr) return (cudaError_t)0;
  for (size_t z = 0; z < c->extent.depth; z++) {
    const char *from = (const char *)c->srcPtr.ptr + ((c->srcPos.z + z) * c->srcPtr.ysize + c->srcPos.y) * c->srcPtr.pitch + c->srcPos.x;
    char *to = (char *)c->dstPtr.ptr + ((c->dstPos.z + z) * c->dstPtr.ysize + c->dstPos.y) * c->dstPtr.pitch + c->dstPos.x;
    cudaMemcpy2D(to, c->dstPtr.pitch, from, c->srcPtr.pitch, c->extent.width, c->extent.height, (cudaMemcpyKind)c->kind);
  }
  return (cudaError_t)0;
}
`;
