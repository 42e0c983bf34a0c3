/** What launches see of large blocks of which each changes a little: kept once as far as nothing changed. */
import assert from 'node:assert/strict';
import { KeptBytes } from '../../../server/src/host/kept-bytes';
import { check } from './check-contents';

const MB = 2 ** 20;

/** Without a limit. */
function keep(bytes: Uint8Array, before?: KeptBytes): KeptBytes {
  const kept = KeptBytes.of(bytes, before, Number.POSITIVE_INFINITY);
  assert.ok(kept);
  return kept;
}

describe('bytes that are kept', () => {
  it('take memory for pages that are others than before only', () => {
    const memory = new Uint8Array(4 * MB).map((_, i) => i * 7);
    const first = keep(memory);
    memory[MB] = 1;
    memory[3 * MB] = 1;
    const second = keep(memory, first);
    memory.fill(9);
    const third = keep(memory, second);
    assert.deepEqual([first.taken, second.taken, third.taken], [4 * MB, 2 ** 17, 4 * MB]);
    assert.deepEqual([first.bytes[MB], second.bytes[MB], third.bytes[MB]], [(MB * 7) & 255, 1, 9]);
    assert.deepEqual([second.bytes[3 * MB], second.bytes[3 * MB + 1]], [1, ((3 * MB + 1) * 7) & 255]);
  });

  it('are not copied where they would take more than is left, which those that have not changed do not', () => {
    const memory = new Uint8Array(MB).fill(5);
    assert.equal(KeptBytes.of(memory, undefined, MB - 1), undefined);
    assert.equal(KeptBytes.of(memory, keep(memory), 0)?.taken, 0);
  });

  it('of another length too', () => {
    const first = keep(new Uint8Array(300_000).fill(3));
    const second = keep(new Uint8Array(200_000).fill(3), first);
    assert.equal(second.bytes.length, 200_000);
    assert.ok(second.bytes.every((byte) => byte === 3));
    assert.ok(second.taken < 70_000, String(second.taken));
  });

  it('so that thirty launches know what is in large buffers', () =>
    check(
      `
__global__ void step(int* a, int nth) { a[threadIdx.x] = a[threadIdx.x] * 5 + nth & 1023; }
__global__ void look(const int* a, int* out) { out[a[threadIdx.x]] = 1; }
int main() {
  const int n = 1 << 20;
  int h[256];
  for (int i = 0; i < 256; i++) h[i] = i * 8;
  int *a, *out;
  cudaMalloc(&a, n * sizeof(int));
  cudaMalloc(&out, n * sizeof(int));
  cudaMemset(a, 0, n * sizeof(int));
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  for (int nth = 0; nth < 30; nth++) step<<<1, 256>>>(a, nth);
  look<<<1, 256>>>(a, out); //= a: A
}`.replace('A', expected(30).slice(0, 8).join(' ')),
      64,
    ));
});

/** The same steps once more. */
function expected(steps: number): number[] {
  const values = Array.from({ length: 256 }, (_, i) => i * 8);
  for (let nth = 0; nth < steps; nth++) for (let i = 0; i < 256; i++) values[i] = (values[i] * 5 + nth) & 1023;
  return values;
}
