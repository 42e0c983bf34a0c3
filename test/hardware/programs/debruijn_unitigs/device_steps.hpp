#pragma once
#include <vector>
#include <cstdint>
#include "kmer_table.cuh"

namespace asmx {
// count.cu
void build_table(TableView t, const char* reads, int reads_n, int read_len, int k);
std::vector<unsigned> abundance_histogram(TableView t, int bins);
int number_solid(TableView t, int threshold, Key* solid, int capacity);
// unitigs.cu
struct Chains {
    std::vector<int> head;
    std::vector<int> length_at_head;
};
Chains chain_kmers(TableView t, const Key* solid, int n, int k);

void verify(cudaError_t e, const char* what);
}  // namespace asmx
