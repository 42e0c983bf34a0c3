// Sorting 16 byte order records.
//  A) whole table: LSD radix sort of (key, index), 5 bits per pass, then one gather of the records
//  B) per customer pages of 64 / 128 / 256 records: odd-even transposition and bitonic, dispatched by a switch
//  C) run detection on the sorted keys and totals per key
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#define CHECKED(x) do { cudaError_t e = (x); if (e != cudaSuccess) { \
    printf("error '%s' in line %d\n", cudaGetErrorString(e), __LINE__); exit(1); } } while (0)

struct __align__(16) Order {
    unsigned short day;          // sort key A (15 bits used)
    unsigned char  kind, flags;
    int            amount;
    unsigned       customer;
    float          rate;
};

enum { BITS = 5, DIGITS = 1 << BITS, THREADS = 64, PER_THREAD = 12, TILE = THREADS * PER_THREAD };

__global__ void extract_keys(const Order* o, int n, unsigned short* key, int* index)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { key[i] = o[i].day; index[i] = i; }
}

// counts are digit major: count[digit * blocks + block]
__global__ void digit_count(const unsigned short* key, int n, int shift, int* count)
{
    __shared__ int h[DIGITS];
    if (threadIdx.x < DIGITS) h[threadIdx.x] = 0;
    __syncthreads();
    int base = blockIdx.x * TILE;
    for (int k = threadIdx.x; k < TILE; k += THREADS)
        if (base + k < n) atomicAdd(&h[(key[base + k] >> shift) & (DIGITS - 1)], 1);
    __syncthreads();
    if (threadIdx.x < DIGITS) count[threadIdx.x * gridDim.x + blockIdx.x] = h[threadIdx.x];
}

// exclusive scan in place, one block of 512, carry from chunk to chunk
__global__ void scan_in_place(int* a, int n)
{
    __shared__ int warp_sum[16];
    __shared__ int carry;
    const int lane = threadIdx.x % 32, w = threadIdx.x / 32;
    if (threadIdx.x == 0) carry = 0;
    __syncthreads();
    for (int base = 0; base < n; base += 512) {
        int i = base + threadIdx.x;
        int v = i < n ? a[i] : 0, s = v;
        for (int d = 1; d < 32; d *= 2) {
            int t = __shfl_up_sync(0xffffffffu, s, d);
            if (lane >= d) s += t;
        }
        if (lane == 31) warp_sum[w] = s;
        __syncthreads();
        int before = carry;
        for (int k = 0; k < w; ++k) before += warp_sum[k];
        if (i < n) a[i] = before + s - v;
        __syncthreads();
        if (threadIdx.x == 511) carry = before + s;
        __syncthreads();
    }
}

// stable: every thread owns PER_THREAD consecutive items and a private counter column
__global__ void digit_scatter(const unsigned short* key, const int* index, int n, int shift, const int* offset,
                              unsigned short* key_out, int* index_out)
{
    __shared__ unsigned short counter[DIGITS][THREADS];
    const int t = threadIdx.x;
    for (int d = 0; d < DIGITS; ++d) counter[d][t] = 0;
    int first = blockIdx.x * TILE + t * PER_THREAD;
    unsigned short mine[PER_THREAD];
    for (int k = 0; k < PER_THREAD; ++k) {
        mine[k] = first + k < n ? key[first + k] : 0;
        if (first + k < n) counter[(mine[k] >> shift) & (DIGITS - 1)][t]++;
    }
    __syncthreads();
    if (t < DIGITS) {                                   // exclusive scan along the row of one digit
        int run = 0;
        for (int k = 0; k < THREADS; ++k) { int c = counter[t][k]; counter[t][k] = (unsigned short)run; run += c; }
    }
    __syncthreads();
    for (int k = 0; k < PER_THREAD && first + k < n; ++k) {
        int d = (mine[k] >> shift) & (DIGITS - 1);
        int to = offset[d * gridDim.x + blockIdx.x] + counter[d][t]++;
        key_out[to] = mine[k];
        index_out[to] = index[first + k];
    }
}

__global__ void gather_orders(const int4* in, const int* index, int n, int4* out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[index[i]];
}

