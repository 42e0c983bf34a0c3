// "gpugrep": multi-pattern search (Aho-Corasick, dense goto table), shift-and for one short pattern from constant
// memory, line splitting by prefix sums, and an approximate matcher (Wu-Manber, k differences) a line a thread.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include <queue>
#include <array>
#include <algorithm>

typedef unsigned char byte;
typedef unsigned long long u64;

static void must(cudaError_t err, const char* where)
{
  if (err == cudaSuccess) return;
  printf("FAIL %s: %s\n", where, cudaGetErrorString(err));
  exit(1);
}

constexpr int kAlphabet = 32;            // text is folded to 5 bits
constexpr int kChunk = 64;               // bytes a thread scans

__constant__ unsigned cShiftMask[kAlphabet];

__host__ __device__ inline int fold(byte c) { return c & 31; }

// --- Aho-Corasick: every thread scans its chunk and the overlap behind it
__global__ void ac_naive(const byte* text, int n, const short* go, const byte* accept, int overlap, int* hits)
{
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  int begin = t * kChunk;
  int end = min(begin + kChunk + overlap, n);
  int state = 0, found = 0;
  for (int i = begin; i < end; ++i) {
    state = go[state * kAlphabet + fold(text[i])];
    // only matches that start in our chunk
    if (accept[state] && i - accept[state] + 1 < begin + kChunk) ++found;
  }
  if (begin < n) hits[t] = found;
}

// --- the same with the text staged in shared memory as words
template <int THREADS>
__global__ void ac_staged(const unsigned* __restrict__ text4, int n, const short* __restrict__ go, const byte* __restrict__ accept, int overlap, int* __restrict__ hits)
{
  __shared__ unsigned stage[THREADS * kChunk / 4 + 16];
  const int first = blockIdx.x * THREADS * kChunk / 4;
  const int words = (n + 3) / 4;
  for (int i = threadIdx.x; i < THREADS * kChunk / 4 + 16; i += THREADS)
    stage[i] = first + i < words ? text4[first + i] : 0u;
  __syncthreads();
  const byte* mine = reinterpret_cast<const byte*>(stage) + threadIdx.x * kChunk;
  const int begin = (blockIdx.x * THREADS + threadIdx.x) * kChunk;
  if (begin >= n) return;
  const int len = min(kChunk + overlap, n - begin);
  int state = 0, found = 0;
  for (int i = 0; i < len; ++i) {
    state = go[state * kAlphabet + fold(mine[i])];
    const int a = accept[state];
    if (a != 0 && i - a + 1 < kChunk) ++found;
  }
  hits[blockIdx.x * THREADS + threadIdx.x] = found;
}

// --- bit-parallel: a thread looks at one start of 4 bytes each, vector loads
__global__ void shift_and(const uchar4* __restrict__ text, int quads, int length, unsigned* __restrict__ bitmap)
{
  const int q = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned matched = 0;
  if (q + 8 < quads) {
    byte window[36];
#pragma unroll
    for (int k = 0; k < 9; ++k) {
      const uchar4 v = text[q + k];
      window[4 * k] = v.x; window[4 * k + 1] = v.y; window[4 * k + 2] = v.z; window[4 * k + 3] = v.w;
    }
#pragma unroll
    for (int s = 0; s < 4; ++s) {
      bool ok = true;
      for (int i = 0; i < length && ok; ++i)
        ok = cShiftMask[fold(window[s + i])] >> i & 1u;
      matched |= unsigned(ok) << s;
    }
  }
  const unsigned any = __ballot_sync(0xffffffffu, matched != 0);
  if (q < quads) bitmap[q] = matched;
  if ((threadIdx.x & 31) == 0 && any) bitmap[q] |= 0x100u;   // mark for the host: this warp has something
}

