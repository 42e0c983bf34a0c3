// Points of a table of numbers with commas are put into groups.
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

struct Table { int rows = 0, columns = 0; std::vector<float> values; };

Table readTable(const std::string& name) {
  Table table;
  std::ifstream in(name);
  if (!in.is_open()) return table;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    if (line.empty()) continue;
    std::stringstream cells(line);
    std::string cell;
    int columns = 0;
    while (std::getline(cells, cell, ',')) {
      table.values.push_back(std::stof(cell));
      columns++;
    }
    table.columns = columns;
    table.rows++;
  }
  return table;
}

__global__ void assign(const float* points, const float* centres, int* group, int rows, int columns, int groups) {
  extern __shared__ float held[];
  for (int i = threadIdx.x; i < groups * columns; i += blockDim.x) held[i] = centres[i];
  __syncthreads();
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  int best = 0;
  float least = 1e30f;
  for (int g = 0; g < groups; g++) {
    float d = 0;
    for (int c = 0; c < columns; c++) {
      float e = points[row * columns + c] - held[g * columns + c];
      d += e * e;
    }
    if (d < least) { least = d; best = g; }
  }
  group[row] = best;
}

__global__ void gather(const float* points, const int* group, float* sums, int* counts, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  int g = group[row];
  atomicAdd(&counts[g], 1);
  for (int c = 0; c < columns; c++) atomicAdd(&sums[g * columns + c], points[row * columns + c]);
}

__global__ void divide(float* centres, const float* sums, const int* counts, int groups, int columns) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < groups * columns && counts[i / columns] > 0) centres[i] = sums[i] / counts[i / columns];
}

int main(int argc, char** argv) {
  Table table = readTable(argc > 1 ? argv[1] : "points.csv");
  const int groups = argc > 2 ? std::stoi(argv[2]) : 6;
  if (table.rows == 0) { printf("no table\n"); return 1; }
  int rows = table.rows, columns = table.columns;
  float *points, *centres, *sums;
  int *group, *counts;
  cudaMalloc(&points, table.values.size() * sizeof(float));
  cudaMalloc(&centres, groups * columns * sizeof(float));
  cudaMalloc(&sums, groups * columns * sizeof(float));
  cudaMalloc(&group, rows * sizeof(int));
  cudaMalloc(&counts, groups * sizeof(int));
  cudaMemcpy(points, table.values.data(), table.values.size() * sizeof(float), cudaMemcpyHostToDevice);
  std::vector<float> start(groups * columns);
  for (int g = 0; g < groups; g++)
    for (int c = 0; c < columns; c++) start[g * columns + c] = table.values[(g * rows / groups) * columns + c];
  cudaMemcpy(centres, start.data(), start.size() * sizeof(float), cudaMemcpyHostToDevice);
  for (int pass = 0; pass < 3; pass++) {
    cudaMemset(sums, 0, groups * columns * sizeof(float));
    cudaMemset(counts, 0, groups * sizeof(int));
    assign<<<(rows + 127) / 128, 128, groups * columns * sizeof(float)>>>(points, centres, group, rows, columns, groups);
    gather<<<(rows + 127) / 128, 128>>>(points, group, sums, counts, rows, columns);
    divide<<<1, 64>>>(centres, sums, counts, groups, columns);
  }
  std::vector<int> found(rows), sizes(groups);
  cudaMemcpy(found.data(), group, rows * sizeof(int), cudaMemcpyDeviceToHost);
  cudaMemcpy(sizes.data(), counts, groups * sizeof(int), cudaMemcpyDeviceToHost);
  int total = 0;
  for (int size : sizes) total += size;
  bool ok = total == rows;
  for (int g : found) ok = ok && g >= 0 && g < groups;
  printf("%d points of %d numbers: %s\n", rows, columns, ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
