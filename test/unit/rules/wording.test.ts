/** Findings read by an expert: what they say of the lanes has to be what the lanes do. */
import assert from 'node:assert/strict';
import { analyse } from '../analysis/check-accesses';

function check(kernel: string, launch: string, expected: RegExp, files: Readonly<Record<string, string>> = {}): void {
  const { diagnostics } = analyse(`${kernel}\nint main() { ${launch} }`, { files });
  const said = diagnostics.map(({ message }) => message);
  assert.ok(
    said.some((message) => expected.test(message)),
    `expected ${expected} in\n${said.join('\n')}`,
  );
}

describe('wording of findings', () => {
  it('an atomic of all lanes on one word is one on the same word', () => {
    const kernel =
      '__global__ void k(int* o) { __shared__ int hit; atomicExch(&hit, (int)threadIdx.x); __syncthreads(); o[threadIdx.x] = hit; }';
    check(kernel, 'k<<<9, 64>>>(0);', /lanes 0–31 update the same word, all in bank 0/);
  });

  it('words that several lanes share are counted once', () => {
    const kernel =
      '__global__ void k(float* o) { __shared__ float s[4096]; s[threadIdx.x] = o[0]; __syncthreads(); o[threadIdx.x] = s[threadIdx.x / 8 * 64]; }';
    check(kernel, 'k<<<9, 64>>>(0);', /4-way bank conflict: lanes 0–31 read 4 different words, all in bank 0/);
  });

  it('distances have no sign, and four lanes are listed', () => {
    const kernel =
      '__global__ void k(float* o) { __shared__ float s[2048]; s[threadIdx.x] = o[0]; __syncthreads(); o[threadIdx.x] = s[2047 - threadIdx.x * 32]; }';
    check(kernel, 'k<<<9, 64>>>(0);', /words 32 apart/);
    const four =
      '__global__ void k(float* o) { __shared__ float s[2048]; s[threadIdx.x] = o[0]; __syncthreads(); o[threadIdx.x] = s[threadIdx.x * 4]; }';
    check(four, 'k<<<9, 64>>>(0);', /lanes 0, 8, 16, 24 read/);
  });

  it('short rows of a tile are named with the way to longer ones', () => {
    const kernel =
      '__global__ void k(short* o, const short* in, int n) { int i = (blockIdx.y * 8 + threadIdx.y) * n + blockIdx.x * 8 + threadIdx.x; o[i] = in[i]; }';
    check(
      kernel,
      'k<<<dim3(8, 8), dim3(8, 8)>>>(0, 0, 64);',
      /Rows of 8 lanes lie together, 16 bytes each, far from the next row\. A block at least 32 wide/,
    );
  });

  it('rows of 16 lanes fall into different banks with a pitch of 16 more than a multiple of 32', () => {
    const kernel =
      '__global__ void k(float* o) { __shared__ float t[16][32]; t[threadIdx.y][threadIdx.x] = o[threadIdx.x]; __syncthreads(); o[threadIdx.y * 16 + threadIdx.x] = t[threadIdx.y][15 - threadIdx.x]; }';
    check(kernel, 'k<<<9, dim3(16, 16)>>>(0);', /2-way bank conflict.*Pad to \[16\]\[48\]/);
  });

  it('an array of a header is not said to be beyond padding', () => {
    const header =
      '__global__ void k(float* o) { __shared__ float t[32][32]; t[threadIdx.y][threadIdx.x] = o[0]; __syncthreads(); o[threadIdx.x] = t[threadIdx.x][threadIdx.y]; }';
    const { diagnostics } = analyse('#include "k.cuh"\nint main() { k<<<9, dim3(32, 8)>>>(0); }', {
      files: { 'k.cuh': header },
    });
    const [message] = diagnostics.map((d) => d.message).filter((m) => m.includes('bank conflict'));
    assert.ok(message && !message.includes('does not remove'), message);
  });

  it('a launch whose grid is not known says so', () => {
    const { diagnostics } = analyse(
      '__global__ void k(float* o) { o[threadIdx.x * 8] = 1; }\nvoid f(int n) { k<<<n, 64>>>(0); }',
    );
    const said = diagnostics.flatMap(({ related }) => related.map(({ message }) => message));
    assert.ok(
      said.some((m) => /^launched here with grid \d+, block 64 \(grid assumed\)$/.test(m)),
      said.join('\n'),
    );
  });

  it('the K of a matrix is no small number', () => {
    const { diagnostics } = analyse(
      '__global__ void k(float* o, const float* a, int K) { o[threadIdx.x] = a[threadIdx.x * K]; }\nvoid f(int K) { k<<<9, 64>>>(0, 0, K); }',
    );
    assert.match(diagnostics[0].message, /Uncoalesced global load: 32 sectors a request where 4 would do/);
    assert.equal(diagnostics[0].severity, 'warning');
  });
});