// --- newlines: flags, block scan, compaction of line starts
__global__ void find_lines(const byte* __restrict__ text, int n, int* __restrict__ starts, int* __restrict__ counts, int capacity)
{
  __shared__ int scan[2][256];
  const int i = blockIdx.x * 256 + threadIdx.x;
  const int flag = i < n && text[i] == '\n';
  int src = 0;
  scan[0][threadIdx.x] = flag;
  __syncthreads();
  for (int d = 1; d < 256; d <<= 1) {
    const int v = scan[src][threadIdx.x] + (threadIdx.x >= d ? scan[src][threadIdx.x - d] : 0);
    src ^= 1;
    scan[src][threadIdx.x] = v;
    __syncthreads();
  }
  const int pos = scan[src][threadIdx.x] - flag;
  if (flag && pos < capacity) starts[blockIdx.x * capacity + pos] = i + 1;
  if (threadIdx.x == 255) counts[blockIdx.x] = scan[src][255];
}

// --- k differences, a thread a line of fixed width (records)
__global__ void wu_manber(const byte* __restrict__ records, int count, int width, int length, int* __restrict__ best)
{
  __shared__ unsigned masks[kAlphabet];
  if (threadIdx.x < kAlphabet) masks[threadIdx.x] = cShiftMask[threadIdx.x];
  __syncthreads();
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= count) return;
  unsigned R[4], goal = 1u << (length - 1);
  int k = 4;
#pragma unroll
  for (int d = 0; d < 4; ++d) R[d] = (1u << d) - 1u;
  for (int i = 0; i < width; ++i) {
    const unsigned m = masks[fold(records[r * width + i])];
    unsigned old = R[0];
    R[0] = ((R[0] << 1) | 1u) & m;
#pragma unroll
    for (int d = 1; d < 4; ++d) {
      const unsigned keep = R[d];
      R[d] = (((R[d] << 1) | 1u) & m) | old | (old << 1) | (R[d - 1] << 1) | 1u;
      old = keep;
    }
#pragma unroll
    for (int d = 3; d >= 0; --d)
      if ((R[d] & goal) && d < k) k = d;
  }
  best[r] = k;
}

struct Automaton {
  std::vector<short> go;
  std::vector<byte> accept;
  explicit Automaton(const std::vector<std::string>& words)
  {
    std::vector<std::array<int, kAlphabet>> next(1);
    next[0].fill(-1);
    accept.push_back(0);
    for (auto& w : words) {
      int s = 0;
      for (char c : w) {
        if (next[s][fold(c)] < 0) { next[s][fold(c)] = next.size(); next.emplace_back(); next.back().fill(-1); accept.push_back(0); }
        s = next[s][fold(c)];
      }
      accept[s] = w.size();
    }
    std::vector<int> fail(next.size(), 0);
    std::queue<int> q;
    for (int c = 0; c < kAlphabet; ++c) { int& t = next[0][c]; if (t < 0) t = 0; else q.push(t); }
    while (!q.empty()) {
      int s = q.front(); q.pop();
      for (int c = 0; c < kAlphabet; ++c) {
        int& t = next[s][c];
        if (t < 0) t = next[fail[s]][c];
        else { fail[t] = next[fail[s]][c]; q.push(t); }
      }
    }
    for (auto& row : next) for (int t : row) go.push_back((short)t);
  }
};

