/** Unions in registers: what is written through one member is read through another. */
import { check } from '../analysis/check-accesses';

describe('unions', () => {
  it('need what was loaded into another member', () => {
    check(`
union Pack { uint4 raw; short2 pairs[4]; };
__global__ void sum(const uint4 *in, float *out) {
  Pack x;
  x.raw = in[threadIdx.x];
  //      ^^^^^^^^^^^^^^^ global load 16 bytes exact
  float s = 0;
  for (int k = 0; k < 4; k++) s += x.pairs[k].x;
  out[threadIdx.x] = s;
}
int main() { uint4 *p; float *r; sum<<<1, 32>>>(p, r); }
`);
  });

  it('have members that a constructor names as its own', () => {
    check(`
struct Pair {
  union { struct { int x, y; }; struct { int u, v; }; int e[2]; };
  __device__ Pair(int a, int b) : x(a), y(b) {}
};
__global__ void get(const float *in, float *out) {
  const Pair p(threadIdx.x, 4 * threadIdx.x);
  out[p.x] = in[p.e[1] + p.v];
//           ^^^^^^^^^^^^^^^^ global load 32/4 sectors exact
//^^^^^^^^ global store 4/4 sectors exact
}
int main() { float *p, *r; get<<<1, 32>>>(p, r); }
`);
  });

  it('of a function may have no name', () => {
    check(`
__device__ int packed(float4 v) {
  union { signed char each[4]; struct { short low, high; }; int all; };
  each[0] = v.x; each[1] = v.y; each[2] = v.z; each[3] = v.w;
  return all + high;
}
__global__ void pick(const float4 *in, const int *table, int *out) {
  union { int whole; short part[2]; };
  whole = 4 * threadIdx.x;
  out[threadIdx.x] = table[part[0]] + packed(in[part[0]]);
//                   ^^^^^^^^^^^^^^ global load 16/4 sectors exact
//                                           ^^^^^^^^^^^ global load 32/16 sectors exact
}
int main() { float4 *p; int *t, *r; pick<<<1, 32>>>(p, t, r); }
`);
  });

  it('are one access when copied', () => {
    check(`
union Pack { uint4 raw; short2 pairs[4]; };
__global__ void copy(const Pack *in, Pack *out) {
  if (true) out[threadIdx.x] = in[threadIdx.x];
  //                           ^^^^^^^^^^^^^^^ global load 16 bytes x1
  //        ^^^^^^^^^^^^^^^^ global store 16 bytes x1
}
int main() { Pack *p, *r; copy<<<1, 32>>>(p, r); }
`);
  });

  it('share the bits of bit-fields', () => {
    check(`
union Word { struct { unsigned lane : 5; unsigned row : 27; } at; unsigned raw; };
__global__ void k(float *out) {
  Word w;
  w.raw = threadIdx.x * 8;
  if (true) out[w.at.lane] = 1;
  //        ^^^^^^^^^^^^^^ global store 4/4 sectors
  w.at.lane = 0;
  if (true) out[w.raw] = 1;
  //        ^^^^^^^^^^ global store 8/4 sectors
}
int main() { float *p; k<<<1, 32>>>(p); }
`);
  });

  it('keep numbers of one size', () => {
    check(`
union Bits { float f; int i; };
__global__ void k(float *out) {
  Bits b;
  b.i = threadIdx.x * 8;
  if (true) out[b.i] = 1;
  //        ^^^^^^^^ global store 32/4 sectors
}
int main() { float *r; k<<<1, 32>>>(r); }
`);
  });
});

describe('parts of a local variable', () => {
  it('are needed when the whole is read, however many are written', () => {
    check(`
__device__ uchar4 shade(int y, int u) { return make_uchar4(y, u, y + u, 255); }
__global__ void convert(const uchar2 *luma, const uchar2 *chroma, uint2 *out) {
  union { uchar4 px[2]; uint2 raw; } both;
  uchar2 y = luma[threadIdx.x], uv = chroma[threadIdx.x];
  //         ^^^^^^^^^^^^^^^^^ global load 2 bytes exact
  //                                 ^^^^^^^^^^^^^^^^^^^ global load 2 bytes exact
  both.px[0] = shade(y.x, uv.x);
  both.px[1] = shade(y.y, uv.y);
  if (true) out[threadIdx.x] = both.raw;
}
int main() { uchar2 *a, *b; uint2 *r; convert<<<1, 32>>>(a, b, r); }
`);
  });

  it('and temporaries have an address that their bits are copied from', () => {
    check(`
template <class To, class From> __device__ To bits(const From &from) { To to; memcpy(&to, &from, sizeof to); return to; }
__global__ void half(const uint4 *in, float *out) {
  uint4 v = in[threadIdx.x];
  //        ^^^^^^^^^^^^^^^ global load 4 bytes exact
  if (true) out[threadIdx.x] = bits<float>(v.x >> 4) + bits<float>(v.w | 0x3f800000u);
}
int main() { uint4 *p; float *r; half<<<1, 32>>>(p, r); }
`);
  });
});

describe('the line of a store of a record', () => {
  it('is that of the value where it is copied, and the statement’s own where a function gives it', () => {
    check(`
__global__ void k(float4 *out, const float4 *in) {
  if (true) out[threadIdx.x] =
  //        ^^^^^^^^^^^^^^^^ global store 16 bytes
    make_float4(1, 2, 3, 4);
  out[threadIdx.x + 32] =
    in[threadIdx.x];
//  ^^^^^^^^^^^^^^^ global store 16 bytes
//  ^^^^^^^^^^^^^^^ global load 16 bytes
}
int main() { float4 *p, *r; k<<<1, 32>>>(p, r); }
`);
  });
});
