#include <cuda_runtime.h>
#include <cstdio>
#include <string>
#include <vector>
#include "se_launch.h"

static std::string g_error;

struct se_context {
    se_shape shape;
    std::vector<float*> owned;
    float *dw, *scale, *bias, *fc1, *fc2, *pw, *in, *act, *pooled, *hidden, *gates, *out;
    float* take(size_t n, const float* init = nullptr) {
        float* p = nullptr;
        if (cudaMalloc(&p, n * sizeof(float)) != cudaSuccess) return nullptr;
        owned.push_back(p);
        if (init) cudaMemcpy(p, init, n * sizeof(float), cudaMemcpyHostToDevice);
        return p;
    }
};

extern "C" {

se_shape se_default_shape(void) { return se_shape{4, 72, 28, 28, 20, 40}; }

const char* se_last_error(void) { return g_error.c_str(); }

se_context* se_create(const se_shape* s, const se_weights* w) {
    if (s->squeezed % 4) {
        g_error = "bottleneck must be a multiple of four";
        return nullptr;
    }
    auto* c = new se_context;
    c->shape = *s;
    size_t C = s->channels, hw = size_t(s->height) * s->width, N = s->batch;
    c->dw = c->take(C * 9, w->dw);
    c->scale = c->take(C, w->scale);
    c->bias = c->take(C, w->bias);
    c->fc1 = c->take(C * s->squeezed, w->fc1);
    c->fc2 = c->take(C * s->squeezed, w->fc2);
    c->pw = c->take(C * s->out_channels, w->pw);
    c->in = c->take(N * C * hw);
    c->act = c->take(N * C * hw);
    c->pooled = c->take(N * C);
    c->hidden = c->take(N * s->squeezed);
    c->gates = c->take(N * C);
    c->out = c->take(N * s->out_channels * hw);
    if (c->owned.size() != 12) {
        g_error = "out of device memory";
        se_destroy(c);
        return nullptr;
    }
    return c;
}

int se_forward(se_context* c, const float* in, float* out) {
    const se_shape& s = c->shape;
    size_t hw = size_t(s.height) * s.width;
    cudaMemcpy(c->in, in, sizeof(float) * s.batch * s.channels * hw, cudaMemcpyHostToDevice);
    launch_depthwise(s, c->in, c->dw, c->scale, c->bias, c->act);
    launch_pool(s, c->act, c->pooled);
    launch_gates(s, c->pooled, c->fc1, c->fc2, c->hidden, c->gates);
    launch_pointwise(s, c->act, c->gates, c->pw, c->out);
    cudaError_t e = cudaMemcpy(out, c->out, sizeof(float) * s.batch * s.out_channels * hw, cudaMemcpyDeviceToHost);
    if (e != cudaSuccess) {
        g_error = cudaGetErrorString(e);
        return -1;
    }
    return 0;
}

int se_read_gates(se_context* c, float* g) {
    return cudaMemcpy(g, c->gates, sizeof(float) * c->shape.batch * c->shape.channels, cudaMemcpyDeviceToHost) ==
                   cudaSuccess ? 0 : -1;
}

void se_destroy(se_context* c) {
    if (!c) return;
    for (float* p : c->owned) cudaFree(p);
    delete c;
}

}  // extern "C"
