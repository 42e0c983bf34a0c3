// Games style: terrain mesh, vertex normals by scatter and by adjacency,
// Laplacian smoothing, AoS vs SoA vertices, bounding box.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <float.h>
#include <vector>

struct Vec3 { float x, y, z; };
struct Vertex { Vec3 pos; Vec3 nrm; float u, v; };   // 32 bytes
struct MeshSoA { float *px, *py, *pz; float *nx, *ny, *nz; };
struct MeshGPU
{
    Vertex *verts;
    int *indices;        // 3 per triangle
    int *adjStart;       // numVerts + 1
    int *adj;            // neighbour list
    MeshSoA soa;
    int numVerts;
    int numTris;
};

#define GPU(x) { cudaError_t r = (x); if (r != cudaSuccess) { printf("GPU error %s @%d\n", cudaGetErrorString(r), __LINE__); exit(-1); } }

__host__ __device__ inline Vec3 operator-(Vec3 a, Vec3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
__host__ __device__ inline Vec3 cross(Vec3 a, Vec3 b)
{
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

__global__ void ClearNormals(MeshGPU m)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < m.numVerts)
    {
        m.verts[i].nrm = {0, 0, 0};
    }
}

__global__ void AccumulateFaceNormals(MeshGPU m)
{
    int t = threadIdx.x + blockIdx.x * blockDim.x;
    if (t >= m.numTris) return;
    int a = m.indices[t * 3 + 0];
    int b = m.indices[t * 3 + 1];
    int c = m.indices[t * 3 + 2];
    Vec3 pa = m.verts[a].pos;
    Vec3 n = cross(m.verts[b].pos - pa, m.verts[c].pos - pa);
    int id[3] = {a, b, c};
#pragma unroll
    for (int k = 0; k < 3; k++)
    {
        atomicAdd(&m.verts[id[k]].nrm.x, n.x);
        atomicAdd(&m.verts[id[k]].nrm.y, n.y);
        atomicAdd(&m.verts[id[k]].nrm.z, n.z);
    }
}

__global__ void NormalizeAoS(MeshGPU m)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= m.numVerts) return;
    Vec3 n = m.verts[i].nrm;
    float inv = rsqrtf(n.x * n.x + n.y * n.y + n.z * n.z + 1e-20f);
    m.verts[i].nrm.x = n.x * inv;
    m.verts[i].nrm.y = n.y * inv;
    m.verts[i].nrm.z = n.z * inv;
}

__global__ void SplitToSoA(MeshGPU m)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= m.numVerts) return;
    const float4 *v = reinterpret_cast<const float4 *>(m.verts + i);
    float4 lo = v[0];
    float4 hi = v[1];
    m.soa.px[i] = lo.x;
    m.soa.py[i] = lo.y;
    m.soa.pz[i] = lo.z;
    m.soa.nx[i] = lo.w;
    m.soa.ny[i] = hi.x;
    m.soa.nz[i] = hi.y;
}

__global__ void LaplacianSmooth(MeshGPU m, const float *__restrict__ inX, const float *__restrict__ inY, const float *__restrict__ inZ,
                                float *outX, float *outY, float *outZ, float lambda)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= m.numVerts) return;
    int s = m.adjStart[i];
    int e = m.adjStart[i + 1];
    float x = 0, y = 0, z = 0;
    for (int k = s; k < e; k++)
    {
        int j = m.adj[k];
        x += inX[j];
        y += inY[j];
        z += inZ[j];
    }
    float inv = 1.0f / (float)(e - s);
    outX[i] = inX[i] + lambda * (x * inv - inX[i]);
    outY[i] = inY[i] + lambda * (y * inv - inY[i]);
    outZ[i] = inZ[i] + lambda * (z * inv - inZ[i]);
}

