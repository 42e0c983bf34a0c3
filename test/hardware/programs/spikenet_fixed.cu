/* spikenet_fixed.cu -- event driven leaky integrate-and-fire network, fixed point arithmetic.
 *
 * All state is Q16.16 so that the GPU and the reference agree bit by bit, whatever order the
 * spikes are delivered in.  A time step is captured once into a CUDA graph and replayed.
 *
 *   step:  k_noise -> k_update (appends spikes to a queue) -> k_deliver_exc / k_deliver_inh -> k_trace -> k_tick
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdint.h>
#include <cuda_runtime.h>

#define CK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { \
    printf("CUDA error %s line %d\nFAIL\n", cudaGetErrorString(e), __LINE__); exit(1); } } while (0)

enum { N_EXC = 9600, N_INH = 2413, N_ALL = N_EXC + N_INH };
enum { FANOUT_EXC = 50, FANOUT_INH = 96 };
enum { MAX_DELAY = 8, STEPS = 6 };

#define Q(x)        ((int32_t)((x) * 65536.0))
#define V_REST      Q(0.0)
#define V_THRESH    Q(1.0)
#define REFRACT     3

typedef struct {
    int32_t v;           /* membrane potential            */
    int32_t trace;       /* STDP trace                    */
    int16_t refr;        /* steps left in refractory time */
    int16_t type;
    int32_t nspikes;
} neuron_t;              /* 16 bytes, array of structures, as in the CPU code it came from */

typedef struct {
    int   step;          /* current time step                */
    int   n_exc_spikes;  /* filled by k_update               */
    int   n_inh_spikes;
    int   total;
} clockwork_t;

__host__ __device__ static inline uint32_t rnd(uint32_t a, uint32_t b)
{
    uint32_t h = a * 0x9E3779B1u ^ (b + 0x85EBCA77u) * 0xC2B2AE3Du;
    h ^= h >> 15; h *= 0x2C1B3C6Du; h ^= h >> 12; h *= 0x297A2D39u; h ^= h >> 15;
    return h;
}

__host__ __device__ static inline int syn_target(int pre, int s) { return (int)(rnd(pre, 1000 + s) % N_ALL); }
__host__ __device__ static inline int syn_delay(int pre, int s)  { return 1 + (int)(rnd(pre, 50000 + s) % (MAX_DELAY - 1)); }
__host__ __device__ static inline int32_t syn_weight(int pre, int s)
{
    int32_t w = (int32_t)(rnd(pre, 90000 + s) & 0x0fff);
    return pre < N_EXC ? w : -2 * w;
}

__global__ void k_init(neuron_t *nrn, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    nrn[i].v = (int32_t)(rnd(i, 7) & 0xffff);
    nrn[i].trace = 0;
    nrn[i].refr = 0;
    nrn[i].type = (int16_t)(i >= N_EXC);
    nrn[i].nspikes = 0;
}

/* synapse records: target (20 bits) | delay (4 bits) in one word, weight in another */
__global__ void k_build_synapses(uint2 *syn, int first, int count, int fanout)
{
    int total = count * fanout;
    int stride = gridDim.x * blockDim.x;
    for (int e = blockIdx.x * blockDim.x + threadIdx.x; e < total; e += stride) {
        int pre = first + e / fanout, s = e % fanout;
        uint2 r;
        r.x = (uint32_t)syn_target(pre, s) | ((uint32_t)syn_delay(pre, s) << 20);
        r.y = (uint32_t)syn_weight(pre, s);
        syn[e] = r;
    }
}

__global__ void k_noise(int32_t *ring, const clockwork_t *clk, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int slot = clk->step % MAX_DELAY;
    uint32_t r = rnd(i, 123456u + clk->step);
    if ((r & 3u) == 0u)                      /* a quarter of the cells gets a kick */
        ring[slot * n + i] += (int32_t)((r >> 8) & 0x7fff);
}

