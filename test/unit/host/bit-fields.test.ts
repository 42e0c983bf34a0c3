/** Bit-fields in kernels that are executed: of records and unions, in registers and in memory. */
import { check } from './check-contents';

const around = (declarations: string, main: string): string => `
#include <cstdint>
${declarations}
__global__ void look(const unsigned* a, int* out) { out[a[threadIdx.x] & 1023] = 1; }
int main() {
  unsigned *a; int *out;
  cudaMalloc(&a, 4096);
  cudaMalloc(&out, 4096);
  cudaMemset(a, 0, 4096);
  ${main}
}`;

describe('bit-fields', () => {
  it('share the bits of a union', () => {
    check(
      around(
        `struct Header { uint32_t width : 6; uint32_t words : 10; uint32_t tail : 16; };
union Word { Header h; uint32_t raw; };
__global__ void make(unsigned* a) {
  Word x;
  x.raw = 0;
  x.h.width = threadIdx.x + 1;
  x.h.words = x.h.width * 4;
  x.h.tail = 128;
  a[threadIdx.x] = x.raw;
}
__global__ void read(const Word* in, unsigned* a) {
  Word x = in[threadIdx.x];
  a[3 * threadIdx.x] = in[threadIdx.x].h.words;
  a[3 * threadIdx.x + 1] = x.h.tail;
  a[3 * threadIdx.x + 2] = x.h.width;
}`,
        `make<<<1, 8>>>(a);
  look<<<1, 8>>>(a, out); //= a: 8388865 8389122
  read<<<1, 8>>>((const Word*)a, a + 8);
  look<<<1, 8>>>(a + 8, out); //= a: 4 128 1 8 128 2`,
      ),
    );
  });

  it('lie in their unit in memory, and what is written to one leaves the others', () => {
    check(
      around(
        `struct Cell { unsigned alive : 1, kind : 3; int heat : 12; unsigned char next; };
__global__ void grow(Cell* c) {
  int i = threadIdx.x;
  c[i].kind = i + 6;
  c[i].heat = -i;
  c[i].alive = 1;
}
__global__ void cool(const Cell* in, Cell* out) {
  Cell c = in[threadIdx.x];
  c.heat += 3;
  c.next = 5;
  out[threadIdx.x] = c;
}
__global__ void read(const Cell* c, int* a) {
  a[2 * threadIdx.x] = c[threadIdx.x].heat;
  a[2 * threadIdx.x + 1] = c[threadIdx.x].kind;
}`,
        `grow<<<1, 3>>>((Cell*)a);
  look<<<1, 8>>>(a, out); //= a: 13 65535 65505
  cool<<<1, 3>>>((const Cell*)a, (Cell*)a + 8);
  look<<<1, 8>>>(a + 8, out); //= a: 327741 327727 327697
  read<<<1, 3>>>((const Cell*)a + 8, (int*)a + 32);
  look<<<1, 8>>>(a + 32, out); //= a: 3 6 2 7 1 0`,
      ),
    );
  });

  it('hold no more than their bits', () => {
    check(
      around(
        `struct Pair { unsigned low : 4; int high : 4; bool flag : 1; };
__global__ void k(unsigned* a) {
  Pair p;
  p.low = 17 + threadIdx.x;
  p.high = 9;
  p.flag = threadIdx.x;
  a[threadIdx.x] = 100 * p.low + (p.high + 8) * 10 + p.flag;
}`,
        `k<<<1, 2>>>(a);
  look<<<1, 8>>>(a, out); //= a: 110 211`,
      ),
    );
  });
});
