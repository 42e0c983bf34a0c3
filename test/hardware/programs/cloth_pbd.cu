// Cloth on a regular grid, position based dynamics (Mueller et al. 2007), one sub-step.
// Distance constraints are split in four colours so that no particle is touched twice in one dispatch.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>

// -------------------------------------------------------------------------------------------------
// math helpers (shared by host and device)
#define HD __host__ __device__ inline
HD float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
HD float3 operator-(float3 a, float3 b) { return make_float3(a.x - b.x, a.y - b.y, a.z - b.z); }
HD float3 operator*(float3 a, float s) { return make_float3(a.x * s, a.y * s, a.z * s); }
HD float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
HD float length(float3 a) { return sqrtf(dot(a, a)); }
HD float3 cross(float3 a, float3 b)
{
    return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

struct Particle {
    float3 pos;       // position at start of step
    float  invMass;
    float3 pred;      // predicted position, the solver works on this one
    float  pad0;
    float3 vel;
    float  pad1;
};

struct DistConstraint {
    int   a, b;
    float rest;
};

struct SimParams {
    float  dt;
    float  damping;
    float  stiffness;
    float3 gravity;
    float4 sphere;    // xyz = centre, w = radius
};

__constant__ SimParams c_sim;

// -------------------------------------------------------------------------------------------------
// the per-item work, usable on both sides

HD void predictParticle(Particle& p, const SimParams& s)
{
    if (p.invMass > 0.0f) {
        p.vel = p.vel + s.gravity * s.dt;
        p.vel = p.vel * s.damping;
    }
    p.pred = p.pos + p.vel * s.dt;
}

HD void solveOne(Particle* ps, const DistConstraint& c, float stiffness)
{
    const float wa = ps[c.a].invMass;
    const float wb = ps[c.b].invMass;
    const float w = wa + wb;
    if (w == 0.0f) return;
    const float3 d = ps[c.b].pred - ps[c.a].pred;
    const float len = length(d);
    if (len < 1e-7f) return;
    const float3 corr = d * (stiffness * (len - c.rest) / (len * w));
    ps[c.a].pred = ps[c.a].pred + corr * wa;
    ps[c.b].pred = ps[c.b].pred - corr * wb;
}

HD void finishParticle(Particle& p, const SimParams& s)
{
    // push out of the sphere, then derive the velocity
    const float3 centre = make_float3(s.sphere.x, s.sphere.y, s.sphere.z);
    const float3 d = p.pred - centre;
    const float l = length(d);
    if (p.invMass > 0.0f && l < s.sphere.w && l > 1e-6f)
        p.pred = centre + d * (s.sphere.w / l);
    p.vel = (p.pred - p.pos) * (1.0f / s.dt);
    p.pos = p.pred;
}

// -------------------------------------------------------------------------------------------------
// kernels

__global__ void k_Predict(Particle* particles, int count)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= count) return;
    Particle p = particles[id];
    predictParticle(p, c_sim);
    particles[id] = p;
}

__global__ void k_SolveColour(Particle* particles, const DistConstraint* constraints, int first, int count)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= count) return;
    DistConstraint c = constraints[first + id];
    solveOne(particles, c, c_sim.stiffness);
}

__global__ void k_Finish(Particle* particles, int count)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id < count)
        finishParticle(particles[id], c_sim);
}

// vertex buffer for the renderer: float4 positions
__global__ void k_ExportVertices(const Particle* __restrict__ particles, float4* __restrict__ verts, int count)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= count) return;
    const float3 p = particles[id].pos;
    verts[id] = make_float4(p.x, p.y, p.z, 1.0f);
}

