#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include "kernels.cuh"
#include "registry.hpp"

static void check(cudaError_t e) {
    if (e != cudaSuccess) {
        std::fprintf(stderr, "registry: %s\n", cudaGetErrorString(e));
        std::exit(1);
    }
}

struct DeviceTruss {
    int vertices = 0, edges = 0;
    int *offset = nullptr, *target = nullptr, *source = nullptr, *support = nullptr, *removed = nullptr;
    unsigned char* alive = nullptr;
    ~DeviceTruss() {
        cudaFree(offset); cudaFree(target); cudaFree(source); cudaFree(support); cudaFree(removed); cudaFree(alive);
    }
    truss::View view() const { return {offset, target, source, alive, edges}; }
    void clear_support() { check(cudaMemset(support, 0, edges * sizeof(int))); }
};

static int* copy_up(const std::vector<int>& v) {
    int* d = nullptr;
    check(cudaMalloc(&d, v.size() * sizeof(int)));
    check(cudaMemcpy(d, v.data(), v.size() * sizeof(int), cudaMemcpyHostToDevice));
    return d;
}

std::shared_ptr<DeviceTruss> to_device(const OrientedGraph& g) {
    auto d = std::make_shared<DeviceTruss>();
    d->vertices = g.vertices;
    d->edges = g.edges();
    d->offset = copy_up(g.offset);
    d->target = copy_up(g.target);
    d->source = copy_up(g.source);
    check(cudaMalloc(&d->support, d->edges * sizeof(int)));
    check(cudaMalloc(&d->removed, sizeof(int)));
    check(cudaMalloc(&d->alive, d->edges));
    check(cudaMemset(d->alive, 1, d->edges));
    return d;
}

const std::map<std::string, SupportLaunch>& support_variants() {
    static const std::map<std::string, SupportLaunch> table = {
        {"merge",
         [](DeviceTruss& d) {
             d.clear_support();
             truss::support_merge<<<(d.edges + 127) / 128, 128>>>(d.view(), d.support);
             check(cudaGetLastError());
         }},
        {"search",
         [](DeviceTruss& d) {
             d.clear_support();
             truss::support_warp_search<<<(d.edges + 7) / 8, 256>>>(d.view(), d.support);
             check(cudaGetLastError());
         }},
        {"hash",
         [](DeviceTruss& d) {
             d.clear_support();
             int blocks = d.vertices < 528 ? d.vertices : 528;
             truss::support_block_hash<<<blocks, 128>>>(d.view(), d.vertices, d.support);
             check(cudaGetLastError());
         }},
    };
    return table;
}

int peel_below(DeviceTruss& d, int need) {
    check(cudaMemset(d.removed, 0, sizeof(int)));
    truss::peel<<<(d.edges + 255) / 256, 256>>>(d.support, d.alive, d.edges, need, d.removed);
    int n = 0;
    check(cudaMemcpy(&n, d.removed, sizeof(int), cudaMemcpyDeviceToHost));
    return n;
}

std::vector<int> fetch_support(DeviceTruss& d) {
    std::vector<int> v(d.edges);
    check(cudaMemcpy(v.data(), d.support, d.edges * sizeof(int), cudaMemcpyDeviceToHost));
    return v;
}

std::vector<unsigned char> fetch_alive(DeviceTruss& d) {
    std::vector<unsigned char> v(d.edges);
    check(cudaMemcpy(v.data(), d.alive, d.edges, cudaMemcpyDeviceToHost));
    return v;
}
