/** What an access of 8 or 16 bytes tells of its neighbours (machine code of nvcc 13.0, sm_90). */
import { checkLines } from './check-lines';

const records = (members: string, body: string) =>
  checkLines(
    `k(R *p, double *o, float x, int n)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    double s = 0;
    ${body}
    o[i] = s;
}`,
    `struct R { ${members} };`,
  );

describe('neighbours of a wider access', () => {
  it('are read at once: words in twos, three of 16 bytes too', () => {
    records(
      'float w[3]; double d;',
      `for (int j = 0; j < 3; ++j)
      s += p[i].w[j]; //= global load 2 x 8 bytes
    s *= p[i].d; //= global load 1 x 8 bytes`,
    );
    records(
      'double d; float w[3];',
      `s = p[i].d; //= global load 1 x 8 bytes
    for (int j = 0; j < 3; ++j)
      s += p[i].w[j]; //= global load 2 x 8 bytes`,
    );
    records(
      'float w[3]; float4 v;',
      `for (int j = 0; j < 3; ++j)
      s += p[i].w[j]; //= global load 1 x 16 bytes
    s += p[i].v.x + p[i].v.y + p[i].v.z + p[i].v.w;`,
    );
    records(
      'float w[3]; int k; double d;',
      `for (int j = 0; j < 3; ++j)
      s += p[i].w[j]; //= global load 2 x 8 bytes
    s += p[i].k * p[i].d; //= global load 1 x 8 bytes`,
    );
  });

  it('of two bytes too, next to a word as well, but no single bytes', () => {
    records(
      'short h[3]; double d;',
      `for (int j = 0; j < 3; ++j)
      s += p[i].h[j]; //= global load 1 x 8 bytes
    s += p[i].d;`,
    );
    records(
      'short h[2]; int d;',
      `for (int j = 0; j < 2; ++j)
      s += p[i].h[j]; //= global load 1 x 4 bytes
    s += p[i].d;`,
    );
    records(
      'char q[8]; double d;',
      `for (int j = 0; j < 8; ++j)
      s += p[i].q[j]; //= global load 8 x 1 bytes
    s += p[i].d;`,
    );
  });

  it('of a vector that a cast makes', () =>
    records(
      'int n;',
      `float *f = (float *)p + 8 * i;
    for (int j = 0; j < 4; ++j)
      s += f[j]; //= global load 1 x 16 bytes
    *(float4 *)(f + 4) = make_float4(s, s, s, s); //= global store 1 x 16 bytes`,
    ));

  it('are written at once where they are exactly so many bytes', () => {
    records(
      'float w[3]; double d;',
      `for (int j = 0; j < 3; ++j)
      p[i].w[j] = x + j; //= global store 2 x 8 bytes
    p[i].d = x; //= global store 1 x 8 bytes`,
    );
    records(
      'float w[3]; float4 v;',
      `for (int j = 0; j < 3; ++j)
      p[i].w[j] = x + j; //= global store 2 x 8 bytes
    p[i].v = make_float4(x, x, x, x);`,
    );
  });

  it('behind a barrier and under a condition, not in front of one', () => {
    records(
      'float w[2]; double d;',
      `s = p[i].d;
    __syncthreads();
    for (int j = 0; j < 2; ++j)
      s += p[i].w[j]; //= global load 1 x 8 bytes`,
    );
    records(
      'float w[2]; double d;',
      `for (int j = 0; j < 2; ++j)
      s += p[i].w[j]; //= global load 2 x 4 bytes
    if (s > 3) { s *= p[i].d; __syncthreads(); }`,
    );
  });

  it('not across a store that may go to them, nor behind an atomic operation alone', () => {
    records(
      'float w[2]; double d;',
      `for (int j = 0; j < 2; ++j) {
      s += p[i].w[j]; //= global load 2 x 4 bytes
      o[i + j] = s;
    }
    s += p[i].d;`,
    );
    records(
      'int w[2]; unsigned long long d;',
      `atomicAdd(&p[i].d, 5ull);
    for (int j = 0; j < 2; ++j)
      s += p[i].w[j]; //= global load 2 x 4 bytes`,
    );
  });

  it('not across a quotient or a root, which has a slow path, unless it is by a power of two', () => {
    const pairs = (scaled: (of: string) => string, last: string) =>
      checkLines(`k(float *p, float b)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    float2 v = reinterpret_cast<float2*>(p)[i]; //= global load 1 x 8 bytes
    p[2 * i] = ${scaled('v.x')};
    p[2 * i + 1] = ${scaled('v.y')}; //= ${last}
}`);
    pairs((of) => `${of} / 4`, 'global store 1 x 8 bytes');
    pairs((of) => `rsqrtf(${of})`, 'global store 1 x 8 bytes');
    pairs((of) => `${of} / b`, 'global store 1 x 4 bytes');
    pairs((of) => `sqrtf(${of})`, 'global store 1 x 4 bytes');
  });
});
