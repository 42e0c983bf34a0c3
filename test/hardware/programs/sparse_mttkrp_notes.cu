// nvcc: -std=c++20
//
// "Seven ways to write MTTKRP" -- companion code for the blog post.
//
//   M(i,r) = sum over nonzeros (i,j,k) of  X(i,j,k) * B(j,r) * C(k,r)
//
// Step 0  one thread per nonzero, loop over the rank, atomics everywhere
// Step 1  the same, factors stored rank-major ("maybe that coalesces?")
// Step 2  one warp per nonzero, a lane per rank column
// Step 3  nonzeros sorted by i, a warp walks a run and flushes when i changes
// Step 4  CSF: a warp per slice, two-level loop over fibres
// Step 5  float4 lanes: 8 lanes make a row, 4 nonzeros in flight per warp
// Step 6  blocked (HiCOO-like) with byte coordinates and a shared tile
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>
#include <cuda_runtime.h>

constexpr int R = 32;                // rank

struct Entry { int i, j, k; float v; };
struct Csf {                         // slices -> fibres -> nonzeros
    std::vector<int> sliceId, slicePtr, fibreJ, fibrePtr, k;
    std::vector<float> v;
};
struct Blocked {
    std::vector<int> rowBlock, rowPtr;              // blocks grouped by i / 64
    std::vector<int> bj, bk, ptr;                   // per block
    std::vector<uchar4> local;                      // i, j, k within the block
    std::vector<float> v;
};

static void ck(cudaError_t e) { if (e != cudaSuccess) { std::fprintf(stderr, "cuda: %s\n", cudaGetErrorString(e)); std::exit(3); } }

struct CudaFree { void operator()(void* p) const { cudaFree(p); } };
template <class T> using dev_ptr = std::unique_ptr<T[], CudaFree>;

template <class T>
dev_ptr<T> alloc(std::size_t n) { T* p; ck(cudaMalloc(&p, std::max<std::size_t>(n, 1) * sizeof(T))); return dev_ptr<T>(p); }

template <class T>
dev_ptr<T> to_device(std::span<const T> s)
{
    auto d = alloc<T>(s.size());
    ck(cudaMemcpy(d.get(), s.data(), s.size_bytes(), cudaMemcpyHostToDevice));
    return d;
}
template <class T> dev_ptr<T> to_device(const std::vector<T>& v) { return to_device(std::span<const T>(v)); }

// ---- step 0 ---------------------------------------------------------------
__global__ void step0(int nnz, const Entry* x, const float* B, const float* C, float* M)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= nnz) return;
    Entry e = x[t];
    for (int r = 0; r < R; r++)
        atomicAdd(&M[e.i * R + r], e.v * B[e.j * R + r] * C[e.k * R + r]);
}

// ---- step 1 ---------------------------------------------------------------
__global__ void step1(int nnz, const Entry* x, int I, int J, int K, const float* Bt, const float* Ct, float* Mt)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= nnz) return;
    Entry e = x[t];
    for (int r = 0; r < R; r++)
        atomicAdd(&Mt[r * I + e.i], e.v * Bt[r * J + e.j] * Ct[r * K + e.k]);
}

// ---- step 2 ---------------------------------------------------------------
__global__ void step2(int nnz, const Entry* x, const float* B, const float* C, float* M)
{
    int lane = threadIdx.x & 31;
    int warps = gridDim.x * (blockDim.x >> 5);
    for (int t = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5); t < nnz; t += warps) {
        Entry e = x[t];
        atomicAdd(&M[e.i * R + lane], e.v * B[e.j * R + lane] * C[e.k * R + lane]);
    }
}

// ---- step 3 ---------------------------------------------------------------
template <int Chunk>
__global__ void step3(int nnz, const Entry* __restrict__ x, const float* __restrict__ B, const float* __restrict__ C, float* M)
{
    int lane = threadIdx.x & 31;
    int first = (blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5)) * Chunk;
    int last = min(first + Chunk, nnz);
    if (first >= nnz) return;
    int row = x[first].i;
    float acc = 0.f;
    for (int t = first; t < last; t++) {
        Entry e = x[t];
        if (e.i != row) { atomicAdd(&M[row * R + lane], acc); row = e.i; acc = 0.f; }
        acc += e.v * B[e.j * R + lane] * C[e.k * R + lane];
    }
    atomicAdd(&M[row * R + lane], acc);
}

