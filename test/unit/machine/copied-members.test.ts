import { checkLines } from './check-lines';

/** A record of sixteen bytes, and a kernel that copies one. */
function check(record: string, expected: string): void {
  checkLines(
    `k(const R *in, R *out) {
  int i = threadIdx.x;
  R r = in[i]; //= global load ${expected}
  out[i] = r; //= global store ${expected}
}`,
    `#include <cuda_fp16.h>\n${record}`,
  );
}

describe('records whose members copy themselves', () => {
  it('numbers are copied together, halves too', () => {
    check('struct alignas(16) R { float v[4]; };', '1 x 16 bytes');
    check('struct alignas(16) R { __half v[8]; };', '1 x 16 bytes');
    check('struct alignas(16) R { float2 a, b; };', '1 x 16 bytes');
  });

  it('half2 has a copy constructor: what it copies is aligned to four bytes, whatever is around it', () => {
    check('struct alignas(16) R { __half2 v[4]; };', '4 x 4 bytes');
  });

  it('so has a class of the user with one', () => {
    const copied = (member: string) =>
      check(`struct C { float x; __device__ C() {} ${member} };\nstruct alignas(16) R { C v[4]; };`, '4 x 4 bytes');
    copied('__device__ C(const C& o) : x(o.x) {} __device__ C& operator=(const C& o) { x = o.x; return *this; }');
    check(
      'struct C { float x; __device__ float get() const { return x; } };\nstruct alignas(16) R { C v[4]; };',
      '1 x 16 bytes',
    );
  });
});
