#include <cmath>
#include <cstdio>
#include <cstdlib>
#include "stages.hpp"

int main(int argc, char** argv) {
    DehazeParams p;
    if (argc > 2) {
        p.width = std::atoi(argv[1]);
        p.height = std::atoi(argv[2]);
    }
    auto host = hazy_scene(p);
    Buffer<Rgb8> img(host);
    auto dark = dark_channel(img, p);
    Airlight air = estimate_airlight(img, dark, p);
    auto t = transmission_map(img, air, p);
    auto out = recover_scene(img, t, air, p);

    ReferenceResult ref = dehaze_on_host(host, p);
    auto hd = dark.host();
    auto ht = t.host();
    auto ho = out.host();
    size_t bad_dark = 0, bad_px = 0;
    double worst_t = 0;
    for (size_t i = 0; i < hd.size(); ++i) {
        bad_dark += hd[i] != ref.dark[i];
        worst_t = std::fmax(worst_t, std::fabs(ht[i] - ref.transmission[i]));
        const Rgba8 &a = ho[i], &b = ref.output[i];
        bad_px += std::abs(a.r - b.r) > 1 || std::abs(a.g - b.g) > 1 || std::abs(a.b - b.b) > 1 || a.a != b.a;
    }
    std::printf("airlight %.2f %.2f %.2f (threshold %d, %d samples)\n", air.colour[0], air.colour[1], air.colour[2],
                air.threshold, air.samples);
    std::printf("dark mismatches %zu, transmission error %.2e, pixel mismatches %zu\n", bad_dark, worst_t, bad_px);
    bool ok = !bad_dark && !bad_px && worst_t < 1e-4 && air.samples == ref.air.samples &&
              air.threshold == ref.air.threshold;
    std::puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