__host__ __device__ inline bool comes_after(const Order& a, const Order& b)     // by amount, then customer
{
    return a.amount != b.amount ? a.amount > b.amount : a.customer > b.customer;
}

template <int PAGE>
__global__ void page_odd_even(Order* o)
{
    __shared__ Order s[PAGE];
    const int t = threadIdx.x;                           // PAGE / 2 threads
    Order* page = o + blockIdx.x * PAGE;
    s[t] = page[t];
    s[t + PAGE / 2] = page[t + PAGE / 2];
    __syncthreads();
    for (int round = 0; round < PAGE; ++round) {
        int a = 2 * t + (round & 1);
        if (a + 1 < PAGE && comes_after(s[a], s[a + 1])) {
            Order x = s[a];
            s[a] = s[a + 1];
            s[a + 1] = x;
        }
        __syncthreads();
    }
    page[t] = s[t];
    page[t + PAGE / 2] = s[t + PAGE / 2];
}

// only a 64 bit key and a position are exchanged, the records follow at the end
template <int PAGE>
__global__ void page_bitonic(const Order* in, Order* out)
{
    __shared__ unsigned long long key[PAGE];
    __shared__ unsigned short from[PAGE];
    const int t = threadIdx.x;                           // PAGE threads
    const Order* page = in + blockIdx.x * PAGE;
    key[t] = ((unsigned long long)(unsigned)page[t].amount << 32) | page[t].customer;
    from[t] = (unsigned short)t;
    __syncthreads();
    for (int size = 2; size <= PAGE; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            int other = t ^ stride;
            if (other > t) {
                bool up = (t & size) == 0;
                if ((key[t] > key[other]) == up) {
                    unsigned long long k = key[t]; key[t] = key[other]; key[other] = k;
                    unsigned short f = from[t]; from[t] = from[other]; from[other] = f;
                }
            }
            __syncthreads();
        }
    out[blockIdx.x * PAGE + t] = page[from[t]];
}

static bool sort_pages(int page, bool bitonic, const Order* in, Order* out, int n)
{
    int blocks = n / page;
    if (!bitonic) CHECKED(cudaMemcpy(out, in, sizeof(Order) * n, cudaMemcpyDeviceToDevice));
    switch (page) {
    case 64:
        if (bitonic) page_bitonic<64><<<blocks, 64>>>(in, out); else page_odd_even<64><<<blocks, 32>>>(out);
        return true;
    case 128:
        if (bitonic) page_bitonic<128><<<blocks, 128>>>(in, out); else page_odd_even<128><<<blocks, 64>>>(out);
        return true;
    case 256:
        if (bitonic) page_bitonic<256><<<blocks, 256>>>(in, out); else page_odd_even<256><<<blocks, 128>>>(out);
        return true;
    default:
        return false;
    }
}

__global__ void run_heads(const unsigned short* key, int n, int* head)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) head[i] = i == 0 || key[i] != key[i - 1];
}

// after the exclusive scan of the heads: run number = scan[i] + head - 1
__global__ void run_totals(const unsigned short* key, const int* scan, const Order* sorted, int n, unsigned short* run_key,
                           unsigned long long* total)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int is_head = i == 0 || key[i] != key[i - 1];
    int run = scan[i] + is_head - 1;
    if (is_head) run_key[run] = key[i];
    atomicAdd(&total[run], (unsigned long long)sorted[i].amount);
}

