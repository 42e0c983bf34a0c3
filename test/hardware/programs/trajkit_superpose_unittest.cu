// Unit tests of trajkit::superpose -- rigid superposition of molecular
// dynamics frames on the GPU.  Self-contained: a cut-down copy of the library
// header is at the top, the test harness in the middle, the tests below.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <random>
#include <sstream>
#include <string>
#include <vector>
#include <cuda_runtime.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

// ============================================================ library
namespace trajkit {

namespace cg = cooperative_groups;

struct Frames {                 // [frame][atom][xyz], the layout of the trajectory files
    float* xyz;
    int frames, atoms;
    __host__ __device__ float* atom(int f, int a) const { return xyz + 3 * (std::size_t(f) * atoms + a); }
};
struct FramesSoA {              // x, y, z planes per frame, atoms padded to `pitch`
    float* data;
    int frames, atoms, pitch;
    __host__ __device__ float* plane(int f, int c) const { return data + (std::size_t(f) * 3 + c) * pitch; }
};

// ---- block helpers
template <int Threads>
__device__ inline float blockSum(float v, float* scratch)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    v = cg::reduce(warp, v, cg::plus<float>());
    if (warp.thread_rank() == 0) scratch[warp.meta_group_rank()] = v;
    __syncthreads();
    float s = 0.f;
    for (int w = 0; w < Threads / 32; ++w) s += scratch[w];
    __syncthreads();
    return s;
}

// ---- centring: moves every frame to its centroid and leaves |x|^2 in `inner`
template <int Threads>
__global__ void __launch_bounds__(Threads) centre(Frames t, float* inner)
{
    __shared__ float scratch[Threads / 32];
    const int f = blockIdx.x;
    float sx = 0, sy = 0, sz = 0;
    for (int a = threadIdx.x; a < t.atoms; a += Threads) {
        const float* p = t.atom(f, a);
        sx += p[0]; sy += p[1]; sz += p[2];
    }
    sx = blockSum<Threads>(sx, scratch) / t.atoms;
    sy = blockSum<Threads>(sy, scratch) / t.atoms;
    sz = blockSum<Threads>(sz, scratch) / t.atoms;
    float g = 0;
    for (int a = threadIdx.x; a < t.atoms; a += Threads) {
        float* p = t.atom(f, a);
        float x = p[0] - sx, y = p[1] - sy, z = p[2] - sz;
        p[0] = x; p[1] = y; p[2] = z;
        g += x * x + y * y + z * z;
    }
    g = blockSum<Threads>(g, scratch);
    if (threadIdx.x == 0) inner[f] = g;
}

__global__ void toSoA(Frames t, FramesSoA s)
{
    int a = blockIdx.x * blockDim.x + threadIdx.x, f = blockIdx.y;
    if (a >= s.pitch) return;
    for (int c = 0; c < 3; ++c) s.plane(f, c)[a] = a < t.atoms ? t.atom(f, a)[c] : 0.f;
}

