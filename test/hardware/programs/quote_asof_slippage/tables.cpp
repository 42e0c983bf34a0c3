#include "tables.hpp"
#include <algorithm>
#include <random>

namespace {
int mid_price(int symbol) { return 4000 + symbol * 37; }

int skewed_symbol(std::mt19937& g, int n) {   // small numbers are busy
    unsigned a = g() % unsigned(n), b = g() % unsigned(n);
    return int(a * b / unsigned(n));
}
}  // namespace

QuoteTable make_quotes(const TableSpec& s) {
    std::mt19937 g(s.seed);
    std::vector<std::vector<Quote>> by(s.symbols);
    for (int i = 0; i < s.quotes; ++i) {
        int sym = skewed_symbol(g, s.symbols);
        int mid = mid_price(sym) + int(g() % 41u) - 20, half = 1 + int(g() % 6u);
        by[sym].push_back({std::uint32_t(g() % 23400000u), mid - half, mid + half, std::uint32_t(100u * (1u + g() % 20u))});
    }
    QuoteTable t;
    t.first.push_back(0);
    for (auto& v : by) {
        std::stable_sort(v.begin(), v.end(), [](const Quote& a, const Quote& b) { return a.time < b.time; });
        t.rows.insert(t.rows.end(), v.begin(), v.end());
        t.first.push_back(int(t.rows.size()));
    }
    return t;
}

TradeTable make_trades(const TableSpec& s) {
    std::mt19937 g(s.seed + 1);
    TradeTable t;
    std::vector<std::uint32_t> times(s.trades);
    for (auto& x : times) x = g() % 23400000u;
    std::sort(times.begin(), times.end());
    for (int i = 0; i < s.trades; ++i) {
        int sym = skewed_symbol(g, s.symbols);
        t.time.push_back(times[i]);
        t.symbol.push_back(std::uint16_t(sym));
        t.price.push_back(mid_price(sym) + int(g() % 51u) - 25);
        t.size.push_back(1u + g() % 500u);
        t.venue.push_back(std::uint8_t(g() % 8u));
    }
    return t;
}

std::vector<SymbolCost> cost_on_host(const TableSpec& s, const QuoteTable& q, const TradeTable& t) {
    std::vector<SymbolCost> out(s.symbols);
    for (size_t i = 0; i < t.time.size(); ++i) {
        if (int(t.size[i]) < s.min_size || !((s.venue_mask >> t.venue[i]) & 1u)) continue;
        int sym = t.symbol[i];
        auto b = q.rows.begin() + q.first[sym], e = q.rows.begin() + q.first[sym + 1];
        auto it = std::upper_bound(b, e, t.time[i], [](std::uint32_t v, const Quote& r) { return v < r.time; });
        if (it == b) continue;
        --it;
        int slip = std::abs(2 * t.price[i] - it->bid - it->ask);
        out[sym].cost += (long long)slip * t.size[i];
        out[sym].trades++;
        out[sym].worst = std::max(out[sym].worst, slip);
    }
    return out;
}
