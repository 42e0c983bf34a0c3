import { checkLines } from './check-lines';

/** Line tables of nvcc 13.0 for sm_90 say the same of every kernel here. */
describe('stores of inlined functions are shown', () => {
  const put = (found: string) => `__device__ void put(float *p, float v) {
  *p = v; //= ${found}
}`;

  it('at the call where the function is given place and value', () => {
    checkLines(
      `k(const float *a, float *o) {
  int i = threadIdx.x;
  float v = a[i]; //= global load 1 x 4 bytes
  put(o + i, v); //= global store 1 x 4 bytes
  if (v > 3)
    put(o + i + 64, v * 2); //= global store 1 x 4 bytes
}`,
      put('none'),
    );
    checkLines(
      `k(const float *a, float *o) {
  __shared__ float s[32];
  int i = threadIdx.x;
  set(s[i], a[i]); //= global load 1 x 4 bytes, shared store 1 x 4 bytes
  __syncthreads();
  set(o[i], s[i ^ 1]); //= shared load 1 x 4 bytes, global store 1 x 4 bytes
}`,
      `__device__ void set(float &r, float v) {
  r = v; //= none
}`,
    );
  });

  it('at the outermost call that was given the place', () => {
    const body = (call: string, found: string) => `k(const float *a, float *o) {
  int i = threadIdx.x;
  float v = a[i];
  ${call} //= ${found}
}`;
    checkLines(
      body('outer(o + i, v);', 'global store 1 x 4 bytes'),
      `${put('none')}
__device__ void outer(float *p, float v) {
  put(p, v); //= none
}`,
    );
    checkLines(
      body('outer(o, i, v);', 'none'),
      `${put('none')}
__device__ void outer(float *p, int i, float v) {
  put(p + i, v); //= global store 1 x 4 bytes
}`,
    );
  });

  it('in the function where it computes the place or the value', () => {
    const computed = (f: string, call: string) =>
      checkLines(
        `k(const float *a, float *o) {
  int i = threadIdx.x;
  float v = a[i];
  ${call} //= none
}`,
        f,
      );
    computed(
      '__device__ void put(float *p, int i, float v) {\n  p[i] = v; //= global store 1 x 4 bytes\n}',
      'put(o, i, v);',
    );
    computed(
      '__device__ void put(float *p, float v) {\n  *p = v * 2 + 1; //= global store 1 x 4 bytes\n}',
      'put(o + i, v);',
    );
    computed(
      'struct Pair { float a, b; };\n__device__ void put(Pair *p, float v) {\n  p->a = v; //= global store 1 x 4 bytes\n}',
      'put((Pair *)o + i, v);',
    );
  });

  it('at the call for each copy of a loop that follows at once, else for the first', () => {
    checkLines(
      `k(const float *a, float *o) {
  int i = threadIdx.x;
  float v[4];
  for (int k = 0; k < 4; k++)
    v[k] = a[i + 32 * k]; //= global load 4 x 4 bytes
  for (int k = 0; k < 4; k++)
    put(o + i + 32 * k, v[k]); //= global store 4 x 4 bytes
}`,
      put('none'),
    );
    checkLines(
      `k(const double *a, double *o, int n) {
  int i = threadIdx.x;
  double v[4];
  for (int k = 0; k < 4; k++)
    v[k] = a[i + 32 * k] * n;
  for (int k = 0; k < 4; k++)
    put(o + i + 32 * k, v[k]); //= global store 1 x 8 bytes
}`,
      `__device__ void put(double *p, double v) {
  *p = v; //= global store 3 x 8 bytes
}`,
    );
  });
});

