import { checkLines } from './check-lines';

/** A record of sixteen bytes that is copied from one place to another on one line. */
function check(record: string, expected: string): void {
  checkLines(
    `k(const R *in, R *out) {
  int i = threadIdx.x;
  out[i] = in[i]; //= global load ${expected}, global store ${expected}
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
    check('struct alignas(16) R { __nv_bfloat162 a, b, c, d; };', '4 x 4 bytes');
  });

  it('so has a class of the user with one', () => {
    const copy = '__device__ C(const C& o) : x(o.x) {}';
    const assign = '__device__ C& operator=(const C& o) { x = o.x; return *this; }';
    check(
      `struct C { float x; __device__ C() {} ${copy} ${assign} };\nstruct alignas(16) R { C v[4]; };`,
      '4 x 4 bytes',
    );
    const plain = 'struct C { float x; __device__ float get() const { return x; } };';
    check(`${plain}\nstruct alignas(16) R { C v[4]; };`, '1 x 16 bytes');
  });
});
