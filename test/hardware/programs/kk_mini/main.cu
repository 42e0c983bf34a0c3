// nvcc: -std=c++17 --extended-lambda
#include <cmath>
#include <cstring>
#include "physics.hpp"

static int failed = 0;
static void expect(const char* what, double err, double tol) { printf("%-28s %.3e %s\n", what, err, err <= tol ? "ok" : "FAILED"); failed += !(err <= tol); }
static double val(long i) { return ((i * 2654435761u) % 10007u) / 5003.5 - 1.0; }

int main(int argc, char** argv)
{
  long nx = 66, ny = 41, nz = 50, n = 40003;
  int rpt = 40;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!strcmp(argv[i], "--nx")) nx = atol(argv[i + 1]);
    else if (!strcmp(argv[i], "-n")) n = atol(argv[i + 1]);
    else if (!strcmp(argv[i], "--rows-per-team")) rpt = atoi(argv[i + 1]);
    else { fprintf(stderr, "bad option %s\n", argv[i]); return 1; }
  }
  {
    pk::View<double, 3, pk::LayoutLeft> aL("aL", nx, ny, nz), bL("bL", nx, ny, nz);
    pk::View<double, 3, pk::LayoutRight> aR("aR", nx, ny, nz), bR("bR", nx, ny, nz), cR("cR", nx, ny, nz);
    std::vector<double> h(nx * ny * nz), hl(h.size()), hr(h.size());
    auto at = [&](long i, long j, long k) { return (i * ny + j) * nz + k; };
    for (long i = 0; i < nx; i++) for (long j = 0; j < ny; j++) for (long k = 0; k < nz; k++) { double v = val(at(i, j, k)); h[at(i, j, k)] = v; hl[aL.offset(i, j, k)] = v; hr[aR.offset(i, j, k)] = v; }
    pk::deep_copy(aL, hl); pk::deep_copy(aR, hr);
    diffuse_left(aL, bL, 0.1);
    diffuse_right(aR, bR, 0.1, false);     // threads stride through memory
    diffuse_right(aR, cR, 0.1, true);
    auto gl = pk::create_mirror(bL), gr = pk::create_mirror(bR), gc = pk::create_mirror(cR);
    double e0 = 0, e1 = 0, e2 = 0;
    for (long i = 1; i < nx - 1; i++) for (long j = 1; j < ny - 1; j++) for (long k = 1; k < nz - 1; k++) {
      double r = h[at(i, j, k)] + 0.1 * (h[at(i - 1, j, k)] + h[at(i + 1, j, k)] + h[at(i, j - 1, k)] + h[at(i, j + 1, k)] + h[at(i, j, k - 1)] + h[at(i, j, k + 1)] - 6 * h[at(i, j, k)]);
      e0 = fmax(e0, fabs(r - gl[bL.offset(i, j, k)])); e1 = fmax(e1, fabs(r - gr[bR.offset(i, j, k)])); e2 = fmax(e2, fabs(r - gc[cR.offset(i, j, k)]));
    }
    expect("diffuse LayoutLeft", e0, 1e-12); expect("diffuse LayoutRight", e1, 1e-12); expect("diffuse LayoutRight k-fast", e2, 1e-12);
  }
  pk::View<double, 1> x("x", n), y("y", n);
  std::vector<double> hx(n), hy(n);
  for (long i = 0; i < n; i++) { hx[i] = val(i * 3 + 1); hy[i] = val(i * 7 + 5); }
  pk::deep_copy(x, hx); pk::deep_copy(y, hy);
  {
    const double a = 1.75;
    pk::View<double, 1> z("z", n);
    pk::parallel_for("axpy", n, PK_LAMBDA(long i) { z(i) = a * x(i) + y(i); });
    double dot = 0, ref = 0, rabs = 0;
    pk::parallel_reduce("dot", n, PK_LAMBDA(long i, double& s) { s += z(i) * x(i); }, dot);
    for (long i = 0; i < n; i++) { double t = (a * hx[i] + hy[i]) * hx[i]; ref += t; rabs += fabs(t); }
    expect("axpy + dot", fabs(dot - ref) / rabs, 1e-12);
  }
  {
    std::vector<int> ptr(n + 1, 0), col; std::vector<double> v;
    for (long r = 0; r < n; r++) { int nnz = (int)((r * 13 + r / 11) % 17) + (r % 997 == 0 ? 150 : 0); for (int k = 0; k < nnz; k++) { col.push_back((int)((r + (long)k * k * 31 + k) % n)); v.push_back(val(r * 19 + k)); } ptr[r + 1] = (int)col.size(); }
    pk::View<int, 1> dp("ptr", n + 1), dc("col", col.size()); pk::View<double, 1> dv("val", v.size()), out("out", n);
    pk::deep_copy(dp, ptr); pk::deep_copy(dc, col); pk::deep_copy(dv, v);
    spmv(dp, dc, dv, x, out, rpt);
    auto g = pk::create_mirror(out);
    double e = 0;
    for (long r = 0; r < n; r++) { double s = 0; for (int k = ptr[r]; k < ptr[r + 1]; k++) s += v[k] * hx[col[k]]; e = fmax(e, fabs(s - g[r])); }
    expect("spmv", e, 1e-10);
  }
  {
    const int m = 32, ne = 150;
    pk::View<double, 3, pk::LayoutRight> A("A", ne, m, m), B("B", ne, m, m);
    std::vector<double> h((size_t)ne * m * m);
    for (size_t i = 0; i < h.size(); i++) h[i] = val((long)i * 5);
    pk::deep_copy(A, h);
    for (int pad : {0, 1}) {
      batched_transpose_mul(A, B, pad);
      auto g = pk::create_mirror(B);
      double e = 0;
      for (int q = 0; q < ne; q++) for (int i = 0; i < m; i++) for (int j = 0; j < m; j++) { double s = 0; for (int k = 0; k < m; k++) s += h[(q * m + k) * m + i] * h[(q * m + k) * m + j]; e = fmax(e, fabs(s - g[(q * m + i) * m + j])); }
      expect(pad ? "batched A^T A, padded" : "batched A^T A", e, 1e-10);
    }
  }
  {
    const int r = 301, c = 190;
    pk::View<float, 2, pk::LayoutRight> in("in", r, c), out("out", c, r);
    std::vector<float> h(r * c); for (int i = 0; i < r * c; i++) h[i] = (float)val(i);
    pk::deep_copy(in, h);
    transpose2d(in, out);
    auto g = pk::create_mirror(out);
    double e = 0; for (int i = 0; i < r; i++) for (int j = 0; j < c; j++) e = fmax(e, fabs(h[i * c + j] - g[j * r + i]));
    expect("transpose", e, 0);
  }
  {
    pk::View<int, 1> idx("idx", n + 1);
    const long total = compact_positive(x, idx);
    auto g = pk::create_mirror(idx);
    long m = 0, bad = 0;
    for (long i = 0; i < n; i++) if (hx[i] > 0.25) { bad += m < total ? g[m] != i : 1; m++; }
    expect("compact", (double)bad + fabs((double)(m - total)), 0);
    const int nb = 50;
    for (int copies : {1, 8}) {
      pk::View<int, 2> bins("bins", nb, copies);
      histogram(x, bins, copies);
      auto hb = pk::create_mirror(bins);
      std::vector<int> ref(nb, 0);
      for (double t : hx) { int b = (int)((t + 1.0) * 0.5 * nb); ref[b < 0 ? 0 : b >= nb ? nb - 1 : b]++; }
      long d = 0; for (int b = 0; b < nb; b++) { int s = 0; for (int k = 0; k < copies; k++) s += hb[bins.offset(b, k)]; d += labs((long)s - ref[b]); }
      expect(copies == 1 ? "histogram" : "histogram, 8 copies", (double)d, 2);
    }
  }
  pk::fence();
  puts(failed ? "FAIL" : "PASS");
  return failed ? 1 : 0;
}
