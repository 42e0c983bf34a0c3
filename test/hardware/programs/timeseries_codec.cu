/* timeseries_codec.cu - delta + zigzag + frame bit-packing codec, RLE expansion and a
 * table driven prefix-code decoder. Plain C flavoured CUDA. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdint.h>
#include <cuda_runtime.h>

#define FRAME      128
#define LUT_BITS   10
#define LUT_SIZE   (1 << LUT_BITS)
#define SEG_SYMS   64
#define NSYM       16
#define DIVUP(a,b) (((a) + (b) - 1) / (b))
#define ZIGZAG(d)   (((uint32_t)(d) << 1) ^ (uint32_t)((int32_t)(d) >> 31))
#define UNZIGZAG(u) ((int32_t)(((u) >> 1) ^ (0u - ((u) & 1u))))

#define CHECK(call) do { cudaError_t err_ = (call); if (err_ != cudaSuccess) { \
    fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(err_)); exit(2); } } while (0)
#define LAUNCHED() CHECK(cudaGetLastError())

typedef struct { uint32_t width : 6; uint32_t words : 10; uint32_t tail : 16; } frame_hdr;
typedef union { frame_hdr h; uint32_t raw; } frame_hdr_u;
typedef struct { uint8_t sym, len; } lut_entry;

/* 1. one warp per frame, four values per lane */
__global__ void k_delta_width(const int32_t *in, int n, int nframes, uint32_t *zz, int32_t *base, frame_hdr_u *hdr)
{
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (warp >= nframes) return;
    uint32_t all = 0;
    for (int k = 0; k < 4; k++) {
        int j = lane * 4 + k;              /* blocked assignment: lanes are 16 bytes apart */
        int i = warp * FRAME + j;
        uint32_t u = 0;
        if (i < n && j > 0) u = ZIGZAG(in[i] - in[i - 1]);
        zz[i] = u;
        all |= u;
    }
    for (int d = 16; d; d >>= 1) all |= __shfl_xor_sync(0xffffffffu, all, d);
    if (lane == 0) {
        frame_hdr_u x;
        int left = n - warp * FRAME;
        x.raw = 0;
        x.h.width = 32 - __clz(all);
        x.h.words = x.h.width * (FRAME / 32);
        x.h.tail = left < FRAME ? left : FRAME;
        hdr[warp].raw = x.raw;
        base[warp] = in[warp * FRAME];
    }
}

/* 2. exclusive scan of frame word counts, one block */
__global__ void __launch_bounds__(1024) k_scan_words(const frame_hdr_u *hdr, int nframes, uint32_t *start)
{
    __shared__ uint32_t s[1024];
    int t = threadIdx.x, per = DIVUP(nframes, 1024);
    uint32_t sum = 0;
    for (int k = 0; k < per; k++) {
        int f = t * per + k;
        if (f < nframes) sum += hdr[f].h.words;
    }
    s[t] = sum;
    __syncthreads();
    for (int d = 1; d < 1024; d *= 2) {
        uint32_t add = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += add;
        __syncthreads();
    }
    uint32_t run = s[t] - sum;
    for (int k = 0; k < per; k++) {
        int f = t * per + k;
        if (f < nframes) { start[f] = run; run += hdr[f].h.words; }
    }
    if (t == 1023) start[nframes] = s[1023];
}

/* 3. every thread gathers the bits of one output word */
__global__ void k_pack(const uint32_t *zz, const frame_hdr_u *hdr, const uint32_t *start, uint32_t *out)
{
    __shared__ uint32_t v[FRAME];
    int f = blockIdx.x, t = threadIdx.x;
    v[t] = zz[f * FRAME + t];
    __syncthreads();
    int w = hdr[f].h.width;
    if (t >= (int)hdr[f].h.words) return;
    int first = (t * 32) / w, last = (t * 32 + 31) / w;
    uint32_t acc = 0;
    for (int j = first; j <= last; j++) {
        int sh = j * w - t * 32;
        acc |= sh >= 0 ? v[j] << sh : v[j] >> (-sh);
    }
    out[start[f] + t] = acc;
}

