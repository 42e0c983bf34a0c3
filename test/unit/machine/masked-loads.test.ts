import { checkLines } from './check-lines';

/** Line tables of nvcc 13.0 for sm_90 say the same of every kernel here. */
describe('masked loads of inlined functions are shown', () => {
  const forms = {
    'a choice': 'return m ? *p : other;',
    'a variable that keeps its value': 'float v = other; if (m) v = *p; return v;',
    'two returns': 'if (m) return *p; return other;',
    'two arms': 'float v; if (m) v = *p; else v = other; return v;',
  };
  const helper = (body: string, shown: string) =>
    `__device__ __forceinline__ float masked(const float *p, bool m, float other) { ${body} } //= ${shown}`;

  for (const [name, body] of Object.entries(forms)) {
    describe(`written as ${name}`, () => {
      it('in the function behind the move of the other value, at the call where that is there already', () => {
        checkLines(
          `k(const float *a, const float *b, float *o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = masked(a + i, i < n, 0.f);
  float y = masked(b + i, i < n + 1, 0.f); //= global load 1 x 4 bytes
  o[i] = x + y; //= global store 1 x 4 bytes
}`,
          helper(body, 'global load 1 x 4 bytes'),
        );
      });

      it('in the function where the other values differ', () => {
        checkLines(
          `k(const float *a, const float *b, float *o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = masked(a + i, i < n, 0.f); //= none
  float y = masked(b + i, i < n, 1.f); //= none
  o[i] = x + y; //= global store 1 x 4 bytes
}`,
          helper(body, 'global load 2 x 4 bytes'),
        );
      });

      it('at the call where what follows asks the same', () => {
        checkLines(
          `k(const float *a, float *o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool m = i < n;
  float x = masked(a + i, m, 0.f); //= global load 1 x 4 bytes
  if (m) o[i] = x; //= global store 1 x 4 bytes
}`,
          helper(body, 'none'),
        );
      });

      it('at the call for all but the first copy of a loop, whose loads are issued together', () => {
        checkLines(
          `k(const float *a, float *o, int n) {
  int r = threadIdx.x;
  float t[4];
  for (int i = 0; i < 4; ++i) t[i] = masked(a + r + 32 * i, r + i < n, 1.f); //= global load 3 x 4 bytes
  o[r] = t[0] + t[1] + t[2] + t[3]; //= global store 1 x 4 bytes
}`,
          helper(body, 'global load 1 x 4 bytes'),
        );
      });

      it('at the call for all of them where the mask has two parts', () => {
        checkLines(
          `k(const float *a, float *o, int n, int w) {
  int r = threadIdx.x;
  bool q = blockIdx.x + threadIdx.x / 32 < w;
  float t[4];
  for (int i = 0; i < 4; ++i) t[i] = masked(a + r + 32 * i, q & (r + i < n), 1.f); //= global load 4 x 4 bytes
  o[r] = fmaxf(fmaxf(t[0], t[1]), fmaxf(t[2], t[3])); //= global store 1 x 4 bytes
}`,
          helper(body, 'none'),
        );
      });
    });
  }

  it('at the call where a record is loaded as a whole', () => {
    checkLines(
      `k(const float *a, const float *b, float *o, int n) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  bool m = i < n * 128;
  Four x = four(a + i, m); //= global load 1 x 16 bytes
  Four y = four(b + i % 64, m); //= global load 1 x 16 bytes
  for (int j = 0; j < 4; ++j) o[i + j] = x.e[j] + y.e[j];
}`,
      `struct __align__(16) Four { float e[4]; };
__device__ __forceinline__ Four four(const float *p, bool m) {
  Four r;
  if (m) { r = *reinterpret_cast<const Four *>(p); } //= none
  else { r.e[0] = 0.f; r.e[1] = 0.f; r.e[2] = 0.f; r.e[3] = 0.f; }
  return r;
}`,
    );
  });

  it('in the function where members of a vector are added to its address', () => {
    checkLines(
      `k(const float4 *a, const float4 *b, float4 *o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool m = i < n * 32;
  float4 x = vector(a + i, m, make_float4(0.f, 0.f, 0.f, 0.f)); //= none
  float4 y = vector(b + i % 64, m, make_float4(0.f, 0.f, 0.f, 0.f)); //= none
  if (m) o[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w); //= global store 1 x 16 bytes
}`,
      `__device__ __forceinline__ float4 vector(const float4 *p, bool m, float4 other) { return m ? *p : other; } //= global load 2 x 16 bytes`,
    );
  });

  it('at the call where the arm computes with what it has loaded', () => {
    checkLines(
      `k(const float *a, const float *b, float *o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = twice(a + i, i < n * 32); //= global load 1 x 4 bytes
  float y = twice(b + i, i > 3); //= global load 1 x 4 bytes
  o[i] = x + y; //= global store 1 x 4 bytes
}`,
      `__device__ __forceinline__ float twice(const float *p, bool m) { float v = 0; if (m) v = 2.f * *p; return v; } //= none`,
    );
  });
});
