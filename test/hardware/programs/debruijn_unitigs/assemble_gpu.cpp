// drives the device steps; sizes of later steps come from earlier results
#include <algorithm>
#include "assembly.hpp"
#include <cuda_runtime.h>

namespace asmx {
// the table view is declared for device code, this unit only needs its layout
using Key = unsigned long long;
struct TableView { Key* key; unsigned* count; int* id; unsigned mask; };
struct Chains { std::vector<int> head, length_at_head; };
void build_table(TableView t, const char* reads, int reads_n, int read_len, int k);
std::vector<unsigned> abundance_histogram(TableView t, int bins);
int number_solid(TableView t, int threshold, Key* solid, int capacity);
Chains chain_kmers(TableView t, const Key* solid, int n, int k);
void verify(cudaError_t e, const char* what);

UnitigSummary assemble_gpu(const Settings& s, const std::string& reads, int count) {
    UnitigSummary u;
    size_t slots = size_t(1) << s.table_bits;
    TableView t{};
    t.mask = unsigned(slots - 1);
    char* d_reads;
    verify(cudaMalloc(&t.key, slots * sizeof(Key)), "table");
    verify(cudaMalloc(&t.count, slots * sizeof(unsigned)), "table");
    verify(cudaMalloc(&t.id, slots * sizeof(int)), "table");
    verify(cudaMalloc(&d_reads, reads.size()), "reads");
    verify(cudaMemset(t.key, 0xff, slots * sizeof(Key)), "table");
    verify(cudaMemset(t.count, 0, slots * sizeof(unsigned)), "table");
    verify(cudaMemcpy(d_reads, reads.data(), reads.size(), cudaMemcpyHostToDevice), "reads");

    build_table(t, d_reads, count, s.read_length, s.k);
    auto hist = abundance_histogram(t, 64);
    u.threshold = solid_threshold(hist);
    int expect = 0;
    for (size_t c = 1; c < hist.size(); ++c) {
        u.distinct += int(hist[c]);
        if (int(c) >= u.threshold) expect += int(hist[c]);
    }
    Key* solid;
    verify(cudaMalloc(&solid, std::max(expect, 1) * sizeof(Key)), "solid");
    u.solid = number_solid(t, u.threshold, solid, expect);
    if (u.solid > 0 && u.solid == expect) {
        Chains c = chain_kmers(t, solid, u.solid, s.k);
        std::vector<Key> keys(u.solid);
        verify(cudaMemcpy(keys.data(), solid, u.solid * sizeof(Key), cudaMemcpyDeviceToHost), "solid");
        for (int i = 0; i < u.solid; ++i) {
            u.head_of[keys[i]] = keys[c.head[i]];
            if (c.length_at_head[i]) u.lengths.push_back(c.length_at_head[i]);
        }
        std::sort(u.lengths.begin(), u.lengths.end());
    }
    for (void* p : {(void*)t.key, (void*)t.count, (void*)t.id, (void*)d_reads, (void*)solid}) cudaFree(p);
    return u;
}

}  // namespace asmx
