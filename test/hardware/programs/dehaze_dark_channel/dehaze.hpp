#pragma once
#include <array>
#include <cstdint>
#include <vector>

struct Rgb8 { std::uint8_t r, g, b; };
struct Rgba8 { std::uint8_t r, g, b, a; };

struct DehazeParams {
    int width = 500;
    int height = 370;
    int patch_radius = 7;
    int smooth_radius = 12;
    float omega = 0.92f;
    float t_min = 0.12f;
    float bright_fraction = 0.004f;
};

struct Airlight {
    std::array<float, 3> colour{};
    int threshold = 0;
    int samples = 0;
};

// reference.cpp
std::vector<Rgb8> hazy_scene(const DehazeParams& p);

struct ReferenceResult {
    std::vector<std::uint8_t> dark;
    Airlight air;
    std::vector<float> transmission;
    std::vector<Rgba8> output;
};
ReferenceResult dehaze_on_host(const std::vector<Rgb8>& img, const DehazeParams& p);
int bright_threshold(const std::vector<unsigned>& histogram, int pixels, float fraction);
