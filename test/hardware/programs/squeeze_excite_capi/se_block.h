#ifndef SE_BLOCK_H
#define SE_BLOCK_H
/* Inverted-residual style block: depthwise 3x3 -> hard swish -> squeeze and
 * excitation -> pointwise 1x1.  Activations are NCHW, float. */
#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int batch, channels, height, width;
    int squeezed;      /* width of the bottleneck */
    int out_channels;
} se_shape;

typedef struct {
    float *dw;    /* channels * 9 */
    float *scale; /* channels */
    float *bias;  /* channels */
    float *fc1;   /* squeezed * channels */
    float *fc2;   /* channels * squeezed */
    float *pw;    /* out_channels * channels */
} se_weights;

typedef struct se_context se_context;

se_shape se_default_shape(void);
se_context *se_create(const se_shape *shape, const se_weights *host_weights);
int se_forward(se_context *ctx, const float *host_in, float *host_out);
int se_read_gates(se_context *ctx, float *host_gates);
void se_destroy(se_context *ctx);
const char *se_last_error(void);

/* se_reference.c */
void se_reference(const se_shape *s, const se_weights *w, const float *in, float *out, float *gates);

#ifdef __cplusplus
}
#endif
#endif
