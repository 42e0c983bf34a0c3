/** Parameters that are no sizes: what a kernel compares for equality alone is not sampled, nor looked for in a few blocks of many. */
import { check } from './check-accesses';

const search = (condition: string, grid: number, key: string, expected: string) =>
  check(`
__global__ void search(unsigned key, int *found) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned h = i ^ i >> 3;
  if (${condition})
    found[0] = i;
  //^^^^^^^^ ${expected}
}
int main(int argc, char **argv) { int *f; search<<<${grid}, 32>>>(${key}, f); }
`);

const open = 'strtoul(argv[1], 0, 0)';

describe('a number that is only compared', () => {
  it('is not known where nobody gives it, so that what it guards has figures', () =>
    search('h == key', 64, open, 'global store x64 assumed'));
  it('is not looked for in a few blocks of many, where a hash meets it', () => {
    search('h == key', 4096, '77777', 'global store x4096 assumed');
    search('h == key', 4, '77', 'global store x1 exact');
  });
  it('is known where an index meets it', () => {
    search('i == key', 4096, '3', 'global store x1 exact');
    search('i % 8 / 4 == key', 4096, '1', 'global store x4096 16 lanes exact');
  });
  it('is a size like others where it is more than compared', () =>
    search('h % key == 5 || h == key', 64, '2048', 'global store x1 exact'));
});
