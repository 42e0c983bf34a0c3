// Block matching motion estimation (16x16 SAD), half-pel planes, motion compensation,
// residual energy and an in-loop deblocking filter. Written the way our old encoder did it.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

typedef uint8_t u8;
typedef uint32_t u32;

enum { MB = 16, RANGE = 8, SRCH = 2 * RANGE + 1, WIN = MB + 2 * RANGE };

enum FilterDir { VERT_EDGES, HORZ_EDGES };

struct Frame {
    u8* pix;
    int stride;
    int w;
    int h;
};

struct MotionVec {
    short dx;
    short dy;
    u32 sad;
};

#define CU(x)                                                                  \
    if ((x) != cudaSuccess) {                                                  \
        printf("CUDA failure, line %d: %s\n", __LINE__, cudaGetErrorString(cudaGetLastError())); \
        exit(1);                                                               \
    }

__host__ __device__ static inline int clampi(int v, int lo, int hi)
{
    return v < lo ? lo : (v > hi ? hi : v);
}

// One block per macroblock, one thread per candidate (17x17 = 289 threads).
__global__ void me_full_search(Frame cur, Frame ref, MotionVec* mv)
{
    __shared__ u8 curMb[MB * MB];
    __shared__ u8 win[WIN * WIN];
    __shared__ u32 best;
    const int mbx = blockIdx.x * MB;
    const int mby = blockIdx.y * MB;
    const int t = threadIdx.y * SRCH + threadIdx.x;
    if (t < MB * MB)
        curMb[t] = cur.pix[(mby + t / MB) * cur.stride + mbx + t % MB];
    for (int i = t; i < WIN * WIN; i += SRCH * SRCH) {
        int gx = clampi(mbx - RANGE + i % WIN, 0, ref.w - 1);
        int gy = clampi(mby - RANGE + i / WIN, 0, ref.h - 1);
        win[i] = ref.pix[gy * ref.stride + gx];
    }
    if (t == 0)
        best = 0xffffffffu;
    __syncthreads();
    u32 sad = 0;
    for (int y = 0; y < MB; y++) {
        for (int x = 0; x < MB; x++) {
            int a = curMb[y * MB + x];
            int b = win[(y + threadIdx.y) * WIN + x + threadIdx.x];
            sad = __sad(a, b, sad);
        }
    }
    // 16 bits of SAD, 9 bits of candidate index
    atomicMin(&best, (sad << 9) | (u32)t);
    __syncthreads();
    if (t == 0) {
        MotionVec m;
        int cand = best & 511;
        m.dx = (short)(cand % SRCH - RANGE);
        m.dy = (short)(cand / SRCH - RANGE);
        m.sad = best >> 9;
        mv[blockIdx.y * gridDim.x + blockIdx.x] = m;
    }
}

// same search with packed 4-byte SAD; a warp shares one candidate row
__global__ void me_row_simd(Frame cur, Frame ref, u32* zeroSad)
{
    const int lane = threadIdx.x & 31;
    const int mb = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    const int mbw = cur.w / MB;
    const int total = mbw * (cur.h / MB);
    if (mb >= total)
        return;
    const int x0 = (mb % mbw) * MB;
    const int y0 = (mb / mbw) * MB;
    u32 acc = 0;
    for (int k = lane; k < MB * MB / 4; k += 32) {
        int y = y0 + k / 4;
        int x = x0 + (k % 4) * 4;
        u32 a = *(const u32*)(cur.pix + y * cur.stride + x);
        u32 b = *(const u32*)(ref.pix + y * ref.stride + x);
        acc += __vsadu4(a, b);
    }
    acc = __reduce_add_sync(0xffffffffu, acc);
    if (lane == 0)
        zeroSad[mb] = acc;
}

__global__ void motion_comp(Frame ref, Frame pred, const MotionVec* mv)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= pred.w || y >= pred.h)
        return;
    MotionVec m = mv[(y / MB) * (pred.w / MB) + x / MB];
    int rx = clampi(x + m.dx, 0, ref.w - 1);
    int ry = clampi(y + m.dy, 0, ref.h - 1);
    pred.pix[y * pred.stride + x] = ref.pix[ry * ref.stride + rx];
}

