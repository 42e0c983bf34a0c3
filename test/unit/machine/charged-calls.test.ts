import { checkLines } from './check-lines';

/** Line tables of nvcc 13.0 for sm_90 say the same of every kernel here. */
describe('loads of inlined functions are shown', () => {
  const get = `__device__ float get(const float *p, int i) {
  return p[i]; //= `;

  it('at the call where nothing of the call comes before them', () => {
    checkLines(
      `k(const float *a, float *o) {
  int i = threadIdx.x;
  float v = get(a, i);
  float w = get(a, i + 1); //= global load 1 x 4 bytes
  o[i] = v + w; //= global store 1 x 4 bytes
}`,
      `${get}global load 1 x 4 bytes
}`,
    );
  });

  it('at the call where the caller has the address', () => {
    checkLines(
      `k(const float *a, float *o) {
  int i = threadIdx.x;
  float v = deref(a + i); //= global load 1 x 4 bytes
  float w = deref(a + i + 32); //= global load 1 x 4 bytes
  o[i] = v + w; //= global store 1 x 4 bytes
}`,
      `__device__ float deref(const float *p) {
  return *p; //= none
}`,
    );
  });

  it('at the call for each copy of a loop whose statement does more than call', () => {
    checkLines(
      `k(const float *a, float *o) {
  int i = threadIdx.x;
  float s = 0;
  for (int k = 0; k < 4; ++k)
    s += get(a, i + 32 * k); //= global load 3 x 4 bytes
  o[i] = s; //= global store 1 x 4 bytes
}`,
      `${get}global load 1 x 4 bytes
}`,
    );
  });

  const stage = `__device__ void stage16(unsigned to, const void *from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from)); //= none
}
__device__ void rows(unsigned (&r)[4], unsigned at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at)); //= none
}`;

  it('at the call where it is assembly alone', () => {
    checkLines(
      `k(const float *a, unsigned *o) {
  __shared__ alignas(128) float s[512];
  unsigned base = static_cast<unsigned>(__cvta_generic_to_shared(s)), t = threadIdx.x;
  for (int i = 0; i < 2; ++i)
    stage16(base + (t + 32 * i) * 16, a + (t + 32 * i) * 4); //= global load 2 x 16 bytes, shared store 2 x 16 bytes
  stage16(base + (t ^ 3) * 16 + 1024, a + 640 + t * 4); //= global load 1 x 16 bytes, shared store 1 x 16 bytes
  asm volatile("cp.async.wait_all;");
  __syncthreads();
  unsigned r[4], q[4];
  rows(r, base + t * 16); //= shared load 1 x 16 bytes
  rows(q, base + t * 16 + 512); //= shared load 1 x 16 bytes
  o[t] = r[0] + r[1] + r[2] + r[3] + q[0] + q[1] + q[2] + q[3];
}`,
      stage,
    );
  });

  /** A table in shared memory that a chain of look-ups goes through, eight of its keys. @param key which of them comes when */
  const chain = (key: string, found: string) =>
    checkLines(
      `k(const unsigned *g, unsigned *o) {
  __shared__ alignas(16) unsigned keys[32], table[32];
  int i = threadIdx.x;
  keys[i] = g[i];
  table[i] = g[i + 32];
  __syncthreads();
  unsigned v = o[i];
  through(keys, table, &v); //= shared load 1 x 16 bytes
  o[i] = v;
}`,
      `__device__ void through(const unsigned *p, const unsigned *t, unsigned *v) {
  for (int i = 0; i < 8; i++) {
    *v ^= p[${key}]; //= ${found}
    *v = t[*v & 31]; //= shared load 8 x 4 bytes
  }
}`,
    );
  it('at the call where the address is known and nothing waited for, in the function where it is needed later', () => {
    chain('i', 'shared load 1 x 16 bytes');
    chain('7 - i', 'shared load 1 x 16 bytes');
  });

  it('in the function where it makes sums of its own', () => {
    checkLines(
      `k(const float *u, float *o, int n) {
  int i = threadIdx.x + 64;
  float c = u[i]; //= global load 1 x 4 bytes
  o[i] = c + around(u, i, n); //= global store 1 x 4 bytes
}`,
      `__device__ float around(const float *u, int i, int n) {
  float l = u[i - 1]; //= global load 1 x 4 bytes
  float r = u[i + 1]; //= global load 1 x 4 bytes
  float t = u[i - n]; //= global load 1 x 4 bytes
  return l + r + t;
}`,
    );
  });

  it('in the function where it branches first, though the condition is known from a call before', () => {
    checkLines(
      `k(float *a, float *o) {
  __shared__ float s[64], t[64];
  int i = threadIdx.x;
  s[i] = a[i];
  t[i] = a[i + 32];
  __syncthreads();
  turn(s, t, i, 30); //= none
  __syncthreads();
  turn(s, t, i, 30); //= none
  __syncthreads();
  o[i] = s[i] + t[i];
}`,
      `__device__ void turn(float *s, float *t, int i, int n) {
  if (i >= 0 && i < n) {
    float p = s[i + 1]; //= shared load 2 x 4 bytes
    float q = t[i + 1]; //= shared load 2 x 4 bytes
    s[i + 1] = p * 3 - q;
    t[i + 1] = q * 3 + p;
  }
}`,
    );
  });

  it('in the function in loops behind a call, where descriptors are fetched first', () => {
    const deref = (found: string) => `__device__ float deref(const float *p) {
  return *p; //= ${found}
}`;
    checkLines(
      `k(const float *a, const float *b, float *o, int n) {
  assert(blockDim.x == 32);
#pragma unroll 1
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    float v = deref(a + i); //= none
    float w = deref(b + i); //= none
    o[i] = v + w; //= global store 1 x 4 bytes
  }
}`,
      deref('global load 2 x 4 bytes'),
    );
    checkLines(
      `k(const float *a, const float *b, float *o) {
  int i = threadIdx.x;
  assert(blockDim.x == 32);
  float v = deref(a + i); //= global load 1 x 4 bytes
  float w = deref(b + i); //= global load 1 x 4 bytes
  o[i] = v + w; //= global store 1 x 4 bytes
}`,
      deref('none'),
    );
  });

  it('in the function where a condition comes before them', () => {
    checkLines(
      `k(const float *a, float *o, int n) {
  int i = threadIdx.x;
  o[i] = guarded(a, i, n); //= global store 1 x 4 bytes
}`,
      `__device__ float guarded(const float *p, int i, int n) {
  if (i >= n) return 0.0f;
  return p[i]; //= global load 1 x 4 bytes
}`,
    );
  });

  it('at the outermost call that begins with them', () => {
    checkLines(
      `k(const float *a, float *o) {
  int i = threadIdx.x;
  o[i] = both(a + i); //= global store 1 x 4 bytes, global load 1 x 4 bytes
}`,
      `__device__ float deref(const float *p) {
  return *p; //= none
}
__device__ float both(const float *p) {
  float v = deref(p); //= none
  float w = deref(p + 32); //= global load 1 x 4 bytes
  return v * w;
}`,
    );
  });

  it('at the call where they are the only one of an arm, and rows are those of lines', () => {
    checkLines(
      `k(const float *a, float *o, int n) {
  __shared__ float s[33];
  int i = threadIdx.x;
  s[i + 1] = a[i]; //= global load 1 x 4 bytes, shared store 1 x 4 bytes
  if (i == 0)
    s[i] = wrapped(a, i - 1, n); //= global load 1 x 4 bytes, shared store 1 x 4 bytes
  __syncthreads();
  o[i] = s[i] + s[i + 1]; //= shared load 2 x 4 bytes, global store 1 x 4 bytes
}`,
      `__device__ float wrapped(const float *p, int i, int n) {
  i = (i + n) % n; return p[i]; //= none
}`,
    );
  });

  it('in the function where the arm is all that the kernel does', () => {
    checkLines(
      `k(const float *a, float *o, int n) {
  int i = threadIdx.x;
  if (i < n)
    o[i] = get(a, i); //= global store 1 x 4 bytes
}`,
      `${get}global load 1 x 4 bytes
}`,
    );
  });

  it('in the function where they are members of what the caller points to', () => {
    checkLines(
      `k(int *o, int n) {
  __shared__ Entry s[512];
  int i = threadIdx.x + n;
  __syncthreads();
  int v = isLess(s[i], s[i * 3]); //= none
  o[i] = v; //= global store 1 x 4 bytes
}`,
      `struct Entry { int key, value; };
__device__ bool isLess(const Entry &a, const Entry &b) {
  return a.key < b.key; //= shared load 2 x 4 bytes
}`,
    );
  });

  it('at the call in a loop whose left passes come first', () => {
    checkLines(
      `k(const float4 *a, float *o, int n, int m) {
  __shared__ float4 s[64];
  s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  int t = 0;
  for (int i = n == m ? threadIdx.x + 1 : 0; i < n; ++i)
    if (area(s[i]) > 3) t ^= i; //= shared load 11 x 16 bytes
  o[threadIdx.x] = t;
}`,
      `__device__ float area(const float4 &b) {
  return (b.z - b.x) / (b.w - b.y); //= none
}`,
    );
  });

  it('at the call with all that its first statement does in order, of volatile shared memory', () => {
    checkLines(
      `k(const int *a, int *o) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = a[t]; //= shared store 1 x 4 bytes, global load 1 x 4 bytes
  __syncthreads();
  if (t < 32)
    lastWarp(s, t); //= shared load 2 x 4 bytes, shared store 1 x 4 bytes
  if (t == 0) o[0] = s[0];
}`,
      `__device__ void lastWarp(volatile int *s, int t) {
  s[t] += s[t + 32]; //= none
  s[t] += s[t + 16]; //= shared load 2 x 4 bytes, shared store 1 x 4 bytes
}`,
    );
  });

  it('in the function where it has the address of volatile shared memory to compute first', () => {
    checkLines(
      `k(const int *a, int *o) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = a[t]; //= shared store 1 x 4 bytes, global load 1 x 4 bytes
  __syncthreads();
  lastWarp(s, t & 31); //= none
  if (t == 0) o[0] = s[0];
}`,
      `__device__ void lastWarp(volatile int *s, int t) {
  s[t] += s[t + 32]; //= shared load 2 x 4 bytes, shared store 1 x 4 bytes
  s[t] += s[t + 16]; //= shared load 2 x 4 bytes, shared store 1 x 4 bytes
}`,
    );
  });

  it('also behind a store to the same place, which a volatile load reads again', () => {
    checkLines(
      `k(const int *a, int *o) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = a[t]; //= shared store 1 x 4 bytes, global load 1 x 4 bytes
  __syncthreads();
  if (t < 32) {
    s[t] += s[t + 64]; //= shared load 2 x 4 bytes, shared store 1 x 4 bytes
    lastWarp(s, t); //= shared load 2 x 4 bytes, shared store 1 x 4 bytes
  }
  if (t == 0) o[0] = s[0];
}`,
      `__device__ void lastWarp(volatile int *s, int t) {
  s[t] += s[t + 32]; //= none
  s[t] += s[t + 16]; //= shared load 2 x 4 bytes, shared store 1 x 4 bytes
}`,
    );
  });

  it('at the call where it reads what its pointer points to, and elements next to it', () => {
    checkLines(
      `k(const unsigned char *a, unsigned *o) {
  const unsigned char *h = a + threadIdx.x * 64;
  o[threadIdx.x] = bigEndian(h + 12); //= global load 4 x 1 bytes, global store 1 x 4 bytes
  o[threadIdx.x + 32] = bigEndian(h + 16); //= global load 4 x 1 bytes, global store 1 x 4 bytes
}`,
      `__device__ unsigned bigEndian(const unsigned char *p) {
  return (unsigned)p[0] << 24 | (unsigned)p[1] << 16 | (unsigned)p[2] << 8 | p[3]; //= none
}`,
    );
  });

  it('at the call where that is one load', () => {
    checkLines(
      `k(const uint4 *a, unsigned *o) {
  __shared__ uint4 s[128];
  s[threadIdx.x] = a[threadIdx.x]; //= shared store 1 x 16 bytes, global load 1 x 16 bytes
  __syncthreads();
  const unsigned char *h = reinterpret_cast<const unsigned char *>(s) + threadIdx.x * 64;
  o[threadIdx.x] = bigEndian(h + 12); //= shared load 1 x 4 bytes, global store 1 x 4 bytes
}`,
      `__device__ unsigned bigEndian(const unsigned char *p) {
  return (unsigned)p[0] << 24 | (unsigned)p[1] << 16 | (unsigned)p[2] << 8 | p[3]; //= none
}`,
    );
  });

  it('in the function where it reads only what is behind', () => {
    checkLines(
      `k(const float *a, float *o) {
  o[threadIdx.x] = behind(a + threadIdx.x * 13); //= global store 1 x 4 bytes
}`,
      `__device__ float behind(const float *p) {
  return p[3] + p[7]; //= global load 2 x 4 bytes
}`,
    );
  });

  it('in the function where that reads a pointer of the kernel’s as it is', () => {
    const both = (found: string) => `__device__ float both(const float *p) {
  return p[0] * p[1]; //= ${found}
}`;
    checkLines(
      `k(const float *a, float *o) {
  o[threadIdx.x] = both(a); //= global store 1 x 4 bytes
}`,
      both('global load 2 x 4 bytes'),
    );
    // the caller has read it so
    checkLines(
      `k(const float *a, float *o) {
  float u = a[9]; //= global load 1 x 4 bytes
  float v = both(a); //= global load 2 x 4 bytes
  o[threadIdx.x] = u + v;
}`,
      both('none'),
    );
    checkLines(
      `k(const float *a, float *o) {
  o[threadIdx.x] = second(a); //= global load 1 x 4 bytes, global store 1 x 4 bytes
}`,
      `__device__ float second(const float *p) {
  return p[1]; //= none
}`,
    );
  });

  it('at the call where it asks a pointer of the kernel’s before there is anything else to do', () =>
    checkLines(
      `k(const int *stop, const float *a, float *o) {
  unlessStopped(stop, a, o); //= global load 1 x 4 bytes
}`,
      `__device__ void unlessStopped(const int *stop, const float *a, float *o) {
  if (*stop == 12345) return; //= none
  o[threadIdx.x] = a[threadIdx.x];
}`,
    ));

  it('in the function where that computes with numbers of the kernel’s parameters', () => {
    const scaled = (found: string) => `__device__ float scaled(const float *p, float x) {
  return *p * x; //= ${found}
}`;
    checkLines(
      `k(const float *a, float *o, float x) {
  int i = threadIdx.x;
  if (i > 3)
    o[i] = scaled(a + i, x); //= global store 1 x 4 bytes
}`,
      scaled('global load 1 x 4 bytes'),
    );
    // the last of a block fetches it, for those behind a barrier as well
    checkLines(
      `k(const float *a, const float *b, float *o, float x) {
  int i = threadIdx.x;
  float u = scaled(a + i, x); //= global load 1 x 4 bytes
  float v = scaled(b + i, x); //= none
  o[i] = u + v;
  __syncthreads();
  o[i + 32] = scaled(b + i + 32, x); //= global load 1 x 4 bytes, global store 1 x 4 bytes
}`,
      scaled('global load 1 x 4 bytes'),
    );
    // it is in a register, to be stored or as a sum
    checkLines(
      `k(const float *a, float *o, float x) {
  int i = threadIdx.x;
  o[i + 32] = x;
  o[i] = scaled(a + i, x); //= global load 1 x 4 bytes, global store 1 x 4 bytes
}`,
      scaled('none'),
    );
    checkLines(
      `k(const float *a, float *o, float x) {
  int i = threadIdx.x;
  float y = x + 1;
  o[i] = scaled(a + i, y); //= global load 1 x 4 bytes, global store 1 x 4 bytes
}`,
      scaled('none'),
    );
  });

  it('each at its own line of a statement of several', () =>
    checkLines(
      `k(const float *a, float *o) {
  int i = threadIdx.x;
  o[i] = sum(a + i); //= global load 1 x 4 bytes, global store 1 x 4 bytes
}`,
      `__device__ float sum(const float *p) {
  return p[0] + //= none
         p[32] + //= global load 1 x 4 bytes
         p[64]; //= global load 1 x 4 bytes
}`,
    ));
});
