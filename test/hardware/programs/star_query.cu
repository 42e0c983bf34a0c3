// SELECT   c.nation, p.brand_code, SUM(f.qty * f.price), COUNT(*), MIN(f.price)
// FROM     fact f JOIN customer c ON f.cust_key = c.key JOIN part p ON f.part_id = p.id
// WHERE    p.name LIKE '%<needle>%' AND f.ship_day BETWEEN lo AND hi AND NOT f.deleted
// GROUP BY c.nation, p.brand_code
//
// Part names are dictionary strings (offsets + bytes); the ship date is FOR-encoded
// (frame of reference, 12 bit packed, 1024 values per page); deletions are a bitmap.
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#define CHECK_CUDA(call)                                                                    \
    if (cudaError_t err = (call); err != cudaSuccess) {                                     \
        std::cerr << "CUDA error " << cudaGetErrorName(err) << " at line " << __LINE__ << '\n'; \
        std::exit(1);                                                                       \
    }

using u32 = uint32_t;
using u64 = unsigned long long;

constexpr int kNations = 25;
constexpr int kBrands = 40;
constexpr int kGroups = kNations * kBrands;
constexpr int kPageRows = 1024;
constexpr int kDayBits = 12;
constexpr u32 kEmptyKey = 0xffffffffu;

struct GroupAgg {
    u64 revenue;
    u32 rows;
    u32 min_price;
};

struct HashSlot {
    u32 key;
    u32 payload;
};

template <typename T>
class Column {
public:
    Column() = default;
    explicit Column(size_t n, int fill = 0) : n_(n) {
        CHECK_CUDA(cudaMalloc(&d_, n * sizeof(T)));
        CHECK_CUDA(cudaMemset(d_, fill, n * sizeof(T)));
    }
    explicit Column(const std::vector<T>& v) : Column(v.size()) {
        CHECK_CUDA(cudaMemcpy(d_, v.data(), n_ * sizeof(T), cudaMemcpyHostToDevice));
    }
    Column(const Column&) = delete;
    Column& operator=(const Column&) = delete;
    ~Column() { cudaFree(d_); }
    operator T*() { return d_; }
    std::vector<T> fetch() const {
        std::vector<T> v(n_);
        CHECK_CUDA(cudaMemcpy(v.data(), d_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
        return v;
    }

private:
    T* d_ = nullptr;
    size_t n_ = 0;
};

__host__ __device__ inline u32 murmur_mix(u32 h) {
    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h *= 0xc2b2ae35u;
    return h ^ (h >> 16);
}

// ---- build side: linear probing table on the customer key -------------------------------
__global__ void build_hash(const u32* keys, const uint8_t* nation, int n, HashSlot* table, u32 mask) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const u32 key = keys[i];
    u32 slot = murmur_mix(key) & mask;
    while (true) {
        const u32 old = atomicCAS(&table[slot].key, kEmptyKey, key);
        if (old == kEmptyKey || old == key) {
            table[slot].payload = nation[i];
            return;
        }
        slot = (slot + 1) & mask;
    }
}

// ---- LIKE '%needle%' over the dictionary, one thread per string -------------------------
struct Needle {
    char text[16];
    int len;
};

__global__ void like_contains(const char* bytes, const u32* offsets, int n, Needle needle, u32* match_bits) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool hit = false;
    if (i < n) {
        const u32 b = offsets[i], e = offsets[i + 1];
        for (u32 p = b; p + needle.len <= e && !hit; ++p) {
            int k = 0;
            while (k < needle.len && bytes[p + k] == needle.text[k]) ++k;
            hit = (k == needle.len);
        }
    }
    const u32 word = __ballot_sync(0xffffffffu, hit);
    if ((threadIdx.x & 31) == 0 && i < n) match_bits[i / 32] = word;
}

// ---- page decode: base + 12 bit deltas ---------------------------------------------------
__global__ void decode_days(const u32* packed, const int* page_base, uint16_t* days, int rows) {
    constexpr int kWords = kPageRows * kDayBits / 32;
    __shared__ u32 page[kWords + 1];
    const u32* src = packed + static_cast<size_t>(blockIdx.x) * kWords;
    for (int w = threadIdx.x; w < kWords; w += blockDim.x) page[w] = src[w];
    if (threadIdx.x == 0) page[kWords] = 0;
    __syncthreads();
    const int base = page_base[blockIdx.x];
    for (int r = threadIdx.x; r < kPageRows; r += blockDim.x) {
        const int row = blockIdx.x * kPageRows + r;
        if (row >= rows) break;
        const int bit = r * kDayBits;
        const u32 v = __funnelshift_r(page[bit / 32], page[bit / 32 + 1], bit & 31) & ((1u << kDayBits) - 1);
        days[row] = static_cast<uint16_t>(base + v);
    }
}

