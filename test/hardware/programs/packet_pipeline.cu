// nvcc: -std=c++17
// Software router / IDS data path on batches of packets:
//   header checksum, longest prefix match, flow hashing with CRC32C,
//   count-min sketch, payload DFA scan, per port queue placement, TTL rewrite.
#include <cuda_runtime.h>

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

namespace net {

struct __align__(4) Ipv4Header {
    uint8_t verIhl, tos;
    uint16_t len;
    uint16_t id, frag;
    uint8_t ttl, proto;
    uint16_t csum;
    uint32_t src, dst;
};
static_assert(sizeof(Ipv4Header) == 20, "header layout");

constexpr int kPackets = 1 << 16;
constexpr int kPayload = 256;
constexpr int kPorts = 16;
constexpr int kSketchRows = 4;
constexpr int kSketchCols = 4096;
constexpr int kDfaStates = 24;
constexpr uint16_t kExtended = 0x8000;

// DIR-16-8: 64K first level, groups of 256 for the longer prefixes
struct Fib {
    const uint16_t* level1;
    const uint16_t* level2;
};

inline void must(cudaError_t e, const char* file, int line)
{
    if (e != cudaSuccess) {
        std::fprintf(stderr, "%s(%d): %s\n", file, line, cudaGetErrorString(e));
        std::abort();
    }
}
#define MUST(x) net::must((x), __FILE__, __LINE__)

__host__ __device__ inline uint16_t foldSum(uint32_t s)
{
    s = (s & 0xffff) + (s >> 16);
    s = (s & 0xffff) + (s >> 16);
    return static_cast<uint16_t>(s);
}

// reads ten 16 bit words at a stride of 20 bytes
__global__ void verifyChecksum(const Ipv4Header* hdr, int n, uint8_t* valid)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const uint16_t* w = reinterpret_cast<const uint16_t*>(hdr + i);
    uint32_t s = 0;
#pragma unroll
    for (int k = 0; k < 10; ++k)
        s += w[k];
    valid[i] = foldSum(s) == 0xffff;
}

__global__ void lookupRoute(const Ipv4Header* __restrict__ hdr, int n, Fib fib, uint16_t* __restrict__ nextHop)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const uint32_t a = hdr[i].dst;
    uint16_t r = __ldg(fib.level1 + (a >> 16));
    if (r & kExtended)
        r = __ldg(fib.level2 + (r & 0x7fff) * 256 + ((a >> 8) & 0xff));
    nextHop[i] = r;
}

// CRC32C of the five tuple, table staged in shared memory
__global__ void flowHash(const Ipv4Header* __restrict__ hdr, const uint32_t* __restrict__ ports, int n,
                         const uint32_t* __restrict__ table, uint32_t* __restrict__ hash)
{
    extern __shared__ uint32_t crcTab[];
    for (int k = threadIdx.x; k < 256; k += blockDim.x)
        crcTab[k] = table[k];
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        uint32_t words[3] = {hdr[i].src, hdr[i].dst, ports[i]};
        uint32_t c = 0xffffffffu;
        for (int w = 0; w < 3; ++w) {
            for (int b = 0; b < 32; b += 8)
                c = crcTab[(c ^ (words[w] >> b)) & 0xff] ^ (c >> 8);
        }
        c = crcTab[(c ^ hdr[i].proto) & 0xff] ^ (c >> 8);
        hash[i] = ~c;
    }
}

__host__ __device__ inline uint32_t sketchColumn(uint32_t h, int row)
{
    const uint32_t mul = 2654435761u + 0x9e3779b0u * static_cast<uint32_t>(row) * 2u;
    return (h * mul) >> 20;
}

__global__ void countMin(const uint32_t* __restrict__ hash, int n, uint32_t* __restrict__ sketch)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y;
    if (i < n)
        atomicAdd(&sketch[row * kSketchCols + sketchColumn(hash[i], row)], 1u);
}

__global__ void heavyHitters(const uint32_t* __restrict__ hash, int n, const uint32_t* __restrict__ sketch,
                             uint32_t* __restrict__ estimate)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    uint32_t m = 0xffffffffu;
#pragma unroll
    for (int row = 0; row < kSketchRows; ++row)
        m = min(m, sketch[row * kSketchCols + sketchColumn(hash[i], row)]);
    estimate[i] = m;
}

