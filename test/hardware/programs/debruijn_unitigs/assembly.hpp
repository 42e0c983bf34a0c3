#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace asmx {

struct Settings {
    int genome_length = 6000;
    int read_length = 96;
    int coverage = 24;
    int k = 21;
    double error_rate = 0.004;
    std::uint32_t seed = 77;
    int table_bits = 17;
};

// reads.cpp
std::string random_genome(const Settings& s);
std::string simulate_reads(const Settings& s, const std::string& genome, int& count);

// histogram is indexed by abundance, last bin collects the rest
int solid_threshold(const std::vector<unsigned>& histogram);

struct UnitigSummary {
    int distinct = 0;
    int threshold = 0;
    int solid = 0;
    std::vector<int> lengths;                       // in k-mers, sorted
    std::map<std::uint64_t, std::uint64_t> head_of; // k-mer -> first k-mer of its unitig
};

UnitigSummary assemble_gpu(const Settings& s, const std::string& reads, int count);
UnitigSummary assemble_host(const Settings& s, const std::string& reads, int count);

}  // namespace asmx
