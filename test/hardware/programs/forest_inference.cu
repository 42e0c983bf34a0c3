// Random forest inference (regression): node array traversal, three data layouts
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cmath>

struct Node {            // 16 bytes
    float thr;
    float value;
    short feature;       // -1 = leaf
    short pad;
    int left;            // right = left + 1
};

// row-major samples; each thread a sample over all trees
__global__ void predict_rowmajor(const Node* nodes, const int* roots, int ntree, const float* X, int nfeat, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = 0;
    for (int t = 0; t < ntree; t++) {
        int k = roots[t];
        while (nodes[k].feature >= 0)
            k = nodes[k].left + (X[i * nfeat + nodes[k].feature] > nodes[k].thr);
        s += nodes[k].value;
    }
    y[i] = s / ntree;
}

// sample's features staged in shared memory: block handles ROWS samples, threads split trees
template <int ROWS>
__global__ void predict_shared(const int4* __restrict__ nodes, const int* __restrict__ roots, int ntree, const float* __restrict__ X, int nfeat, float* __restrict__ y, int n) {
    extern __shared__ float sx[];    // ROWS x nfeat
    __shared__ float acc[ROWS];
    int r0 = blockIdx.x * ROWS;
    int rows = min(ROWS, n - r0);
    for (int k = threadIdx.x; k < rows * nfeat; k += blockDim.x) sx[k] = X[(size_t)r0 * nfeat + k];
    if (threadIdx.x < ROWS) acc[threadIdx.x] = 0.f;
    __syncthreads();
    for (int w = threadIdx.x; w < rows * ntree; w += blockDim.x) {
        int r = w % rows, t = w / rows;
        int k = __ldg(&roots[t]);
        int4 nd = __ldg(&nodes[k]);
        short f = (short)(nd.z & 0xffff);
        while (f >= 0) {
            k = nd.w + (sx[r * nfeat + f] > __int_as_float(nd.x));
            nd = __ldg(&nodes[k]);
            f = (short)(nd.z & 0xffff);
        }
        atomicAdd(&acc[r], __int_as_float(nd.y));
    }
    __syncthreads();
    if (threadIdx.x < rows) y[r0 + threadIdx.x] = acc[threadIdx.x] / ntree;
}

// column-major samples
__global__ void predict_colmajor(const Node* __restrict__ nodes, const int* __restrict__ roots, int ntree, const float* __restrict__ Xt, float* __restrict__ y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = 0;
    for (int t = 0; t < ntree; t++) {
        Node nd = nodes[roots[t]];
        while (nd.feature != -1) nd = nodes[nd.left + (Xt[(size_t)nd.feature * n + i] > nd.thr ? 1 : 0)];
        s += nd.value;
    }
    y[i] = s / ntree;
}

__global__ void transposeX(const float* X, float* Xt, int n, int f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) for (int k = 0; k < f; k++) Xt[(size_t)k * n + i] = X[(size_t)i * f + k];
}

static unsigned seed = 77;
static unsigned rnd() { seed = seed * 1103515245u + 12345u; return seed >> 8; }

static void grow(std::vector<Node>& v, int at, int depth, int nfeat) {
    if (depth == 0 || (depth < 7 && rnd() % 5 == 0)) { v[at] = {0, (rnd() % 1000) * 0.01f, -1, 0, 0}; return; }
    int l = v.size();
    v.resize(l + 2);
    v[at] = {(rnd() % 1000) * 0.001f, 0, (short)(rnd() % nfeat), 0, l};
    grow(v, l, depth - 1, nfeat);
    grow(v, l + 1, depth - 1, nfeat);
}

int main() {
    const int n = 60011, nfeat = 30, ntree = 60;
    std::vector<Node> nodes; std::vector<int> roots;
    for (int t = 0; t < ntree; t++) { int r = nodes.size(); roots.push_back(r); nodes.resize(r + 1); grow(nodes, r, 9, nfeat); }
    std::vector<float> X((size_t)n * nfeat), y(n), ref(n);
    for (auto& x : X) x = (rnd() % 10000) * 1e-4f;
    for (int i = 0; i < n; i++) {
        float s = 0;
        for (int r : roots) { int k = r; while (nodes[k].feature >= 0) k = nodes[k].left + (X[i * nfeat + nodes[k].feature] > nodes[k].thr); s += nodes[k].value; }
        ref[i] = s / ntree;
    }
    Node* dn; int* dr; float *dX, *dXt, *dy;
    cudaMalloc(&dn, nodes.size() * sizeof(Node)); cudaMalloc(&dr, ntree * 4); cudaMalloc(&dX, X.size() * 4); cudaMalloc(&dXt, X.size() * 4); cudaMalloc(&dy, n * 4);
    cudaMemcpy(dn, nodes.data(), nodes.size() * sizeof(Node), cudaMemcpyHostToDevice);
    cudaMemcpy(dr, roots.data(), ntree * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(dX, X.data(), X.size() * 4, cudaMemcpyHostToDevice);
    transposeX<<<(n + 255) / 256, 256>>>(dX, dXt, n, nfeat);
    bool ok = true;
    for (int v = 0; v < 3; v++) {
        cudaMemset(dy, 0, n * 4);
        if (v == 0) predict_rowmajor<<<(n + 127) / 128, 128>>>(dn, dr, ntree, dX, nfeat, dy, n);
        if (v == 1) predict_shared<16><<<(n + 15) / 16, 128, 16 * nfeat * sizeof(float)>>>((const int4*)dn, dr, ntree, dX, nfeat, dy, n);
        if (v == 2) predict_colmajor<<<(n + 255) / 256, 256>>>(dn, dr, ntree, dXt, dy, n);
        cudaMemcpy(y.data(), dy, n * 4, cudaMemcpyDeviceToHost);
        double e = 0;
        for (int i = 0; i < n; i++) e = fmax(e, fabs(y[i] - ref[i]));
        printf("layout %d: max err %g (%s)\n", v, e, cudaGetErrorString(cudaGetLastError()));
        ok &= e < 1e-4;
    }
    puts(ok ? "PASS" : "FAIL");
}
