#pragma once
/* launchers shared by the translation units of the library, not public */
#include "se_block.h"
void launch_depthwise(const se_shape& s, const float* in, const float* dw, const float* scale, const float* bias,
                      float* out);
void launch_pool(const se_shape& s, const float* act, float* pooled);
void launch_gates(const se_shape& s, const float* pooled, const float* fc1, const float* fc2, float* hidden,
                  float* gates);
void launch_pointwise(const se_shape& s, const float* act, const float* gates, const float* pw, float* out);
