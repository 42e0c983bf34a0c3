/*
 * Geometry queries:
 *   - k nearest neighbours in an implicit (heap ordered) kd-tree, small stack per thread
 *   - face and vertex normals of an indexed mesh
 *   - brute-force ray / triangle intersection (Moeller-Trumbore), triangles staged in shared memory
 */
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define HD __host__ __device__ __forceinline__

HD float3 operator-(float3 a, float3 b) { return make_float3(a.x - b.x, a.y - b.y, a.z - b.z); }
HD float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
HD float3 operator*(float s, float3 a) { return make_float3(s * a.x, s * a.y, s * a.z); }
HD float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
HD float3 cross(float3 a, float3 b)
{
    return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

static void check(cudaError_t e, int line)
{
    if (e != cudaSuccess) { fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e)); exit(3); }
}
#define CK(x) check((x), __LINE__)

template <typename T> T *upload(const std::vector<T> &v)
{
    T *d;
    CK(cudaMalloc(&d, v.size() * sizeof(T)));
    CK(cudaMemcpy(d, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    return d;
}
template <typename T> std::vector<T> download(const T *d, size_t n)
{
    std::vector<T> v(n);
    CK(cudaMemcpy(v.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost));
    return v;
}

// ---------------------------------------------------------------------------------------------------------------- kd
template <int K> struct Candidates {
    float d2[K];
    HD Candidates() { for (int i = 0; i < K; ++i) d2[i] = FLT_MAX; }
    HD float worst() const { return d2[K - 1]; }
    HD void push(float v)
    {
#pragma unroll
        for (int i = 0; i < K; ++i)
            if (v < d2[i]) { float t = d2[i]; d2[i] = v; v = t; }
    }
};

template <int K> HD Candidates<K> knnQuery(const float4 *nodes, int count, float3 q)
{
    Candidates<K> best;
    struct Entry { int node; float d2; } stack[24];
    int top = 0;
    stack[top++] = {1, 0.f};
    while (top > 0) {
        Entry e = stack[--top];
        if (e.d2 >= best.worst()) continue;
        int node = e.node;
        while (node <= count) {
            float4 n = nodes[node - 1];
            float3 d = make_float3(n.x - q.x, n.y - q.y, n.z - q.z);
            best.push(dot(d, d));
            int axis = (int)n.w;
            float plane = axis == 0 ? -d.x : axis == 1 ? -d.y : -d.z;      // q - node along the axis
            int near = 2 * node + (plane > 0.f);
            if (top < 24 && (near ^ 1) <= count) stack[top++] = {near ^ 1, plane * plane};
            node = near;
        }
    }
    return best;
}

template <int K> __global__ void knnKernel(const float4 *nodes, int count, const float3 *queries, int numQueries, float *out)
{
    int tid = threadIdx.x + blockIdx.x * blockDim.x;
    if (tid >= numQueries) return;
    Candidates<K> c = knnQuery<K>(nodes, count, queries[tid]);
#pragma unroll
    for (int k = 0; k < K; ++k) out[tid * K + k] = c.d2[k];
}

static void build(std::vector<float3> &pts, int lo, int hi, int node, int depth, std::vector<float4> &nodes)
{
    if (lo >= hi) return;
    int mid = (lo + hi) / 2, axis = depth % 3;
    std::nth_element(pts.begin() + lo, pts.begin() + mid, pts.begin() + hi, [axis](float3 a, float3 b) {
        return (&a.x)[axis] < (&b.x)[axis];
    });
    nodes[node - 1] = make_float4(pts[mid].x, pts[mid].y, pts[mid].z, (float)axis);
    build(pts, lo, mid, 2 * node, depth + 1, nodes);
    build(pts, mid + 1, hi, 2 * node + 1, depth + 1, nodes);
}

// ------------------------------------------------------------------------------------------------------------- normals
__global__ void faceNormals(const float3 *v, const int3 *tri, int numTri, float3 *faceN, float *vertN)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= numTri) return;
    int3 f = tri[t];
    float3 a = v[f.x], n = cross(v[f.y] - a, v[f.z] - a);
    faceN[t] = n;
    const int idx[3] = {f.x, f.y, f.z};
    for (int k = 0; k < 3; ++k) {
        atomicAdd(&vertN[3 * idx[k] + 0], n.x);
        atomicAdd(&vertN[3 * idx[k] + 1], n.y);
        atomicAdd(&vertN[3 * idx[k] + 2], n.z);
    }
}

