#pragma once
#include <cstdint>
#include <vector>

struct RecordingSpec {
    int leads = 48;
    int samples = 6000;
    int rate = 250;
    unsigned seed = 31415u;
};

struct DetectorSpec {
    int taps = 33;              // band pass length
    int integrate = 30;         // moving window
    int refractory = 50;        // half width of the peak search
    int threshold_percent = 30; // of the lead's maximum
    int before = 40, after = 60; // beat window around the peak
};

// samples are interleaved: frame after frame, one value per lead
std::vector<std::int16_t> synthesize(const RecordingSpec& r);
std::vector<int> band_pass_taps(int taps);   // Q12

struct BeatReport {
    std::vector<int> first;                // per lead, prefix (leads + 1)
    std::vector<int> peaks;                // sample numbers
    std::vector<float> average;            // leads * (before + after)
    std::vector<float> correlation;        // one per peak
};

BeatReport analyse_host(const RecordingSpec& r, const DetectorSpec& d, const std::vector<std::int16_t>& x);
BeatReport analyse_gpu(const RecordingSpec& r, const DetectorSpec& d, const std::vector<std::int16_t>& x);
