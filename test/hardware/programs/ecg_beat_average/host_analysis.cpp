#include <algorithm>
#include <cmath>
#include "recording.hpp"

BeatReport analyse_host(const RecordingSpec& r, const DetectorSpec& d, const std::vector<std::int16_t>& x) {
    BeatReport rep;
    rep.first.push_back(0);
    auto taps = band_pass_taps(d.taps);
    const int n = r.samples, width = d.before + d.after;
    for (int c = 0; c < r.leads; ++c) {
        std::vector<int> raw(n), f(n), sq(n), p(n);
        for (int s = 0; s < n; ++s) raw[s] = x[size_t(s) * r.leads + c];
        auto get = [&](const std::vector<int>& v, int s) { return s >= 0 && s < n ? v[s] : 0; };
        for (int s = 0; s < n; ++s) {
            int a = 0;
            for (int k = 0; k < d.taps; ++k) a += taps[k] * get(raw, s + k - d.taps / 2);
            f[s] = a >> 12;
        }
        for (int s = 0; s < n; ++s) {
            int v = (2 * get(f, s + 2) + get(f, s + 1) - get(f, s - 1) - 2 * get(f, s - 2)) >> 3;
            sq[s] = (v * v) >> 4;
        }
        for (int s = 0; s < n; ++s)
            for (int k = 0; k < d.integrate; ++k) p[s] += get(sq, s - k);
        int top = *std::max_element(p.begin(), p.end());
        std::vector<int> mine;
        for (int s = 0; s < n; ++s) {
            bool peak = (long long)p[s] * 100 > (long long)top * d.threshold_percent;
            for (int k = 1; peak && k <= d.refractory; ++k)
                if ((s - k >= 0 && p[s - k] >= p[s]) || (s + k < n && p[s + k] > p[s])) peak = false;
            if (peak) mine.push_back(s);
        }
        std::vector<double> mean(width, 0.0);
        for (int s : mine)
            for (int i = 0; i < width; ++i) mean[i] += get(raw, s - d.before + i);
        for (double& m : mean) {
            if (!mine.empty()) m /= double(mine.size());
            rep.average.push_back(float(m));
        }
        for (int s : mine) {
            double xy = 0, xx = 0, yy = 0;
            for (int i = 0; i < width; ++i) {
                double a = get(raw, s - d.before + i);
                xy += a * mean[i];
                xx += a * a;
                yy += mean[i] * mean[i];
            }
            rep.correlation.push_back(float(xy / std::sqrt(xx * yy + 1e-6)));
            rep.peaks.push_back(s);
        }
        rep.first.push_back(int(rep.peaks.size()));
    }
    return rep;
}