// residual, coarse quantisation, reconstruction: four pixels a thread
__global__ void quant_recon(Frame cur, Frame pred, Frame rec, int q)
{
    int x4 = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y;
    if (x4 * 4 >= cur.w)
        return;
    uchar4 c = *(const uchar4*)(cur.pix + y * cur.stride + x4 * 4);
    uchar4 p = *(const uchar4*)(pred.pix + y * pred.stride + x4 * 4);
    uchar4 r;
    r.x = (u8)clampi(p.x + ((int)c.x - p.x) / q * q, 0, 255);
    r.y = (u8)clampi(p.y + ((int)c.y - p.y) / q * q, 0, 255);
    r.z = (u8)clampi(p.z + ((int)c.z - p.z) / q * q, 0, 255);
    r.w = (u8)clampi(p.w + ((int)c.w - p.w) / q * q, 0, 255);
    *(uchar4*)(rec.pix + y * rec.stride + x4 * 4) = r;
}

__host__ __device__ static inline void filter_edge(u8* p, int step, int alpha, int beta)
{
    int p1 = p[-2 * step];
    int p0 = p[-step];
    int q0 = p[0];
    int q1 = p[step];
    int d0 = p0 - q0;
    int d1 = p1 - p0;
    int d2 = q1 - q0;
    if (d0 < 0)
        d0 = -d0;
    if (d1 < 0)
        d1 = -d1;
    if (d2 < 0)
        d2 = -d2;
    if (d0 < alpha && d1 < beta && d2 < beta) {
        p[-step] = (u8)((2 * p1 + p0 + q1 + 2) >> 2);
        p[0] = (u8)((2 * q1 + q0 + p1 + 2) >> 2);
    }
}

template <FilterDir D>
__global__ void deblock(Frame f, int alpha, int beta)
{
    int along = blockIdx.x * blockDim.x + threadIdx.x;
    int edge = (blockIdx.y + 1) * 8;
    if (D == VERT_EDGES) {
        // thread walks down a vertical edge: stride access
        if (along < f.h && edge < f.w)
            filter_edge(f.pix + along * f.stride + edge, 1, alpha, beta);
    } else {
        if (along < f.w && edge < f.h)
            filter_edge(f.pix + edge * f.stride + along, f.stride, alpha, beta);
    }
}

static Frame alloc_frame(int w, int h)
{
    Frame f;
    size_t pitch = 0;
    void* p = NULL;
    CU(cudaMallocPitch(&p, &pitch, w, h));
    f.pix = (u8*)p;
    f.stride = (int)pitch;
    f.w = w;
    f.h = h;
    return f;
}

static void put_frame(Frame f, const std::vector<u8>& src)
{
    CU(cudaMemcpy2D(f.pix, f.stride, src.data(), f.w, f.w, f.h, cudaMemcpyHostToDevice));
}

static std::vector<u8> get_frame(Frame f)
{
    std::vector<u8> v(f.w * f.h);
    CU(cudaMemcpy2D(v.data(), f.w, f.pix, f.stride, f.w, f.h, cudaMemcpyDeviceToHost));
    return v;
}

static void launch_deblock(FilterDir d, Frame f, int alpha, int beta, cudaStream_t s)
{
    switch (d) {
    case VERT_EDGES:
        deblock<VERT_EDGES><<<dim3((f.h + 127) / 128, f.w / 8 - 1), 128, 0, s>>>(f, alpha, beta);
        break;
    case HORZ_EDGES:
        deblock<HORZ_EDGES><<<dim3((f.w + 127) / 128, f.h / 8 - 1), 128, 0, s>>>(f, alpha, beta);
        break;
    }
}

