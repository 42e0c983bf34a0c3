// Forces from a neighbour list, as in molecular dynamics; two layouts of the list.
#include "common.h"

template <class real> struct vec4 { real x, y, z, w; };

__global__ void ljForces(const float4 *__restrict__ position, const int *__restrict__ neighbours, float4 *force,
                         int atoms, int maxNeighbours, float cutsq, float lj1, float lj2)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= atoms) return;
    float4 ipos = position[idx];
    float3 f = {0.0f, 0.0f, 0.0f};
    int j = 0;
    while (j < maxNeighbours) {
        int jidx = neighbours[j * atoms + idx];
        float4 jpos = position[jidx];
        float delx = ipos.x - jpos.x;
        float dely = ipos.y - jpos.y;
        float delz = ipos.z - jpos.z;
        float r2inv = delx * delx + dely * dely + delz * delz;
        if (r2inv < cutsq) {
            r2inv = 1.0f / r2inv;
            float r6inv = r2inv * r2inv * r2inv;
            float s = r2inv * r6inv * (lj1 * r6inv - lj2);
            f.x += delx * s;
            f.y += dely * s;
            f.z += delz * s;
        }
        j++;
    }
    force[idx] = make_float4(f.x, f.y, f.z, 0.0f);
}

__global__ void ljForcesRows(const float *x, const float *y, const float *z, const int *neighbours, float *fx, int atoms, int maxNeighbours, float cutsq)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= atoms) return;
    float sum = 0;
    for (int j = 0; j < maxNeighbours; ++j) {
        int n = neighbours[i * maxNeighbours + j];
        float dx = x[i] - x[n], dy = y[i] - y[n], dz = z[i] - z[n];
        float r2 = dx * dx + dy * dy + dz * dz;
        if (r2 < cutsq)
            sum += dx / (r2 * r2);
    }
    fx[i] = sum;
}

int main()
{
    const int atoms = 6000, max = 32;
    std::vector<float> x(atoms), y(atoms), z(atoms);
    std::vector<float4> pos(atoms);
    for (int i = 0; i < atoms; ++i) {
        x[i] = i % 20 + 0.1f * (i % 3);
        y[i] = i / 20 % 20 + 0.05f * (i % 5);
        z[i] = i / 400 + 0.02f * (i % 7);
        pos[i] = make_float4(x[i], y[i], z[i], 0);
    }
    std::vector<int> columns(atoms * max), rows(atoms * max);
    Random r(5);
    for (int i = 0; i < atoms; ++i)
        for (int j = 0; j < max; ++j) {
            int n = (i + 1 + r.below(800)) % atoms;
            columns[j * atoms + i] = rows[i * max + j] = n;
        }
    const float cutsq = 16.0f, lj1 = 1.5f, lj2 = 2.0f;
    std::vector<float> wantA(atoms), wantB(atoms);
    for (int i = 0; i < atoms; ++i)
        for (int j = 0; j < max; ++j) {
            int n = rows[i * max + j];
            float dx = x[i] - x[n], dy = y[i] - y[n], dz = z[i] - z[n], r2 = dx * dx + dy * dy + dz * dz;
            if (r2 >= cutsq) continue;
            float inv = 1.0f / r2, six = inv * inv * inv;
            wantA[i] += dx * inv * six * (lj1 * six - lj2);
            wantB[i] += dx / (r2 * r2);
        }
    float4 *dForce = deviceZeros<float4>(atoms);
    float *dfx = deviceZeros<float>(atoms);
    bool ok = true;
    ljForces<<<(atoms + 255) / 256, 256>>>(toDevice(pos), toDevice(columns), dForce, atoms, max, cutsq, lj1, lj2);
    std::vector<float> got(atoms);
    std::vector<float4> force = toHost(dForce, atoms);
    for (int i = 0; i < atoms; ++i) got[i] = force[i].x;
    ok &= report("ljForces", allNear(got, wantA, 1e-2));
    ljForcesRows<<<(atoms + 255) / 256, 256>>>(toDevice(x), toDevice(y), toDevice(z), toDevice(rows), dfx, atoms, max, cutsq);
    ok &= report("ljForcesRows", allNear(toHost(dfx, atoms), wantB, 1e-3));
    return ok ? 0 : 1;
}
