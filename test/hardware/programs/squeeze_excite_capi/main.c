#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "se_block.h"

static float uniform(float lo, float hi) { return lo + (hi - lo) * (float)(rand() % 10007) / 10006.0f; }

static float *filled(size_t n, float lo, float hi) {
    float *p = malloc(n * sizeof(float));
    for (size_t i = 0; i < n; ++i) p[i] = uniform(lo, hi);
    return p;
}

int main(int argc, char **argv) {
    se_shape s = se_default_shape();
    if (argc > 1) s.batch = atoi(argv[1]);
    srand(2024);
    size_t hw = (size_t)s.height * s.width;
    se_weights w;
    w.dw = filled((size_t)s.channels * 9, -0.5f, 0.5f);
    w.scale = filled(s.channels, 0.8f, 1.6f);
    w.bias = filled(s.channels, -0.3f, 0.9f);
    w.fc1 = filled((size_t)s.channels * s.squeezed, -0.4f, 0.5f);
    w.fc2 = filled((size_t)s.channels * s.squeezed, -0.6f, 0.6f);
    w.pw = filled((size_t)s.channels * s.out_channels, -0.3f, 0.3f);
    float *in = filled((size_t)s.batch * s.channels * hw, -2.0f, 2.0f);
    size_t outs = (size_t)s.batch * s.out_channels * hw, ng = (size_t)s.batch * s.channels;
    float *got = malloc(outs * sizeof(float)), *ref = malloc(outs * sizeof(float));
    float *gg = malloc(ng * sizeof(float)), *rg = malloc(ng * sizeof(float));

    se_context *ctx = se_create(&s, &w);
    if (!ctx || se_forward(ctx, in, got) || se_read_gates(ctx, gg)) {
        fprintf(stderr, "se_block: %s\n", se_last_error());
        puts("FAIL");
        return 1;
    }
    se_destroy(ctx);
    se_reference(&s, &w, in, ref, rg);
    double eo = 0, eg = 0, mag = 0;
    for (size_t i = 0; i < outs; ++i) {
        double d = fabs((double)got[i] - ref[i]);
        if (!(d <= eo)) eo = d;
        if (fabs(ref[i]) > mag) mag = fabs(ref[i]);
    }
    for (size_t i = 0; i < ng; ++i) {
        double d = fabs((double)gg[i] - rg[i]);
        if (!(d <= eg)) eg = d;
    }
    printf("output error %.2e of %.2e, gate error %.2e (first gates %.3f %.3f)\n", eo, mag, eg, rg[0], rg[1]);
    int ok = eo < 1e-4 * mag && eg < 1e-4;
    puts(ok ? "PASS" : "FAIL");
    free(w.dw); free(w.scale); free(w.bias); free(w.fc1); free(w.fc2); free(w.pw);
    free(in); free(got); free(ref); free(gg); free(rg);
    return ok ? 0 : 1;
}
