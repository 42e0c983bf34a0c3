import assert from 'node:assert/strict';
import { capability } from '../../../server/src/hardware/capabilities';
import type { AccessReport } from '../../../server/src/report/report';
import { mayFree } from '../../../server/src/rules/pad-screen';
import { analyse } from '../analysis/check-accesses';

/** One row of `type` elements a lane, of which every lane reads one. */
const column = (type: string, columns: number, column: string) => `
__global__ void k(${type}* out) {
  __shared__ ${type} tile[32][${columns}];
  tile[0][threadIdx.x % ${columns}] = out[0];
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x][${column}];
}
int main() { k<<<1, 32>>>(0); }`;

function loadOf(source: string): AccessReport {
  const [launch] = analyse(source, { cc: '9.0' }).kernels[0].launches;
  const load = launch.accesses.find((a) => a.space === 'shared' && a.operation === 'load');
  assert(load);
  return load;
}

/** The screen says of every padding what the simulation of the padded array says. */
function check(type: string, columns: number, index: string): void {
  const row = capability('9.0');
  const access = loadOf(column(type, columns, index));
  assert(row && access.witness);
  const placed = access.witness.addresses.flatMap((a, lane) => (a === null ? [] : [{ offset: a, lane }]));
  for (const pad of [1, 2, 3, 4, 8]) {
    const padded = loadOf(column(type, columns + pad, index));
    const isFree = padded.wavefronts < 1.05 * padded.idealWavefronts;
    assert.equal(mayFree(row, access, placed, pad), isFree, `${type} tile[32][${columns} + ${pad}][${index}]`);
  }
}

describe('paddings worth a simulation', () => {
  it('a column of words', () => check('float', 32, '0'));
  it('two columns', () => check('float', 64, 'threadIdx.x / 16'));
  it('doubles', () => check('double', 16, '3'));
  it('vectors of 16 bytes', () => check('float4', 8, '1'));
  it('bytes', () => check('unsigned char', 128, '5'));
  it('halves', () => check('unsigned short', 64, '(threadIdx.x & 1)'));
});