int main(int argc, char** argv)
{
    (void)argc;
    (void)argv;
    const int w = 640;
    const int h = 352;
    const int mbw = w / MB;
    const int mbh = h / MB;
    std::vector<u8> ref(w * h), cur(w * h);
    u32 seed = 2024;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            seed = seed * 1664525u + 1013904223u;
            ref[y * w + x] = (u8)(((x * x / 50 + y * 3) & 127) + (seed >> 26));
        }
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            int sx = clampi(x + ((y / 64) % 5) - 2, 0, w - 1);
            int sy = clampi(y + ((x / 96) % 7) - 3, 0, h - 1);
            seed = seed * 1664525u + 1013904223u;
            cur[y * w + x] = (u8)(ref[sy * w + sx] + (seed >> 30));
        }

    Frame dRef = alloc_frame(w, h);
    Frame dCur = alloc_frame(w, h);
    Frame dPred = alloc_frame(w, h);
    Frame dRec = alloc_frame(w, h);
    MotionVec* dMv;
    u32* dZero;
    CU(cudaMalloc(&dMv, mbw * mbh * sizeof(MotionVec)));
    CU(cudaMalloc(&dZero, mbw * mbh * sizeof(u32)));
    put_frame(dRef, ref);
    put_frame(dCur, cur);
    cudaStream_t s;
    CU(cudaStreamCreate(&s));
    me_full_search<<<dim3(mbw, mbh), dim3(SRCH, SRCH), 0, s>>>(dCur, dRef, dMv);
    me_row_simd<<<(mbw * mbh * 32 + 127) / 128, 128, 0, s>>>(dCur, dRef, dZero);
    motion_comp<<<dim3((w + 31) / 32, (h + 7) / 8), dim3(32, 8), 0, s>>>(dRef, dPred, dMv);
    quant_recon<<<dim3((w / 4 + 63) / 64, h), 64, 0, s>>>(dCur, dPred, dRec, 6);
    launch_deblock(VERT_EDGES, dRec, 20, 8, s);
    launch_deblock(HORZ_EDGES, dRec, 20, 8, s);
    CU(cudaStreamSynchronize(s));

    std::vector<MotionVec> mv(mbw * mbh);
    std::vector<u32> zero(mbw * mbh);
    CU(cudaMemcpy(mv.data(), dMv, mv.size() * sizeof(MotionVec), cudaMemcpyDeviceToHost));
    CU(cudaMemcpy(zero.data(), dZero, zero.size() * sizeof(u32), cudaMemcpyDeviceToHost));
    std::vector<u8> rec = get_frame(dRec);

    int errors = 0;
    std::vector<u8> want(w * h);
    for (int by = 0; by < mbh; by++)
        for (int bx = 0; bx < mbw; bx++) {
            u32 best = 0xffffffffu;
            u32 z = 0;
            for (int c = 0; c < SRCH * SRCH; c++) {
                int dx = c % SRCH - RANGE;
                int dy = c / SRCH - RANGE;
                u32 sad = 0;
                for (int y = 0; y < MB; y++)
                    for (int x = 0; x < MB; x++) {
                        int px = bx * MB + x;
                        int py = by * MB + y;
                        int rx = clampi(px + dx, 0, w - 1);
                        int ry = clampi(py + dy, 0, h - 1);
                        sad += abs((int)cur[py * w + px] - (int)ref[ry * w + rx]);
                    }
                if (dx == 0 && dy == 0)
                    z = sad;
                u32 key = (sad << 9) | (u32)c;
                if (key < best)
                    best = key;
            }
            MotionVec m = mv[by * mbw + bx];
            int cand = best & 511;
            if (m.sad != best >> 9 || m.dx != cand % SRCH - RANGE || m.dy != cand / SRCH - RANGE)
                errors++;
            if (zero[by * mbw + bx] != z)
                errors++;
            for (int y = by * MB; y < by * MB + MB; y++)
                for (int x = bx * MB; x < bx * MB + MB; x++) {
                    int p = ref[clampi(y + m.dy, 0, h - 1) * w + clampi(x + m.dx, 0, w - 1)];
                    want[y * w + x] = (u8)clampi(p + ((int)cur[y * w + x] - p) / 6 * 6, 0, 255);
                }
        }
    for (int e = 8; e < w; e += 8)
        for (int y = 0; y < h; y++)
            filter_edge(&want[y * w + e], 1, 20, 8);
    for (int e = 8; e < h; e += 8)
        for (int x = 0; x < w; x++)
            filter_edge(&want[e * w + x], w, 20, 8);
    if (memcmp(want.data(), rec.data(), want.size()) != 0) {
        printf("deblocked picture differs\n");
        errors++;
    }
    printf("errors %d\n", errors);
    printf("%s\n", errors ? "FAIL" : "PASS");
    return errors ? 1 : 0;
}
