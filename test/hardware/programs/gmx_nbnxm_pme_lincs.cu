// Cluster pair non-bonded forces, PME spline/spread and LINCS constraints in the manner of GROMACS.
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>
static constexpr int c_clSize = 8, c_nbnxnGpuNumClusterPerSupercluster = 8, c_nbnxnGpuJgroupSize = 4, c_nbnxnGpuClusterpairSplit = 2;
static constexpr int c_superClusterSize = c_clSize * c_nbnxnGpuNumClusterPerSupercluster;
static constexpr unsigned int superClInteractionMask = (1U << c_nbnxnGpuNumClusterPerSupercluster) - 1U;
static constexpr unsigned int c_fullWarpMask = 0xffffffff;
static void checkDeviceError(cudaError_t stat, const char* what) {
    if (stat != cudaSuccess) { fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(stat)); exit(1); }
}
struct nbnxn_sci_t { int sci, cj4_ind_start, cj4_ind_end; };
struct nbnxn_im_ei_t { unsigned int imask; int excl_ind; };
struct nbnxn_cj4_t { int cj[c_nbnxnGpuJgroupSize]; nbnxn_im_ei_t imei[c_nbnxnGpuClusterpairSplit]; };
struct nbnxn_excl_t { unsigned int pair[32]; };
struct NBAtomDataGpu { const float4* xq; const int* atomTypes; float3* f; float* eLJ; float* eElec; int numTypes; };
struct NBParamGpu { float epsfac, c_rf, two_k_rf, rcoulomb_sq; const float2* nbfp; };
struct gpu_plist { const nbnxn_sci_t* sci; const nbnxn_cj4_t* cj4; const nbnxn_excl_t* excl; };
__host__ __device__ inline float3 operator-(float3 a, float3 b) { return make_float3(a.x - b.x, a.y - b.y, a.z - b.z); }
__host__ __device__ inline float3 operator*(float s, float3 a) { return make_float3(s * a.x, s * a.y, s * a.z); }
__host__ __device__ inline void operator+=(float3& a, float3 b) { a.x += b.x; a.y += b.y; a.z += b.z; }
__host__ __device__ inline void operator-=(float3& a, float3 b) { a.x -= b.x; a.y -= b.y; a.z -= b.z; }
__host__ __device__ inline float iprod(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static __device__ __forceinline__ void atomicAddForce(float3* f, float3 v) { atomicAdd(&f->x, v.x); atomicAdd(&f->y, v.y); atomicAdd(&f->z, v.z); }
// Reduces over the 8 lanes which share j.
static __device__ __forceinline__ void reduce_force_j_warp_shfl(float3 f, float3* fout, int tidxi, int aidx) {
    for (int o = 1; o < c_clSize; o <<= 1) {
        f.x += __shfl_xor_sync(c_fullWarpMask, f.x, o); f.y += __shfl_xor_sync(c_fullWarpMask, f.y, o); f.z += __shfl_xor_sync(c_fullWarpMask, f.z, o);
    }
    if (tidxi == 0) atomicAddForce(&fout[aidx], f);
}
static __device__ __forceinline__ void reduce_force_i_warp_shfl(float3 f, float3* fout, int tidxj, int aidx) {
    for (int o = c_clSize; o < 32; o <<= 1) {
        f.x += __shfl_xor_sync(c_fullWarpMask, f.x, o); f.y += __shfl_xor_sync(c_fullWarpMask, f.y, o); f.z += __shfl_xor_sync(c_fullWarpMask, f.z, o);
    }
    if (tidxj % 4 == 0) atomicAddForce(&fout[aidx], f);
}
template <bool calcEnergies>
__launch_bounds__(c_clSize* c_clSize) __global__ void nbnxn_kernel_ElecRF_VdwLJ(const NBAtomDataGpu atdat, const NBParamGpu nbparam, const gpu_plist plist) {
    const int tidxi = threadIdx.x, tidxj = threadIdx.y;
    const int tidx = threadIdx.y * blockDim.x + threadIdx.x;
    const int widx = tidx / 32, bidx = blockIdx.x;
    __shared__ float4 xqib[c_superClusterSize];
    __shared__ int atib[c_superClusterSize];
    const nbnxn_sci_t nb_sci = plist.sci[bidx];
    {
        const int ai = (nb_sci.sci * c_nbnxnGpuNumClusterPerSupercluster + tidxj) * c_clSize + tidxi;
        float4 xqbuf = atdat.xq[ai]; xqbuf.w *= nbparam.epsfac;
        xqib[tidxj * c_clSize + tidxi] = xqbuf;
        atib[tidxj * c_clSize + tidxi] = atdat.atomTypes[ai];
    }
    __syncthreads();
    float3 fci_buf[c_nbnxnGpuNumClusterPerSupercluster];
    for (int i = 0; i < c_nbnxnGpuNumClusterPerSupercluster; i++) fci_buf[i] = make_float3(0.0F, 0.0F, 0.0F);
    float E_lj = 0.0F, E_el = 0.0F;
    for (int j4 = nb_sci.cj4_ind_start; j4 < nb_sci.cj4_ind_end; j4++) {
        const int wexcl_idx = plist.cj4[j4].imei[widx].excl_ind;
        const unsigned int imask = plist.cj4[j4].imei[widx].imask;
        const unsigned int wexcl = plist.excl[wexcl_idx].pair[tidx & 31];
        if (!imask) continue;
#pragma unroll 4
        for (int jm = 0; jm < c_nbnxnGpuJgroupSize; jm++) {
            if (!(imask & (superClInteractionMask << (jm * c_nbnxnGpuNumClusterPerSupercluster)))) continue;
            unsigned int mask_ji = 1U << (jm * c_nbnxnGpuNumClusterPerSupercluster);
            const int cj = plist.cj4[j4].cj[jm], aj = cj * c_clSize + tidxj;
            const float4 xqj = atdat.xq[aj];
            const float3 xj = make_float3(xqj.x, xqj.y, xqj.z);
            const int typej = atdat.atomTypes[aj];
            float3 fcj_buf = make_float3(0.0F, 0.0F, 0.0F);
#pragma unroll 8
            for (int i = 0; i < c_nbnxnGpuNumClusterPerSupercluster; i++) {
                if (imask & mask_ji) {
                    const float4 xqi = xqib[i * c_clSize + tidxi];
                    const float3 rv = make_float3(xqi.x, xqi.y, xqi.z) - xj;
                    float r2 = iprod(rv, rv);
                    const float int_bit = (wexcl & mask_ji) ? 1.0F : 0.0F;
                    if (r2 < nbparam.rcoulomb_sq * int_bit) {
                        const float2 c6c12 = __ldg(&nbparam.nbfp[atdat.numTypes * atib[i * c_clSize + tidxi] + typej]);
                        r2 = fmaxf(r2, 1e-6F);
                        const float inv_r = rsqrtf(r2), inv_r2 = inv_r * inv_r, inv_r6 = inv_r2 * inv_r2 * inv_r2;
                        const float qq = xqi.w * xqj.w;
                        const float F_invr = inv_r6 * (c6c12.y * inv_r6 - c6c12.x) * inv_r2 + qq * (inv_r2 * inv_r - nbparam.two_k_rf);
                        if (calcEnergies) {
                            E_lj += inv_r6 * (c6c12.y * inv_r6 / 12.0F - c6c12.x / 6.0F);
                            E_el += qq * (inv_r + 0.5F * nbparam.two_k_rf * r2 - nbparam.c_rf);
                        }
                        const float3 f_ij = F_invr * rv;
                        fcj_buf -= f_ij;
                        fci_buf[i] += f_ij;
                    }
                }
                mask_ji += mask_ji;
            }
            reduce_force_j_warp_shfl(fcj_buf, atdat.f, tidxi, aj);
        }
    }
#pragma unroll
    for (int i = 0; i < c_nbnxnGpuNumClusterPerSupercluster; i++)
        reduce_force_i_warp_shfl(fci_buf[i], atdat.f, tidxj, (nb_sci.sci * c_nbnxnGpuNumClusterPerSupercluster + i) * c_clSize + tidxi);
    if (calcEnergies) {
        for (int o = 16; o > 0; o >>= 1) { E_lj += __shfl_down_sync(c_fullWarpMask, E_lj, o); E_el += __shfl_down_sync(c_fullWarpMask, E_el, o); }
        if ((tidx & 31) == 0) { atomicAdd(atdat.eLJ, E_lj); atomicAdd(atdat.eElec, E_el); }
    }
}
struct PmeGpuKernelParams { const float4* xq; float* realGrid; int nAtoms; int3 realGridSize; float3 invBox; };
// order*order threads per atom, fixed order 4 spline
template <int order, int atomsPerBlock>
__global__ void pme_spline_and_spread_kernel(const PmeGpuKernelParams p) {
    __shared__ float sm_theta[atomsPerBlock * 3 * order];
    __shared__ int sm_gridlineIndices[atomsPerBlock * 3];
    const int atomIndexLocal = threadIdx.z, atomIndex = blockIdx.x * atomsPerBlock + atomIndexLocal;
    const int threadLocal = threadIdx.y * order + threadIdx.x;
    const bool valid = atomIndex < p.nAtoms;
    const float4 xq = valid ? p.xq[atomIndex] : make_float4(0, 0, 0, 0);
    if (threadLocal < 3) {
        const int n = threadLocal == 0 ? p.realGridSize.x : threadLocal == 1 ? p.realGridSize.y : p.realGridSize.z;
        const float x = threadLocal == 0 ? xq.x * p.invBox.x : threadLocal == 1 ? xq.y * p.invBox.y : xq.z * p.invBox.z;
        const float t = x * n;
        const int ti = (int)t;
        const float dr = t - ti;
        float data[order];
        data[order - 1] = 0.0F; data[1] = dr; data[0] = 1.0F - dr;
#pragma unroll
        for (int k = 3; k < order + 1; k++) {
            const float div = 1.0F / (k - 1.0F);
            data[k - 1] = div * dr * data[k - 2];
#pragma unroll
            for (int l = 1; l < k - 1; l++) data[k - l - 1] = div * ((dr + l) * data[k - l - 2] + (k - l - dr) * data[k - l - 1]);
            data[0] = div * (1.0F - dr) * data[0];
        }
#pragma unroll
        for (int o = 0; o < order; o++) sm_theta[(atomIndexLocal * 3 + threadLocal) * order + o] = data[o];
        sm_gridlineIndices[atomIndexLocal * 3 + threadLocal] = ti;
    }
    __syncthreads();
    if (!valid || xq.w == 0.0F) return;
    const int ix0 = sm_gridlineIndices[atomIndexLocal * 3], iy = (sm_gridlineIndices[atomIndexLocal * 3 + 1] + threadIdx.y) % p.realGridSize.y,
              iz = (sm_gridlineIndices[atomIndexLocal * 3 + 2] + threadIdx.x) % p.realGridSize.z;
    const float* theta = sm_theta + atomIndexLocal * 3 * order;
    const float constVal = theta[2 * order + threadIdx.x] * theta[order + threadIdx.y] * xq.w;
#pragma unroll
    for (int ithx = 0; ithx < order; ithx++) {
        const int ix = (ix0 + ithx) % p.realGridSize.x;
        atomicAdd(p.realGrid + (ix * p.realGridSize.y + iy) * p.realGridSize.z + iz, theta[ithx] * constVal);
    }
}
// LINCS on chains of numPerMol constraints; a block owns whole molecules, one thread per constraint.
struct LincsParams { const float3* x; float3* xp; const int2* atoms; const float* lengths; const float* invMass; int numConstraints, expansionOrder, numIterations; };
template <int threadsPerBlock, int numPerMol> __launch_bounds__(threadsPerBlock) __global__ void lincs_kernel(const LincsParams k) {
    __shared__ float3 sm_r[threadsPerBlock];
    __shared__ float sm_rhs[threadsPerBlock], sm_sdiag[threadsPerBlock];
    const int t = threadIdx.x, c = blockIdx.x * threadsPerBlock + t;
    const bool active = c < k.numConstraints;
    const int2 pair = active ? k.atoms[c] : make_int2(0, 0);
    const float len = active ? k.lengths[c] : 0.0F;
    const float imi = active ? k.invMass[pair.x] : 1.0F, imj = active ? k.invMass[pair.y] : 1.0F;
    const float sdiag = rsqrtf(imi + imj);
    float3 dx = make_float3(0, 0, 0);
    if (active) { dx = k.x[pair.x] - k.x[pair.y]; dx = rsqrtf(iprod(dx, dx)) * dx; }
    sm_r[t] = dx; sm_sdiag[t] = sdiag;
    __syncthreads();
    const int inMol = c % numPerMol;
    const float aPrev = inMol > 0 ? imi * sdiag * sm_sdiag[t - 1] * iprod(dx, sm_r[t - 1]) : 0.0F;
    const float aNext = inMol < numPerMol - 1 ? imj * sdiag * sm_sdiag[t + 1] * iprod(dx, sm_r[t + 1]) : 0.0F;
    for (int iter = 0; iter <= k.numIterations; iter++) {
        float rhs = 0.0F;
        if (active) {
            const float3 d = k.xp[pair.x] - k.xp[pair.y];
            const float dlen2 = 2.0F * len * len - iprod(d, d);
            rhs = iter == 0 ? sdiag * (iprod(dx, d) - len) : sdiag * (len - (dlen2 > 0.0F ? dlen2 * rsqrtf(dlen2) : 0.0F));
        }
        float sol = rhs;
        for (int rec = 0; rec < k.expansionOrder; rec++) {
            __syncthreads();
            sm_rhs[t] = rhs;
            __syncthreads();
            rhs = (inMol > 0 ? aPrev * sm_rhs[t - 1] : 0.0F) + (inMol < numPerMol - 1 ? aNext * sm_rhs[t + 1] : 0.0F);
            sol += rhs;
        }
        __syncthreads();
        if (active) {
            const float lambda = sdiag * sol;
            atomicAddForce(&k.xp[pair.x], (-imi * lambda) * dx);
            atomicAddForce(&k.xp[pair.y], (imj * lambda) * dx);
        }
        __threadfence_block();
        __syncthreads();
    }
}
template <typename T> static T* copyToDevice(const std::vector<T>& h) {
    T* d;
    checkDeviceError(cudaMalloc(&d, h.size() * sizeof(T)), "malloc");
    checkDeviceError(cudaMemcpy(d, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice), "h2d");
    return d;
}
template <typename T> static std::vector<T> copyFromDevice(const T* d, size_t n) {
    std::vector<T> h(n);
    checkDeviceError(cudaMemcpy(h.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost), "d2h");
    return h;
}
static bool testNonbondedAndPme(std::mt19937& rng) {
    const int nCell = 8, nAtoms = nCell * nCell * nCell * 8, numTypes = 3;
    const float spacing = 0.32F, rc = 0.9F;
    std::uniform_real_distribution<float> jit(-0.04F, 0.04F);
    std::vector<float4> xq;
    std::vector<int> types;
    for (int s = 0; s < nAtoms; s++) { // supercluster = 4x4x4 atoms, cluster = 2x2x2 atoms
        const int super = s / 64, cl = (s / 8) % 8, a = s % 8;
        const int sx = super / 16, sy = (super / 4) % 4, sz = super % 4;
        const float x = sx * 4 + (cl >> 2) * 2 + (a >> 2), y = sy * 4 + ((cl >> 1) & 1) * 2 + ((a >> 1) & 1), z = sz * 4 + (cl & 1) * 2 + (a & 1);
        xq.push_back(make_float4((x + 0.5F) * spacing + jit(rng), (y + 0.5F) * spacing + jit(rng), (z + 0.5F) * spacing + jit(rng), (s & 1) ? 0.4F : -0.4F));
        types.push_back(rng() % numTypes);
    }
    std::vector<float2> nbfp(numTypes * numTypes);
    for (int i = 0; i < numTypes; i++) for (int j = 0; j < numTypes; j++) nbfp[i * numTypes + j] = make_float2(0.01F * (1 + i + j), 1e-5F * (1 + i + j));
    auto excluded = [](int i, int j) { return i / 2 == j / 2; }; // atoms 2k and 2k+1 are bonded
    auto dist2 = [&](int i, int j) { const float dx = xq[i].x - xq[j].x, dy = xq[i].y - xq[j].y, dz = xq[i].z - xq[j].z; return dx * dx + dy * dy + dz * dz; };
    std::vector<nbnxn_sci_t> sci;
    std::vector<nbnxn_cj4_t> cj4;
    std::vector<nbnxn_excl_t> excl(1);
    for (auto& e : excl[0].pair) e = ~0U;
    const int nCl = nAtoms / 8;
    for (int s = 0; s < nCl / 8; s++) {
        std::vector<std::pair<int, unsigned>> js;
        for (int cj = s * 8; cj < nCl; cj++) {
            unsigned m = 0;
            for (int i = 0; i < 8; i++) {
                bool near = false;
                for (int a = 0; a < 64 && !near && s * 8 + i <= cj; a++) near = dist2((s * 8 + i) * 8 + a / 8, cj * 8 + a % 8) < rc * rc;
                m |= near ? 1U << i : 0U;
            }
            if (m) js.push_back({cj, m});
        }
        const int start = cj4.size();
        for (size_t b = 0; b < js.size(); b += 4) {
            nbnxn_cj4_t g{};
            for (int w = 0; w < 2; w++) {
                nbnxn_excl_t ex = excl[0];
                bool any = false;
                for (size_t jm = 0; jm < 4 && b + jm < js.size(); jm++) {
                    g.cj[jm] = js[b + jm].first;
                    g.imei[w].imask |= js[b + jm].second << (8 * jm);
                    for (int i = 0; i < 8; i++) for (int lane = 0; lane < 32; lane++) {
                        const int ai = (s * 8 + i) * 8 + lane % 8, aj = g.cj[jm] * 8 + w * 4 + lane / 8;
                        if (excluded(ai, aj) || (g.cj[jm] == s * 8 + i && aj <= ai)) { ex.pair[lane] &= ~(1U << (8 * jm + i)); any = true; }
                    }
                }
                if (any) { g.imei[w].excl_ind = excl.size(); excl.push_back(ex); }
            }
            cj4.push_back(g);
        }
        sci.push_back({s, start, (int)cj4.size()});
    }
    const float k_rf = 0.5F / (rc * rc * rc), c_rf = 1.0F / rc + k_rf * rc * rc, epsfac = 138.935F;
    NBAtomDataGpu atdat{copyToDevice(xq), copyToDevice(types), copyToDevice(std::vector<float3>(nAtoms, make_float3(0, 0, 0))), copyToDevice(std::vector<float>(1, 0.F)), copyToDevice(std::vector<float>(1, 0.F)), numTypes};
    NBParamGpu nbparam{epsfac, c_rf, 2 * k_rf, rc * rc, copyToDevice(nbfp)};
    gpu_plist plist{copyToDevice(sci), copyToDevice(cj4), copyToDevice(excl)};
    std::vector<double> f(nAtoms * 3, 0.0), mag(nAtoms, 0.0);
    double eLJ = 0, eEl = 0, absEl = 0, absLJ = 0;
    for (int i = 0; i < nAtoms; i++) for (int j = i + 1; j < nAtoms; j++) {
        if (excluded(i, j) || dist2(i, j) >= rc * rc) continue;
        const double d[3] = {(double)xq[i].x - xq[j].x, (double)xq[i].y - xq[j].y, (double)xq[i].z - xq[j].z}, r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
        const double i6 = 1 / (r2 * r2 * r2), qq = epsfac * xq[i].w * xq[j].w, r = std::sqrt(r2);
        const float2 c = nbfp[types[i] * numTypes + types[j]];
        const double F = i6 * (c.y * i6 - c.x) / r2 + qq * (1 / (r2 * r) - 2 * k_rf);
        const double el = qq * (1 / r + k_rf * r2 - c_rf), lj = i6 * (c.y * i6 / 12 - c.x / 6);
        eLJ += lj; eEl += el; absEl += std::fabs(el); absLJ += std::fabs(i6 * c.y * i6 / 12) + std::fabs(i6 * c.x / 6);
        for (int k = 0; k < 3; k++) { f[i * 3 + k] += F * d[k]; f[j * 3 + k] -= F * d[k]; }
        mag[i] += std::fabs(F) * r + 1; mag[j] += std::fabs(F) * r + 1;
    }
    bool ok = true;
    for (int pass = 0; pass < 2; pass++) {
        checkDeviceError(cudaMemset(atdat.f, 0, nAtoms * sizeof(float3)), "memset");
        const dim3 block(c_clSize, c_clSize, 1);
        if (pass) nbnxn_kernel_ElecRF_VdwLJ<true><<<sci.size(), block>>>(atdat, nbparam, plist);
        else nbnxn_kernel_ElecRF_VdwLJ<false><<<sci.size(), block>>>(atdat, nbparam, plist);
        checkDeviceError(cudaGetLastError(), "nbnxn kernel");
        const auto g = copyFromDevice(atdat.f, nAtoms);
        int bad = 0;
        for (int i = 0; i < nAtoms; i++) {
            const double e = std::fabs(g[i].x - f[i * 3]) + std::fabs(g[i].y - f[i * 3 + 1]) + std::fabs(g[i].z - f[i * 3 + 2]);
            if (!(e <= 2e-3 * mag[i])) bad++;
        }
        printf("nonbonded pass %d: %d bad forces\n", pass, bad);
        ok &= bad == 0;
    }
    ok &= std::fabs(copyFromDevice(atdat.eLJ, 1)[0] - eLJ) <= 1e-3 * absLJ && std::fabs(copyFromDevice(atdat.eElec, 1)[0] - eEl) <= 1e-3 * absEl;
    const int3 gs = make_int3(40, 48, 36);
    const float box = 16 * spacing + 0.1F;
    const int gridN = gs.x * gs.y * gs.z;
    PmeGpuKernelParams pme{atdat.xq, copyToDevice(std::vector<float>(gridN, 0.F)), nAtoms, gs, make_float3(1 / box, 1 / box, 1 / box)};
    constexpr int order = 4, atomsPerBlock = 8;
    pme_spline_and_spread_kernel<order, atomsPerBlock><<<(nAtoms + atomsPerBlock - 1) / atomsPerBlock, dim3(order, order, atomsPerBlock)>>>(pme);
    checkDeviceError(cudaGetLastError(), "pme spread");
    std::vector<double> grid(gridN, 0.0);
    auto M4 = [](double w, double* o) { o[0] = std::pow(1 - w, 3) / 6; o[1] = (3 * w * w * w - 6 * w * w + 4) / 6; o[2] = (-3 * w * w * w + 3 * w * w + 3 * w + 1) / 6; o[3] = w * w * w / 6; };
    for (const auto& a : xq) {
        const float t[3] = {a.x * pme.invBox.x * gs.x, a.y * pme.invBox.y * gs.y, a.z * pme.invBox.z * gs.z};
        double th[3][4];
        for (int k = 0; k < 3; k++) M4(t[k] - (int)t[k], th[k]);
        for (int i = 0; i < 64; i++) grid[((((int)t[0] + i / 16) % gs.x) * gs.y + ((int)t[1] + i / 4 % 4) % gs.y) * gs.z + ((int)t[2] + i % 4) % gs.z] += a.w * th[0][i / 16] * th[1][i / 4 % 4] * th[2][i % 4];
    }
    const auto dg = copyFromDevice(pme.realGrid, gridN);
    int bad = 0;
    for (int i = 0; i < gridN; i++) if (!(std::fabs(dg[i] - grid[i]) <= 1e-3)) bad++;
    printf("pme spread: %d bad grid points\n", bad);
    return ok && bad == 0;
}
static bool testLincs(std::mt19937& rng) {
    const int nMol = 1500, perMol = 4, nA = nMol * (perMol + 1), nC = nMol * perMol;
    std::normal_distribution<float> nd;
    std::vector<float3> x(nA), xp(nA);
    std::vector<float> invMass(nA), len;
    std::vector<int2> at;
    for (int m = 0; m < nMol; m++) for (int a = 0; a <= perMol; a++) {
        const int i = m * (perMol + 1) + a;
        x[i] = make_float3(0.12F * a, (a & 1) ? 0.08F : 0.0F, 0.01F * nd(rng));
        xp[i] = make_float3(x[i].x + 0.003F * nd(rng), x[i].y + 0.003F * nd(rng), x[i].z + 0.003F * nd(rng));
        invMass[i] = (a & 1) ? 1.0F / 16 : 1.0F / 12;
        if (a > 0) { at.push_back(make_int2(i - 1, i)); const float3 d = x[i] - x[i - 1]; len.push_back(std::sqrt(iprod(d, d))); }
    }
    LincsParams p{copyToDevice(x), copyToDevice(xp), copyToDevice(at), copyToDevice(len), copyToDevice(invMass), nC, 8, 3};
    constexpr int tpb = 256;
    lincs_kernel<tpb, perMol><<<(nC + tpb - 1) / tpb, tpb>>>(p);
    checkDeviceError(cudaGetLastError(), "lincs");
    const auto r = copyFromDevice(p.xp, nA);
    int bad = 0;
    for (int c = 0; c < nC; c++) {
        const float3 d = r[at[c].x] - r[at[c].y];
        if (!(std::fabs(std::sqrt(iprod(d, d)) / len[c] - 1.0F) < 1e-3F)) bad++;
    }
    for (int m = 0; m < nMol; m++) for (int k = 0; k < 3; k++) { // momentum is conserved per molecule
        double s = 0;
        for (int a = 0; a <= perMol; a++) { const int i = m * (perMol + 1) + a; s += ((&r[i].x)[k] - (&xp[i].x)[k]) / invMass[i]; }
        if (!(std::fabs(s) < 1e-4)) bad++;
    }
    printf("lincs: %d violations\n", bad);
    return bad == 0;
}
int main() {
    std::mt19937 rng(11);
    bool ok = testNonbondedAndPme(rng);
    ok &= testLincs(rng);
    printf("%s\n", ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
