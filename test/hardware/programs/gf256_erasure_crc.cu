// Storage pipeline: Reed-Solomon style erasure coding over GF(2^8) (log/exp tables, and the xtime variant without
// tables), CRC32 slices-by-4 with tables in shared memory, base64, and an XOR delta + run scan.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define REQUIRE(x)                                                            \
  if (auto status = (x); status != cudaSuccess) {                             \
    std::fprintf(stderr, "%s -> %s\nFAIL\n", #x, cudaGetErrorString(status)); \
    std::exit(1);                                                             \
  }

namespace ec {

constexpr int kData = 6;
constexpr int kParity = 3;

struct Tables {
  uint8_t exp[512];
  uint8_t log[256];
};

__device__ Tables d_tables;
__constant__ uint8_t c_matrix[kParity][kData];
__device__ const char d_base64[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// one byte a thread, tables from global memory
__global__ void encode_bytes(const uint8_t* __restrict__ data, uint8_t* __restrict__ parity, int stripe) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int p = blockIdx.y;
  if (i >= stripe) return;
  uint8_t acc = 0;
  for (int d = 0; d < kData; ++d) {
    const uint8_t v = data[d * stripe + i];
    if (v) acc ^= d_tables.exp[d_tables.log[v] + d_tables.log[c_matrix[p][d]]];
  }
  parity[p * stripe + i] = acc;
}

__device__ __forceinline__ uint32_t xtime4(uint32_t v) {
  const uint32_t high = (v >> 7) & 0x01010101u;
  return ((v & 0x7f7f7f7fu) << 1) ^ (high * 0x1du);
}

// 16 bytes a thread, no tables: multiply by repeated doubling, all parities at once
__global__ void encode_vec(const uint4* __restrict__ data, uint4* __restrict__ parity, int stripe16) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= stripe16) return;
  uint32_t acc[kParity][4] = {};
#pragma unroll
  for (int d = 0; d < kData; ++d) {
    const uint4 q = data[d * stripe16 + i];
    uint32_t v[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
    for (int bit = 0; bit < 8; ++bit) {
#pragma unroll
      for (int p = 0; p < kParity; ++p)
        if (c_matrix[p][d] >> bit & 1) {
#pragma unroll
          for (int w = 0; w < 4; ++w) acc[p][w] ^= v[w];
        }
#pragma unroll
      for (int w = 0; w < 4; ++w) v[w] = xtime4(v[w]);
    }
  }
#pragma unroll
  for (int p = 0; p < kParity; ++p) parity[p * stripe16 + i] = make_uint4(acc[p][0], acc[p][1], acc[p][2], acc[p][3]);
}

// shared tables: built by the block, a packet a thread, little-endian words
__global__ void crc_packets(const uint32_t* __restrict__ words, uint32_t* __restrict__ crc, int packets, int words_per_packet) {
  __shared__ uint32_t table[4][256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) {
    uint32_t c = i;
    for (int k = 0; k < 8; ++k) c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
    table[0][i] = c;
  }
  __syncthreads();
  for (int s = 1; s < 4; ++s) {
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
      const uint32_t c = table[s - 1][i];
      table[s][i] = table[0][c & 255] ^ (c >> 8);
    }
    __syncthreads();
  }
  const int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= packets) return;
  uint32_t c = ~0u;
  for (int w = 0; w < words_per_packet; ++w) {
    c ^= words[p * words_per_packet + w];
    c = table[3][c & 255] ^ table[2][(c >> 8) & 255] ^ table[1][(c >> 16) & 255] ^ table[0][c >> 24];
  }
  crc[p] = ~c;
}

// three bytes in, four characters out
__global__ void base64(const uint8_t* __restrict__ in, char4* __restrict__ out, int groups) {
  __shared__ char alphabet[64];
  if (threadIdx.x < 64) alphabet[threadIdx.x] = d_base64[threadIdx.x];
  __syncthreads();
  const int g = blockIdx.x * blockDim.x + threadIdx.x;
  if (g < groups) {
    const uint32_t v = in[3 * g] << 16 | in[3 * g + 1] << 8 | in[3 * g + 2];
    out[g] = make_char4(alphabet[v >> 18], alphabet[v >> 12 & 63], alphabet[v >> 6 & 63], alphabet[v & 63]);
  }
}

// delta against the row before, and the number of zero words of each warp's 1 KiB
__global__ void delta_rows(const uint2* __restrict__ in, uint2* __restrict__ out, int* __restrict__ zeros, int row, int n) {
  const int lane = threadIdx.x % 32;
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  int z = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const int i = warp * 128 + k * 32 + lane;
    if (i >= n) break;
    uint2 v = in[i];
    if (i >= row) {
      const uint2 u = in[i - row];
      v.x ^= u.x;
      v.y ^= u.y;
    }
    out[i] = v;
    z += (v.x == 0) + (v.y == 0);
  }
  z = __reduce_add_sync(0xffffffffu, z);
  if (lane == 0) zeros[warp] = z;
}

}  // namespace ec

static ec::Tables tables;
static uint8_t gmul(uint8_t a, uint8_t b) { return a && b ? tables.exp[tables.log[a] + tables.log[b]] : 0; }

