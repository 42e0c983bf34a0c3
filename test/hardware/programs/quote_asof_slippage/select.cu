#include "operators.cuh"

static constexpr int BLOCK = 256;

static int blocks(int rows) { return (rows + BLOCK - 1) / BLOCK; }

// Stable compaction in two passes over the data: count per block, then write.
__global__ void count_matches(const std::uint32_t* __restrict__ size, const std::uint8_t* __restrict__ venue, int rows,
                              unsigned min_size, unsigned venues, int* __restrict__ per_block) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    bool keep = i < rows && size[i] >= min_size && ((venues >> venue[i]) & 1u);
    int n = __syncthreads_count(keep);
    if (threadIdx.x == 0) per_block[blockIdx.x] = n;
}

__global__ void write_matches(const std::uint32_t* __restrict__ size, const std::uint8_t* __restrict__ venue, int rows,
                              unsigned min_size, unsigned venues, const int* __restrict__ start,
                              int* __restrict__ out) {
    __shared__ int scan[2][BLOCK];
    int i = blockIdx.x * BLOCK + threadIdx.x, t = threadIdx.x;
    bool keep = i < rows && size[i] >= min_size && ((venues >> venue[i]) & 1u);
    int cur = 0;
    scan[0][t] = keep;
    __syncthreads();
    for (int d = 1; d < BLOCK; d *= 2) {          // Hillis and Steele
        scan[cur ^ 1][t] = scan[cur][t] + (t >= d ? scan[cur][t - d] : 0);
        cur ^= 1;
        __syncthreads();
    }
    if (keep) out[start[blockIdx.x] + scan[cur][t] - 1] = i;
}

Column<int> select_trades(const DeviceTrades& t, const TableSpec& s, int& selected) {
    int nb = blocks(t.rows);
    Column<int> per_block(nb);
    count_matches<<<nb, BLOCK>>>(t.size.get(), t.venue.get(), t.rows, unsigned(s.min_size), s.venue_mask,
                                 per_block.get());
    std::vector<int> h = per_block.to_host(nb);
    selected = 0;
    for (int& v : h) {
        int c = v;
        v = selected;
        selected += c;
    }
    Column<int> start(h), out(selected);
    write_matches<<<nb, BLOCK>>>(t.size.get(), t.venue.get(), t.rows, unsigned(s.min_size), s.venue_mask, start.get(),
                                 out.get());
    throw_on(cudaGetLastError(), "select");
    return out;
}
