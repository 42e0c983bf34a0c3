/** Parameters that are no sizes: what a kernel compares for equality alone is not sampled. */
import { check } from './check-accesses';

const search = (condition: string, expected: string) =>
  check(`
__global__ void search(const unsigned *hashes, unsigned key, int *found) {
  unsigned h = threadIdx.x * 2654435761u ^ blockIdx.x;
  if (${condition})
    found[0] = h;
  //^^^^^^^^ global store ${expected}
}
int main(int argc, char **argv) { unsigned *h; int *f; search<<<64, 32>>>(h, strtoul(argv[1], 0, 0), f); }
`);

describe('a number that is only compared', () => {
  it('is not known, so that what it guards has figures', () => search('h == key', 'x64'));
});