#define NB 16
// Smooth normals from central differences, position tile with a one-texel apron in LDS
__global__ void k_Normals(const float4* __restrict__ verts, float3* __restrict__ normals, int w, int h)
{
    __shared__ float4 tile[NB + 2][NB + 2];
    const int x0 = blockIdx.x * NB - 1;
    const int y0 = blockIdx.y * NB - 1;
    for (int i = threadIdx.y * NB + threadIdx.x; i < (NB + 2) * (NB + 2); i += NB * NB) {
        const int lx = i % (NB + 2), ly = i / (NB + 2);
        const int gx = min(max(x0 + lx, 0), w - 1);
        const int gy = min(max(y0 + ly, 0), h - 1);
        tile[ly][lx] = verts[gy * w + gx];
    }
    __syncthreads();

    const int x = blockIdx.x * NB + threadIdx.x;
    const int y = blockIdx.y * NB + threadIdx.y;
    if (x >= w || y >= h) return;
    const float4 l = tile[threadIdx.y + 1][threadIdx.x];
    const float4 r = tile[threadIdx.y + 1][threadIdx.x + 2];
    const float4 u = tile[threadIdx.y][threadIdx.x + 1];
    const float4 d = tile[threadIdx.y + 2][threadIdx.x + 1];
    const float3 dx = make_float3(r.x - l.x, r.y - l.y, r.z - l.z);
    const float3 dy = make_float3(d.x - u.x, d.y - u.y, d.z - u.z);
    const float3 n = cross(dx, dy);
    normals[y * w + x] = n * (1.0f / fmaxf(length(n), 1e-12f));
}

// -------------------------------------------------------------------------------------------------
static void gpuAssert(cudaError_t code, const char* file, int line)
{
    if (code != cudaSuccess) {
        fprintf(stderr, "GPU: %s %s %d\n", cudaGetErrorString(code), file, line);
        puts("FAIL");
        exit(code);
    }
}
#define GPU(x) gpuAssert((x), __FILE__, __LINE__)

class Cloth {
public:
    Cloth(int w, int h, float spacing) : m_w(w), m_h(h), m_spacing(spacing)
    {
        m_particles.resize(w * h);
        for (int y = 0; y < h; ++y)
            for (int x = 0; x < w; ++x) {
                Particle& p = m_particles[y * w + x];
                // slightly stretched + wavy so that the solver has something to do
                p.pos = make_float3(x * spacing * 1.05f, 0.02f * sinf(0.3f * x) * cosf(0.2f * y), y * spacing * 0.97f);
                p.pred = p.pos;
                p.vel = make_float3(0.1f * sinf(0.05f * y), 0.0f, 0.05f * cosf(0.07f * x));
                p.invMass = 1.0f;
                p.pad0 = p.pad1 = 0.0f;
            }
        m_particles[0].invMass = 0.0f;
        m_particles[w - 1].invMass = 0.0f;
        m_particles[0].vel = m_particles[w - 1].vel = make_float3(0, 0, 0);
        buildConstraints();
    }

    int count() const { return m_w * m_h; }

    std::vector<Particle>       m_particles;
    std::vector<DistConstraint> m_constraints;
    int m_colourStart[5];
    int m_w, m_h;

private:
    void buildConstraints()
    {
        for (int colour = 0; colour < 4; ++colour) {
            m_colourStart[colour] = (int)m_constraints.size();
            const bool horizontal = colour < 2;
            const int  phase = colour & 1;
            if (horizontal) {
                for (int y = 0; y < m_h; ++y)
                    for (int x = phase; x + 1 < m_w; x += 2)
                        m_constraints.push_back({y * m_w + x, y * m_w + x + 1, m_spacing});
            } else {
                for (int x = 0; x < m_w; ++x)
                    for (int y = phase; y + 1 < m_h; y += 2)
                        m_constraints.push_back({y * m_w + x, (y + 1) * m_w + x, m_spacing});
            }
        }
        m_colourStart[4] = (int)m_constraints.size();
    }
    float m_spacing;
};

