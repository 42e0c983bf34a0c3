#include "operators.cuh"

static int blocks(int rows, int per_block) { return (rows + per_block - 1) / per_block; }

static __device__ void emit(int k, int price, unsigned size, int sym, const Quote* q, bool found,
                            int2* __restrict__ value, int* __restrict__ group) {
    if (!found) {
        value[k] = make_int2(0, 0);
        group[k] = -1;
        return;
    }
    int slip = 2 * price - q->bid - q->ask;
    value[k] = make_int2(slip < 0 ? -slip : slip, int(size));
    group[k] = sym;
}

// plain bisection inside the symbol's range, touches one field of the 16 byte rows
__global__ void asof_bisect(const std::uint32_t* __restrict__ time, const std::int32_t* __restrict__ price,
                            const std::uint32_t* __restrict__ size, const std::uint16_t* __restrict__ symbol,
                            const int* __restrict__ first, const Quote* __restrict__ quotes,
                            const int* __restrict__ rows, int n, int2* __restrict__ value, int* __restrict__ group) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= n) return;
    int r = rows[k], sym = symbol[r];
    unsigned t = time[r];
    int begin = first[sym], lo = begin, hi = first[sym + 1];
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (quotes[mid].time <= t) lo = mid + 1;
        else hi = mid;
    }
    emit(k, price[r], size[r], sym, quotes + lo - 1, lo > begin, value, group);
}

// eight lanes probe together and narrow the range by nine each turn
__global__ void asof_group_probe(const std::uint32_t* __restrict__ time, const std::int32_t* __restrict__ price,
                                 const std::uint32_t* __restrict__ size, const std::uint16_t* __restrict__ symbol,
                                 const int* __restrict__ first, const Quote* __restrict__ quotes,
                                 const int* __restrict__ rows, int n, int2* __restrict__ value,
                                 int* __restrict__ group) {
    int k = (blockIdx.x * blockDim.x + threadIdx.x) / 8, lane = threadIdx.x % 8;
    bool live = k < n;
    int r = live ? rows[k] : 0, sym = live ? symbol[r] : 0;
    unsigned t = live ? time[r] : 0;
    int begin = live ? first[sym] : 0, lo = begin, hi = live ? first[sym + 1] : 0;
    while (__any_sync(0xffffffffu, lo < hi)) {
        int span = hi - lo, step = span / 9 + 1;
        int at = lo + (lane + 1) * step - 1;
        bool before = at < hi && quotes[at].time <= t;
        unsigned votes = __ballot_sync(0xffffffffu, before) >> (threadIdx.x % 32 / 8 * 8) & 0xffu;
        int c = __popc(votes);
        if (lo < hi) {
            int low = lo + c * step;
            int high = lo + (c + 1) * step - 1;
            if (c < 8 && high < hi) hi = high;
            lo = low;
        }
    }
    if (live && lane == 0) emit(k, price[r], size[r], sym, quotes + lo - 1, lo > begin, value, group);
}

namespace {
template <class Kernel>
Joined launch(Kernel kernel, int lanes, const DeviceTrades& t, const DeviceQuotes& q, const Column<int>& sel, int n) {
    Joined j{Column<int2>(n), Column<int>(n)};
    const int threads = 128;
    kernel<<<blocks(n, threads / lanes), threads>>>(t.time.get(), t.price.get(), t.size.get(), t.symbol.get(),
                                                    q.first.get(), q.rows.get(), sel.get(), n, j.value.get(),
                                                    j.group.get());
    throw_on(cudaGetLastError(), "asof");
    return j;
}
}  // namespace

const std::map<std::string, JoinFn>& join_operators() {
    static const std::map<std::string, JoinFn> ops = {
        {"bisect", [](const DeviceTrades& t, const DeviceQuotes& q, const Column<int>& s, int n) {
             return launch(asof_bisect, 1, t, q, s, n);
         }},
        {"group", [](const DeviceTrades& t, const DeviceQuotes& q, const Column<int>& s, int n) {
             return launch(asof_group_probe, 8, t, q, s, n);
         }},
    };
    return ops;
}
