// Character animation on the GPU: sample clips, concatenate the hierarchy, skin (AoS and SoA vertices), morph targets, bounds.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <vector>

#define GPU_CALL(c) if ((c) != cudaSuccess) { printf("GPU error line %d: %s\n", __LINE__, cudaGetErrorString(cudaGetLastError())); exit(1); }

const int NUM_CHARS = 96;
const int NUM_BONES = 64;
const int NUM_FRAMES = 30;
const int NUM_VERTS = 3000;
const int NUM_MORPHS = 6;

struct Vertex {
    float pos[3];
    float nrm[3];
    float uv[2];
    unsigned char bone[4];
    float weight[4];
};

struct Pose {
    float q[4];
    float t[3];
    float pad;
};

struct Mat34 {
    float m[12];
};

struct SoaMesh {
    const float *px, *py, *pz;
    const uchar4* bone;
    const float4* weight;
};

__host__ __device__ inline void poseToMatrix(const float q[4], const float t[3], Mat34& o) {
    float x = q[0], y = q[1], z = q[2], w = q[3];
    o.m[0] = 1 - 2 * (y * y + z * z);
    o.m[1] = 2 * (x * y - z * w);
    o.m[2] = 2 * (x * z + y * w);
    o.m[3] = t[0];
    o.m[4] = 2 * (x * y + z * w);
    o.m[5] = 1 - 2 * (x * x + z * z);
    o.m[6] = 2 * (y * z - x * w);
    o.m[7] = t[1];
    o.m[8] = 2 * (x * z - y * w);
    o.m[9] = 2 * (y * z + x * w);
    o.m[10] = 1 - 2 * (x * x + y * y);
    o.m[11] = t[2];
}

__host__ __device__ inline void mulMat(const Mat34& a, const Mat34& b, Mat34& o) {
    for (int r = 0; r < 3; r++) {
        for (int c = 0; c < 4; c++) {
            float s = a.m[4 * r] * b.m[c] + a.m[4 * r + 1] * b.m[4 + c] + a.m[4 * r + 2] * b.m[8 + c];
            o.m[4 * r + c] = c == 3 ? s + a.m[4 * r + 3] : s;
        }
    }
}

__host__ __device__ inline void samplePose(const Pose& a, const Pose& b, float f, float q[4], float t[3]) {
    float dot = a.q[0] * b.q[0] + a.q[1] * b.q[1] + a.q[2] * b.q[2] + a.q[3] * b.q[3];
    float sgn = dot < 0 ? -1.0f : 1.0f;
    float len = 0;
    for (int k = 0; k < 4; k++) {
        q[k] = a.q[k] + f * (sgn * b.q[k] - a.q[k]);
        len += q[k] * q[k];
    }
    len = 1.0f / sqrtf(len);
    for (int k = 0; k < 4; k++)
        q[k] *= len;
    for (int k = 0; k < 3; k++)
        t[k] = a.t[k] + f * (b.t[k] - a.t[k]);
}

// one thread a bone of a character
__global__ void SampleClip(const Pose* clip, const float* time, Mat34* local) {
    int bone = threadIdx.x;
    int ch = blockIdx.x;
    float ft = time[ch];
    int f0 = (int)ft;
    int f1 = f0 + 1 == NUM_FRAMES ? 0 : f0 + 1;
    float q[4], t[3];
    samplePose(clip[f0 * NUM_BONES + bone], clip[f1 * NUM_BONES + bone], ft - f0, q, t);
    Mat34 m;
    poseToMatrix(q, t, m);
    local[ch * NUM_BONES + bone] = m;
}

// parents come before children; one block a character, all levels in shared memory
__global__ void BuildPalette(const Mat34* local, const int* parent, const int* depth, int maxDepth, const Mat34* invBind, Mat34* palette) {
    __shared__ Mat34 world[NUM_BONES];
    int b = threadIdx.x;
    int base = blockIdx.x * NUM_BONES;
    Mat34 mine = local[base + b];
    int d = depth[b];
    int p = parent[b];
    for (int level = 0; level <= maxDepth; level++) {
        if (d == level) {
            if (p < 0) {
                world[b] = mine;
            } else {
                Mat34 o;
                mulMat(world[p], mine, o);
                world[b] = o;
            }
        }
        __syncthreads();
    }
    Mat34 fin;
    mulMat(world[b], invBind[b], fin);
    palette[base + b] = fin;
}

