#include <cmath>
#include <cstdio>
#include <random>
#include <vector>
#include "advect.h"
#include "biot_savart.cuh"

static std::vector<Blob> two_patches(const FlowConfig& c) {
    std::mt19937 g(c.seed);
    std::vector<Blob> b(c.blobs);
    for (int i = 0; i < c.blobs; ++i) {
        float r = 0.55f * std::sqrt(float(g() % 100000) / 100000.f), a = 6.2831853f * float(g() % 100000) / 100000.f;
        float side = i % 2 ? 0.6f : -0.6f;
        b[i] = {side + r * std::cos(a), 0.4f * side + r * std::sin(a), (i % 2 ? 1.0f : 0.8f) * 3.0f / c.blobs, i % 2};
    }
    return b;
}

static void host_step(const FlowConfig& c, std::vector<Blob>& b, std::vector<float>& tx, std::vector<float>& ty,
                      int probe_stride) {
    float core2 = c.core * c.core;
    std::vector<float> u(c.blobs, 0.f), v(c.blobs, 0.f);
    for (int i = 0; i < c.blobs; ++i)
        for (int j = 0; j < c.blobs; ++j) induce(b[i].x, b[i].y, b[j].x, b[j].y, b[j].gamma, core2, u[i], v[i]);
    for (int i = 0; i < c.tracers; i += probe_stride) {
        float uu = 0, vv = 0;
        for (int j = 0; j < c.blobs; ++j) induce(tx[i], ty[i], b[j].x, b[j].y, b[j].gamma, core2, uu, vv);
        tx[i] += c.dt * uu;
        ty[i] += c.dt * vv;
    }
    for (int i = 0; i < c.blobs; ++i) {
        b[i].x += c.dt * u[i];
        b[i].y += c.dt * v[i];
    }
}

int main(int argc, char** argv) {
    FlowConfig c = config_from_args(argc, argv);
    auto blobs = two_patches(c);
    std::vector<float> tx(c.tracers), ty(c.tracers);
    std::mt19937 g(c.seed + 1);
    for (int i = 0; i < c.tracers; ++i) {
        tx[i] = -1.5f + 3.0f * float(g() % 65536) / 65536.f;
        ty[i] = -1.5f + 3.0f * float(g() % 65536) / 65536.f;
    }

    DeviceFlow flow;
    flow_upload(flow, c, blobs, tx, ty);
    for (int s = 0; s < c.steps; ++s) flow_step(flow, c);
    std::vector<float> grid;
    std::vector<int> active;
    const float tol = 1e-5f;
    int strong = remesh(flow, c, tol, grid, active);

    std::vector<float> gx(c.tracers), gy(c.tracers);
    cudaMemcpy(gx.data(), flow.tracer_x, c.tracers * sizeof(float), cudaMemcpyDeviceToHost);
    cudaMemcpy(gy.data(), flow.tracer_y, c.tracers * sizeof(float), cudaMemcpyDeviceToHost);
    std::vector<Blob> gb(c.blobs);
    cudaMemcpy(gb.data(), flow.blobs, c.blobs * sizeof(Blob), cudaMemcpyDeviceToHost);
    flow_release(flow);

    const int probe = 7;
    auto hb = blobs;
    for (int s = 0; s < c.steps; ++s) host_step(c, hb, tx, ty, probe);
    double eb = 0, et = 0;
    for (int i = 0; i < c.blobs; ++i)
        eb = std::fmax(eb, std::fmax(std::fabs(gb[i].x - hb[i].x), std::fabs(gb[i].y - hb[i].y)));
    for (int i = 0; i < c.tracers; i += probe)
        et = std::fmax(et, std::fmax(std::fabs(gx[i] - tx[i]), std::fabs(gy[i] - ty[i])));

    // remeshing is compared on the device's own blob positions
    float inv_h = float(c.grid - 1) / (2.0f * c.half_width);
    std::vector<double> ref(grid.size(), 0.0);
    for (const Blob& p : gb) {
        float fx = (p.x + c.half_width) * inv_h, fy = (p.y + c.half_width) * inv_h;
        int ix = int(std::floor(fx)), iy = int(std::floor(fy));
        for (int yy = iy - 1; yy <= iy + 2; ++yy)
            for (int xx = ix - 1; xx <= ix + 2; ++xx)
                if (xx >= 0 && yy >= 0 && xx < c.grid && yy < c.grid)
                    ref[yy * c.grid + xx] += double(p.gamma) * m4prime(fx - xx) * m4prime(fy - yy);
    }
    double eg = 0, sum = 0, sum0 = 0;
    for (size_t i = 0; i < grid.size(); ++i) {
        eg = std::fmax(eg, std::fabs(grid[i] - ref[i]));
        sum += grid[i];
    }
    for (const Blob& p : gb) sum0 += p.gamma;
    int expect = 0;
    bool order = true;
    for (float v : grid) expect += std::fabs(v) > tol;
    for (int k = 0; k < strong; ++k) {
        order &= std::fabs(grid[active[k]]) > tol;
        if (k) order &= active[k] > active[k - 1];
    }
    std::printf("blob err %.2e tracer err %.2e grid err %.2e circulation %.5f/%.5f cells %d/%d\n", eb, et, eg, sum, sum0,
                strong, expect);
    bool ok = eb < 1e-4 && et < 1e-4 && eg < 1e-5 && std::fabs(sum - sum0) < 1e-3 && strong == expect && order;
    std::puts(ok ? "PASS" : "FAIL");
    return ok ? 0 : 1;
}
