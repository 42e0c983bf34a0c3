/* mini heat conduction app: one chunk, halo depth 2, five point implicit stencil */
#ifndef TEA_H
#define TEA_H
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define HALO_DEPTH 2
#define BLOCK_X 64
#define BLOCK_Y 4
#define BLOCK_SZ (BLOCK_X * BLOCK_Y)

enum { CHUNK_LEFT = 0, CHUNK_RIGHT, CHUNK_BOTTOM, CHUNK_TOP };
enum { FIELD_DENSITY = 0, FIELD_ENERGY, FIELD_U, FIELD_P, FIELD_SD, NUM_FIELDS };

typedef struct {
    int x_cells, y_cells;                 /* interior */
    double dx, dy, dt;
    double *density, *energy0, *energy, *u, *u0, *p, *r, *w, *kx, *ky, *sd, *z;
    double *reduce_buf;                   /* one value a block */
    double *reduce_out;
    int num_blocks;
} chunk_t;

typedef struct { double x0, x1, y0, y1, density, energy; } state_t;

#define CUDA_ERR_CHECK() do { cudaError_t e_ = cudaGetLastError(); if (e_ != cudaSuccess) { \
    fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)

/* launch over the interior extended by ext on every side */
#define CUDALAUNCH(ext, funcname, ...) do { \
    dim3 grid_(((c)->x_cells + 2 * (ext) + BLOCK_X - 1) / BLOCK_X, ((c)->y_cells + 2 * (ext) + BLOCK_Y - 1) / BLOCK_Y); \
    dim3 block_(BLOCK_X, BLOCK_Y); \
    funcname<<<grid_, block_>>>((c)->x_cells, (c)->y_cells, __VA_ARGS__); CUDA_ERR_CHECK(); } while (0)

void chunk_init(chunk_t *c, int nx, int ny);
void generate_chunk(chunk_t *c, const state_t *states, int n);
void update_halo(chunk_t *c, const int fields[NUM_FIELDS], int depth);
double reduce_sum(chunk_t *c, int blocks);
double cg_init(chunk_t *c, double rx, double ry, int preconditioner);
double cg_calc_w(chunk_t *c, double rx, double ry);
double cg_calc_ur(chunk_t *c, double alpha, int preconditioner);
void cg_calc_p(chunk_t *c, double beta, int preconditioner);
void cheby_init(chunk_t *c, double rx, double ry, double theta);
void cheby_iterate(chunk_t *c, double rx, double ry, double alpha, double beta);
void field_summary(chunk_t *c, double out[3]);
#endif
