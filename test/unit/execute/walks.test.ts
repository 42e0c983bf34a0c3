/** Walks through data: loops whose next address and end are loaded. */
import { check } from '../analysis/check-accesses';

describe('walks through loaded data', () => {
  it('give no figure for the steps, and go on behind the loop', () => {
    check(`
__global__ void traverse(const float *nodes, float *out) {
  __shared__ int stack[16][128];
  int me = threadIdx.x, sp = 0, node = 0;
  for (;;) {
    float a = nodes[2 * node];
    //        ^^^^^^^^^^^^^^^ global load unknown
    bool pop = true;
    if (a > 0) { stack[sp++][me] = (int)a; node = (int)a + 1; pop = false; }
    if (pop) {
      if (sp == 0) break;
      node = stack[--sp][me];
    }
  }
  if (me < 96) out[me] = node;
  //           ^^^^^^^ global store x300
}
int main() { float *a, *b; traverse<<<100, 128>>>(a, b); }
`);
  });

  it('do not take the first step of a search for the rest', () => {
    check(`
__global__ void search(const int *sorted, const int *queries, int *out, int n) {
  int i = blockIdx.x * 256 + threadIdx.x, low = 0, high = n, q = queries[i];
  while (low < high) {
    int mid = (low + high) / 2;
    if (sorted[mid] < q) low = mid + 1;
    //  ^^^^^^^^^^^ global load unknown
    else high = mid;
  }
  if (i >= 0) out[i] = low;
  //          ^^^^^^ global store 4/4 sectors
}
int main() { int *a, *b, *c; search<<<100, 256>>>(a, b, c, 100000); }
`);
  });
});
