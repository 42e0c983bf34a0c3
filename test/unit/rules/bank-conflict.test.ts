import assert from 'node:assert/strict';
import { analyse } from '../analysis/check-accesses';

const transpose = (dimensions: string, block = '32, 8', extra = '') => `
#define TILE 32
__global__ void transpose(float* out, const float* in, int n) {
  __shared__ float tile${dimensions};
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += blockDim.y) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
  __syncthreads();
  ${extra}
  x = blockIdx.y * TILE + threadIdx.x;
  y = blockIdx.x * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += blockDim.y) out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}
int main() {
  transpose<<<dim3(32, 32), dim3(${block})>>>(0, 0, 1024);
}`;

const conflicts = (source: string, cc = '9.0') =>
  analyse(source, { cc }).diagnostics.filter((d) => d.rule === 'shared-bank-conflict');

describe('shared-bank-conflict', () => {
  it('names figure, lanes, column, bank and mend', () => {
    const [finding, ...others] = conflicts(transpose('[TILE][TILE]'));
    assert.equal(others.length, 0);
    assert.equal(finding.severity, 'warning');
    assert.equal(
      finding.message,
      '32-way bank conflict: lanes 0–31 read column 0 of tile[32][32], all in bank 0. Pad to [TILE][TILE + 1].',
    );
  });

  it('the fix was simulated and says what it brings', () => {
    const [{ fixes }] = conflicts(transpose('[32][32]'));
    assert.equal(fixes.length, 1);
    assert.equal(fixes[0].title, 'Pad tile to [32][33]');
    assert.deepEqual(
      fixes[0].edits.map((e) => [e.line, e.newText]),
      [[4, '33']],
    );
    assert.deepEqual(fixes[0].after, { wavefronts: 32768, idealWavefronts: 32768 });
  });

  it('points at the array and at the launch', () => {
    const [{ related }] = conflicts(transpose('[32][32]'));
    assert.deepEqual(
      related.map((r) => [r.line, r.message]),
      [
        [4, 'tile is declared here'],
        [14, 'launched here with grid 32×32, block 32×8'],
      ],
    );
  });

  it('a padded tile has no finding', () => {
    assert.deepEqual(conflicts(transpose('[TILE][TILE + 1]')), []);
  });

  it('a block that is not 32 wide conflicts with itself differently: 16 lanes a column, two columns', () => {
    const messages = conflicts(transpose('[TILE][TILE]', '16, 16')).map((f) => f.message);
    assert.ok(
      messages.some((m) => m.startsWith('16-way bank conflict: lanes 0–15 read column 0')),
      messages.join('\n'),
    );
  });

  it('no padding is offered that would misalign a float4 access to the same array', () => {
    const wide =
      'float4 v = *reinterpret_cast<float4*>(&tile[threadIdx.y][threadIdx.x / 4 * 4]); if (v.x > 3) out[0] = v.y;';
    const fixes = conflicts(transpose('[32][32]', '32, 8', wide)).flatMap((f) => f.fixes);
    for (const fix of fixes) assert.equal(Number(fix.edits[0].newText) % 4, 0, fix.title);
  });

  it('ideal 8- and 16-byte accesses are no conflict', () => {
    const source = `
// warplens: block=256 grid=4
__global__ void k(float4* out, const float4* in) {
  __shared__ float4 s[256];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[255 - threadIdx.x];
}`;
    assert.deepEqual(analyse(source).diagnostics, []);
  });

  it('a conflict that depends on a size nobody gives is information with its condition', () => {
    const source = `
// warplens: block=32 grid=1
__global__ void k(float* out, int pitch) {
  extern __shared__ float s[];
  s[threadIdx.x * pitch] = out[threadIdx.x];
}`;
    const [finding] = conflicts(source);
    assert.equal(finding.severity, 'information');
    assert.ok(finding.message.endsWith('When pitch is a multiple of 32.'), finding.message);
  });

  it('a comment turns it off', () => {
    const source = transpose('[TILE][TILE]').replace(
      '  for (int j = 0; j < TILE; j += blockDim.y) out',
      '  // warplens-ignore shared-bank-conflict\n  for (int j = 0; j < TILE; j += blockDim.y) out',
    );
    assert.deepEqual(conflicts(source), []);
  });
});

describe('asynchronous copies of 16 bytes into a tile', () => {
  const copy = (pitch: number) =>
    analyse(`
__global__ void fetch(const float* in, float* out) {
  __shared__ __align__(128) float tile[32][${pitch}];
  int row = threadIdx.x / 8, column = threadIdx.x % 8 * 4;
  __pipeline_memcpy_async(&tile[row][column], &in[row * 1024 + column], 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x / 32][threadIdx.x % 32];
}
int main() { float *a, *b; cudaMalloc(&a, 1 << 20); cudaMalloc(&b, 1 << 20); fetch<<<1, 256>>>(a, b); }`).diagnostics;

  it('into rows that begin at the same byte of a line cost what they need', () => assert.deepEqual(copy(32), []));
  it('into padded rows are told once, with what moves them', () => {
    const [finding, ...others] = copy(36);
    assert.deepEqual(others, []);
    assert.equal(finding.severity, 'warning');
    assert.equal(
      finding.message,
      '2.6 times the wavefronts of an asynchronous copy: lane 0 reads at byte 0 of a line of 128 bytes and writes at byte 64 of one. ' +
        'Let rows begin at the same byte of a line on both sides: rows of a multiple of 128 bytes, swizzled instead of padded.',
    );
  });
});