// ---- filter + compaction -------------------------------------------------------------------
template <int BLOCK, int ITEMS>
__global__ void filter_compact(const uint16_t* days, const u32* deleted, const int* part_id, const u32* part_bits,
                               int lo, int hi, int rows, int* sel, int* sel_count) {
    __shared__ int warp_total[BLOCK / 32];
    __shared__ int block_base;
    const int first = blockIdx.x * BLOCK * ITEMS;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int it = 0; it < ITEMS; ++it) {
        const int row = first + it * BLOCK + threadIdx.x;
        bool keep = false;
        if (row < rows) {
            const int d = days[row];
            keep = d >= lo && d <= hi && !((deleted[row >> 5] >> (row & 31)) & 1u);
            if (keep) {
                const int p = part_id[row];
                keep = (part_bits[p >> 5] >> (p & 31)) & 1u;
            }
        }
        const u32 ballot = __ballot_sync(0xffffffffu, keep);
        if (lane == 0) warp_total[warp] = __popc(ballot);
        __syncthreads();
        if (threadIdx.x == 0) {
            int run = 0;
            for (int w = 0; w < BLOCK / 32; ++w) {
                const int t = warp_total[w];
                warp_total[w] = run;
                run += t;
            }
            block_base = atomicAdd(sel_count, run);
        }
        __syncthreads();
        if (keep) sel[block_base + warp_total[warp] + __popc(ballot & ((1u << lane) - 1))] = row;
        __syncthreads();
    }
}

// ---- probe + aggregate: private table in shared memory, merged at the end -------------------
__global__ void probe_aggregate(const int* sel, const int* sel_count, const u32* cust_key, const int* part_id,
                                const uint8_t* part_brand, const uint8_t* qty, const u32* price,
                                const HashSlot* table, u32 mask, GroupAgg* out) {
    extern __shared__ unsigned char raw[];
    GroupAgg* local = reinterpret_cast<GroupAgg*>(raw);
    for (int g = threadIdx.x; g < kGroups; g += blockDim.x) local[g] = {0ull, 0u, 0xffffffffu};
    __syncthreads();

    const int n = *sel_count;
    for (int s = blockIdx.x * blockDim.x + threadIdx.x; s < n; s += gridDim.x * blockDim.x) {
        const int row = sel[s];
        const u32 key = cust_key[row];
        u32 slot = murmur_mix(key) & mask;
        u32 nation = kEmptyKey;
        for (;;) {
            const uint2 kv = *reinterpret_cast<const uint2*>(table + slot);
            if (kv.x == key) { nation = kv.y; break; }
            if (kv.x == kEmptyKey) break;
            slot = (slot + 1) & mask;
        }
        if (nation == kEmptyKey) continue;
        GroupAgg& g = local[nation * kBrands + part_brand[part_id[row]]];
        atomicAdd(&g.revenue, static_cast<u64>(qty[row]) * price[row]);
        atomicAdd(&g.rows, 1u);
        atomicMin(&g.min_price, price[row]);
    }
    __syncthreads();
    for (int g = threadIdx.x; g < kGroups; g += blockDim.x) {
        if (!local[g].rows) continue;
        atomicAdd(&out[g].revenue, local[g].revenue);
        atomicAdd(&out[g].rows, local[g].rows);
        atomicMin(&out[g].min_price, local[g].min_price);
    }
}

