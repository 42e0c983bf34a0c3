// Lecture demo "two classic classifiers": naive Bayes (trained on the GPU) and a voting set of
// decision trees (built on the host by a dumb random split rule, evaluated on the GPU).
// Everything is integer / fixed point so that GPU and CPU must agree exactly.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <vector>

class CudaError {
public:
    explicit CudaError(cudaError_t e) : code(e) {}
    const char* text() const { return cudaGetErrorString(code); }
private:
    cudaError_t code;
};
inline void must(cudaError_t e) { if (e != cudaSuccess) throw CudaError(e); }

template <class T>
class DeviceArray {
public:
    explicit DeviceArray(int n) : count(n), ptr(0) { must(cudaMalloc((void**)&ptr, n * sizeof(T))); }
    DeviceArray(const std::vector<T>& v) : count((int)v.size()), ptr(0)
    {
        must(cudaMalloc((void**)&ptr, count * sizeof(T)));
        must(cudaMemcpy(ptr, &v[0], count * sizeof(T), cudaMemcpyHostToDevice));
    }
    ~DeviceArray() { cudaFree(ptr); }
    void clear() { must(cudaMemset(ptr, 0, count * sizeof(T))); }
    std::vector<T> fetch() const
    {
        std::vector<T> v(count);
        must(cudaMemcpy(&v[0], ptr, count * sizeof(T), cudaMemcpyDeviceToHost));
        return v;
    }
    operator T*() const { return ptr; }
private:
    int count;
    T* ptr;
    DeviceArray(const DeviceArray&);
    DeviceArray& operator=(const DeviceArray&);
};

enum { CLASSES = 5, FEATURES = 12, BINS = 16, SAMPLES = 20000, TREES = 16, DEPTH = 6, NODES = (1 << (DEPTH + 1)) - 1 };

struct Sample { unsigned char f[FEATURES]; unsigned char label; };   // 13 bytes: ugly but typical
struct Node { short feature; short threshold; int cls; };            // heap order, feature < 0 = leaf

__constant__ int prior_fix[CLASSES];

// ---- training: counts[class][feature][bin] -------------------------------------------------
__global__ void count_global(const Sample* s, int n, unsigned* counts)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int c = s[i].label;
    for (int k = 0; k < FEATURES; ++k)
        atomicAdd(&counts[(c * FEATURES + k) * BINS + s[i].f[k]], 1u);
}

template <int THREADS>
__global__ void count_shared(const Sample* s, int n, unsigned* counts)
{
    __shared__ unsigned local[CLASSES][FEATURES][BINS];
    unsigned* flat = &local[0][0][0];
    for (int k = threadIdx.x; k < CLASSES * FEATURES * BINS; k += THREADS) flat[k] = 0;
    __syncthreads();
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += THREADS * gridDim.x) {
        const Sample& q = s[i];
        for (int k = 0; k < FEATURES; ++k) atomicAdd(&local[q.label][k][q.f[k]], 1u);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < CLASSES * FEATURES * BINS; k += THREADS)
        if (flat[k]) atomicAdd(&counts[k], flat[k]);
}

// ---- naive Bayes prediction: logs are fixed point, table[feature][bin][class] -----------------
template <bool TABLE_IN_SHARED>
__global__ void bayes_predict(const Sample* s, int n, const int* table, unsigned char* out)
{
    __shared__ int cache[TABLE_IN_SHARED ? FEATURES * BINS * CLASSES : 1];
    if (TABLE_IN_SHARED) {
        for (int k = threadIdx.x; k < FEATURES * BINS * CLASSES; k += blockDim.x) cache[k] = table[k];
        __syncthreads();
    }
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int score[CLASSES];
    for (int c = 0; c < CLASSES; ++c) score[c] = prior_fix[c];
    for (int k = 0; k < FEATURES; ++k) {
        int row = (k * BINS + s[i].f[k]) * CLASSES;
        for (int c = 0; c < CLASSES; ++c) score[c] += TABLE_IN_SHARED ? cache[row + c] : table[row + c];
    }
    int best = 0;
    for (int c = 1; c < CLASSES; ++c) if (score[c] > score[best]) best = c;
    out[i] = (unsigned char)best;
}

// ---- trees -----------------------------------------------------------------------------------
__global__ void samples_to_planes(const Sample* s, int n, unsigned char* planes)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) for (int k = 0; k < FEATURES; ++k) planes[k * n + i] = s[i].f[k];
}

