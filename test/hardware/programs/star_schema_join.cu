// Mini column-store: dimension hash table, probe, selection vectors,
// group-by aggregation, dictionary string predicate and a row-store scan.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>
#include <cuda_runtime.h>

using u32 = std::uint32_t;
using u64 = unsigned long long;

constexpr u32 EMPTY_KEY = 0xffffffffu;
constexpr int DIM_ROWS = 40000;
constexpr int FACT_ROWS = 1 << 20;
constexpr u32 TABLE_SIZE = 1u << 17;
constexpr int GROUPS = 50;
constexpr int DICT = 256;
constexpr int STR_LEN = 16;

inline void check(cudaError_t e, const char* what)
{
    if (e != cudaSuccess)
        throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}

template <typename T>
class DeviceColumn {
public:
    explicit DeviceColumn(std::size_t n) : n_(n)
    {
        check(cudaMalloc(&ptr_, n * sizeof(T)), "cudaMalloc");
    }
    explicit DeviceColumn(const std::vector<T>& v) : DeviceColumn(v.size())
    {
        check(cudaMemcpy(ptr_, v.data(), n_ * sizeof(T), cudaMemcpyHostToDevice), "upload");
    }
    DeviceColumn(const DeviceColumn&) = delete;
    ~DeviceColumn() { cudaFree(ptr_); }
    void fill(int byte) { check(cudaMemset(ptr_, byte, n_ * sizeof(T)), "memset"); }
    T* get() { return ptr_; }
    std::vector<T> download() const
    {
        std::vector<T> v(n_);
        check(cudaMemcpy(v.data(), ptr_, n_ * sizeof(T), cudaMemcpyDeviceToHost), "download");
        return v;
    }

private:
    T* ptr_ = nullptr;
    std::size_t n_;
};

struct Slot {
    u32 key;
    u32 group;
};

struct OrderRow {
    u32 customer;
    u32 date;
    int quantity;
    int priceCents;
    u32 discountPct;
    u32 statusCode;
    u32 reserved[2];
};

__host__ __device__ inline u32 murmurMix(u32 h)
{
    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h *= 0xc2b2ae35u;
    h ^= h >> 16;
    return h;
}

__global__ void buildTable(const u32* __restrict__ keys, const u32* __restrict__ groups, int n, Slot* table)
{
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    if (tid >= n)
        return;
    u32 key = keys[tid];
    u32 pos = murmurMix(key) & (TABLE_SIZE - 1);
    while (true) {
        u32 old = atomicCAS(&table[pos].key, EMPTY_KEY, key);
        if (old == EMPTY_KEY || old == key) {
            table[pos].group = groups[tid];
            return;
        }
        pos = (pos + 1) & (TABLE_SIZE - 1);
    }
}

// pivot a row store page into columns
__global__ void splitColumns(const OrderRow* __restrict__ rows, int n, u32* __restrict__ customer,
                             int* __restrict__ quantity, int* __restrict__ price)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const OrderRow& r = rows[i];
        customer[i] = r.customer;
        quantity[i] = r.quantity;
        price[i] = r.priceCents;
    }
}

__global__ void probeTable(const u32* __restrict__ customer, int n, const Slot* __restrict__ table,
                           short* __restrict__ groupOut)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    u32 key = customer[i];
    u32 pos = murmurMix(key) & (TABLE_SIZE - 1);
    short result = -1;
    for (;;) {
        const uint2 s = reinterpret_cast<const uint2*>(table)[pos];
        if (s.x == key) {
            result = static_cast<short>(s.y);
            break;
        }
        if (s.x == EMPTY_KEY)
            break;
        pos = (pos + 1) & (TABLE_SIZE - 1);
    }
    groupOut[i] = result;
}