int main(int argc, char** argv) {
    std::string needle = "azure";
    int rows = 1'500'000;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view opt = argv[i];
        if (opt == "--like") needle = argv[i + 1];
        else if (opt == "--rows") rows = std::stoi(argv[i + 1]);
        else { std::cerr << "usage: star_query [--like str] [--rows n]\n"; return 1; }
    }
    if (needle.empty() || needle.size() > 15) return 1;

    std::mt19937 gen(20240229);
    auto pick = [&](int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(gen); };

    // dimension: part
    const std::array<std::string, 10> words = {"azure", "linen", "misty", "salmon", "ivory", "lace", "frosted", "plum", "zaure", "azur"};
    const int parts = 20'011;
    std::vector<u32> offsets{0};
    std::string heap;
    std::vector<std::string> names;
    for (int p = 0; p < parts; ++p) {
        std::ostringstream os;
        for (int k = pick(1, 4); k > 0; --k) os << words[pick(0, 9)] << (k > 1 ? " " : "");
        names.push_back(os.str());
        heap += names.back();
        offsets.push_back(static_cast<u32>(heap.size()));
    }
    std::vector<uint8_t> brand(parts);
    for (auto& b : brand) b = static_cast<uint8_t>(pick(0, kBrands - 1));

    // dimension: customer, sparse unique keys
    const int customers = 60'000;
    std::vector<u32> ckey(customers);
    std::iota(ckey.begin(), ckey.end(), 0u);
    std::transform(ckey.begin(), ckey.end(), ckey.begin(), [](u32 i) { return i * 7919u + 13u; });
    std::shuffle(ckey.begin(), ckey.end(), gen);
    std::vector<uint8_t> nation(customers);
    for (auto& n : nation) n = static_cast<uint8_t>(pick(0, kNations - 1));

    // fact
    const int pages = (rows + kPageRows - 1) / kPageRows;
    std::vector<u32> fkey(rows), price(rows), deleted((rows + 31) / 32, 0), packed(size_t(pages) * kPageRows * kDayBits / 32, 0);
    std::vector<int> fpart(rows), page_base(pages);
    std::vector<uint8_t> qty(rows);
    std::vector<int> day(rows);
    for (int r = 0; r < rows; ++r) {
        fkey[r] = (gen() % 16 == 0) ? 5u + gen() % 100000u * 2u : ckey[gen() % customers];   // some dangling
        fpart[r] = int(gen() % parts);
        qty[r] = uint8_t(1 + gen() % 50);
        price[r] = 100 + gen() % 1'000'000;
        if (gen() % 11 == 0) deleted[r / 32] |= 1u << (r % 32);
        if (r % kPageRows == 0) page_base[r / kPageRows] = 8000 + r / 4096;
        const u32 delta = gen() % (1u << kDayBits);
        day[r] = page_base[r / kPageRows] + int(delta);
        const size_t bit = size_t(r) * kDayBits;
        packed[bit / 32] |= delta << (bit % 32);
        if (bit % 32 + kDayBits > 32) packed[bit / 32 + 1] |= delta >> (32 - bit % 32);
    }
    const int lo = 8500, hi = 11'200;

    // ---- device ----
    u32 cap = 1;
    while (cap < 2u * customers) cap <<= 1;
    std::vector<char> heap_v(heap.begin(), heap.end());
    Column<char> d_heap(heap_v);
    Column<u32> d_off(offsets), d_ckey(ckey), d_fkey(fkey), d_price(price), d_del(deleted), d_packed(packed), d_bits((parts + 31) / 32);
    Column<int> d_part(fpart), d_base(page_base), d_sel(rows), d_count(1);
    Column<uint8_t> d_brand(brand), d_nation(nation), d_qty(qty);
    Column<uint16_t> d_days(rows);
    Column<HashSlot> d_table(cap, 0xff);
    Column<GroupAgg> d_agg(std::vector<GroupAgg>(kGroups, GroupAgg{0, 0, 0xffffffffu}));
    Needle nd{};
    nd.len = int(needle.copy(nd.text, sizeof nd.text));

    build_hash<<<(customers + 255) / 256, 256>>>(d_ckey, d_nation, customers, d_table, cap - 1);
    CHECK_CUDA(cudaGetLastError());
    like_contains<<<(parts + 127) / 128, 128>>>(d_heap, d_off, parts, nd, d_bits);
    CHECK_CUDA(cudaGetLastError());
    decode_days<<<pages, 256>>>(d_packed, d_base, d_days, rows);
    CHECK_CUDA(cudaGetLastError());
    constexpr int kBlock = 256, kItems = 8;
    filter_compact<kBlock, kItems><<<(rows + kBlock * kItems - 1) / (kBlock * kItems), kBlock>>>(
        d_days, d_del, d_part, d_bits, lo, hi, rows, d_sel, d_count);
    CHECK_CUDA(cudaGetLastError());
    probe_aggregate<<<264, 512, kGroups * sizeof(GroupAgg)>>>(d_sel, d_count, d_fkey, d_part, d_brand, d_qty, d_price,
                                                            d_table, cap - 1, d_agg);
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaDeviceSynchronize());

    // ---- reference ----
    std::unordered_map<u32, int> cust;
    for (int i = 0; i < customers; ++i) cust.emplace(ckey[i], nation[i]);
    std::vector<bool> like(parts);
    for (int p = 0; p < parts; ++p) like[p] = names[p].find(needle) != std::string::npos;
    std::map<std::pair<int, int>, GroupAgg> want;
    int selected = 0;
    for (int r = 0; r < rows; ++r) {
        if (!like[fpart[r]] || day[r] < lo || day[r] > hi || (deleted[r / 32] >> (r % 32) & 1u)) continue;
        ++selected;
        const auto it = cust.find(fkey[r]);
        if (it == cust.end()) continue;
        auto& g = want.try_emplace({it->second, brand[fpart[r]]}, GroupAgg{0, 0, 0xffffffffu}).first->second;
        g.revenue += u64(qty[r]) * price[r];
        g.rows++;
        g.min_price = std::min(g.min_price, price[r]);
    }

    const auto got = d_agg.fetch();
    const int got_sel = d_count.fetch()[0];
    int bad = got_sel != selected;
    size_t nonempty = 0;
    for (int g = 0; g < kGroups; ++g) {
        nonempty += got[g].rows != 0;
        const auto it = want.find({g / kBrands, g % kBrands});
        if (it == want.end()) { bad += got[g].rows != 0; continue; }
        const GroupAgg& w = it->second;
        if (w.revenue != got[g].revenue || w.rows != got[g].rows || w.min_price != got[g].min_price) ++bad;
    }
    std::cout << "selected " << got_sel << " (ref " << selected << "), groups " << nonempty << " (ref " << want.size()
              << "), mismatches " << bad << "\n" << (bad ? "FAIL" : "PASS") << std::endl;
    return bad ? 1 : 0;
}
