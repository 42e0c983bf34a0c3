#ifndef KERNELS_CUH
#define KERNELS_CUH
#include "tea.h"

/* column/row of this thread, 0-based in the padded array, for a loop nest extended by ext */
#define __kernel_indexes(ext) \
    const int column = blockIdx.x * blockDim.x + threadIdx.x + HALO_DEPTH - (ext); \
    const int row = blockIdx.y * blockDim.y + threadIdx.y + HALO_DEPTH - (ext); \
    const int stride = x_cells + 2 * HALO_DEPTH; \
    const int loc_id = threadIdx.x + threadIdx.y * BLOCK_X; \
    const int block_id = blockIdx.x + blockIdx.y * gridDim.x; \
    (void)loc_id; (void)block_id

#define THARR2D(x_off, y_off) ((x_off) + column + (row + (y_off)) * stride)
#define WITHIN(ext) (column < x_cells + HALO_DEPTH + (ext) && row < y_cells + HALO_DEPTH + (ext))

/* sequential addressing reduction of one value a thread, block result to dest[block_id] */
#define BLOCK_REDUCE(shared, dest) do { \
    __syncthreads(); \
    for (int off_ = BLOCK_SZ / 2; off_ > 0; off_ /= 2) { \
        if (loc_id < off_) (shared)[loc_id] += (shared)[loc_id + off_]; \
        __syncthreads(); \
    } \
    if (loc_id == 0) (dest)[block_id] = (shared)[0]; } while (0)

#define SMVP(a) \
    ((1.0 + ry * (ky[THARR2D(0, 1)] + ky[THARR2D(0, 0)]) + rx * (kx[THARR2D(1, 0)] + kx[THARR2D(0, 0)])) * (a)[THARR2D(0, 0)] \
     - ry * (ky[THARR2D(0, 1)] * (a)[THARR2D(0, 1)] + ky[THARR2D(0, 0)] * (a)[THARR2D(0, -1)]) \
     - rx * (kx[THARR2D(1, 0)] * (a)[THARR2D(1, 0)] + kx[THARR2D(0, 0)] * (a)[THARR2D(-1, 0)]))

#define DIAG() (1.0 + ry * (ky[THARR2D(0, 1)] + ky[THARR2D(0, 0)]) + rx * (kx[THARR2D(1, 0)] + kx[THARR2D(0, 0)]))
#endif