// Largest eigenvalue of the quaternion matrix by Newton's iteration (the QCP method).
// m: 3x3 inner product matrix, row major; e0 = (Ga + Gb) / 2.
__host__ __device__ inline double qcpEigen(const double* m, double e0)
{
    double xx = m[0], xy = m[1], xz = m[2], yx = m[3], yy = m[4], yz = m[5], zx = m[6], zy = m[7], zz = m[8];
    double xx2 = xx * xx, yy2 = yy * yy, zz2 = zz * zz, xy2 = xy * xy, yz2 = yz * yz, xz2 = xz * xz, yx2 = yx * yx, zy2 = zy * zy, zx2 = zx * zx;
    double yzzymyyzz2 = 2.0 * (yz * zy - yy * zz), sum2 = yy2 + zz2 - xx2 + yz2 + zy2;
    double c2 = -2.0 * (xx2 + yy2 + zz2 + xy2 + yx2 + xz2 + zx2 + yz2 + zy2);
    double c1 = 8.0 * (xx * yz * zy + yy * zx * xz + zz * xy * yx - xx * yy * zz - yz * zx * xy - zy * yx * xz);
    double xzpzx = xz + zx, yzpzy = yz + zy, xypyx = xy + yx, yzmzy = yz - zy, xzmzx = xz - zx, xymyx = xy - yx, xxpyy = xx + yy, xxmyy = xx - yy;
    double d = xy2 + xz2 - yx2 - zx2;
    double c0 = d * d + (sum2 + yzzymyyzz2) * (sum2 - yzzymyyzz2) +
                (-xzpzx * yzmzy + xymyx * (xxmyy - zz)) * (-xzmzx * yzpzy + xymyx * (xxmyy + zz)) +
                (-xzpzx * yzpzy - xypyx * (xxpyy - zz)) * (-xzmzx * yzmzy - xypyx * (xxpyy + zz)) +
                (xypyx * yzpzy + xzpzx * (xxmyy + zz)) * (-xymyx * yzmzy + xzpzx * (xxpyy + zz)) +
                (xypyx * yzmzy + xzmzx * (xxmyy - zz)) * (-xymyx * yzpzy + xzmzx * (xxpyy - zz));
    double l = e0;
    for (int i = 0; i < 30; ++i) {
        double l2 = l * l, b = (l2 + c2) * l, a = b + c1, den = 2.0 * l2 * l + b + a;
        if (den == 0.0) break;
        double step = (a * l + c0) / den;
        l -= step;
        if (fabs(step) < 1e-11 * fabs(l)) break;
    }
    return l;
}
__host__ __device__ inline float rmsdFrom(const double* m, double ga, double gb, int atoms)
{
    double e0 = 0.5 * (ga + gb), v = 2.0 * (e0 - qcpEigen(m, e0)) / atoms;
    return float(sqrt(v > 0 ? v : 0.0));
}

// ---- pairwise RMSD, variant A: a thread per pair, straight from the file layout
__global__ void pairsThread(Frames t, const float* inner, float* rmsd)
{
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= t.frames || j >= t.frames) return;
    float m[9] = {};
    for (int a = 0; a < t.atoms; ++a) {
        const float *p = t.atom(i, a), *q = t.atom(j, a);
        for (int r = 0; r < 3; ++r) for (int c = 0; c < 3; ++c) m[3 * r + c] += p[r] * q[c];
    }
    double md[9];
    for (int k = 0; k < 9; ++k) md[k] = m[k];
    rmsd[i * t.frames + j] = rmsdFrom(md, inner[i], inner[j], t.atoms);
}

// ---- variant B: a warp per pair, planes, nine reductions
__global__ void pairsWarp(FramesSoA s, const float* inner, float* rmsd)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int pair = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
    if (pair >= s.frames * s.frames) return;
    int i = pair / s.frames, j = pair % s.frames;
    float m[9] = {};
    for (int a = warp.thread_rank(); a < s.pitch; a += 32) {
        float p[3] = {s.plane(i, 0)[a], s.plane(i, 1)[a], s.plane(i, 2)[a]};
        float q[3] = {s.plane(j, 0)[a], s.plane(j, 1)[a], s.plane(j, 2)[a]};
#pragma unroll
        for (int r = 0; r < 3; ++r)
#pragma unroll
            for (int c = 0; c < 3; ++c) m[3 * r + c] += p[r] * q[c];
    }
    double md[9];
#pragma unroll
    for (int k = 0; k < 9; ++k) md[k] = cg::reduce(warp, m[k], cg::plus<float>());
    if (warp.thread_rank() == 0) rmsd[i * s.frames + j] = rmsdFrom(md, inner[i], inner[j], s.atoms);
}

