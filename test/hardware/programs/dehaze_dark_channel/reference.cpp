#include "dehaze.hpp"
#include <algorithm>
#include <cmath>
#include <random>

namespace {
int grid_clamp(int v, int hi) { return std::min(std::max(v, 0), hi); }

template <class T>
std::vector<T> window_min(const std::vector<T>& in, int w, int h, int r) {
    std::vector<T> rows(in.size()), out(in.size());
    for (int y = 0; y < h; ++y)
        for (int x = 0; x < w; ++x) {
            T m = in[y * w + x];
            for (int k = -r; k <= r; ++k) m = std::min(m, in[y * w + grid_clamp(x + k, w - 1)]);
            rows[y * w + x] = m;
        }
    for (int y = 0; y < h; ++y)
        for (int x = 0; x < w; ++x) {
            T m = rows[y * w + x];
            for (int k = -r; k <= r; ++k) m = std::min(m, rows[grid_clamp(y + k, h - 1) * w + x]);
            out[y * w + x] = m;
        }
    return out;
}
}  // namespace

int bright_threshold(const std::vector<unsigned>& hist, int pixels, float fraction) {
    unsigned want = std::max(1u, unsigned(fraction * pixels)), have = 0;
    for (int v = 255; v > 0; --v) {
        have += hist[v];
        if (have >= want) return v;
    }
    return 0;
}

ReferenceResult dehaze_on_host(const std::vector<Rgb8>& img, const DehazeParams& p) {
    int w = p.width, h = p.height, n = w * h;
    ReferenceResult res;
    std::vector<std::uint8_t> mins(n);
    for (int i = 0; i < n; ++i) mins[i] = std::min({img[i].r, img[i].g, img[i].b});
    res.dark = window_min(mins, w, h, p.patch_radius);

    std::vector<unsigned> hist(256, 0);
    for (auto v : res.dark) hist[v]++;
    res.air.threshold = bright_threshold(hist, n, p.bright_fraction);
    unsigned sum[3] = {0, 0, 0};
    for (int i = 0; i < n; ++i)
        if (res.dark[i] >= res.air.threshold) {
            res.air.samples++;
            sum[0] += img[i].r; sum[1] += img[i].g; sum[2] += img[i].b;
        }
    for (int k = 0; k < 3; ++k) res.air.colour[k] = float(sum[k]) / float(res.air.samples);

    std::vector<float> ratio(n);
    for (int i = 0; i < n; ++i)
        ratio[i] = std::min({img[i].r / res.air.colour[0], img[i].g / res.air.colour[1], img[i].b / res.air.colour[2]});
    auto m = window_min(ratio, w, h, p.patch_radius);
    std::vector<double> rows(n);
    res.transmission.resize(n);
    int r = p.smooth_radius;
    for (int y = 0; y < h; ++y)
        for (int x = 0; x < w; ++x) {
            double s = 0;
            for (int k = -r; k <= r; ++k) s += 1.0 - double(p.omega) * m[y * w + grid_clamp(x + k, w - 1)];
            rows[y * w + x] = s / (2 * r + 1);
        }
    for (int y = 0; y < h; ++y)
        for (int x = 0; x < w; ++x) {
            double s = 0;
            for (int k = -r; k <= r; ++k) s += rows[grid_clamp(y + k, h - 1) * w + x];
            res.transmission[y * w + x] = float(s / (2 * r + 1));
        }
    res.output.resize(n);
    for (int i = 0; i < n; ++i) {
        float t = std::max(res.transmission[i], p.t_min);
        const std::uint8_t in[3] = {img[i].r, img[i].g, img[i].b};
        std::uint8_t o[3];
        for (int k = 0; k < 3; ++k) {
            float v = (in[k] - res.air.colour[k]) / t + res.air.colour[k];
            o[k] = std::uint8_t(std::min(std::max(v, 0.f), 255.f) + 0.5f);
        }
        res.output[i] = {o[0], o[1], o[2], 255};
    }
    return res;
}


std::vector<Rgb8> hazy_scene(const DehazeParams& p) {
    std::mt19937 gen(4711);
    std::vector<Rgb8> img(size_t(p.width) * p.height);
    const float haze[3] = {214.f, 220.f, 231.f};
    for (int y = 0; y < p.height; ++y)
        for (int x = 0; x < p.width; ++x) {
            float depth = 1.0f - float(y) / p.height + 0.15f * std::sin(0.02f * x);
            float t = std::exp(-1.6f * std::fmax(depth, 0.05f));
            int cell = (x / 23 + 7 * (y / 19)) % 11;
            float base[3] = {20.f + 19.f * cell, 200.f - 17.f * cell, 30.f + 40.f * (cell % 5)};
            std::uint8_t px[3];
            for (int k = 0; k < 3; ++k) {
                float v = t * base[k] + (1 - t) * haze[k] + float(gen() % 9) - 4.f;
                px[k] = std::uint8_t(std::fmin(std::fmax(v, 0.f), 255.f));
            }
            img[size_t(y) * p.width + x] = {px[0], px[1], px[2]};
        }
    return img;
}
