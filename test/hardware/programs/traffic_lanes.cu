/*
 * Homework 5: Nagel-Schreckenberg traffic on many independent ring roads.
 *
 * Every road is a ring of CELLS cells. A cell holds -1 (empty) or the speed
 * of the car standing there. One kernel does one time step (read old array,
 * write new array), afterwards the two pointers are swapped. At the end we
 * measure the flow and a speed histogram, and compare everything with the
 * same simulation done on the CPU.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cuda_runtime.h>

#define ROADS   96
#define CELLS   1000
#define VMAX    5
#define STEPS   20
#define SEED    2024u

static void die_on_error(cudaError_t e, int line)
{
    if (e != cudaSuccess) {
        printf("cuda error in line %d: %s\n", line, cudaGetErrorString(e));
        exit(1);
    }
}
#define OK(x) die_on_error((x), __LINE__)

/* a hash instead of a state: random number for (step, cell) */
__host__ __device__ unsigned int noise(unsigned int step, unsigned int id)
{
    unsigned int x = id * 2654435761u ^ (step + 1u) * 40503u ^ SEED;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    x *= 0x9E3779B1u;
    x ^= x >> 15;
    return x;
}

/* number of free cells in front of the car, looking at most VMAX far */
__host__ __device__ int gap_ahead(const signed char *road, int pos)
{
    int g = 0;
    int p = pos;
    while (g < VMAX) {
        p++;
        if (p == CELLS) p = 0;
        if (road[p] >= 0) break;
        g++;
    }
    return g;
}

__host__ __device__ int new_speed(const signed char *road, int pos, unsigned int r)
{
    int v = road[pos];
    int g = gap_ahead(road, pos);
    if (v < VMAX) v++;
    if (v > g) v = g;
    if (v > 0 && (r & 1023u) < 200u) v--;
    return v;
}

/* version 1: one thread per cell, cars scatter to the new array */
__global__ void step_scatter(const signed char *old_cells, signed char *new_cells, int step)
{
    int pos = blockIdx.x * blockDim.x + threadIdx.x;
    int road = blockIdx.y;
    if (pos >= CELLS) return;
    const signed char *r = old_cells + road * CELLS;
    if (r[pos] < 0) return;
    int v = new_speed(r, pos, noise(step, road * CELLS + pos));
    int to = pos + v;
    if (to >= CELLS) to -= CELLS;
    new_cells[road * CELLS + to] = (signed char)v;
}

/* version 2: the block loads its piece of the road plus a front border */
__global__ void step_shared(const signed char *old_cells, signed char *new_cells, int step)
{
    __shared__ signed char piece[256 + VMAX];
    int first = blockIdx.x * 256;
    int road = blockIdx.y;
    int t = threadIdx.x;
    for (int k = t; k < 256 + VMAX; k += blockDim.x) {
        int p = (first + k) % CELLS;
        piece[k] = old_cells[road * CELLS + p];
    }
    __syncthreads();
    int pos = first + t;
    if (pos < CELLS && piece[t] >= 0) {
        int g = 0;
        while (g < VMAX && piece[t + 1 + g] < 0) g++;
        int v = piece[t];
        if (v < VMAX) v++;
        if (v > g) v = g;
        if (v > 0 && (noise(step, road * CELLS + pos) & 1023u) < 200u) v--;
        new_cells[road * CELLS + (pos + v) % CELLS] = (signed char)v;
    }
}

/* flow of each road = sum of speeds. one thread per road: slow, but easy */
__global__ void flow_per_road(const signed char *cells, int *flow)
{
    int road = blockIdx.x * blockDim.x + threadIdx.x;
    if (road >= ROADS) return;
    int sum = 0;
    for (int i = 0; i < CELLS; i++) {
        int v = cells[road * CELLS + i];
        if (v > 0) sum += v;
    }
    flow[road] = sum;
}

/* histogram of speeds, bin VMAX+1 counts the empty cells */
__global__ void speed_histogram(const signed char *cells, int n, int *hist)
{
    __shared__ int local[VMAX + 2];
    if (threadIdx.x < VMAX + 2) local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int v = cells[i];
        atomicAdd(&local[v < 0 ? VMAX + 1 : v], 1);
    }
    __syncthreads();
    if (threadIdx.x < VMAX + 2) atomicAdd(&hist[threadIdx.x], local[threadIdx.x]);
}

