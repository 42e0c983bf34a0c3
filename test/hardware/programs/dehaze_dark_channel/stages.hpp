#pragma once
#include "buffer.hpp"
#include "dehaze.hpp"

Buffer<std::uint8_t> dark_channel(const Buffer<Rgb8>& img, const DehazeParams& p);
Airlight estimate_airlight(const Buffer<Rgb8>& img, const Buffer<std::uint8_t>& dark, const DehazeParams& p);
Buffer<float> transmission_map(const Buffer<Rgb8>& img, const Airlight& a, const DehazeParams& p);
Buffer<Rgba8> recover_scene(const Buffer<Rgb8>& img, const Buffer<float>& t, const Airlight& a, const DehazeParams& p);
