/** Which kernel a launch is of, where a template is specialised. */
import assert from 'node:assert/strict';
import { check } from './check-accesses';

const launches = (source: string): string[] =>
  check(source).kernels.flatMap((k) => k.launches.map((l) => `${k.name} ${k.line}: ${l.grid.join('x')}`));

describe('launches of specialised kernels', () => {
  it('go to the one of their arguments, whichever is declared first', () => {
    const of = launches(`template <bool isFast> __global__ void fill(float* p);
template <> __global__ void fill<true>(float* p) { p[threadIdx.x * 2] = 1; }
//                                                 ^^^^^^^^^^^^^^^^^^ global store 8/4 sectors
template <> __global__ void fill<false>(float* p) { p[threadIdx.x] = 1; }
//                                                  ^^^^^^^^^^^^^^ global store 4/4 sectors
template <bool isFast> void run(float* p, int blocks) { fill<isFast><<<blocks, 32>>>(p); }
int main() {
  float* p;
  cudaMalloc(&p, 4096);
  for (int i = 2; i < 4; i++) run<false>(p, i);
  run<true>(p, 7);
}`);
    assert.deepEqual(of, ['fill 2: 7x1x1', 'fill 4: 2x1x1', 'fill 4: 3x1x1']);
  });

  it('go to the template where it is specialised for others, before its own text', () => {
    const of = launches(`template <int n> __global__ void fill(float* p);
template <> __global__ void fill<2>(float* p) { p[threadIdx.x * 2] = 1; }
template <int n> __global__ void fill(float* p) { p[threadIdx.x * n] = 1; }
//                                                ^^^^^^^^^^^^^^^^^^ global store 16/4 sectors
int main() {
  float* p;
  cudaMalloc(&p, 4096);
  fill<4><<<5, 32>>>(p);
  fill<2><<<6, 32>>>(p);
}`);
    assert.deepEqual(of, ['fill 2: 6x1x1', 'fill 3: 5x1x1']);
  });

  it('have figures of their own, though each is among what the other can reach', () => {
    check(`template <class T> __global__ void fill(T* p);
template <> __global__ void fill<float>(float* p) { p[threadIdx.x * 2] = 1; }
//                                                  ^^^^^^^^^^^^^^^^^^ global store 8/4 sectors
template <> __global__ void fill<int>(int* p) { p[threadIdx.x] = 1; }
//                                              ^^^^^^^^^^^^^^ global store 4/4 sectors
int main() {
  fill<float><<<1, 32>>>(nullptr);
  fill<int><<<1, 32>>>(nullptr);
}`);
  });
});