int main(int argc, char* argv[])
{
  const int n = argc > 1 ? atoi(argv[1]) : 40000;
  const std::vector<std::string> words = {"warp", "shared", "bank", "kernel", "stream", "grid"};
  const char* vocabulary[] = {"warp ", "block ", "bank ", "kernels ", "the ", "of a ", "gridded\n", "shred ", "x\n", "streaming "};
  std::string text;
  srand(4);
  while ((int)text.size() < n + 64) text += vocabulary[rand() % 10];
  text.resize(n);
  Automaton ac(words);
  const int threads = (n + kChunk - 1) / kChunk;

  byte *dText, *dAccept; short* dGo; int *dHits, *dHits2, *dStarts, *dCounts, *dBest; unsigned* dBitmap;
  must(cudaMalloc(&dText, n + 64), "text");
  must(cudaMemset(dText, 0, n + 64), "text");
  must(cudaMemcpy(dText, text.data(), n, cudaMemcpyHostToDevice), "text");
  must(cudaMalloc(&dAccept, ac.accept.size()), "accept");
  must(cudaMemcpy(dAccept, ac.accept.data(), ac.accept.size(), cudaMemcpyHostToDevice), "accept");
  must(cudaMalloc(&dGo, ac.go.size() * sizeof(short)), "go");
  must(cudaMemcpy(dGo, ac.go.data(), ac.go.size() * sizeof(short), cudaMemcpyHostToDevice), "go");
  must(cudaMalloc(&dHits, threads * sizeof(int)), "hits");
  must(cudaMalloc(&dHits2, threads * sizeof(int)), "hits2");

  constexpr int T = 96;
  ac_naive<<<(threads + T - 1) / T, T>>>(dText, n, dGo, dAccept, 6, dHits);
  ac_staged<T><<<(threads + T - 1) / T, T>>>((const unsigned*)dText, n, dGo, dAccept, 6, dHits2);

  const std::string needle = "kernels";
  unsigned mask[kAlphabet] = {};
  for (size_t i = 0; i < needle.size(); ++i) mask[fold(needle[i])] |= 1u << i;
  must(cudaMemcpyToSymbol(cShiftMask, mask, sizeof(mask)), "mask");
  const int quads = n / 4;
  must(cudaMalloc(&dBitmap, quads * sizeof(unsigned)), "bitmap");
  shift_and<<<(quads + 127) / 128, 128>>>((const uchar4*)dText, quads, (int)needle.size(), dBitmap);

  const int blocks = (n + 255) / 256, capacity = 64;
  must(cudaMalloc(&dStarts, blocks * capacity * sizeof(int)), "starts");
  must(cudaMalloc(&dCounts, blocks * sizeof(int)), "counts");
  find_lines<<<blocks, 256>>>(dText, n, dStarts, dCounts, capacity);

  const int width = 40, records = n / width;
  must(cudaMalloc(&dBest, records * sizeof(int)), "best");
  wu_manber<<<(records + 63) / 64, 64>>>(dText, records, width, (int)needle.size(), dBest);
  must(cudaDeviceSynchronize(), "kernels");

  std::vector<int> hits(threads), hits2(threads), counts(blocks), starts(blocks * capacity), best(records);
  std::vector<unsigned> bitmap(quads);
  cudaMemcpy(hits.data(), dHits, threads * 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(hits2.data(), dHits2, threads * 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(counts.data(), dCounts, blocks * 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(starts.data(), dStarts, starts.size() * 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(best.data(), dBest, records * 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(bitmap.data(), dBitmap, quads * 4, cudaMemcpyDeviceToHost);

  int bad = 0;
  std::vector<int> want(threads, 0);
  for (auto& w : words)
    for (size_t p = text.find(w); p != std::string::npos; p = text.find(w, p + 1)) want[p / kChunk]++;
  for (int t = 0; t < threads; ++t) bad += (hits[t] != want[t]) + (hits2[t] != want[t]);
  for (int q = 0; q + 8 < quads; ++q)
    for (int s = 0; s < 4; ++s) {
      const bool m = text.compare(4 * q + s, needle.size(), needle) == 0;
      bad += m != bool(bitmap[q] >> s & 1);
    }
  int at = 0;
  for (int b = 0; b < blocks; ++b)
    for (int k = 0; k < counts[b]; ++k) { at = text.find('\n', at) + 1; bad += starts[b * capacity + k] != at; }
  int exact = 0, wantExact = 0;
  for (int r = 0; r < records; ++r) {
    exact += best[r] == 0;
    wantExact += text.substr(r * width, width).find(needle) != std::string::npos;
  }
  bad += exact != wantExact;
  printf("%d differences, %d records hold the needle\n%s\n", bad, exact, bad ? "FAIL" : "PASS");
  return bad ? EXIT_FAILURE : EXIT_SUCCESS;
}