__global__ void trees_predict(const unsigned char* planes, int n, const Node* trees, unsigned char* out)
{
    extern __shared__ unsigned char votes[];             // [CLASSES][blockDim.x]
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int c = 0; c < CLASSES; ++c) votes[c * blockDim.x + threadIdx.x] = 0;
    if (i >= n) return;
    for (int t = 0; t < TREES; ++t) {
        const Node* tree = trees + t * NODES;
        int at = 0;
        while (tree[at].feature >= 0)
            at = 2 * at + 1 + (planes[tree[at].feature * n + i] > tree[at].threshold);
        votes[tree[at].cls * blockDim.x + threadIdx.x]++;
    }
    int best = 0;
    for (int c = 1; c < CLASSES; ++c)
        if (votes[c * blockDim.x + threadIdx.x] > votes[best * blockDim.x + threadIdx.x]) best = c;
    out[i] = (unsigned char)best;
}

// warp per sample: every lane walks one tree (upper lanes idle), votes by ballots
__global__ void trees_predict_warp(const unsigned char* planes, int n, const Node* trees, unsigned char* out)
{
    int lane = threadIdx.x & 31;
    int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (i >= n) return;
    int mine = -1;
    if (lane < TREES) {
        int at = 0;
        Node nd = trees[lane * NODES];
        while (nd.feature >= 0) {
            at = 2 * at + 1 + (planes[nd.feature * n + i] > nd.threshold);
            nd = trees[lane * NODES + at];
        }
        mine = nd.cls;
    }
    int best = 0, top = -1;
    for (int c = 0; c < CLASSES; ++c) {
        int v = __popc(__ballot_sync(0xffffffffu, mine == c));
        if (v > top) { top = v; best = c; }
    }
    if (lane == 0) out[i] = (unsigned char)best;
}

__global__ void confusion(const Sample* s, const unsigned char* pred, int n, int* matrix)
{
    __shared__ int m[CLASSES][CLASSES];
    if (threadIdx.x < CLASSES * CLASSES) m[threadIdx.x / CLASSES][threadIdx.x % CLASSES] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&m[s[i].label][pred[i]], 1);
    __syncthreads();
    if (threadIdx.x < CLASSES * CLASSES) atomicAdd(&matrix[threadIdx.x], m[threadIdx.x / CLASSES][threadIdx.x % CLASSES]);
}

// ---- host --------------------------------------------------------------------------------------
static int rnd(int n) { return rand() % n; }

static void grow(std::vector<Node>& t, int base, int at, int depth)
{
    Node nd;
    nd.feature = (short)((depth == DEPTH || (depth > 2 && rnd(5) == 0)) ? -1 : rnd(FEATURES));
    nd.threshold = (short)(2 + rnd(BINS - 4));
    nd.cls = rnd(CLASSES);
    t[base + at] = nd;
    if (nd.feature >= 0) { grow(t, base, 2 * at + 1, depth + 1); grow(t, base, 2 * at + 2, depth + 1); }
}

static int differences(const std::vector<unsigned char>& a, const std::vector<unsigned char>& b)
{
    int d = 0;
    for (size_t i = 0; i < a.size(); ++i) d += a[i] != b[i];
    return d;
}