__global__ void k_update(neuron_t *nrn, int32_t *ring, clockwork_t *clk, int *qexc, int *qinh, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x & 31;
    int fired = 0, inh = 0;
    if (i < n) {
        int slot = clk->step % MAX_DELAY;
        int32_t in = ring[slot * n + i];
        ring[slot * n + i] = 0;
        inh = nrn[i].type;
        if (nrn[i].refr > 0) {
            nrn[i].refr--;
        } else {
            int32_t v = nrn[i].v;
            v = v - (v >> 4) + in;
            if (v < -V_THRESH) v = -V_THRESH;
            if (v >= V_THRESH) {
                fired = 1;
                v = V_REST;
                nrn[i].refr = REFRACT;
                nrn[i].nspikes++;
            }
            nrn[i].v = v;
        }
    }
    /* one atomic per warp and queue */
    unsigned me = __ballot_sync(0xffffffffu, fired && !inh);
    unsigned mi = __ballot_sync(0xffffffffu, fired && inh);
    int be = 0, bi = 0;
    if (lane == 0) {
        if (me) be = atomicAdd(&clk->n_exc_spikes, __popc(me));
        if (mi) bi = atomicAdd(&clk->n_inh_spikes, __popc(mi));
    }
    be = __shfl_sync(0xffffffffu, be, 0);
    bi = __shfl_sync(0xffffffffu, bi, 0);
    unsigned below = (1u << lane) - 1u;
    if (fired && !inh) qexc[be + __popc(me & below)] = i;
    if (fired && inh)  qinh[bi + __popc(mi & below)] = i;
}

/* a warp per spike, lanes over the synapses: reads are coalesced */
__global__ void k_deliver_exc(const uint2 *__restrict__ syn, const int *__restrict__ queue, const clockwork_t *clk,
                              int32_t *ring, int n)
{
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    int nwarps = (gridDim.x * blockDim.x) >> 5;
    int lane = threadIdx.x & 31;
    int nsp = clk->n_exc_spikes, step = clk->step;
    for (int q = warp; q < nsp; q += nwarps) {
        int pre = queue[q];
        for (int s = lane; s < FANOUT_EXC; s += 32) {
            uint2 r = __ldg(&syn[pre * FANOUT_EXC + s]);
            int slot = (step + (int)(r.x >> 20)) % MAX_DELAY;
            atomicAdd(&ring[slot * n + (r.x & 0xfffff)], (int32_t)r.y);
        }
    }
}

/* a thread per spike. There are few inhibitory cells, nobody bothered. */
__global__ void k_deliver_inh(const uint2 *syn, const int *queue, const clockwork_t *clk, int32_t *ring, int n)
{
    int q = blockIdx.x * blockDim.x + threadIdx.x;
    if (q >= clk->n_inh_spikes) return;
    int cell = queue[q] - N_EXC;
    for (int s = 0; s < FANOUT_INH; s++) {
        uint2 r = syn[cell * FANOUT_INH + s];
        int slot = (clk->step + (int)(r.x >> 20)) % MAX_DELAY;
        atomicAdd(&ring[slot * n + (r.x & 0xfffff)], (int32_t)r.y);
    }
}

__global__ void k_trace(neuron_t *nrn, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int32_t t = nrn[i].trace;
        t -= t >> 3;
        if (nrn[i].refr == REFRACT) t += Q(0.25);
        nrn[i].trace = t;
    }
}

__global__ void k_tick(clockwork_t *clk, int *raster)
{
    int sp = clk->n_exc_spikes + clk->n_inh_spikes;
    raster[clk->step] = sp;
    clk->total += sp;
    clk->n_exc_spikes = 0;
    clk->n_inh_spikes = 0;
    clk->step++;
}

/* ------------------------------------------------------------------ reference */
static neuron_t h_nrn[N_ALL];
static int32_t  h_ring[MAX_DELAY][N_ALL];
static int      h_raster[STEPS];

static void reference(void)
{
    static int fired[N_ALL];
    int i, s, t;
    memset(h_ring, 0, sizeof h_ring);
    for (i = 0; i < N_ALL; i++) {
        memset(&h_nrn[i], 0, sizeof(neuron_t));
        h_nrn[i].v = (int32_t)(rnd(i, 7) & 0xffff);
        h_nrn[i].type = i >= N_EXC;
    }
    for (t = 0; t < STEPS; t++) {
        int nf = 0, slot = t % MAX_DELAY;
        for (i = 0; i < N_ALL; i++) {
            uint32_t r = rnd(i, 123456u + t);
            int32_t in = h_ring[slot][i];
            if ((r & 3u) == 0u) in += (int32_t)((r >> 8) & 0x7fff);
            h_ring[slot][i] = 0;
            if (h_nrn[i].refr > 0) h_nrn[i].refr--;
            else {
                int32_t v = h_nrn[i].v;
                v = v - (v >> 4) + in;
                if (v < -V_THRESH) v = -V_THRESH;
                if (v >= V_THRESH) { fired[nf++] = i; v = V_REST; h_nrn[i].refr = REFRACT; h_nrn[i].nspikes++; }
                h_nrn[i].v = v;
            }
        }
        for (int q = 0; q < nf; q++) {
            int pre = fired[q], fan = pre < N_EXC ? FANOUT_EXC : FANOUT_INH;
            for (s = 0; s < fan; s++)
                h_ring[(t + syn_delay(pre, s)) % MAX_DELAY][syn_target(pre, s)] += syn_weight(pre, s);
        }
        for (i = 0; i < N_ALL; i++) {
            int32_t tr = h_nrn[i].trace;
            tr -= tr >> 3;
            if (h_nrn[i].refr == REFRACT) tr += Q(0.25);
            h_nrn[i].trace = tr;
        }
        h_raster[t] = nf;
    }
}

