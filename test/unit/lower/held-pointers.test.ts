/** Records that keep pointers to other variables in registers: the accessors of tensors hand their sizes and strides on. */
import { check } from '../analysis/check-accesses';

const accessors = `
struct Row {
  float *data; const long *strides;
  __device__ Row(float *d, const long *s) : data(d), strides(s) {}
  __device__ float &operator[](long j) const { return data[j * this->strides[0]]; }
};
struct Packed {
  float *data; long strides[2];
  Packed(float *d, long a, long b) : data(d) { strides[0] = a; strides[1] = b; }
  __device__ Row operator[](long i) const { return Row(data + i * strides[0], strides + 1); }
};`;

describe('pointers that records keep', () => {
  it('the strides of a tensor', () => {
    check(`${accessors}
__global__ void k(Packed m, float *o) {
  float sum = 0;
  for (long j = 0; j < 4; j++) sum += m[threadIdx.x][j * 16];
  //                                  ^^^^^^^^^^^^^^^^^^^^^^ global load x4 32/4 sectors exact
  o[threadIdx.x] = sum;
}
int main() { float *d, *o; k<<<1, 32>>>(Packed(d, 64, 2), o); }`);
  });

  it('which of two is kept is not known behind a branch', () => {
    check(`
struct Pick { const int *from; };
__global__ void k(const int *c, float *o, int a, int b) {
  int x = a, y = b;
  Pick p;
  p.from = &x;
  { o[*p.from * threadIdx.x] = 1; }
  //^^^^^^^^^^^^^^^^^^^^^^^^ global store 8/4 sectors exact
  if (c[0]) p.from = &y;
  { o[*p.from * threadIdx.x] = 2; }
  //^^^^^^^^^^^^^^^^^^^^^^^^ global store unknown
}
int main() { int *c; float *o; k<<<1, 32>>>(c, o, 2, 3); }`);
  });

  it('stay what they are where a loop stores behind them', () => {
    check(`
struct Leg { int day; float amount; };
struct Flows { Leg *legs; float nominal; };
__device__ float total(Flows f, int n) {
  float sum = 0;
  for (int i = 0; i < n; i++) sum += f.legs[i].amount;
  //                                 ^^^^^^^^^^^^^^^^ local load
  return sum;
}
__global__ void k(float *o, int n) {
  Leg all[9];
  Flows f;
  f.legs = all;
  for (int i = 0; i < n; i++) f.legs[i].amount = i;
  //                          ^^^^^^^^^^^^^^^^ local store
  o[threadIdx.x] = total(f, n);
}
int main() { float *o; k<<<1, 32>>>(o, 7); }`);
  });
});