describe('places of findings', () => {
  const text = `#define AT(t, r) t[threadIdx.x][r]
template <class T> __device__ T strided(const T* p, int i) { return p[i * 8]; }
template <class T> __global__ void k(const T* a, T* o) {
  __shared__ float t[32][32];
  AT(t, 3) = strided(a, threadIdx.x);
  __syncthreads();
  o[threadIdx.x] = t[3][threadIdx.x];
}
int main() { float* a; cudaMalloc(&a, 65536); k<<<1, 32>>>(a, a); }`;
  const relatedOf = (rule: string) => {
    const found = analyse(text).diagnostics.find((each) => each.rule === rule);
    const place = `${found?.line}:${found?.column}-${found?.endColumn}`;
    return [place, ...(found?.related ?? []).map((each) => `${each.line}:${each.column} ${each.message}`)];
  };
  it('a macro stands at its use, and leads to its definition', () => {
    assert.deepEqual(relatedOf('shared-bank-conflict'), [
      '5:3-11',
      '1:9 AT is defined here',
      '4:20 t is declared here',
      '9:47 k<float> launched here with grid 1, block 32',
    ]);
  });
  it('a device function leads to its call in the instance of the kernel', () => {
    assert.deepEqual(relatedOf('uncoalesced-global-access'), [
      '2:69-77',
      '3:38 a is declared here',
      '5:14 reached from k<float> by this call',
      '9:47 k<float> launched here with grid 1, block 32',
    ]);
  });
});

describe('a block that nobody gives', () => {
  const severities = (kernel: string, rule: string) =>
    analyse(kernel)
      .diagnostics.filter((d) => d.rule === rule)
      .map(({ severity, message }) => `${severity} ${message}`);

  it('warns of nothing that another usual shape does not have', () => {
    const copy = `
__global__ void copy(char* o, const char* in, int n) {
  int i = (blockIdx.y * blockDim.y + threadIdx.y) * n + blockIdx.x * blockDim.x + threadIdx.x;
  o[i] = in[i];
}
void f(dim3 grid, dim3 block, int n) { copy<<<grid, block>>>(0, 0, n); }`;
    const said = severities(copy, 'uncoalesced-global-access');
    assert.ok(said.length > 0 && said.every((text) => text.startsWith('information')), said.join('\n'));
    assert.match(said[0], /With a block of 16×16, which is assumed; other shapes may do better\.$/);
  });

  it('warns of what every shape has', () => {
    const transpose = `
__global__ void transpose(float* o, const float* in, int n) {
  __shared__ float tile[32][32];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += blockDim.y) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
  __syncthreads();
  for (int j = 0; j < 32; j += blockDim.y) o[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}`;
    const said = severities(transpose, 'shared-bank-conflict');
    assert.match(said.join('\n'), /^warning 32-way bank conflict/);
  });

  it('an offset that nobody gives may well be aligned', () => {
    const shifted = `
__global__ void shift(float* o, const float* in, int offset) { o[threadIdx.x] = in[threadIdx.x + offset]; }
void f(int offset) { shift<<<9, 64>>>(0, 0, offset); }`;
    assert.deepEqual(
      severities(shifted, 'misaligned-global-access').filter((text) => text.startsWith('warning')),
      [],
    );
  });

  it('does not warn of a shift that costs the whole line little', () => {
    const body = (sum: string) => `
__global__ void blur(unsigned char* o, const unsigned char* in) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  o[i] = ${sum};
}
void f() { blur<<<512, 128>>>(0, 0); }`;
    const alone = severities(body('in[i + 1]'), 'misaligned-global-access');
    assert.match(alone.join(), /^warning Misaligned global load/);
    const amongOthers = severities(body('in[i] + in[i + 256] + in[i + 512] + in[i + 1]'), 'misaligned-global-access');
    assert.match(amongOthers.join(), /^information Misaligned global load/);
  });

  it('warns of nothing that holds only because a number was taken to be small', () => {
    const strided = (body: string) => `
__global__ void k(float* o, const float* in, int shift) { ${body} }
void f(int shift) { k<<<9, 64>>>(0, 0, shift); }`;
    const alternating = strided('if ((threadIdx.x >> (shift & 7)) % 2 == 0) o[threadIdx.x] = 1;');
    assert.ok(severities(alternating, 'uncoalesced-global-access').every((text) => !text.startsWith('warning')));
    const always = strided('o[threadIdx.x * 8 + shift] = 1;');
    assert.match(severities(always, 'uncoalesced-global-access').join(), /^warning/);
  });
});
