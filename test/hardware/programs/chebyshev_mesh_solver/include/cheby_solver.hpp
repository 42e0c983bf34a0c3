#pragma once
#include <cstddef>
#include <vector>
#include "csr_matrix.hpp"

enum class SpmvMode { RowPerThread, SubwarpPerRow };

// Chebyshev semi-iteration for symmetric positive definite systems whose
// spectrum lies in [lo, hi].
class ChebyshevSolver {
public:
    ChebyshevSolver(const CsrMatrix& a, double lo, double hi);
    ~ChebyshevSolver();
    ChebyshevSolver(const ChebyshevSolver&) = delete;
    ChebyshevSolver& operator=(const ChebyshevSolver&) = delete;

    void load_rhs(const std::vector<float>& b);
    void iterate(int steps, SpmvMode mode);
    double residual_norm();
    std::vector<float> solution() const;

private:
    int n_;
    double theta_, delta_, rho_ = 0.0;
    bool started_ = false;
    int* d_ptr_ = nullptr;
    int* d_col_ = nullptr;
    float* d_val_ = nullptr;
    float *d_x_ = nullptr, *d_r_ = nullptr, *d_p_ = nullptr, *d_ap_ = nullptr;
    double* d_partial_ = nullptr;
    int blocks_ = 0;
};