// one bit per row, LIKE '%needle%' was evaluated once per dictionary entry
__global__ void dictionaryMatch(const char* __restrict__ dict, int entries, const char* __restrict__ needle,
                                int needleLen, unsigned char* __restrict__ hit)
{
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= entries)
        return;
    const char* s = dict + e * STR_LEN;
    unsigned char found = 0;
    for (int start = 0; start + needleLen <= STR_LEN && !found; ++start) {
        int k = 0;
        while (k < needleLen && s[start + k] == needle[k])
            ++k;
        found = (k == needleLen);
    }
    hit[e] = found;
}

__global__ void buildBitmap(const OrderRow* __restrict__ rows, const short* __restrict__ group,
                            const unsigned char* __restrict__ dictHit, int n, u32 dateLo, u32 dateHi,
                            u32* __restrict__ bitmap)
{
    __shared__ unsigned char lut[DICT];
    for (int i = threadIdx.x; i < DICT; i += blockDim.x)
        lut[i] = dictHit[i];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool pass = false;
    if (i < n) {
        u32 d = rows[i].date;
        pass = group[i] >= 0 && d >= dateLo && d < dateHi && lut[rows[i].statusCode];
    }
    u32 mask = __ballot_sync(0xffffffffu, pass);
    if ((threadIdx.x & 31) == 0 && i < n)
        bitmap[i >> 5] = mask;
}

__global__ void compactRows(const u32* __restrict__ bitmap, int n, u32* __restrict__ counter, int* __restrict__ rowIds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int lane = threadIdx.x & 31;
    u32 word = bitmap[i >> 5];
    u32 base = 0;
    if (lane == 0 && word)
        base = atomicAdd(counter, __popc(word));
    base = __shfl_sync(0xffffffffu, base, 0);
    if (word >> lane & 1u)
        rowIds[base + __popc(word & ((1u << lane) - 1u))] = i;
}

template <int BLOCK, int PRIVATE_COPIES>
__global__ void groupAggregate(const int* __restrict__ rowIds, const u32* __restrict__ nSel,
                               const short* __restrict__ group, const int* __restrict__ qty,
                               const int* __restrict__ price, u64* __restrict__ revenue, u32* __restrict__ cnt)
{
    __shared__ u64 sRev[PRIVATE_COPIES][GROUPS];
    __shared__ u32 sCnt[GROUPS * PRIVATE_COPIES];
    u64* flat = &sRev[0][0];
    for (int i = threadIdx.x; i < GROUPS * PRIVATE_COPIES; i += BLOCK) {
        flat[i] = 0;
        sCnt[i] = 0;
    }
    __syncthreads();
    const int copy = (threadIdx.x >> 5) % PRIVATE_COPIES;
    const int total = static_cast<int>(*nSel);
    for (int k = blockIdx.x * BLOCK + threadIdx.x; k < total; k += gridDim.x * BLOCK) {
        const int row = rowIds[k];
        const int g = group[row];
        const u64 amount = static_cast<u64>(qty[row]) * static_cast<u64>(price[row]);
        atomicAdd(&sRev[copy][g], amount);
        atomicAdd(&sCnt[g * PRIVATE_COPIES + copy], 1u);
    }
    __syncthreads();
    for (int g = threadIdx.x; g < GROUPS; g += BLOCK) {
        u64 r = 0;
        u32 c = 0;
        for (int p = 0; p < PRIVATE_COPIES; ++p) {
            r += sRev[p][g];
            c += sCnt[g * PRIVATE_COPIES + p];
        }
        if (c) {
            atomicAdd(&revenue[g], r);
            atomicAdd(&cnt[g], c);
        }
    }
}

