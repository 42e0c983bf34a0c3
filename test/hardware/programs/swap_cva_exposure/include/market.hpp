#pragma once
#include <vector>

constexpr int kDates = 24;      // quarterly exposure dates
constexpr int kMaxSwaps = 32;

struct ShortRateModel {         // Vasicek
    float speed = 0.35f;
    float level = 0.031f;
    float vol = 0.012f;
    float start = 0.025f;
    float dt = 0.25f;
};

struct Swap {
    float notional;
    float fixed_rate;
    int maturity;               // last payment date, 1..kDates
    int payer;                  // 1 pays fixed
};

struct SimulationSpec {
    int paths = 12288;
    unsigned seed = 20240607u;
    float recovery = 0.4f;
    float hazard = 0.021f;
    int buckets = 64;
    float bucket_width = 4.0f;
};

struct BondTables {             // P(tenor | r) = exp(a[tenor] - b[tenor] * r)
    float a[kDates + 1];
    float b[kDates + 1];
};

std::vector<Swap> netting_set(unsigned seed, int count);
BondTables bond_tables(const ShortRateModel& m);