describe('copies of records in inlined functions are shown', () => {
  const three = 'struct Three { float a, b, c; };';
  it('at the call where the address is one of something else', () => {
    checkLines(
      `k(const float *a, float *o) {
  int i = threadIdx.x;
  Four v[2];
  for (int k = 0; k < 2; k++)
    v[k].load(a + 4 * i + 128 * k); //= global load 2 x 16 bytes
  for (int k = 0; k < 2; k++)
    v[k].store(o + 4 * i + 128 * k); //= global store 2 x 16 bytes
}`,
      `struct alignas(16) Four {
  float data[4];
  __device__ void load(const float *p) {
    *this = *reinterpret_cast<const Four *>(p); //= none
  }
  __device__ void store(float *p) const {
    *reinterpret_cast<Four *>(p) = *this; //= none
  }
};`,
    );
    checkLines(
      `k(float *a, float *o) {
  int i = threadIdx.x;
  Three v = as(a + i * 4); //= global load 3 x 4 bytes
  v.a *= 2;
  to(o + i * 4, v); //= global store 3 x 4 bytes
}`,
      `${three}
__device__ Three as(const float *p) {
  return *(const Three *)p; //= none
}
__device__ void to(float *p, const Three &v) {
  *(Three *)p = v; //= none
}`,
    );
  });

  it('in the function where they are records of halves', () =>
    checkLines(
      `k(const __half *a, __half *o) {
  int i = threadIdx.x;
  Pack v = load(a + 4 * i); //= none
  v.e[1] = v.e[0];
  store(o + 4 * i, v); //= none
}`,
      `#include <cuda_fp16.h>
struct alignas(8) Pack { __half e[4]; };
__device__ Pack load(const __half *p) {
  return *reinterpret_cast<const Pack *>(p); //= global load 1 x 8 bytes
}
__device__ void store(__half *p, const Pack &v) {
  *reinterpret_cast<Pack *>(p) = v; //= global store 1 x 8 bytes
}`,
    ));

  it('in the function where it is one of such records, to which the members are added', () => {
    checkLines(
      `k(const Three *a, Three *o) {
  int i = threadIdx.x;
  Three v = get(a + i); //= none
  v.a += 3;
  put(o + i, v); //= none
}`,
      `${three}
__device__ Three get(const Three *p) {
  return *p; //= global load 3 x 4 bytes
}
__device__ void put(Three *p, const Three &v) {
  *p = v; //= global store 3 x 4 bytes
}`,
    );
  });
});

describe('elements of arrays in records are shown in the function', () => {
  it('which adds the member to the address', () => {
    const digest = 'struct Digest { float w[8]; };';
    checkLines(
      `k(const Digest *in, float *o) {
  int i = threadIdx.x;
  o[i] = total(in[i]); //= global store 1 x 4 bytes
}`,
      `${digest}
__device__ float total(const Digest &d) {
  float s = 0;
  for (int i = 0; i < 8; i++) s += d.w[i]; //= global load 8 x 4 bytes
  return s;
}`,
    );
    checkLines(
      `k(const Digest *in, float *o) {
  int i = threadIdx.x;
  o[i] = pair(in[2 * i], in[2 * i + 1]); //= global store 1 x 4 bytes
}`,
      `${digest}
__device__ float pair(const Digest &l, const Digest &r) {
  float s = 0;
  for (int i = 0; i < 8; i++) { s += l.w[i]; s -= 3 * r.w[i]; } //= global load 16 x 4 bytes
  return s;
}`,
    );
  });

  it('also in methods, and for stores', () =>
    checkLines(
      `k(Row *rows, float *o) {
  int i = threadIdx.x;
  o[i] = rows[i].total(); //= global store 1 x 4 bytes
  rows[i + 32].fill(2); //= none
}`,
      `struct Row {
  float w[4];
  __device__ float total() const {
    float s = 0;
    for (int i = 0; i < 4; i++) s += w[i]; //= global load 4 x 4 bytes
    return s;
  }
  __device__ void fill(float v) {
    for (int i = 0; i < 4; i++) w[i] = v; //= global store 4 x 4 bytes
  }
};`,
    ));

  it('as are members of two records in one statement', () =>
    checkLines(
      `k(const Point *p, const Point *q, float *o) {
  int i = threadIdx.x;
  o[i] = apart(p[i], q[i]); //= global store 1 x 4 bytes
}`,
      `struct Point { float x, y, z; };
__device__ float apart(const Point &a, const Point &b) {
  return a.x - b.x; //= global load 2 x 4 bytes
}`,
    ));
});
