#include <algorithm>
#include "operators.cuh"

using Total = unsigned long long;

struct Cell {             // accumulators of one symbol in global memory
    Total cost;
    int trades;
    int worst;
};

static int blocks(int rows) { return std::min((rows + 511) / 512, 132); }

__global__ void group_global(const int2* __restrict__ value, const int* __restrict__ group, int n,
                             Cell* __restrict__ cells) {
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += gridDim.x * blockDim.x) {
        int g = group[k];
        if (g < 0) continue;
        int2 v = value[k];
        atomicAdd(&cells[g].cost, Total(v.x) * Total(v.y));
        atomicAdd(&cells[g].trades, 1);
        atomicMax(&cells[g].worst, v.x);
    }
}

__global__ void group_shared(const int2* __restrict__ value, const int* __restrict__ group, int n, int symbols,
                             Cell* __restrict__ cells) {
    extern __shared__ Total pool[];
    Total* cost = pool;
    int* trades = reinterpret_cast<int*>(pool + symbols);
    int* worst = trades + symbols;
    for (int s = threadIdx.x; s < symbols; s += blockDim.x) {
        cost[s] = 0;
        trades[s] = 0;
        worst[s] = 0;
    }
    __syncthreads();
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += gridDim.x * blockDim.x) {
        int g = group[k];
        if (g < 0) continue;
        int2 v = value[k];
        atomicAdd(&cost[g], Total(v.x) * Total(v.y));
        atomicAdd(&trades[g], 1);
        atomicMax(&worst[g], v.x);
    }
    __syncthreads();
    for (int s = threadIdx.x; s < symbols; s += blockDim.x)
        if (trades[s]) {
            atomicAdd(&cells[s].cost, cost[s]);
            atomicAdd(&cells[s].trades, trades[s]);
            atomicMax(&cells[s].worst, worst[s]);
        }
}

// bitonic sort of up to 512 (cost, symbol) pairs in one block, largest first
__global__ void rank_one_block(const Total* __restrict__ key_in, int n, int* __restrict__ order) {
    __shared__ Total key[512];
    __shared__ int id[512];
    int t = threadIdx.x;
    key[t] = t < n ? key_in[t] + 1 : 0;
    id[t] = t;
    __syncthreads();
    for (int size = 2; size <= 512; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            int o = t ^ stride;
            if (o > t) {
                bool down = (t & size) == 0;
                bool less = key[t] < key[o] || (key[t] == key[o] && id[t] > id[o]);
                if (less == down) {
                    Total k = key[t]; key[t] = key[o]; key[o] = k;
                    int i = id[t]; id[t] = id[o]; id[o] = i;
                }
            }
            __syncthreads();
        }
    if (t < n) order[t] = id[t];
}

std::vector<SymbolCost> group_costs(const Joined& j, int rows, int symbols, bool privatised) {
    Column<Cell> cells(symbols);
    cells.fill_zero();
    if (privatised)
        group_shared<<<blocks(rows), 256, symbols * (sizeof(Total) + 2 * sizeof(int))>>>(j.value.get(), j.group.get(),
                                                                                        rows, symbols, cells.get());
    else
        group_global<<<blocks(rows), 256>>>(j.value.get(), j.group.get(), rows, cells.get());
    throw_on(cudaGetLastError(), "group");
    std::vector<SymbolCost> out;
    for (const Cell& c : cells.to_host(symbols)) out.push_back({(long long)c.cost, c.trades, c.worst});
    return out;
}

std::vector<int> rank_symbols(const std::vector<SymbolCost>& c, int top) {
    if (c.size() > 512) throw std::runtime_error("rank: at most 512 symbols");
    std::vector<Total> keys;
    for (auto& x : c) keys.push_back(Total(x.cost));
    Column<Total> d(keys);
    Column<int> order(keys.size());
    rank_one_block<<<1, 512>>>(d.get(), int(keys.size()), order.get());
    throw_on(cudaGetLastError(), "rank");
    return order.to_host(std::min<size_t>(size_t(top), keys.size()));
}
