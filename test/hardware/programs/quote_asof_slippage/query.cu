#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include "operators.cuh"

static bool equal(const std::vector<SymbolCost>& a, const std::vector<SymbolCost>& b) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](const SymbolCost& x, const SymbolCost& y) {
               return x.cost == y.cost && x.trades == y.trades && x.worst == y.worst;
           });
}

int main(int argc, char** argv) {
    TableSpec spec;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!std::strcmp(argv[i], "trades")) spec.trades = std::atoi(argv[i + 1]);
        if (!std::strcmp(argv[i], "quotes")) spec.quotes = std::atoi(argv[i + 1]);
        if (!std::strcmp(argv[i], "symbols")) spec.symbols = std::min(512, std::atoi(argv[i + 1]));
    }
    QuoteTable q = make_quotes(spec);
    TradeTable t = make_trades(spec);
    auto ref = cost_on_host(spec, q, t);
    std::vector<int> best(ref.size());
    std::iota(best.begin(), best.end(), 0);
    std::stable_sort(best.begin(), best.end(), [&](int a, int b) { return ref[a].cost > ref[b].cost; });
    best.resize(std::min<size_t>(best.size(), size_t(spec.top)));

    bool ok = true;
    try {
        DeviceTrades dt{Column<std::uint32_t>(t.time), Column<std::int32_t>(t.price), Column<std::uint32_t>(t.size),
                        Column<std::uint16_t>(t.symbol), Column<std::uint8_t>(t.venue), spec.trades};
        DeviceQuotes dq{Column<int>(q.first), Column<Quote>(q.rows)};
        int selected = 0;
        Column<int> sel = select_trades(dt, spec, selected);
        for (auto& op : join_operators()) {
            Joined j = op.second(dt, dq, sel, selected);
            for (bool privatised : {false, true}) {
                auto got = group_costs(j, selected, spec.symbols, privatised);
                bool same = equal(got, ref) && rank_symbols(got, spec.top) == best;
                std::printf("%-7s %-7s %d of %d trades, top symbol %d cost %lld: %s\n", op.first.c_str(),
                            privatised ? "shared" : "global", selected, spec.trades, best[0], ref[best[0]].cost,
                            same ? "match" : "mismatch");
                ok &= same;
            }
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        ok = false;
    }
    std::puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