// Aho-Corasick automaton in shared memory, thread per packet, byte by byte
__global__ void scanPayload(const uint8_t* __restrict__ payload, int n, const uint8_t* __restrict__ dfa,
                            const uint8_t* __restrict__ accept, uint32_t* __restrict__ matches)
{
    __shared__ uint8_t next[kDfaStates * 32];
    __shared__ uint8_t acc[kDfaStates];
    for (int k = threadIdx.x; k < kDfaStates * 32; k += blockDim.x)
        next[k] = dfa[k];
    if (threadIdx.x < kDfaStates)
        acc[threadIdx.x] = accept[threadIdx.x];
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const uint8_t* p = payload + static_cast<size_t>(i) * kPayload;
    int state = 0;
    uint32_t found = 0;
    for (int k = 0; k < kPayload; ++k) {
        state = next[state * 32 + (p[k] & 31)];
        found += acc[state];
    }
    matches[i] = found;
}

// same scan, payload bytes interleaved four at a time by word column
__global__ void scanInterleaved(const uint32_t* __restrict__ words, int n, const uint8_t* __restrict__ dfa,
                                const uint8_t* __restrict__ accept, uint32_t* __restrict__ matches)
{
    __shared__ uint8_t next[kDfaStates * 32];
    __shared__ uint8_t acc[kDfaStates];
    for (int k = threadIdx.x; k < kDfaStates * 32; k += blockDim.x)
        next[k] = dfa[k];
    if (threadIdx.x < kDfaStates)
        acc[threadIdx.x] = accept[threadIdx.x];
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int state = 0;
    uint32_t found = 0;
    for (int w = 0; w < kPayload / 4; ++w) {
        uint32_t v = words[static_cast<size_t>(w) * n + i];
        for (int b = 0; b < 4; ++b) {
            state = next[state * 32 + (v & 31)];
            found += acc[state];
            v >>= 8;
        }
    }
    matches[i] = found;
}

// rewrite the accepted packets and append them to the queue of their port
__global__ void forwardPackets(Ipv4Header* hdr, int n, const uint8_t* __restrict__ valid,
                               const uint16_t* __restrict__ nextHop, uint32_t* __restrict__ depth,
                               int* __restrict__ queue)
{
    __shared__ uint32_t local[kPorts];
    __shared__ uint32_t base[kPorts];
    if (threadIdx.x < kPorts)
        local[threadIdx.x] = 0;
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool go = false;
    int port = 0;
    uint32_t rank = 0;
    if (i < n) {
        go = valid[i] && hdr[i].ttl > 1;
        port = nextHop[i];
    }
    if (go)
        rank = atomicAdd(&local[port], 1u);
    __syncthreads();
    if (threadIdx.x < kPorts)
        base[threadIdx.x] = atomicAdd(&depth[threadIdx.x], local[threadIdx.x]);
    __syncthreads();
    if (go) {
        queue[port * kPackets + base[port] + rank] = i;
        hdr[i].ttl -= 1;
        uint32_t s = static_cast<uint16_t>(~hdr[i].csum);
        s += 0xfffeu;   // minus one in the low (ttl) byte, little endian
        hdr[i].csum = static_cast<uint16_t>(~foldSum(s));
    }
}

template <typename T>
struct Buffer {
    T* d = nullptr;
    size_t n;
    explicit Buffer(size_t count) : n(count)
    {
        MUST(cudaMalloc(&d, n * sizeof(T)));
        MUST(cudaMemset(d, 0, n * sizeof(T)));
    }
    explicit Buffer(const std::vector<T>& v) : Buffer(v.size())
    {
        MUST(cudaMemcpy(d, v.data(), n * sizeof(T), cudaMemcpyHostToDevice));
    }
    Buffer(const Buffer&) = delete;
    ~Buffer() { cudaFree(d); }
    std::vector<T> host() const
    {
        std::vector<T> v(n);
        MUST(cudaMemcpy(v.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost));
        return v;
    }
};

}  // namespace net

using namespace net;

static uint64_t rngState = 0x853c49e6748fea9bull;
static uint32_t rnd()
{
    rngState = rngState * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<uint32_t>(rngState >> 33);
}

static uint16_t headerSum(const Ipv4Header& h)
{
    uint16_t w[10];
    std::memcpy(w, &h, sizeof w);
    uint32_t s = 0;
    for (int k = 0; k < 10; ++k)
        s += w[k];
    return foldSum(s);
}

