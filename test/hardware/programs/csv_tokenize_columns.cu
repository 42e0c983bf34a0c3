// Database ingest: find newlines and commas in a CSV buffer with ballots, prefix sum, parse integers and decimals to columns.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include <cmath>

constexpr int COLS = 4;

// per block newline count (256 bytes a thread-row of uchar4)
__global__ void count_newlines(const uchar4* __restrict__ t, int n4, int* blockCount) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, c = 0;
    if (i < n4) { uchar4 v = t[i]; c = (v.x == '\n') + (v.y == '\n') + (v.z == '\n') + (v.w == '\n'); }
    c = __reduce_add_sync(~0u, c);
    __shared__ int s;
    if (threadIdx.x == 0) s = 0;
    __syncthreads();
    if ((threadIdx.x & 31) == 0) atomicAdd(&s, c);
    __syncthreads();
    if (threadIdx.x == 0) blockCount[blockIdx.x] = s;
}
__global__ void serial_scan(int* c, int n, int* total) {     // homework-grade: a single thread
    int run = 0;
    for (int i = 0; i < n; ++i) { int v = c[i]; c[i] = run; run += v; }
    *total = run;
}
__global__ void row_starts(const uchar4* __restrict__ t, int n4, const int* __restrict__ blockOff, int* __restrict__ start) {
    __shared__ int wsum[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, w = threadIdx.x >> 5;
    uchar4 v = i < n4 ? t[i] : make_uchar4(0, 0, 0, 0);
    int m = (v.x == '\n') | (v.y == '\n') << 1 | (v.z == '\n') << 2 | (v.w == '\n') << 3;
    int c = __popc(m), inc = c;
    for (int o = 1; o < 32; o <<= 1) { int u = __shfl_up_sync(~0u, inc, o); if (lane >= o) inc += u; }
    if (lane == 31) wsum[w] = inc;
    __syncthreads();
    int base = blockOff[blockIdx.x];
    for (int k = 0; k < w; ++k) base += wsum[k];
    int pos = base + inc - c;
    for (; m; m &= m - 1) start[++pos] = i * 4 + __ffs(m);   // start of the row after the newline
    if (i == 0) start[0] = 0;
}
// thread per row: byte-wise, divergent and uncoalesced
__global__ void parse_rows(const char* __restrict__ t, const int* __restrict__ start, int rows, int* id, double* price, int* qty, unsigned* tag) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    const char* p = t + start[r];
    int sign = 1, v = 0;
    if (*p == '-') { sign = -1; ++p; }
    while (*p != ',') v = v * 10 + (*p++ - '0');
    id[r] = v * sign;
    ++p;
    double d = 0, sc = 1; bool frac = false;
    for (; *p != ','; ++p) {
        if (*p == '.') frac = true;
        else { d = d * 10 + (*p - '0'); if (frac) sc *= 10; }
    }
    price[r] = d / sc;
    v = 0;
    for (++p; *p != ','; ++p) v = v * 10 + (*p - '0');
    qty[r] = v;
    unsigned h = 2166136261u;
    for (++p; *p != '\n'; ++p) h = (h ^ (unsigned char)*p) * 16777619u;
    tag[r] = h;
}
// 8 lanes per row copy it into shared first, then lane 0 sums field lengths
__global__ void field_lengths(const char* __restrict__ t, const int* __restrict__ start, int rows, uchar4* len) {
    int r = (blockIdx.x * blockDim.x + threadIdx.x) / 8, l = threadIdx.x & 7;
    unsigned mask = 0xffu << (threadIdx.x & 24);
    if (r >= rows) return;
    int a = start[r], b = start[r + 1] - 1, field = 0, last = a - 1;
    unsigned char L[COLS] = {0, 0, 0, 0};
    for (int i = a; i <= b; i += 8) {
        char c = i + l <= b ? t[i + l] : 0;
        unsigned m = (__ballot_sync(mask, c == ',' || c == '\n') >> (threadIdx.x & 24)) & 0xff;
        for (; m; m &= m - 1) {
            int pos = i + __ffs(m) - 1;
            int n = pos - last - 1;
            if (field == 0) L[0] = n; else if (field == 1) L[1] = n; else if (field == 2) L[2] = n; else L[3] = n;
            last = pos; ++field;
        }
    }
    if (l == 0) len[r] = make_uchar4(L[0], L[1], L[2], L[3]);
}
__global__ void revenue(const double* p, const int* q, const unsigned* tag, int n, double* bucket) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bucket[tag[i] & 7], p[i] * q[i]);
}

