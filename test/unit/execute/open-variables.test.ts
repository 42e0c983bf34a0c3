/** A variable that one way leaves without a value has the value of the other way behind both: nobody may read it elsewhere. */
import { check } from '../analysis/check-accesses';

const kernel = (body: string) =>
  check(`
__global__ void k(const int* n, const int* x, int* out) {
  __shared__ int s[1024];
  int t = threadIdx.x;
  ${body}
  __syncthreads();
  out[t] = s[t];
}
int main() { int* p; cudaMalloc(&p, 4096); cudaMemcpy(p, malloc(4096), 4096, cudaMemcpyHostToDevice); k<<<2, 256>>>(p, p, p); }
`);

describe('variables that are assigned under a condition that is not known', () => {
  it('in a branch with accesses', () =>
    kernel(`int at, key;
  if (t < n[0]) {
    key = x[t];
    at = t * 4;
  }
  __syncthreads();
  if (t < n[0]) s[at] = key;
  //            ^^^^^ shared store 4-way assumed`));
  it('in one that is a selection', () =>
    kernel(`int at;
  if (t < n[0]) at = t * 2;
  if (t < n[0]) s[at] = 1;
  //            ^^^^^ shared store 2-way assumed`));
  it('on the other side', () =>
    kernel(`int at;
  if (t >= n[0]) s[t] = x[t]; else at = t * 4 + x[0] * 0;
  __syncthreads();
  if (t < n[0]) s[at] = 1;
  //            ^^^^^ shared store 4-way assumed`));
  it('in a loop', () =>
    kernel(`int at;
  for (int j = 0; j < n[0]; j++) { at = t * 2; s[j] = j; }
  __syncthreads();
    s[at] = 1;
  //^^^^^ shared store 2-way`));
  it('in two ways they are not known', () =>
    kernel(`int at;
  if (t < n[0]) at = t * 2; else at = t;
    s[at] = 1;
  //^^^^^ shared store unknown`));
  it('nor with a value from before', () =>
    kernel(`int at = t;
  if (t < n[0]) at = t * 2;
    s[at] = 1;
  //^^^^^ shared store unknown`));
});