static int run()
{
    std::mt19937 rng(20240229);
    std::vector<u32> dimKey(DIM_ROWS), dimGroup(DIM_ROWS);
    for (int i = 0; i < DIM_ROWS; ++i) {
        dimKey[i] = 1000u + 3u * i;
        dimGroup[i] = rng() % GROUPS;
    }
    std::vector<char> dict(DICT * STR_LEN, '.');
    for (int e = 0; e < DICT; ++e) {
        for (int k = 0; k < STR_LEN; ++k)
            dict[e * STR_LEN + k] = static_cast<char>('A' + rng() % 3);
    }
    const std::vector<char> needle = {'A', 'B', 'C'};
    std::vector<OrderRow> rows(FACT_ROWS);
    for (auto& r : rows) {
        r = OrderRow{};
        r.customer = 1000u + rng() % (3u * DIM_ROWS);
        r.date = 20200000u + rng() % 1000u;
        r.quantity = 1 + static_cast<int>(rng() % 20);
        r.priceCents = 100 + static_cast<int>(rng() % 100000);
        r.discountPct = rng() % 10;
        r.statusCode = rng() % DICT;
    }
    const u32 lo = 20200200u, hi = 20200900u;

    DeviceColumn<u32> dKey(dimKey), dGrp(dimGroup);
    DeviceColumn<Slot> table(TABLE_SIZE);
    DeviceColumn<OrderRow> dRows(rows);
    DeviceColumn<u32> customer(FACT_ROWS);
    DeviceColumn<int> qty(FACT_ROWS), price(FACT_ROWS), rowIds(FACT_ROWS);
    DeviceColumn<short> group(FACT_ROWS);
    DeviceColumn<char> dDict(dict), dNeedle(needle);
    DeviceColumn<unsigned char> hit(DICT);
    DeviceColumn<u32> bitmap(FACT_ROWS / 32), counter(1), cnt(GROUPS);
    DeviceColumn<u64> revenue(GROUPS);
    table.fill(0xff);
    counter.fill(0);
    cnt.fill(0);
    revenue.fill(0);

    constexpr int B = 256;
    constexpr int G = (FACT_ROWS + B - 1) / B;
    buildTable<<<(DIM_ROWS + B - 1) / B, B>>>(dKey.get(), dGrp.get(), DIM_ROWS, table.get());
    splitColumns<<<528, B>>>(dRows.get(), FACT_ROWS, customer.get(), qty.get(), price.get());
    probeTable<<<G, B>>>(customer.get(), FACT_ROWS, table.get(), group.get());
    dictionaryMatch<<<2, 128>>>(dDict.get(), DICT, dNeedle.get(), static_cast<int>(needle.size()), hit.get());
    buildBitmap<<<G, B>>>(dRows.get(), group.get(), hit.get(), FACT_ROWS, lo, hi, bitmap.get());
    compactRows<<<G, B>>>(bitmap.get(), FACT_ROWS, counter.get(), rowIds.get());
    groupAggregate<B, 4><<<264, B>>>(rowIds.get(), counter.get(), group.get(), qty.get(), price.get(),
                                     revenue.get(), cnt.get());
    check(cudaGetLastError(), "launch");
    check(cudaDeviceSynchronize(), "sync");

    std::vector<char> want(DICT);
    for (int e = 0; e < DICT; ++e) {
        std::string s(&dict[e * STR_LEN], STR_LEN);
        want[e] = s.find("ABC") != std::string::npos;
    }
    std::vector<u64> refRev(GROUPS, 0);
    std::vector<u32> refCnt(GROUPS, 0);
    u32 selected = 0;
    for (const auto& r : rows) {
        u32 off = r.customer - 1000u;
        if (off % 3 != 0 || off / 3 >= static_cast<u32>(DIM_ROWS))
            continue;
        if (r.date < lo || r.date >= hi || !want[r.statusCode])
            continue;
        u32 g = dimGroup[off / 3];
        refRev[g] += static_cast<u64>(r.quantity) * r.priceCents;
        refCnt[g]++;
        ++selected;
    }
    const auto gotRev = revenue.download();
    const auto gotCnt = cnt.download();
    const u32 gotSel = counter.download()[0];
    bool ok = gotSel == selected && gotRev == refRev && gotCnt == refCnt;
    std::printf("selected %u of %d (expected %u): %s\n", gotSel, FACT_ROWS, selected, ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}

int main()
{
    try {
        return run();
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        std::printf("FAIL\n");
        return 2;
    }
}
