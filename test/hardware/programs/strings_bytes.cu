// Byte processing: case change by char and by uint, substring search with shared window, base64, CRC table, word count.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <cuda_runtime.h>

__constant__ char c_pat[32];
__device__ __constant__ char b64[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
__constant__ uint32_t crc_tab[256];

__global__ void upper(char* s, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    char c = s[i];
    if (c >= 'a' && c <= 'z') s[i] = c - 32;
  }
}

__global__ void upper4(uint32_t* s, int n4) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n4) return;
  uint32_t w = s[i], r = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    uint32_t c = (w >> (8 * k)) & 0xff;
    c -= (c >= 'a' && c <= 'z') ? 32 : 0;
    r |= c << (8 * k);
  }
  s[i] = r;
}

__global__ void find_pattern(const char* __restrict__ text, int n, int m, int* __restrict__ hits) {
  __shared__ char win[256 + 32];
  int base = blockIdx.x * 256;
  for (int i = threadIdx.x; i < 256 + m - 1; i += blockDim.x) win[i] = base + i < n ? text[base + i] : 0;
  __syncthreads();
  int i = base + threadIdx.x;
  if (i + m <= n) {
    bool ok = true;
    for (int k = 0; k < m; ++k) ok = ok && win[threadIdx.x + k] == c_pat[k];
    if (ok) atomicAdd(hits, 1);
  }
}

__global__ void encode64(const uint8_t* in, char* out, int triples) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= triples) return;
  uint32_t v = (in[3 * t] << 16) | (in[3 * t + 1] << 8) | in[3 * t + 2];
  char4 o = make_char4(b64[v >> 18], b64[(v >> 12) & 63], b64[(v >> 6) & 63], b64[v & 63]);
  reinterpret_cast<char4*>(out)[t] = o;
}

__global__ void crc_lines(const uint8_t* data, int line_len, uint32_t* crc, int lines) {
  __shared__ uint32_t tab[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) tab[i] = crc_tab[i];
  __syncthreads();
  int l = blockIdx.x * blockDim.x + threadIdx.x;
  if (l >= lines) return;
  uint32_t c = ~0u;
  for (int i = 0; i < line_len; ++i) c = tab[(c ^ data[l * line_len + i]) & 0xff] ^ (c >> 8);
  crc[l] = ~c;
}

__global__ void word_count(const char* s, int n, unsigned* words) {
  __shared__ unsigned total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  unsigned mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    bool letter = s[i] != ' ';
    bool prev = i > 0 && s[i - 1] != ' ';
    mine += letter && !prev;
  }
  atomicAdd(&total, mine);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(words, total);
}

__global__ void reverse_lines(char* s, int len) {
  char* line = s + blockIdx.x * len;
  for (int i = threadIdx.x; i < len / 2; i += blockDim.x) {
    char a = line[i], b = line[len - 1 - i];
    line[i] = b;
    line[len - 1 - i] = a;
  }
}

int main(int argc, char** argv) {
  std::string text;
  int reps = argc > 1 ? atoi(argv[1]) : 150;
  for (int i = 0; i < reps; ++i) text += "the quick brown fox jumps over the lazy dog number " + std::to_string(i) + " ";
  const char* pat = "fox";
  int n = (int)text.size(), m = (int)strlen(pat);
  uint32_t tab[256];
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int k = 0; k < 8; ++k) c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
    tab[i] = c;
  }
  cudaMemcpyToSymbol(crc_tab, tab, sizeof(tab));
  cudaMemcpyToSymbol(c_pat, pat, m);
  char *d, *enc;
  int* hits;
  uint32_t* crc;
  unsigned* words;
  cudaMalloc(&d, n + 4);
  cudaMalloc(&enc, n * 2);
  cudaMalloc(&hits, sizeof(int));
  cudaMalloc(&crc, 512 * sizeof(uint32_t));
  cudaMalloc(&words, sizeof(unsigned));
  cudaMemset(hits, 0, sizeof(int));
  cudaMemset(words, 0, sizeof(unsigned));
  cudaMemcpy(d, text.c_str(), n, cudaMemcpyHostToDevice);
  find_pattern<<<(n + 255) / 256, 256>>>(d, n, m, hits);
  word_count<<<8, 128>>>(d, n, words);
  upper<<<(n + 127) / 128, 128>>>(d, n);
  upper4<<<(n / 4 + 127) / 128, 128>>>((uint32_t*)d, n / 4);
  encode64<<<(n / 3 + 63) / 64, 64>>>((const uint8_t*)d, enc, n / 3);
  crc_lines<<<1, 128>>>((const uint8_t*)d, 64, crc, n / 64 < 128 ? n / 64 : 128);
  reverse_lines<<<n / 64, 32>>>(d, 64);
  int h = 0;
  unsigned w = 0;
  cudaMemcpy(&h, hits, sizeof(int), cudaMemcpyDeviceToHost);
  cudaMemcpy(&w, words, sizeof(unsigned), cudaMemcpyDeviceToHost);
  printf("hits %d words %u\n", h, w);
  return h != reps || w != 11u * reps;
}
