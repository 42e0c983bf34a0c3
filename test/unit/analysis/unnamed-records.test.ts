/** `typedef struct { … } T;`: instances of a template for two of them are two. */
import { check } from './check-accesses';

describe('records without a name of their own', () => {
  it('are told apart as template arguments', () =>
    check(`
typedef struct { unsigned char r, g; } Small;
typedef struct { float x, y, z; } Large;
template <class T> __global__ void copy(T *to, const T *from) {
  to[threadIdx.x] = from[threadIdx.x];
  //                ^^^^^^^^^^^^^^^^^ global load 1 bytes
  //                ^^^^^^^^^^^^^^^^^ global load 4 bytes 12/4 sectors
}
int main() {
  void *p;
  cudaMalloc(&p, 4096);
  copy<Small><<<1, 32>>>((Small *)p, (Small *)p);
  copy<Large><<<1, 32>>>((Large *)p, (Large *)p);
}`));
});