// ---- variant C: 16x16 frames a block, atoms in chunks through shared memory.
// Upper triangle of blocks only; the other half is mirrored.
template <int Chunk, int Pad>
__global__ void __launch_bounds__(256) pairsTiled(FramesSoA s, const float* inner, float* rmsd)
{
    if (blockIdx.x < blockIdx.y) return;
    __shared__ float A[16][3 * Chunk + Pad], B[16][3 * Chunk + Pad];
    const int tx = threadIdx.x, ty = threadIdx.y, tid = ty * 16 + tx;
    const int i0 = blockIdx.y * 16, j0 = blockIdx.x * 16;
    float m[9] = {};
    for (int a0 = 0; a0 < s.pitch; a0 += Chunk) {
        for (int t = tid; t < 16 * 3 * Chunk; t += 256) {
            int a = t % Chunk, c = t / Chunk % 3, f = t / (3 * Chunk);
            A[f][c * Chunk + a] = i0 + f < s.frames ? s.plane(i0 + f, c)[a0 + a] : 0.f;
            B[f][c * Chunk + a] = j0 + f < s.frames ? s.plane(j0 + f, c)[a0 + a] : 0.f;
        }
        __syncthreads();
        for (int a = 0; a < Chunk; ++a) {
            float p[3], q[3];
            for (int c = 0; c < 3; ++c) { p[c] = A[ty][c * Chunk + a]; q[c] = B[tx][c * Chunk + a]; }
            for (int r = 0; r < 3; ++r) for (int c = 0; c < 3; ++c) m[3 * r + c] += p[r] * q[c];
        }
        __syncthreads();
    }
    int i = i0 + ty, j = j0 + tx;
    if (i >= s.frames || j >= s.frames) return;
    double md[9];
    for (int k = 0; k < 9; ++k) md[k] = m[k];
    float v = rmsdFrom(md, inner[i], inner[j], s.atoms);
    rmsd[i * s.frames + j] = v;
    if (i0 != j0) rmsd[j * s.frames + i] = v;      // a diagonal block has the mirror image itself
}

// ---- torsion angles of atom quadruples, all frames
__global__ void torsions(Frames t, const int4* quads, int nq, float* angle)
{
    int q = blockIdx.x * blockDim.x + threadIdx.x, f = blockIdx.y;
    if (q >= nq) return;
    int4 k = quads[q];
    const float *a = t.atom(f, k.x), *b = t.atom(f, k.y), *c = t.atom(f, k.z), *d = t.atom(f, k.w);
    float b1[3], b2[3], b3[3], n1[3], n2[3];
    for (int i = 0; i < 3; ++i) { b1[i] = b[i] - a[i]; b2[i] = c[i] - b[i]; b3[i] = d[i] - c[i]; }
    for (int i = 0; i < 3; ++i) {
        int u = (i + 1) % 3, v = (i + 2) % 3;
        n1[i] = b1[u] * b2[v] - b1[v] * b2[u];
        n2[i] = b2[u] * b3[v] - b2[v] * b3[u];
    }
    float x = 0, y = 0, l = 0;
    for (int i = 0; i < 3; ++i) { x += n1[i] * n2[i]; y += b1[i] * n2[i]; l += b2[i] * b2[i]; }
    angle[f * nq + q] = atan2f(y * sqrtf(l), x);
}

// ---- rotates every frame by its own unit quaternion
__global__ void rotate(Frames t, const float4* quat)
{
    int n = t.frames * t.atoms;
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += gridDim.x * blockDim.x) {
        float4 q = quat[k / t.atoms];
        float* p = t.xyz + 3 * std::size_t(k);
        float x = p[0], y = p[1], z = p[2];
        float ux = q.y * z - q.z * y + q.w * x, uy = q.z * x - q.x * z + q.w * y, uz = q.x * y - q.y * x + q.w * z;
        p[0] = x + 2.f * (q.y * uz - q.z * uy);
        p[1] = y + 2.f * (q.z * ux - q.x * uz);
        p[2] = z + 2.f * (q.x * uy - q.y * ux);
    }
}

} // namespace trajkit