__global__ void SkinAoS(const Vertex* verts, const Mat34* palette, float* outPos) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    int ch = blockIdx.y;
    if (v >= NUM_VERTS)
        return;
    Vertex in = verts[v];
    float r[3] = {0, 0, 0};
    for (int k = 0; k < 4; k++) {
        const Mat34& m = palette[ch * NUM_BONES + in.bone[k]];
        for (int c = 0; c < 3; c++)
            r[c] += in.weight[k] * (m.m[4 * c] * in.pos[0] + m.m[4 * c + 1] * in.pos[1] + m.m[4 * c + 2] * in.pos[2] + m.m[4 * c + 3]);
    }
    size_t o = ((size_t)ch * NUM_VERTS + v) * 3;
    outPos[o] = r[0];
    outPos[o + 1] = r[1];
    outPos[o + 2] = r[2];
}

// palette of the character staged in shared memory, planes of coordinates
__global__ void SkinSoA(SoaMesh mesh, const Mat34* palette, float* ox, float* oy, float* oz) {
    extern __shared__ float pal[];
    int ch = blockIdx.y;
    const float* src = reinterpret_cast<const float*>(palette + ch * NUM_BONES);
    for (int i = threadIdx.x; i < NUM_BONES * 12; i += blockDim.x)
        pal[i] = src[i];
    __syncthreads();
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= NUM_VERTS)
        return;
    float x = mesh.px[v];
    float y = mesh.py[v];
    float z = mesh.pz[v];
    uchar4 bb = mesh.bone[v];
    float4 ww = mesh.weight[v];
    int bones[4] = {bb.x, bb.y, bb.z, bb.w};
    float weights[4] = {ww.x, ww.y, ww.z, ww.w};
    float rx = 0, ry = 0, rz = 0;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const float* m = pal + bones[k] * 12;
        rx += weights[k] * (m[0] * x + m[1] * y + m[2] * z + m[3]);
        ry += weights[k] * (m[4] * x + m[5] * y + m[6] * z + m[7]);
        rz += weights[k] * (m[8] * x + m[9] * y + m[10] * z + m[11]);
    }
    int o = ch * NUM_VERTS + v;
    ox[o] = rx;
    oy[o] = ry;
    oz[o] = rz;
}

// blend shapes: delta is [vertex][morph][3]
__global__ void ApplyMorphs(const Vertex* base, const float* delta, const float* w, float* out) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= NUM_VERTS)
        return;
    float p[3] = {base[v].pos[0], base[v].pos[1], base[v].pos[2]};
    for (int m = 0; m < NUM_MORPHS; m++) {
        float a = w[m];
        for (int c = 0; c < 3; c++)
            p[c] += a * delta[(v * NUM_MORPHS + m) * 3 + c];
    }
    for (int c = 0; c < 3; c++)
        out[c * NUM_VERTS + v] = p[c];
}

__global__ void CharacterBounds(const float* ox, const float* oy, const float* oz, float* bounds) {
    __shared__ float lo[3][128];
    __shared__ float hi[3][128];
    const float* arr[3] = {ox, oy, oz};
    int t = threadIdx.x;
    for (int c = 0; c < 3; c++) {
        float l = 1e30f, h = -1e30f;
        for (int v = t; v < NUM_VERTS; v += 128) {
            float x = arr[c][blockIdx.x * NUM_VERTS + v];
            l = fminf(l, x);
            h = fmaxf(h, x);
        }
        lo[c][t] = l;
        hi[c][t] = h;
    }
    __syncthreads();
    for (int s = 64; s > 0; s >>= 1) {
        if (t < s) {
            for (int c = 0; c < 3; c++) {
                lo[c][t] = fminf(lo[c][t], lo[c][t + s]);
                hi[c][t] = fmaxf(hi[c][t], hi[c][t + s]);
            }
        }
        __syncthreads();
    }
    if (t < 6)
        bounds[blockIdx.x * 6 + t] = t < 3 ? lo[t][0] : hi[t - 3][0];
}

