/*
 *   SELECT   d.region, COUNT(*), SUM(f.qty * f.price), MAX(f.price)
 *   FROM     fact f JOIN dim d ON f.custkey = d.custkey
 *   WHERE    f.shipdate BETWEEN :lo AND :hi AND f.discount < :disc
 *   GROUP BY d.region
 *   ORDER BY 3 DESC
 *
 * Hand-written physical plan: filter -> compact -> build -> probe -> aggregate -> sort.
 */
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <vector>

using RowId  = uint32_t;
using Key    = int32_t;
using Money  = long long;

static const Key kEmptySlot = -1;

inline void throwOnError(cudaError_t status, const char* op)
{
    if (status != cudaSuccess)
        throw std::runtime_error(std::string(op) + " failed: " + cudaGetErrorString(status));
}
#define EXEC(op) throwOnError(op, #op)

/* A column owns its device storage. */
template <typename T>
class Column
{
public:
    explicit Column(size_t rows) : mRows(rows) { EXEC(cudaMalloc(&mData, rows * sizeof(T))); }
    explicit Column(const std::vector<T>& v) : Column(v.size())
    {
        EXEC(cudaMemcpy(mData, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    }
    ~Column() { cudaFree(mData); }
    Column(const Column&) = delete;
    Column& operator=(const Column&) = delete;

    void fill(int byte) { EXEC(cudaMemset(mData, byte, mRows * sizeof(T))); }
    T* data() { return mData; }
    std::vector<T> fetch() const
    {
        std::vector<T> v(mRows);
        EXEC(cudaMemcpy(v.data(), mData, mRows * sizeof(T), cudaMemcpyDeviceToHost));
        return v;
    }
private:
    T* mData = nullptr;
    size_t mRows;
};

struct HashEntry { Key key; int32_t payload; };      // 8 bytes, open addressing

struct Group                                          // 24 bytes
{
    Money    revenue;
    unsigned long long rows;
    int      maxPrice;
    int      region;
};

struct Predicate
{
    int lo, hi;
    short disc;
    __device__ bool operator()(int date, short d) const { return date >= lo && date <= hi && d < disc; }
};

__host__ __device__ inline uint32_t hashKey(Key k)
{
    uint32_t h = (uint32_t)k;
    h ^= h >> 16; h *= 0x7feb352du; h ^= h >> 15; h *= 0x846ca68bu; h ^= h >> 16;
    return h;
}

/* ---- filter + stream compaction of row ids (order within a block is preserved) ---- */
__global__ void filterCompact(const int* shipdate, const short* discount, RowId rows, Predicate pred,
                              RowId* selected, unsigned* selectedCount)
{
    __shared__ unsigned warpOffset[8];
    __shared__ unsigned blockOffset;
    const RowId row = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const bool keep = row < rows && pred(shipdate[row], discount[row]);
    const unsigned vote = __ballot_sync(0xFFFFFFFFu, keep);
    if (lane == 0) warpOffset[warp] = __popc(vote);
    __syncthreads();
    if (threadIdx.x == 0)
    {
        unsigned total = 0;
        for (int w = 0; w < 8; ++w) { unsigned c = warpOffset[w]; warpOffset[w] = total; total += c; }
        blockOffset = atomicAdd(selectedCount, total);
    }
    __syncthreads();
    if (keep)
        selected[blockOffset + warpOffset[warp] + __popc(vote & ((1u << lane) - 1))] = row;
}

__global__ void buildTable(const Key* keys, const int* region, int rows, HashEntry* table, uint32_t mask)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    uint32_t slot = hashKey(keys[i]) & mask;
    for (;;)
    {
        const Key prev = atomicCAS(&table[slot].key, kEmptySlot, keys[i]);
        if (prev == kEmptySlot) { table[slot].payload = region[i]; return; }
        slot = (slot + 1) & mask;
    }
}

__global__ void probeTable(const Key* factKeys, const RowId* selected, const unsigned* selectedCount,
                           const HashEntry* table, uint32_t mask, int* joinedRegion)
{
    const unsigned n = *selectedCount;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    {
        const Key k = factKeys[selected[i]];
        uint32_t slot = hashKey(k) & mask;
        int region = -1;
        while (true)
        {
            const HashEntry e = table[slot];
            if (e.key == k) { region = e.payload; break; }
            if (e.key == kEmptySlot) break;
            slot = (slot + 1) & mask;
        }
        joinedRegion[i] = region;
    }
}

/* Pre-aggregation in shared memory: array of structs, 24 byte stride. */
template <int Groups>
__global__ void aggregate(const int* joinedRegion, const RowId* selected, const unsigned* selectedCount,
                          const uint8_t* qty, const int* price, Group* result)
{
    __shared__ Group acc[Groups];
    for (int g = threadIdx.x; g < Groups; g += blockDim.x)
    {
        acc[g].revenue = 0; acc[g].rows = 0; acc[g].maxPrice = 0; acc[g].region = g;
    }
    __syncthreads();
    const unsigned n = *selectedCount;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    {
        const int g = joinedRegion[i];
        if (g < 0) continue;
        const RowId r = selected[i];
        atomicAdd((unsigned long long*)&acc[g].revenue, (unsigned long long)((Money)qty[r] * price[r]));
        atomicAdd(&acc[g].rows, 1ull);
        atomicMax(&acc[g].maxPrice, price[r]);
    }
    __syncthreads();
    for (int g = threadIdx.x; g < Groups; g += blockDim.x)
    {
        if (acc[g].rows == 0) continue;
        atomicAdd((unsigned long long*)&result[g].revenue, (unsigned long long)acc[g].revenue);
        atomicAdd(&result[g].rows, acc[g].rows);
        atomicMax(&result[g].maxPrice, acc[g].maxPrice);
    }
}

/* ORDER BY revenue DESC, region: bitonic network over structs, one thread per pair */
template <int Groups>
__global__ void sortGroups(const Group* in, Group* out)
{
    __shared__ Group g[Groups];
    for (int i = threadIdx.x; i < Groups; i += blockDim.x) { g[i] = in[i]; g[i].region = i; }
    __syncthreads();
    for (int k = 2; k <= Groups; k <<= 1)
        for (int j = k >> 1; j > 0; j >>= 1)
        {
            const int t = threadIdx.x;
            const int a = 2 * t - (t & (j - 1)), b = a + j;
            const Group x = g[a], y = g[b];
            const bool before = x.revenue > y.revenue || (x.revenue == y.revenue && x.region < y.region);
            const bool forward = (a & k) == 0;
            if (before != forward) { g[a] = y; g[b] = x; }
            __syncthreads();
        }
    for (int i = threadIdx.x; i < Groups; i += blockDim.x) out[i] = g[i];
}

int main()
{
    constexpr int kRegions = 64;
    const RowId factRows = 250007;
    const int dimRows = 9001;
    const uint32_t tableSize = 16384;
    bool pass = true;

    uint64_t state = 88172645463325252ull;
    auto next = [&]() { state ^= state << 13; state ^= state >> 7; state ^= state << 17; return (uint32_t)(state >> 16); };

    std::vector<Key> dimKey(dimRows);
    std::vector<int> dimRegion(dimRows);
    for (int i = 0; i < dimRows; ++i) { dimKey[i] = i * 7 + 3; dimRegion[i] = (int)((next() % 61 + next() % 4) % kRegions); }

    std::vector<Key> custkey(factRows);
    std::vector<int> shipdate(factRows), price(factRows);
    std::vector<short> discount(factRows);
    std::vector<uint8_t> qty(factRows);
    for (RowId r = 0; r < factRows; ++r)
    {
        custkey[r] = (Key)(next() % (dimRows + 500)) * 7 + 3;   // some dangling references
        shipdate[r] = 19940101 + (int)(next() % 2000);
        price[r] = 100 + (int)(next() % 90000);
        discount[r] = (short)(next() % 11);
        qty[r] = (uint8_t)(1 + next() % 50);
    }
    const Predicate pred{19940301, 19941500, 7};

    try
    {
        Column<Key> cDimKey(dimKey), cCust(custkey);
        Column<int> cRegion(dimRegion), cDate(shipdate), cPrice(price), cJoined(factRows);
        Column<short> cDisc(discount);
        Column<uint8_t> cQty(qty);
        Column<RowId> cSel(factRows);
        Column<unsigned> cCount(1);
        Column<HashEntry> cTable(tableSize);
        Column<Group> cGroups(kRegions), cSorted(kRegions);
        cTable.fill(0xFF);
        cCount.fill(0);
        cGroups.fill(0);

        filterCompact<<<(factRows + 255) / 256, 256>>>(cDate.data(), cDisc.data(), factRows, pred, cSel.data(), cCount.data());
        EXEC(cudaGetLastError());
        buildTable<<<(dimRows + 127) / 128, 128>>>(cDimKey.data(), cRegion.data(), dimRows, cTable.data(), tableSize - 1);
        EXEC(cudaGetLastError());
        probeTable<<<132, 256>>>(cCust.data(), cSel.data(), cCount.data(), cTable.data(), tableSize - 1, cJoined.data());
        EXEC(cudaGetLastError());
        aggregate<kRegions><<<66, 224>>>(cJoined.data(), cSel.data(), cCount.data(), cQty.data(), cPrice.data(), cGroups.data());
        EXEC(cudaGetLastError());
        sortGroups<kRegions><<<1, kRegions / 2>>>(cGroups.data(), cSorted.data());
        EXEC(cudaGetLastError());
        EXEC(cudaDeviceSynchronize());

        std::map<Key, int> dim;
        for (int i = 0; i < dimRows; ++i) dim[dimKey[i]] = dimRegion[i];
        std::vector<Group> ref(kRegions);
        for (int g = 0; g < kRegions; ++g) ref[g] = Group{0, 0, 0, g};
        unsigned selected = 0;
        for (RowId r = 0; r < factRows; ++r)
        {
            if (shipdate[r] < pred.lo || shipdate[r] > pred.hi || discount[r] >= pred.disc) continue;
            ++selected;
            const auto it = dim.find(custkey[r]);
            if (it == dim.end()) continue;
            Group& g = ref[it->second];
            g.revenue += (Money)qty[r] * price[r];
            ++g.rows;
            g.maxPrice = std::max(g.maxPrice, price[r]);
        }
        std::sort(ref.begin(), ref.end(), [](const Group& a, const Group& b) {
            return a.revenue != b.revenue ? a.revenue > b.revenue : a.region < b.region; });

        if (cCount.fetch()[0] != selected) { printf("selected %u, expected %u\n", cCount.fetch()[0], selected); pass = false; }
        auto sel = cSel.fetch();
        sel.resize(selected);
        std::sort(sel.begin(), sel.end());
        if (std::adjacent_find(sel.begin(), sel.end()) != sel.end()) { printf("duplicate row ids\n"); pass = false; }
        const auto got = cSorted.fetch();
        for (int g = 0; g < kRegions; ++g)
            if (got[g].region != ref[g].region || got[g].revenue != ref[g].revenue || got[g].rows != ref[g].rows || got[g].maxPrice != ref[g].maxPrice)
            {
                printf("row %d: region %d/%d revenue %lld/%lld\n", g, got[g].region, ref[g].region, got[g].revenue, ref[g].revenue);
                pass = false;
            }
        printf("top region %d revenue %lld rows %llu\n", got[0].region, got[0].revenue, got[0].rows);
    }
    catch (const std::exception& e)
    {
        printf("%s\n", e.what());
        pass = false;
    }
    printf("%s\n", pass ? "PASS" : "FAIL");
    return pass ? 0 : 1;
}