/* 4. unpack + inclusive scan back to values */
__global__ void k_unpack(const uint32_t *packed, const frame_hdr_u *hdr, const uint32_t *start,
                         const int32_t *base, int n, int32_t *out)
{
    __shared__ int32_t wsum[FRAME / 32];
    int f = blockIdx.x, t = threadIdx.x, lane = t & 31;
    int w = hdr[f].h.width;
    uint32_t u = 0;
    if (w) {
        int bit = t * w, wi = bit >> 5, sh = bit & 31;
        uint64_t two = packed[start[f] + wi];
        if (sh + w > 32) two |= (uint64_t)packed[start[f] + wi + 1] << 32;
        u = (uint32_t)((two >> sh) & ((1ull << w) - 1));
    }
    int32_t x = UNZIGZAG(u);
    #pragma unroll 5
    for (int d = 1; d < 32; d <<= 1) {
        int32_t y = __shfl_up_sync(0xffffffffu, x, d);
        if (lane >= d) x += y;
    }
    if (lane == 31) wsum[t >> 5] = x;
    __syncthreads();
    for (int k = 0; k < (t >> 5); k++) x += wsum[k];
    int i = f * FRAME + t;
    if (i < n) out[i] = base[f] + x;
}

/* 5. RLE: every output byte looks its run up by bisection */
__global__ void k_rle_expand(const uint8_t *__restrict__ val, const int *__restrict__ run_end, int nruns,
                             int total, uint8_t *__restrict__ out)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x) {
        int lo = 0, hi = nruns - 1;
        while (lo < hi) {
            int mid = (lo + hi) >> 1;
            if (run_end[mid] > i) hi = mid; else lo = mid + 1;
        }
        out[i] = val[lo];
    }
}

/* 6. prefix code decoder: a thread per segment of SEG_SYMS symbols */
__device__ __forceinline__ uint32_t peek(const uint8_t *s, uint32_t bit)
{
    uint32_t b = bit >> 3;
    uint32_t x = ((uint32_t)s[b] << 16) | ((uint32_t)s[b + 1] << 8) | s[b + 2];
    return (x >> (24 - LUT_BITS - (bit & 7))) & (LUT_SIZE - 1);
}
__global__ void k_prefix_decode(const uint8_t *stream, const uint32_t *seg_bit, int nseg,
                                const lut_entry *lut, uint8_t *out)
{
    __shared__ lut_entry tab[LUT_SIZE];
    for (int i = threadIdx.x; i < LUT_SIZE; i += blockDim.x) tab[i] = lut[i];
    __syncthreads();
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= nseg) return;
    uint32_t pos = seg_bit[s];
    for (int k = 0; k < SEG_SYMS; k++) {
        lut_entry e = tab[peek(stream, pos)];
        out[s * SEG_SYMS + k] = e.sym;
        pos += e.len;
    }
}

