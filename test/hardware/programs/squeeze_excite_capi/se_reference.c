#include <stdlib.h>
#include "se_block.h"

static double clampd(double v, double lo, double hi) { return v < lo ? lo : (v > hi ? hi : v); }

void se_reference(const se_shape *s, const se_weights *w, const float *in, float *out, float *gates) {
    int C = s->channels, H = s->height, W = s->width, hw = H * W;
    double *act = malloc(sizeof(double) * C * hw), *pool = malloc(sizeof(double) * C);
    double *hid = malloc(sizeof(double) * s->squeezed);
    for (int n = 0; n < s->batch; ++n) {
        for (int c = 0; c < C; ++c) {
            double sum = 0;
            for (int y = 0; y < H; ++y)
                for (int x = 0; x < W; ++x) {
                    double a = 0;
                    for (int r = -1; r <= 1; ++r)
                        for (int k = -1; k <= 1; ++k)
                            if (y + r >= 0 && y + r < H && x + k >= 0 && x + k < W)
                                a += (double)w->dw[c * 9 + (r + 1) * 3 + k + 1] *
                                     in[((size_t)n * C + c) * hw + (y + r) * W + x + k];
                    a = a * w->scale[c] + w->bias[c];
                    a = a * clampd(a + 3, 0, 6) / 6;
                    act[c * hw + y * W + x] = a;
                    sum += a;
                }
            pool[c] = sum / hw;
        }
        for (int o = 0; o < s->squeezed; ++o) {
            double a = 0;
            for (int c = 0; c < C; ++c) a += w->fc1[o * C + c] * pool[c];
            hid[o] = a > 0 ? a : 0;
        }
        for (int c = 0; c < C; ++c) {
            double a = 0;
            for (int o = 0; o < s->squeezed; ++o) a += w->fc2[c * s->squeezed + o] * hid[o];
            gates[n * C + c] = (float)clampd(a / 6 + 0.5, 0, 1);
        }
        for (int o = 0; o < s->out_channels; ++o)
            for (int p = 0; p < hw; ++p) {
                double a = 0;
                for (int c = 0; c < C; ++c) a += (double)w->pw[o * C + c] * gates[n * C + c] * act[c * hw + p];
                out[((size_t)n * s->out_channels + o) * hw + p] = (float)a;
            }
    }
    free(act); free(pool); free(hid);
}