// ---- step 4 ---------------------------------------------------------------
__global__ void step4(int slices, const int* __restrict__ sliceId, const int* __restrict__ slicePtr,
                      const int* __restrict__ fibreJ, const int* __restrict__ fibrePtr, const int* __restrict__ k,
                      const float* __restrict__ v, const float* __restrict__ B, const float* __restrict__ C, float* M)
{
    int s = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
    if (s >= slices) return;
    float acc = 0.f;
    for (int f = slicePtr[s]; f < slicePtr[s + 1]; f++) {
        float inner = 0.f;
        for (int q = fibrePtr[f]; q < fibrePtr[f + 1]; q++) inner += v[q] * C[k[q] * R + lane];
        acc += inner * B[fibreJ[f] * R + lane];
    }
    M[sliceId[s] * R + lane] = acc;
}

// ---- step 5 ---------------------------------------------------------------
__global__ void step5(int slices, const int* __restrict__ sliceId, const int* __restrict__ slicePtr,
                      const int* __restrict__ fibreJ, const int* __restrict__ fibrePtr, const int* __restrict__ k,
                      const float* __restrict__ v, const float4* __restrict__ B, const float4* __restrict__ C, float4* M)
{
    int s = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    int lane = threadIdx.x % 32, part = lane / 8, q4 = lane % 8;
    if (s >= slices) return;                               // whole warps leave
    float4 acc = make_float4(0, 0, 0, 0);
    for (int f = slicePtr[s] + part; f < slicePtr[s + 1]; f += 4) {
        float4 in = make_float4(0, 0, 0, 0);
        for (int q = fibrePtr[f]; q < fibrePtr[f + 1]; q++) {
            float4 c = C[k[q] * (R / 4) + q4];
            float w = v[q];
            in.x += w * c.x; in.y += w * c.y; in.z += w * c.z; in.w += w * c.w;
        }
        float4 b = B[fibreJ[f] * (R / 4) + q4];
        acc.x += in.x * b.x; acc.y += in.y * b.y; acc.z += in.z * b.z; acc.w += in.w * b.w;
    }
    for (int o = 8; o < 32; o *= 2) {
        acc.x += __shfl_xor_sync(~0u, acc.x, o); acc.y += __shfl_xor_sync(~0u, acc.y, o);
        acc.z += __shfl_xor_sync(~0u, acc.z, o); acc.w += __shfl_xor_sync(~0u, acc.w, o);
    }
    if (part == 0) M[sliceId[s] * (R / 4) + q4] = acc;
}

// ---- step 6 ---------------------------------------------------------------
__global__ void __launch_bounds__(256)
step6(int I, const int* __restrict__ rowBlock, const int* __restrict__ rowPtr, const int* __restrict__ bj,
      const int* __restrict__ bk, const int* __restrict__ ptr, const uchar4* __restrict__ local,
      const float* __restrict__ v, const float* __restrict__ B, const float* __restrict__ C, float* M)
{
    __shared__ float tile[64 * R];
    for (int t = threadIdx.x; t < 64 * R; t += blockDim.x) tile[t] = 0.f;
    __syncthreads();
    int lane = threadIdx.x & 31, w = threadIdx.x >> 5, nw = blockDim.x >> 5;
    for (int b = rowPtr[blockIdx.x] + w; b < rowPtr[blockIdx.x + 1]; b += nw) {
        int j0 = bj[b] << 6, k0 = bk[b] << 6;
        for (int q = ptr[b]; q < ptr[b + 1]; q++) {
            uchar4 l = local[q];
            float p = v[q] * B[(j0 + l.y) * R + lane] * C[(k0 + l.z) * R + lane];
            atomicAdd(&tile[l.x * R + lane], p);
        }
    }
    __syncthreads();
    int i0 = rowBlock[blockIdx.x] << 6;
    for (int t = threadIdx.x; t < 64 * R; t += blockDim.x)
        if (i0 + t / R < I) M[i0 * R + t] = tile[t];
}