static void cpu_step(const signed char *a, signed char *b, int step)
{
    int road, pos;
    memset(b, 0xFF, ROADS * CELLS);
    for (road = 0; road < ROADS; road++) {
        const signed char *r = a + road * CELLS;
        for (pos = 0; pos < CELLS; pos++) {
            if (r[pos] >= 0) {
                int v = new_speed(r, pos, noise(step, road * CELLS + pos));
                b[road * CELLS + (pos + v) % CELLS] = (signed char)v;
            }
        }
    }
}

int main(void)
{
    size_t bytes = (size_t)ROADS * CELLS;
    signed char *h_a = (signed char *)malloc(bytes);
    signed char *h_b = (signed char *)malloc(bytes);
    signed char *h_gpu = (signed char *)malloc(bytes);
    int *h_flow = (int *)malloc(ROADS * sizeof(int));
    int h_hist[VMAX + 2];
    int ref_hist[VMAX + 2];
    signed char *d_old, *d_new, *d_tmp;
    int *d_flow, *d_hist;
    int i, s, bad = 0;

    srand(77);
    for (i = 0; i < ROADS * CELLS; i++) {
        int road = i / CELLS;
        int percent = 5 + road * 70 / ROADS;     /* denser and denser roads */
        h_a[i] = (rand() % 100 < percent) ? (signed char)(rand() % (VMAX + 1)) : -1;
    }

    OK(cudaMalloc((void **)&d_old, bytes));
    OK(cudaMalloc((void **)&d_new, bytes));
    OK(cudaMalloc((void **)&d_flow, ROADS * sizeof(int)));
    OK(cudaMalloc((void **)&d_hist, sizeof(h_hist)));
    OK(cudaMemcpy(d_old, h_a, bytes, cudaMemcpyHostToDevice));
    OK(cudaMemset(d_hist, 0, sizeof(h_hist)));

    dim3 block(256);
    dim3 grid((CELLS + 255) / 256, ROADS);
    for (s = 0; s < STEPS; s++) {
        OK(cudaMemset(d_new, 0xFF, bytes));
        if (s % 2 == 0)
            step_scatter<<<grid, block>>>(d_old, d_new, s);
        else
            step_shared<<<grid, block>>>(d_old, d_new, s);
        OK(cudaGetLastError());
        d_tmp = d_old;
        d_old = d_new;
        d_new = d_tmp;
    }
    flow_per_road<<<(ROADS + 63) / 64, 64>>>(d_old, d_flow);
    speed_histogram<<<24, 128>>>(d_old, ROADS * CELLS, d_hist);
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(h_gpu, d_old, bytes, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(h_flow, d_flow, ROADS * sizeof(int), cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(h_hist, d_hist, sizeof(h_hist), cudaMemcpyDeviceToHost));

    for (s = 0; s < STEPS; s++) {
        signed char *t;
        cpu_step(h_a, h_b, s);
        t = h_a; h_a = h_b; h_b = t;
    }
    memset(ref_hist, 0, sizeof(ref_hist));
    for (i = 0; i < ROADS * CELLS; i++) {
        if (h_a[i] != h_gpu[i]) bad++;
        ref_hist[h_a[i] < 0 ? VMAX + 1 : h_a[i]]++;
    }
    for (i = 0; i < ROADS; i++) {
        int k, sum = 0;
        for (k = 0; k < CELLS; k++)
            if (h_a[i * CELLS + k] > 0) sum += h_a[i * CELLS + k];
        if (sum != h_flow[i]) bad++;
        if (i % 24 == 0) printf("road %2d: flow %.3f cars per step\n", i, h_flow[i] / (double)CELLS);
    }
    for (i = 0; i < VMAX + 2; i++) {
        if (i <= VMAX) printf("speed %d: %d cars\n", i, h_hist[i]);
        if (h_hist[i] != ref_hist[i]) bad++;
    }

    cudaFree(d_old); cudaFree(d_new); cudaFree(d_flow); cudaFree(d_hist);
    free(h_a); free(h_b); free(h_gpu); free(h_flow);
    printf("%s (%d differences)\n", bad ? "FAIL" : "PASS", bad);
    return bad ? 1 : 0;
}
