// Board game engine pieces: bitboard rollouts of Connect-4, batched negamax, perft, and a transposition table.
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

using u64 = unsigned long long;

static void must(cudaError_t e) {
  if (e != cudaSuccess) {
    std::printf("CUDA: %s\n", cudaGetErrorString(e));
    std::exit(1);
  }
}

// 7 columns of 7 bits; the top bit of each column stays empty
struct Board {
  u64 me;
  u64 all;
};

struct Tally {
  int win, draw, loss, plies;
};

__host__ __device__ inline bool four(u64 b) {
  u64 h = b & (b >> 7);
  if (h & (h >> 14)) return true;
  h = b & (b >> 6);
  if (h & (h >> 12)) return true;
  h = b & (b >> 8);
  if (h & (h >> 16)) return true;
  h = b & (b >> 1);
  return (h & (h >> 2)) != 0;
}

__host__ __device__ inline bool open_col(const Board& b, int c) { return (b.all & (1ull << (7 * c + 5))) == 0; }

// returns the stone just placed
__host__ __device__ inline u64 drop(Board& b, int c) {
  u64 stone = (b.all + (1ull << (7 * c))) & (0x3full << (7 * c));
  b.all |= stone;
  return stone;
}

__host__ __device__ inline uint32_t next(uint32_t& s) {
  s ^= s << 13;
  s ^= s >> 17;
  s ^= s << 5;
  return s;
}

// random game; 1 the side to move wins, -1 loses, 0 draw
__host__ __device__ inline int playout(Board b, uint32_t seed, int& plies) {
  int sign = 1;
  plies = 0;
  for (;;) {
    int legal[7];
    int n = 0;
    for (int c = 0; c < 7; ++c)
      if (open_col(b, c)) legal[n++] = c;
    if (n == 0) return 0;
    int c = legal[next(seed) % n];
    b.me |= drop(b, c);
    ++plies;
    if (four(b.me)) return sign;
    b.me ^= b.all;
    sign = -sign;
  }
}

__host__ __device__ inline uint32_t seed_of(int pos, int game) {
  uint32_t s = pos * 2654435761u ^ game * 40503u ^ 0x9e3779b9u;
  s ^= s >> 15;
  s *= 0x2c1b3c6du;
  s ^= s >> 12;
  return s ? s : 1u;
}

// one block a position, one thread a handful of games
__global__ void rollouts(const Board* __restrict__ boards, Tally* __restrict__ out, int games) {
  __shared__ Tally t;
  if (threadIdx.x == 0) t = {0, 0, 0, 0};
  __syncthreads();
  Board b = boards[blockIdx.x];
  Tally mine = {0, 0, 0, 0};
  for (int g = threadIdx.x; g < games; g += blockDim.x) {
    int plies;
    int r = playout(b, seed_of(blockIdx.x, g), plies);
    mine.win += r > 0;
    mine.draw += r == 0;
    mine.loss += r < 0;
    mine.plies += plies;
  }
  atomicAdd(&t.win, mine.win);
  atomicAdd(&t.draw, mine.draw);
  atomicAdd(&t.loss, mine.loss);
  atomicAdd(&t.plies, mine.plies);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = t;
}

// one warp a position, the result with shuffles; boards in two planes
__global__ void rollouts_warp(const u64* __restrict__ me, const u64* __restrict__ all, int* __restrict__ wins, int positions, int games) {
  int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  int lane = threadIdx.x % 32;
  if (warp >= positions) return;
  Board b = {me[warp], all[warp]};
  int w = 0;
  for (int g = lane; g < games; g += 32) {
    int plies;
    w += playout(b, seed_of(warp, g), plies) > 0;
  }
  w = __reduce_add_sync(0xffffffffu, w);
  if (lane == 0) wins[warp] = w;
}

// number of leaves at the given depth, explicit stack in local memory
__host__ __device__ inline int perft(Board root, int depth) {
  Board stack[8];
  int col[8];
  int leaves = 0;
  int d = 0;
  stack[0] = root;
  col[0] = 0;
  while (d >= 0) {
    if (d == depth) {
      ++leaves;
      --d;
      continue;
    }
    if (col[d] == 7) {
      --d;
      continue;
    }
    int c = col[d]++;
    if (!open_col(stack[d], c)) continue;
    Board b = stack[d];
    b.me |= drop(b, c);
    if (four(b.me)) {
      ++leaves;
      continue;
    }
    b.me ^= b.all;
    ++d;
    stack[d] = b;
    col[d] = 0;
  }
  return leaves;
}

__global__ void perft_kernel(const Board* boards, int* leaves, int n, int depth) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) leaves[i] = perft(boards[i], depth);
}

// open addressing set of positions, keys in shuffled order
__global__ void tt_insert(const Board* boards, int n, u64* table, uint32_t mask, int* distinct) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  u64 key = boards[i].me + boards[i].all + 0x0810204081020ull;
  uint32_t slot = (uint32_t)((key * 0x9E3779B97F4A7C15ull) >> 40) & mask;
  for (;;) {
    u64 old = atomicCAS(&table[slot], 0ull, key);
    if (old == 0) {
      atomicAdd(distinct, 1);
      return;
    }
    if (old == key) return;
    slot = (slot + 1) & mask;
  }
}

