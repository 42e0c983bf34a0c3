/*
 * Short-range (tapered Lennard-Jones) forces with a Verlet list, in the layouts I keep
 * running into: padded list column-wise + float4, padded list row-wise + array of atom
 * records, CSR list with a warp per atom + separate x/y/z, half list with scatter-add.
 * Followed by a leapfrog step on the atom records and an energy sum.
 */
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;
using std::vector;

static void must(cudaError_t e, int line) { if (e != cudaSuccess) { printf("CUDA: %s, line %d\n", cudaGetErrorString(e), line); exit(1); } }
#define MUST(x) must((x), __LINE__)

struct Box {                       // cubic, periodic
    float len, inv;
    template <class R> __host__ __device__ R wrap(R d) const { return d - R(len) * rint(d * R(inv)); }
};
template <> __device__ __host__ inline float Box::wrap<float>(float d) const { return d - len * rintf(d * inv); }

struct Lj {                        // f(r)/r and e(r), tapered to zero at the cut-off
    float rc2, irc2;
    template <class R> __host__ __device__ R fOverR(R r2) const {
        R s = R(1) - r2 * R(irc2), i2 = R(1) / r2, i6 = i2 * i2 * i2;
        return R(24) * i6 * (R(2) * i6 - R(1)) * i2 * s * s;
    }
    template <class R> __host__ __device__ R energy(R r2) const {
        R s = R(1) - r2 * R(irc2), i2 = R(1) / r2, i6 = i2 * i2 * i2;
        return R(4) * i6 * (i6 - R(1)) * s * s;
    }
};

struct Atom { float r[3], v[3], f[3]; int type; };   // 40 bytes

/* ---- (a) padded list, entry k of all atoms adjacent ---- */
__global__ void force_float4_columns(int n, int pitch, const float4 *__restrict__ pos, const int *__restrict__ count,
                                     const int *__restrict__ list, float4 *__restrict__ force, Box box, Lj lj)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float4 p = pos[i];
    float fx = 0, fy = 0, fz = 0, e = 0;
    const int m = count[i];
    for (int k = 0; k < m; ++k) {
        const float4 q = pos[list[(size_t)k * pitch + i]];
        const float dx = box.wrap(p.x - q.x), dy = box.wrap(p.y - q.y), dz = box.wrap(p.z - q.z);
        const float r2 = dx * dx + dy * dy + dz * dz;
        if (r2 < lj.rc2) {
            const float f = lj.fOverR(r2);
            fx += f * dx; fy += f * dy; fz += f * dz;
            e += 0.5f * lj.energy(r2);
        }
    }
    force[i] = make_float4(fx, fy, fz, e);
}

/* ---- (b) padded list, the entries of one atom adjacent; atoms as records ---- */
__global__ void force_records_rows(int n, int maxn, Atom *atom, const int *count, const int *list, Box box, Lj lj)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float f[3] = {0, 0, 0};
    for (int k = 0; k < count[i]; ++k) {
        const int j = list[i * maxn + k];
        float d[3], r2 = 0;
        for (int c = 0; c < 3; ++c) { d[c] = box.wrap(atom[i].r[c] - atom[j].r[c]); r2 += d[c] * d[c]; }
        if (r2 >= lj.rc2) continue;
        const float s = lj.fOverR(r2);
        for (int c = 0; c < 3; ++c) f[c] += s * d[c];
    }
    for (int c = 0; c < 3; ++c) atom[i].f[c] = f[c];
}

/* ---- (c) CSR list, a warp (tile) per atom, coordinates apart ---- */
struct Soa { float *x, *y, *z; };

__global__ void force_warp_csr(int n, Soa r, Soa f, const int *__restrict__ start, const int *__restrict__ list, Box box, Lj lj)
{
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    const int i = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
    if (i >= n) return;                                        // uniform over the warp
    const float x = r.x[i], y = r.y[i], z = r.z[i];
    float fx = 0, fy = 0, fz = 0;
    for (int k = start[i] + warp.thread_rank(); k < start[i + 1]; k += warp.size()) {
        const int j = list[k];
        const float dx = box.wrap(x - r.x[j]), dy = box.wrap(y - r.y[j]), dz = box.wrap(z - r.z[j]);
        const float r2 = dx * dx + dy * dy + dz * dz;
        if (r2 < lj.rc2) { const float s = lj.fOverR(r2); fx += s * dx; fy += s * dy; fz += s * dz; }
    }
    fx = cg::reduce(warp, fx, cg::plus<float>());
    fy = cg::reduce(warp, fy, cg::plus<float>());
    fz = cg::reduce(warp, fz, cg::plus<float>());
    if (warp.thread_rank() == 0) { f.x[i] = fx; f.y[i] = fy; f.z[i] = fz; }
}

