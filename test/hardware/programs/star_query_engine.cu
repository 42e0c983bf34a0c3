// Mini columnar query engine: filter -> compact -> hash join -> group by.
//   SELECT d.grp, SUM(price*qty), COUNT(*) FROM fact JOIN dim ON fk = key
//   WHERE ship_date BETWEEN a AND b AND discount < c GROUP BY d.grp
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>
#include <cuda_runtime.h>

namespace db {

inline void cuda_try(cudaError_t e, const char* what, int line) {
    if (e != cudaSuccess) {
        std::fprintf(stderr, "%s failed at line %d: %s\n", what, line, cudaGetErrorString(e));
        std::exit(2);
    }
}
#define CU_TRY(expr) ::db::cuda_try((expr), #expr, __LINE__)

template <class T>
class Column {
public:
    explicit Column(size_t n, int fill = 0) : n_(n) {
        CU_TRY(cudaMalloc(&d_, n * sizeof(T)));
        CU_TRY(cudaMemset(d_, fill, n * sizeof(T)));
    }
    explicit Column(const std::vector<T>& h) : n_(h.size()) {
        CU_TRY(cudaMalloc(&d_, n_ * sizeof(T)));
        CU_TRY(cudaMemcpy(d_, h.data(), n_ * sizeof(T), cudaMemcpyHostToDevice));
    }
    Column(const Column&) = delete;
    Column& operator=(const Column&) = delete;
    ~Column() { cudaFree(d_); }
    T* data() { return d_; }
    const T* data() const { return d_; }
    std::vector<T> download() const {
        std::vector<T> h(n_);
        CU_TRY(cudaMemcpy(h.data(), d_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
        return h;
    }
private:
    T* d_ = nullptr;
    size_t n_ = 0;
};

enum class Op { Less, AtLeast, Between };

template <class T, Op OP>
struct Predicate {
    T lo, hi;
    __host__ __device__ bool operator()(T v) const {
        if constexpr (OP == Op::Less) return v < hi;
        else if constexpr (OP == Op::AtLeast) return v >= lo;
        else return v >= lo && v <= hi;
    }
};

#pragma pack(push, 1)
struct LineItem {          // row-store twin of the columns: 11 bytes, never aligned
    uint8_t  discount;
    int32_t  ship_date;
    uint16_t qty;
    uint32_t price;
};
#pragma pack(pop)

struct alignas(8) Slot { uint32_t key; uint32_t group; };

constexpr int      kTile     = 1024;
constexpr int      kLogBkt   = 14;
constexpr uint32_t kBuckets  = 1u << kLogBkt;
constexpr int      kWays     = 4;
constexpr int      kGroups   = 100;

__host__ __device__ inline uint32_t bucket_of(uint32_t key) {
    return (key * 2654435761u) & (kBuckets - 1);   // odd multiplier: bijective on the low bits
}

template <class P1, class P2>
__global__ void filter_columns(const int32_t* __restrict__ date, const uint8_t* __restrict__ disc,
                               int n, uint32_t* __restrict__ bitmap, P1 p1, P2 p2) {
    const int padded = (n + 31) & ~31;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < padded; i += gridDim.x * blockDim.x) {
        bool keep = i < n && p1(date[i]) && p2(disc[i]);
        unsigned m = __ballot_sync(0xFFFFFFFFu, keep);
        if ((threadIdx.x & 31) == 0) bitmap[i >> 5] = m;
    }
}

template <class P1, class P2>
__global__ void filter_rows(const LineItem* rows, int n, uint32_t* bitmap, P1 p1, P2 p2) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool keep = false;
    if (i < n) {
        const LineItem it = rows[i];
        keep = p1(it.ship_date) && p2(it.discount);
    }
    unsigned m = __ballot_sync(0xFFFFFFFFu, keep);
    if ((threadIdx.x & 31) == 0 && i < n) bitmap[i >> 5] = m;
}

// one block; thread t owns tile t (32 consecutive words), exclusive scan over tiles
__global__ void __launch_bounds__(512) tile_offsets(const uint32_t* bitmap, int words, int tiles,
                                                    int* offsets) {
    __shared__ int buf[2][512];
    int t = threadIdx.x, mine = 0;
    if (t < tiles)
        for (int w = 0; w < 32; ++w) {
            int idx = t * 32 + w;
            if (idx < words) mine += __popc(bitmap[idx]);
        }
    int cur = 0;
    buf[0][t] = mine;
    __syncthreads();
    for (int d = 1; d < 512; d <<= 1) {
        int v = buf[cur][t];
        if (t >= d) v += buf[cur][t - d];
        buf[cur ^ 1][t] = v;
        cur ^= 1;
        __syncthreads();
    }
    if (t < tiles) offsets[t] = buf[cur][t] - mine;
    if (t == tiles - 1) offsets[tiles] = buf[cur][t];
}

__global__ void __launch_bounds__(kTile) compact_rows(const uint32_t* bitmap, int words,
                                                      const int* offsets, int* row_ids) {
    __shared__ uint32_t word[32];
    __shared__ int before[32];
    const int tile = blockIdx.x, t = threadIdx.x, lane = t & 31, w = t >> 5;
    if (t < 32) {
        uint32_t x = tile * 32 + t < words ? bitmap[tile * 32 + t] : 0u;
        int c = __popc(x), s = c;
        for (int d = 1; d < 32; d <<= 1) {
            int o = __shfl_up_sync(0xFFFFFFFFu, s, d);
            if (lane >= d) s += o;
        }
        word[t] = x;
        before[t] = s - c;
    }
    __syncthreads();
    uint32_t x = word[w];
    if ((x >> lane) & 1u) {
        int pos = offsets[tile] + before[w] + __popc(x & ((1u << lane) - 1u));
        row_ids[pos] = tile * kTile + t;
    }
}

__global__ void build_side(const uint32_t* keys, const uint8_t* groups, int n, Slot* table) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32_t k = keys[i];
    uint32_t way = k >> kLogBkt;                 // set-associative, conflict-free by construction
    table[bucket_of(k) * kWays + way] = Slot{k, groups[i]};
}

