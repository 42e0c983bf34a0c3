/** A vector of integers of which only the bits are used, as floats, is charged where they are read. */
import { check } from '../analysis/check-accesses';

const packed = `
template <class T> struct alignas(16) Packed {
  Packed() = default;
  __device__ explicit Packed(int4 bits) { memcpy(&payload, &bits, sizeof(bits)); }
  __device__ T &operator[](int i) { return payload[i]; }
  static constexpr int size = 16 / sizeof(T);
  T payload[size];
};
`;

describe('a vector that is read as another type', () => {
  it('is charged where a class for packed vectors gives its first element', () =>
    check(`${packed}
__global__ void sum(const float *in, float *out) {
  Packed<float> s(*reinterpret_cast<const int4 *>(in + 4 * threadIdx.x));
  float total = 0;
  for (int k = 0; k < 4; k++)
    total += s[k];
    //       ^^^^ global load 16 bytes
  out[threadIdx.x] = total;
}
int main() { float *i, *o; sum<<<1, 32>>>(i, o); }
`));

  it('is charged where an array of integers is given floats', () =>
    check(`
__global__ void unpack(const unsigned *words, const float4 *rows, float *out) {
  unsigned bits[4], others[4];
  *(float4 *)bits = *(float4 *)(words + 4 * threadIdx.x);
//^^^^^^^^^^^^^^^ global load 16 bytes
  float4 row = rows[threadIdx.x];
  *(float4 *)others = row;
//^^^^^^^^^^^^^^^^^ global load 16 bytes
  float total = 0;
#pragma unroll
  for (int k = 0; k < 4; k++)
    total += (bits[k] & 15) * (others[k] & 7);
  out[threadIdx.x] = total;
}
int main() { unsigned *w; float4 *r; float *o; unpack<<<1, 32>>>(w, r, o); }
`));

  it('stays where it was read when the type does', () =>
    check(`${packed}
__global__ void sum(const int *in, int *out) {
  Packed<int> s(*reinterpret_cast<const int4 *>(in + 4 * threadIdx.x));
  //            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global load 16 bytes
  int total = 0;
  for (int k = 0; k < 4; k++)
    total += s[k];
  out[threadIdx.x] = total;
}
int main() { int *i, *o; sum<<<1, 32>>>(i, o); }
`));

  it('stays where an element is used as it is', () =>
    check(`
__global__ void sum(const int4 *in, float *out) {
  int4 v = in[threadIdx.x];
  //       ^^^^^^^^^^^^^^^ global load 16 bytes
  out[threadIdx.x] = __int_as_float(v.x) + __int_as_float(v.y) + __int_as_float(v.z) * v.w;
}
int main() { int4 *i; float *o; sum<<<1, 32>>>(i, o); }
`));

  it('is charged at memcpy into a variable declared behind it, which copies every element', () =>
    check(`
__global__ void sum(const float *in, float *out) {
  int4 v = *reinterpret_cast<const int4 *>(in + 4 * threadIdx.x);
  float s[4];
  memcpy(s, &v, sizeof(v));
//^^^^^^^^^^^^^^^^^^^^^^^^ global load 16 bytes
  out[threadIdx.x] = s[0] + s[1] + s[2] + s[3];
}
int main() { float *i, *o; sum<<<1, 32>>>(i, o); }
`));

  it('stays where it was read through const __restrict__ or __ldg', () =>
    check(`
__global__ void sum(const float *__restrict__ in, const float *other, float *out) {
  float s[4], t[4];
  *reinterpret_cast<int4 *>(s) = *reinterpret_cast<const int4 *>(in + 4 * threadIdx.x);
  //                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global load 16 bytes
  *reinterpret_cast<int4 *>(t) = __ldg(reinterpret_cast<const int4 *>(other + 4 * threadIdx.x));
  //                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global load 16 bytes
  float total = 0;
#pragma unroll
  for (int k = 0; k < 4; k++) total += s[k] * t[k];
  out[threadIdx.x] = total;
}
int main() { float *i, *o, *p; sum<<<1, 32>>>(i, p, o); }
`));
});
