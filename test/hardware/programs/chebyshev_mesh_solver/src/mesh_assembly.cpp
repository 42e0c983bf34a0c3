#include "../include/csr_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

namespace {
void connect(std::vector<std::map<int, float>>& rows, int a, int b, float w) {
    rows[a][b] -= w;
    rows[b][a] -= w;
    rows[a][a] += w;
    rows[b][b] += w;
}
}  // namespace

CsrMatrix assemble_triangle_mesh(const MeshOptions& opt) {
    const int n = opt.nx * opt.ny;
    std::mt19937 gen(opt.seed);
    std::vector<int> number(n);
    std::iota(number.begin(), number.end(), 0);
    if (opt.shuffle_vertices) {
        // shuffle inside windows only, as a partitioner would leave it
        const int window = 2048;
        for (int b = 0; b < n; b += window) {
            int e = std::min(n, b + window);
            for (int i = e - 1; i > b; --i) std::swap(number[i], number[b + gen() % (i - b + 1)]);
        }
    }
    std::vector<std::map<int, float>> rows(n);
    auto id = [&](int i, int j) { return number[j * opt.nx + i]; };
    auto weight = [&] { return 0.5f + float(gen() % 1024) / 1024.0f; };
    for (int j = 0; j < opt.ny; ++j)
        for (int i = 0; i < opt.nx; ++i) {
            if (i + 1 < opt.nx) connect(rows, id(i, j), id(i + 1, j), weight());
            if (j + 1 < opt.ny) connect(rows, id(i, j), id(i, j + 1), weight());
            if (i + 1 < opt.nx && j + 1 < opt.ny) {
                if (gen() & 1u)
                    connect(rows, id(i, j), id(i + 1, j + 1), weight());
                else
                    connect(rows, id(i + 1, j), id(i, j + 1), weight());
            }
        }
    CsrMatrix m;
    m.rows = n;
    m.row_ptr.push_back(0);
    for (int r = 0; r < n; ++r) {
        for (auto& e : rows[r]) {
            m.col.push_back(e.first);
            m.val.push_back(e.first == r ? e.second + opt.shift : e.second);
        }
        m.row_ptr.push_back(int(m.col.size()));
    }
    return m;
}

std::vector<float> smooth_rhs(const MeshOptions& opt, int n) {
    std::vector<float> b(n);
    std::mt19937 gen(opt.seed ^ 0x5bd1u);
    for (int i = 0; i < n; ++i)
        b[i] = std::sin(0.37f * float(i % opt.nx)) + 0.25f * (float(gen() % 2001) / 1000.0f - 1.0f);
    return b;
}

void CsrMatrix::multiply(const std::vector<double>& x, std::vector<double>& y) const {
    y.assign(rows, 0.0);
    for (int r = 0; r < rows; ++r)
        for (int k = row_ptr[r]; k < row_ptr[r + 1]; ++k) y[r] += double(val[k]) * x[col[k]];
}

double CsrMatrix::gershgorin_upper() const {
    double best = 0.0;
    for (int r = 0; r < rows; ++r) {
        double s = 0.0;
        for (int k = row_ptr[r]; k < row_ptr[r + 1]; ++k) s += std::fabs(double(val[k]));
        best = std::max(best, s);
    }
    return best;
}
