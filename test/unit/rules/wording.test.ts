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