// ============================================================ harness
struct TestCase { const char* name; std::function<void()> body; };
static std::vector<TestCase>& registry() { static std::vector<TestCase> r; return r; }
static int g_failures = 0;
struct Registrar { Registrar(const char* n, std::function<void()> b) { registry().push_back({n, std::move(b)}); } };
#define TEST(name) static void name(); static Registrar reg_##name(#name, name); static void name()
#define EXPECT_LE(a, b) do { auto a_ = (a); auto b_ = (b); if (!(a_ <= b_)) { ++g_failures; \
        std::ostringstream o_; o_ << a_ << " <= " << b_; std::printf("  %s:%d: expected %s\n", __FILE__, __LINE__, o_.str().c_str()); } } while (0)
#define ASSERT_CUDA(e) do { cudaError_t c_ = (e); if (c_ != cudaSuccess) { std::printf("  line %d: %s\nFAIL\n", __LINE__, cudaGetErrorString(c_)); std::exit(1); } } while (0)

// ============================================================ fixture
struct Fixture {
    static constexpr int F = 52, N = 301, P = 320;
    std::vector<float> xyz;
    float *d_xyz = nullptr, *d_soa = nullptr, *d_inner = nullptr, *d_rmsd = nullptr;
    trajkit::Frames t;
    trajkit::FramesSoA s;
    Fixture()
    {
        std::mt19937 rng(1234);
        std::normal_distribution<float> g(0.f, 1.f);
        std::vector<float> native(3 * N);
        float p[3] = {0, 0, 0};
        for (int a = 0; a < N; ++a) for (int c = 0; c < 3; ++c) { p[c] += 1.2f * g(rng); native[3 * a + c] = p[c]; }       // a random coil
        for (int f = 0; f < F; ++f) {
            float shift[3] = {5 * g(rng), 5 * g(rng), 5 * g(rng)}, wobble = 0.3f + 0.05f * f;
            for (int a = 0; a < N; ++a) for (int c = 0; c < 3; ++c) xyz.push_back(native[3 * a + c] + shift[c] + wobble * g(rng));
        }
        ASSERT_CUDA(cudaMalloc(&d_xyz, xyz.size() * sizeof(float)));
        ASSERT_CUDA(cudaMalloc(&d_soa, std::size_t(F) * 3 * P * sizeof(float)));
        ASSERT_CUDA(cudaMalloc(&d_inner, F * sizeof(float)));
        ASSERT_CUDA(cudaMalloc(&d_rmsd, F * F * sizeof(float)));
        ASSERT_CUDA(cudaMemcpy(d_xyz, xyz.data(), xyz.size() * sizeof(float), cudaMemcpyHostToDevice));
        ASSERT_CUDA(cudaMemset(d_rmsd, 0xff, F * F * sizeof(float)));
        t = {d_xyz, F, N};
        s = {d_soa, F, N, P};
    }
    ~Fixture() { for (float* p : {d_xyz, d_soa, d_inner, d_rmsd}) cudaFree(p); }
    void centred()
    {
        trajkit::centre<128><<<F, 128>>>(t, d_inner);
        ASSERT_CUDA(cudaGetLastError());
    }
    void planes() { trajkit::toSoA<<<dim3((P + 127) / 128, F), 128>>>(t, s); }
    std::vector<float> fetch(const float* d, std::size_t n)
    {
        std::vector<float> h(n);
        ASSERT_CUDA(cudaMemcpy(h.data(), d, n * sizeof(float), cudaMemcpyDeviceToHost));
        return h;
    }
    // double precision reference, with its own centring
    const std::vector<double>& reference()
    {
        static std::vector<double> r;
        if (!r.empty()) return r;
        std::vector<double> c(xyz.begin(), xyz.end()), g(F, 0.0);
        for (int f = 0; f < F; ++f)
            for (int k = 0; k < 3; ++k) {
                double s = 0;
                for (int a = 0; a < N; ++a) s += c[3 * (f * N + a) + k];
                for (int a = 0; a < N; ++a) { double& v = c[3 * (f * N + a) + k]; v -= s / N; g[f] += v * v; }
            }
        r.assign(F * F, 0.0);
        for (int i = 0; i < F; ++i)
            for (int j = 0; j < F; ++j) {
                double m[9] = {};
                for (int a = 0; a < N; ++a)
                    for (int x = 0; x < 3; ++x) for (int y = 0; y < 3; ++y) m[3 * x + y] += c[3 * (i * N + a) + x] * c[3 * (j * N + a) + y];
                r[i * F + j] = trajkit::rmsdFrom(m, g[i], g[j], N);
            }
        return r;
    }
    double worst(bool skipDiagonal = true)
    {
        auto got = fetch(d_rmsd, F * F);
        auto& ref = reference();
        double w = 0;
        for (int i = 0; i < F; ++i) for (int j = 0; j < F; ++j) {
            if (skipDiagonal && i == j) continue;
            double d = std::fabs(got[i * F + j] - ref[i * F + j]);
            if (!(d <= w)) w = d;
        }
        return w;
    }
};

