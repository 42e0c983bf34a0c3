#pragma once
#include <cstdint>
#include <vector>

struct TableSpec {
    int symbols = 300;
    int quotes = 120000;
    int trades = 90000;
    int min_size = 120;
    unsigned venue_mask = 0x5bu;   // venues that take part
    int top = 10;
    std::uint32_t seed = 8086;
};

struct Quote {          // row store, 16 bytes
    std::uint32_t time;
    std::int32_t bid, ask;
    std::uint32_t size;
};

struct QuoteTable {     // sorted by symbol, then time
    std::vector<int> first;       // symbols + 1
    std::vector<Quote> rows;
};

struct TradeTable {     // column store, sorted by time
    std::vector<std::uint32_t> time;
    std::vector<std::int32_t> price;
    std::vector<std::uint32_t> size;
    std::vector<std::uint16_t> symbol;
    std::vector<std::uint8_t> venue;
};

struct SymbolCost {
    long long cost = 0;     // sum of size * |2 * price - bid - ask|
    int trades = 0;
    int worst = 0;
};

QuoteTable make_quotes(const TableSpec& s);
TradeTable make_trades(const TableSpec& s);
std::vector<SymbolCost> cost_on_host(const TableSpec& s, const QuoteTable& q, const TradeTable& t);