/* ---- (d) half list: each pair once, reaction by atomics, forces interleaved xyz ---- */
__global__ void force_half_scatter(int npairs, const int2 *pair, const float4 *pos, float *force3, Box box, Lj lj)
{
    for (int p = blockIdx.x * blockDim.x + threadIdx.x; p < npairs; p += gridDim.x * blockDim.x) {
        const int2 ij = pair[p];
        const float4 a = pos[ij.x], b = pos[ij.y];
        const float dx = box.wrap(a.x - b.x), dy = box.wrap(a.y - b.y), dz = box.wrap(a.z - b.z);
        const float r2 = dx * dx + dy * dy + dz * dz;
        if (r2 >= lj.rc2) continue;
        const float s = lj.fOverR(r2), d[3] = {dx, dy, dz};
        for (int c = 0; c < 3; ++c) {
            atomicAdd(force3 + 3 * ij.x + c, s * d[c]);
            atomicAdd(force3 + 3 * ij.y + c, -s * d[c]);
        }
    }
}

/* ---- leapfrog on the records ---- */
__global__ void leapfrog(int n, Atom *atom, float dt)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Atom &a = atom[i];
    const float im = a.type ? 0.5f : 1.0f;
    for (int c = 0; c < 3; ++c) { a.v[c] += dt * im * a.f[c]; a.r[c] += dt * a.v[c]; }
}

/* ---- potential energy: .w of the float4 forces ---- */
__global__ void sum_energy(int n, const float4 *force, double *out)
{
    __shared__ double s[256];
    double e = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) e += force[i].w;
    s[threadIdx.x] = e;
    __syncthreads();
    for (int h = 128; h > 0; h /= 2) { if ((int)threadIdx.x < h) s[threadIdx.x] += s[threadIdx.x + h]; __syncthreads(); }
    if (threadIdx.x == 0) atomicAdd(out, s[0]);
}

class System {
public:
    int n, maxn = 0;
    Box box; Lj lj;
    vector<float4> pos;
    vector<vector<int>> nb;
    System(int cells, float spacing, float rc, float skin) : n(cells * cells * cells)
    {
        box = {cells * spacing, 1.0f / (cells * spacing)};
        lj = {rc * rc, 1.0f / (rc * rc)};
        vector<int> site(n);
        std::iota(site.begin(), site.end(), 0);
        for (int i = n - 1; i > 0; --i) std::swap(site[i], site[roll() % (i + 1)]);   // atoms are in no useful order
        pos.resize(n); nb.resize(n);
        auto jig = [this] { return 0.16f * ((roll() % 1024) / 1024.0f - 0.5f); };
        for (int i = 0; i < n; ++i) {
            const int s = site[i];
            const float x = (s % cells + 0.5f) * spacing + jig(), y = (s / cells % cells + 0.5f) * spacing + jig();
            const float z = (s / cells / cells + 0.5f) * spacing + jig();
            pos[i] = make_float4(x, y, z, 0.0f);
        }
        buildList(rc + skin);
    }
private:
    unsigned state = 77u;
    unsigned roll() { state = state * 747796405u + 2891336453u; unsigned w = ((state >> ((state >> 28) + 4)) ^ state) * 277803737u; return (w >> 22) ^ w; }
    void buildList(float rl)
    {
        const int g = (int)(box.len / rl);
        vector<vector<int>> cell(g * g * g);
        auto bin = [&](float c) { int k = (int)(c * box.inv * g); return k < 0 ? 0 : k >= g ? g - 1 : k; };
        for (int i = 0; i < n; ++i) cell[(bin(pos[i].z) * g + bin(pos[i].y)) * g + bin(pos[i].x)].push_back(i);
        for (int i = 0; i < n; ++i) {
            const int cx = bin(pos[i].x), cy = bin(pos[i].y), cz = bin(pos[i].z);
            for (int o = 0; o < 27; ++o) {
                const int x = (cx + o % 3 - 1 + g) % g, y = (cy + o / 3 % 3 - 1 + g) % g, z = (cz + o / 9 - 1 + g) % g;
                for (int j : cell[(z * g + y) * g + x]) {
                    if (j == i) continue;
                    const float dx = box.wrap(pos[i].x - pos[j].x), dy = box.wrap(pos[i].y - pos[j].y), dz = box.wrap(pos[i].z - pos[j].z);
                    if (dx * dx + dy * dy + dz * dz < rl * rl) nb[i].push_back(j);
                }
            }
            maxn = std::max(maxn, (int)nb[i].size());
        }
    }
};

template <class T> T *up(const vector<T> &h)
{
    T *d; MUST(cudaMalloc(&d, h.size() * sizeof(T)));
    MUST(cudaMemcpy(d, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice));
    return d;
}
template <class T> vector<T> down(const T *d, size_t n)
{
    vector<T> h(n); MUST(cudaMemcpy(h.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost)); return h;
}

