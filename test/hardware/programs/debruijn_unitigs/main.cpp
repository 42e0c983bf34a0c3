#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>
#include "assembly.hpp"

namespace asmx {

UnitigSummary assemble_host(const Settings& s, const std::string& reads, int count) {
    std::unordered_map<std::uint64_t, unsigned> table;
    std::uint64_t mask = (1ull << (2 * s.k)) - 1;
    for (int r = 0; r < count; ++r) {
        std::uint64_t key = 0;
        for (int i = 0; i < s.read_length; ++i) {
            char c = reads[size_t(r) * s.read_length + i];
            unsigned code = c == 'A' ? 0 : c == 'C' ? 1 : c == 'T' ? 2 : 3;
            key = ((key << 2) | code) & mask;
            if (i >= s.k - 1) ++table[key];
        }
    }
    UnitigSummary u;
    u.distinct = int(table.size());
    std::vector<unsigned> hist(64, 0);
    for (auto& e : table) ++hist[std::min(e.second, 63u)];
    u.threshold = solid_threshold(hist);
    auto solid = [&](std::uint64_t k) {
        auto it = table.find(k);
        return it != table.end() && int(it->second) >= u.threshold;
    };
    std::unordered_map<std::uint64_t, std::uint64_t> back;
    for (auto& e : table) {
        if (!solid(e.first)) continue;
        ++u.solid;
        int in = 0;
        std::uint64_t prev = 0;
        for (std::uint64_t b = 0; b < 4; ++b) {
            std::uint64_t p = (e.first >> 2) | (b << (2 * (s.k - 1)));
            if (solid(p)) {
                ++in;
                prev = p;
            }
        }
        int out = 0;
        if (in == 1)
            for (std::uint64_t b = 0; b < 4; ++b) out += solid(((prev << 2) | b) & mask);
        if (in == 1 && out == 1 && prev != e.first) back[e.first] = prev;
    }
    std::map<std::uint64_t, int> len;
    for (auto& e : table) {
        if (!solid(e.first)) continue;
        std::uint64_t h = e.first;
        for (int guard = 0; guard < u.solid; ++guard) {
            auto it = back.find(h);
            if (it == back.end()) break;
            h = it->second;
        }
        u.head_of[e.first] = h;
        ++len[h];
    }
    for (auto& l : len) u.lengths.push_back(l.second);
    std::sort(u.lengths.begin(), u.lengths.end());
    return u;
}

}  // namespace asmx

int main(int argc, char** argv) {
    asmx::Settings s;
    if (argc > 1) s.genome_length = std::atoi(argv[1]);
    if (argc > 2) s.seed = std::uint32_t(std::atoi(argv[2]));
    int count = 0;
    std::string genome = asmx::random_genome(s);
    std::string reads = asmx::simulate_reads(s, genome, count);
    auto g = asmx::assemble_gpu(s, reads, count);
    auto h = asmx::assemble_host(s, reads, count);
    std::printf("reads %d, distinct %d/%d, solid(>=%d) %d/%d, unitigs %zu/%zu, longest %d/%d\n", count, g.distinct,
                h.distinct, g.threshold, g.solid, h.solid, g.lengths.size(), h.lengths.size(),
                g.lengths.empty() ? 0 : g.lengths.back(), h.lengths.back());
    bool ok = g.distinct == h.distinct && g.threshold == h.threshold && g.solid == h.solid && g.lengths == h.lengths &&
              g.head_of == h.head_of;
    std::puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