int main() {
    const int rows = 40000;
    std::string s; unsigned g = 5;
    const char* names[] = {"red", "green", "cobalt", "x", "ultramarine", "ochre"};
    for (int r = 0; r < rows; ++r) {
        g = g * 1664525u + 1013904223u;
        char b[96];
        snprintf(b, sizeof b, "%d,%u.%02u,%u,%s\n", (int)(g >> 12) - 500000, (g >> 8) % 900, (g >> 4) % 100, (g >> 20) % 50, names[(g >> 16) % 6]);
        s += b;
    }
    size_t len = s.size();
    s.resize((len + 3) / 4 * 4, ' ');
    int n4 = s.size() / 4, nb = (n4 + 255) / 256;
    char* dt; int *bc, *tot, *st, *id, *q; double *p, *bk; unsigned* tg; uchar4* fl;
    cudaMalloc(&dt, s.size()); cudaMalloc(&bc, nb * 4); cudaMalloc(&tot, 4); cudaMalloc(&st, (rows + 1) * 4); cudaMalloc(&id, rows * 4); cudaMalloc(&q, rows * 4);
    cudaMalloc(&p, rows * 8); cudaMalloc(&bk, 64); cudaMalloc(&tg, rows * 4); cudaMalloc(&fl, rows * 4); cudaMemset(bk, 0, 64);
    cudaMemcpy(dt, s.data(), s.size(), cudaMemcpyHostToDevice);
    count_newlines<<<nb, 256>>>((uchar4*)dt, n4, bc);
    serial_scan<<<1, 1>>>(bc, nb, tot);
    row_starts<<<nb, 256>>>((uchar4*)dt, n4, bc, st);
    parse_rows<<<(rows + 127) / 128, 128>>>(dt, st, rows, id, p, q, tg);
    field_lengths<<<(rows * 8 + 255) / 256, 256>>>(dt, st, rows, fl);
    revenue<<<30, 256>>>(p, q, tg, rows, bk);
    int ht; std::vector<int> hi(rows), hq(rows); std::vector<double> hp(rows); std::vector<unsigned> hg(rows); std::vector<uchar4> hf(rows); double hb[8], rb[8] = {0};
    cudaMemcpy(&ht, tot, 4, cudaMemcpyDeviceToHost); cudaMemcpy(hi.data(), id, rows * 4, cudaMemcpyDeviceToHost); cudaMemcpy(hq.data(), q, rows * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(hp.data(), p, rows * 8, cudaMemcpyDeviceToHost); cudaMemcpy(hg.data(), tg, rows * 4, cudaMemcpyDeviceToHost); cudaMemcpy(hf.data(), fl, rows * 4, cudaMemcpyDeviceToHost); cudaMemcpy(hb, bk, 64, cudaMemcpyDeviceToHost);
    int bad = ht != rows || cudaGetLastError() != cudaSuccess;
    const char* c = s.data();
    for (int r = 0; r < rows && !(bad > 100); ++r) {
        char* e; const char* f0 = c;
        int vi = strtol(c, &e, 10), l0 = e - c; c = e + 1;
        double vp = strtod(c, &e); int l1 = e - c; c = e + 1;
        int vq = strtol(c, &e, 10), l2 = e - c; c = e + 1;
        unsigned h = 2166136261u; const char* f3 = c;
        for (; *c != '\n'; ++c) h = (h ^ (unsigned char)*c) * 16777619u;
        int l3 = c - f3; ++c;
        rb[h & 7] += vp * vq;
        if (vi != hi[r] || vq != hq[r] || fabs(vp - hp[r]) > 1e-9 || h != hg[r] || hf[r].x != l0 || hf[r].y != l1 || hf[r].z != l2 || hf[r].w != l3) ++bad;
    }
    for (int k = 0; k < 8; ++k) if (fabs(rb[k] - hb[k]) > 1e-6 * (1 + rb[k])) ++bad;
    printf("rows %d bad %d\n%s\n", ht, bad, bad ? "FAIL" : "PASS");
    return bad != 0;
}
