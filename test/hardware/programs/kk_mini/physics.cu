#include "physics.hpp"

// 7 point diffusion, the same functor over either layout
template <class L>
void diffuse(const pk::View<double, 3, L>& in, const pk::View<double, 3, L>& out, double c, bool thread_x_on_last)
{
  const long nx = in.extent(0), ny = in.extent(1), nz = in.extent(2);
  if (!thread_x_on_last) {
    pk::parallel_for("diffuse", pk::md_range<3>({1, 1, 1}, {nx - 1, ny - 1, nz - 1}, {32, 4, 2}), PK_LAMBDA(long i, long j, long k) {
      out(i, j, k) = in(i, j, k) + c * (in(i - 1, j, k) + in(i + 1, j, k) + in(i, j - 1, k) + in(i, j + 1, k) + in(i, j, k - 1) + in(i, j, k + 1) - 6.0 * in(i, j, k));
    });
  } else {
    pk::parallel_for("diffuse_t", pk::md_range<3>({1, 1, 1}, {nz - 1, ny - 1, nx - 1}, {32, 4, 2}), PK_LAMBDA(long k, long j, long i) {
      out(i, j, k) = in(i, j, k) + c * (in(i - 1, j, k) + in(i + 1, j, k) + in(i, j - 1, k) + in(i, j + 1, k) + in(i, j, k - 1) + in(i, j, k + 1) - 6.0 * in(i, j, k));
    });
  }
}
void diffuse_left(const pk::View<double, 3, pk::LayoutLeft>& in, const pk::View<double, 3, pk::LayoutLeft>& out, double c) { diffuse(in, out, c, false); }
void diffuse_right(const pk::View<double, 3, pk::LayoutRight>& in, const pk::View<double, 3, pk::LayoutRight>& out, double c, bool t) { diffuse(in, out, c, t); }

// CRS matrix rows by teams: team_size rows at a time, vector lanes over the entries
void spmv(const pk::View<int, 1>& ptr, const pk::View<int, 1>& col, const pk::View<double, 1>& val, const pk::View<double, 1>& x, const pk::View<double, 1>& y, int rows_per_team)
{
  const int n = (int)y.extent(0);
  pk::TeamPolicy policy{(n + rows_per_team - 1) / rows_per_team, 16, 8};
  pk::parallel_for("spmv", policy, PK_LAMBDA(const pk::TeamMember& m) {
    const int first = m.league_rank() * rows_per_team;
    // every team does the same number of rounds so that the shuffles stay whole
    for (int r = m.team_rank(); r < (rows_per_team + m.team_size() - 1) / m.team_size() * m.team_size(); r += m.team_size()) {
      const int row = first + r;
      const bool ok = r < rows_per_team && row < n;
      const int b = ok ? ptr(row) : 0, e = ok ? ptr(row + 1) : 0;
      const double s = pk::thread_vector_reduce(m, e - b, [&](int k, double& acc) { acc += val(b + k) * x(col(b + k)); });
      pk::single_per_thread([&] { if (ok) y(row) = s; });
    }
  });
}

// dense small matrices, one a team, staged in scratch; bad: scratch rows without padding
void batched_transpose_mul(const pk::View<double, 3, pk::LayoutRight>& A, const pk::View<double, 3, pk::LayoutRight>& B, int pad)
{
  const int n = (int)A.extent(1), ld = n + pad;
  pk::TeamPolicy policy{(int)A.extent(0), n, 16};
  policy.set_scratch_size(sizeof(double) * n * ld);
  pk::parallel_for("batched", policy, PK_LAMBDA(const pk::TeamMember& m) {
    double* s = (double*)m.team_scratch();
    const int e = m.league_rank();
    pk::team_thread_range(m, n, [&](int i) { for (int j = threadIdx.x; j < n; j += blockDim.x) s[i * ld + j] = A(e, i, j); });
    m.team_barrier();
    pk::team_thread_range(m, n, [&](int i) {                    // B = A^T A
      for (int j = threadIdx.x; j < n; j += blockDim.x) {
        double acc = 0;
        for (int k = 0; k < n; k++) acc += s[k * ld + i] * s[k * ld + j];
        B(e, i, j) = acc;
      }
    });
  });
}

void transpose2d(const pk::View<float, 2, pk::LayoutRight>& in, const pk::View<float, 2, pk::LayoutRight>& out)
{
  const long n0 = in.extent(0), n1 = in.extent(1);
  pk::parallel_for("transpose", pk::md_range<2>({0, 0}, {n0, n1}, {16, 16}), PK_LAMBDA(long i, long j) { out(j, i) = in(i, j); });
}

long compact_positive(const pk::View<double, 1>& x, const pk::View<int, 1>& index)
{
  const long n = x.extent(0);
  pk::parallel_scan<int>("compact", n, PK_LAMBDA(long i, int& update, bool final) {
    const bool keep = x(i) > 0.25;
    if (final) { if (keep) index(update) = (int)i; if (i == n - 1) index(n) = update + (keep ? 1 : 0); }
    else if (keep) update += 1;
  });
  int total;
  PK_CUDA_SAFE_CALL(cudaMemcpy(&total, index.data() + n, sizeof(int), cudaMemcpyDeviceToHost));
  return total;
}

void histogram(const pk::View<double, 1>& x, const pk::View<int, 2>& bins, int copies)
{
  const int nb = (int)bins.extent(0);
  pk::parallel_for("histogram", (long)x.extent(0), PK_LAMBDA(long i) {
    int b = (int)((x(i) + 1.0) * 0.5 * nb);
    b = b < 0 ? 0 : b >= nb ? nb - 1 : b;
    atomicAdd(&bins(b, i % copies), 1);          // scatter view with a few copies
  });
}
