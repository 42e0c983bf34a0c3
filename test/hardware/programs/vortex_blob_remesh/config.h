#pragma once

struct FlowConfig {
    int blobs = 3000;        // vortex blobs
    int tracers = 5000;      // passive markers
    int steps = 3;
    float dt = 0.012f;
    float core = 0.05f;      // smoothing radius of a blob
    int grid = 128;          // remeshing grid (square)
    float half_width = 2.0f; // grid covers [-half_width, half_width]^2
    unsigned seed = 1234567u;
};

FlowConfig config_from_args(int argc, char** argv);
