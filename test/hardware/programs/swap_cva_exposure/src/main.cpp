#include <cmath>
#include <cstdio>
#include <cstdlib>
#include "../include/engine.hpp"

int main(int argc, char** argv) {
    SimulationSpec spec;
    if (argc > 1) spec.paths = std::atoi(argv[1]) / 4 * 4;
    ShortRateModel model;
    auto book = netting_set(99, 14);
    ExposureProfile ref = make_engine("host", model, book)->run(spec);
    bool ok = true;
    for (const char* kind : {"path", "date"}) {
        auto engine = make_engine(kind, model, book);
        ExposureProfile got = engine->run(spec);
        double worst = 0, peak = 0;
        long moved = 0, total = 0;
        for (int d = 0; d < kDates; ++d) {
            worst = std::fmax(worst, std::fabs(got.expected[d] - ref.expected[d]));
            peak = std::fmax(peak, ref.expected[d]);
            for (int b = 0; b < spec.buckets; ++b) {
                moved += std::labs(long(got.histogram[d][b]) - long(ref.histogram[d][b]));
                total += got.histogram[d][b];
            }
        }
        std::printf("%-10s CVA %.6f (host %.6f) worst EE error %.2e of %.2f, moved between buckets %ld of %ld\n",
                    engine->name(), got.cva, ref.cva, worst, peak, moved, total);
        ok &= worst < 1e-3 * peak && std::fabs(got.cva - ref.cva) < 1e-3 * ref.cva &&
              total == long(spec.paths) * kDates && moved < total / 100;
    }
    std::puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
