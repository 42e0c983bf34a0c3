// A grey picture is read, its histogram taken, equalised by a table and smoothed.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

class Picture {
 public:
  explicit Picture(const std::string& name) {
    std::ifstream in(name, std::ios::binary);
    if (!in) throw std::runtime_error("no picture");
    std::string magic, word;
    in >> magic;
    int values[3], count = 0;
    while (count < 3 && in >> word) {
      if (word[0] == '#') std::getline(in, word);
      else values[count++] = std::atoi(word.c_str());
    }
    in.get();
    width_ = values[0];
    height_ = values[1];
    pixels_.resize(width_ * height_);
    in.read(reinterpret_cast<char*>(pixels_.data()), pixels_.size());
  }
  int width() const { return width_; }
  int height() const { return height_; }
  const std::vector<unsigned char>& pixels() const { return pixels_; }

 private:
  int width_ = 0, height_ = 0;
  std::vector<unsigned char> pixels_;
};

__global__ void histogram(const unsigned char* in, int* bins, int n) {
  __shared__ int held[256];
  held[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&held[in[i]], 1);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], held[threadIdx.x]);
}

__global__ void look_up(const unsigned char* in, const unsigned char* table, unsigned char* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = table[in[i]];
}

__global__ void smooth(const unsigned char* in, unsigned char* out, int width, int height) {
  __shared__ unsigned char tile[18][34];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  for (int ty = threadIdx.y; ty < 18; ty += 16)
    for (int tx = threadIdx.x; tx < 34; tx += 32) {
      int u = min(max((int)blockIdx.x * 32 + tx - 1, 0), width - 1), v = min(max((int)blockIdx.y * 16 + ty - 1, 0), height - 1);
      tile[ty][tx] = in[v * width + u];
    }
  __syncthreads();
  if (x >= width || y >= height) return;
  int sum = 0;
  for (int dy = 0; dy < 3; dy++)
    for (int dx = 0; dx < 3; dx++) sum += tile[threadIdx.y + dy][threadIdx.x + dx];
  out[y * width + x] = sum / 9;
}

int main(int argc, char** argv) {
  Picture picture(argc > 1 ? argv[1] : "picture.pgm");
  int w = picture.width(), h = picture.height(), n = w * h;
  unsigned char *in, *even, *out, *table;
  int* bins;
  cudaMalloc(&in, n);
  cudaMalloc(&even, n);
  cudaMalloc(&out, n);
  cudaMalloc(&table, 256);
  cudaMalloc(&bins, 256 * sizeof(int));
  cudaMemset(bins, 0, 256 * sizeof(int));
  cudaMemcpy(in, picture.pixels().data(), n, cudaMemcpyHostToDevice);
  histogram<<<16, 256>>>(in, bins, n);
  int counts[256];
  cudaMemcpy(counts, bins, sizeof counts, cudaMemcpyDeviceToHost);
  unsigned char to[256];
  long sum = 0;
  for (int v = 0; v < 256; v++) {
    sum += counts[v];
    to[v] = (unsigned char)(255 * sum / n);
  }
  cudaMemcpy(table, to, 256, cudaMemcpyHostToDevice);
  look_up<<<(n + 127) / 128, 128>>>(in, table, even, n);
  dim3 block(32, 16), grid((w + 31) / 32, (h + 15) / 16);
  smooth<<<grid, block>>>(even, out, w, h);
  std::vector<unsigned char> result(n), expected(n), middle(n);
  cudaMemcpy(result.data(), out, n, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; i++) middle[i] = to[picture.pixels()[i]];
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) {
      int s = 0;
      for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) s += middle[std::min(std::max(y + dy, 0), h - 1) * w + std::min(std::max(x + dx, 0), w - 1)];
      expected[y * w + x] = s / 9;
    }
  bool ok = sum == n && result == expected;
  std::cout << w << " x " << h << ": " << (ok ? "PASS" : "FAIL") << std::endl;
  return ok ? 0 : 1;
}