int main(int argc, char** argv) {
  using namespace ec;
  const int stripe = argc > 1 ? std::atoi(argv[1]) : 12 * 1024 + 48;
  uint32_t x = 1;
  for (int i = 0; i < 255; ++i) {
    tables.exp[i] = tables.exp[i + 255] = (uint8_t)x;
    tables.log[x] = (uint8_t)i;
    x <<= 1;
    if (x & 0x100) x ^= 0x11d;
  }
  uint8_t matrix[kParity][kData];
  for (int p = 0; p < kParity; ++p)
    for (int d = 0; d < kData; ++d) matrix[p][d] = tables.exp[p * d % 255 + (p == 0 ? 0 : d)];
  REQUIRE(cudaMemcpyToSymbol(d_tables, &tables, sizeof tables));
  REQUIRE(cudaMemcpyToSymbol(c_matrix, matrix, sizeof matrix));

  std::vector<uint8_t> data(kData * stripe), par(kParity * stripe), par2(par);
  uint32_t seed = 12345;
  for (size_t i = 0; i < data.size(); ++i) {
    seed ^= seed << 13; seed ^= seed >> 17; seed ^= seed << 5;
    data[i] = i / 96 % 3 == 0 ? 0 : (uint8_t)seed;
  }
  uint8_t *d_data, *d_par, *d_par2;
  REQUIRE(cudaMalloc(&d_data, data.size()));
  REQUIRE(cudaMalloc(&d_par, par.size()));
  REQUIRE(cudaMalloc(&d_par2, par.size()));
  REQUIRE(cudaMemcpy(d_data, data.data(), data.size(), cudaMemcpyHostToDevice));
  encode_bytes<<<dim3((stripe + 255) / 256, kParity), 256>>>(d_data, d_par, stripe);
  encode_vec<<<(stripe / 16 + 95) / 96, 96>>>(reinterpret_cast<const uint4*>(d_data), reinterpret_cast<uint4*>(d_par2), stripe / 16);

  const int words_per_packet = 24, packets = (int)data.size() / 4 / words_per_packet;
  uint32_t* d_crc;
  REQUIRE(cudaMalloc(&d_crc, packets * sizeof(uint32_t)));
  crc_packets<<<(packets + 127) / 128, 128>>>(reinterpret_cast<uint32_t*>(d_data), d_crc, packets, words_per_packet);
  const int groups = (int)data.size() / 3;
  char4* d_text;
  REQUIRE(cudaMalloc(&d_text, groups * sizeof(char4)));
  base64<<<(groups + 191) / 192, 192>>>(d_data, d_text, groups);
  const int n8 = (int)data.size() / 8, warps = (n8 + 127) / 128;
  uint2* d_delta;
  int* d_zeros;
  REQUIRE(cudaMalloc(&d_delta, n8 * sizeof(uint2)));
  REQUIRE(cudaMalloc(&d_zeros, (warps + 3) * sizeof(int)));
  delta_rows<<<(warps + 3) / 4, 128>>>(reinterpret_cast<uint2*>(d_data), d_delta, d_zeros, 13, n8);
  REQUIRE(cudaDeviceSynchronize());

  std::vector<uint32_t> crc(packets), delta(2 * n8);
  std::vector<char> text(groups * 4);
  REQUIRE(cudaMemcpy(par.data(), d_par, par.size(), cudaMemcpyDeviceToHost));
  REQUIRE(cudaMemcpy(par2.data(), d_par2, par.size(), cudaMemcpyDeviceToHost));
  REQUIRE(cudaMemcpy(crc.data(), d_crc, packets * 4, cudaMemcpyDeviceToHost));
  REQUIRE(cudaMemcpy(text.data(), d_text, text.size(), cudaMemcpyDeviceToHost));
  REQUIRE(cudaMemcpy(delta.data(), d_delta, n8 * 8, cudaMemcpyDeviceToHost));
  long bad = 0;
  for (int p = 0; p < kParity; ++p)
    for (int i = 0; i < stripe; ++i) {
      uint8_t acc = 0;
      for (int d = 0; d < kData; ++d) acc ^= gmul(data[d * stripe + i], matrix[p][d]);
      bad += (par[p * stripe + i] != acc) + (par2[p * stripe + i] != acc);
    }
  for (int p = 0; p < packets; ++p) {
    uint32_t c = ~0u;
    for (int b = 0; b < words_per_packet * 4; ++b) {
      c ^= data[p * words_per_packet * 4 + b];
      for (int k = 0; k < 8; ++k) c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
    }
    bad += crc[p] != ~c;
  }
  const std::string alpha = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (int g = 0; g < groups; ++g) {
    const uint32_t v = data[3 * g] << 16 | data[3 * g + 1] << 8 | data[3 * g + 2];
    for (int k = 0; k < 4; ++k) bad += text[4 * g + k] != alpha[v >> (18 - 6 * k) & 63];
  }
  const uint32_t* w = reinterpret_cast<const uint32_t*>(data.data());
  for (int i = 0; i < 2 * n8; ++i) bad += delta[i] != (w[i] ^ (i >= 26 ? w[i - 26] : 0u));
  std::printf("%ld mismatches\n%s\n", bad, bad ? "FAIL" : "PASS");
  return bad != 0;
}