__global__ void probe_group_by(const int* __restrict__ row_ids, int n_sel,
                               const uint32_t* __restrict__ fk, const uint32_t* __restrict__ price,
                               const uint16_t* __restrict__ qty, const Slot* __restrict__ table,
                               unsigned long long* sums, unsigned* counts) {
    __shared__ unsigned long long s_sum[kGroups];
    __shared__ unsigned s_cnt[kGroups];
    for (int g = threadIdx.x; g < kGroups; g += blockDim.x) { s_sum[g] = 0; s_cnt[g] = 0; }
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n_sel; i += gridDim.x * blockDim.x) {
        int row = row_ids[i];
        uint32_t k = fk[row];
        const Slot* b = table + size_t(bucket_of(k)) * kWays;
        for (int w = 0; w < kWays; ++w) {
            Slot s = b[w];
            if (s.key == k) {
                atomicAdd(&s_sum[s.group], (unsigned long long)price[row] * qty[row]);
                atomicAdd(&s_cnt[s.group], 1u);
                break;
            }
        }
    }
    __syncthreads();
    for (int g = threadIdx.x; g < kGroups; g += blockDim.x) {
        if (s_cnt[g]) {
            atomicAdd(&sums[g], s_sum[g]);
            atomicAdd(&counts[g], s_cnt[g]);
        }
    }
}

}  // namespace db

