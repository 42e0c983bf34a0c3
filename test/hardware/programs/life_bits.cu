// Game of life: byte cells, bit-packed rows, shared tile of chars with halo.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

typedef unsigned char cell_t;
typedef unsigned long long word_t;

__global__ void life_bytes(const cell_t* cur, cell_t* nxt, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  int l = (x + w - 1) % w, r = (x + 1) % w;
  int u = ((y + h - 1) % h) * w, d = ((y + 1) % h) * w, c = y * w;
  int n = cur[u + l] + cur[u + x] + cur[u + r] + cur[c + l] + cur[c + r] + cur[d + l] + cur[d + x] + cur[d + r];
  nxt[c + x] = n == 3 || (n == 2 && cur[c + x]);
}

template <int BW, int BH>
__global__ void life_tile(const cell_t* __restrict__ cur, cell_t* __restrict__ nxt, int w, int h) {
  __shared__ cell_t s[BH + 2][BW + 2];
  int gx = blockIdx.x * BW, gy = blockIdx.y * BH;
  int t = threadIdx.y * BW + threadIdx.x;
  for (int i = t; i < (BW + 2) * (BH + 2); i += BW * BH) {
    int sy = i / (BW + 2), sx = i % (BW + 2);
    int x = (gx + sx - 1 + w) % w, y = (gy + sy - 1 + h) % h;
    s[sy][sx] = cur[y * w + x];
  }
  __syncthreads();
  int x = gx + threadIdx.x, y = gy + threadIdx.y;
  if (x < w && y < h) {
    int sum = 0;
#pragma unroll
    for (int dy = 0; dy < 3; dy++)
#pragma unroll
      for (int dx = 0; dx < 3; dx++)
        if (dx != 1 || dy != 1) sum += s[threadIdx.y + dy][threadIdx.x + dx];
    nxt[y * w + x] = (sum == 3) | ((sum == 2) & s[threadIdx.y + 1][threadIdx.x + 1]);
  }
}

__device__ word_t life_word(word_t a, word_t b, word_t c, word_t al, word_t ar, word_t bl, word_t br, word_t cl, word_t cr) {
  word_t n1 = 0, n2 = 0, n4 = 0;
  word_t v[8] = {a, c, al, ar, bl, br, cl, cr};
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    word_t c1 = n1 & v[i];
    n1 ^= v[i];
    word_t c2 = n2 & c1;
    n2 ^= c1;
    n4 |= c2;
  }
  return (n1 | b) & n2 & ~n4;
}

__global__ void life_packed(const word_t* cur, word_t* nxt, int words, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y;
  if (x >= words) return;
  int up = (y == 0 ? h - 1 : y - 1) * words, dn = (y == h - 1 ? 0 : y + 1) * words, me = y * words;
  int xl = x == 0 ? words - 1 : x - 1, xr = x == words - 1 ? 0 : x + 1;
  word_t a = cur[up + x], b = cur[me + x], c = cur[dn + x];
  word_t al = (a << 1) | (cur[up + xl] >> 63), ar = (a >> 1) | (cur[up + xr] << 63);
  word_t bl = (b << 1) | (cur[me + xl] >> 63), br = (b >> 1) | (cur[me + xr] << 63);
  word_t cl = (c << 1) | (cur[dn + xl] >> 63), cr = (c >> 1) | (cur[dn + xr] << 63);
  nxt[me + x] = life_word(a, b, c, al, ar, bl, br, cl, cr);
}

__global__ void pack(const cell_t* cells, word_t* words, int w) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int wi = x / 64, y = blockIdx.y;
  __shared__ unsigned ballots[8];
  unsigned b = __ballot_sync(0xffffffff, x < w && cells[y * w + x]);
  if (threadIdx.x % 32 == 0) ballots[threadIdx.x / 32] = b;
  __syncthreads();
  if (threadIdx.x % 64 == 0 && x < w)
    words[y * (w / 64) + wi] = ballots[threadIdx.x / 32] | ((word_t)ballots[threadIdx.x / 32 + 1] << 32);
}

__global__ void popcount(const word_t* words, int n, unsigned* total) {
  unsigned mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) mine += __popcll(words[i]);
  mine = __reduce_add_sync(0xffffffffu, mine);
  if ((threadIdx.x & 31) == 0) atomicAdd(total, mine);
}

int main(int argc, char** argv) {
  const int w = 320, h = argc > 1 ? atoi(argv[1]) : 150;
  int gens = argc > 2 ? atoi(argv[2]) : 3;
  cell_t* cells = (cell_t*)calloc(w * h, 1);
  for (int i = 0; i < w * h; ++i) cells[i] = (i * 7 + i / 13) % 3 == 0;
  cell_t *a, *b;
  word_t *pa, *pb;
  unsigned* tot;
  cudaMalloc(&a, w * h); cudaMalloc(&b, w * h);
  cudaMalloc(&pa, w / 8 * h); cudaMalloc(&pb, w / 8 * h); cudaMalloc(&tot, 4);
  cudaMemset(tot, 0, 4);
  cudaMemcpy(a, cells, w * h, cudaMemcpyHostToDevice);
  pack<<<dim3((w + 255) / 256, h), 256>>>(a, pa, w);
  dim3 blk(32, 4), grd((w + 31) / 32, (h + 3) / 4);
  for (int g = 0; g < gens; ++g) {
    if (g % 2) life_tile<32, 4><<<grd, blk>>>(a, b, w, h);
    else life_bytes<<<grd, blk>>>(a, b, w, h);
    cell_t* t = a; a = b; b = t;
    life_packed<<<dim3(1, h), w / 64>>>(pa, pb, w / 64, h);
    word_t* tw = pa; pa = pb; pb = tw;
  }
  popcount<<<4, 64>>>(pa, w / 64 * h, tot);
  unsigned alive = 0, ref = 0;
  cudaMemcpy(&alive, tot, 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(cells, a, w * h, cudaMemcpyDeviceToHost);
  for (int i = 0; i < w * h; ++i) ref += cells[i];
  printf("alive %u\n", alive);
  return 0;
}
