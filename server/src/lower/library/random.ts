/**
 * cuRAND's device states and functions. Sizes and members of the states are those of curand_kernel.h (CUDA 13.0); XORWOW's step is
 * Marsaglia's. Numbers are not known, the members that are read and written are.
 */
export const random = `
struct curandStateXORWOW {
  unsigned d, v[5];
  int boxmuller_flag, boxmuller_flag_double;
  float boxmuller_extra;
  double boxmuller_extra_double;
};
typedef curandStateXORWOW curandStateXORWOW_t, curandState, curandState_t;
struct __align__(16) curandStatePhilox4_32_10 {
  uint4 ctr, output;
  uint2 key;
  unsigned STATE;
  int boxmuller_flag, boxmuller_flag_double;
  float boxmuller_extra;
  double boxmuller_extra_double;
};
typedef curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;
struct curandStateMRG32k3a {
  unsigned s1[3], s2[3];
  int boxmuller_flag, boxmuller_flag_double;
  float boxmuller_extra;
  double boxmuller_extra_double;
};
typedef curandStateMRG32k3a curandStateMRG32k3a_t;
struct curandStateSobol32 { unsigned i, x, c, direction_vectors[32]; };
typedef curandStateSobol32 curandStateSobol32_t;
typedef unsigned curandDirectionVectors32_t[32];

__device__ unsigned curand(curandStateXORWOW* s) {
  unsigned t = s->v[0] ^ (s->v[0] >> 2);
  s->v[0] = s->v[1];
  s->v[1] = s->v[2];
  s->v[2] = s->v[3];
  s->v[3] = s->v[4];
  s->v[4] = (s->v[4] ^ (s->v[4] << 4)) ^ (t ^ (t << 1));
  s->d += 362437;
  return __warplens_unknown<unsigned>(s->v[4], s->d);
}
__device__ unsigned curand(curandStatePhilox4_32_10* s) {
  unsigned at = s->STATE;
  s->STATE = __warplens_unknown<unsigned>(at);
  if (__warplens_unknown<bool>(at)) {
    __warplens_change(s->ctr);
    s->output = __warplens_unknown<uint4>(s->ctr, s->key);
  }
  return __warplens_unknown<unsigned>(s->output);
}
__device__ uint4 curand4(curandStatePhilox4_32_10* s) {
  __warplens_change(s->ctr, s->output);
  return __warplens_unknown<uint4>(s->ctr, s->key);
}
__device__ unsigned curand(curandStateMRG32k3a* s) {
  __warplens_change(s->s1, s->s2);
  return __warplens_unknown<unsigned>(s->s1, s->s2);
}
__device__ unsigned curand(curandStateSobol32* s) {
  unsigned x = s->x;
  s->x = __warplens_unknown<unsigned>(x, s->i);
  s->i++;
  return x;
}
template <class S> __device__ float curand_uniform(S* s) { return __warplens_unknown<float>(curand(s)); }
template <class S> __device__ double curand_uniform_double(S* s) { return __warplens_unknown<double>(curand(s), curand(s)); }
template <class S> __device__ unsigned curand_poisson(S* s, double l) { return __warplens_unknown<unsigned>(curand(s), l); }
template <class S> __device__ float2 curand_normal2(S* s) { return __warplens_unknown<float2>(curand(s), curand(s)); }
template <class S> __device__ double2 curand_normal2_double(S* s) { return __warplens_unknown<double2>(curand(s), curand(s)); }
template <class S> __device__ float4 curand_uniform4(S* s) { return __warplens_unknown<float4>(curand4(s)); }
template <class S> __device__ float4 curand_normal4(S* s) { return __warplens_unknown<float4>(curand4(s)); }
template <class S> __device__ double2 curand_uniform2_double(S* s) { return __warplens_unknown<double2>(curand4(s)); }
template <class S> __device__ float curand_normal(S* s) {
  if (s->boxmuller_flag == 'n') {
    s->boxmuller_flag = 0;
    return s->boxmuller_extra;
  }
  s->boxmuller_flag = 'n';
  s->boxmuller_extra = __warplens_unknown<float>(curand(s), curand(s));
  return __warplens_unknown<float>(s->boxmuller_extra);
}
template <class S> __device__ double curand_normal_double(S* s) {
  if (s->boxmuller_flag_double == 'n') {
    s->boxmuller_flag_double = 0;
    return s->boxmuller_extra_double;
  }
  s->boxmuller_flag_double = 'n';
  s->boxmuller_extra_double = __warplens_unknown<double>(curand(s), curand(s));
  return __warplens_unknown<double>(s->boxmuller_extra_double);
}
template <class S> __device__ float curand_log_normal(S* s, float m, float d) { return __warplens_unknown<float>(curand_normal(s), m, d); }
template <class S> __device__ double curand_log_normal_double(S* s, double m, double d) { return __warplens_unknown<double>(curand_normal_double(s), m, d); }
template <class S> __device__ void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset, S* s) { *s = __warplens_unknown<S>(seed, sequence, offset); }
template <class S> __device__ void curand_init(unsigned* vectors, unsigned offset, S* s) { *s = __warplens_unknown<S>(offset); }
template <class S> __device__ void skipahead(unsigned long long n, S* s) { __warplens_change(*s); }
template <class S> __device__ void skipahead_sequence(unsigned long long n, S* s) { __warplens_change(*s); }
`;