int main(int argc, char** argv) {
    using namespace db;
    int n = argc > 1 ? std::atoi(argv[1]) : 500003;
    if (n < 1 || n > 512 * kTile) n = 500003;
    const int dim_n = 60000;

    uint64_t state = 88172645463325252ull;
    auto rnd = [&state]() { state ^= state << 13; state ^= state >> 7; state ^= state << 17; return uint32_t(state >> 20); };

    std::vector<int32_t> date(n); std::vector<uint8_t> disc(n); std::vector<uint16_t> qty(n);
    std::vector<uint32_t> price(n), fk(n); std::vector<LineItem> rows(n);
    for (int i = 0; i < n; ++i) {
        date[i] = 9000 + int(rnd() % 2500); disc[i] = uint8_t(rnd() % 11); qty[i] = uint16_t(1 + rnd() % 50);
        price[i] = 100 + rnd() % 90000; fk[i] = rnd() % (kBuckets * kWays);
        rows[i] = LineItem{disc[i], date[i], qty[i], price[i]};
    }
    std::vector<uint32_t> keys(dim_n); std::vector<uint8_t> grp(dim_n);
    for (int i = 0; i < dim_n; ++i) keys[i] = uint32_t(i);
    for (int i = dim_n - 1; i > 0; --i) std::swap(keys[i], keys[rnd() % (i + 1)]);
    for (int i = 0; i < dim_n; ++i) grp[i] = uint8_t((keys[i] * 7u + keys[i] / 13u) % kGroups);

    Predicate<int32_t, Op::Between> p_date{9300, 10800};
    Predicate<uint8_t, Op::Less> p_disc{0, 7};

    const int words = (n + 31) / 32, tiles = (n + kTile - 1) / kTile;
    Column<int32_t> d_date(date); Column<uint8_t> d_disc(disc); Column<uint16_t> d_qty(qty);
    Column<uint32_t> d_price(price), d_fk(fk), d_keys(keys); Column<uint8_t> d_grp(grp);
    Column<LineItem> d_rows(rows);
    Column<uint32_t> bm_a(words), bm_b(words);
    Column<int> offs(tiles + 1), ids(n);
    Column<Slot> table(size_t(kBuckets) * kWays, 0xFF);
    Column<unsigned long long> sums(kGroups); Column<unsigned> counts(kGroups);

    filter_columns<<<264, 256>>>(d_date.data(), d_disc.data(), n, bm_a.data(), p_date, p_disc);
    CU_TRY(cudaGetLastError());
    filter_rows<<<(n + 255) / 256, 256>>>(d_rows.data(), n, bm_b.data(), p_date, p_disc);
    CU_TRY(cudaGetLastError());
    tile_offsets<<<1, 512>>>(bm_a.data(), words, tiles, offs.data());
    CU_TRY(cudaGetLastError());
    compact_rows<<<tiles, kTile>>>(bm_a.data(), words, offs.data(), ids.data());
    CU_TRY(cudaGetLastError());
    build_side<<<(dim_n + 191) / 192, 192>>>(d_keys.data(), d_grp.data(), dim_n, table.data());
    CU_TRY(cudaGetLastError());
    const int n_sel = offs.download()[tiles];
    if (n_sel > 0)
        probe_group_by<<<132, 512>>>(ids.data(), n_sel, d_fk.data(), d_price.data(), d_qty.data(),
                                     table.data(), sums.data(), counts.data());
    CU_TRY(cudaGetLastError());
    CU_TRY(cudaDeviceSynchronize());

    std::vector<int> group_of(kBuckets * kWays, -1);
    for (int i = 0; i < dim_n; ++i) group_of[keys[i]] = grp[i];
    std::vector<unsigned long long> ref_sum(kGroups, 0); std::vector<unsigned> ref_cnt(kGroups, 0);
    std::vector<int> ref_ids;
    for (int i = 0; i < n; ++i) {
        if (!(p_date(date[i]) && p_disc(disc[i]))) continue;
        ref_ids.push_back(i);
        int g = group_of[fk[i]];
        if (g >= 0) { ref_sum[g] += (unsigned long long)price[i] * qty[i]; ref_cnt[g]++; }
    }
    bool ok = n_sel == int(ref_ids.size()) && bm_a.download() == bm_b.download();
    auto got = ids.download();
    for (int i = 0; ok && i < n_sel; ++i) ok = got[i] == ref_ids[i];
    ok = ok && sums.download() == ref_sum && counts.download() == ref_cnt;
    std::printf("selected %d of %d rows, group 0 sum %llu\n%s\n", n_sel, n, ref_sum[0], ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
