#pragma once
#include <cstddef>
#include <vector>

// Host side compressed sparse row matrix.
struct CsrMatrix {
    int rows = 0;
    std::vector<int> row_ptr;
    std::vector<int> col;
    std::vector<float> val;

    std::size_t nnz() const { return col.size(); }
    void multiply(const std::vector<double>& x, std::vector<double>& y) const;
    double gershgorin_upper() const;
};

struct MeshOptions {
    int nx = 168;
    int ny = 150;
    float shift = 4.0f;
    unsigned seed = 90210u;
    bool shuffle_vertices = true;
};

CsrMatrix assemble_triangle_mesh(const MeshOptions& opt);
std::vector<float> smooth_rhs(const MeshOptions& opt, int n);
