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

  it('are flags in memory', () => {
    check(
      around(
        `struct Flags { bool first : 1; bool second : 1; };
__global__ void set(Flags* f) {
  f[threadIdx.x].second = threadIdx.x * 2;
}
__global__ void read(const Flags* f, unsigned* a) {
  a[threadIdx.x] = f[threadIdx.x].second ? 7 : 9;
}`,
        `set<<<1, 2>>>((Flags*)a);
  look<<<1, 8>>>(a, out); //= a: 512 0
  read<<<1, 2>>>((const Flags*)a, a + 8);
  look<<<1, 8>>>(a + 8, out); //= a: 9 7`,
      ),
    );
  });

  it('are the bits of a variable that is seen as a number', () => {
    check(
      around(
        `struct Pixel { int red : 5; unsigned green : 6; int blue : 5; unsigned short depth; };
__global__ void pack(unsigned* a) {
  Pixel p;
  p.red = -1 - (int)threadIdx.x;
  p.green = 70;
  p.blue = -2;
  p.depth = 3;
  a[threadIdx.x] = *(unsigned*)&p;
}
__global__ void unpack(const unsigned* in, int* a) {
  Pixel p;
  *(unsigned*)&p = in[threadIdx.x];
  a[4 * threadIdx.x] = p.red + 10;
  a[4 * threadIdx.x + 1] = p.green;
  a[4 * threadIdx.x + 2] = p.blue + 10;
  a[4 * threadIdx.x + 3] = p.depth;
}`,
        `pack<<<1, 2>>>(a);
  look<<<1, 8>>>(a, out); //= a: 258271 258270
  unpack<<<1, 2>>>(a, (int*)a + 8);
  look<<<1, 8>>>(a + 8, out); //= a: 9 6 8 3 8 6 8 3`,
      ),
    );
  });

  it('share the bits of a union whichever of its members is the larger', () => {
    check(
      around(
        `union Key { struct { unsigned x : 12; int y : 12; unsigned z : 8; } at; unsigned short halves[2]; };
union Code { unsigned low : 4; unsigned all : 12; };
struct Wide { unsigned long long near : 20, far : 44; };
union Span { Wide parts; unsigned long long whole; };
__global__ void make(unsigned* a) {
  Key k;
  k.halves[0] = 0xf1f0 + threadIdx.x;
  k.halves[1] = 0xf3f2;
  Code c;
  c.all = 0xff3 + threadIdx.x;
  Span s;
  s.whole = 0;
  s.parts.far = 5 + threadIdx.x;
  s.parts.near = 1 << 20 | 9;
  unsigned* to = a + 6 * threadIdx.x;
  to[0] = k.at.x;
  to[1] = k.at.y + 256;
  k.at.y = -3;
  to[2] = k.halves[0];
  to[3] = k.halves[1];
  to[4] = c.low;
  to[5] = (unsigned)s.whole;
}`,
        `make<<<1, 2>>>(a);
  look<<<1, 8>>>(a, out); //= a: 496 47 53744 62463 3 5242889 497 47 53745 62463 4 6291465`,
      ),
    );
  });
});