int main()
{
    try {
        srand(31415);
        int centre[CLASSES][FEATURES];
        for (int c = 0; c < CLASSES; ++c) for (int k = 0; k < FEATURES; ++k) centre[c][k] = rnd(BINS);
        std::vector<Sample> data(SAMPLES);
        for (int i = 0; i < SAMPLES; ++i) {
            int c = rnd(100) < 40 ? 0 : rnd(CLASSES);
            data[i].label = (unsigned char)c;
            for (int k = 0; k < FEATURES; ++k) {
                int v = centre[c][k] + rnd(9) + rnd(9) - 8;
                data[i].f[k] = (unsigned char)(v < 0 ? 0 : v >= BINS ? BINS - 1 : v);
            }
        }
        Node leaf = {-1, 0, 0};
        std::vector<Node> forest(TREES * NODES, leaf);
        for (int t = 0; t < TREES; ++t) grow(forest, t * NODES, 0, 0);

        DeviceArray<Sample> d_data(data);
        DeviceArray<Node> d_forest(forest);
        DeviceArray<unsigned> c1(CLASSES * FEATURES * BINS), c2(CLASSES * FEATURES * BINS);
        DeviceArray<unsigned char> planes(FEATURES * SAMPLES), p1(SAMPLES), p2(SAMPLES), p3(SAMPLES), p4(SAMPLES);
        DeviceArray<int> conf(2 * CLASSES * CLASSES);
        c1.clear(); c2.clear(); conf.clear();
        const int tpb = 160, blocks = (SAMPLES + tpb - 1) / tpb;

        count_global<<<blocks, tpb>>>(d_data, SAMPLES, c1);
        count_shared<256><<<20, 256>>>(d_data, SAMPLES, c2);
        must(cudaGetLastError());
        std::vector<unsigned> counts = c1.fetch();
        bool ok = counts == c2.fetch();

        std::vector<unsigned> ref(CLASSES * FEATURES * BINS, 0u), per_class(CLASSES, 0u);
        for (int i = 0; i < SAMPLES; ++i) {
            per_class[data[i].label]++;
            for (int k = 0; k < FEATURES; ++k) ref[(data[i].label * FEATURES + k) * BINS + data[i].f[k]]++;
        }
        ok = ok && ref == counts;

        int prior[CLASSES];
        std::vector<int> table(FEATURES * BINS * CLASSES);
        for (int c = 0; c < CLASSES; ++c) {
            prior[c] = (int)(1024 * std::log((per_class[c] + 1.0) / (SAMPLES + CLASSES)));
            for (int k = 0; k < FEATURES; ++k)
                for (int b = 0; b < BINS; ++b)
                    table[(k * BINS + b) * CLASSES + c] =
                        (int)(1024 * std::log((counts[(c * FEATURES + k) * BINS + b] + 1.0) / (per_class[c] + BINS)));
        }
        must(cudaMemcpyToSymbol(prior_fix, prior, sizeof(prior)));
        DeviceArray<int> d_table(table);

        bayes_predict<false><<<blocks, tpb>>>(d_data, SAMPLES, d_table, p1);
        bayes_predict<true><<<blocks, tpb>>>(d_data, SAMPLES, d_table, p2);
        samples_to_planes<<<blocks, tpb>>>(d_data, SAMPLES, planes);
        trees_predict<<<blocks, tpb, CLASSES * tpb>>>(planes, SAMPLES, d_forest, p3);
        trees_predict_warp<<<(SAMPLES + 7) / 8, 256>>>(planes, SAMPLES, d_forest, p4);
        confusion<<<blocks, tpb>>>(d_data, p2, SAMPLES, conf);
        confusion<<<blocks, tpb>>>(d_data, p3, SAMPLES, conf + CLASSES * CLASSES);
        must(cudaGetLastError());
        must(cudaDeviceSynchronize());

        std::vector<unsigned char> rb(SAMPLES), rt(SAMPLES);
        std::vector<int> rc(2 * CLASSES * CLASSES, 0);
        int right[2] = {0, 0};
        for (int i = 0; i < SAMPLES; ++i) {
            int best = 0, tbest = 0, sc[CLASSES], votes[CLASSES] = {0, 0, 0, 0, 0};
            for (int c = 0; c < CLASSES; ++c) {
                sc[c] = prior[c];
                for (int k = 0; k < FEATURES; ++k) sc[c] += table[(k * BINS + data[i].f[k]) * CLASSES + c];
                if (sc[c] > sc[best]) best = c;
            }
            for (int t = 0; t < TREES; ++t) {
                const Node* nd = &forest[t * NODES];
                int at = 0;
                while (nd[at].feature >= 0) at = 2 * at + (data[i].f[nd[at].feature] > nd[at].threshold ? 2 : 1);
                votes[nd[at].cls]++;
            }
            for (int c = 1; c < CLASSES; ++c) if (votes[c] > votes[tbest]) tbest = c;
            rb[i] = (unsigned char)best; rt[i] = (unsigned char)tbest;
            rc[data[i].label * CLASSES + best]++;
            rc[CLASSES * CLASSES + data[i].label * CLASSES + tbest]++;
            right[0] += best == data[i].label; right[1] += tbest == data[i].label;
        }
        int d1 = differences(rb, p1.fetch()), d2 = differences(rb, p2.fetch());
        int d3 = differences(rt, p3.fetch()), d4 = differences(rt, p4.fetch());
        ok = ok && d1 + d2 + d3 + d4 == 0 && rc == conf.fetch() && right[0] > SAMPLES / 2;
        std::cout << "bayes: " << 100.0 * right[0] / SAMPLES << " % right, random trees: "
                  << 100.0 * right[1] / SAMPLES << " % right; differences " << d1 << ' ' << d2 << ' ' << d3 << ' ' << d4
                  << std::endl << (ok ? "PASS" : "FAIL") << std::endl;
        return ok ? 0 : 1;
    } catch (const CudaError& e) {
        std::cerr << "CUDA error: " << e.text() << "\nFAIL" << std::endl;
        return 1;
    }
}
