// Breadth-first search on a graph in CSR form: by vertex, by edge frontier, and a pull step of PageRank.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

#define MAX_THREADS_PER_BLOCK 512

typedef struct { int starting; int no_of_edges; } Node;

__global__ void Kernel(Node *g_graph_nodes, int *g_graph_edges, bool *g_graph_mask, bool *g_updating_graph_mask,
                       bool *g_graph_visited, int *g_cost, int no_of_nodes)
{
    int tid = blockIdx.x * MAX_THREADS_PER_BLOCK + threadIdx.x;
    if (tid < no_of_nodes && g_graph_mask[tid]) {
        g_graph_mask[tid] = false;
        for (int i = g_graph_nodes[tid].starting; i < (g_graph_nodes[tid].no_of_edges + g_graph_nodes[tid].starting); i++) {
            int id = g_graph_edges[i];
            if (!g_graph_visited[id]) {
                g_cost[id] = g_cost[tid] + 1;
                g_updating_graph_mask[id] = true;
            }
        }
    }
}

__global__ void Kernel2(bool *g_graph_mask, bool *g_updating_graph_mask, bool *g_graph_visited, bool *g_over, int no_of_nodes)
{
    int tid = blockIdx.x * MAX_THREADS_PER_BLOCK + threadIdx.x;
    if (tid < no_of_nodes && g_updating_graph_mask[tid]) {
        g_graph_mask[tid] = true;
        g_graph_visited[tid] = true;
        *g_over = true;
        g_updating_graph_mask[tid] = false;
    }
}

// Frontier in, frontier out: new vertices are appended through a block-local queue.
__global__ void expandFrontier(const int *rowStart, const int *edges, int *level, int depth,
                               const int *frontier, int frontierSize, int *next, int *nextSize)
{
    __shared__ int queue[1024];
    __shared__ int queued, base;
    if (threadIdx.x == 0) queued = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < frontierSize) {
        int v = frontier[i];
        for (int e = rowStart[v]; e < rowStart[v + 1]; ++e) {
            int w = edges[e];
            if (atomicCAS(&level[w], -1, depth + 1) == -1) {
                int slot = atomicAdd(&queued, 1);
                if (slot < 1024) queue[slot] = w;
            }
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) base = atomicAdd(nextSize, queued);
    __syncthreads();
    for (int k = threadIdx.x; k < queued; k += blockDim.x)
        next[base + k] = queue[k];
}

__global__ void pagerankPull(const int *rowStart, const int *edges, const float *rank, const int *degree, float *out, int n)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v < n) {
        float sum = 0.f;
        for (int e = rowStart[v]; e < rowStart[v + 1]; ++e)
            sum += rank[edges[e]] / degree[edges[e]];
        out[v] = 0.15f / n + 0.85f * sum;
    }
}

template <class T> static T *up(const T *h, size_t n)
{
    T *d;
    if (cudaMalloc(&d, n * sizeof(T)) || cudaMemcpy(d, h, n * sizeof(T), cudaMemcpyHostToDevice)) exit(2);
    return d;
}

int main()
{
    const int n = 10000;
    static Node nodes[n];
    static int row[n + 1], edges[n * 8], cost[n], degree[n], frontier[n], level[n];
    static bool mask[n], updating[n], visited[n];
    static float rank[n], out[n];
    int m = 0;
    for (int v = 0; v < n; v++) {
        row[v] = m;
        int k = 2 + v % 6;
        for (int e = 0; e < k; e++) edges[m++] = (int)((v * 17u + e * 7919u + 1) % n);
        nodes[v] = {row[v], k};
        degree[v] = k;
        rank[v] = 1.0f / n;
        cost[v] = -1;
        level[v] = -1;
    }
    row[n] = m;
    int size = 0;
    for (int v = 0; v < n; v += 5) { mask[v] = visited[v] = true; cost[v] = level[v] = 3; frontier[size++] = v; }

    Node *dn = up(nodes, n);
    int *dr = up(row, n + 1), *de = up(edges, m), *dc = up(cost, n), *dd = up(degree, n), *df = up(frontier, n), *dl = up(level, n), *dnext = up(frontier, n);
    bool *dm = up(mask, n), *du = up(updating, n), *dv = up(visited, n), over = false, *dover = up(&over, 1);
    int zero = 0, *dsize = up(&zero, 1);
    float *drank = up(rank, n), *dout = up(out, n);
    bool ok = true;

    Kernel<<<(n + MAX_THREADS_PER_BLOCK - 1) / MAX_THREADS_PER_BLOCK, MAX_THREADS_PER_BLOCK>>>(dn, de, dm, du, dv, dc, n);
    Kernel2<<<(n + MAX_THREADS_PER_BLOCK - 1) / MAX_THREADS_PER_BLOCK, MAX_THREADS_PER_BLOCK>>>(dm, du, dv, dover, n);
    static bool reached[n];
    int fresh = 0;
    for (int v = 0; v < n; v += 5)
        for (int e = row[v]; e < row[v + 1]; e++)
            if (!visited[edges[e]] && !reached[edges[e]]) { reached[edges[e]] = true; fresh++; }
    static int gotCost[n];
    if (cudaMemcpy(gotCost, dc, sizeof gotCost, cudaMemcpyDeviceToHost)) return 2;
    for (int v = 0; v < n; v++) ok = ok && gotCost[v] == (visited[v] ? 3 : reached[v] ? 4 : -1);
    printf("Kernel, Kernel2 %s\n", ok ? "PASS" : "FAIL");

    expandFrontier<<<(size + 127) / 128, 128>>>(dr, de, dl, 3, df, size, dnext, dsize);
    int got = 0;
    if (cudaMemcpy(&got, dsize, sizeof got, cudaMemcpyDeviceToHost)) return 2;
    bool ok2 = got == fresh;
    printf("expandFrontier %s\n", ok2 ? "PASS" : "FAIL");

    pagerankPull<<<(n + 255) / 256, 256>>>(dr, de, drank, dd, dout, n);
    if (cudaMemcpy(out, dout, sizeof out, cudaMemcpyDeviceToHost)) return 2;
    bool ok3 = true;
    for (int v = 0; v < n; v++) {
        float s = 0;
        for (int e = row[v]; e < row[v + 1]; e++) s += rank[edges[e]] / degree[edges[e]];
        float w = 0.15f / n + 0.85f * s, d = out[v] - w;
        ok3 = ok3 && d < 1e-7f && d > -1e-7f;
    }
    printf("pagerankPull %s\n", ok3 ? "PASS" : "FAIL");
    return ok && ok2 && ok3 ? 0 : 1;
}
