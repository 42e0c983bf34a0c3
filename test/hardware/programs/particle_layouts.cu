// The same update on five layouts of a particle.
#include "common.h"

struct P3 { float x, y, z; };                                      // 12 bytes
struct P4 { float x, y, z, w; };                                   // 16 bytes, aligned to 4
struct alignas(16) P4a { float x, y, z, w; };                      // 16 bytes, aligned to 16
struct P6 { float3 pos; float3 vel; };                             // 24 bytes
struct alignas(8) PMixed { double energy; float x; short cell; char kind; char pad; };   // 16 bytes
template <int LANES> struct Bundle { float x[LANES], y[LANES], z[LANES]; };              // array of structures of arrays

template <typename P>
__global__ void shiftX(P *p, float dx, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i].x += dx;
}

template <typename P>
__global__ void scaleAll(const P *in, P *out, float s, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        P p = in[i];
        p.x *= s;
        p.y *= s;
        p.z *= s;
        out[i] = p;
    }
}

__global__ void drift(P6 *p, float dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float3 v = p[i].vel;
    p[i].pos.x += v.x * dt;
    p[i].pos.y += v.y * dt;
    p[i].pos.z += v.z * dt;
}

__global__ void addEnergy(PMixed *p, double e, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        if (p[i].kind == 1)
            p[i].energy += e * p[i].cell;
    }
}

template <int LANES>
__global__ void shiftBundles(Bundle<LANES> *b, float dx, float dy, float dz, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        Bundle<LANES> &mine = b[i / LANES];
        mine.x[i % LANES] += dx;
        mine.y[i % LANES] += dy;
        mine.z[i % LANES] += dz;
    }
}

template <typename P>
static std::vector<P> particles(int n)
{
    std::vector<P> p(n);
    for (int i = 0; i < n; ++i) { p[i].x = 1.0f * i; p[i].y = 2.0f * i; p[i].z = -0.5f * i; }
    return p;
}

template <typename P>
static bool tryBoth(const char *name, int n)
{
    std::vector<P> p = particles<P>(n);
    P *a = toDevice(p), *b = deviceZeros<P>(n);
    shiftX<<<(n + 127) / 128, 128>>>(a, 0.5f, n);
    scaleAll<<<(n + 127) / 128, 128>>>(a, b, 2.0f, n);
    std::vector<P> got = toHost(b, n);
    bool ok = true;
    for (int i = 0; i < n; ++i)
        ok = ok && got[i].x == 2.0f * (p[i].x + 0.5f) && got[i].y == 2.0f * p[i].y && got[i].z == 2.0f * p[i].z;
    return report(name, ok);
}

int main()
{
    const int n = 50000;
    bool ok = true;
    ok &= tryBoth<P3>("P3", n);
    ok &= tryBoth<P4>("P4", n);
    ok &= tryBoth<P4a>("P4a", n);

    std::vector<P6> six(n);
    for (int i = 0; i < n; ++i) { six[i].pos = make_float3(i, i, i); six[i].vel = make_float3(1, 2, 3); }
    P6 *d6 = toDevice(six);
    drift<<<196, 256>>>(d6, 0.5f, n);
    bool good = true;
    std::vector<P6> after = toHost(d6, n);
    for (int i = 0; i < n; ++i) good = good && after[i].pos.y == i + 1.0f && after[i].pos.z == i + 1.5f;
    ok &= report("drift", good);

    std::vector<PMixed> mixed(n);
    for (int i = 0; i < n; ++i) mixed[i] = {1.0 * i, 0, (short)(i % 100), (char)(i % 2), 0};
    PMixed *dm = toDevice(mixed);
    addEnergy<<<64, 192>>>(dm, 0.5, n);
    std::vector<PMixed> mixedAfter = toHost(dm, n);
    good = true;
    for (int i = 0; i < n; ++i) good = good && mixedAfter[i].energy == i + (i % 2 ? 0.5 * (i % 100) : 0.0);
    ok &= report("addEnergy", good);

    std::vector<Bundle<32>> bundles((n + 31) / 32);
    for (auto &b : bundles) for (int l = 0; l < 32; ++l) { b.x[l] = l; b.y[l] = 2 * l; b.z[l] = 3 * l; }
    Bundle<32> *db = toDevice(bundles);
    shiftBundles<<<(n + 255) / 256, 256>>>(db, 1, 2, 3, n);
    std::vector<Bundle<32>> moved = toHost(db, bundles.size());
    good = true;
    for (int i = 0; i < n; ++i) good = good && moved[i / 32].y[i % 32] == 2 * (i % 32) + 2 && moved[i / 32].z[i % 32] == 3 * (i % 32) + 3;
    ok &= report("shiftBundles", good);
    return ok ? 0 : 1;
}
