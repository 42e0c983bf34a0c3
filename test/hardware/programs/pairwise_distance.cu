// Distances between all pairs of two point sets, and the nearest neighbour of each query.
#include <cfloat>
#include "common.h"

#define BLOCK_DIM 16

// Column-major point sets (one point a column), tiles of 16 x 16.
__global__ void computeDistances(const float *ref, int refWidth, const float *query, int queryWidth, int height, float *dist)
{
    __shared__ float shared_A[BLOCK_DIM][BLOCK_DIM];
    __shared__ float shared_B[BLOCK_DIM][BLOCK_DIM];
    int begin_A = BLOCK_DIM * blockIdx.y;
    int begin_B = BLOCK_DIM * blockIdx.x;
    int step_A = BLOCK_DIM * refWidth;
    int step_B = BLOCK_DIM * queryWidth;
    int end_A = begin_A + (height - 1) * refWidth;
    int tx = threadIdx.x, ty = threadIdx.y;
    int cond0 = (begin_A + tx < refWidth);
    int cond1 = (begin_B + tx < queryWidth);
    int cond2 = (begin_A + ty < refWidth);
    float ssd = 0.f;
    for (int a = begin_A, b = begin_B; a <= end_A; a += step_A, b += step_B) {
        if (a / refWidth + ty < height) {
            shared_A[ty][tx] = (cond0) ? ref[a + refWidth * ty + tx] : 0;
            shared_B[ty][tx] = (cond1) ? query[b + queryWidth * ty + tx] : 0;
        } else {
            shared_A[ty][tx] = 0;
            shared_B[ty][tx] = 0;
        }
        __syncthreads();
        if (cond2 && cond1) {
            for (int k = 0; k < BLOCK_DIM; ++k) {
                float tmp = shared_A[k][ty] - shared_B[k][tx];
                ssd += tmp * tmp;
            }
        }
        __syncthreads();
    }
    if (cond2 && cond1)
        dist[(begin_A + ty) * queryWidth + begin_B + tx] = ssd;
}

// Points as float3; every lane scans all references.
__global__ void nearest(const float3 *ref, int refs, const float3 *query, int queries, int *index)
{
    int q = blockIdx.x * blockDim.x + threadIdx.x;
    if (q >= queries) return;
    float3 p = query[q];
    float best = FLT_MAX;
    int at = -1;
    for (int r = 0; r < refs; ++r) {
        float dx = ref[r].x - p.x, dy = ref[r].y - p.y, dz = ref[r].z - p.z;
        float d = dx * dx + dy * dy + dz * dz;
        if (d < best) { best = d; at = r; }
    }
    index[q] = at;
}

int main()
{
    const int refs = 300, queries = 250, height = 40;
    std::vector<float> ref = randomFloats(refs * height, 1), query = randomFloats(queries * height, 2), want(refs * queries, 0.0f);
    for (int r = 0; r < refs; ++r)
        for (int q = 0; q < queries; ++q)
            for (int h = 0; h < height; ++h) {
                float d = ref[h * refs + r] - query[h * queries + q];
                want[r * queries + q] += d * d;
            }
    float *dd = deviceZeros<float>(refs * queries);
    bool ok = true;
    computeDistances<<<dim3((queries + 15) / 16, (refs + 15) / 16), dim3(16, 16)>>>(toDevice(ref), refs, toDevice(query), queries, height, dd);
    ok &= report("computeDistances", allNear(toHost(dd, want.size()), want, 1e-4));

    std::vector<float3> r3(1000), q3(2000);
    Random rnd(3);
    for (auto &p : r3) p = make_float3(rnd.uniform(), rnd.uniform(), rnd.uniform());
    for (auto &p : q3) p = make_float3(rnd.uniform(), rnd.uniform(), rnd.uniform());
    int *di = deviceZeros<int>(2000);
    nearest<<<(2000 + 63) / 64, 64>>>(toDevice(r3), 1000, toDevice(q3), 2000, di);
    std::vector<int> got = toHost(di, 2000);
    int off = 0;
    for (int q = 0; q < 2000; ++q) {
        auto dist = [&](int r) { float a = r3[r].x - q3[q].x, b = r3[r].y - q3[q].y, c = r3[r].z - q3[q].z; return a * a + b * b + c * c; };
        int best = 0;
        for (int r = 1; r < 1000; ++r) if (dist(r) < dist(best)) best = r;
        off += got[q] != best;
    }
    ok &= report("nearest", off < 4);
    return ok ? 0 : 1;
}