int main()
{
    Cloth cloth(320, 240, 0.02f);
    SimParams sim;
    sim.dt = 1.0f / 60.0f;
    sim.damping = 0.995f;
    sim.stiffness = 0.8f;
    sim.gravity = make_float3(0.0f, -9.81f, 0.0f);
    sim.sphere = make_float4(3.2f, -0.6f, 2.3f, 0.61f);
    GPU(cudaMemcpyToSymbol(c_sim, &sim, sizeof(sim)));

    const int n = cloth.count();
    Particle* dParticles = nullptr;
    DistConstraint* dConstraints = nullptr;
    float4* dVerts = nullptr;
    float3* dNormals = nullptr;
    GPU(cudaMalloc(&dParticles, n * sizeof(Particle)));
    GPU(cudaMalloc(&dConstraints, cloth.m_constraints.size() * sizeof(DistConstraint)));
    GPU(cudaMalloc(&dVerts, n * sizeof(float4)));
    GPU(cudaMalloc(&dNormals, n * sizeof(float3)));
    GPU(cudaMemcpy(dParticles, cloth.m_particles.data(), n * sizeof(Particle), cudaMemcpyHostToDevice));
    GPU(cudaMemcpy(dConstraints, cloth.m_constraints.data(), cloth.m_constraints.size() * sizeof(DistConstraint),
                   cudaMemcpyHostToDevice));

    const int block = 128;
    auto groups = [&](int items) { return (items + block - 1) / block; };
    k_Predict<<<groups(n), block>>>(dParticles, n);
    for (int c = 0; c < 4; ++c) {
        const int first = cloth.m_colourStart[c];
        const int cnt = cloth.m_colourStart[c + 1] - first;
        k_SolveColour<<<groups(cnt), block>>>(dParticles, dConstraints, first, cnt);
    }
    k_Finish<<<groups(n), block>>>(dParticles, n);
    k_ExportVertices<<<groups(n), block>>>(dParticles, dVerts, n);
    k_Normals<<<dim3((cloth.m_w + NB - 1) / NB, (cloth.m_h + NB - 1) / NB), dim3(NB, NB)>>>(dVerts, dNormals, cloth.m_w,
                                                                                           cloth.m_h);
    GPU(cudaGetLastError());
    GPU(cudaDeviceSynchronize());

    std::vector<Particle> gp(n);
    std::vector<float4> gv(n);
    std::vector<float3> gn(n);
    GPU(cudaMemcpy(gp.data(), dParticles, n * sizeof(Particle), cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(gv.data(), dVerts, n * sizeof(float4), cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(gn.data(), dNormals, n * sizeof(float3), cudaMemcpyDeviceToHost));

    // CPU, same order of colours
    std::vector<Particle> cp = cloth.m_particles;
    for (auto& p : cp) predictParticle(p, sim);
    for (const auto& c : cloth.m_constraints) solveOne(cp.data(), c, sim.stiffness);
    for (auto& p : cp) finishParticle(p, sim);

    double ep = 0, ev = 0, ex = 0, en = 0;
    auto upd = [](double& worst, float3 a, float3 b) {
        const double e = length(a - b);
        if (!(e <= worst)) worst = e;
    };
    for (int y = 0; y < cloth.m_h; ++y)
        for (int x = 0; x < cloth.m_w; ++x) {
            const int i = y * cloth.m_w + x;
            upd(ep, gp[i].pos, cp[i].pos);
            upd(ev, gp[i].vel, cp[i].vel);
            upd(ex, make_float3(gv[i].x, gv[i].y, gv[i].z), gp[i].pos);
            // normals are checked against the exported vertices
            auto at = [&](int xx, int yy) {
                xx = xx < 0 ? 0 : (xx >= cloth.m_w ? cloth.m_w - 1 : xx);
                yy = yy < 0 ? 0 : (yy >= cloth.m_h ? cloth.m_h - 1 : yy);
                const float4 v = gv[yy * cloth.m_w + xx];
                return make_float3(v.x, v.y, v.z);
            };
            const float3 nn = cross(at(x + 1, y) - at(x - 1, y), at(x, y + 1) - at(x, y - 1));
            upd(en, gn[i], nn * (1.0f / fmaxf(length(nn), 1e-12f)));
        }
    printf("particles %d constraints %zu | pos %.2e vel %.2e export %.2e normal %.2e\n", n,
           cloth.m_constraints.size(), ep, ev, ex, en);
    const bool ok = ep < 1e-4 && ev < 1e-2 && ex == 0.0 && en < 2e-3;
    printf("%s\n", ok ? "PASS" : "FAIL");
    cudaFree(dParticles);
    cudaFree(dConstraints);
    cudaFree(dVerts);
    cudaFree(dNormals);
    return ok ? 0 : 1;
}