static uint32_t lcg_state = 12345u;
static uint32_t lcg(void) { lcg_state = lcg_state * 1664525u + 1013904223u; return lcg_state >> 8; }
static void *dev(size_t bytes) { void *p; CHECK(cudaMalloc(&p, bytes)); CHECK(cudaMemset(p, 0, bytes)); return p; }
static void *up(const void *h, size_t bytes) { void *p = dev(bytes); CHECK(cudaMemcpy(p, h, bytes, cudaMemcpyHostToDevice)); return p; }
#define DOWN(h, d, bytes) CHECK(cudaMemcpy((h), (d), (bytes), cudaMemcpyDeviceToHost))

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 300017, ok = 1;
    if (n < 1000 || n > 4000000) n = 300017;
    int nf = DIVUP(n, FRAME);

    /* part one: time series */
    int32_t *ts = (int32_t *)malloc(n * 4), *back = (int32_t *)malloc(n * 4);
    int32_t cur = 1000;
    for (int i = 0; i < n; i++) {
        int mag = 1 << ((i / 500) % 14);
        cur += (int)(lcg() % (2 * mag)) - mag + 1;
        ts[i] = cur;
    }
    int32_t *d_ts = (int32_t *)up(ts, n * 4), *d_base = (int32_t *)dev(nf * 4), *d_back = (int32_t *)dev(n * 4);
    uint32_t *d_zz = (uint32_t *)dev((size_t)nf * FRAME * 4), *d_start = (uint32_t *)dev((nf + 1) * 4);
    uint32_t *d_pack = (uint32_t *)dev((size_t)nf * FRAME * 4);
    frame_hdr_u *d_hdr = (frame_hdr_u *)dev(nf * sizeof(frame_hdr_u));
    k_delta_width<<<DIVUP(nf * 32, 256), 256>>>(d_ts, n, nf, d_zz, d_base, d_hdr); LAUNCHED();
    k_scan_words<<<1, 1024>>>(d_hdr, nf, d_start); LAUNCHED();
    k_pack<<<nf, FRAME>>>(d_zz, d_hdr, d_start, d_pack); LAUNCHED();
    k_unpack<<<nf, FRAME>>>(d_pack, d_hdr, d_start, d_base, n, d_back); LAUNCHED();
    DOWN(back, d_back, n * 4);
    if (memcmp(back, ts, n * 4)) { puts("round trip differs"); ok = 0; }
    /* the packed size must be what the CPU computes */
    uint32_t want = 0, have = 0;
    for (int f = 0; f < nf; f++) {
        uint32_t all = 0, w = 0;
        for (int i = f * FRAME + 1; i < n && i < (f + 1) * FRAME; i++) all |= ZIGZAG(ts[i] - ts[i - 1]);
        while (all) { w++; all >>= 1; }
        want += w * (FRAME / 32);
    }
    DOWN(&have, d_start + nf, 4);
    if (want != have) { printf("packed words %u, want %u\n", have, want); ok = 0; }

    /* part two: runs */
    int nruns = 20011, total = 0;
    uint8_t *rv = (uint8_t *)malloc(nruns); int *re = (int *)malloc(nruns * sizeof(int));
    for (int r = 0; r < nruns; r++) { rv[r] = (uint8_t)lcg(); total += 1 + (int)(lcg() % ((r & 15) ? 12 : 300)); re[r] = total; }
    uint8_t *ref = (uint8_t *)malloc(total), *got = (uint8_t *)malloc(total);
    for (int r = 0, i = 0; r < nruns; r++) while (i < re[r]) ref[i++] = rv[r];
    uint8_t *d_rv = (uint8_t *)up(rv, nruns), *d_out = (uint8_t *)dev(total);
    int *d_re = (int *)up(re, nruns * sizeof(int));
    k_rle_expand<<<300, 160>>>(d_rv, d_re, nruns, total, d_out); LAUNCHED();
    DOWN(got, d_out, total);
    if (memcmp(ref, got, total)) { puts("rle differs"); ok = 0; }

    /* part three: canonical prefix code */
    static const int lens[NSYM] = {2, 2, 3, 3, 4, 4, 5, 5, 7, 7, 7, 7, 7, 7, 7, 7};
    uint32_t code[NSYM], c = 0;
    lut_entry lut[LUT_SIZE];
    for (int s = 0; s < NSYM; s++) {
        if (s) c = (c + 1) << (lens[s] - lens[s - 1]);
        code[s] = c;
        for (uint32_t k = 0; k < (1u << (LUT_BITS - lens[s])); k++) {
            lut_entry *e = &lut[(c << (LUT_BITS - lens[s])) + k];
            e->sym = (uint8_t)s; e->len = (uint8_t)lens[s];
        }
    }
    int nseg = 5003, nsyms = nseg * SEG_SYMS;
    uint8_t *sy = (uint8_t *)malloc(nsyms), *sg = (uint8_t *)malloc(nsyms);
    uint8_t *bits = (uint8_t *)calloc(nsyms + 16, 1);
    uint32_t *sb = (uint32_t *)malloc(nseg * 4), pos = 0;
    for (int i = 0; i < nsyms; i++) {
        if (i % SEG_SYMS == 0) sb[i / SEG_SYMS] = pos;
        sy[i] = (uint8_t)(lcg() % NSYM & lcg() % NSYM);
        for (int b = lens[sy[i]] - 1; b >= 0; b--, pos++)
            if ((code[sy[i]] >> b) & 1) bits[pos >> 3] |= (uint8_t)(0x80 >> (pos & 7));
    }
    uint8_t *d_bits = (uint8_t *)up(bits, nsyms + 16), *d_sy = (uint8_t *)dev(nsyms);
    uint32_t *d_sb = (uint32_t *)up(sb, nseg * 4);
    lut_entry *d_lut = (lut_entry *)up(lut, sizeof lut);
    k_prefix_decode<<<DIVUP(nseg, 64), 64>>>(d_bits, d_sb, nseg, d_lut, d_sy); LAUNCHED();
    DOWN(sg, d_sy, nsyms);
    if (memcmp(sy, sg, nsyms)) { puts("prefix decode differs"); ok = 0; }

    printf("%d values in %u words, %d rle bytes, %u code bits\n%s\n", n, have, total, pos, ok ? "PASS" : "FAIL");
    cudaFree(d_ts); cudaFree(d_base); cudaFree(d_back); cudaFree(d_zz); cudaFree(d_start); cudaFree(d_pack);
    cudaFree(d_hdr); cudaFree(d_rv); cudaFree(d_out); cudaFree(d_re); cudaFree(d_bits); cudaFree(d_sy);
    cudaFree(d_sb); cudaFree(d_lut);
    return ok ? 0 : 1;
}
