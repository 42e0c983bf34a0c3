import { checkLines } from './check-lines';

const sum = '__device__ void add(float4 &a, const float4 &b) { a.x += b.x; a.y += b.y; a.z += b.z; a.w += b.w; }';

describe('members of vectors in memory', () => {
  it('are read and written at once, though the two may be the same vector', () => {
    checkLines(
      `k(const float4 *in, float4 *out) {
  int i = threadIdx.x;
  float4 &a = out[i];
  const float4 &b = in[i * 2];
  a.x += b.x; a.y += b.y; a.z += b.z; a.w += b.w; //= global load 2 x 16 bytes, global store 1 x 16 bytes
}`,
      sum,
    );
  });

  it('of structs that are less aligned are not', () => {
    checkLines(
      `k(const P *in, P *out) {
  int i = threadIdx.x;
  P &a = out[i];
  const P &b = in[i * 2];
  a.x += b.x; a.y += b.y; a.z += b.z; a.w += b.w; //= global load 8 x 4 bytes, global store 4 x 4 bytes
}`,
      'struct P { float x, y, z, w; };',
    );
  });

  it('another float may be any of them', () => {
    checkLines(`k(float4 *out, float *other) {
  int i = threadIdx.x;
  float x = out[i].x;
  other[i] = x;
  other[i + 32] = out[i].y; //= global load 1 x 4 bytes, global store 1 x 4 bytes
}`);
  });

  it('arrays declared with an alignment do not overlap', () => {
    checkLines(`k(float *o) {
  __shared__ __align__(16) float s[128], u[128];
  int i = threadIdx.x;
  s[i] = o[i];
  u[i] = o[i + 32];
  __syncthreads();
  s[2 * i] += u[2 * i]; s[2 * i + 1] += u[2 * i + 1]; //= shared load 2 x 8 bytes, shared store 1 x 8 bytes
  __syncthreads();
  o[i] = s[i ^ 1];
}`);
  });
});

describe('loops that stay as they are', () => {
  it('sine has a loop in it', () => {
    checkLines(`k(const float *in, float *out, int n) {
  float sum = 0;
  for (int i = 0; i < n; i++)
    sum += sinf(in[i]); //= global load 10 x 4 bytes
  out[threadIdx.x] = sum;
}`);
  });
});

describe('members of an aligned vector that leave a gap', () => {
  it('are read one by one', () =>
    checkLines(`k(const float4 *v, float *out)
{
    float4 a = v[threadIdx.x]; //= global load 2 x 4 bytes
    out[threadIdx.x] = a.x * a.z; //= global store 1 x 4 bytes
    out[threadIdx.x + 32] =
      v[threadIdx.x + 32].x + v[threadIdx.x + 32].w; //= global load 2 x 4 bytes
    out[threadIdx.x + 64] =
      v[threadIdx.x + 64].x + v[threadIdx.x + 64].y + v[threadIdx.x + 64].w; //= global load 1 x 16 bytes
}`));
});