// features for a value network: two planes of 42 floats a position
__global__ void encode_planes(const Board* __restrict__ boards, float* __restrict__ planes, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  int pos = t / 84;
  int k = t % 84;
  if (pos >= n) return;
  Board b = boards[pos];
  int cell = k % 42;
  u64 bit = 1ull << (cell / 6 * 7 + cell % 6);
  u64 stones = k < 42 ? b.me : (b.all ^ b.me);
  planes[t] = stones & bit ? 1.0f : 0.0f;
}

int main() {
  const int n = 2048;
  const int games = 64;
  std::vector<Board> boards(n);
  std::vector<u64> me(n), all(n);
  for (int i = 0; i < n; ++i) {
    uint32_t s = seed_of(i % 1500, 777);
    Board b = {0, 0};
    int moves = 4 + i % 1500 % 9;
    for (int k = 0; k < moves; ++k) {
      int c = next(s) % 7;
      if (!open_col(b, c)) continue;
      Board old = b;
      b.me |= drop(b, c);
      if (four(b.me))
        b = old;
      else
        b.me ^= b.all;
    }
    boards[i] = b;
    me[i] = b.me;
    all[i] = b.all;
  }
  Board* d_b;
  u64 *d_me, *d_all, *d_tab;
  Tally* d_t;
  int *d_w, *d_leaf, *d_dist;
  float* d_planes;
  const uint32_t mask = 8191;
  must(cudaMalloc(&d_b, n * sizeof(Board)));
  must(cudaMalloc(&d_me, n * 8));
  must(cudaMalloc(&d_all, n * 8));
  must(cudaMalloc(&d_tab, (mask + 1) * 8));
  must(cudaMalloc(&d_t, n * sizeof(Tally)));
  must(cudaMalloc(&d_w, n * 4));
  must(cudaMalloc(&d_leaf, n * 4));
  must(cudaMalloc(&d_dist, 4));
  must(cudaMalloc(&d_planes, n * 84 * 4));
  must(cudaMemcpy(d_b, boards.data(), n * sizeof(Board), cudaMemcpyHostToDevice));
  must(cudaMemcpy(d_me, me.data(), n * 8, cudaMemcpyHostToDevice));
  must(cudaMemcpy(d_all, all.data(), n * 8, cudaMemcpyHostToDevice));
  must(cudaMemset(d_tab, 0, (mask + 1) * 8));
  must(cudaMemset(d_dist, 0, 4));

  rollouts<<<n, 64>>>(d_b, d_t, games);
  rollouts_warp<<<n / 4, 128>>>(d_me, d_all, d_w, n, games);
  perft_kernel<<<(n + 31) / 32, 32>>>(d_b, d_leaf, n, 3);
  tt_insert<<<(n + 127) / 128, 128>>>(d_b, n, d_tab, mask, d_dist);
  encode_planes<<<(n * 84 + 255) / 256, 256>>>(d_b, d_planes, n);
  must(cudaGetLastError());
  must(cudaDeviceSynchronize());

  std::vector<Tally> t(n);
  std::vector<int> w(n), leaf(n);
  std::vector<float> planes(n * 84);
  int distinct;
  must(cudaMemcpy(t.data(), d_t, n * sizeof(Tally), cudaMemcpyDeviceToHost));
  must(cudaMemcpy(w.data(), d_w, n * 4, cudaMemcpyDeviceToHost));
  must(cudaMemcpy(leaf.data(), d_leaf, n * 4, cudaMemcpyDeviceToHost));
  must(cudaMemcpy(planes.data(), d_planes, n * 84 * 4, cudaMemcpyDeviceToHost));
  must(cudaMemcpy(&distinct, d_dist, 4, cudaMemcpyDeviceToHost));
  int bad = 0;
  for (int i = 0; i < n; ++i) {
    Tally r = {0, 0, 0, 0};
    for (int g = 0; g < games; ++g) {
      int plies;
      int v = playout(boards[i], seed_of(i, g), plies);
      r.win += v > 0;
      r.draw += v == 0;
      r.loss += v < 0;
      r.plies += plies;
    }
    bad += r.win != t[i].win || r.draw != t[i].draw || r.loss != t[i].loss || r.plies != t[i].plies;
    bad += r.win != w[i];
    bad += perft(boards[i], 3) != leaf[i];
    float stones = 0;
    for (int k = 0; k < 84; ++k) stones += planes[i * 84 + k];
    int count = 0;
    for (u64 x = boards[i].all; x; x &= x - 1) ++count;
    bad += (int)stones != count;
  }
  int host_distinct = 0;
  for (int i = 0; i < n; ++i) {
    bool seen = false;
    for (int j = 0; j < i && !seen; ++j) seen = me[j] == me[i] && all[j] == all[i];
    host_distinct += !seen;
  }
  bad += host_distinct != distinct;
  std::printf("%d distinct positions (host %d), first: %d wins of %d\n", distinct, host_distinct, t[0].win, games);
  std::printf("%s\n", bad ? "FAIL" : "PASS");
  return bad ? 1 : 0;
}