// per block min / max, with shared arrays of structs
__global__ void BoundsPartial(const float *x, const float *y, const float *z, int n, Vec3 *outMin, Vec3 *outMax)
{
    __shared__ Vec3 mn[256];
    __shared__ Vec3 mx[256];
    Vec3 lo = {FLT_MAX, FLT_MAX, FLT_MAX};
    Vec3 hi = {-FLT_MAX, -FLT_MAX, -FLT_MAX};
    for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x)
    {
        lo.x = fminf(lo.x, x[i]);
        hi.x = fmaxf(hi.x, x[i]);
        lo.y = fminf(lo.y, y[i]);
        hi.y = fmaxf(hi.y, y[i]);
        lo.z = fminf(lo.z, z[i]);
        hi.z = fmaxf(hi.z, z[i]);
    }
    int t = threadIdx.x;
    mn[t] = lo;
    mx[t] = hi;
    __syncthreads();
    for (int s = 1; s < 256; s *= 2)
    {
        int k = 2 * s * t;
        if (k + s < 256)
        {
            mn[k].x = fminf(mn[k].x, mn[k + s].x);
            mn[k].y = fminf(mn[k].y, mn[k + s].y);
            mn[k].z = fminf(mn[k].z, mn[k + s].z);
            mx[k].x = fmaxf(mx[k].x, mx[k + s].x);
            mx[k].y = fmaxf(mx[k].y, mx[k + s].y);
            mx[k].z = fmaxf(mx[k].z, mx[k + s].z);
        }
        __syncthreads();
    }
    if (t == 0)
    {
        outMin[blockIdx.x] = mn[0];
        outMax[blockIdx.x] = mx[0];
    }
}