// ============================================================ tests
TEST(CentringRemovesTheCentroid)
{
    Fixture x;
    x.centred();
    auto h = x.fetch(x.d_xyz, x.xyz.size());
    double worst = 0;
    for (int f = 0; f < x.F; ++f) for (int c = 0; c < 3; ++c) {
        double s = 0;
        for (int a = 0; a < x.N; ++a) s += h[3 * (f * x.N + a) + c];
        worst = std::max(worst, std::fabs(s / x.N));
    }
    EXPECT_LE(worst, 1e-4);
}

TEST(ThreadPerPairMatchesReference)
{
    Fixture x;
    x.centred();
    trajkit::pairsThread<<<dim3((x.F + 15) / 16, (x.F + 7) / 8), dim3(16, 8)>>>(x.t, x.d_inner, x.d_rmsd);
    ASSERT_CUDA(cudaGetLastError());
    EXPECT_LE(x.worst(), 5e-3);
}

TEST(WarpPerPairMatchesReference)
{
    Fixture x;
    x.centred();
    x.planes();
    trajkit::pairsWarp<<<(x.F * x.F + 3) / 4, 128>>>(x.s, x.d_inner, x.d_rmsd);
    ASSERT_CUDA(cudaGetLastError());
    EXPECT_LE(x.worst(), 5e-3);
}

TEST(TiledMatchesReferenceWithAndWithoutPadding)
{
    Fixture x;
    x.centred();
    x.planes();
    dim3 g((x.F + 15) / 16, (x.F + 15) / 16), b(16, 16);
    trajkit::pairsTiled<32, 0><<<g, b>>>(x.s, x.d_inner, x.d_rmsd);
    ASSERT_CUDA(cudaGetLastError());
    EXPECT_LE(x.worst(), 5e-3);
    ASSERT_CUDA(cudaMemset(x.d_rmsd, 0xff, x.F * x.F * sizeof(float)));
    trajkit::pairsTiled<64, 1><<<g, b>>>(x.s, x.d_inner, x.d_rmsd);
    ASSERT_CUDA(cudaGetLastError());
    EXPECT_LE(x.worst(), 5e-3);
}

