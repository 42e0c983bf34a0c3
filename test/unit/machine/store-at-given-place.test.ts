import { checkLines } from './check-lines';

/** Line tables of nvcc 13.0 for sm_90 say the same of every kernel here. */
describe('stores of both sides of a branch in a function', () => {
  const put = (found: string) => `__device__ void put(float *to, const float *p, int i, int n) {
  if (i >= 0 && i < n)
    *to = p[i]; //= ${found}
  else
    *to = 0; //= none
}`;
  const kernel = (lines: string) => `k(const float *p, float *o, int n) {
  __shared__ float s[18];
  int t = threadIdx.x, x = blockIdx.x * 16 + t;
  s[(t & 15) + 1] = p[x * 2]; //= global load 1 x 4 bytes, shared store 1 x 4 bytes
${lines}
  __syncthreads();
  o[x] = s[t & 15] + s[(t & 15) + 2];
}`;

  it('are one where it was given their place, and shown with the load', () => {
    checkLines(
      kernel(`  if (t == 3)
    put(&s[0], p, x + 1, n); //= none`),
      put('global load 1 x 4 bytes, shared store 1 x 4 bytes'),
    );
    checkLines(
      kernel(`  if (t >= 7)
    put(o + 64 + t * 2, p, x + 1, n); //= none`),
      put('global load 1 x 4 bytes, global store 1 x 4 bytes'),
    );
  });

  it('are one where the index is known once the call is inlined, at the call where all is one line', () => {
    checkLines(
      kernel(`  auto fill = [&](int i, int at) {
    if (i >= 0 && i < n) s[at] = p[i]; //= none
    else s[at] = 0; //= none
  };
  if (t == 3 && n > 0)
    fill(x - 1, 0); //= global load 1 x 4 bytes, shared store 1 x 4 bytes`),
    );
  });

  it('stay apart where the function adds to the place', () => {
    checkLines(
      kernel(`  if (t > 3)
    add(s + (t & 7), p, x - 1, n);`),
      `__device__ void add(float *to, const float *p, int i, int n) {
  if (i >= 0 && i < n)
    to[3] = p[i]; //= global load 1 x 4 bytes, shared store 1 x 4 bytes
  else
    to[3] = 0; //= shared store 1 x 4 bytes
}`,
    );
  });

  it('are one in the kernel itself where it is a variable in shared memory, and something follows', () => {
    const kernel = (condition: string, behind: string, end: string) => `k(const float *p, float *o, int n) {
  __shared__ float m;
  int t = threadIdx.x, i = blockIdx.x * 32 + t;
  if (t == 31) {
    if (${condition}) {
      m = p[i + 64]; //= global load 1 x 4 bytes
    } else {
      m = 0.0f; //= none
    }
    ${behind}
  }
  __syncthreads();
  o[i] = m; //= ${end}
}`;
    const store = 'shared store 1 x 4 bytes, global store 1 x 4 bytes';
    checkLines(kernel('t > n', `o[i + 99] = m + i; //= ${store}`, 'shared load 1 x 4 bytes, global store 1 x 4 bytes'));
    checkLines(
      kernel('blockIdx.x == 0', `o[i + 99] = 3.0f; //= ${store}`, 'shared load 1 x 4 bytes, global store 1 x 4 bytes'),
    );
  });

  it('are two where they end the body of another if', () => {
    checkLines(`k(const float *p, float *o, int n) {
  __shared__ float m;
  int t = threadIdx.x, i = blockIdx.x * 32 + t;
  if (t > 20) {
    if (t > n * 2 + 4)
      m = p[i + 64]; //= global load 1 x 4 bytes, shared store 1 x 4 bytes
    else
      m = 0.0f; //= shared store 1 x 4 bytes
  }
  __syncthreads();
  o[i] = m; //= shared load 1 x 4 bytes, global store 1 x 4 bytes
}`);
  });
});