__global__ void transposeNaive(int rows, int cols, const float* in, float* out)
{
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows && c < cols) out[c * rows + r] = in[r * cols + c];
}

// ---- host side -------------------------------------------------------------
static std::vector<Entry> make_tensor(int I, int J, int K, int want, std::mt19937& rng)
{
    // skewed in every mode, like the rating tensors
    std::uniform_real_distribution<double> u(0.0, 1.0);
    auto skew = [&](int n) { return std::min(n - 1, int(n * std::pow(u(rng), 2.2))); };
    std::vector<Entry> e(want);
    for (auto& x : e) x = {skew(I), skew(J), skew(K), float(u(rng) - 0.3)};
    return e;
}

static Csf build_csf(std::span<const Entry> e)
{
    Csf c;
    for (std::size_t t = 0; t < e.size(); t++) {
        bool newSlice = t == 0 || e[t].i != e[t - 1].i;
        if (newSlice) { c.sliceId.push_back(e[t].i); c.slicePtr.push_back(int(c.fibreJ.size())); }
        if (newSlice || e[t].j != e[t - 1].j) { c.fibreJ.push_back(e[t].j); c.fibrePtr.push_back(int(t)); }
        c.k.push_back(e[t].k);
        c.v.push_back(e[t].v);
    }
    c.slicePtr.push_back(int(c.fibreJ.size()));
    c.fibrePtr.push_back(int(e.size()));
    return c;
}

static Blocked build_blocked(std::span<const Entry> e)
{
    std::vector<int> order(e.size());
    std::iota(order.begin(), order.end(), 0);
    auto key = [&](int t) { return std::tuple(e[t].i >> 6, e[t].j >> 6, e[t].k >> 6); };
    std::ranges::stable_sort(order, [&](int a, int b) { return key(a) < key(b); });
    Blocked b;
    for (std::size_t n = 0; n < order.size(); n++) {
        const Entry& x = e[order[n]];
        bool newBlock = n == 0 || key(order[n]) != key(order[n - 1]);
        if (n == 0 || (x.i >> 6) != b.rowBlock.back()) { b.rowBlock.push_back(x.i >> 6); b.rowPtr.push_back(int(b.bj.size())); }
        if (newBlock) { b.bj.push_back(x.j >> 6); b.bk.push_back(x.k >> 6); b.ptr.push_back(int(n)); }
        b.local.push_back(uchar4{(unsigned char)(x.i & 63), (unsigned char)(x.j & 63), (unsigned char)(x.k & 63), 0});
        b.v.push_back(x.v);
    }
    b.rowPtr.push_back(int(b.bj.size()));
    b.ptr.push_back(int(order.size()));
    return b;
}