int main(int argc, char **argv)
{
    const int cells = argc > 1 ? atoi(argv[1]) : 19;
    System sys(cells, 1.2f, 2.5f, 0.3f);
    const int n = sys.n, maxn = sys.maxn, pitch = (n + 31) & ~31;
    vector<int> count(n), rows((size_t)n * maxn, 0), cols((size_t)pitch * maxn, 0), start(1, 0), csr;
    vector<int2> half;
    vector<Atom> atom(n);
    vector<float> X(n), Y(n), Z(n), zero3(3 * n, 0.0f);
    vector<double> ref(3 * n, 0.0);
    double eref = 0, scale = 1;
    for (int i = 0; i < n; ++i) {
        const float4 p = sys.pos[i];
        X[i] = p.x; Y[i] = p.y; Z[i] = p.z;
        atom[i] = Atom{{p.x, p.y, p.z}, {0.01f * (i % 7), -0.02f * (i % 5), 0.03f}, {0, 0, 0}, i % 3 == 0};
        count[i] = (int)sys.nb[i].size();
        for (int k = 0; k < count[i]; ++k) {
            const int j = sys.nb[i][k];
            rows[(size_t)i * maxn + k] = j;
            cols[(size_t)k * pitch + i] = j;
            csr.push_back(j);
            if (j > i) half.push_back(make_int2(i, j));
            const double d[3] = {sys.box.wrap<double>((double)p.x - sys.pos[j].x), sys.box.wrap<double>((double)p.y - sys.pos[j].y), sys.box.wrap<double>((double)p.z - sys.pos[j].z)};
            const double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            if (r2 >= sys.lj.rc2) continue;
            for (int c = 0; c < 3; ++c) ref[3 * i + c] += sys.lj.fOverR(r2) * d[c];
            eref += 0.5 * sys.lj.energy(r2);
        }
        start.push_back((int)csr.size());
        for (int c = 0; c < 3; ++c) scale = std::max(scale, std::fabs(ref[3 * i + c]));
    }
    printf("%d atoms, %zu neighbours, at most %d\n", n, csr.size(), maxn);

    float4 *dPos = up(sys.pos), *dF4 = up(sys.pos);
    int *dCount = up(count), *dRows = up(rows), *dCols = up(cols), *dStart = up(start), *dCsr = up(csr);
    int2 *dHalf = up(half);
    Atom *dAtom = up(atom);
    Soa r{up(X), up(Y), up(Z)}, f{up(X), up(Y), up(Z)};
    float *dF3 = up(zero3);
    double *dE = up(vector<double>(1, 0.0));
    const int b = 128, g = (n + b - 1) / b;

    force_float4_columns<<<g, b>>>(n, pitch, dPos, dCount, dCols, dF4, sys.box, sys.lj);   MUST(cudaGetLastError());
    force_records_rows<<<g, b>>>(n, maxn, dAtom, dCount, dRows, sys.box, sys.lj);          MUST(cudaGetLastError());
    force_warp_csr<<<(n + 3) / 4, 128>>>(n, r, f, dStart, dCsr, sys.box, sys.lj);          MUST(cudaGetLastError());
    force_half_scatter<<<200, 256>>>((int)half.size(), dHalf, dPos, dF3, sys.box, sys.lj); MUST(cudaGetLastError());
    leapfrog<<<g, b>>>(n, dAtom, 0.001f);                                                  MUST(cudaGetLastError());
    sum_energy<<<8, 256>>>(n, dF4, dE);                                                    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());

    auto f4 = down(dF4, n); auto at = down(dAtom, n); auto f3 = down(dF3, 3 * n);
    auto fx = down(f.x, n), fy = down(f.y, n), fz = down(f.z, n);
    const double e = down(dE, 1)[0];
    double worst[5] = {0, 0, 0, 0, 0};
    auto note = [&](int w, double a, double want) { const double d = std::fabs(a - want); if (!(d <= worst[w])) worst[w] = d; };
    for (int i = 0; i < n; ++i) {
        const float a4[3] = {f4[i].x, f4[i].y, f4[i].z}, aw[3] = {fx[i], fy[i], fz[i]};
        for (int c = 0; c < 3; ++c) {
            const double want = ref[3 * i + c];
            note(0, a4[c], want); note(1, at[i].f[c], want); note(2, aw[c], want); note(3, f3[3 * i + c], want);
            const double v = atom[i].v[c] + 0.001 * (atom[i].type ? 0.5 : 1.0) * want;
            note(4, at[i].v[c], v); note(4, at[i].r[c], atom[i].r[c] + 0.001 * v);
        }
    }
    printf("force errors %.2e %.2e %.2e %.2e (largest force %.2f), step %.2e, energy %.6f vs %.6f\n",
           worst[0], worst[1], worst[2], worst[3], scale, worst[4], e, eref);
    bool ok = worst[4] < 1e-4 && std::fabs(e - eref) < 1e-4 * std::fabs(eref);
    for (int w = 0; w < 4; ++w) ok = ok && worst[w] < 1e-3 * scale;
    for (void *p : {(void *)dPos, (void *)dF4, (void *)dCount, (void *)dRows, (void *)dCols, (void *)dStart, (void *)dCsr, (void *)dHalf,
                    (void *)dAtom, (void *)r.x, (void *)r.y, (void *)r.z, (void *)f.x, (void *)f.y, (void *)f.z, (void *)dF3, (void *)dE}) cudaFree(p);
    puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
