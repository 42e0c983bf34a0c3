/** Constant memory that the host fills: its values decide addresses as parameters do. */
import assert from 'node:assert/strict';
import { analyse, check } from '../analysis/check-accesses';

const host = (body: string): string =>
  `int main() { ${body} float* out; cudaMalloc(&out, 1 << 20); k<<<1, 32>>>(out); }`;

describe('constant symbols', () => {
  it('have the value that the host copies to them', () => {
    check(`
__constant__ int pitch;
__global__ void k(float* out) {
  out[threadIdx.x * pitch] = 1;
//^^^^^^^^^^^^^^^^^^^^^^^^ global store 16/4 sectors exact
}
${host('int p = 4; cudaMemcpyToSymbol(pitch, &p, sizeof p);')}`);
  });

  it('have the value that only the run of main tells', () => {
    check(`
__constant__ int pitch, shift;
__global__ void k(float* out) {
  out[threadIdx.x * pitch + shift] = 1;
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 9/4 sectors exact
}
${host('int p, s; sscanf("2 4", "%d %d", &p, &s); s /= 2; cudaMemcpyToSymbol(pitch, &p, sizeof p); cudaMemcpyToSymbol(shift, &s, sizeof s);')}`);
  });

  it('may be structures, with pointers in them', () => {
    check(`
struct Grid { int width; float* cells; int3 step; };
__constant__ Grid grid;
__global__ void k(float* out) {
  out[threadIdx.x * grid.width + grid.step.y] = 1;
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 32/4 sectors exact
  grid.cells[threadIdx.x] = 1;
//^^^^^^^^^^^^^^^^^^^^^^^ global store 4/4 sectors exact
}
${host('Grid g; g.width = 8; g.step.y = 0; cudaMalloc(&g.cells, 4096); cudaMemcpyToSymbol(grid, &g, sizeof g);')}`);
  });

  it('may be tables', () => {
    check(`
__constant__ int column[4];
__global__ void k(float* out) {
  out[threadIdx.x * column[blockIdx.x + 1]] = 1;
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ global store 8/4 sectors exact
}
${host('int c[4] = {1, 2, 3, 4}; cudaMemcpyToSymbol(column, c, sizeof c);')}`);
  });

  it('are assumed where the host does not say, as parameters are', () => {
    check(`
__constant__ int n;
__global__ void k(float* out) {
  out[threadIdx.x + n] = 1;
//^^^^^^^^^^^^^^^^^^^^ global store assumed
}
${host('int v; scanf("%d", &v); cudaMemcpyToSymbol(n, &v, sizeof v);')}`);
  });

  it('keep their initial value', () => {
    check(`
__constant__ int two = 2;
__global__ void k(float* out) {
  out[threadIdx.x * two] = 1;
//^^^^^^^^^^^^^^^^^^^^^^ global store 8/4 sectors exact
}
${host('')}`);
  });

  it('differ between launches', () => {
    const report = analyse(`
__constant__ int pitch;
__global__ void k(float* out) { out[threadIdx.x * pitch] = 1; }
int main() {
  float* out; cudaMalloc(&out, 1 << 20);
  int p = 1; cudaMemcpyToSymbol(pitch, &p, sizeof p); k<<<1, 32>>>(out);
  p = 2; cudaMemcpyToSymbol(pitch, &p, sizeof p); k<<<1, 32>>>(out);
}`);
    assert.deepEqual(
      report.kernels[0].launches.map((l) => l.accesses[0].sectors),
      [4, 8],
    );
  });
});

describe('tables that are declared const', () => {
  const kernel = (table: string, body: string) => `
${table}
// warplens: block=32 grid=1
__global__ void k(float *out, int n) {
${body}
}`;
  it('are not read where the index is constant', () => {
    for (const table of ['__device__ const float w[4] = {1, 2, 3};', '__constant__ const float w[4] = {1, 2, 3};'])
      assert.deepEqual(accessed(kernel(table, '  for (int i = 0; i < 4; i++) out[threadIdx.x + 32 * i] = w[i];')), [
        'out',
      ]);
  });
  it('are read where it is not, or where they may change', () => {
    assert.deepEqual(
      accessed(kernel('__device__ const int w[4] = {1, 2, 3};', '  out[threadIdx.x] = w[threadIdx.x & 3];')),
      ['out', 'w'],
    );
    assert.deepEqual(
      accessed(kernel('__device__ volatile const int w[4] = {1, 2, 3};', '  out[threadIdx.x] = w[1];')),
      ['out', 'w'],
    );
    assert.deepEqual(accessed(kernel('__device__ float w[4] = {1, 2, 3};', '  out[threadIdx.x] = w[1];')), [
      'out',
      'w',
    ]);
    assert.deepEqual(accessed(kernel('__constant__ float w[4] = {1, 2, 3};', '  out[threadIdx.x] = w[1];')), [
      'out',
      'w',
    ]);
  });
  it('that are constexpr are memory as well', () => {
    const table = '__device__ constexpr int w[2][2] = {{1, 2}, {3, 4}};';
    assert.deepEqual(accessed(kernel(table, '  out[threadIdx.x * w[1][0]] = 1;')), ['out']);
    assert.deepEqual(accessed(kernel(table, '  out[threadIdx.x * w[n & 1][1]] = 1;')), ['out', 'w']);
  });
});

function accessed(source: string): string[] {
  const accesses = analyse(source).kernels.flatMap((k) => k.launches.flatMap((l) => l.accesses));
  return [...new Set(accesses.map((a) => a.object?.name ?? ''))].sort();
}