__global__ void normaliseVertices(float3 *n, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        float3 a = n[i];
        n[i] = rsqrtf(dot(a, a)) * a;
    }
}

// ---------------------------------------------------------------------------------------------------------------- rays
struct Triangle { float3 v0, e1, e2; };

HD float intersect(float3 o, float3 d, const Triangle &t)
{
    float3 p = cross(d, t.e2);
    float det = dot(t.e1, p);
    if (fabsf(det) < 1e-9f) return FLT_MAX;
    float inv = 1.f / det;
    float3 s = o - t.v0;
    float u = dot(s, p) * inv;
    if (u < 0.f || u > 1.f) return FLT_MAX;
    float3 q = cross(s, t.e1);
    float v = dot(d, q) * inv;
    if (v < 0.f || u + v > 1.f) return FLT_MAX;
    float w = dot(t.e2, q) * inv;
    return w > 0.f ? w : FLT_MAX;
}

HD float3 rayDirection(int x, int y, int w, int h)
{
    float3 d = make_float3((x + 0.5f) / w - 0.5f, (y + 0.5f) / h - 0.5f, -1.f);
    return (1.f / sqrtf(dot(d, d))) * d;
}

__global__ void __launch_bounds__(256) castRays(const Triangle *__restrict__ tris, int numTri, int w, int h, float3 eye, float *depth)
{
    __shared__ Triangle tile[256];
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y, lane = threadIdx.y * 16 + threadIdx.x;
    const float3 d = rayDirection(x, y, w, h);
    float best = FLT_MAX;
    for (int base = 0; base < numTri; base += 256) {
        if (base + lane < numTri) tile[lane] = tris[base + lane];
        __syncthreads();
        int n = min(256, numTri - base);
        for (int k = 0; k < n; ++k) best = fminf(best, intersect(eye, d, tile[k]));
        __syncthreads();
    }
    if (x < w && y < h) depth[y * w + x] = best;
}

static void heightfield(int n, std::vector<float3> &v, std::vector<int3> &f)
{
    for (int j = 0; j <= n; ++j)
        for (int i = 0; i <= n; ++i) {
            float x = 2.f * i / n - 1.f, y = 2.f * j / n - 1.f;
            v.push_back(make_float3(x, y, 0.2f * sinf(5 * x) * cosf(4 * y)));
        }
    for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) {
            int a = j * (n + 1) + i;
            f.push_back(make_int3(a, a + 1, a + n + 1));
            f.push_back(make_int3(a + 1, a + n + 2, a + n + 1));
        }
}