TEST(RotationChangesNeitherRmsdNorTorsions)
{
    Fixture x;
    x.centred();
    std::mt19937 rng(5);
    std::normal_distribution<float> g;
    std::vector<float4> quat(x.F);
    for (auto& q : quat) {
        q = make_float4(g(rng), g(rng), g(rng), g(rng));
        float n = 1.f / std::sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
        q = make_float4(q.x * n, q.y * n, q.z * n, q.w * n);
    }
    const int nq = x.N - 3;
    std::vector<int4> quads(nq);
    for (int k = 0; k < nq; ++k) quads[k] = make_int4(k, k + 1, k + 2, k + 3);
    std::shuffle(quads.begin(), quads.end(), rng);
    float4* dq; int4* di; float* da;
    ASSERT_CUDA(cudaMalloc(&dq, quat.size() * sizeof(float4)));
    ASSERT_CUDA(cudaMalloc(&di, quads.size() * sizeof(int4)));
    ASSERT_CUDA(cudaMalloc(&da, std::size_t(x.F) * nq * sizeof(float)));
    ASSERT_CUDA(cudaMemcpy(dq, quat.data(), quat.size() * sizeof(float4), cudaMemcpyHostToDevice));
    ASSERT_CUDA(cudaMemcpy(di, quads.data(), quads.size() * sizeof(int4), cudaMemcpyHostToDevice));
    trajkit::torsions<<<dim3((nq + 127) / 128, x.F), 128>>>(x.t, di, nq, da);
    auto before = x.fetch(da, std::size_t(x.F) * nq);
    trajkit::rotate<<<40, 256>>>(x.t, dq);
    trajkit::torsions<<<dim3((nq + 127) / 128, x.F), 128>>>(x.t, di, nq, da);
    ASSERT_CUDA(cudaGetLastError());
    auto after = x.fetch(da, std::size_t(x.F) * nq);
    // nearly straight triples make an ill-conditioned angle: look at the bulk
    int off = 0;
    for (std::size_t i = 0; i < before.size(); ++i) off += !(1.0 - std::cos(double(before[i]) - after[i]) < 1e-5);
    EXPECT_LE(off, int(before.size() / 200));
    // against the host, on the unrotated input, same formula in double
    int bad = 0;
    for (int f = 0; f < x.F; f += 5)
        for (int q = 0; q < nq; ++q) {
            auto at = [&](int a, int c) { return double(x.xyz[3 * (f * x.N + a) + c]); };
            double b1[3], b2[3], b3[3], n1[3], n2[3], X = 0, Y = 0, L = 0;
            for (int c = 0; c < 3; ++c) { b1[c] = at(quads[q].y, c) - at(quads[q].x, c); b2[c] = at(quads[q].z, c) - at(quads[q].y, c); b3[c] = at(quads[q].w, c) - at(quads[q].z, c); }
            for (int c = 0; c < 3; ++c) { int u = (c + 1) % 3, v = (c + 2) % 3; n1[c] = b1[u] * b2[v] - b1[v] * b2[u]; n2[c] = b2[u] * b3[v] - b2[v] * b3[u]; }
            for (int c = 0; c < 3; ++c) { X += n1[c] * n2[c]; Y += b1[c] * n2[c]; L += b2[c] * b2[c]; }
            bad += !(1.0 - std::cos(std::atan2(Y * std::sqrt(L), X) - before[std::size_t(f) * nq + q]) < 1e-5);
        }
    EXPECT_LE(bad, nq * 11 / 200);
    x.planes();
    trajkit::pairsWarp<<<(x.F * x.F + 3) / 4, 128>>>(x.s, x.d_inner, x.d_rmsd);
    ASSERT_CUDA(cudaGetLastError());
    EXPECT_LE(x.worst(), 5e-3);
    cudaFree(dq); cudaFree(di); cudaFree(da);
}

int main(int argc, char** argv)
{
    const char* filter = argc > 1 ? argv[1] : "";
    int ran = 0;
    for (auto& t : registry()) {
        if (!std::strstr(t.name, filter)) continue;
        int before = g_failures;
        t.body();
        ++ran;
        std::printf("[%s] %s\n", g_failures == before ? "  OK  " : "FAILED", t.name);
    }
    std::printf("%d tests, %d failures\n%s\n", ran, g_failures, g_failures ? "FAIL" : "PASS");
    return g_failures ? 1 : 0;
}