static unsigned rngState = 12345;
static float frand() {
    rngState = rngState * 1664525u + 1013904223u;
    return (rngState >> 8) / 16777216.0f;
}

template <class T>
T* upload(const std::vector<T>& h) {
    T* d;
    GPU_CALL(cudaMalloc(&d, h.size() * sizeof(T)));
    GPU_CALL(cudaMemcpy(d, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice));
    return d;
}

template <class T>
std::vector<T> download(const T* d, size_t n) {
    std::vector<T> h(n);
    GPU_CALL(cudaMemcpy(h.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost));
    return h;
}

template <class T>
T* room(size_t n) {
    T* d;
    GPU_CALL(cudaMalloc(&d, n * sizeof(T)));
    return d;
}

int main() {
    std::vector<Pose> clip(NUM_FRAMES * NUM_BONES);
    for (auto& p : clip) {
        float s = 0;
        for (int k = 0; k < 4; k++) {
            p.q[k] = k == 3 ? 1.0f : 0.6f * (frand() - 0.5f);
            s += p.q[k] * p.q[k];
        }
        for (int k = 0; k < 4; k++)
            p.q[k] /= sqrtf(s);
        for (int k = 0; k < 3; k++)
            p.t[k] = frand() - 0.5f;
        p.pad = 0;
    }
    std::vector<int> parent(NUM_BONES), depth(NUM_BONES);
    std::vector<Mat34> invBind(NUM_BONES);
    int maxDepth = 0;
    for (int b = 0; b < NUM_BONES; b++) {
        parent[b] = b == 0 ? -1 : (b - 1) / 2;
        depth[b] = b == 0 ? 0 : depth[parent[b]] + 1;
        maxDepth = depth[b] > maxDepth ? depth[b] : maxDepth;
        for (int k = 0; k < 12; k++)
            invBind[b].m[k] = k % 5 == 0 ? 1.0f : 0.1f * (frand() - 0.5f);
    }
    std::vector<Vertex> verts(NUM_VERTS);
    std::vector<float> px(NUM_VERTS), py(NUM_VERTS), pz(NUM_VERTS);
    std::vector<uchar4> bones(NUM_VERTS);
    std::vector<float4> weights(NUM_VERTS);
    for (int v = 0; v < NUM_VERTS; v++) {
        Vertex& a = verts[v];
        for (int k = 0; k < 3; k++) {
            a.pos[k] = 2 * frand() - 1;
            a.nrm[k] = frand();
        }
        a.uv[0] = a.uv[1] = 0;
        float s = 0;
        for (int k = 0; k < 4; k++) {
            a.bone[k] = (unsigned char)(frand() * 63.99f);
            a.weight[k] = frand() + 0.01f;
            s += a.weight[k];
        }
        for (int k = 0; k < 4; k++)
            a.weight[k] /= s;
        px[v] = a.pos[0];
        py[v] = a.pos[1];
        pz[v] = a.pos[2];
        bones[v] = make_uchar4(a.bone[0], a.bone[1], a.bone[2], a.bone[3]);
        weights[v] = make_float4(a.weight[0], a.weight[1], a.weight[2], a.weight[3]);
    }
    std::vector<float> times(NUM_CHARS), delta(NUM_VERTS * NUM_MORPHS * 3), mw(NUM_MORPHS);
    for (auto& t : times)
        t = frand() * 29.9f;
    for (auto& d : delta)
        d = 0.05f * (frand() - 0.5f);
    for (auto& w : mw)
        w = frand();

    Pose* dClip = upload(clip);
    float* dTime = upload(times);
    int* dParent = upload(parent);
    int* dDepth = upload(depth);
    Mat34* dInv = upload(invBind);
    Vertex* dVerts = upload(verts);
    SoaMesh mesh = {upload(px), upload(py), upload(pz), upload(bones), upload(weights)};
    float* dDelta = upload(delta);
    float* dMw = upload(mw);
    Mat34* dLocal = room<Mat34>(NUM_CHARS * NUM_BONES);
    Mat34* dPal = room<Mat34>(NUM_CHARS * NUM_BONES);
    size_t nv = (size_t)NUM_CHARS * NUM_VERTS;
    float* dPos = room<float>(nv * 3);
    float* dX = room<float>(nv);
    float* dY = room<float>(nv);
    float* dZ = room<float>(nv);
    float* dMorph = room<float>(NUM_VERTS * 3);
    float* dBounds = room<float>(NUM_CHARS * 6);

    SampleClip<<<NUM_CHARS, NUM_BONES>>>(dClip, dTime, dLocal);
    BuildPalette<<<NUM_CHARS, NUM_BONES>>>(dLocal, dParent, dDepth, maxDepth, dInv, dPal);
    dim3 grid((NUM_VERTS + 127) / 128, NUM_CHARS);
    SkinAoS<<<grid, 128>>>(dVerts, dPal, dPos);
    SkinSoA<<<grid, 128, NUM_BONES * sizeof(Mat34)>>>(mesh, dPal, dX, dY, dZ);
    ApplyMorphs<<<(NUM_VERTS + 255) / 256, 256>>>(dVerts, dDelta, dMw, dMorph);
    CharacterBounds<<<NUM_CHARS, 128>>>(dX, dY, dZ, dBounds);
    GPU_CALL(cudaDeviceSynchronize());

    auto pos = download(dPos, nv * 3);
    auto X = download(dX, nv);
    auto Y = download(dY, nv);
    auto Z = download(dZ, nv);
    auto morph = download(dMorph, NUM_VERTS * 3);
    auto bnd = download(dBounds, NUM_CHARS * 6);
    double worst = 0;
    for (int ch = 0; ch < NUM_CHARS; ch += 5) {
        std::vector<Mat34> world(NUM_BONES), pal(NUM_BONES);
        int f0 = (int)times[ch];
        int f1 = (f0 + 1) % NUM_FRAMES;
        for (int b = 0; b < NUM_BONES; b++) {
            float q[4], t[3];
            samplePose(clip[f0 * NUM_BONES + b], clip[f1 * NUM_BONES + b], times[ch] - f0, q, t);
            Mat34 m;
            poseToMatrix(q, t, m);
            if (parent[b] < 0)
                world[b] = m;
            else
                mulMat(world[parent[b]], m, world[b]);
            mulMat(world[b], invBind[b], pal[b]);
        }
        float maxx = -1e30f;
        for (int v = 0; v < NUM_VERTS; v++) {
            size_t o = (size_t)ch * NUM_VERTS + v;
            double r[3] = {0, 0, 0};
            for (int k = 0; k < 4; k++) {
                const float* m = pal[verts[v].bone[k]].m;
                for (int c = 0; c < 3; c++)
                    r[c] += verts[v].weight[k] * (m[4 * c] * px[v] + m[4 * c + 1] * py[v] + m[4 * c + 2] * pz[v] + m[4 * c + 3]);
            }
            for (int c = 0; c < 3; c++) {
                float soa = c == 0 ? X[o] : (c == 1 ? Y[o] : Z[o]);
                worst = fmax(worst, fabs(r[c] - soa));
                worst = fmax(worst, fabs(r[c] - pos[3 * o + c]));
            }
            maxx = fmaxf(maxx, X[o]);
        }
        worst = fmax(worst, fabs(maxx - bnd[ch * 6 + 3]));
    }
    for (int v = 0; v < NUM_VERTS; v++) {
        float y = py[v];
        for (int m = 0; m < NUM_MORPHS; m++)
            y += mw[m] * delta[(v * NUM_MORPHS + m) * 3 + 1];
        worst = fmax(worst, fabs(y - morph[NUM_VERTS + v]));
    }
    printf("worst error %g\n", worst);
    printf(worst < 1e-3 ? "PASS\n" : "FAIL\n");
    return worst < 1e-3 ? 0 : 1;
}
