#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include "recording.hpp"

int main(int argc, char** argv) {
    RecordingSpec rec;
    DetectorSpec det;
    for (int i = 1; i + 1 < argc; i += 2) {
        std::string a = argv[i];
        int v = std::atoi(argv[i + 1]);
        if (a == "--leads") rec.leads = v;
        if (a == "--samples") rec.samples = v;
        if (a == "--window") det.integrate = v;
    }
    auto x = synthesize(rec);
    BeatReport g = analyse_gpu(rec, det, x), h = analyse_host(rec, det, x);
    bool same = g.first == h.first && g.peaks == h.peaks;
    double ea = 0, ec = 0, mean = 0;
    if (same) {
        for (size_t i = 0; i < h.average.size(); ++i) ea = std::fmax(ea, std::fabs(g.average[i] - h.average[i]));
        for (size_t i = 0; i < h.correlation.size(); ++i) {
            ec = std::fmax(ec, std::fabs(g.correlation[i] - h.correlation[i]));
            mean += h.correlation[i] / double(h.correlation.size());
        }
    }
    std::printf("%d leads, %zu beats (host %zu), mean correlation %.3f, errors %.2e %.2e\n", rec.leads, g.peaks.size(),
                h.peaks.size(), mean, ea, ec);
    bool ok = same && ea < 1e-2 && ec < 1e-4 && int(h.peaks.size()) > rec.leads * 15;
    std::puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
