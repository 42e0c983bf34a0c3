#include "recording.hpp"
#include <cmath>

std::vector<std::int16_t> synthesize(const RecordingSpec& r) {
    unsigned state = r.seed;
    auto noise = [&] {
        state = state * 1664525u + 1013904223u;
        return float(state >> 16) / 65536.0f - 0.5f;
    };
    std::vector<float> beat_at;
    for (float t = 0.31f; t * r.rate < r.samples; t += 0.82f + 0.16f * noise()) beat_at.push_back(t);
    std::vector<std::int16_t> x(size_t(r.leads) * r.samples);
    for (int c = 0; c < r.leads; ++c) {
        float gain = 0.6f + 0.05f * float(c % 9), delay = 0.002f * float(c % 5);
        size_t near = 0;
        for (int i = 0; i < r.samples; ++i) {
            float t = float(i) / r.rate;
            while (near + 1 < beat_at.size() && std::fabs(beat_at[near + 1] + delay - t) < std::fabs(beat_at[near] + delay - t)) ++near;
            float d = t - beat_at[near] - delay;
            float v = 1.0f * std::exp(-d * d / 0.00018f) - 0.18f * std::exp(-(d - 0.03f) * (d - 0.03f) / 0.0002f) +
                      0.22f * std::exp(-(d - 0.25f) * (d - 0.25f) / 0.004f) + 0.1f * std::exp(-(d + 0.16f) * (d + 0.16f) / 0.001f);
            v = gain * v + 0.2f * std::sin(1.9f * t + c) + 0.06f * noise();
            x[size_t(i) * r.leads + c] = std::int16_t(v * 2000.0f);
        }
    }
    return x;
}

std::vector<int> band_pass_taps(int taps) {
    std::vector<int> h(taps);
    int m = taps / 2;
    for (int i = 0; i < taps; ++i) {
        double n = i - m, hi = 2 * 15.0 / 250, lo = 2 * 5.0 / 250, pi = 3.14159265358979;
        double s = n == 0 ? hi - lo : (std::sin(pi * hi * n) - std::sin(pi * lo * n)) / (pi * n);
        h[i] = int(std::lround(4096.0 * s * (0.54 + 0.46 * std::cos(pi * n / (m + 1)))));
    }
    return h;
}