int main(int argc, char** argv)
{
    const int I = 1100, J = 700, K = 530, want = argc > 1 ? std::atoi(argv[1]) : 120'000;
    std::mt19937 rng(2024);
    auto raw = make_tensor(I, J, K, want, rng);
    auto sorted = raw;
    std::ranges::sort(sorted, {}, [](const Entry& e) { return std::tuple(e.i, e.j, e.k); });
    const int nnz = int(raw.size());

    std::uniform_real_distribution<float> u(-1.f, 1.f);
    std::vector<float> B(J * R), C(K * R);
    for (auto& b : B) b = u(rng);
    for (auto& c : C) c = u(rng);

    std::vector<double> ref(I * R, 0.0), mag(I * R, 0.0);
    for (const auto& e : raw)
        for (int r = 0; r < R; r++) {
            double p = double(e.v) * B[e.j * R + r] * C[e.k * R + r];
            ref[e.i * R + r] += p;
            mag[e.i * R + r] += std::abs(p);
        }

    Csf csf = build_csf(sorted);
    Blocked blk = build_blocked(sorted);
    std::printf("%d nonzeros, %zu slices, %zu fibres, %zu blocks\n", nnz, csf.sliceId.size(), csf.fibreJ.size(), blk.bj.size());

    auto dRaw = to_device(raw), dSorted = to_device(sorted);
    auto dB = to_device(B), dC = to_device(C);
    auto dBt = alloc<float>(B.size()), dCt = alloc<float>(C.size()), dM = alloc<float>(I * R);
    auto sId = to_device(csf.sliceId), sPtr = to_device(csf.slicePtr), fJ = to_device(csf.fibreJ), fPtr = to_device(csf.fibrePtr), kk = to_device(csf.k);
    auto vv = to_device(csf.v);
    auto rB = to_device(blk.rowBlock), rP = to_device(blk.rowPtr), bj = to_device(blk.bj), bk = to_device(blk.bk), bp = to_device(blk.ptr);
    auto loc = to_device(blk.local);
    auto bv = to_device(blk.v);
    const int slices = int(csf.sliceId.size());

    struct Step { std::string_view name; bool rankMajor; std::function<void()> run; };
    const std::array<Step, 7> steps{{
        {"0 thread/nnz", false, [&] { step0<<<(nnz + 255) / 256, 256>>>(nnz, dRaw.get(), dB.get(), dC.get(), dM.get()); }},
        {"1 rank-major", true, [&] {
            transposeNaive<<<dim3(1, (J + 7) / 8), dim3(32, 8)>>>(J, R, dB.get(), dBt.get());
            transposeNaive<<<dim3(1, (K + 7) / 8), dim3(32, 8)>>>(K, R, dC.get(), dCt.get());
            step1<<<(nnz + 255) / 256, 256>>>(nnz, dRaw.get(), I, J, K, dBt.get(), dCt.get(), dM.get()); }},
        {"2 warp/nnz", false, [&] { step2<<<264, 256>>>(nnz, dRaw.get(), dB.get(), dC.get(), dM.get()); }},
        {"3 sorted runs", false, [&] {
            int warps = (nnz + 63) / 64;
            step3<64><<<(warps + 7) / 8, 256>>>(nnz, dSorted.get(), dB.get(), dC.get(), dM.get()); }},
        {"4 CSF", false, [&] {
            step4<<<(slices + 3) / 4, dim3(32, 4)>>>(slices, sId.get(), sPtr.get(), fJ.get(), fPtr.get(), kk.get(), vv.get(), dB.get(), dC.get(), dM.get()); }},
        {"5 CSF float4", false, [&] {
            step5<<<(slices + 3) / 4, 128>>>(slices, sId.get(), sPtr.get(), fJ.get(), fPtr.get(), kk.get(), vv.get(),
                reinterpret_cast<const float4*>(dB.get()), reinterpret_cast<const float4*>(dC.get()), reinterpret_cast<float4*>(dM.get())); }},
        {"6 blocked", false, [&] {
            step6<<<int(blk.rowBlock.size()), 256>>>(I, rB.get(), rP.get(), bj.get(), bk.get(), bp.get(), loc.get(), bv.get(), dB.get(), dC.get(), dM.get()); }},
    }};

    bool all = true;
    std::vector<float> M(I * R);
    for (const auto& s : steps) {
        ck(cudaMemset(dM.get(), 0, I * R * sizeof(float)));
        s.run();
        ck(cudaGetLastError());
        ck(cudaMemcpy(M.data(), dM.get(), M.size() * sizeof(float), cudaMemcpyDeviceToHost));
        double worst = 0;
        for (int i = 0; i < I; i++)
            for (int r = 0; r < R; r++) {
                double g = s.rankMajor ? M[r * I + i] : M[i * R + r];
                worst = std::max(worst, std::abs(g - ref[i * R + r]) / (mag[i * R + r] + 1e-3));
            }
        bool ok = worst < 1e-4;
        all &= ok;
        std::printf("step %-14s error %.2e %s\n", s.name.data(), worst, ok ? "" : "<-- wrong");
    }
    std::puts(all ? "PASS" : "FAIL");
    return all ? 0 : 1;
}
