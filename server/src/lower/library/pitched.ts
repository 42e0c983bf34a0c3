/** Records of the runtime for memory in rows (driver_types.h, driver_functions.h), which kernels take as parameters. */
export const pitched = `
struct cudaPitchedPtr { void *ptr; size_t pitch; size_t xsize; size_t ysize; };
struct cudaExtent { size_t width; size_t height; size_t depth; };
struct cudaPos { size_t x; size_t y; size_t z; };
__host__ __device__ inline cudaPitchedPtr make_cudaPitchedPtr(void *p, size_t pitch, size_t xsize, size_t ysize) { cudaPitchedPtr s; s.ptr = p; s.pitch = pitch; s.xsize = xsize; s.ysize = ysize; return s; }
__host__ __device__ inline cudaExtent make_cudaExtent(size_t w, size_t h, size_t d) { cudaExtent s; s.width = w; s.height = h; s.depth = d; return s; }
__host__ __device__ inline cudaPos make_cudaPos(size_t x, size_t y, size_t z) { cudaPos s; s.x = x; s.y = y; s.z = z; return s; }
`;
