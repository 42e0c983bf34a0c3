#pragma once
// Velocity induced by a smoothed 2-D point vortex; also used on the host.

struct Blob {        // kept as an array of structures, as the file format has it
    float x, y;
    float gamma;
    int tag;
};

__host__ __device__ inline void induce(float px, float py, float bx, float by, float gamma, float core2, float& u,
                                       float& v) {
    float dx = px - bx, dy = py - by;
    float s = gamma / (dx * dx + dy * dy + core2);
    u -= s * dy;
    v += s * dx;
}

// M4' interpolation kernel (Monaghan)
__host__ __device__ inline float m4prime(float q) {
    q = q < 0 ? -q : q;
    if (q < 1.0f) return 1.0f - 2.5f * q * q + 1.5f * q * q * q;
    if (q < 2.0f) return 0.5f * (2.0f - q) * (2.0f - q) * (1.0f - q);
    return 0.0f;
}