int main()
{
    const int S = 256;
    std::vector<Vertex> v(S * S);
    unsigned rng = 77777;
    for (int y = 0; y < S; y++)
        for (int x = 0; x < S; x++)
        {
            rng ^= rng << 13; rng ^= rng >> 17; rng ^= rng << 5;
            Vertex &q = v[y * S + x];
            q.pos.x = (float)x;
            q.pos.z = (float)y;
            q.pos.y = 5.0f * sinf(x * 0.05f) * cosf(y * 0.07f) + (rng & 1023) / 1024.0f;
            q.nrm = {0, 0, 0};
            q.u = x / (float)S;
            q.v = y / (float)S;
        }
    std::vector<int> idx;
    for (int y = 0; y + 1 < S; y++)
        for (int x = 0; x + 1 < S; x++)
        {
            int a = y * S + x;
            int quad[6] = {a, a + S, a + 1, a + 1, a + S, a + S + 1};
            idx.insert(idx.end(), quad, quad + 6);
        }
    std::vector<int> start(1, 0), adj;
    for (int y = 0; y < S; y++)
        for (int x = 0; x < S; x++)
        {
            if (x > 0) adj.push_back(y * S + x - 1);
            if (x + 1 < S) adj.push_back(y * S + x + 1);
            if (y > 0) adj.push_back((y - 1) * S + x);
            if (y + 1 < S) adj.push_back((y + 1) * S + x);
            start.push_back((int)adj.size());
        }
    MeshGPU m;
    m.numVerts = S * S;
    m.numTris = (int)idx.size() / 3;
    GPU(cudaMalloc(&m.verts, v.size() * sizeof(Vertex)));
    GPU(cudaMalloc(&m.indices, idx.size() * 4));
    GPU(cudaMalloc(&m.adjStart, start.size() * 4));
    GPU(cudaMalloc(&m.adj, adj.size() * 4));
    float *pool;
    GPU(cudaMalloc(&pool, 9 * v.size() * sizeof(float)));
    int nv = m.numVerts;
    m.soa = {pool, pool + nv, pool + 2 * nv, pool + 3 * nv, pool + 4 * nv, pool + 5 * nv};
    float *tx = pool + 6 * nv, *ty = pool + 7 * nv, *tz = pool + 8 * nv;
    Vec3 *bmin, *bmax;
    GPU(cudaMalloc(&bmin, 32 * sizeof(Vec3)));
    GPU(cudaMalloc(&bmax, 32 * sizeof(Vec3)));
    GPU(cudaMemcpy(m.verts, v.data(), v.size() * sizeof(Vertex), cudaMemcpyHostToDevice));
    GPU(cudaMemcpy(m.indices, idx.data(), idx.size() * 4, cudaMemcpyHostToDevice));
    GPU(cudaMemcpy(m.adjStart, start.data(), start.size() * 4, cudaMemcpyHostToDevice));
    GPU(cudaMemcpy(m.adj, adj.data(), adj.size() * 4, cudaMemcpyHostToDevice));

    int tb = 256, vb = (nv + tb - 1) / tb;
    ClearNormals<<<vb, tb>>>(m);
    AccumulateFaceNormals<<<(m.numTris + tb - 1) / tb, tb>>>(m);
    NormalizeAoS<<<vb, tb>>>(m);
    SplitToSoA<<<vb, tb>>>(m);
    for (int it = 0; it < 3; it++)
    {
        LaplacianSmooth<<<vb, tb>>>(m, m.soa.px, m.soa.py, m.soa.pz, tx, ty, tz, 0.5f);
        LaplacianSmooth<<<vb, tb>>>(m, tx, ty, tz, m.soa.px, m.soa.py, m.soa.pz, 0.5f);
    }
    BoundsPartial<<<32, 256>>>(m.soa.px, m.soa.py, m.soa.pz, nv, bmin, bmax);
    GPU(cudaGetLastError());
    GPU(cudaDeviceSynchronize());

    std::vector<float> soa(6 * nv);
    Vec3 hmin[32], hmax[32];
    GPU(cudaMemcpy(soa.data(), pool, soa.size() * 4, cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(hmin, bmin, sizeof(hmin), cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(hmax, bmax, sizeof(hmax), cudaMemcpyDeviceToHost));

    std::vector<double> nn(3 * nv, 0.0);
    for (size_t t = 0; t < idx.size(); t += 3)
    {
        Vec3 a = v[idx[t]].pos;
        Vec3 n = cross(v[idx[t + 1]].pos - a, v[idx[t + 2]].pos - a);
        for (int k = 0; k < 3; k++)
        {
            nn[3 * idx[t + k]] += n.x;
            nn[3 * idx[t + k] + 1] += n.y;
            nn[3 * idx[t + k] + 2] += n.z;
        }
    }
    int bad = 0;
    for (int i = 0; i < nv; i++)
    {
        double l = sqrt(nn[3 * i] * nn[3 * i] + nn[3 * i + 1] * nn[3 * i + 1] + nn[3 * i + 2] * nn[3 * i + 2]);
        for (int k = 0; k < 3; k++)
            if (fabs(nn[3 * i + k] / l - soa[(3 + k) * nv + i]) > 1e-3) bad++;
    }
    std::vector<float> cur(nv), nxt(nv);
    for (int i = 0; i < nv; i++) cur[i] = v[i].pos.y;
    for (int it = 0; it < 6; it++)
    {
        for (int i = 0; i < nv; i++)
        {
            float s = 0;
            for (int k = start[i]; k < start[i + 1]; k++) s += cur[adj[k]];
            nxt[i] = cur[i] + 0.5f * (s / (start[i + 1] - start[i]) - cur[i]);
        }
        cur.swap(nxt);
    }
    float lo = FLT_MAX, hi = -FLT_MAX, glo = FLT_MAX, ghi = -FLT_MAX;
    for (int i = 0; i < nv; i++)
    {
        if (fabsf(cur[i] - soa[nv + i]) > 1e-3f) bad++;
        lo = fminf(lo, cur[i]);
        hi = fmaxf(hi, cur[i]);
    }
    for (int i = 0; i < 32; i++)
    {
        glo = fminf(glo, hmin[i].y);
        ghi = fmaxf(ghi, hmax[i].y);
    }
    if (fabsf(lo - glo) > 1e-3f || fabsf(hi - ghi) > 1e-3f) bad++;
    printf("%d bad, y range %f..%f\n%s\n", bad, glo, ghi, bad == 0 ? "PASS" : "FAIL");
    return bad == 0 ? 0 : 1;
}