int main(void)
{
    neuron_t *d_nrn, *back;
    uint2 *d_syn_e, *d_syn_i;
    int32_t *d_ring;
    int *d_qe, *d_qi, *d_raster;
    clockwork_t *clk;                       /* managed: the host peeks at it */
    int i, bad = 0, raster[STEPS];

    CK(cudaMalloc((void **)&d_nrn, sizeof(neuron_t) * N_ALL));
    CK(cudaMalloc((void **)&d_syn_e, sizeof(uint2) * N_EXC * FANOUT_EXC));
    CK(cudaMalloc((void **)&d_syn_i, sizeof(uint2) * N_INH * FANOUT_INH));
    CK(cudaMalloc((void **)&d_ring, sizeof(int32_t) * N_ALL * MAX_DELAY));
    CK(cudaMalloc((void **)&d_qe, sizeof(int) * N_EXC));
    CK(cudaMalloc((void **)&d_qi, sizeof(int) * N_INH));
    CK(cudaMalloc((void **)&d_raster, sizeof(int) * STEPS));
    CK(cudaMallocManaged((void **)&clk, sizeof(clockwork_t)));
    memset(clk, 0, sizeof(*clk));
    CK(cudaMemset(d_ring, 0, sizeof(int32_t) * N_ALL * MAX_DELAY));

    k_init<<<(N_ALL + 191) / 192, 192>>>(d_nrn, N_ALL);
    k_build_synapses<<<512, 128>>>(d_syn_e, 0, N_EXC, FANOUT_EXC);
    k_build_synapses<<<512, 128>>>(d_syn_i, N_EXC, N_INH, FANOUT_INH);
    CK(cudaGetLastError());
    CK(cudaDeviceSynchronize());

    cudaStream_t st;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CK(cudaStreamCreate(&st));
    CK(cudaStreamBeginCapture(st, cudaStreamCaptureModeGlobal));
    k_noise<<<(N_ALL + 255) / 256, 256, 0, st>>>(d_ring, clk, N_ALL);
    k_update<<<(N_ALL + 127) / 128, 128, 0, st>>>(d_nrn, d_ring, clk, d_qe, d_qi, N_ALL);
    k_deliver_exc<<<96, 256, 0, st>>>(d_syn_e, d_qe, clk, d_ring, N_ALL);
    k_deliver_inh<<<(N_INH + 63) / 64, 64, 0, st>>>(d_syn_i, d_qi, clk, d_ring, N_ALL);
    k_trace<<<(N_ALL + 255) / 256, 256, 0, st>>>(d_nrn, N_ALL);
    k_tick<<<1, 1, 0, st>>>(clk, d_raster);
    CK(cudaStreamEndCapture(st, &graph));
    CK(cudaGraphInstantiate(&exec, graph, 0));

    for (i = 0; i < STEPS; i++) CK(cudaGraphLaunch(exec, st));
    CK(cudaStreamSynchronize(st));

    reference();
    back = (neuron_t *)malloc(sizeof(neuron_t) * N_ALL);
    CK(cudaMemcpy(back, d_nrn, sizeof(neuron_t) * N_ALL, cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(raster, d_raster, sizeof raster, cudaMemcpyDeviceToHost));
    for (i = 0; i < N_ALL; i++)
        if (back[i].v != h_nrn[i].v || back[i].trace != h_nrn[i].trace || back[i].refr != h_nrn[i].refr ||
            back[i].nspikes != h_nrn[i].nspikes) {
            if (bad < 5) printf("neuron %d: v %d / %d\n", i, back[i].v, h_nrn[i].v);
            bad++;
        }
    for (i = 0; i < STEPS; i++) {
        printf("step %d: %d spikes\n", i, raster[i]);
        if (raster[i] != h_raster[i]) bad++;
    }
    printf("%d steps, %d spikes in all\n", clk->step, clk->total);

    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(st);
    free(back);
    cudaFree(d_nrn); cudaFree(d_syn_e); cudaFree(d_syn_i); cudaFree(d_ring);
    cudaFree(d_qe); cudaFree(d_qi); cudaFree(d_raster); cudaFree(clk);
    puts(bad ? "FAIL" : "PASS");
    return bad ? 1 : 0;
}