int main()
{
    const int n = 30000 - 30000 % 256;
    std::mt19937 gen(20240229);
    std::uniform_int_distribution<int> amount(1, 4000000), cust(0, 9999), kind(0, 9);
    std::binomial_distribution<int> day(3000, 0.37);
    std::vector<Order> orders(n);
    for (Order& o : orders) {
        o.day = (unsigned short)(day(gen) * 7 + kind(gen));
        o.kind = (unsigned char)kind(gen);
        o.flags = 0;
        o.amount = amount(gen);
        o.customer = cust(gen);
        o.rate = 0.01f * kind(gen);
    }

    const int blocks = (n + TILE - 1) / TILE, lin = (n + 255) / 256;
    Order *d_in, *d_sorted; unsigned short *key[2], *run_key; int *index[2], *count, *head; unsigned long long* total;
    CHECKED(cudaMalloc(&d_in, n * sizeof(Order)));
    CHECKED(cudaMalloc(&d_sorted, n * sizeof(Order)));
    for (int k = 0; k < 2; ++k) {
        CHECKED(cudaMalloc(&key[k], n * sizeof(unsigned short)));
        CHECKED(cudaMalloc(&index[k], n * sizeof(int)));
    }
    CHECKED(cudaMalloc(&count, DIGITS * blocks * sizeof(int)));
    CHECKED(cudaMalloc(&head, n * sizeof(int)));
    CHECKED(cudaMalloc(&run_key, n * sizeof(unsigned short)));
    CHECKED(cudaMalloc(&total, n * sizeof(unsigned long long)));
    CHECKED(cudaMemset(total, 0, n * sizeof(unsigned long long)));
    CHECKED(cudaMemcpy(d_in, orders.data(), n * sizeof(Order), cudaMemcpyHostToDevice));

    extract_keys<<<lin, 256>>>(d_in, n, key[0], index[0]);
    int cur = 0;
    for (int shift = 0; shift < 15; shift += BITS) {
        digit_count<<<blocks, THREADS>>>(key[cur], n, shift, count);
        scan_in_place<<<1, 512>>>(count, DIGITS * blocks);
        digit_scatter<<<blocks, THREADS>>>(key[cur], index[cur], n, shift, count, key[1 - cur], index[1 - cur]);
        cur = 1 - cur;
    }
    gather_orders<<<lin, 256>>>((const int4*)d_in, index[cur], n, (int4*)d_sorted);
    run_heads<<<lin, 256>>>(key[cur], n, head);
    scan_in_place<<<1, 512>>>(head, n);
    run_totals<<<lin, 256>>>(key[cur], head, d_sorted, n, run_key, total);
    CHECKED(cudaGetLastError());

    std::vector<Order> got(n), want = orders;
    std::vector<unsigned short> rk(n);
    std::vector<unsigned long long> tot(n);
    CHECKED(cudaMemcpy(got.data(), d_sorted, n * sizeof(Order), cudaMemcpyDeviceToHost));
    CHECKED(cudaMemcpy(rk.data(), run_key, n * sizeof(unsigned short), cudaMemcpyDeviceToHost));
    CHECKED(cudaMemcpy(tot.data(), total, n * sizeof(unsigned long long), cudaMemcpyDeviceToHost));
    std::stable_sort(want.begin(), want.end(), [](const Order& a, const Order& b) { return a.day < b.day; });
    int bad = memcmp(got.data(), want.data(), n * sizeof(Order)) != 0;
    printf("radix sort: %s\n", bad ? "wrong" : "ok");
    int runs = 0;
    for (int i = 0; i < n; ++runs) {
        unsigned long long sum = 0;
        int j = i;
        while (j < n && want[j].day == want[i].day) sum += want[j++].amount;
        bad += rk[runs] != want[i].day || tot[runs] != sum;
        i = j;
    }
    printf("%d different days, %d problems so far\n", runs, bad);

    for (int page : {64, 128, 256}) {
        want = orders;
        for (int p = 0; p < n; p += page)
            std::sort(want.begin() + p, want.begin() + p + page, [](const Order& a, const Order& b) { return comes_after(b, a); });
        for (int bitonic = 0; bitonic < 2; ++bitonic) {
            if (!sort_pages(page, bitonic != 0, d_in, d_sorted, n)) ++bad;
            CHECKED(cudaGetLastError());
            CHECKED(cudaMemcpy(got.data(), d_sorted, n * sizeof(Order), cudaMemcpyDeviceToHost));
            int wrong = 0;
            for (int i = 0; i < n; ++i) wrong += got[i].amount != want[i].amount || got[i].customer != want[i].customer;
            printf("pages of %3d, %-8s: %d wrong\n", page, bitonic ? "bitonic" : "odd-even", wrong);
            bad += wrong;
        }
    }
    cudaFree(d_in); cudaFree(d_sorted); cudaFree(count); cudaFree(head); cudaFree(run_key); cudaFree(total);
    for (int k = 0; k < 2; ++k) { cudaFree(key[k]); cudaFree(index[k]); }
    puts(bad ? "FAIL" : "PASS");
    return bad ? 1 : 0;
}
