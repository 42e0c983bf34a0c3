/** Shapes and sizes of launches that the host's text leaves open. */
import { check } from './check-accesses';

describe('launches behind the checks of a program', () => {
  const rejecting = (end: string) => `
__global__ void clear(int* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = 0;
  //         ^^^^ global store 4/4 sectors assumed
}
int main(int argc, char** argv) {
  int n = 0;
  while (argc > 2) n = atoi(argv[--argc]);
  if (n <= 0) { printf("usage"); ${end} }
  int* a;
  cudaMalloc(&a, n * 4);
  clear<<<(n + 255) / 256, 256>>>(a, n);
}`;
  it('a size of 0 that the program rejects is sampled', () => {
    check(rejecting('exit(1);'));
    check(rejecting('return 1;'));
  });
});
