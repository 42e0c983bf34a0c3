// Triples of a sparse matrix are ordered, merged and counted into rows (Thrust), then multiplied with a vector.
#include <cstdio>
#include <cmath>
#include <map>
#include <vector>
#include <thrust/device_ptr.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/scatter.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/tuple.h>

struct to_row { int width; __host__ __device__ int operator()(int key) const { return key / width; } };
struct to_column { int width; __host__ __device__ int operator()(int key) const { return key % width; } };

__global__ void multiply(const int* start, const int* column, const float* value, const float* x, float* y, int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int k = start[row]; k < start[row + 1]; k++) sum += value[k] * x[column[k]];
  y[row] = sum;
}

__global__ void multiply_by_warps(const int* start, const int* column, const float* value, const float* x, float* y, int rows) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float sum = 0;
  for (int k = start[row] + lane; k < start[row + 1]; k += 32) sum += value[k] * x[column[k]];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
  if (lane == 0) y[row] = sum;
}

int main() {
  const int rows = 1500, columns = 1200, triples = 30000;
  std::vector<int> keys(triples);
  std::vector<float> values(triples);
  unsigned s = 7;
  for (int i = 0; i < triples; i++) {
    s = s * 1103515245u + 12345u;
    int row = (s >> 7) % rows;
    s = s * 1103515245u + 12345u;
    int column = ((s >> 9) % columns) * ((s >> 21) % columns) / columns;
    keys[i] = row * columns + column;
    values[i] = (i % 17) * 0.25f;
  }
  thrust::device_vector<int> key = keys;
  thrust::device_vector<float> value = values;
  thrust::sort_by_key(thrust::device, key.begin(), key.end(), value.begin());
  thrust::device_vector<int> merged(triples);
  thrust::device_vector<float> sums(triples);
  auto ends = thrust::reduce_by_key(key.begin(), key.end(), value.begin(), merged.begin(), sums.begin());
  int entries = ends.first - merged.begin();
  thrust::device_vector<int> row(entries), column(entries), start(rows + 1, 0);
  thrust::transform(merged.begin(), merged.begin() + entries, row.begin(), to_row{columns});
  thrust::transform(merged.begin(), merged.begin() + entries, column.begin(), to_column{columns});
  thrust::device_vector<int> present(rows), counts(rows);
  auto counted = thrust::reduce_by_key(row.begin(), row.end(), thrust::make_constant_iterator(1), present.begin(), counts.begin());
  thrust::scatter(counts.begin(), counted.second, present.begin(), start.begin());
  thrust::exclusive_scan(start.begin(), start.end(), start.begin());

  std::vector<float> hx(columns);
  for (int i = 0; i < columns; i++) hx[i] = 1.0f + (i % 5);
  float *x, *y, *z;
  cudaMalloc(&x, columns * sizeof(float));
  cudaMalloc(&y, rows * sizeof(float));
  cudaMalloc(&z, rows * sizeof(float));
  cudaMemcpy(x, hx.data(), columns * sizeof(float), cudaMemcpyHostToDevice);
  const int* starts = thrust::raw_pointer_cast(start.data());
  const int* cols = thrust::raw_pointer_cast(column.data());
  const float* vals = thrust::raw_pointer_cast(sums.data());
  multiply<<<(rows + 127) / 128, 128>>>(starts, cols, vals, x, y, rows);
  multiply_by_warps<<<(rows * 32 + 127) / 128, 128>>>(starts, cols, vals, x, z, rows);
  std::vector<float> a(rows), b(rows), expected(rows, 0);
  cudaMemcpy(a.data(), y, rows * sizeof(float), cudaMemcpyDeviceToHost);
  cudaMemcpy(b.data(), z, rows * sizeof(float), cudaMemcpyDeviceToHost);
  for (int i = 0; i < triples; i++) expected[keys[i] / columns] += values[i] * hx[keys[i] % columns];
  bool ok = true;
  for (int i = 0; i < rows; i++) ok = ok && std::fabs(a[i] - expected[i]) < 0.05f && std::fabs(b[i] - expected[i]) < 0.05f;
  printf("%d entries: %s\n", entries, ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
