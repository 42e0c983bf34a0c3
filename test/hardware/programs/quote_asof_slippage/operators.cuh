#pragma once
#include <functional>
#include <map>
#include <string>
#include "column.cuh"
#include "tables.hpp"

struct DeviceTrades {
    Column<std::uint32_t> time;
    Column<std::int32_t> price;
    Column<std::uint32_t> size;
    Column<std::uint16_t> symbol;
    Column<std::uint8_t> venue;
    int rows;
};

struct DeviceQuotes {
    Column<int> first;
    Column<Quote> rows;
};

struct Joined {               // (slippage, weight) and group per matched row
    Column<int2> value;
    Column<int> group;        // -1 when the trade came before any quote
};

// select.cu
Column<int> select_trades(const DeviceTrades& t, const TableSpec& s, int& selected);
// asof.cu
using JoinFn = std::function<Joined(const DeviceTrades&, const DeviceQuotes&, const Column<int>&, int)>;
const std::map<std::string, JoinFn>& join_operators();
// group.cu
std::vector<SymbolCost> group_costs(const Joined& j, int rows, int symbols, bool privatised);
std::vector<int> rank_symbols(const std::vector<SymbolCost>& c, int top);
