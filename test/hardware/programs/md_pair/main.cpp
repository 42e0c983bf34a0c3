// nvcc: -std=c++17
#include <cmath>
#include <cstdint>
#include <cstring>
#include "md_types.h"

template <typename T> static T *to_dev(const std::vector<T> &h) { T *p; CUDACHK(cudaMalloc(&p, h.size() * sizeof(T))); CUDACHK(cudaMemcpy(p, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice)); return p; }
static float as_float(int i) { float f; memcpy(&f, &i, 4); return f; }

int main(int argc, char **argv)
{
  int nx = 13, steps = 4, transposed = 1, tpa = 1;
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "-n")) nx = atoi(argv[++i]);
    else if (!strcmp(argv[i], "--steps")) steps = atoi(argv[++i]);
    else if (!strcmp(argv[i], "--layout")) transposed = strcmp(argv[++i], "row") != 0;
    else if (!strcmp(argv[i], "--tpa")) tpa = atoi(argv[++i]);
    else { fprintf(stderr, "usage: %s [-n cells] [--steps n] [--layout row|col] [--tpa 1|4|16]\n", argv[0]); return 1; }
  }
  const float a0 = 1.15f, cut = 2.5f, cutcoul = 2.2f, skin = 0.3f, dt = 0.002f, kb = 40.f, r0 = 1.1f;
  const int n = nx * nx * nx, ntypes = 3;
  Box box; for (int d = 0; d < 3; d++) { box.lo[d] = 0.f; box.len[d] = nx * a0; }
  std::vector<float4> xt(n); std::vector<float> q(n), v(3 * n), rm(n); std::vector<int2> bonds;
  uint64_t s = 987654321;
  auto rnd = [&]() { s = s * 6364136223846793005ull + 1442695040888963407ull; return (float)((s >> 40) & 0xffff) / 65536.f - 0.5f; };
  for (int i = 0; i < n; i++) {
    const int ix = i % nx, iy = i / nx % nx, iz = i / (nx * nx), type = (i * 5 + i / 7) % ntypes;
    xt[i] = make_float4((ix + 0.5f + 0.1f * rnd()) * a0, (iy + 0.5f + 0.1f * rnd()) * a0, (iz + 0.5f + 0.1f * rnd()) * a0, as_float(type));
    q[i] = (i & 1) ? 0.5f : -0.5f; rm[i] = 1.f / (1.f + 0.5f * type);
    for (int d = 0; d < 3; d++) v[3 * i + d] = rnd();
    if (ix + 1 < nx && i % 3 == 0) bonds.push_back(make_int2(i, i + 1));
  }
  PairCoeffs pc; memset(&pc, 0, sizeof(pc)); pc.ntypes = ntypes; pc.cut_coulsq = cutcoul * cutcoul; pc.qqrd2e = 1.0f;
  for (int i = 0; i < ntypes; i++) for (int j = 0; j < ntypes; j++) {
    const float eps = sqrtf((1.f + 0.2f * i) * (1.f + 0.2f * j)), sig = 0.5f * (0.95f + 0.03f * i + 0.95f + 0.03f * j), c = cut - 0.1f * abs(i - j);
    const float s6 = powf(sig, 6.f), s12 = s6 * s6;
    pc.cutsq[i * ntypes + j] = c * c;
    pc.lj[i * ntypes + j] = make_float4(48.f * eps * s12, 24.f * eps * s6, 4.f * eps * s12, 4.f * eps * s6);
  }
  AtomData ad{n, to_dev(xt), to_dev(q), to_dev(v), nullptr, to_dev(rm), to_dev(bonds), (int)bonds.size()};
  CUDACHK(cudaMalloc(&ad.f, 3 * n * sizeof(float)));
  double *d_ev; CUDACHK(cudaMalloc(&d_ev, 3 * sizeof(double)));
  NeighList nl; neigh_alloc(nl, ad, box, cut + skin, 128, transposed);
  pair_init(pc);
  neigh_build(nl, ad, box, cut + skin);

  auto forces = [&](int eflag) {
    if (eflag) CUDACHK(cudaMemset(d_ev, 0, 2 * sizeof(double)));
    pair_compute(ad, nl, box, pc, eflag, tpa, d_ev);
    bond_harmonic_compute(ad, box, kb, r0, d_ev + 1);
  };
  auto energy = [&]() { double e[3]; compute_ke(ad, d_ev + 2); CUDACHK(cudaMemcpy(e, d_ev, sizeof(e), cudaMemcpyDeviceToHost)); printf("  pair %.5f bond %.5f ke %.5f\n", e[0], e[1], e[2]); return e[0] + e[1] + e[2]; };
  forces(1);
  const double e0 = energy();

  // reference, brute force
  std::vector<float> f(3 * n); CUDACHK(cudaMemcpy(f.data(), ad.f, f.size() * 4, cudaMemcpyDeviceToHost));
  std::vector<double> fr(3 * n, 0.0); double epair = 0, ebond = 0;
  auto delta = [&](int i, int j, double *d) { const float *a = &xt[i].x, *b = &xt[j].x; double r = 0; for (int k = 0; k < 3; k++) { d[k] = (double)a[k] - b[k]; d[k] -= box.len[k] * rint(d[k] / box.len[k]); r += d[k] * d[k]; } return r; };
  auto typeof_ = [&](int i) { int t; memcpy(&t, &xt[i].w, 4); return t; };
  for (int i = 0; i < n; i++) for (int j = i + 1; j < n; j++) {
    double d[3], rsq = delta(i, j, d), fp = 0;
    const int m = typeof_(i) * ntypes + typeof_(j);
    if (rsq >= cut * cut) continue;
    const double r6 = 1 / (rsq * rsq * rsq);
    if (rsq < pc.cutsq[m]) { fp += r6 * (pc.lj[m].x * r6 - pc.lj[m].y); epair += r6 * (pc.lj[m].z * r6 - pc.lj[m].w); }
    if (rsq < pc.cut_coulsq) { const double c = pc.qqrd2e * q[i] * q[j] / sqrt(rsq); fp += c; epair += c; }
    for (int k = 0; k < 3; k++) { fr[3 * i + k] += d[k] * fp / rsq; fr[3 * j + k] -= d[k] * fp / rsq; }
  }
  for (auto &b : bonds) { double d[3], r = sqrt(delta(b.x, b.y, d)), dr = r - r0; ebond += kb * dr * dr; for (int k = 0; k < 3; k++) { fr[3 * b.x + k] -= 2 * kb * dr * d[k] / r; fr[3 * b.y + k] += 2 * kb * dr * d[k] / r; } }
  int bad = 0; double worst = 0;
  for (int i = 0; i < 3 * n; i++) { const double e = fabs(f[i] - fr[i]) / (1 + fabs(fr[i])); worst = fmax(worst, e); bad += e > 5e-2; }   // an atom at the cutoff may differ
  printf("forces: worst %.2e, %d out of tolerance; reference pair %.5f bond %.5f\n", worst, bad, epair, ebond);

  for (int st = 0; st < steps; st++) {
    nve_initial(ad, box, dt);
    forces(st == steps - 1);
    nve_final(ad, dt);
  }
  const double e1 = energy();
  double p[3] = {0, 0, 0}; CUDACHK(cudaMemcpy(f.data(), ad.f, f.size() * 4, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; i++) for (int k = 0; k < 3; k++) p[k] += f[3 * i + k];
  printf("drift %.3e, net force %.2e %.2e %.2e\n", (e1 - e0) / fabs(e0), p[0], p[1], p[2]);
  const bool ok = bad <= 6 && fabs(e0 - e1) < 0.02 * (fabs(e0) + n * 0.1) && fabs(p[0]) + fabs(p[1]) + fabs(p[2]) < 0.5;
  puts(ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
