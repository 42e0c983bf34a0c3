#pragma once
#include "parallel.hpp"
void diffuse_left(const pk::View<double, 3, pk::LayoutLeft>& in, const pk::View<double, 3, pk::LayoutLeft>& out, double c);
void diffuse_right(const pk::View<double, 3, pk::LayoutRight>& in, const pk::View<double, 3, pk::LayoutRight>& out, double c, bool thread_x_on_last);
void spmv(const pk::View<int, 1>& ptr, const pk::View<int, 1>& col, const pk::View<double, 1>& val, const pk::View<double, 1>& x, const pk::View<double, 1>& y, int rows_per_team);
void batched_transpose_mul(const pk::View<double, 3, pk::LayoutRight>& A, const pk::View<double, 3, pk::LayoutRight>& B, int pad);
void transpose2d(const pk::View<float, 2, pk::LayoutRight>& in, const pk::View<float, 2, pk::LayoutRight>& out);
long compact_positive(const pk::View<double, 1>& x, const pk::View<int, 1>& index);
void histogram(const pk::View<double, 1>& x, const pk::View<int, 2>& bins, int copies);
