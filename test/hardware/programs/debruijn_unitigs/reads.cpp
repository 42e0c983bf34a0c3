#include "assembly.hpp"
#include <random>

namespace asmx {

static const char kBases[] = "ACGT";

std::string random_genome(const Settings& s) {
    std::mt19937 g(s.seed);
    std::string d(s.genome_length, 'A');
    for (auto& c : d) c = kBases[g() & 3u];
    // three copies of one repeat so that the graph branches
    const int rep = 150;
    std::string unit = d.substr(400, rep);
    for (int at : {s.genome_length / 3, s.genome_length * 3 / 4})
        if (at + rep < s.genome_length) d.replace(at, rep, unit);
    return d;
}

std::string simulate_reads(const Settings& s, const std::string& genome, int& count) {
    std::mt19937 g(s.seed * 31u + 5u);
    count = int(genome.size()) * s.coverage / s.read_length;
    std::string out;
    out.reserve(size_t(count) * s.read_length);
    unsigned limit = unsigned(s.error_rate * 1e6);
    for (int r = 0; r < count; ++r) {
        size_t at = g() % (genome.size() - s.read_length + 1);
        for (int i = 0; i < s.read_length; ++i) {
            char c = genome[at + i];
            if (g() % 1000000u < limit) c = kBases[g() & 3u];
            out.push_back(c);
        }
    }
    return out;
}

int solid_threshold(const std::vector<unsigned>& h) {
    for (size_t i = 1; i + 1 < h.size(); ++i)
        if (h[i + 1] >= h[i]) return int(i) + 1 > 2 ? int(i) : 2;
    return 2;
}

}  // namespace asmx