int main()
{
    // automaton for three patterns over a 32 letter alphabet
    const std::vector<std::string> patterns = {"abca", "bcab", "cccd"};
    std::vector<std::vector<int>> go(1, std::vector<int>(32, -1));
    std::vector<uint8_t> accept(kDfaStates, 0);
    for (const auto& p : patterns) {
        int s = 0;
        for (char ch : p) {
            int c = ch & 31;
            if (go[s][c] < 0) {
                go[s][c] = static_cast<int>(go.size());
                go.emplace_back(32, -1);
            }
            s = go[s][c];
        }
        accept[s]++;
    }
    assert(go.size() <= kDfaStates);
    std::vector<int> fail(go.size(), 0), order;
    for (int c = 0; c < 32; ++c) {
        if (go[0][c] < 0)
            go[0][c] = 0;
        else
            order.push_back(go[0][c]);
    }
    for (size_t k = 0; k < order.size(); ++k) {
        int s = order[k];
        for (int c = 0; c < 32; ++c) {
            int t = go[s][c];
            if (t < 0) {
                go[s][c] = go[fail[s]][c];
            } else {
                fail[t] = go[fail[s]][c];
                accept[t] += accept[fail[t]];
                order.push_back(t);
            }
        }
    }
    std::vector<uint8_t> dfa(kDfaStates * 32, 0);
    for (size_t s = 0; s < go.size(); ++s)
        for (int c = 0; c < 32; ++c)
            dfa[s * 32 + c] = static_cast<uint8_t>(go[s][c]);

    std::vector<uint32_t> crc(256);
    for (uint32_t i = 0; i < 256; ++i) {
        uint32_t c = i;
        for (int k = 0; k < 8; ++k)
            c = (c & 1) ? (c >> 1) ^ 0x82f63b78u : c >> 1;
        crc[i] = c;
    }

    std::vector<uint16_t> l1(65536), l2(256 * 256);
    for (auto& r : l1)
        r = rnd() % kPorts;
    for (auto& r : l2)
        r = rnd() % kPorts;
    for (int g = 0; g < 256; ++g)
        l1[(g * 251 + 13) % 65536] = static_cast<uint16_t>(kExtended | g);

    std::vector<Ipv4Header> hdr(kPackets);
    std::vector<uint32_t> ports(kPackets);
    std::vector<uint8_t> payload(static_cast<size_t>(kPackets) * kPayload);
    for (int i = 0; i < kPackets; ++i) {
        Ipv4Header& h = hdr[i];
        uint32_t flow = rnd() % 20000;
        if (rnd() % 4 == 0)
            flow = rnd() % 8;
        h = Ipv4Header{};
        h.verIhl = 0x45;
        h.len = 20 + kPayload;
        h.id = static_cast<uint16_t>(i);
        h.ttl = static_cast<uint8_t>(1 + rnd() % 64);
        h.proto = (flow & 1) ? 6 : 17;
        h.src = 0x0a000000u + flow * 77u;
        h.dst = flow * 2654435761u;
        ports[i] = (flow * 40503u) ^ 0x01bb0000u;
        h.csum = static_cast<uint16_t>(~headerSum(h));
        if (rnd() % 50 == 0)
            h.csum ^= 0x0101;
    }
    for (auto& b : payload)
        b = static_cast<uint8_t>('a' + rnd() % 4);
    std::vector<uint32_t> inter(payload.size() / 4);
    for (int i = 0; i < kPackets; ++i) {
        for (int w = 0; w < kPayload / 4; ++w) {
            const uint8_t* p = &payload[static_cast<size_t>(i) * kPayload + 4 * w];
            inter[static_cast<size_t>(w) * kPackets + i] = p[0] | p[1] << 8 | p[2] << 16 | static_cast<uint32_t>(p[3]) << 24;
        }
    }

    Buffer<Ipv4Header> dHdr(hdr);
    Buffer<uint32_t> dPorts(ports), dCrc(crc), dInter(inter);
    Buffer<uint8_t> dPayload(payload), dDfa(dfa), dAccept(accept), dValid(kPackets);
    Buffer<uint16_t> dL1(l1), dL2(l2), dHop(kPackets);
    Buffer<uint32_t> dHash(kPackets), dSketch(kSketchRows * kSketchCols), dEst(kPackets);
    Buffer<uint32_t> dMatch(kPackets), dMatch2(kPackets), dDepth(kPorts);
    Buffer<int> dQueue(static_cast<size_t>(kPorts) * kPackets);

    const int block = 256;
    const int grid = (kPackets + block - 1) / block;
    verifyChecksum<<<grid, block>>>(dHdr.d, kPackets, dValid.d);
    lookupRoute<<<grid, block>>>(dHdr.d, kPackets, Fib{dL1.d, dL2.d}, dHop.d);
    flowHash<<<128, block, 256 * sizeof(uint32_t)>>>(dHdr.d, dPorts.d, kPackets, dCrc.d, dHash.d);
    countMin<<<dim3(grid, kSketchRows), block>>>(dHash.d, kPackets, dSketch.d);
    heavyHitters<<<grid, block>>>(dHash.d, kPackets, dSketch.d, dEst.d);
    scanPayload<<<grid * 2, block / 2>>>(dPayload.d, kPackets, dDfa.d, dAccept.d, dMatch.d);
    scanInterleaved<<<grid * 2, block / 2>>>(dInter.d, kPackets, dDfa.d, dAccept.d, dMatch2.d);
    forwardPackets<<<grid, block>>>(dHdr.d, kPackets, dValid.d, dHop.d, dDepth.d, dQueue.d);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());

    auto valid = dValid.host();
    auto hop = dHop.host();
    auto hash = dHash.host();
    auto est = dEst.host();
    auto m1 = dMatch.host();
    auto m2 = dMatch2.host();
    auto after = dHdr.host();
    auto depth = dDepth.host();
    auto queue = dQueue.host();

    int errors = 0;
    std::vector<uint32_t> sketch(kSketchRows * kSketchCols, 0);
    std::vector<std::vector<int>> want(kPorts);
    for (int i = 0; i < kPackets; ++i) {
        bool v = headerSum(hdr[i]) == 0xffff;
        errors += v != (valid[i] != 0);
        uint16_t r = l1[hdr[i].dst >> 16];
        if (r & kExtended)
            r = l2[(r & 0x7fff) * 256 + ((hdr[i].dst >> 8) & 255)];
        errors += r != hop[i];
        uint8_t bytes[13];
        for (int b = 0; b < 4; ++b) {
            bytes[b] = static_cast<uint8_t>(hdr[i].src >> (8 * b));
            bytes[4 + b] = static_cast<uint8_t>(hdr[i].dst >> (8 * b));
            bytes[8 + b] = static_cast<uint8_t>(ports[i] >> (8 * b));
        }
        bytes[12] = hdr[i].proto;
        uint32_t c = ~0u;
        for (uint8_t b : bytes)
            c = crc[(c ^ b) & 255] ^ (c >> 8);
        errors += (~c) != hash[i];
        for (int row = 0; row < kSketchRows; ++row)
            sketch[row * kSketchCols + sketchColumn(~c, row)]++;
        // naive substring counting
        const char* text = reinterpret_cast<const char*>(&payload[static_cast<size_t>(i) * kPayload]);
        uint32_t found = 0;
        for (const auto& p : patterns)
            for (int k = 0; k + 4 <= kPayload; ++k)
                found += std::equal(p.begin(), p.end(), text + k);
        errors += found != m1[i];
        errors += found != m2[i];
        bool send = v && hdr[i].ttl > 1;
        if (send)
            want[r].push_back(i);
        errors += after[i].ttl != hdr[i].ttl - (send ? 1 : 0);
        if (v)
            errors += headerSum(after[i]) != 0xffff;
    }
    for (int i = 0; i < kPackets; ++i) {
        uint32_t m = ~0u;
        for (int row = 0; row < kSketchRows; ++row)
            m = std::min(m, sketch[row * kSketchCols + sketchColumn(hash[i], row)]);
        errors += m != est[i];
    }
    for (int p = 0; p < kPorts; ++p) {
        if (depth[p] != want[p].size()) {
            ++errors;
            continue;
        }
        auto first = queue.begin() + static_cast<size_t>(p) * kPackets;
        std::sort(first, first + depth[p]);
        errors += !std::equal(want[p].begin(), want[p].end(), first);
    }
    std::printf("packets %d heavy estimate max %u errors %d\n%s\n", kPackets, *std::max_element(est.begin(), est.end()),
                errors, errors ? "FAIL" : "PASS");
    return errors ? 1 : 0;
}
