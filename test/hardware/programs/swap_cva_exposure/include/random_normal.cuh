#pragma once
#include <math.h>
#ifdef __CUDACC__
#define HD __host__ __device__
#else
#define HD
#endif

// Counter based generator: one normal deviate per (path, date).
HD inline unsigned scramble(unsigned x) {
    x ^= x >> 16; x *= 0x7feb352du;
    x ^= x >> 15; x *= 0x846ca68bu;
    x ^= x >> 16;
    return x;
}

HD inline float normal_at(unsigned seed, unsigned path, unsigned date) {
    unsigned h1 = scramble(seed ^ scramble(path * 0x9e3779b9u + date));
    unsigned h2 = scramble(h1 + 0x632be59bu);
    float u1 = (float(h1 >> 8) + 0.5f) * (1.0f / 16777216.0f);
    float u2 = float(h2 >> 8) * (1.0f / 16777216.0f);
    return sqrtf(-2.0f * logf(u1)) * cosf(6.28318530718f * u2);
}