int main()
{
    int bad = 0;
    {
        const int N = (1 << 14) - 1, Q = 1 << 15;
        constexpr int K = 4;
        uint32_t s = 2463534242u;
        auto uniform = [&s] { s ^= s << 13; s ^= s >> 17; s ^= s << 5; return (s >> 8) * (1.f / 16777216.f); };
        std::vector<float3> pts(N), queries(Q);
        for (auto &p : pts) { p.x = uniform(); p.y = uniform(); p.z = uniform(); }
        for (auto &p : queries) { p.x = uniform(); p.y = uniform(); p.z = uniform(); }
        std::vector<float4> nodes(N);
        build(pts, 0, N, 1, 0, nodes);
        float4 *dn = upload(nodes);
        float3 *dq = upload(queries);
        float *dout;
        CK(cudaMalloc(&dout, Q * K * sizeof(float)));
        knnKernel<K><<<(Q + 127) / 128, 128>>>(dn, N, dq, Q, dout);
        CK(cudaGetLastError());
        auto got = download(dout, (size_t)Q * K);
        for (int i = 0; i < Q; ++i) {
            auto want = knnQuery<K>(nodes.data(), N, queries[i]);
            for (int k = 0; k < K; ++k) bad += fabsf(got[i * K + k] - want.d2[k]) > 1e-5f;
        }
        for (int i = 0; i < Q; i += 997) {       // and a few the long way
            float near = FLT_MAX;
            for (auto &p : pts) near = fminf(near, dot(p - queries[i], p - queries[i]));
            bad += fabsf(near - got[i * K]) > 1e-5f;
        }
        printf("knn: %d wrong\n", bad);
        cudaFree(dn); cudaFree(dq); cudaFree(dout);
    }
    {
        std::vector<float3> v; std::vector<int3> f;
        heightfield(256, v, f);
        float3 *dv = upload(v), *dfn; int3 *df = upload(f); float *dvn;
        CK(cudaMalloc(&dfn, f.size() * sizeof(float3)));
        CK(cudaMalloc(&dvn, v.size() * sizeof(float3)));
        CK(cudaMemset(dvn, 0, v.size() * sizeof(float3)));
        faceNormals<<<((int)f.size() + 255) / 256, 256>>>(dv, df, (int)f.size(), dfn, dvn);
        normaliseVertices<<<((int)v.size() + 255) / 256, 256>>>((float3 *)dvn, (int)v.size());
        CK(cudaGetLastError());
        auto gotF = download(dfn, f.size());
        auto gotV = download((float3 *)dvn, v.size());
        std::vector<float3> want(v.size(), make_float3(0, 0, 0));
        int wrong = 0;
        for (size_t t = 0; t < f.size(); ++t) {
            float3 n = cross(v[f[t].y] - v[f[t].x], v[f[t].z] - v[f[t].x]), d = n - gotF[t];
            wrong += dot(d, d) > 1e-10f * dot(n, n);
            want[f[t].x] = want[f[t].x] + n; want[f[t].y] = want[f[t].y] + n; want[f[t].z] = want[f[t].z] + n;
        }
        for (size_t i = 0; i < v.size(); ++i) {
            float3 d = (1.f / sqrtf(dot(want[i], want[i]))) * want[i] - gotV[i];
            wrong += dot(d, d) > 1e-6f;
        }
        printf("normals: %d wrong\n", wrong);
        bad += wrong;
    }
    {
        std::vector<float3> v; std::vector<int3> f;
        heightfield(18, v, f);                   // 648 triangles
        std::vector<Triangle> tris;
        for (auto &t : f) tris.push_back({v[t.x], v[t.y] - v[t.x], v[t.z] - v[t.x]});
        const int W = 256, H = 160;
        float3 eye = make_float3(0.01f, -0.02f, 2.5f);
        Triangle *dt = upload(tris); float *dd;
        CK(cudaMalloc(&dd, W * H * sizeof(float)));
        castRays<<<dim3(W / 16, H / 16), dim3(16, 16)>>>(dt, (int)tris.size(), W, H, eye, dd);
        CK(cudaGetLastError());
        auto got = download(dd, W * H);
        int wrong = 0;
        for (int y = 0; y < H; ++y)
            for (int x = 0; x < W; ++x) {
                float best = FLT_MAX;
                for (auto &t : tris) best = fminf(best, intersect(eye, rayDirection(x, y, W, H), t));
                wrong += !(fabsf(best - got[y * W + x]) <= 1e-3f * best);
            }
        printf("rays: %d of %d differ (edges)\n", wrong, W * H);
        bad += wrong > W * H / 500 ? wrong : 0;
    }
    return bad ? 1 : 0;
}
